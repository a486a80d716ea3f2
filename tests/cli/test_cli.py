"""The command line itself: how fast it starts, and what it says without a command."""

from __future__ import annotations

import re

from command_line import Command, python


def test_help_and_version_load_no_more_than_click() -> None:
    script = (
        "import sys\n"
        "from flowc.cli.entry import run_command_line\n"
        "codes = [run_command_line(a) for a in (['--help'], ['--version'], [])]\n"
        "heavy = [m for m in ('numpy', 'flowc.ops', 'flowc.graph', 'google.protobuf', 'rich',\n"
        "         'numba', 'llvmlite', 'flowc.cli.compile') if m in sys.modules]\n"
        "print('codes', codes, 'heavy', heavy)\n"
    )
    done = python("-c", script)
    assert "codes [0, 0, 2] heavy []" in done.stdout, done.stdout + done.stderr


def test_python_m_flowc_is_the_command() -> None:
    done = python("-m", "flowc", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"flowc \d+\.\d+\.\d+\n", done.stdout)


def test_help_lists_every_command(flowc: Command) -> None:
    done = flowc("--help")
    assert done.code == 0
    for name in ("compile", "run", "inspect", "scan", "ops"):
        assert re.search(rf"^  {name} ", done.out, re.MULTILINE)
        assert flowc(name, "--help").code == 0
