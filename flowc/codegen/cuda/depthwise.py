"""Convolutions whose channels are by themselves on a GPU: a thread has a vector of channels of one
pixel, and adds up what the window sees of them.

In: the taps, and what is done with a result (`finish.py`). Out: the module of the kernel. Taps
are added in their order but for those in the padding: the same bits for every width.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.cuda.device_writer import DeviceWriter, memory_type, total_type
from flowc.codegen.cuda.finish import Ending, Finish
from flowc.codegen.cuda.operands import window_axes
from flowc.codegen.llvm.vector_ir import Index
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc_runtime.native.writer import I32

DEPTHWISE_THREADS = 256
MOST_TAPS = 25  # that are written out, so that their reads are under way together

# The ints beside those of the axes: vectors of the result, channels of the result and of the image.
DEPTHWISE_SIZES = ("vectors", "c_stride", "channels")


@dataclass(frozen=True, slots=True)
class DepthwiseSource:
    """A thread has a vector of `width` channels of the result: 1 where several of them are made of
    one channel of the image. `window`: its sizes where they are few; else the kernel counts them.
    `ints`: the names of those of the axes, in their order."""

    dtype: DType
    axes: str
    width: int
    window: tuple[int, ...] | None
    ints: tuple[str, ...]


def depthwise_text(source: DepthwiseSource, end: Ending) -> str:
    """LLVM IR of the kernel. Its buffers: image, weights, the ending's; its ints: DEPTHWISE_SIZES,
    those of the axes, the ending's."""
    names = ["a", "b", *end.buffers], [*DEPTHWISE_SIZES, *source.ints, *end.ints]
    w = DeviceWriter(*names, DEPTHWISE_THREADS)
    finish = Finish(w, end)
    place = w.wide(w.block_number()) * DEPTHWISE_THREADS + w.wide(w.thread())
    with w.when(place.compare("<", w.int("vectors"))):
        _Pixel(w, source, place).emit(finish)
    finish.end()
    w.give()
    return w.text()


class _Pixel:
    """What one thread computes."""

    def __init__(self, w: DeviceWriter, source: DepthwiseSource, place: Index) -> None:
        self.w, self.source = w, source
        self.kind = memory_type(source.dtype)
        self.axes = window_axes(w, source.axes)
        outputs = w.int("c_stride")
        across = outputs // source.width
        self.row, self.column = place // across, place % across * source.width
        self.channel = self.column // (outputs // w.int("channels"))
        rest, self.corner = self.row, list[Index]()
        for axis in reversed(self.axes):
            result = w.wide(axis.result)
            at = w.narrow(rest % result)
            rest = rest // result
            self.corner.insert(0, at * axis.stride - axis.pad)
        self.picture = rest

    def emit(self, finish: Finish) -> None:
        w, kind = self.w, total_type(self.source.dtype)
        zero = ir.Constant(kind, None if isinstance(kind, ir.IntType) else 0.0)
        self.totals = [w.variable(zero) for _ in range(self.source.width)]
        if self.source.window is not None:
            for taps in itertools.product(*map(range, self.source.window)):
                self._add([Index(w.b, ir.Constant(I32, t)) for t in taps])
        else:
            self._count([])
        for i, total in enumerate(self.totals):
            finish.element(self.row, self.column + i, total.get(), w.number(0))

    def _count(self, taps: list[Index]) -> None:
        """All taps whose places on the first axes are known."""
        if len(taps) == len(self.axes):
            self._add(taps)
            return
        with self.w.steps(self.axes[len(taps)].window, 1) as tap:
            self._count([*taps, tap])

    def _add(self, taps: Sequence[Index]) -> None:
        w, b = self.w, self.w.b
        holds: list[Any] = []
        pixel, tap_number = self.picture, w.number(0)
        for axis, near, tap in zip(self.axes, self.corner, taps):
            there = near + tap * axis.dilation
            holds.append(there.below_unsigned(axis.size).value)
            pixel = pixel * w.wide(axis.size) + w.signed(there)
            tap_number = tap_number * w.wide(axis.window) + w.wide(tap)
        weights = w.at(w.parameters["b"], tap_number * w.int("c_stride") + self.column, self.kind)
        element = w.at(w.parameters["a"], pixel * w.int("channels") + self.channel, self.kind)
        inside = w.all(*holds)
        image = self._read(b.select(inside, element, weights))
        taken = zip(w.lanes(image), w.lanes(self._read(weights)), self.totals, strict=True)
        for x, y, total in taken:
            dtype = self.source.dtype
            more = w.multiply_add(w.held(x, dtype), w.held(y, dtype), total.get())
            total.set(b.select(inside, more, total.get()))

    def _read(self, pointer: Any) -> Any:
        width = self.source.width
        if width == 1:
            return self.w.read(pointer, self.kind)
        kind = ir.VectorType(self.kind, width)
        return self.w.read(pointer, kind, width * self.source.dtype.size)
