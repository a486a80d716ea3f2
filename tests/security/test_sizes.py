"""No size, count, bound or index of a run makes it wrap, read or write beside its memory, or end
the process: each case runs in a child, in which little memory can be had.

`FLOWC_FUZZ` runs every op in each way in which its numbers can come; else each comes in one way.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from case_child import outcomes
from ending_cases import CASES as ENDINGS
from size_faults import CASES as FAULTS
from size_grid import CASES, KINDS

from flowc.cli.entry import described

TOO_LARGE = (
    "5, 5: output 0 would have more elements than any memory holds; "
    "output 'z' would have more elements than any memory holds"
)
EXPECTED = {
    "a shape of i32": "error InvalidArgumentError: the size n does not fit i32, found 8589934592",
    "negative": "error ShapeError",
    "sum of more than 2^31": "int64[]: [2147483653]",  # TFSA-2020-014: it is cut into ranges
    "a constant shape of i32": "error ShapeError",
    "a constant size of i32": "error ShapeError",
    "2^40 rows of nothing": "float32[1099511627776, 0]: []",
    "slice": "float32[2]: [1.0, 2.0]",
    "slice of nothing at the end": "float32[0]: []",
    "slice at 2^31 - 1": "error InvalidArgumentError: Expected size[0]",
    "slice at -2^31": "error InvalidArgumentError: Expected size[0]",
    "slice at 2^61": "error InvalidArgumentError: Expected size[0]",
    "slice of more than there is": "error InvalidArgumentError: Expected size[0]",
    "reverse more than there is": "error InvalidArgumentError: seq_lens",
    "pieces whose lengths wrap": "error InvalidArgumentError: Unused values in tensor",
    "library, 2^32 x 2^32": TOO_LARGE,
    "library, 2^64": TOO_LARGE,
    "library, 2 x 3": "0, 0: ; ",
}


def test_every_ending_is_told() -> None:
    found = outcomes("ending_cases", list(ENDINGS), seconds=5)
    assert found == {
        "answers": "an answer",
        "refuses": "error ResourceExhaustedError: no room\n  node: x",
        "breaks": "untyped IndexError: list index out of range",
        "crashes": "ended by SIGSEGV",
        "leaves": "ended by exit 3: ",
        "asks for too much": "untyped MemoryError: ",
        "hangs": "hang",
        "answers again": "another",
    }


def test_faults_stay_gone() -> None:
    found = outcomes("size_faults", list(FAULTS))
    wanted = {name: EXPECTED.get(name, "error ResourceExhaustedError: ") for name in FAULTS}
    wrong = {name: text for name, text in found.items() if not text.startswith(wanted[name])}
    assert not wrong


def test_what_does_not_fit_names_its_node() -> None:
    names = ["fill a vector", "sum", "outer product of 4 TB"]
    found = outcomes("size_faults", names)
    nodes = [text.partition("node: ")[2] for text in list(found.values())[:2]]
    assert [node.partition(" ")[0] for node in nodes] == ["Fill", "Fill"]
    assert "'mul:0': shape [1048576, 1048576] of float32 is 4398046511104 bytes" in found[names[2]]


def _chosen() -> list[str]:
    """Every case; without `FLOWC_FUZZ` one of each op, so that all ways are taken by some."""
    names = list(CASES)
    if "FLOWC_FUZZ" in os.environ:
        return names
    ways = len(KINDS)
    return [name for number, name in enumerate(names) if number % ways == number // ways % ways]


@pytest.mark.timeout(1800)
def test_fuzz_absurd_sizes_are_refused() -> None:
    found = outcomes("size_grid", _chosen())
    wrong = {name: text for name, text in found.items() if not text.startswith("refused")}
    assert not wrong


MODEL = Path(__file__).parents[1] / "data" / "control_flow" / "models" / "cond_dynamic_v1.pb"


@pytest.mark.parametrize("mebibytes", [160, 260, 320])
def test_a_lack_of_memory_is_no_fault_of_flowc(mebibytes: int, tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({mebibytes << 20},) * 2)\n"
        "from flowc.cli.entry import run_command_line\n"
        "sys.exit(run_command_line(['compile', sys.argv[1], '-o', sys.argv[2]]))\n"
    )
    command = [sys.executable, "-c", code, str(MODEL), str(tmp_path / "model.so")]
    # NumPy's BLAS takes memory for each core, and ends the process where there is none.
    few = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(command, capture_output=True, text=True, env=few)
    assert done.returncode == 5, done.stderr
    assert "error[FL0508]" in done.stderr


def test_no_memory_to_look_for_the_limit_is_a_lack_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_memory(*_: object) -> str:
        raise MemoryError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 28, 1 << 28))
    monkeypatch.setattr(Path, "read_text", no_memory)
    message, code = described(SystemError("returned NULL without setting an exception"))
    assert code == 5 and "not enough memory" in message
