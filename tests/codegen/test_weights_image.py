"""The weights of a program as one piece of memory."""

from __future__ import annotations

import numpy as np

from flowc.codegen.compiled import WEIGHT_ALIGNMENT, packed, weights_image
from flowc.codegen.packed import Array, Packed, packed_in_a_row


def test_pieces_stand_at_their_offsets_with_zeros_between() -> None:
    pieces = [(0, np.arange(3, dtype=np.float32)), (64, np.array([[7], [9]], np.int16))]
    image = weights_image(pieces, 128)
    assert image.nbytes == 128 and image.ctypes.data % WEIGHT_ALIGNMENT == 0
    assert image[:12].tobytes() == pieces[0][1].tobytes()
    assert image[64:68].tobytes() == pieces[1][1].tobytes()
    assert not image[12:64].any() and not image[68:].any()
    assert weights_image([(0, image)], 128) is image
    assert weights_image([], 0).nbytes == 0


def test_packed_pieces_are_written_where_they_stand() -> None:
    filled: list[Array] = []

    def fill(place: Array) -> None:
        filled.append(place)
        place[1:] = 5

    part = Packed((2, 3), np.dtype(np.float32), fill)
    whole = packed_in_a_row([part, part])
    assert whole.shape == (12,) and whole.nbytes == 48 and not filled
    image = weights_image([(64, whole)], 128)
    assert len(filled) == 2 and all(np.shares_memory(place, image) for place in filled)
    ((at, array),) = packed([(64, whole)])
    expected = np.array([0, 0, 0, 5, 5, 5] * 2, np.float32)
    assert at == 64 and array.tobytes() == image[64:112].tobytes() == expected.tobytes()
