"""Copies of Python packages that use no AVX-512, on processors that have it.

In: packages whose libraries choose their code by what the processor can do, with no switch to say
otherwise. Out: a folder for PYTHONPATH with copies, in which every XGETBV (the instruction that
asks which registers the system keeps) says: those up to AVX. Whoever uses AVX-512 or AMX must ask
it first. Needs objdump.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile

XGETBV = bytes.fromhex("0f01d0")
UP_TO_AVX = bytes.fromhex("b00790")  # mov $7, %al; nop: as long, and the bits that are asked for


def copies_without_avx512(packages: Path, names: Sequence[str], folder: Path) -> Path:
    """Copies of those of these packages that are there, in a folder of `folder`. Raises `OSError`,
    and `CalledProcessError` where a library cannot be read."""
    target = folder / "without_avx512"
    for name in names:
        if (packages / name).is_dir():
            shutil.copytree(packages / name, target / name, symlinks=True)
    for path in target.rglob("*.so*"):
        if path.is_file() and not path.is_symlink():
            _change(path)
    return target


def _change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    if XGETBV not in data:
        return
    for place in _places(path):
        if data[place : place + len(XGETBV)] != XGETBV:
            raise OSError(f"{path} has no XGETBV at {place:#x}")
        data[place : place + len(XGETBV)] = UP_TO_AVX
    path.write_bytes(data)


def _places(path: Path) -> Iterator[int]:
    """Where in a file its XGETBV are: the same bytes may be part of other instructions."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(path)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    with path.open("rb") as file:
        segments = [s for s in ELFFile(file).iter_segments() if s["p_type"] == "PT_LOAD"]
        for found in re.finditer(r"^ *([0-9a-f]+):\s+xgetbv", listing, re.MULTILINE):
            address = int(found[1], 16)
            for s in segments:
                if s["p_vaddr"] <= address < s["p_vaddr"] + s["p_filesz"]:
                    yield address - s["p_vaddr"] + s["p_offset"]
