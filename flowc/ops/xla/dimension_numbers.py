"""What XLA's ops say of the axes of their operands: messages of XLA, serialized in an attr.

In: the attr's text. Out: which axes play which part. Invariant: every number is an axis that was
checked, or `InvalidModelError` or `ShapeError` says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.dataclass import dataclass
from flowc.encoding.wire import BYTES, VARINT, varint
from flowc.errors import InvalidModelError
from flowc.ir.inference import Inference

Numbers = tuple[int, ...]


def _fields(text: str, message: str) -> dict[int, list[int]]:
    """The numbers of a message's fields, all of which are ints or lists of ints."""
    data = memoryview(text.encode("utf-8", "surrogateescape"))
    found: dict[int, list[int]] = {}
    at = 0
    try:
        while at < len(data):
            tag, at = varint(data, at)
            numbers = found.setdefault(tag >> 3, [])
            if tag & 7 == VARINT:
                number, at = varint(data, at)
                numbers.append(number)
                continue
            if tag & 7 != BYTES:
                raise ValueError(f"a field of wire type {tag & 7}")
            length, at = varint(data, at)
            end = at + length
            if end > len(data):
                raise ValueError("a field ends behind the message")
            while at < end:
                number, at = varint(data, at)
                numbers.append(number)
    except (IndexError, ValueError) as error:
        raise InvalidModelError(f"the attr dimension_numbers is no {message}: {error}") from None
    return found


def check_axes(c: Inference, axes: Sequence[int], rank: int, what: str) -> None:
    """Raises `ShapeError` where axes repeat or the operand has none of these."""
    if len(set(axes)) != len(axes) or any(not 0 <= a < rank for a in axes):
        raise c.fail(f"{what} {list(axes)} are not different axes of {rank} dimensions")


@dataclass(frozen=True, slots=True)
class DotNumbers:
    """The axes of both operands that are summed over, and those that both and the result have."""

    contracted: tuple[Numbers, Numbers]
    batch: tuple[Numbers, Numbers]

    @staticmethod
    def of(text: str) -> DotNumbers:
        found = _fields(text, "DotDimensionNumbers")
        one, other, left, right = (tuple(found.get(i, ())) for i in (1, 2, 3, 4))
        return DotNumbers((one, other), (left, right))

    def check(self, c: Inference) -> None:
        for i in range(2):
            axes = (*self.batch[i], *self.contracted[i])
            check_axes(c, axes, c.rank(i), f"the batch and contracting dimensions of input {i},")
        for one, other in (self.contracted, self.batch):
            if len(one) != len(other):
                raise c.fail(f"dimensions {list(one)} and {list(other)} do not pair")
            for x, y in zip(one, other):
                c.equal(c.dims(0)[x], c.dims(1)[y])


@dataclass(frozen=True, slots=True)
class ConvolutionNumbers:
    """The axes of the image and of the result as batch, spatial ones, features; those of the window
    as spatial ones, input features, output features."""

    image: Numbers
    window: Numbers
    result: Numbers

    @staticmethod
    def of(text: str) -> ConvolutionNumbers:
        found = _fields(text, "ConvolutionDimensionNumbers")

        def axes(batch: int, spatial: int, feature: int) -> Numbers:
            first, last = (found.get(i, [0])[-1] for i in (batch, feature))
            return (first, *found.get(spatial, ()), last)

        inputs, outputs = (found.get(i, [0])[-1] for i in (3, 4))
        window = (*found.get(6, ()), inputs, outputs)
        return ConvolutionNumbers(axes(7, 11, 8), window, axes(9, 12, 10))

    def check(self, c: Inference) -> None:
        for axes, i in ((self.image, 0), (self.window, 1), (self.result, 0)):
            if len(axes) != c.rank(i):
                raise c.fail(f"dimension_numbers name {len(axes)} dimensions of {c.rank(i)}")
            check_axes(c, axes, c.rank(i), "dimension_numbers")


@dataclass(frozen=True, slots=True)
class SliceNumbers:
    """Where slices stand: in the operand and in `many`, the tensor of them that is gathered or
    scattered. `window`: the axes of `many` that a slice has. `dropped`: the operand's axes that it
    lacks. `starts`: the axis of the operand that each number of an index is of. `vector`: the axis
    of the indices that has such numbers. `batch`: the operand's axes that are the same axes
    `index_batch` of the indices."""

    window: Numbers
    dropped: Numbers
    starts: Numbers
    vector: int
    batch: Numbers
    index_batch: Numbers

    @staticmethod
    def of(text: str) -> SliceNumbers:
        found = _fields(text, "GatherDimensionNumbers")
        window, dropped, starts = (tuple(found.get(i, ())) for i in (1, 2, 3))
        batch, index_batch = (tuple(found.get(i, ())) for i in (5, 6))
        return SliceNumbers(
            window, dropped, starts, found.get(4, [0])[-1], batch, index_batch
        )  # fmt: skip

    def kept(self, rank: int) -> Numbers:
        """The axes of the operand that are axes of a slice, in order."""
        return tuple(a for a in range(rank) if a not in self.dropped and a not in self.batch)

    def places(self, index_rank: int) -> Numbers:
        """The axes of the indices that number the slices."""
        return tuple(a for a in range(index_rank) if a != self.vector)

    def check(self, c: Inference, many_rank: int) -> None:
        """Inputs 0 and 1 are the operand and the indices."""
        rank, index_rank = c.rank(0), c.rank(1)
        check_axes(c, (*self.dropped, *self.batch), rank, "collapsed and batching dimensions")
        check_axes(c, (*self.starts, *self.batch), rank, "indexed and batching dimensions")
        check_axes(c, self.index_batch, index_rank, "batching dimensions of the indices")
        check_axes(c, self.window, many_rank, "dimensions of a slice")
        if not 0 <= self.vector <= index_rank or self.vector in self.index_batch:
            raise c.fail(f"index_vector_dim is {self.vector} of {index_rank} dimensions")
        count = c.dims(1)[self.vector] if self.vector < index_rank else 1
        c.equal(count, len(self.starts), f"an index has {count} numbers, not {len(self.starts)}")
        if len(self.window) != len(self.kept(rank)):
            raise c.fail(f"slices have {len(self.kept(rank))} dimensions, not {len(self.window)}")
        if len(self.batch) != len(self.index_batch):
            raise c.fail("batching dimensions of the operand and of the indices do not pair")
        for own, other in zip(self.batch, self.index_batch):
            c.equal(c.dims(0)[own], c.dims(1)[other])
