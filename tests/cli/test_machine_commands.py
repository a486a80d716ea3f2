"""Commands about the machine: doctor, cache, completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pages import man_page

import flowc as tf
from flowc.cli.entry import run_command_line

ROOT = Path(__file__).parents[2]


def test_doctor_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert run_command_line(["doctor"]) == 5
    lines = capsys.readouterr().out.splitlines()
    (linker,) = (line for line in lines if " linker " in line)
    assert linker.startswith("  NO") and "no-such-compiler" in linker
    (program,) = (line for line in lines if " a program " in line)
    assert program.startswith("  ok")


def test_cache_is_shown_and_emptied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path))
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.exp(tf.placeholder_with_default([1.0, 2.0], [2])))

    def shown(*args: str) -> dict[str, object]:
        assert run_command_line(["cache", "--json", *args]) == 0
        return json.loads(capsys.readouterr().out)

    before = shown()
    assert before["folder"] == str(tmp_path) and before["entries"] and before["bytes"]
    assert shown("--clear")["entries"] == before["entries"]
    assert shown()["entries"] == 0
    monkeypatch.setenv("FLOWC_CACHE", "0")
    assert run_command_line(["cache"]) == 0 and capsys.readouterr().out == "the cache is off\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["completion", shell]) == 0
    assert "_FLOWC_COMPLETE" in capsys.readouterr().out


def test_the_man_page_is_that_of_the_commands() -> None:
    assert man_page.PAGE.read_text() == man_page.man_page(), "run `make man`"
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]
    assert wheel["wheel"]["shared-data"] == {"docs/flowc.1": "share/man/man1/flowc.1"}


def test_what_the_shell_is_answered() -> None:
    asked = {"_FLOWC_COMPLETE": "bash_complete", "COMP_WORDS": "flowc insp", "COMP_CWORD": "1"}
    command = [
        sys.executable,
        "-c",
        "import sys; sys.argv = ['flowc']; import flowc.cli as c; c.main()",
    ]
    found = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True)
    assert found.stdout == "plain,inspect\n", found.stderr
