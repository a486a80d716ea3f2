"""Copies of packages that are told of no AVX-512."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from benchmarks.peers.without_avx512 import XGETBV, copies_without_avx512

SOURCE = """
const unsigned char same_bytes[] = {0x0f, 0x01, 0xd0, 0x17};
unsigned kept_registers(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low & 0xff;
}
"""


def test_a_copy_sees_registers_up_to_those_of_avx(tmp_path: Path) -> None:
    package = tmp_path / "packages" / "engine"
    package.mkdir(parents=True)
    source, library = tmp_path / "source.c", package / "engine.so"
    source.write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    before = library.read_bytes()
    found = copies_without_avx512(package.parent, ["engine", "absent"], tmp_path)
    assert [path.name for path in found.iterdir()] == ["engine"]
    changed = ctypes.CDLL(str(found / "engine" / "engine.so"))
    assert changed.kept_registers() == 7
    assert bytes((ctypes.c_ubyte * 3).in_dll(changed, "same_bytes")) == XGETBV
    assert library.read_bytes() == before
