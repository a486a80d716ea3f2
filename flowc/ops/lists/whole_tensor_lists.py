"""TensorLists and whole tensors: a list of a tensor's rows, a tensor of a list's elements.

In: tensors, indices, lengths, lists. Out: lists whose elements are rows or pieces of a tensor, and
tensors that stack or join elements. Invariant: as in tensor_lists.py; a list of all rows of a
tensor is the tensor's buffer, and stacking it gives that again.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor, ListValue
from flowc.ir.op import Attrs
from flowc.ops.lists.list_joining import join_ragged, join_rows, split_alike, split_is_ragged
from flowc.ops.lists.list_values import (
    Partial,
    counts_to,
    fits,
    rows_for,
    shape_input,
    shape_shown,
    size_of,
)
from flowc.ops.lists.ragged_values import (
    faults_along,
    pieces,
    stacked,
    with_parts,
)
from flowc.ops.lists.tensor_lists import define_list_op, scalar_dims
from flowc.ops.lists.variant_lists import (
    UNSET,
    check_dtype,
    list_of,
    readable,
    resized,
    set_elements,
    typed_for,
    unset_list,
)
from flowc.ops.state.variables import value_of

MERGE = "PartialTensorShape: Incompatible shapes during merge: {one} vs. {other}"
SCATTER = "TensorListScatter: Trying to scatter at index {value} in list with size {extent}"

# -- lists of tensors


def _emit_from_tensor(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    tensor, partial = value_of(x, inputs[0]), shape_input(x, value_of(x, inputs[1]))
    return [_whole(x, tensor, partial)]


def _whole(x: Extractor, tensor: Value, partial: Partial) -> ListValue:
    """The rows of a tensor as a list: its buffer."""
    if tensor.type.rank < 1:
        raise InvalidArgumentError(
            f"Tensor must be at least a vector, but saw shape: {shape_shown(tensor.dims)}",
            node=x.name,
        )
    rows, *element = tensor.dims
    if not fits(partial, element):
        raise InvalidArgumentError(
            "Specified a list with shape "
            f"{shape_shown(partial)} from a tensor with shape {shape_shown(element)}",
            node=x.name,
        )
    return ListValue(tensor.type.dtype, rows, tuple(element), tensor, partial=partial, home=x.b)


def _emit_scatter(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    tensor, indices, shape, *count = (value_of(x, bound) for bound in inputs)
    partial = shape_input(x, shape)
    wanted = size_of(x.b, count[0]) if count else -1
    if wanted == -1:
        wanted = rows_for(x.b, 0, indices)
    elif isinstance(wanted, int) and wanted < -1:
        raise InvalidArgumentError(
            f"TensorListScatter expects num_elements >= -1, found: {wanted}", node=x.name
        )
    if counts_to(x.b, indices) == tensor.dims[0] == wanted:
        return [_whole(x, tensor, partial)]
    contents = unset_list(x, wanted, partial, tensor.type.dtype)
    return [_scattered(x, contents, indices, tensor)]


def _scattered(x: Extractor, contents: ListValue, indices: Value, tensor: Value) -> ListValue:
    given, count = tensor.dims[1:], indices.dims[0]
    rows = tensor.dims[0]
    if isinstance(rows, int) and isinstance(count, int) and rows != count:
        raise InvalidArgumentError(
            f"Expected len(indices) == tensor.shape[0], but saw: {count} vs. {rows}", node=x.name
        )
    typed = typed_for(x, contents, tensor.type.dtype, given, "scatter")
    return set_elements(x, typed, indices, tensor, SCATTER)


def _emit_scatter_into(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    contents = list_of(x, inputs[0])
    tensor, indices = value_of(x, inputs[1]), value_of(x, inputs[2])
    grown = resized(x, contents, rows_for(x.b, contents.rows, indices))
    return [_scattered(x, grown, indices, tensor)]


def _emit_split(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    tensor, shape, lengths = (value_of(x, bound) for bound in inputs)
    unused = "Unused values in tensor. Length of tensor: {extent} Values used: {value}"
    partial = shape_input(x, shape)
    if split_is_ragged(x, tensor, lengths):
        contents = ListValue(tensor.type.dtype, lengths.dims[0], partial=partial, home=x.b)
        return [pieces(x, tensor, lengths, unused, contents)]
    return [_whole(x, split_alike(x, tensor, lengths, unused), partial)]


# -- tensors of lists


def _emit_gather(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    contents, indices = list_of(x, inputs[0]), value_of(x, inputs[1])
    check_dtype(x, contents.dtype, attrs["element_dtype"])
    fault = UNSET
    if indices.type.size == 0:
        fault = "Tried to gather 0-elements from a list with non-fully-defined shape: {}"
    shape = shape_input(x, value_of(x, inputs[2]))
    contents = readable(x, contents, shape, fault)
    buffer = contents.buffer
    assert buffer is not None
    everything = counts_to(x.b, indices) == contents.rows
    message = "Trying to gather element {value} in a list with {extent} elements."
    if contents.table is not None:
        table = contents.table
        if not everything:
            table = x.b.list_get(table, indices, message=message)
        return [_stacked(x, with_parts(contents, buffer, table), shape)]
    if everything:
        return [buffer]
    return [x.b.list_get(buffer, indices, message=message)]


def _emit_stack(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    contents, wanted = list_of(x, inputs[0]), attrs["num_elements"]
    check_dtype(x, contents.dtype, attrs["element_dtype"])
    if wanted != -1 and isinstance(contents.rows, int) and contents.rows != wanted:
        raise InvalidArgumentError(
            f"Operation expected a list with {wanted} elements but got a list with "
            f"{contents.rows} elements.",
            node=x.name,
        )
    fault = UNSET
    if contents.rows == 0:
        fault = "Tried to stack elements of an empty list with non-fully-defined element_shape: {}"
    shape = shape_input(x, value_of(x, inputs[1]))
    contents = readable(x, contents, shape, fault)
    buffer = contents.buffer
    assert buffer is not None
    if contents.table is not None:
        buffer = _stacked(x, contents, shape)
    if wanted != -1 and contents.rows != wanted:
        # The run checks the number, which is in the type from here on.
        buffer = x.b.ensure_shape(buffer, shape=(wanted, *(None for _ in buffer.dims[1:])))
    return [buffer]


def _stacked(x: Extractor, contents: ListValue, shape: Partial) -> Value:
    """All elements of a ragged list as one tensor."""
    faults = faults_along(contents.common, MERGE, UNSET.format(shape_shown(shape)))
    return stacked(x, contents, faults, shape)


def _emit_concat(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    partial = attrs["element_shape"] if len(inputs) == 1 else None
    if partial is None and len(inputs) > 1:
        partial = shape_input(x, value_of(x, inputs[1]))
    contents = list_of(x, inputs[0])
    check_dtype(x, contents.dtype, attrs["element_dtype"])
    if contents.element == ():
        partial = None
    if contents.element is None and contents.rows == 0 and partial and partial[0] is None:
        partial = (0, *partial[1:])
    fault = (
        "All except the first dimension must be fully defined when concating an empty tensor "
        "list. element_shape: {}"
    )
    if contents.rows != 0:
        fault = UNSET
    contents = readable(x, contents, partial, fault)
    if contents.table is not None:
        return list(join_ragged(x, contents, MERGE, UNSET.format(shape_shown(partial)), partial))
    assert contents.buffer is not None
    return list(join_rows(x, contents.buffer))


# -- records


define_list_op(
    "tensor_list_from_tensor",
    "TensorListFromTensor(tensor: element_dtype, element_shape: shape_type; element_dtype: type,"
    " shape_type: {i32, i64}) -> output_handle: variant",
    _emit_from_tensor,
    scalar_dims,
)
define_list_op(
    "tensor_list_scatter",
    "TensorListScatterV2(tensor: element_dtype, indices: i32, element_shape: shape_type,"
    " num_elements: i32; element_dtype: type, shape_type: {i32, i64}) -> output_handle: variant",
    _emit_scatter,
    scalar_dims,
)
define_list_op(
    "tensor_list_scatter_v1",
    "TensorListScatter(tensor: element_dtype, indices: i32, element_shape: shape_type;"
    " element_dtype: type, shape_type: {i32, i64}) -> output_handle: variant",
    _emit_scatter,
    scalar_dims,
)
define_list_op(
    "tensor_list_scatter_into_existing_list",
    "TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices: i32;"
    " element_dtype: type) -> output_handle: variant",
    _emit_scatter_into,
    scalar_dims,
)
define_list_op(
    "tensor_list_split",
    "TensorListSplit(tensor: element_dtype, element_shape: shape_type, lengths: i64;"
    " element_dtype: type, shape_type: {i32, i64}) -> output_handle: variant",
    _emit_split,
    scalar_dims,
)
define_list_op(
    "tensor_list_gather",
    "TensorListGather(input_handle: variant, indices: i32, element_shape: i32;"
    " element_dtype: type) -> values: element_dtype",
    _emit_gather,
)
define_list_op(
    "tensor_list_stack",
    "TensorListStack(input_handle: variant, element_shape: i32; element_dtype: type,"
    " num_elements: int = -1) -> tensor: element_dtype",
    _emit_stack,
)
define_list_op(
    "tensor_list_concat",
    "TensorListConcatV2(input_handle: variant, element_shape: shape_type, leading_dims: i64;"
    " element_dtype: type, shape_type: {i32, i64}) -> (tensor: element_dtype, lengths: i64)",
    _emit_concat,
)
define_list_op(
    "tensor_list_concat_v1",
    "TensorListConcat(input_handle: variant; element_dtype: type, element_shape: shape = None)"
    " -> (tensor: element_dtype, lengths: i64)",
    _emit_concat,
)
