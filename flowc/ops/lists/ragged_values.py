"""What the emitters of TensorArrays, TensorLists and stacks make of ragged lists.

In: a Builder and ListValues. Out: ones that are ragged, and their elements. Invariant: a list is
made ragged where it is seen that its elements may differ in size from one iteration to the next or
from one write to the next; where sizes are merely not known to be equal it stays dense, and the run
checks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import UnsupportedError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, maximum, product
from flowc.ir.extraction import Extractor, ListValue, joined_dims
from flowc.ir.op import op_named
from flowc.ir.types import Dims

Shape = Sequence[Dim | None]  # dims, as far as they are known
OUTSIDE = "Trying to modify element {value} in a list with {extent} elements."

# -- which lists are ragged


def stays_dense(contents: ListValue) -> bool:
    """Whether TensorFlow lets the elements of a list have one shape only."""
    stated = contents.partial
    return contents.uniform or (stated is not None and all(isinstance(d, int) for d in stated))


def must_be_ragged(x: Extractor, contents: ListValue, given: Dims) -> bool:
    """Whether a list becomes ragged by an element of the dims given."""
    if contents.table is not None:
        return True
    held = contents.element
    if stays_dense(contents):
        return False
    if held is None:
        return not all(x.is_steady(d, contents.home) for d in given)
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
    return not x.is_steady(given, home) or x.is_steady(held, home)


def as_ragged(b: Builder, contents: ListValue, common: Shape, dtype: DType) -> ListValue:
    """A list with a table. `common`: the dims of elements for a list that has no buffer yet, which
    has none of them."""
    if contents.table is not None:
        return contents
    buffer = contents.buffer
    if buffer is None or contents.rows == 0:
        return _without_elements(b, contents, common, dtype)
    assert contents.element is not None
    sets: list[Node] = []
    while contents.marks is None and buffer.node.op is op_named("list_set"):
        sets.append(buffer.node)
        buffer = buffer.node.inputs[0]
    if sets and _is_unset(buffer):
        # The elements that were not set have no dims.
        found = _without_elements(b, contents, contents.element, dtype)
        for node in reversed(sets):
            _, index, value = node.inputs
            found = set_ragged(b, found, index, value, node.attrs["message"] or OUTSIDE)
        return found
    flat = b.reshape(contents.buffer, (contents.rows * product(contents.element),))
    table = b.ragged_rows(b.sizes((contents.rows, *contents.element), dtypes.i64))
    return replace(
        contents, dtype=dtype, element=None, buffer=flat, table=table, common=contents.element
    )


def _is_unset(buffer: Value) -> bool:
    return buffer.node.op is op_named("list_new") and buffer.node.attrs["value"] == 0


def _without_elements(b: Builder, contents: ListValue, common: Shape, dtype: DType) -> ListValue:
    flat = b.list_new(b.sizes((0,)), T=dtype)
    table = b.list_new(b.sizes((contents.rows, 1 + len(common))), T=dtypes.i64)
    return replace(
        contents, dtype=dtype, element=None, buffer=flat, table=table, common=tuple(common)
    )


def made_ragged(x: Extractor, contents: ListValue, given: Dims, dtype: DType) -> ListValue:
    """A list as one that takes an element of the dims given beside those that it holds."""
    found = as_ragged(x.b, contents, given, dtype)
    if len(found.common) != len(given):
        raise UnsupportedError(
            f"'{x.name}' puts an element of rank {len(given)} into a list whose elements have rank "
            f"{len(found.common)}: flowc keeps the elements of one list in one rank",
            node=x.name,
        )
    return replace(found, common=joined_dims(found.common, given))


def _parts(contents: ListValue) -> tuple[Value, Value]:
    assert contents.buffer is not None and contents.table is not None
    return contents.buffer, contents.table


def with_parts(contents: ListValue, flat: Value, table: Value) -> ListValue:
    """A ragged list with other numbers and another table."""
    return replace(contents, rows=table.dims[0], buffer=flat, table=table, known=None)


# -- elements


def pushed_ragged(x: Extractor, contents: ListValue, value: Value) -> ListValue:
    """A list with one more element at its end."""
    flat, table = _parts(contents)
    row = x.b.sizes((flat.dims[0] + 1, *value.dims), dtypes.i64)
    return with_parts(contents, x.b.ragged_append(flat, value), x.b.list_append(table, row))


def set_ragged(
    b: Builder,
    contents: ListValue,
    index: Value,
    value: Value,
    message: str,
    faults: Sequence[str] = (),
) -> ListValue:
    """A list with an element (or, for a vector of indices, several of equal dims) set anew.
    `faults`: where elements add up, what `ragged_place` says of those that do not fit."""
    flat, table = _parts(contents)
    shape = b.sizes((flat.dims[0], *value.dims[index.type.rank :]), dtypes.i64)
    table, size = b.ragged_place(table, index, shape, message=message, faults=tuple(faults))
    total = b.sizes(_sizes_in(b, size), dtypes.i64)
    flat = b.ragged_fill(flat, table, index, value, total, add=bool(faults))
    return with_parts(contents, flat, table)


def _sizes_in(b: Builder, numbers: Value) -> Dims:
    """The elements of an integer vector as sizes, which the run reads from it."""
    return b.list_new(numbers, T=dtypes.u8).dims


def _asked(shape: Shape) -> Dims:
    return tuple(-1 if d is None else d for d in shape)


def _stated(contents: ListValue, shape: Shape | None) -> Shape:
    """The dims that all elements share, with those that the reader states."""
    if shape is None or len(shape) != len(contents.common):
        return contents.common
    return tuple(y if x is None else x for x, y in zip(contents.common, shape))


def element_at(
    x: Extractor,
    contents: ListValue,
    index: Value,
    message: str,
    unset: str,
    shape: Shape | None = None,
) -> tuple[Value, Dim]:
    """An element, and how many numbers the list holds without it, where it stands last. `shape`:
    what the reader says of its dims; `unset`: the message where there is none and they do not
    suffice for zeros."""
    flat, table = _parts(contents)
    stated = _stated(contents, shape)
    asked = x.b.sizes((flat.dims[0], *_asked(stated)), dtypes.i64)
    place = x.b.ragged_find(table, index, asked, message=message, unset=unset)
    start, left, *dims = _completed(x.b, (None, None, *stated), place)
    item = x.b.ragged_get(flat, x.b.sizes((start,), dtypes.i64), x.b.sizes(dims, dtypes.i64))
    return item, left


def popped_ragged(
    x: Extractor, contents: ListValue, message: str, unset: str, shape: Shape | None = None
) -> tuple[ListValue, Value]:
    """A list without its last element, and that element."""
    flat, table = _parts(contents)
    last = x.b.sub(x.b.reshape(x.b.sizes((contents.rows,)), ()), 1)
    item, left = element_at(x, contents, last, message, unset, shape)
    table = x.b.list_resize(table, x.b.sizes((maximum(contents.rows - 1, 0),)))
    return with_parts(contents, x.b.list_resize(flat, x.b.sizes((left,))), table), item


# -- whole lists


def stacked(
    x: Extractor, contents: ListValue, faults: Sequence[str], shape: Shape | None = None
) -> Value:
    """All elements as one tensor. `faults`: as `ragged_alike` takes them."""
    flat, table = _parts(contents)
    stated = _stated(contents, shape)
    asked = x.b.sizes(_asked(stated), dtypes.i64)
    table, found = x.b.ragged_alike(table, asked, faults=tuple(faults))
    return x.b.ragged_stack(flat, table, x.b.sizes(_completed(x.b, stated, found), dtypes.i64))


def _completed(b: Builder, stated: Shape, found: Value) -> Dims:
    """The dims stated; those that are not, as the run finds them."""
    known = tuple(d for d in stated if d is not None)
    if len(known) == len(stated):
        return known
    return tuple(y if x is None else x for x, y in zip(stated, _sizes_in(b, found), strict=True))


def joined(
    x: Extractor, contents: ListValue, faults: Sequence[str], shape: Shape | None = None
) -> tuple[Value, Value]:
    """All elements after one another along their first axis, and how long each is along it."""
    flat, table = _parts(contents)
    stated = _stated(contents, shape)
    asked = x.b.sizes((-1, *_asked(stated[1:])), dtypes.i64)
    table, found = x.b.ragged_alike(table, asked, faults=tuple(faults), joined=True)
    dims = _completed(x.b, (None, *stated[1:]), found)
    value = x.b.ragged_join(flat, table, x.b.sizes(dims, dtypes.i64))
    column = x.b.slice(table, np.array([0, 1], np.int32), x.b.sizes((contents.rows, 1)))
    return value, x.b.reshape(column, (contents.rows,))


def faults_along(stated: Shape, text: str, none: str) -> list[str]:
    """A message for each axis along which two elements may differ, and `none` for a list without
    elements. `text` has the places {one} and {other} for their shapes."""
    found: list[str] = []
    for axis in range(len(stated)):
        shapes = [
            ",".join(
                mark if i == axis else str(d) if isinstance(d, int) else "?"
                for i, d in enumerate(stated)
            )
            for mark in ("{a}", "{b}")
        ]
        found.append(text.format(one=f"[{shapes[0]}]", other=f"[{shapes[1]}]", at="{c}"))
    return [*found, none]


def pieces(
    x: Extractor, value: Value, lengths: Value, message: str, contents: ListValue
) -> ListValue:
    """A list of the pieces of a value along its first axis."""
    table = x.b.ragged_pieces(lengths, x.b.sizes(value.dims, dtypes.i64), message=message)
    return replace(
        with_parts(contents, x.b.reshape(value, (value.type.size,)), table),
        element=None,
        common=(None, *value.dims[1:]),
    )


def summed(x: Extractor, one: ListValue, other: ListValue) -> ListValue:
    """Two lists of as many elements added; what only one of them holds stays as it is."""
    (flat, table), (added, places) = _parts(one), _parts(other)
    common = joined_dims(one.common, other.common)
    if table is places:
        return with_parts(replace(one, common=common), x.b.add(flat, added), table)
    size = x.b.sizes((flat.dims[0],), dtypes.i64)
    total = x.b.ragged_sum(flat, added, table, places)
    return with_parts(replace(one, common=common), total, x.b.ragged_union(table, places, size))


def one_behind_other(x: Extractor, one: ListValue, other: ListValue) -> ListValue:
    """The elements of two lists, those of `other` last."""
    (flat, table), (added, places) = _parts(one), _parts(other)
    columns = places.dims[1]
    first = x.b.slice(places, np.array([0, 0], np.int32), x.b.sizes((other.rows, 1)))
    rest = x.b.slice(places, np.array([0, 1], np.int32), x.b.sizes((other.rows, columns - 1)))
    total = x.b.reshape(x.b.sizes((flat.dims[0],), dtypes.i64), ())
    moved = x.b.select_v2(x.b.greater(first, 0), x.b.add(first, total), first)
    moved = x.b.concat(moved, rest, np.int32(1))
    common = joined_dims(one.common, other.common)
    flat, table = x.b.concat(flat, added, np.int32(0)), x.b.concat(table, moved, np.int32(0))
    return with_parts(replace(one, common=common), flat, table)
