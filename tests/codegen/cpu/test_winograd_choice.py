"""Which convolutions are computed by Winograd's algorithm, and with tiles of how many outputs."""

from __future__ import annotations

import numpy as np
from contraction_kernels import shape_for
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.winograd.choice import least_pixels, winograd_for
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, symbol
from flowc.ir.lowering import Convolution

SAME = ((1, 1), (1, 1))


def weights_of(dims: tuple[int, ...], known: bool = True) -> Value:
    b = Builder()
    if known:
        return b.const(np.zeros(dims, np.float32))
    return b.parameter("w", tensor_type(dtypes.f32, dims))


def chosen(
    channels: int,
    n: int,
    size: Dim,
    window: tuple[int, int] = (3, 3),
    *,
    batch: Dim = 1,
    bits: int = 512,
    stride: int = 1,
    dilation: int = 1,
    known: bool = True,
) -> int | None:
    """How many outputs the tiles that are chosen for a layer have along the longer axis; None where
    it is direct. `known`: the weights are."""
    weights = weights_of((*window, channels, n), known)
    lowering = Convolution((stride, stride), (dilation, dilation), SAME)
    dims = (batch, size, size)
    spec = winograd_for(lowering, weights, (*dims, n), shape_for(dtypes.f32, bits))
    return spec and max(spec.winograd.h.outputs, spec.winograd.w.outputs)


def least(channels: int, *dims: Dim, window: tuple[int, int] = (3, 3)) -> int:
    """Of how many pixels of images of these dims on the chosen tiles are used."""
    weights = weights_of((*window, channels, channels))
    layer = (
        Convolution((1, 1), (1, 1), SAME),
        weights,
        (*dims, channels),
        shape_for(dtypes.f32, 512),
    )
    spec = winograd_for(*layer)
    assert spec is not None
    return least_pixels(spec, *layer)


# Layers of ResNet-50, DenseNet, VGG and Inception; few channels, tiny maps, channels that do not
# fill vectors or only half ones, sizes that are not known.
CHOICES = [
    ((64, 64, 56), 4),
    ((128, 128, 28), 4),
    ((256, 256, 14), 2),
    ((512, 512, 7), 2),
    ((128, 32, 56), 4),
    ((128, 32, 7), 2),
    ((512, 512, 28), 4),
    ((96, 96, 35), 4),
    ((448, 384, 8), 2),
    ((48, 64, 35, (5, 5)), 2),
    ((160, 160, 17, (1, 7)), 4),
    ((192, 192, 17, (7, 1)), 4),
    ((384, 384, 8, (1, 3)), 2),
    ((64, 64, 56, (7, 7)), 4),
    ((64, 64, 56, (1, 11)), 4),
    ((64, 64, 56, (1, 2)), None),
    ((256, 256, 2), None),
    ((16, 16, 7), None),
    ((64, 60, 56), None),
    ((24, 24, 64), None),  # the sums are so short that tiles of 4 x 4 would err more
    ((32, 64, 56), 2),
    ((48, 48, 64), 4),
    ((64, 128, 60, (2, 2)), 3),
    ((64, 64, 28, (4, 4)), 3),
    ((512, 24, 38), 4),
    ((3, 64, 224), None),
    ((0, 32, 56), None),
    ((64, 64, symbol("height")), 4),
    ((512, 512, symbol("height")), 4),
    ((64, 60, symbol("height")), None),
]


def test_choices() -> None:
    for sizes, outputs in CHOICES:
        assert chosen(*sizes) == outputs, sizes
    assert chosen(256, 256, 14, bits=256) == 2
    assert chosen(64, 64, 56, stride=2) == 2
    assert chosen(64, 64, 56, stride=3) is None
    assert chosen(64, 128, 32, (4, 4), stride=2) == 3
    assert chosen(64, 128, 28, (5, 5), stride=2) == 2
    # Three outputs where four would be left unused.
    assert [chosen(64, 64, size, batch=16) for size in (3, 5, 9, 12, 17)] == [3, 3, 3, 4, 4]
    assert chosen(256, 64, 33, dilation=12) == 3
    # Every image of a batch adds tiles that share the weights; one that is not known has one.
    assert chosen(256, 256, 14, batch=8) == 4
    assert chosen(256, 256, 14, batch=symbol("batch")) == 2


def test_choices_with_weights_of_the_run() -> None:
    """Those that few tiles share are not transformed; there is one way for sizes of the run."""
    assert chosen(64, 64, 32, batch=64, known=False) == 4
    assert chosen(256, 256, 8, batch=64, known=False) == 4
    assert chosen(32, 64, 14, (5, 5), batch=64, known=False) == 2
    assert chosen(256, 256, 14, known=False) == 2
    assert chosen(512, 512, 7, known=False) is None
    assert chosen(64, 64, symbol("height"), batch=64, known=False) is None
    assert chosen(64, 64, 56, (7, 7), batch=64, known=False) is None


def test_few_pixels_of_images_whose_size_the_run_knows_are_computed_directly() -> None:
    height, width = symbol("height"), symbol("width")
    assert least(64, 1, 56, 56) == least(64, symbol("batch"), 56, 56) == 0
    for dims in ((1, height, width), (symbol("batch"), height, width)):
        assert [least(c, *dims) for c in (64, 256, 512)] == [11 * 11] * 3
    assert least(256, 1, height, 28) == 4 * 28
    assert least(64, 1, 1, width, window=(1, 3)) == 76
    # All images together have so many.
    assert least(256, 8, height, width) == 8 * 6 * 6
