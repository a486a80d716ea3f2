"""TensorLists: lists that are values, as version 2 loops and their gradients use them.

In: lists, indices, elements (whole tensors: whole_tensor_lists.py). Out: elements, and lists that
differ. A variant tensor of a list is a ListValue; lists of lists hold the inner lists' buffers, or
are CompositeLists. Invariant: an element that was never set reads as zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.extraction import Bound, CompositeList, Extractor, ListValue, OptionalValue
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, Inference, NeedsContent, Op, define
from flowc.ir.types import Dims
from flowc.ops.lists.composite_lists import pop_composite, push_composite
from flowc.ops.lists.dense_lists import ACCESS, MODIFY
from flowc.ops.lists.list_values import (
    merged,
    popped,
    pushed,
    rows_for,
    shape_input,
    shape_shown,
    size_of,
    size_value,
    with_buffer,
)
from flowc.ops.lists.ragged_values import (
    as_ragged,
    element_at,
    one_behind_other,
)
from flowc.ops.lists.variant_lists import (
    UNSET,
    as_element,
    check_dtype,
    check_fits,
    element_of,
    list_of,
    readable,
    resized,
    set_elements,
    typed_for,
    unset_list,
)
from flowc.ops.state.variables import Emit, value_of

# -- creation


def _emit_empty(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    partial = shape_input(x, value_of(x, inputs[0]))
    return [unset_list(x, 0, partial, attrs["element_dtype"])]


def _emit_reserve(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rows = size_of(x.b, value_of(x, inputs[1]))
    if isinstance(rows, int) and rows < 0:
        raise InvalidArgumentError(
            f"The num_elements to reserve must be a non negative number, but got {rows}",
            node=x.name,
        )
    return [unset_list(x, rows, shape_input(x, value_of(x, inputs[0])), attrs["element_dtype"])]


# -- elements


def _emit_set(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    contents, index = list_of(x, inputs[0]), value_of(x, inputs[1])
    item = element_of(x, inputs[2])
    if attrs["resize_if_index_out_of_bounds"]:
        contents = resized(x, contents, rows_for(x.b, contents.rows, index))
    contents = typed_for(x, contents, item.type.dtype, item.dims, "set")
    return [set_elements(x, contents, index, item, MODIFY)]


def _emit_get(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    index, shape = value_of(x, inputs[1]), shape_input(x, value_of(x, inputs[2]))
    contents, dtype = list_of(x, inputs[0]), attrs["element_dtype"]
    check_dtype(x, contents.dtype, dtype)
    if dtype is dtypes.variant:
        shape = None
    contents = readable(x, contents, shape, UNSET)
    if contents.table is not None:
        unset = UNSET.format(shape_shown(contents.partial))
        return [element_at(x, contents, index, ACCESS, unset, shape)[0]]
    return [as_element(x.b.list_get(contents.buffer, index), dtype)]


def _is_composite(bound: Bound) -> bool:
    return isinstance(bound, OptionalValue | CompositeList)


def _is_ragged(bound: Bound) -> bool:
    return isinstance(bound, ListValue) and bound.table is not None


def _emit_push(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    if any(_is_composite(bound) for bound in inputs) or _is_ragged(inputs[1]):
        return [push_composite(x, *inputs)]
    contents, item = list_of(x, inputs[0]), element_of(x, inputs[1])
    check_dtype(x, contents.dtype, item.type.dtype)
    check_fits(x, contents, item.dims, "append")
    return [pushed(x, contents, item)]


def _emit_pop(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    if isinstance(inputs[0], CompositeList):
        return pop_composite(x, inputs[0])
    contents, dtype = list_of(x, inputs[0]), attrs["element_dtype"]
    check_dtype(x, contents.dtype, dtype)
    if contents.rows == 0:
        raise InvalidArgumentError("Trying to pop from an empty list.", node=x.name)
    shape = None if dtype is dtypes.variant else shape_input(x, value_of(x, inputs[1]))
    fault = "Trying to read an uninitialized tensor but element_shape is not fully defined.{}"
    contents = readable(x, contents, shape, fault)
    unset = fault.format(shape_shown(merged(contents.partial, shape)))
    rest, item = popped(x, contents, "Trying to pop from an empty list.", unset, shape)
    return [rest, as_element(item, dtype)]


# -- whole lists


def _emit_concat_lists(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    a, b = (list_of(x, bound) for bound in inputs)
    if a.rows == 0:
        return [b]
    if b.rows == 0:
        return [a]
    if a.table is not None or b.table is not None:
        a, b = (as_ragged(x.b, one, other.common, other.dtype) for one, other in ((a, b), (b, a)))
        return [one_behind_other(x, a, b)]
    if b.element is not None:
        a = typed_for(x, a, b.dtype, b.element, "append")
    if a.element is not None:
        b = typed_for(x, b, a.dtype, a.element, "append")
    if a.buffer is None or b.buffer is None:
        return [replace(a, rows=a.rows + b.rows, known=None)]
    return [with_buffer(a, x.b.concat(a.buffer, b.buffer, np.int32(0)))]


def _emit_resize(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rows = size_of(x.b, value_of(x, inputs[1]))
    if isinstance(rows, int) and rows < 0:
        raise InvalidArgumentError(
            f"TensorListSlice expects size to be non-negative. Got: {rows}", node=x.name
        )
    return [resized(x, list_of(x, inputs[0]), rows)]


def _emit_length(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [size_value(x.b, list_of(x, inputs[0]).rows)]


def _emit_element_shape(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    partial, dtype = list_of(x, inputs[0]).partial, attrs["shape_type"]
    if partial is None:
        return [size_value(x.b, -1, dtype)]
    return [x.b.sizes(tuple(-1 if d is None else d for d in partial), dtype)]


# -- records


def _known_when_extracted(c: Inference) -> Dims:
    raise NeedsContent(
        f"what {c.op.tf_name} gives is known when its graph is compiled", node=c.node_name
    )


def scalar_dims(c: Inference) -> Dims:
    return ()


def define_list_op(
    name: str, signature: str, emit: Emit, infer: Any = _known_when_extracted
) -> None:
    define(Op(name, signature, infer=infer, lowering=Extracted(emit)))


define_list_op(
    "empty_tensor_list",
    "EmptyTensorList(element_shape: shape_type, max_num_elements: i32; element_dtype: type,"
    " shape_type: {i32, i64}) -> handle: variant",
    _emit_empty,
    scalar_dims,
)
define_list_op(
    "tensor_list_reserve",
    "TensorListReserve(element_shape: shape_type, num_elements: i32; element_dtype: type,"
    " shape_type: {i32, i64}) -> handle: variant",
    _emit_reserve,
    scalar_dims,
)
define_list_op(
    "tensor_list_set_item",
    "TensorListSetItem(input_handle: variant, index: i32, item: element_dtype; element_dtype: type,"
    " resize_if_index_out_of_bounds: bool = False) -> output_handle: variant",
    _emit_set,
    scalar_dims,
)
define_list_op(
    "tensor_list_get_item",
    "TensorListGetItem(input_handle: variant, index: i32, element_shape: Tshape;"
    " element_dtype: type, Tshape: {i32, i64} = i32) -> item: element_dtype",
    _emit_get,
)
define_list_op(
    "tensor_list_push_back",
    "TensorListPushBack(input_handle: variant, tensor: element_dtype; element_dtype: type)"
    " -> output_handle: variant",
    _emit_push,
    scalar_dims,
)
define_list_op(
    "tensor_list_pop_back",
    "TensorListPopBack(input_handle: variant, element_shape: i32; element_dtype: type)"
    " -> (output_handle: variant, tensor: element_dtype)",
    _emit_pop,
)
define_list_op(
    "tensor_list_concat_lists",
    "TensorListConcatLists(input_a: variant, input_b: variant; element_dtype: type)"
    " -> output: variant",
    _emit_concat_lists,
    scalar_dims,
)
define_list_op(
    "tensor_list_resize",
    "TensorListResize(input_handle: variant, size: i32) -> output_handle: variant",
    _emit_resize,
    scalar_dims,
)
define_list_op(
    "tensor_list_length",
    "TensorListLength(input_handle: variant) -> length: i32",
    _emit_length,
    scalar_dims,
)
define_list_op(
    "tensor_list_element_shape",
    "TensorListElementShape(input_handle: variant; shape_type: {i32, i64})"
    " -> element_shape: shape_type",
    _emit_element_shape,
)
