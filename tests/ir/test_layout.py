"""Layouts: what memory has and the logical order are told apart in both directions."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from flowc import dtypes
from flowc.codegen.cpu.contractions.algorithms import conv_algorithms
from flowc.codegen.cpu.convolution import ConvSpec, conv_source, pack_conv_weights
from flowc.codegen.cpu.tiles import tile_shape
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.layout import CHANNELS_LAST, LAYOUTS, layout_of
from flowc.ir.lowering import Convolution
from flowc.ir.types import TensorType

STORED = {
    "NHWC": (2, 3, 5, 8),
    "NDHWC": (2, 1, 3, 5, 8),
    "NCHW": (2, 8, 3, 5),
    "NCDHW": (2, 8, 1, 3, 5),
    "NCHW_VECT_C": (2, 2, 3, 5, 4),
}


@pytest.mark.parametrize("data_format", STORED)
def test_dims_indices_and_arrays_agree(data_format: str) -> None:
    layout, stored = layout_of(data_format), STORED[data_format]
    logical = layout.logical(stored)
    assert logical[0] == 2 and logical[-3:] == (3, 5, 8)
    assert layout.stored(logical) == stored
    assert stored[layout.channel_axis(len(stored))] in (8, 8 // max(1, layout.block))
    image = np.arange(np.prod(logical)).reshape(logical)
    packed = layout.packed(image)
    assert packed.shape == stored
    np.testing.assert_array_equal(layout.unpacked(packed), image)
    for place in itertools.product(*map(range, logical)):
        index = layout.index(place)
        assert packed[index] == image[place]
        assert layout.place(index) == place


def test_sizes_may_be_symbolic() -> None:
    layout, n = layout_of("NCHW_VECT_C"), symbol("n")
    assert layout.logical((n, 2, n + 1, 3, 4)) == (n, n + 1, 3, 8)
    assert layout.stored((n, n + 1, 3, 8)) == (n, 2, n + 1, 3, 4)


def test_a_layout_without_tiles_is_refused() -> None:
    for name in LAYOUTS.keys() - {CHANNELS_LAST}:
        spec = ConvSpec(tile_shape(dtypes.f32, 256), layout=name)
        with pytest.raises(InternalError, match="no tiles"):
            conv_source(spec)
        with pytest.raises(InternalError, match="no tiles"):
            pack_conv_weights(np.zeros((3, 3, 8, 8), np.float32), spec)


def test_other_layouts_are_for_plain_convolutions_with_known_weights() -> None:
    b, shape = Builder(), tile_shape(dtypes.f32, 256)
    known = b.const(np.ones((3, 3, 8, 8), np.float32))
    of_run = b.parameter("w", TensorType(dtypes.f32, (3, 3, 8, 8)))
    image, result = (1, 9, 9, 8), (1, 7, 7, 8)
    plain = Convolution((1, 1), (1, 1), ((0, 0), (0, 0)), layout="NC...4c")
    (found,) = conv_algorithms(plain, known, image, result, shape, False)
    assert found.name == "direct"
    for lowering, weights in ((replace(plain, transposed=True), known), (plain, of_run)):
        with pytest.raises(InternalError, match="takes images in NC"):
            conv_algorithms(lowering, weights, image, result, shape, False)
