"""Shapes, sizes and indices as ops on lists state them, and the words in which these fail.

In: shapes that are known in part, integer scalars, indices. Out: what is known of them when a graph
is extracted. Invariant: nothing here knows of a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, Expr, as_dim, is_nonnegative, maximum
from flowc.ir.extraction import Extractor, Known
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.op import op_named
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import MAX_RANK, Dims

Partial = tuple[Dim | None, ...] | None  # dims as far as they are known; None: not even the rank

MERGE = "PartialTensorShape: Incompatible shapes during merge: {one} vs. {other}"
_TF_NAMES = {dtypes.f32: "float", dtypes.f64: "double", dtypes.f16: "half"}


def dtype_shown(dtype: DType) -> str:
    """A dtype as TensorFlow's kernels name it in messages."""
    return _TF_NAMES.get(dtype, dtype.name)


def complete(partial: Partial) -> Dims | None:
    """The dims, when all are known."""
    if partial is None or any(d is None for d in partial):
        return None
    return tuple(d for d in partial if d is not None)


def fits(partial: Sequence[Dim | None] | None, dims: Sequence[Dim | None]) -> bool:
    """Whether dims can be what a partial shape says; sizes that only a run knows can."""
    if partial is None:
        return True
    return len(partial) == len(dims) and all(
        not (isinstance(x, int) and isinstance(y, int) and x != y) for x, y in zip(partial, dims)
    )


def settled(partial: Partial, dims: Dims) -> Dims:
    """The dims, with the numbers that a partial shape has for them."""
    if partial is None:
        return dims
    return tuple(x if isinstance(x, int) else y for x, y in zip(partial, dims, strict=True))


def merged(one: Partial, other: Partial) -> Partial:
    """What two partial shapes say together. Raises `InvalidArgumentError` where they differ."""
    if one is None or other is None:
        return other if one is None else one
    if not fits(one, other):
        raise InvalidArgumentError(
            "PartialTensorShape: Incompatible shapes during merge: "
            f"{shown_dims(one)} vs. {shown_dims(other)}"
        )
    return tuple(
        y if x is None else x if isinstance(x, int) or y is None else y for x, y in zip(one, other)
    )


@dataclass(frozen=True, slots=True)
class Faults:
    """What a run ends with, in TensorFlow's words. `outside`: for index {value} of {extent}
    elements; `unset`: for an element {value} that was never set and whose dims nothing tells;
    `unlike`: for elements of shapes {one} and {other}, the latter at {at}. `attrs`: those by which
    the ops of dense lists say what is outside.
    """

    outside: str = ""
    unset: str = ""
    unlike: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])


def of_rank(value: Value, rank: int, what: str) -> Value:
    """The operand. Raises `InvalidArgumentError` where it is no scalar (rank 0) or vector (1)."""
    if value.type.rank != rank:
        raise InvalidArgumentError(
            f"Expected {what} to be a {('scalar', 'vector')[rank]}, but received shape: "
            f"{shown_dims(value.dims)}"
        )
    return value


def size_of(b: Builder, scalar: Value) -> Dim:
    """The number in an integer scalar as a size; one that the run computes is read from it. Raises
    `InvalidArgumentError` for several numbers and none."""
    count = scalar.type.size
    if isinstance(count, int) and count != 1:
        raise InvalidArgumentError(
            f"Expected a size to be a scalar, but received shape: {shown_dims(scalar.dims)}"
        )
    known = b.content(scalar)
    if known is not None:
        return as_dim(known.reshape(-1)[0])
    return b.list_new(b.reshape(scalar, (1,)), T=dtypes.u8).dims[0]


def known_numbers(x: Extractor, value: Value) -> Known:
    """The numbers in an element: those that are known and the same all through the run, None for
    other sizes. Nothing where an element may be no size. Of bools, which are predicates that
    gradients decide by once more, 0 and 1."""
    if value.type.dtype not in (dtypes.i32, dtypes.i64, dtypes.bool_):
        return None
    content = x.b.content(value)
    if content is None:
        return None
    found = [as_dim(d) for d in content.reshape(-1)]
    lasting = [isinstance(d, int) or x.is_lasting(d) for d in found]
    if not all(lasts or is_nonnegative(d) for d, lasts in zip(found, lasting)):
        return None
    return tuple(d if lasts else None for d, lasts in zip(found, lasting))


def known_indices(x: Extractor, indices: Value) -> list[int]:
    """Those that are known when the graph is extracted, where every run will use them: what a
    branch or loop does with them is an error only in a run that gets there."""
    content = x.b.content(indices) if x.is_unconditional else None
    if content is None:
        return []
    found = [as_dim(d) for d in content.reshape(-1)]
    return [d for d in found if isinstance(d, int)]


def with_sizes(b: Builder, item: Value, known: Sequence[Dim | None]) -> Value:
    """An element that holds sizes, of which some are known: the run reads the others from it."""
    places = [i for i, d in enumerate(known) if d is None]
    numbers = b.reshape(item, (len(known),))
    if len(places) < len(known):
        numbers = b.gather(numbers, np.array(places, np.int32), np.int32(0))
    found = iter(b.list_new(numbers, T=dtypes.u8).dims)
    dims = tuple(next(found) if d is None else d for d in known)
    return b.reshape(b.sizes(dims, item.type.dtype), item.dims)


def counts_to(b: Builder, indices: Value) -> Dim | None:
    """n where indices are known to be 0, 1, ... n - 1."""
    if indices.type.rank != 1:
        return None
    if indices.constant is not None:
        count = len(indices.constant)
        return count if np.array_equal(indices.constant, np.arange(count)) else None
    if indices.node.op is not op_named("range"):
        return None
    start, limit, step = (b.content(v) for v in indices.node.inputs)
    if start is None or limit is None or step is None:
        return None
    if any(isinstance(s.reshape(-1)[0], Expr) for s in (start, step)):
        return None
    if int(start.reshape(-1)[0]) != 0 or int(step.reshape(-1)[0]) != 1:
        return None
    return as_dim(limit.reshape(-1)[0])


def rows_for(b: Builder, rows: Dim, indices: Value) -> Dim:
    """How many rows a list of `rows` rows needs to hold the elements at some indices."""
    count = counts_to(b, indices)
    if count is not None:
        return maximum(rows, count)
    if indices.type.rank and indices.type.size == 0:
        return rows
    top = b.max(indices, np.int32(0)) if indices.type.rank else indices
    known = b.content(top)
    if known is None:
        # A size is never negative: an index that is stays one short of what could be a row.
        return maximum(rows, size_of(b, b.add(b.maximum(top, -1), 1)))
    found = as_dim(known.reshape(-1)[0])
    return rows if isinstance(found, int) and found < 0 else maximum(rows, found + 1)


def shape_input(x: Extractor, shape: Value) -> Partial:
    """What a shape operand (-1 for what is not known, a scalar for no rank) says. Raises
    `InvalidArgumentError` for more sizes than a tensor has."""
    if shape.type.rank == 0:
        return None
    if isinstance(shape.type.size, int) and shape.type.size > MAX_RANK:
        raise InvalidArgumentError(
            f"'{x.name}' takes the shape of elements, of at most {MAX_RANK} sizes, found "
            f"{shape.type}"
        )
    known = x.b.content(shape)
    if known is None:
        count = shape.dims[0]
        return (None,) * count if isinstance(count, int) else None
    found = [as_dim(d) for d in known.reshape(-1)]
    return tuple(None if isinstance(d, int) and d < 0 else d for d in found)


def known_when_extracted(c: Inference) -> Dims:
    raise NeedsContent(
        f"what {c.op.tf_name} gives is known when its graph is compiled", node=c.node_name
    )


def scalar(c: Inference) -> Dims:
    return ()
