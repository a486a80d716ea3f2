"""Layouts of images: in which order memory has their dims, and whether channels stand in blocks.

In: the name of a layout, or one of TensorFlow's data formats. Out: an ImageLayout, which maps dims
and indices between what memory has and the logical order: batch, spatial..., channels. Type rules,
lowerings and code generation ask it and know no order of their own. An image is packed by the view
that reads at `layout.place(index)`, and unpacked by the one that reads at `layout.index(place)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.ir.dims import Dim, floordiv
from flowc.ir.types import Dims


@dataclass(frozen=True, slots=True)
class ImageLayout:
    """`channels_first`: behind the batch, else last. `block`: if not 0, channels fall into blocks
    of so many, the place of the channels is that of the block, and the last dim is within it."""

    channels_first: bool = False
    block: int = 0

    def channel_axis(self, rank: int) -> int:
        return self._axes(rank).index(rank - 1 - (self.block > 0))

    def logical(self, dims: Sequence[Any]) -> tuple[Any, ...]:
        """Dims, or one value an axis where there are no blocks, in logical order."""
        found = [dim for _, dim in sorted(zip(self._axes(len(dims)), dims))]
        return (*found[:-2], found[-2] * self.block) if self.block else tuple(found)

    def stored(self, dims: Sequence[Any]) -> tuple[Any, ...]:
        """What is in logical order, as memory has it."""
        return (*self.index(dims)[:-1], self.block) if self.block else self.index(dims)

    def place(self, index: Sequence[Dim]) -> Dims:
        """The logical index of the element at an index of memory."""
        *image, channel = self.logical(index)
        return (*image, channel + index[-1] if self.block else channel)

    def index(self, place: Sequence[Any]) -> tuple[Any, ...]:
        """Where memory has the element at a logical index."""
        *image, channel = place
        found = [*image, channel]
        if self.block:
            found[-1:] = [floordiv(channel, self.block), channel % self.block]
        return tuple(found[axis] for axis in self._axes(len(found)))

    def unpacked(self, x: np.ndarray) -> np.ndarray:
        """An array in logical order."""
        return x.transpose(np.argsort(self._axes(x.ndim))).reshape(self.logical(x.shape))

    def packed(self, x: np.ndarray) -> np.ndarray:
        """A logical array as memory has it."""
        *image, channels = x.shape
        dims = (*image, channels // self.block, self.block) if self.block else x.shape
        return np.ascontiguousarray(x.reshape(dims).transpose(self._axes(len(dims))))

    def _axes(self, rank: int) -> Sequence[int]:
        """For each axis of memory, which it is in logical order."""
        last = rank - 1 - (self.block > 0)
        first = [0, last, *range(1, last), *range(last + 1, rank)]
        return first if self.channels_first else range(rank)


CHANNELS_LAST = "N...C"
LAYOUTS = {
    CHANNELS_LAST: ImageLayout(),
    "NC...": ImageLayout(channels_first=True),
    "NC...4c": ImageLayout(channels_first=True, block=4),
}


def layout_of(data_format: str) -> ImageLayout:
    """The layout that TensorFlow calls NHWC, NDHWC, NCHW, NCDHW or NCHW_VECT_C."""
    if data_format == "NCHW_VECT_C":
        return LAYOUTS["NC...4c"]
    return LAYOUTS["NC..." if data_format.startswith("NC") else CHANNELS_LAST]
