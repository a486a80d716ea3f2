"""What writes to TensorArrays: one element, some, all rows of a tensor, its pieces.

In: handles, indices, elements. Out: flows, and new contents of the arrays. Invariant: an element is
written once; gradients add up; an array that does not grow ends the run where an index is past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, Extractor, ListValue, Resource
from flowc.ir.mark_access import UNWRITTEN, WRITTEN
from flowc.ir.op import Attrs
from flowc.ir.types import Dims
from flowc.ops.lists.array_contents import array_of, flow, marks_of
from flowc.ops.lists.dense_lists import plain
from flowc.ops.lists.list_joining import split_alike, split_is_ragged
from flowc.ops.lists.list_values import (
    Partial,
    complete,
    counts_to,
    dtype_shown,
    fits,
    is_new,
    rows_for,
    settled,
    shape_shown,
    size_value,
    with_buffer,
    with_element,
    zeros,
)
from flowc.ops.lists.ragged_values import (
    faults_along,
    made_ragged,
    must_be_ragged,
    pieces,
    set_ragged,
)
from flowc.ops.state.variables import value_of


def emit_write(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    handle, index, value, *_ = inputs
    _write(x, handle, value_of(x, index), value_of(x, value))
    return [flow(x)]


def _write(x: Extractor, handle: Bound, index: Value, value: Value) -> None:
    """Puts an element (or, for a vector of indices, several) into an array."""
    array, contents = array_of(x, handle)
    _check_written_dtype(x, contents, value)
    contents = _with_room(x, array, contents, index)
    contents = _typed_for(x, array, contents, index, value.dims[index.type.rank :])
    flags = {"array": array.name, "add": array.info["adds"]}
    marks, place = x.b.list_mark(marks_of(contents), index, **flags)
    if contents.table is not None:
        message = "Tried to write to index {value} but array size is: {extent}"
        faults = _unlike_added(array.name, contents) if flags["add"] else ()
        written = set_ragged(x.b, contents, place, value, message, faults)
        x.replace(array, replace(written, marks=marks))
        return
    buffer = x.b.list_set(contents.buffer, place, value, **flags)
    x.replace(array, with_buffer(contents, buffer, marks))


def _unlike_added(name: str, contents: ListValue) -> list[str]:
    text = (
        f"TensorArray {plain(plain(name))}: Could not aggregate to TensorArray index {{at}} because"
        " the existing shape is {one} but the new input shape is {other}."
    )
    return faults_along(contents.common, text, "")


def _check_written_dtype(x: Extractor, contents: ListValue, value: Value) -> None:
    if value.type.dtype is not contents.dtype:
        raise InvalidArgumentError(
            f"TensorArray dtype is {dtype_shown(contents.dtype)} but Op is trying to write dtype "
            f"{dtype_shown(value.type.dtype)}.",
            node=x.name,
        )


def _with_room(x: Extractor, array: Resource, contents: ListValue, index: Value) -> ListValue:
    """The contents with as many rows as the elements at some indices need, where it may grow."""
    if not array.info["grows"]:
        return contents
    rows = rows_for(x.b, contents.rows, index)
    return contents if rows == contents.rows else _resized(x, contents, rows)


def _resized(x: Extractor, contents: ListValue, rows: Dim) -> ListValue:
    size = x.b.sizes((rows,))
    buffer, table = contents.buffer, contents.table
    if table is not None:
        table = x.b.list_resize(table, size)
    elif buffer is not None:
        buffer = x.b.list_resize(buffer, size)
    marks = x.b.list_resize(marks_of(contents), size)
    return replace(contents, rows=rows, buffer=buffer, table=table, marks=marks)


def _typed_for(
    x: Extractor, array: Resource, contents: ListValue, index: Value, given: Dims
) -> ListValue:
    """The contents as ones that take elements of the dims given: with a buffer, or ragged."""
    held: Partial = contents.partial if contents.element is None else contents.element
    alike = contents.uniform or complete(contents.partial) is not None
    if not fits(held if alike else contents.partial, given):
        known = x.b.content(index)
        shown = known.reshape(-1)[0] if known is not None and known.size else "?"
        raise InvalidArgumentError(
            f"TensorArray {array.name}: Could not write to TensorArray index {shown} because the "
            f"value shape is {shape_shown(given)} which is incompatible with the TensorArray's "
            f"inferred element shape: {shape_shown(held)} (consider setting infer_shape=False).",
            node=x.name,
        )
    if must_be_ragged(x, contents, given):
        return made_ragged(x, contents, given, contents.dtype)
    if contents.buffer is not None:
        return contents
    return with_element(x.b, contents, settled(contents.partial, given), contents.dtype)


def emit_scatter(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    handle, index, value, *_ = inputs
    indices, elements = value_of(x, index), value_of(x, value)
    if elements.type.rank < 1 or indices.type.rank != 1:
        raise InvalidArgumentError(
            f"Expected value to be at least a vector and indices to be one, found {elements.type} "
            f"and {indices.type}",
            node=x.name,
        )
    count = counts_to(x.b, indices)
    if count is not None and count == elements.dims[0]:
        _write_all(x, handle, elements)
    else:
        _write(x, handle, indices, elements)
    return [flow(x)]


def _write_all(x: Extractor, handle: Bound, elements: Value) -> None:
    """Puts elements into the first places of an array: all of it, most often, so that the value is
    the buffer from then on."""
    array, contents = array_of(x, handle)
    _check_written_dtype(x, contents, elements)
    rows, given = elements.dims[0], elements.dims[1:]
    indices = x.b.range(np.int32(0), size_value(x.b, rows), np.int32(1))
    room = rows == contents.rows or (array.info["grows"] and contents.rows == 0)
    if not (room and is_new(marks_of(contents), UNWRITTEN)):
        _write(x, handle, indices, elements)
        return
    if _typed_for(x, array, contents, indices, given).table is not None:
        _write(x, handle, indices, elements)
        return
    marks = zeros(x.b, (rows,), dtypes.u8, WRITTEN)
    x.replace(array, with_buffer(contents, elements, marks))


def emit_unpack(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    elements = value_of(x, inputs[1])
    _check_count(x, inputs[0], elements.dims[0], "first dimension of the value")
    _write_all(x, inputs[0], elements)
    return [flow(x)]


def _check_count(x: Extractor, handle: Bound, count: Dim, what: str) -> None:
    array, contents = array_of(x, handle)
    rows = contents.rows
    if array.info["grows"]:
        return
    if isinstance(rows, int) and isinstance(count, int) and rows != count:
        raise InvalidArgumentError(
            f"TensorArray's size is not equal to the {what} ({rows} vs. {count}), and the "
            "TensorArray is not marked as dynamically resizeable",
            node=x.name,
        )


def emit_split(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    value, lengths = value_of(x, inputs[1]), value_of(x, inputs[2])
    _check_count(x, inputs[0], lengths.dims[0], "size of lengths")
    unused = (
        "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {value} and "
        "value's shape is: [{extent}" + "".join(f",{d}" for d in value.dims[1:]) + "]"
    )
    array, contents = array_of(x, inputs[0])
    if split_is_ragged(x, value, lengths, contents):
        _check_written_dtype(x, contents, value)
        marks = zeros(x.b, (lengths.dims[0],), dtypes.u8, WRITTEN)
        split = pieces(x, value, lengths, unused, contents)
        x.replace(array, replace(split, marks=marks))
        return [flow(x)]
    _write_all(x, inputs[0], split_alike(x, value, lengths, unused))
    return [flow(x)]
