"""Entries of the cache that were damaged at random: each is a miss, or gives what was stored.

`FLOWC_FUZZ` damages more of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from flowc.cache.entry import MAPPED, fill_entry, open_entry, read_entry
from flowc.codegen.compiled import CompiledProgram, ProgramMetadata

COUNT = 10_000 if "FLOWC_FUZZ" in os.environ else 500


def damaged(good: bytes, random: np.random.Generator) -> bytes:
    """Bits flipped, a piece cut out, put in twice, zeroed or exchanged, or the end cut off."""
    found = bytearray(good)
    for _ in range(int(random.integers(1, 4))):
        at, other = (int(random.integers(len(found))) for _ in range(2))
        length = int(random.integers(1, 200))
        match int(random.integers(6)):
            case 0:
                found[at] ^= 1 << int(random.integers(8))
            case 1:
                del found[at : at + length]
            case 2:
                found[at:at] = found[other : other + length]
            case 3:
                found[at : at + length] = bytes(len(found[at : at + length]))
            case 4:
                found[at : at + length] = found[other : other + len(found[at : at + length])]
            case _:
                del found[max(at, 1) :]
    return bytes(found)


@pytest.mark.timeout(1800)
def test_fuzz_no_damage_is_taken_for_a_program(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    random = np.random.default_rng(7)
    objects = tuple(random.bytes(size) for size in (4000, 900, 0))
    weights = random.integers(0, 256, 5000, np.uint8)
    metadata = ProgramMetadata(name="m", weights_bytes=weights.nbytes)
    path = tmp_path / "entry"
    with open_entry(path) as file:
        fill_entry(file, "key", CompiledProgram(objects, [(0, weights)], metadata, b"runtime"))
    good = path.read_bytes()
    misses = 0
    with caplog.at_level("ERROR", "flowc"):
        for _ in range(COUNT):
            path.write_bytes(damaged(good, random))
            found = read_entry(path, "key")
            misses += found is None
            if found is not None:
                assert (found.objects, found.runtime) == (objects, b"runtime")
                assert found.metadata == metadata
                assert found.weights_image().tobytes() == weights.tobytes()
    assert misses > COUNT * 0.8


def test_weights_of_a_large_entry_are_mapped_and_outlive_its_place(tmp_path: Path) -> None:
    weights = np.arange(MAPPED, dtype=np.uint8)
    metadata = ProgramMetadata(name="m", weights_bytes=weights.nbytes)
    path = tmp_path / "entry"
    with open_entry(path) as file:
        fill_entry(file, "key", CompiledProgram((b"object",), [(0, weights)], metadata, b"runtime"))
    found = read_entry(path, "key")
    assert found is not None
    image = found.weights_image()
    start = image.ctypes.data
    with open("/proc/self/maps") as file:
        (line,) = [x for x in file if x.endswith(f" {path}\n")]
    first, last = (int(x, 16) for x in line.split()[0].split("-"))
    assert first <= start and start + image.nbytes <= last
    assert line.split()[1] == "r--s"
    assert start % 64 == 0 and not image.flags.writeable
    with open_entry(path) as file:
        fill_entry(
            file, "key", CompiledProgram((b"other",), [(0, 0 * weights)], metadata, b"runtime")
        )
    path.unlink()
    np.testing.assert_array_equal(image, weights)


def test_what_was_read_stays_whatever_happens_to_the_entry(tmp_path: Path) -> None:
    weights = np.arange(1 << 18, dtype=np.uint8)
    metadata = ProgramMetadata(name="m", weights_bytes=weights.nbytes)
    path = tmp_path / "entry"
    with open_entry(path) as file:
        fill_entry(file, "key", CompiledProgram((b"object",), [(0, weights)], metadata, b"runtime"))
    found = read_entry(path, "key")
    assert found is not None
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
        file.flush()
        image = found.weights_image()
        assert image.ctypes.data % 64 == 0
        np.testing.assert_array_equal(image, weights)
        file.truncate(1)  # memory that is mapped from here would be gone
    np.testing.assert_array_equal(found.weights_image(), weights)
    assert found.objects == (b"object",)
