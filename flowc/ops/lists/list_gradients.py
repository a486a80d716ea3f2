"""Gradients of the ops on TensorLists and on optionals.

In: an op that makes, changes or reads a list, and the gradient of what it gives. Out: the gradient
of what it takes: of a list a list of as many elements, each the gradient of one. Invariant: what no
one read has a gradient of zeros, as elements that were never set read as such.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ops.gradients import Forward, Gradient, GradientBuilder


def _rest_of_shape(b: GradientBuilder, x: Any) -> Any:
    return b.shape_of(x, 1)


def _element_shape(b: GradientBuilder, held: Any) -> Any:
    return b.tensor_list_element_shape(held, shape_type=dtypes.i32)


def _pushed(b: GradientBuilder, node: Forward, dlist: Any) -> Any:
    item = node.inputs[1]
    return b.tensor_list_pop_back(dlist, b.shape_of(item), element_dtype=item.dtype)


def _popped(b: GradientBuilder, node: Forward, dlist: Any, ditem: Any) -> Any:
    if dlist is None:
        dlist = b.zeros_like(node.outputs[0])
    return b.tensor_list_push_back(dlist, ditem)


def _set(b: GradientBuilder, node: Forward, dlist: Any) -> Any:
    _, index, item = node.inputs
    rest = b.tensor_list_set_item(dlist, index, b.zeros_like(item))
    shape = b.shape_of(item)
    return rest, None, b.tensor_list_get_item(dlist, index, shape, element_dtype=item.dtype)


def _zeros_of_list(b: GradientBuilder, held: Any, dtype: dtypes.DType) -> Any:
    return b.tensor_list_reserve(
        _element_shape(b, held), b.tensor_list_length(held), element_dtype=dtype
    )


def _got(b: GradientBuilder, node: Forward, ditem: Any) -> Any:
    held, index, _ = node.inputs
    return b.tensor_list_set_item(_zeros_of_list(b, held, ditem.dtype), index, ditem)


def _gathered(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    held, indices, _ = node.inputs
    return b.tensor_list_scatter_into_existing_list(_zeros_of_list(b, held, dy.dtype), dy, indices)


def _resized(b: GradientBuilder, node: Forward, dlist: Any) -> Any:
    return b.tensor_list_resize(dlist, b.tensor_list_length(node.inputs[0]))


def _made_of_tensor(b: GradientBuilder, node: Forward, dlist: Any) -> Any:
    tensor = node.inputs[0]
    dims = b.dims_of(tensor)
    count = dims[0] if dims and isinstance(dims[0], int) else -1
    return b.tensor_list_stack(
        dlist, _rest_of_shape(b, tensor), element_dtype=tensor.dtype, num_elements=count
    )


def _stacked(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return b.tensor_list_from_tensor(dy, _rest_of_shape(b, dy))


def _rows_of(b: GradientBuilder, dlist: Any, tensor: Any, indices: Any) -> Any:
    return b.tensor_list_gather(
        dlist, indices, _rest_of_shape(b, tensor), element_dtype=tensor.dtype
    )


def _scattered(b: GradientBuilder, node: Forward, dlist: Any) -> Any:
    tensor, indices, *_ = node.inputs
    return _rows_of(b, dlist, tensor, indices)


def _scattered_into(b: GradientBuilder, node: Forward, dlist: Any) -> Any:
    _, tensor, indices = node.inputs
    rest = b.tensor_list_scatter_into_existing_list(dlist, b.zeros_like(tensor), indices)
    return rest, _rows_of(b, dlist, tensor, indices)


def _split(b: GradientBuilder, node: Forward, dlist: Any) -> Any:
    tensor, _, lengths = node.inputs
    shape = b.concat(np.array([-1], np.int32), _rest_of_shape(b, tensor), np.int32(0))
    joined, _ = b.tensor_list_concat(dlist, shape, lengths, element_dtype=tensor.dtype)
    return joined


def _joined(b: GradientBuilder, node: Forward, dy: Any, _: Any) -> Any:
    return b.tensor_list_split(dy, _element_shape(b, node.inputs[0]), node.outputs[1])


LIST_GRADIENTS: dict[str, Gradient] = {
    "TensorListConcat": _joined,
    "TensorListConcatV2": _joined,
    "TensorListFromTensor": _made_of_tensor,
    "TensorListGather": _gathered,
    "TensorListGetItem": _got,
    "TensorListPopBack": _popped,
    "TensorListPushBack": _pushed,
    "TensorListResize": _resized,
    "TensorListScatter": _scattered,
    "TensorListScatterIntoExistingList": _scattered_into,
    "TensorListScatterV2": _scattered,
    "TensorListSetItem": _set,
    "TensorListSplit": _split,
    "TensorListStack": _stacked,
}


def taken_optional(b: GradientBuilder, node: Forward, *dys: Any) -> Any:
    """The gradient of OptionalGetValue: an optional of the gradients of the components."""
    return b.optional_from_value(*dys)


def made_optional(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The gradient of OptionalFromValue."""
    shapes = [b.dims_of(x) for x in node.inputs]
    types = [x.dtype for x in node.inputs]
    return b.optional_get_value(dy, output_types=types, output_shapes=shapes)
