"""The axes along which broadcast operands repeat, where only the run knows their shapes.

In: two shapes of known length, some of whose elements are data. Out: a RunAxes, which says of each
axis whether it is summed over, as far as that is known; the sum over them, which has one rank
whatever they are; and the reshape that gives it the operand's dims. So the gradients of what is
broadcast compile for shapes that loops kept. Invariant: an axis of size 1 is summed over without
asking, as that changes no number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, as_dim
from flowc.ir.extraction import Bound, Extractor, RunAxes, Unranked
from flowc.ir.op import Attrs
from flowc.ir.types import MAX_RANK

Size = Dim | Value  # a size, or the scalar that holds it


def axes_of_data(x: Extractor, inputs: Sequence[Value], attrs: Attrs) -> Sequence[Bound]:
    """BroadcastGradientArgs of shapes that hold data."""
    left, right = (_sizes(x, shape) for shape in inputs)
    rank = max(len(left), len(right))
    sides = [[*[None] * (rank - len(side)), *side] for side in (left, right)]
    return [
        RunAxes(tuple(_is_summed(x, own, other) for own, other in zip(mine, theirs)))
        for mine, theirs in (sides, sides[::-1])
    ]


def _sizes(x: Extractor, shape: Value) -> list[Size]:
    count = shape.dims[0] if shape.type.rank == 1 else None
    if not isinstance(count, int) or count > MAX_RANK:
        raise InvalidArgumentError(
            f"'{x.name}' takes shapes as vectors of known length, of at most {MAX_RANK} sizes, "
            f"found {shape.type}"
        )
    content = x.b.content(shape)
    if content is not None:
        return [as_dim(d) for d in content]
    return [x.b.reshape(x.b.slice(shape, (i,), (1,)), ()) for i in range(count)]


def _is_summed(x: Extractor, own: Size | None, other: Size | None) -> Value | bool:
    """Whether an operand has size 1 along an axis (None: it lacks the axis), and is repeated."""
    if own is None or isinstance(own, int):
        return own is None or own == 1
    if other is None or (isinstance(other, int) and other == 1) or own == other:
        return False
    if not isinstance(own, Value) and x.is_lasting(own):
        return False  # the op itself made sure that both are of one size
    number = own if isinstance(own, Value) else x.b.scalar_size(own)
    return x.b.equal(number, 1)


def sum_over_run_axes(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """Sum over axes that the run decides on."""
    value, axes = _tensor(x, inputs[0]), inputs[1]
    if not isinstance(axes, RunAxes) or len(axes.parts) != value.type.rank:
        raise InvalidArgumentError(
            f"'{x.name}' sums {value.type} over axes of another tensor, which the run finds"
        )
    known = tuple(i for i, summed in enumerate(axes.parts) if summed is True)
    if known:
        value = x.b.sum(value, np.array(known, np.int32), keep_dims=True)
    for axis, summed in enumerate(axes.parts):
        if isinstance(summed, Value) and value.dims[axis] != 1:
            value = _summed_where(x, value, axis, summed)
    return [value if attrs["keep_dims"] else Unranked((value,))]


def _summed_where(x: Extractor, value: Value, axis: int, summed: Value) -> Value:
    def total(inner: Extractor, given: Sequence[Bound]) -> Sequence[Bound]:
        return [inner.b.sum(given[0], np.array([axis], np.int32), keep_dims=True)]

    (found,) = x.branch(summed, total, lambda _, given: given, [value])
    assert isinstance(found, Value)
    return found


def _tensor(x: Extractor, bound: Bound) -> Value:
    if isinstance(bound, Value):
        return bound
    raise UnsupportedError(
        f"node '{x.name}' takes axes, or a tensor of a rank, that only the run knows: flowc sums "
        "over such axes, and reshapes what it summed"
    )


def reshape_unranked(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """Reshape of a tensor whose rank the run knows: only the number of elements matters."""
    tensor, shape = inputs
    value = tensor.values[0] if isinstance(tensor, Unranked) else _tensor(x, tensor)
    return [x.b.reshape(value, _tensor(x, shape))]
