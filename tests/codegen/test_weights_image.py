"""The weights of a program as one piece of memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flowc.codegen.compiled import WEIGHT_ALIGNMENT, weights_image
from flowc.files.large_pages import LARGE

THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def test_pieces_stand_at_their_offsets_with_zeros_between() -> None:
    pieces = [(0, np.arange(3, dtype=np.float32)), (64, np.array([[7], [9]], np.int16))]
    image = weights_image(pieces, 128)
    assert image.nbytes == 128 and image.ctypes.data % WEIGHT_ALIGNMENT == 0
    assert image[:12].tobytes() == pieces[0][1].tobytes()
    assert image[64:68].tobytes() == pieces[1][1].tobytes()
    assert not image[12:64].any() and not image[68:].any()
    assert weights_image([(0, image)], 128) is image
    assert weights_image([], 0).nbytes == 0


@pytest.mark.skipif(not THP.exists(), reason="a system without large pages")
@pytest.mark.parametrize("size, large", [(LARGE, True), (LARGE // 2, False)])
def test_what_is_large_asks_for_large_pages(size: int, large: bool) -> None:
    image = weights_image([(64, np.ones(8, np.uint8))], size)
    flags: list[str] = []
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first = line.split()[0]
        if "-" in first and not first.endswith(":"):
            start, end = (int(x, 16) for x in first.split("-"))
            inside = start <= image.ctypes.data < end
        elif inside and first == "VmFlags:":
            flags = line.split()[1:]
    assert ("hg" in flags) == large, flags
