"""What reads and writes TensorArrays: one element, some, all of them, pieces of a tensor.

In: handles, indices, elements, what a reader says of dtype and shape. Out: elements, flows, and new
contents of the arrays. A handle is a Resource whose contents are a ListValue with marks; flow
tensors only order nodes, so each is a constant 0. Invariant: an element is written once (gradients
add up); what was not written, or was cleared by a read, ends the run with TensorFlow's message.
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
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, DenseItems, Extractor, ListValue, Ragged, Resource
from flowc.ir.mark_access import CLEARED, UNWRITTEN, WRITTEN
from flowc.ir.op import Attrs
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.lists.list_faults import escaped, outside_array
from flowc.ops.lists.list_marks import read_fault
from flowc.ops.lists.list_operations import (
    element_at,
    joined,
    readable,
    resized,
    split,
    stacked,
    typed_for,
    whole,
    with_elements,
    zeros,
)
from flowc.ops.lists.list_values import (
    Faults,
    Partial,
    complete,
    counts_to,
    dtype_shown,
    fits,
    merged,
    of_rank,
    rows_for,
)
from flowc.ops.lists.ragged_values import is_new
from flowc.ops.state.variables import value_of

KIND = "tensor_array"


def array_of(x: Extractor, bound: Bound) -> tuple[Resource, ListValue]:
    """The array that a handle names, and what it holds."""
    if isinstance(bound, Resource) and bound.kind == KIND:
        contents = x.contents(bound)
        assert isinstance(contents, ListValue)
        return bound, contents
    raise InvalidArgumentError(f"the handle given to '{x.name}' is no TensorArray's")


def element_dtype(dtype: DType) -> DType:
    """What elements of a dtype are held as: variants that only Python knows as strings."""
    return dtypes.string if dtype is dtypes.variant else dtype


def flow(x: Extractor) -> Value:
    return x.b.const(np.float32(0))


def _marks_of(contents: ListValue) -> Value:
    assert contents.marks is not None
    return contents.marks


# -- writing


def emit_write(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    handle, index, value, *_ = inputs
    _write(x, handle, of_rank(value_of(x, index), 0, "index"), value_of(x, value))
    return [flow(x)]


def _write(x: Extractor, handle: Bound, index: Value, value: Value) -> None:
    """Puts an element (or, for a vector of indices, several) into an array."""
    array, contents = array_of(x, handle)
    _check_written_dtype(contents, value)
    if array.info["grows"]:
        contents = resized(x, contents, rows_for(x.b, contents.rows, index))
    contents = _typed_for(x, array, contents, index, value.dims[index.type.rank :])
    flags = {"array": array.name, "add": array.info["adds"]}
    marks, place = x.b.list_mark(_marks_of(contents), index, **flags)
    name = escaped(escaped(array.name))
    unlike = (
        f"TensorArray {name}: Could not aggregate to TensorArray index {{at}} because the existing "
        "shape is {one} but the new input shape is {other}."
    )
    outside = outside_array(name, index.type.rank)
    faults = Faults(outside, unlike=unlike if flags["add"] else "", attrs=flags)
    x.replace(array, replace(with_elements(x, contents, place, value, faults), marks=marks))


def _check_written_dtype(contents: ListValue, value: Value) -> None:
    if value.type.dtype is not contents.dtype:
        raise InvalidArgumentError(
            f"TensorArray dtype is {dtype_shown(contents.dtype)} but Op is trying to write dtype "
            f"{dtype_shown(value.type.dtype)}."
        )


def _typed_for(
    x: Extractor, array: Resource, contents: ListValue, index: Value, given: Dims
) -> ListValue:
    """The contents, converted so that elements with the dims `given` can be written. Raises
    `InvalidArgumentError` where these do not fit the array's element shape."""
    held: Partial = contents.partial if contents.element is None else contents.element
    alike = contents.uniform or complete(contents.partial) is not None
    if not fits(held if alike else contents.partial, given):
        known = x.b.content(index)
        shown = known.reshape(-1)[0] if known is not None and known.size else "?"
        raise InvalidArgumentError(
            f"TensorArray {array.name}: Could not write to TensorArray index {shown} because the "
            f"value shape is {shown_dims(given)} which is incompatible with the TensorArray's "
            f"inferred element shape: {shown_dims(held)} (consider setting infer_shape=False)."
        )
    return typed_for(x, contents, contents.dtype, given)


def emit_scatter(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    handle, index, value, *_ = inputs
    indices, elements = value_of(x, index), value_of(x, value)
    if elements.type.rank < 1 or indices.type.rank != 1:
        raise InvalidArgumentError(
            f"Expected value to be at least a vector and indices to be one, found {elements.type} "
            f"and {indices.type}"
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
    _check_written_dtype(contents, elements)
    rows, given = elements.dims[0], elements.dims[1:]
    indices = x.b.range(np.int32(0), x.b.scalar_size(rows), np.int32(1))
    room = rows == contents.rows or (array.info["grows"] and contents.rows == 0)
    if not (room and is_new(_marks_of(contents), UNWRITTEN)):
        _write(x, handle, indices, elements)
        return
    if isinstance(_typed_for(x, array, contents, indices, given).held, Ragged):
        _write(x, handle, indices, elements)
        return
    _replace_all(x, array, whole(contents, elements))


def _replace_all(x: Extractor, array: Resource, contents: ListValue) -> None:
    marks = zeros(x.b, (contents.rows,), dtypes.u8, WRITTEN)
    x.replace(array, replace(contents, marks=marks, known=None))


def emit_unpack(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    elements = value_of(x, inputs[1])
    if not elements.type.rank:
        raise InvalidArgumentError(
            "Input value for unpack must be at least a vector but received shape: []"
        )
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
            "TensorArray is not marked as dynamically resizeable"
        )


def emit_split(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    value, lengths = value_of(x, inputs[1]), value_of(x, inputs[2])
    of_rank(lengths, 1, "lengths")
    if not value.type.rank:
        raise InvalidArgumentError("Expected value to be at least a vector, but received shape: []")
    _check_count(x, inputs[0], lengths.dims[0], "size of lengths")
    unused = (
        "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {value} and "
        "value's shape is: [{extent}" + "".join(f",{d}" for d in value.dims[1:]) + "]"
    )
    array, contents = array_of(x, inputs[0])
    found = split(x, contents, value, lengths, unused)
    if isinstance(found.held, DenseItems):
        _write_all(x, inputs[0], found.held.buffer)
    else:
        _check_written_dtype(contents, value)
        _replace_all(x, array, found)
    return [flow(x)]


# -- reading


def emit_read(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    index = of_rank(value_of(x, inputs[1]), 0, "index")
    return [_read(x, inputs[0], index, attrs["dtype"], None)]


def emit_gather(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    _, contents = array_of(x, inputs[0])
    indices = of_rank(value_of(x, inputs[1]), 1, "indices")
    if counts_to(x.b, indices) == contents.rows:
        return emit_pack(x, inputs, attrs)
    return [_read(x, inputs[0], indices, attrs["dtype"], attrs["element_shape"])]


def emit_pack(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    array, _ = array_of(x, inputs[0])
    contents = _checked(x, inputs[0], attrs["dtype"], attrs["element_shape"])
    return [stacked(x, contents, _read_faults(array, contents, 0))]


def _read(x: Extractor, handle: Bound, index: Value, dtype: DType, shape: Partial) -> Bound:
    """One element, or those at a vector of indices."""
    array, contents = array_of(x, handle)
    contents, flags = _readable(x, array, contents, index, dtype, shape)
    marks, place = _marks_of(contents), index
    if array.info["clears"]:
        marks, place = x.b.list_take(marks, index, **flags)
        x.replace(array, replace(contents, marks=marks))
    elif not flags["zeros"]:
        place = x.b.list_check(marks, index, **flags)
    faults = _read_faults(array, contents, 0 if index.type.rank else "{value}")
    return element_at(x, contents, place, faults)


def _read_faults(array: Resource, contents: ListValue, index: object) -> Faults:
    return Faults(
        "Tried to read from index {value} but array size is: {extent}",
        read_fault(array.name, shown_dims(contents.partial), 2, index),
        "TensorArray has inconsistent shapes.  Index 0 has shape: {one} but index {at} has shape: "
        "{other}",
        {"array": array.name},
    )


def _checked(x: Extractor, handle: Bound, dtype: DType, shape: Partial) -> ListValue:
    """What an array holds, once it is checked that all of it may be read."""
    array, contents = array_of(x, handle)
    everywhere = x.b.sizes((contents.rows,))
    contents, flags = _readable(x, array, contents, everywhere, dtype, shape)
    marks, held, clears = _marks_of(contents), contents.held, array.info["clears"]
    written = is_new(marks, WRITTEN) or (is_new(marks, UNWRITTEN) and flags["zeros"])
    if not written and (clears or not flags["zeros"]):
        if isinstance(held, Ragged):
            held = replace(held, table=x.b.list_whole(held.table, marks, **flags))
        elif isinstance(held, DenseItems):
            held = DenseItems(x.b.list_whole(held.buffer, marks, **flags))
    if clears:
        cleared = zeros(x.b, (contents.rows,), dtypes.u8, CLEARED)
        x.replace(array, replace(contents, marks=cleared))
    return replace(contents, held=held)


def _readable(
    x: Extractor,
    array: Resource,
    contents: ListValue,
    index: Value,
    dtype: DType,
    shape: Partial,
) -> tuple[ListValue, dict[str, Any]]:
    """The contents as ones whose elements have dims, and what the checks of a read need. `shape`:
    what the reader knows of the shape of elements."""
    if element_dtype(dtype) is not contents.dtype:
        raise InvalidArgumentError(
            f"TensorArray dtype is {dtype_shown(contents.dtype)} but Op requested dtype "
            f"{dtype_shown(dtype)}."
        )
    partial = merged(contents.partial, shape)
    found = readable(x, contents, shape)
    if found is None:
        raise _unwritten(x, array, contents, index, partial)
    flags = {
        "array": array.name,
        "shape": shown_dims(partial),
        "zeros": array.info["alike"] or complete(partial) is not None,
    }
    return found, flags


def _unwritten(
    x: Extractor, array: Resource, contents: ListValue, index: Value, partial: Partial
) -> InvalidArgumentError | UnimplementedError:
    if index.type.rank == 1 and (contents.rows == 0 or index.type.size == 0):
        return UnimplementedError(
            f"TensorArray has size zero, but element shape {shown_dims(partial)} is not fully "
            "defined. Currently only static shapes are supported when packing zero-size "
            "TensorArrays."
        )
    known = x.b.content(index) if index.type.rank == 0 else np.zeros(1, np.int32)
    shown = "?" if known is None or not known.size else known.reshape(-1)[0]
    fault = read_fault(array.name, shown_dims(partial), 2, shown)
    return InvalidArgumentError(fault)


def emit_concat(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rest = attrs["element_shape_except0"]
    _, contents = array_of(x, inputs[0])
    if contents.rows == 0 and complete(rest) is None:
        raise UnimplementedError(
            f"TensorArray has size zero, but element_shape_except0 {shown_dims(rest)} is not "
            "fully defined. Currently only static shapes are supported when concatenating "
            "zero-size TensorArrays."
        )
    shape = None if rest is None else (None, *rest)
    unknown = contents.element is None and complete(contents.partial) is None
    if rest is not None and unknown and contents.rows == 0:
        shape = (0, *rest)
    found = _checked(x, inputs[0], attrs["dtype"], shape)
    faults = Faults(
        unset="TensorArray has size zero, but element_shape_except0 is not fully defined.",
        unlike="TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
        "{one} but index {at} has (excepting dimension 0) shape: {other}",
    )
    return joined(x, found, faults, hint="Did you mean to call pack?")
