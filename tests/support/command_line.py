"""The commands as tests run them, and models to run them on.

In: arguments. Out: the exit code, and what was written to stdout and stderr. Invariant: `Command`
runs in this process, `python` in one of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from flowc.cli.entry import run_command_line

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits"
META = str(DIGITS / "model.meta")
UNKNOWN_OPS = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } } } } }
node { name: "a" op: "MadeUp" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "b" op: "MadeUp" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "c" op: "Softmaxx" input: "b" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "out" op: "Relu" input: "c" attr { key: "T" value { type: DT_FLOAT } } }
"""
SCALE = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "inner/two" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 } } } }
node { name: "inner/scaled" op: "Mul" input: "x" input: "inner/two"
       attr { key: "T" value { type: DT_FLOAT } } }
node { name: "out" op: "Relu" input: "inner/scaled" attr { key: "T" value { type: DT_FLOAT } } }
"""
TWO_INPUTS = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "y" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "out" op: "Mul" input: "x" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Command:
    """Runs commands in this process, with output captured."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *args: Any) -> Done:
        code = run_command_line([str(a) for a in args])
        found = self.capsys.readouterr()
        return Done(code, found.out, found.err)


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=ROOT)
