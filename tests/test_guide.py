"""Every block of the guide does what its page says: commands, Python and C, in order."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from pages import reference_pages

import flowc as tf
from flowc.api import exports
from flowc.cli.entry import run_command_line

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guide"
PAGES = sorted(p.name for p in GUIDE.glob("*.md"))
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_EXIT = re.compile(r"\s+# exits with (\d+)$")


def _command(line: str) -> None:
    """A line of a shell: flowc's commands in this process, the others as they are."""
    code = _EXIT.search(line)
    words = shlex.split(_EXIT.sub("", line))
    if words[0] == "flowc":
        found = run_command_line(words[1:])
    else:
        found = subprocess.run(words).returncode
    assert found == int(code[1] if code else 0), line


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = _BLOCK.findall((GUIDE / page).read_text())
    shutil.copytree(ROOT / "examples" / "digits", tmp_path / "examples" / "digits")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with tf.Graph().as_default():
        for kind, text in blocks:
            if kind == "python":
                exec(compile(text, page, "exec"), names)
            elif kind == "c":
                Path("program.c").write_text(text)
            else:
                assert kind == "sh"
                for line in text.splitlines():
                    _command(line)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book = json.loads((GUIDE / "first-model.ipynb").read_text())
    assert book["nbformat"] == 4 and not any(c.get("outputs") for c in book["cells"])
    names: dict[str, object] = {}
    with tf.Graph().as_default():
        for cell in book["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), "first-model", "exec"), names)
    assert (tmp_path / "step.html").is_file() and (tmp_path / "square.so").is_file()


def test_the_reference_has_every_public_name(tmp_path: Path) -> None:
    reference_pages.write(tmp_path)
    assert len([*tmp_path.glob("*.md")]) > 40
    for page, names in (("flowc", [*exports.TOP]), ("flowc.nn", dir(tf.nn))):
        heads = set(re.findall(r"(?m)^## (\w+)$", (tmp_path / f"{page}.md").read_text()))
        assert heads >= {n for n in names if n not in ("rnn_cell", "experimental")}, page
    assert "Raises" in (tmp_path / "flowc.nn.md").read_text()


def test_pages_lead_to_what_is_there() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (GUIDE / "README.md").read_text()))
    assert listed == {*PAGES} - {"README.md"}
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", (GUIDE / page).read_text()):
            assert (GUIDE / target).is_file(), (page, target)
