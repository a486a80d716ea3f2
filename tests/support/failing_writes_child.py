"""Run by a test with `failing_calls.c` preloaded: every call that writes a file fails in turn.

Prints a line of JSON for each writer and error: how many failures it told of, and what was wrong:
a file that is neither the old nor the new one, one that stayed behind, an error that does not name
the file or say what is needed.
"""

from __future__ import annotations

import ctypes
import errno
import json
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path

import aot_programs
import numpy as np

from flowc.aot import write_library
from flowc.cache.disk import DiskCache
from flowc.cli.arrays import write_npz
from flowc.files.safe_write import check_place, replacing

PROGRAM = aot_programs.program()
HEADER = bytes(100_000)
ARRAYS = {"x": np.arange(10_000), "y": np.arange(20_000.0)}

shim = ctypes.CDLL(None)
shim.fail_call.argtypes = [ctypes.c_long, ctypes.c_int]
shim.calls_made.restype = ctypes.c_long


def _replaced(folder: Path) -> None:
    check_place(folder / "out")
    with replacing(folder / "out", len(HEADER)) as file:
        file.write(HEADER)


def _arrays(folder: Path) -> None:
    write_npz(folder / "out", ARRAYS)


def _library(folder: Path) -> None:
    write_library(PROGRAM, folder / "out", weights="file", header=folder / "out.h")


def _cache_entry(folder: Path) -> None:
    """It fails in silence: the program goes on."""
    DiskCache(folder).store("abcd", PROGRAM)


# Writer, the errors that it is tried with.
WRITERS: list[tuple[Callable[[Path], None], tuple[int, ...]]] = [
    (_replaced, (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT, 0)),
    (_arrays, (errno.ENOSPC, errno.EIO, 0)),
    (_library, (errno.ENOSPC,)),
    (_cache_entry, (errno.ENOSPC, errno.EIO, 0)),
]
OLD = {"out": b"old", "out.h": b"old", "out.weights": b"old"}


def _tried(write: Callable[[Path], None], k: int, error: int) -> tuple[dict[str, bytes], str, int]:
    """What is in the folder when the k-th call failed, the error, and how many calls there were."""
    with tempfile.TemporaryDirectory() as name:
        folder, text = Path(name), ""
        for path, data in OLD.items():
            (folder / path).write_bytes(data)
        shim.fail_call(k, error)
        try:
            write(folder)
        except OSError as caught:
            text = str(caught).replace(name, "")
        calls = shim.calls_made()
        shim.fail_call(-1, 0)
        found = {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}
        return {path: file.read_bytes() for path, file in found.items()}, text, calls


def _faults_of(write: Callable[[Path], None], error: int) -> tuple[int, list[str]]:
    """How many failures a writer told of, and what was wrong with any."""
    new, _, calls = _tried(write, -1, 0)
    told, faults = 0, []
    for k in range(calls):
        found, text, _ = _tried(write, k, error)
        told += bool(text)
        where = f"{write.__name__}, call {k}, {errno.errorcode.get(error, 'half a write')}: {text} "
        if text and not (text.endswith(("'/out'", "'/out.h'")) and "cannot be written: " in text):
            faults.append(f"{where}does not name the file")
        if error == errno.ENOSPC and text and "bytes are needed" not in text:
            faults.append(f"{where}does not say what is needed")
        if text and write is not _library and found != OLD:
            faults.append(f"{where}left {sorted(found)}")
        for path, data in found.items():
            if path.startswith("out.weights-"):  # the name that only the new library knows
                if data != new["out.weights"] or found["out"] != new["out"]:
                    faults.append(f"{where}left {path}")
                continue
            if data not in (OLD.get(path), new.get(path)):
                faults.append(f"{where}left {path}")
    return told, faults


if __name__ == "__main__":
    logging.disable()
    for write, errors in WRITERS:
        for error in errors:
            print(json.dumps([write.__name__, error, *_faults_of(write, error)]), flush=True)
