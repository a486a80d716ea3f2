"""How the threads of a block read tiles of the two operands of a product.

In: where an operand stands (a matrix, matrices side by side, the pixels that a window sees). Out:
for each thread the vectors that it moves, zeros where the tile sticks out, and where in the tile
each belongs. Vectors are read whole: sizes and steps are multiples of theirs. Invariant: no thread
reads what is not an element: where its own is none, it reads another one, of which there is one if
there is anything to multiply.

An operand is seen as [across, inner]: `across` are the rows of the left one or the columns of the
right one, `inner` is what is summed over. Neighbouring threads read neighbouring elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from llvmlite import ir

from flowc.codegen.cuda.device_writer import DeviceWriter
from flowc.codegen.llvm.vector_ir import Index
from flowc.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """What one thread moves of a tile of `across` x `depth`: `count` vectors of `width` elements of
    `kind`. `along`: neighbours in memory are neighbours across; else along the inner dimension."""

    across: int
    depth: int
    threads: int
    along: bool
    kind: ir.Type
    size: int
    width: int = 1

    @property
    def count(self) -> int:
        return self.across * self.depth // (self.threads * self.width)

    def places(self, w: DeviceWriter) -> list[tuple[Index, Index]]:
        """(across, inner) of the first element of each vector within the tile."""
        thread = w.thread()
        vectors = (self.across if self.along else self.depth) // self.width
        near, far = (thread % vectors) * self.width, thread // vectors
        apart = self.threads // vectors
        if self.along:
            return [(near, far + i * apart) for i in range(self.count)]
        return [(far + i * apart, near) for i in range(self.count)]

    def read(self, w: DeviceWriter, pointer: Any) -> Any:
        """The vector, or the element, at a pointer."""
        if self.width == 1:
            return w.read(pointer, self.kind)
        return w.read(pointer, ir.VectorType(self.kind, self.width), self.width * self.size)


class Operand(Protocol):
    """Made where a block begins; `fetch` stands in its loop."""

    def fetch(self, start: Index) -> list[Any]:
        """What this thread moves of the tile whose inner dimension begins at `start`. That is of 32
        bits, as places within tiles are."""
        ...


@dataclass(frozen=True, slots=True)
class StoredMatrix:
    """A matrix, or one of several side by side: a pointer to its first element, elements from one
    row in memory to the next, and where its inner dimension ends, counted from the first of all."""

    pointer: Any
    step: Index
    end: Index


class MatrixTile:
    """Tiles of a matrix [across, inner]. An element stands at `across * step + inner`, or at
    `across + inner * step` where the share lies along. `first`: of the block's rows or columns, of
    `size`."""

    def __init__(
        self,
        w: DeviceWriter,
        share: Share,
        matrix: StoredMatrix,
        first: Index,
        size: Index,
    ) -> None:
        self.w, self.share, self.matrix = w, share, matrix
        self.slots: list[tuple[Any, Index, Any]] = []
        for across, inner in share.places(w):
            place, deep = first + w.wide(across), w.wide(inner)
            own = place + deep * matrix.step if share.along else place * matrix.step + deep
            pointer = w.at(matrix.pointer, own, share.kind)
            self.slots.append((pointer, inner, place.compare("<", size)))

    def fetch(self, start: Index) -> list[Any]:
        w, b, share, found = self.w, self.w.b, self.share, list[Any]()
        further = w.wide(start) * self.matrix.step if share.along else w.wide(start)
        depth = w.narrow(self.matrix.end)
        for pointer, inner, inside in self.slots:
            holds = b.and_(inside, (start + inner).compare("<", depth))
            there = b.select(holds, w.at(pointer, further, share.kind), self.matrix.pointer)
            found.append(w.where(holds, share.read(w, there)))
        return found


class PiecesTile:
    """Tiles of matrices [across, inner] that stand side by side. No element is read in place of
    none that may be of an empty piece: the last of its row stands in."""

    def __init__(
        self,
        w: DeviceWriter,
        share: Share,
        pieces: Sequence[StoredMatrix],
        first: Index,
        size: Index,
    ) -> None:
        self.w, self.share, self.pieces = w, share, pieces
        self.slots: list[tuple[Index, Index, Any]] = []
        for across, inner in share.places(w):
            place = first + w.wide(across)
            self.slots.append((place.least(size - 1), inner, place.compare("<", size)))

    def fetch(self, start: Index) -> list[Any]:
        w, b, share, found = self.w, self.w.b, self.share, list[Any]()
        depth = self.pieces[-1].end
        for across, inner, inside in self.slots:
            at = w.wide(start + inner)
            there = at.least(depth - share.width)
            pointer, step, begin = self.pieces[0].pointer, self.pieces[0].step, w.number(0)
            for before, piece in zip(self.pieces, self.pieces[1:]):
                later = there.compare(">=", before.end)
                pointer = b.select(later, piece.pointer, pointer)
                step = Index(b, b.select(later, piece.step.value, step.value))
                begin = Index(b, b.select(later, before.end.value, begin.value))
            element = w.at(pointer, across * step + (there - begin), share.kind)
            holds = b.and_(inside, at.compare("<", depth))
            found.append(w.where(holds, share.read(w, element)))
        return found


@dataclass(frozen=True, slots=True)
class Axis:
    """One spatial axis of a convolution, in 32 bits, and its size in the result."""

    size: Index
    result: Index
    window: Index
    stride: Index
    dilation: Index
    pad: Index


# The ints of an axis, named so with `_` and its letter, in the order of an Axis's fields.
PER_AXIS = ("in", "out", "window", "stride", "dilation", "pad")


def window_axes(w: DeviceWriter, letters: str) -> tuple[Axis, ...]:
    """The axes of a convolution, from the kernel's ints."""
    return tuple(
        Axis(*(w.narrow(w.int(f"{name}_{letter}")) for name in PER_AXIS)) for letter in letters
    )


@dataclass(frozen=True, slots=True)
class Image:
    """What a convolution reads: `pixel_step` elements from one pixel to the next, of which
    `channels` belong to this group, the first at `pointer`. `transposed`: its pixels are those of
    the result of a convolution, whose input is computed."""

    pointer: Any
    axes: tuple[Axis, ...]
    channels: Index
    pixel_step: Index
    transposed: bool


class ImageTile:
    """Tiles of the matrix [pixels of the result, taps x channels], which stands nowhere: elements
    are read from the image, zeros where a tap falls into the padding.

    `readable` points to an element of some other tensor, which is read in place of none: the image
    may have no pixel at all where the result has some.
    """

    def __init__(
        self,
        w: DeviceWriter,
        share: Share,
        image: Image,
        first: Index,
        size: Index,
        depth: Index,
        readable: Any,
    ) -> None:
        self.w, self.share, self.image, self.readable = w, share, image, readable
        self.depth = depth
        self.slots: list[tuple[Any, list[Index], Any]] = []
        for across, inner in share.places(w):
            place = first + w.wide(across)
            rest, corner = place.least(size - 1), list[Index]()
            for axis in reversed(image.axes):
                result = w.wide(axis.result)
                at = w.narrow(rest % result)
                rest = rest // result
                near = at + axis.pad if image.transposed else at * axis.stride - axis.pad
                corner.insert(0, near)
            start = [w.signed(c) for c in corner] if not image.transposed else []
            self.slots.append((self._pixel(rest, start), corner, place.compare("<", size)))
            self.inner = inner  # the same for all that a thread moves

    def _pixel(self, picture: Index, there: Sequence[Index]) -> Any:
        """The address of a pixel of a picture; without its place, of the picture's first."""
        w, image = self.w, self.image
        for i, axis in enumerate(image.axes):
            picture = picture * w.wide(axis.size)
            picture = picture + there[i] if there else picture
        return w.at(image.pointer, picture * image.pixel_step, self.share.kind)

    def fetch(self, start: Index) -> list[Any]:
        w, b, image = self.w, self.w.b, self.image
        at = start + self.inner
        channels = w.narrow(image.channels)
        tap, channel = at.divide_unsigned(channels), at.remainder_unsigned(channels)
        reach: list[Index] = []  # of the tap on each axis
        for i, axis in reversed(list(enumerate(image.axes))):
            on_axis = tap.remainder_unsigned(axis.window) if i else tap
            tap = tap.divide_unsigned(axis.window)
            reach.insert(0, on_axis * axis.dilation)
        shared = self._element(reach, channel)
        found: list[Any] = []
        for pixel, corner, inside in self.slots:
            holds = b.and_(inside, at.compare("<", w.narrow(self.depth)))
            further, places = shared, list[Index]()
            for axis, near, far in zip(image.axes, corner, reach):
                there, on_grid = self._pixel_on_axis(axis, near, far)
                holds = w.all(holds, *on_grid)
                places.append(there)
            if image.transposed:
                further = self._element(places, channel)
            place = w.at(pixel, further, self.share.kind)
            pointer = b.select(holds, place, self.readable)
            found.append(w.where(holds, self.share.read(w, pointer)))
        return found

    def _element(self, places: Sequence[Index], channel: Index) -> Index:
        """How far a channel of the pixel at a place is from the first of all."""
        w, image = self.w, self.image
        pixel = places[0]
        for axis, place in zip(image.axes[1:], places[1:]):
            pixel = pixel * axis.size + place
        return w.signed(pixel) * image.pixel_step + w.wide(channel)

    def _pixel_on_axis(self, axis: Axis, near: Index, far: Index) -> tuple[Index, list[Any]]:
        """The pixel that a tap sees, and what must hold for there to be one."""
        if not self.image.transposed:
            there = near + far
            return there, [there.below_unsigned(axis.size).value]
        spread = near - far
        there = spread.divide_signed(axis.stride)
        return there, [
            spread.compare(">=", 0),
            (there * axis.stride).compare("==", spread),
            there.below_unsigned(axis.size).value,
        ]


class TransposedWeights:
    """Tiles of the right operand of a transposed convolution: weights [taps, across, channels] as
    the matrix [across, taps x channels]."""

    def __init__(
        self,
        w: DeviceWriter,
        share: Share,
        pointer: Any,
        channels: Index,
        first: Index,
        size: Index,
        depth: Index,
    ) -> None:
        self.w, self.share, self.pointer, self.channels = w, share, pointer, channels
        self.depth, self.size = depth, size
        self.slots: list[tuple[Index, Index, Any]] = []
        for across, inner in share.places(w):
            place = first + w.wide(across)
            self.slots.append((place.least(size - 1), inner, place.compare("<", size)))

    def fetch(self, start: Index) -> list[Any]:
        w, found = self.w, list[Any]()
        for across, inner, inside in self.slots:
            at = w.wide(start + inner)
            there = at.least(self.depth - self.share.width)
            tap, channel = there // self.channels, there % self.channels
            place = (tap * self.size + across) * self.channels + channel
            element = self.share.read(w, w.at(self.pointer, place, self.share.kind))
            found.append(w.where(w.b.and_(inside, at.compare("<", self.depth)), element))
        return found
