"""Ragged lists while a graph is extracted: elements put in and taken out, whole lists.

In: a Builder and what holds the elements of a list. Out: what holds them after a change, and
elements. Invariant: a list is made ragged where it is seen that its elements may differ in size
from one iteration to the next or from one write to the next; where sizes are merely not known to be
equal it stays dense, and the run checks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, maximum, product
from flowc.ir.extraction import ByRank, Columns, Extractor, ListValue, Ragged, joined_dims
from flowc.ir.op import op_named
from flowc.ir.types import Dims
from flowc.ops.lists.list_values import Faults

Shape = Sequence[Dim | None]  # dims, as far as they are known
OUTSIDE = Faults("Trying to modify element {value} in a list with {extent} elements.")

# -- which lists are ragged


def stays_dense(contents: ListValue) -> bool:
    """Whether TensorFlow lets the elements of a list have one shape only."""
    stated = contents.partial
    return contents.uniform or (stated is not None and all(isinstance(d, int) for d in stated))


def must_be_ragged(x: Extractor, contents: ListValue, given: Dims) -> bool:
    """Whether a list becomes ragged by an element of the dims given."""
    if isinstance(contents.held, Ragged):
        return True
    held = contents.element
    if stays_dense(contents):
        return False
    if held is None:
        return not all(x.is_loop_invariant(d, contents.home) for d in given)
    return len(held) != len(given) or any(
        _differ(x, a, b, contents.home) for a, b in zip(held, given)
    )


def _differ(x: Extractor, held: Dim, given: Dim, home: Builder | None) -> bool:
    """Whether a new element has another size than those before it, as far as it is seen."""
    if held == given:
        return False
    if isinstance(held, int) and isinstance(given, int):
        return True
    # What is held is a size of this iteration only where no element was put in before.
    return not x.is_loop_invariant(given, home) or x.is_loop_invariant(held, home)


def as_ragged(b: Builder, contents: ListValue, common: Shape, dtype: DType) -> ListValue:
    """A list as a ragged one. `common`: the dims of elements for one that holds none."""
    held = contents.held
    if isinstance(held, Ragged):
        return contents
    assert not isinstance(held, Columns | ByRank)
    if held is None or contents.rows == 0:
        return replace(
            contents, dtype=dtype, held=without_elements(b, contents.rows, common, dtype)
        )
    dims, buffer = held.buffer.dims, held.buffer
    sets: list[Node] = []
    while contents.marks is None and buffer.node.op is op_named("list_set"):
        sets.append(buffer.node)
        buffer = buffer.node.inputs[0]
    if sets and is_new(buffer, 0):
        # The elements that were not set have no dims.
        found = without_elements(b, contents.rows, dims[1:], dtype)
        for node in reversed(sets):
            _, index, value = node.inputs
            message = node.attrs["message"]
            found = set_ragged(b, found, index, value, Faults(message) if message else OUTSIDE)
        return replace(contents, dtype=dtype, held=found, known=None)
    flat = b.reshape(held.buffer, (product(dims),))
    return replace(contents, dtype=dtype, held=Ragged(flat, _table_of(b, dims), dims[1:]))


def _table_of(b: Builder, dims: Dims) -> Value:
    """The table of a dense list whose buffer has some dims."""
    rows, *element = dims
    count = b.range(np.int64(0), b.scalar_size(rows, dtypes.i64), np.int64(1))
    starts = b.add(b.mul(count, b.scalar_size(product(element), dtypes.i64)), 1)
    shapes = b.broadcast_to(b.sizes(tuple(element), dtypes.i64), (rows, len(element)))
    return b.concat(b.reshape(starts, (rows, 1)), shapes, np.int32(1))


def is_new(buffer: Value, value: int) -> bool:
    """Whether all of a buffer is known to be the number that it was made with."""
    return buffer.node.op is op_named("list_new") and buffer.node.attrs["value"] == value


def without_elements(b: Builder, rows: Dim, common: Shape, dtype: DType) -> Ragged:
    flat = b.list_new(b.sizes((0,)), T=dtype)
    table = b.list_new(b.sizes((rows, 1 + len(common))), T=dtypes.i64)
    return Ragged(flat, table, tuple(common))


def made_ragged(x: Extractor, contents: ListValue, given: Dims, dtype: DType) -> ListValue:
    """A list as one that takes an element of the dims given beside those of as many dims that it
    holds."""
    found = as_ragged(x.b, contents, given, dtype)
    assert isinstance(found.held, Ragged)
    common = joined_dims(found.held.common, given)
    return replace(found, held=replace(found.held, common=common))


# -- elements


def pushed_ragged(b: Builder, held: Ragged, value: Value, limit: int) -> Ragged:
    """With one more element at the end. `limit`: how many there may be, -1 for any number."""
    row = b.sizes((held.flat.dims[0] + 1, *value.dims), dtypes.i64)
    flat, table = b.ragged_append(held.flat, value), b.list_append(held.table, row, limit=limit)
    return Ragged(flat, table, held.common)


def set_ragged(b: Builder, held: Ragged, index: Value, value: Value, faults: Faults) -> Ragged:
    """With an element (or, for a vector of indices, several of equal dims) set anew; elements add
    up where there is a message for those that do not fit."""
    unlike = faults_along(held.common, faults) if faults.unlike else ()
    shape = b.sizes((held.flat.dims[0], *value.dims[index.type.rank :]), dtypes.i64)
    table, size = b.ragged_place(
        held.table, index, shape, message=faults.outside, faults=tuple(unlike)
    )
    total = b.sizes(_sizes_in(b, size), dtypes.i64)
    flat = b.ragged_fill(held.flat, table, index, value, total, add=bool(unlike))
    return Ragged(flat, table, held.common)


def _sizes_in(b: Builder, numbers: Value) -> Dims:
    """The elements of an integer vector as sizes, which the run reads from it."""
    return b.list_new(numbers, T=dtypes.u8).dims


def _minus_one_where_open(shape: Shape) -> Dims:
    return tuple(-1 if d is None else d for d in shape)


def _stated(held: Ragged, shape: Shape | None) -> Shape:
    """The dims that all elements share, with those that the reader states."""
    if shape is None or len(shape) != len(held.common):
        return held.common
    return tuple(y if x is None else x for x, y in zip(held.common, shape))


def _completed(b: Builder, stated: Shape, found: Value) -> Dims:
    """The dims stated; those that are not, as the run finds them."""
    known = tuple(d for d in stated if d is not None)
    if len(known) == len(stated):
        return known
    return tuple(y if x is None else x for x, y in zip(stated, _sizes_in(b, found), strict=True))


def ragged_element(
    b: Builder, held: Ragged, index: Value, faults: Faults, shape: Shape | None
) -> tuple[Value, Dim]:
    """The element at an index, and how many numbers the list has left without it, which is true of
    the last element only. `shape`: what the reader says of its dims."""
    stated = _stated(held, shape)
    asked = b.sizes((held.flat.dims[0], *_minus_one_where_open(stated)), dtypes.i64)
    place = b.ragged_find(held.table, index, asked, message=faults.outside, unset=faults.unset)
    start, left, *dims = _completed(b, (None, None, *stated), place)
    item = b.ragged_get(held.flat, b.sizes((start,), dtypes.i64), b.sizes(dims, dtypes.i64))
    return item, left


def popped_ragged(
    b: Builder, held: Ragged, faults: Faults, shape: Shape | None
) -> tuple[Ragged, Value]:
    """Without the last element, and that element."""
    rows = held.table.dims[0]
    last = b.sub(b.scalar_size(rows), 1)
    item, left = ragged_element(b, held, last, faults, shape)
    table = b.list_resize(held.table, b.sizes((maximum(rows - 1, 0),)))
    return Ragged(b.list_resize(held.flat, b.sizes((left,))), table, held.common), item


# -- whole lists


def stacked_ragged(b: Builder, held: Ragged, faults: Faults, shape: Shape | None) -> Value:
    """All elements as one tensor."""
    stated = _stated(held, shape)
    asked = b.sizes(_minus_one_where_open(stated), dtypes.i64)
    table, found = b.ragged_alike(held.table, asked, faults=faults_along(held.common, faults))
    return b.ragged_stack(held.flat, table, b.sizes(_completed(b, stated, found), dtypes.i64))


def joined_ragged(
    b: Builder, held: Ragged, faults: Faults, shape: Shape | None
) -> tuple[Value, Value]:
    """All elements after one another along their first axis, and how long each is along it."""
    stated = _stated(held, shape)
    asked = b.sizes((-1, *_minus_one_where_open(stated[1:])), dtypes.i64)
    messages = faults_along(held.common[1:], faults)
    table, found = b.ragged_alike(held.table, asked, faults=(faults.unset, *messages), joined=True)
    dims = _completed(b, (None, *stated[1:]), found)
    value = b.ragged_join(held.flat, table, b.sizes(dims, dtypes.i64))
    rows = table.dims[0]
    column = b.slice(table, np.array([0, 1], np.int32), b.sizes((rows, 1)))
    return value, b.reshape(column, (rows,))


def faults_along(stated: Shape, faults: Faults) -> tuple[str, ...]:
    """A message for each axis along which two elements may differ, and one for a list without
    elements."""
    found: list[str] = []
    for axis in range(len(stated)):
        shapes = [
            ",".join(
                mark if i == axis else str(d) if isinstance(d, int) else "?"
                for i, d in enumerate(stated)
            )
            for mark in ("{a}", "{b}")
        ]
        one, other = (f"[{shape}]" for shape in shapes)
        found.append(faults.unlike.format(one=one, other=other, at="{c}"))
    return (*found, faults.unset)


def split_ragged(b: Builder, value: Value, lengths: Value, message: str) -> Ragged:
    """The pieces of a value along its first axis."""
    table = b.ragged_pieces(lengths, b.sizes(value.dims, dtypes.i64), message=message)
    return Ragged(b.reshape(value, (value.type.size,)), table, (None, *value.dims[1:]))


def summed_ragged(b: Builder, one: Ragged, other: Ragged) -> Ragged:
    """Two lists of as many elements added; what only one of them holds stays as it is."""
    common = joined_dims(one.common, other.common)
    if one.table is other.table:
        return Ragged(b.add(one.flat, other.flat), one.table, common)
    total, table = b.ragged_sum(one.flat, other.flat, one.table, other.table)
    return Ragged(total, table, common)


def appended_ragged(b: Builder, one: Ragged, other: Ragged) -> Ragged:
    """The elements of two lists, those of `other` last."""
    rows, columns = other.table.dims
    first = b.slice(other.table, np.array([0, 0], np.int32), b.sizes((rows, 1)))
    rest = b.slice(other.table, np.array([0, 1], np.int32), b.sizes((rows, columns - 1)))
    total = b.scalar_size(one.flat.dims[0], dtypes.i64)
    moved = b.select_v2(b.greater(first, 0), b.add(first, total), first)
    moved = b.concat(moved, rest, np.int32(1))
    flat = b.concat(one.flat, other.flat, np.int32(0))
    table = b.concat(one.table, moved, np.int32(0))
    return Ragged(flat, table, joined_dims(one.common, other.common))
