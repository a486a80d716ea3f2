"""Sessions in C++: the header and libflowc_rt.so, against what a program of TensorFlow's prints.

Recorded by `tests/oracle/record_cc_session.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flowc.cc.build import built_library, flags
from flowc.codegen.link.linker import LinkError
from flowc.errors import FlowcError, UsageError

TESTS = Path(__file__).parents[1]
EXAMPLES = TESTS.parent / "examples"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


def built(source: Path, folder: Path) -> Path:
    program = folder / source.stem
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = ["g++", "-std=c++11", *warnings, str(source), *flags(True, True), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def ran(program: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    places = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [str(program), *args], capture_output=True, text=True, env=os.environ | places | environment
    )


def test_a_program_sees_what_one_of_tensorflow_sees(tmp_path: Path) -> None:
    done = ran(built(TESTS / "cc" / "session_test.cc", tmp_path), str(TESTS / "cc"))
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == (TESTS / "recorded" / "cc_session.txt").read_text()


def test_the_example_restores_a_model(tmp_path: Path) -> None:
    data = np.load(EXAMPLES / "digits" / "test.npz")
    images, labels = data["images"][:50], data["labels"][:50]
    images.astype(np.float32).tofile(tmp_path / "images.bin")
    labels.astype(np.int64).tofile(tmp_path / "labels.bin")
    program = built(EXAMPLES / "cc" / "digits.cc", tmp_path)
    files = [str(tmp_path / f"{name}.bin") for name in ("images", "labels")]
    done = ran(program, str(EXAMPLES / "digits" / "model"), *files)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "of 50 right" in done.stdout
    assert float(done.stdout.splitlines()[1].split()[0]) > 90
    done = ran(program, str(tmp_path / "nothing"), *files)
    assert "reading: NOT_FOUND: " in done.stderr and done.returncode == 1


def test_a_process_of_python_shares_its_interpreter() -> None:
    """The calls of C, from the interpreter that answers them."""
    library = ctypes.CDLL(str(built_library()))
    library.flowc_session_message.restype = ctypes.c_char_p
    session = ctypes.c_void_p()
    from flowc.cc.host import GivenBytes, GivenOptions

    def code(call: str, *args: object) -> int:
        return getattr(library, f"flowc_session_{call}")(*args)

    assert code("new", ctypes.byref(GivenOptions(b"", b"magic", 0)), ctypes.byref(session)) == 3
    assert b"magic" in library.flowc_session_message()
    assert code("new", ctypes.byref(GivenOptions(None, b"files", 1)), ctypes.byref(session)) == 0
    for content, expected in ((b"\xff\xff\xff", 3), (b"no graph at all", 3), (b"\x7fELF", 3)):
        held = ctypes.create_string_buffer(content, len(content))
        given = GivenBytes(ctypes.addressof(held), len(content))
        assert code("create", session, ctypes.byref(given)) == expected, content
    text = (TESTS / "cc" / "session_graph.pbtxt").read_bytes()
    held = ctypes.create_string_buffer(text, len(text))
    for expected in (0, 6):
        given = GivenBytes(ctypes.addressof(held), len(text))
        assert code("create", session, ctypes.byref(given)) == expected
    assert code("close", session) == 0
    assert code("create", session, ctypes.byref(given)) == 0  # another graph after `close`
    library.flowc_session_delete(session)


@pytest.mark.parametrize(
    "variable, value, kind, words",
    [
        ("CC", "false", LinkError, "exit code 1"),
        ("CC", "no-such-compiler", LinkError, "no C compiler"),
        ("FLOWC_CACHE", "0", UsageError, "--folder"),
    ],
)
def test_a_library_that_cannot_be_built(
    variable: str,
    value: str,
    kind: type[FlowcError],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(variable, value)
    with pytest.raises(kind, match=words):
        built_library()
    assert list(tmp_path.rglob("*.so")) == []
