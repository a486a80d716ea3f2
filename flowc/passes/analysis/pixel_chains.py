"""Depthwise convolutions whose pixels a convolution of single pixels reads: which pairs of them can
go through a band of rows of the image at a time.

In: the two convolutions. Out: whether there are bands for them, and how many rows these have.
Invariant: bands share the rows of an image out exactly.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.ir.computation import Node
from flowc.ir.layout import CHANNELS_LAST
from flowc.ir.lowering import Convolution

BAND_BYTES = 64 << 10  # of a band, at most: its rows are near when they are multiplied
FEWEST_PIXELS = 40  # of a band: fewer read the weights too often
FEWEST_CHANNELS = 16  # a vector of most machines: images of fewer are computed in other ways
MOST_CHANNELS = 1024  # of more, the rows of a tile displace each other from the first cache


def is_pixel_chain(first: Node, last: Node) -> bool:
    """Whether rows of a depthwise convolution's result, which are some, may go to one of single
    pixels band by band."""
    value = first.output
    if value.type.dtype is not dtypes.f32 or not _is_depthwise(first) or not _is_single(last):
        return False
    sizes = [d for d in value.dims if isinstance(d, int)]
    if len(sizes) != len(value.dims) or not FEWEST_CHANNELS <= sizes[-1] < MOST_CHANNELS:
        return False
    _, rows, columns, channels = sizes
    band = rows_of_band(rows, columns * channels * value.type.dtype.size)
    return band * columns >= FEWEST_PIXELS


def rows_of_band(rows: int, row_bytes: int) -> int:
    """The rows of a band, of an image of so many."""
    most = max(1, BAND_BYTES // row_bytes)
    return max(n for n in range(1, min(most, rows) + 1) if rows % n == 0)


def _is_depthwise(node: Node) -> bool:
    lowering, weights = node.lowering, node.inputs[1].dims
    if not isinstance(lowering, Convolution) or lowering.transposed or len(lowering.strides) != 2:
        return False
    is_each = lowering.groups == node.output.dims[-1] and weights[-2] == 1
    return is_each and lowering.layout == CHANNELS_LAST


def _is_single(node: Node) -> bool:
    lowering, weights = node.lowering, node.inputs[1].dims
    if not isinstance(lowering, Convolution) or lowering.transposed or lowering.groups != 1:
        return False
    is_one = set(weights[:-2]) == set(lowering.strides) == {1}
    return is_one and lowering.layout == CHANNELS_LAST and not any(map(any, lowering.pad))
