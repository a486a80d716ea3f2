"""What reads TensorArrays: one element, some, all of them, one after another.

In: handles, indices, what the reader says of dtype and shape. Out: elements, and marks of what is
cleared. Invariant: what was not written, or was cleared, ends the run with TensorFlow's message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnimplementedError
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor, ListValue, Resource
from flowc.ir.mark_access import CLEARED, UNWRITTEN, WRITTEN
from flowc.ir.op import Attrs
from flowc.ops.lists.array_contents import array_of, marks_of
from flowc.ops.lists.list_joining import join_ragged, join_rows
from flowc.ops.lists.list_marks import read_fault
from flowc.ops.lists.list_values import (
    Partial,
    complete,
    counts_to,
    dtype_shown,
    is_new,
    merged,
    shape_shown,
    with_element,
    zeros,
)
from flowc.ops.lists.ragged_values import (
    element_at,
    faults_along,
    stacked,
    with_parts,
)
from flowc.ops.state.variables import value_of


def emit_read(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [_read(x, inputs[0], value_of(x, inputs[1]), attrs["dtype"], None)]


def emit_gather(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    _, contents = array_of(x, inputs[0])
    indices = value_of(x, inputs[1])
    shape = attrs["element_shape"]
    if counts_to(x.b, indices) == contents.rows:
        return [_read_all(x, inputs[0], attrs["dtype"], shape)]
    return [_read(x, inputs[0], indices, attrs["dtype"], shape)]


def emit_pack(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [_read_all(x, inputs[0], attrs["dtype"], attrs["element_shape"])]


def _read(x: Extractor, handle: Bound, index: Value, dtype: DType, shape: Partial) -> Value:
    """One element, or those at a vector of indices."""
    array, contents = array_of(x, handle)
    contents, flags = _readable(x, array, contents, index, dtype, shape)
    marks, place = marks_of(contents), index
    if array.info["clears"]:
        marks, place = x.b.list_take(marks, index, **flags)
        x.replace(array, replace(contents, marks=marks))
    elif not flags["zeros"]:
        place = x.b.list_check(marks, index, **flags)
    message = "Tried to read from index {value} but array size is: {extent}"
    if contents.table is None:
        return x.b.list_get(contents.buffer, place, array=array.name)
    if index.type.rank == 0:
        unset = read_fault(array.name, shape_shown(contents.partial), 2, "{value}")
        return element_at(x, contents, place, message, unset)[0]
    chosen = x.b.list_get(contents.table, place, message=message)
    assert contents.buffer is not None
    return _stacked(x, array, with_parts(contents, contents.buffer, chosen))


def _stacked(x: Extractor, array: Resource, contents: ListValue) -> Value:
    """All elements of a ragged array as one tensor."""
    text = (
        "TensorArray has inconsistent shapes.  Index 0 has shape: {one} but index {at} has shape: "
        "{other}"
    )
    unset = read_fault(array.name, shape_shown(contents.partial), 2, 0)
    return stacked(x, contents, faults_along(contents.common, text, unset))


def _read_all(x: Extractor, handle: Bound, dtype: DType, shape: Partial) -> Value:
    """All elements: the buffer itself."""
    array, _ = array_of(x, handle)
    contents = _checked(x, handle, dtype, shape)
    if contents.table is not None:
        return _stacked(x, array, contents)
    assert contents.buffer is not None
    return contents.buffer


def _checked(x: Extractor, handle: Bound, dtype: DType, shape: Partial) -> ListValue:
    """What an array holds, once it is checked that all of it may be read."""
    array, contents = array_of(x, handle)
    everywhere = x.b.sizes((contents.rows,))
    contents, flags = _readable(x, array, contents, everywhere, dtype, shape)
    marks, buffer, table = marks_of(contents), contents.buffer, contents.table
    assert buffer is not None
    clears = array.info["clears"]
    written = is_new(marks, WRITTEN) or (is_new(marks, UNWRITTEN) and flags["zeros"])
    if not written and (clears or not flags["zeros"]):
        if table is not None:
            table = x.b.list_whole(table, marks, **flags)
        else:
            buffer = x.b.list_whole(buffer, marks, **flags)
    if clears:
        cleared = zeros(x.b, (contents.rows,), dtypes.u8, CLEARED)
        x.replace(array, replace(contents, marks=cleared))
    return replace(contents, buffer=buffer, table=table)


def _readable(
    x: Extractor,
    array: Resource,
    contents: ListValue,
    index: Value,
    dtype: DType,
    shape: Partial,
) -> tuple[ListValue, dict[str, Any]]:
    """The contents with a buffer, and what the checks of a read need. `shape`: what the reader
    knows of the shape of elements."""
    if dtype is not contents.dtype:
        raise InvalidArgumentError(
            f"TensorArray dtype is {dtype_shown(contents.dtype)} but Op requested dtype "
            f"{dtype_shown(dtype)}.",
            node=x.name,
        )
    partial = merged(contents.partial, shape)
    if contents.table is not None:
        merged(contents.common, shape)
    elif contents.element is not None:
        merged(contents.element, shape)
    elif (element := complete(partial)) is not None:
        contents = with_element(x.b, contents, element, dtype)
    else:
        raise _unwritten(x, array, contents, index, partial)
    flags = {
        "array": array.name,
        "shape": shape_shown(partial),
        "zeros": array.info["alike"] or complete(partial) is not None,
    }
    return contents, flags


def _unwritten(
    x: Extractor, array: Resource, contents: ListValue, index: Value, partial: Partial
) -> InvalidArgumentError | UnimplementedError:
    if index.type.rank == 1 and (contents.rows == 0 or index.type.size == 0):
        return UnimplementedError(
            f"TensorArray has size zero, but element shape {shape_shown(partial)} is not fully "
            "defined. Currently only static shapes are supported when packing zero-size "
            "TensorArrays.",
            node=x.name,
        )
    known = x.b.content(index) if index.type.rank == 0 else np.zeros(1, np.int32)
    shown = "?" if known is None or not known.size else known.reshape(-1)[0]
    fault = read_fault(array.name, shape_shown(partial), 2, shown)
    return InvalidArgumentError(fault, node=x.name)


def emit_concat(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rest = attrs["element_shape_except0"]
    _, contents = array_of(x, inputs[0])
    if contents.rows == 0 and complete(rest) is None:
        raise UnimplementedError(
            f"TensorArray has size zero, but element_shape_except0 {shape_shown(rest)} is not "
            "fully defined. Currently only static shapes are supported when concatenating "
            "zero-size TensorArrays.",
            node=x.name,
        )
    shape = None if rest is None else (None, *rest)
    unknown = contents.element is None and complete(contents.partial) is None
    if rest is not None and unknown and contents.rows == 0:
        shape = (0, *rest)
    found = _checked(x, inputs[0], attrs["dtype"], shape)
    hint = "Did you mean to call pack?"
    if found.table is None:
        assert found.buffer is not None
        return join_rows(x, found.buffer, hint)
    text = (
        "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: {one} but"
        " index {at} has (excepting dimension 0) shape: {other}"
    )
    return join_ragged(x, found, text, UNJOINED, None, hint)


UNJOINED = "TensorArray has size zero, but element_shape_except0 is not fully defined."
