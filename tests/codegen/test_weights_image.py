"""The weights of a program as one piece of memory."""

from __future__ import annotations

import numpy as np

from flowc.codegen.compiled import WEIGHT_ALIGNMENT, weights_image


def test_pieces_stand_at_their_offsets_with_zeros_between() -> None:
    pieces = [(0, np.arange(3, dtype=np.float32)), (64, np.array([[7], [9]], np.int16))]
    image = weights_image(pieces, 128)
    assert image.nbytes == 128 and image.ctypes.data % WEIGHT_ALIGNMENT == 0
    assert image[:12].tobytes() == pieces[0][1].tobytes()
    assert image[64:68].tobytes() == pieces[1][1].tobytes()
    assert not image[12:64].any() and not image[68:].any()
    assert weights_image([(0, image)], 128) is image
    assert weights_image([], 0).nbytes == 0
