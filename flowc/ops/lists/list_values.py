"""What the emitters of TensorArrays, TensorLists and stacks share: list values while extracted.

In: a Builder and ListValues whose buffer is missing as long as the dims of elements are. Out: ones
that have it, and what is known of indices and sizes. Invariant: nothing here changes a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, Expr, as_dim, is_nonnegative, maximum
from flowc.ir.extraction import Bound, Extractor, Known, ListValue, joined_known
from flowc.ir.op import op_named
from flowc.ir.types import Dims
from flowc.ops.lists.ragged_values import (
    as_ragged,
    made_ragged,
    must_be_ragged,
    popped_ragged,
    pushed_ragged,
    summed,
    with_parts,
)

Partial = tuple[Dim | None, ...] | None  # dims as far as they are known; None: not even the rank

_TF_NAMES = {dtypes.f32: "float", dtypes.f64: "double", dtypes.f16: "half"}


def dtype_shown(dtype: DType) -> str:
    """A dtype as TensorFlow's kernels name it in messages."""
    return _TF_NAMES.get(dtype, dtype.name)


def shape_shown(partial: Sequence[Dim | None] | None) -> str:
    """A shape as TensorFlow's kernels show it: `[?,2]`, `<unknown>`."""
    if partial is None:
        return "<unknown>"
    return f"[{','.join('?' if d is None else str(d) for d in partial)}]"


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
            f"{shape_shown(one)} vs. {shape_shown(other)}"
        )
    return tuple(
        y if x is None else x if isinstance(x, int) or y is None else y for x, y in zip(one, other)
    )


def zeros(b: Builder, dims: Dims, dtype: DType, value: int = 0) -> Value:
    """A new buffer of a list."""
    return b.list_new(b.sizes(dims), T=dtype, value=value)


def size_of(b: Builder, scalar: Value) -> Dim:
    """The number in an integer scalar as a size; one that the run computes is read from it."""
    known = b.content(scalar)
    if known is not None:
        return as_dim(known.reshape(-1)[0])
    return b.list_new(b.reshape(scalar, (1,)), T=dtypes.u8).dims[0]


def size_value(b: Builder, size: Dim, dtype: DType = dtypes.i32) -> Value:
    """A size as a scalar."""
    if isinstance(size, int):
        return b.const(np.asarray(size, dtype.numpy), dtype)
    return b.reshape(b.sizes((size,), dtype), ())


def with_element(b: Builder, contents: ListValue, element: Dims, dtype: DType) -> ListValue:
    """A list without a buffer as one of zeros."""
    buffer = zeros(b, (contents.rows, *element), dtype)
    return replace(contents, dtype=dtype, element=element, buffer=buffer)


def with_buffer(contents: ListValue, buffer: Value, marks: Value | None = None) -> ListValue:
    """A list with another buffer, and other marks where it has any."""
    return replace(
        contents,
        rows=buffer.dims[0],
        element=buffer.dims[1:],
        buffer=buffer,
        marks=marks,
        known=None,
    )


def pushed(x: Extractor, contents: ListValue, value: Value) -> ListValue:
    """A list with one more element at its end."""
    known = joined_known(contents.known, _known(x, value))
    if must_be_ragged(x, contents, value.dims):
        contents = made_ragged(x, contents, value.dims, value.type.dtype)
        return replace(pushed_ragged(x, contents, value), known=known)
    if contents.buffer is None:
        element = settled(contents.partial, value.dims)
        contents = with_element(x.b, contents, element, value.type.dtype)
    return replace(with_buffer(contents, x.b.list_append(contents.buffer, value)), known=known)


def _known(x: Extractor, value: Value) -> Known:
    """The numbers in an element: those that are known and the same all through the run, None for
    other sizes. Nothing where an element may be no size."""
    if value.type.dtype not in (dtypes.i32, dtypes.i64):
        return None
    content = x.b.content(value)
    if content is None:
        return None
    found = [as_dim(d) for d in content.reshape(-1)]
    lasting = [isinstance(d, int) or x.is_lasting(d) for d in found]
    if not all(lasts or is_nonnegative(d) for d, lasts in zip(found, lasting)):
        return None
    return tuple(d if lasts else None for d, lasts in zip(found, lasting))


def popped(
    x: Extractor, contents: ListValue, message: str, unset: str = "", shape: Partial = None
) -> tuple[ListValue, Value]:
    """A list without its last element, and that element. `unset`, `shape`: for ragged lists, as
    `element_at` takes them."""
    known = contents.known
    if contents.table is not None:
        rest, item = popped_ragged(x, contents, message, unset, shape)
        return replace(rest, known=known), item
    buffer = contents.buffer
    assert buffer is not None
    if known and None not in known:
        numbers = tuple(d for d in known if d is not None)
        item = x.b.reshape(x.b.sizes(numbers, contents.dtype), buffer.dims[1:])
    else:
        last = x.b.sub(size_value(x.b, contents.rows), 1)
        item = x.b.list_get(buffer, last, message=message)
        if known:
            item = _with_sizes(x.b, item, known)
    rest = x.b.list_resize(buffer, x.b.sizes((maximum(contents.rows - 1, 0),)))
    return replace(with_buffer(contents, rest), known=known), item


def _with_sizes(b: Builder, item: Value, known: Sequence[Dim | None]) -> Value:
    """An element that holds sizes, of which some are known: the run reads the others from it."""
    places = [i for i, d in enumerate(known) if d is None]
    numbers = b.reshape(item, (len(known),))
    if len(places) < len(known):
        numbers = b.gather(numbers, np.array(places, np.int32), np.int32(0))
    found = iter(b.list_new(numbers, T=dtypes.u8).dims)
    dims = tuple(next(found) if d is None else d for d in known)
    return b.reshape(b.sizes(dims, item.type.dtype), item.dims)


def is_new(buffer: Value, value: int) -> bool:
    """Whether all of a buffer is known to be the number that it was made with."""
    return buffer.node.op is op_named("list_new") and buffer.node.attrs["value"] == value


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
    """What a shape operand (-1 for what is not known, a scalar for no rank) says."""
    if shape.type.rank == 0:
        return None
    known = x.b.content(shape)
    if known is None:
        count = shape.dims[0]
        return (None,) * count if isinstance(count, int) else None
    found = [as_dim(d) for d in known.reshape(-1)]
    return tuple(None if isinstance(d, int) and d < 0 else d for d in found)


# -- what plain ops make of lists


def zeros_like_list(
    x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]
) -> Sequence[Bound]:
    """ZerosLike of a TensorList: as many elements, all zeros."""
    (contents,) = inputs
    assert isinstance(contents, ListValue)
    if contents.buffer is None:
        return [contents]
    buffer = zeros(x.b, contents.buffer.dims, contents.dtype)
    if contents.table is not None:
        return [with_parts(contents, buffer, contents.table)]
    return [with_buffer(contents, buffer)]


def sum_of_lists(
    x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]
) -> Sequence[Bound]:
    """AddN of TensorLists, element by element; one that was never written to adds nothing."""
    lists = [bound for bound in inputs if isinstance(bound, ListValue)]
    if len(lists) != len(inputs):
        raise InvalidArgumentError(f"'{x.name}' adds lists to tensors", node=x.name)
    held = [c for c in lists if c.buffer is not None]
    if any(must_be_ragged(x, held[0], c.element or ()) for c in held):
        return [_ragged_sum(x, lists)]
    buffers = [c.buffer for c in lists if c.buffer is not None and not is_new(c.buffer, 0)]
    typed = next((c for c in lists if c.buffer is not None), lists[0])
    if not buffers:
        return [typed]
    total = buffers[0] if len(buffers) == 1 else x.b.add_n(*buffers)
    return [with_buffer(typed, total)]


def _ragged_sum(x: Extractor, lists: Sequence[ListValue]) -> ListValue:
    total: ListValue | None = None
    for contents in lists:
        if contents.buffer is None or is_new(contents.buffer, 0):
            continue
        contents = as_ragged(x.b, contents, (), contents.dtype)
        total = contents if total is None else summed(x, total, contents)
    return total or next(c for c in lists if c.table is not None)
