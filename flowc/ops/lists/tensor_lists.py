"""TensorLists: lists that are values, as version 2 loops and their gradients use them.

In: lists, indices, elements, whole tensors. Out: elements, lists that differ, and tensors that
stack or join elements. A variant tensor of a list is a ListValue (variant_lists.py); a list of
dense lists holds the inner lists' buffers. Invariant: an element that was never set reads as zeros;
a list of all rows of a tensor is the tensor's buffer, and stacking it gives that again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import (
    Bound,
    Columns,
    DenseItems,
    Extractor,
    ListValue,
    OptionalValue,
    Ragged,
)
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.lists.list_concat import emit_concat
from flowc.ops.lists.list_faults import ACCESS, MODIFY
from flowc.ops.lists.list_gradients import LIST_GRADIENTS
from flowc.ops.lists.list_operations import (
    element_at,
    one_behind_other,
    popped,
    pushed,
    resized,
    split,
    stacked,
    typed_for,
    whole,
    with_elements,
)
from flowc.ops.lists.list_values import (
    MERGE,
    Faults,
    Partial,
    counts_to,
    fits,
    known_indices,
    known_when_extracted,
    merged,
    of_rank,
    rows_for,
    scalar,
    shape_input,
    size_of,
)
from flowc.ops.lists.variant_lists import (
    UNSET,
    as_element,
    as_item,
    check_dtype,
    check_indices,
    check_takes,
    list_of,
    readable_list,
    unset_list,
)
from flowc.ops.state.variables import Emit, value_of

POP = "Trying to pop from an empty list."
GATHER = "Trying to gather element {value} in a list with {extent} elements."
SCATTER = "TensorListScatter: Trying to scatter at index {value} in list with size {extent}"
SET = (
    "Tried to set a tensor with incompatible shape at a list index. Item element shape: {} list "
    "shape: {}"
)
APPEND = (
    "Tried to append a tensor with incompatible shape to a list. Op element shape: {} list shape: "
    "{}"
)
SPECIFIED = "Specified a list with shape {1} from a tensor with shape {0}"
SCATTERING = Faults(SCATTER, attrs={"message": SCATTER})
SETTING = Faults(MODIFY)


# -- creation


def _emit_empty(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    partial, most = shape_input(x, value_of(x, inputs[0])), value_of(x, inputs[1])
    if most.type.rank:
        raise InvalidArgumentError(
            f"max_num_elements expected to be a scalar but got shape: {shown_dims(most.dims)}"
        )
    # Where only a run knows it, it is that of a loop, which ends by itself.
    limit = -1 if most.constant is None else int(most.constant)
    return [replace(unset_list(x, 0, partial, attrs["element_dtype"]), limit=limit)]


def _emit_reserve(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rows = size_of(x.b, value_of(x, inputs[1]))
    if isinstance(rows, int) and rows < 0:
        raise InvalidArgumentError(
            f"The num_elements to reserve must be a non negative number, but got {rows}"
        )
    return [unset_list(x, rows, shape_input(x, value_of(x, inputs[0])), attrs["element_dtype"])]


# -- elements


def _emit_set(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    contents, index = list_of(x, inputs[0]), of_rank(value_of(x, inputs[1]), 0, "index")
    item = as_item(x, inputs[2])
    if attrs["resize_if_index_out_of_bounds"]:
        contents = resized(x, contents, rows_for(x.b, contents.rows, index))
    check_indices(x, contents, index, MODIFY)
    check_takes(x, contents, item.type.dtype, item.dims, SET)
    typed = typed_for(x, contents, item.type.dtype, item.dims)
    return [with_elements(x, typed, index, item, SETTING)]


def _emit_get(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    index = of_rank(value_of(x, inputs[1]), 0, "index")
    shape = shape_input(x, value_of(x, inputs[2]))
    dtype = attrs["element_dtype"]
    if dtype is dtypes.variant:
        shape = None
    contents = list_of(x, inputs[0])
    check_indices(x, contents, index, ACCESS)
    if contents.common is not None and not fits(shape, contents.common):
        shape = None  # which only tells what is not set
    contents = readable_list(x, contents, dtype, shape, UNSET)
    faults = Faults(ACCESS, UNSET.format(shown_dims(contents.partial)))
    return [as_element(element_at(x, contents, index, faults, shape), dtype)]


def _emit_push(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    contents, item = inputs
    if isinstance(contents, ListValue) and isinstance(contents.held, Columns):
        return [pushed(x, contents, item)]
    contents = list_of(x, contents)
    if isinstance(item, OptionalValue) or (
        isinstance(item, ListValue) and isinstance(item.held, Ragged | Columns)
    ):
        return [pushed(x, contents, item)]
    if isinstance(item, ListValue) and item.held is None and contents.held is None:
        # What the elements of both are like, another trace of the loop around tells.
        return [replace(contents, rows=contents.rows + 1, known=None)]
    value = as_item(x, item)
    check_takes(x, contents, value.type.dtype, value.dims, APPEND)
    return [pushed(x, contents, value)]


def _emit_pop(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    dtype, contents = attrs["element_dtype"], inputs[0]
    if isinstance(contents, ListValue) and isinstance(contents.held, Columns):
        return popped(x, contents, Faults(POP))
    contents = list_of(x, contents)
    check_dtype(contents.dtype, dtype)
    if contents.rows == 0:
        raise InvalidArgumentError(POP)
    shape = None if dtype is dtypes.variant else shape_input(x, value_of(x, inputs[1]))
    if contents.common is not None and not fits(shape, contents.common):
        shape = None
    fault = "Trying to read an uninitialized tensor but element_shape is not fully defined.{}"
    contents = readable_list(x, contents, dtype, shape, fault)
    unset = fault.format(shown_dims(merged(contents.partial, shape)))
    rest, item = popped(x, contents, Faults(POP, unset), shape)
    return [rest, as_element(value_of(x, item), dtype)]


# -- whole lists


def _emit_concat_lists(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    a, b = (list_of(x, bound) for bound in inputs)
    if a.rows == 0 or b.rows == 0:
        return [b if a.rows == 0 else a]
    for one, other in ((a, b), (b, a)):
        if other.element is not None and not isinstance(one.held, Ragged):
            check_takes(x, one, other.dtype, other.element, APPEND)
    return [one_behind_other(x, a, b)]


def _emit_resize(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rows = size_of(x.b, value_of(x, inputs[1]))
    if isinstance(rows, int) and rows < 0:
        raise InvalidArgumentError(f"TensorListSlice expects size to be non-negative. Got: {rows}")
    return [resized(x, list_of(x, inputs[0]), rows)]


def _emit_length(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [x.b.scalar_size(list_of(x, inputs[0]).rows)]


def _emit_element_shape(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    partial, dtype = list_of(x, inputs[0]).partial, attrs["shape_type"]
    if partial is None:
        return [x.b.scalar_size(-1, dtype)]
    return [x.b.sizes(tuple(-1 if d is None else d for d in partial), dtype)]


# -- lists of whole tensors


def _emit_from_tensor(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    tensor, partial = value_of(x, inputs[0]), shape_input(x, value_of(x, inputs[1]))
    return [_rows(x, tensor, partial)]


def _rows(x: Extractor, tensor: Value, partial: Partial) -> ListValue:
    """The rows of a tensor as a list."""
    if tensor.type.rank < 1:
        raise InvalidArgumentError(
            f"Tensor must be at least a vector, but saw shape: {shown_dims(tensor.dims)}"
        )
    if not fits(partial, tensor.dims[1:]):
        shapes = shown_dims(tensor.dims[1:]), shown_dims(partial)
        raise InvalidArgumentError(SPECIFIED.format(*shapes))
    return whole(ListValue(tensor.type.dtype, 0, partial=partial, home=x.b), tensor)


def _emit_scatter(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    tensor, indices, shape, *count = (value_of(x, bound) for bound in inputs)
    partial = shape_input(x, shape)
    _check_scattered(tensor, indices)
    wanted = size_of(x.b, count[0]) if count else -1
    if any(k < 0 for k in known_indices(x, indices)):
        raise InvalidArgumentError("Indices in TensorListScatter must all be non-negative.")
    if wanted == -1:
        wanted = rows_for(x.b, 0, indices)
    elif isinstance(wanted, int) and wanted < -1:
        raise InvalidArgumentError(f"TensorListScatter expects num_elements >= -1, found: {wanted}")
    if counts_to(x.b, indices) == tensor.dims[0] == wanted:
        return [_rows(x, tensor, partial)]
    contents = unset_list(x, wanted, partial, tensor.type.dtype)
    return [_scattered(x, contents, indices, tensor)]


def _check_scattered(tensor: Value, indices: Value) -> None:
    """That there is a row for each index."""
    if not tensor.type.rank:
        raise InvalidArgumentError("Tensor must be at least a vector, but saw shape: []")
    rows, (count,) = tensor.dims[0], of_rank(indices, 1, "indices").dims
    if isinstance(rows, int) and isinstance(count, int) and rows != count:
        raise InvalidArgumentError(
            f"Invalid number of rows in input tensor. Expected: {count} Actual: {rows}"
        )


def _scattered(x: Extractor, contents: ListValue, indices: Value, tensor: Value) -> ListValue:
    given = tensor.dims[1:]
    check_indices(x, contents, indices, SCATTER)
    check_takes(x, contents, tensor.type.dtype, given, SPECIFIED)
    typed = typed_for(x, contents, tensor.type.dtype, given)
    return with_elements(x, typed, indices, tensor, SCATTERING)


def _emit_scatter_into(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    contents = list_of(x, inputs[0])
    tensor, indices = value_of(x, inputs[1]), value_of(x, inputs[2])
    _check_scattered(tensor, indices)
    grown = resized(x, contents, rows_for(x.b, contents.rows, indices))
    return [_scattered(x, grown, indices, tensor)]


UNUSED = "Unused values in tensor. Length of tensor: {extent} Values used: {value}"


def _check_pieces(extent: Dim, lengths: Sequence[int], count: Dims) -> None:
    """That lengths, as far as they are known, are those of pieces of `extent` rows."""
    used = 0
    for length in lengths:
        if length < 0:
            raise InvalidArgumentError(f"Invalid value in lengths: {length}")
        if isinstance(extent, int) and used + length > extent:
            raise InvalidArgumentError(
                f"Attempting to slice [{used}, {used + length}] from tensor with length {extent}"
            )
        used += length
    if lengths and isinstance(extent, int) and count == (len(lengths),) and used < extent:
        raise InvalidArgumentError(UNUSED.format(extent=extent, value=used))


def _emit_split(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    tensor, shape, lengths = (value_of(x, bound) for bound in inputs)
    partial = shape_input(x, shape)
    if not tensor.type.rank:
        raise InvalidArgumentError("Tensor must be at least a vector, but saw shape: []")
    if partial is not None and not fits(partial[1:], tensor.dims[1:]):
        raise InvalidArgumentError(
            f"tensor shape {shown_dims(tensor.dims)} is not compatible with element_shape "
            f"{shown_dims(partial)}"
        )
    of_rank(lengths, 1, "lengths")
    _check_pieces(tensor.dims[0], known_indices(x, lengths), lengths.dims)
    contents = ListValue(tensor.type.dtype, 0, partial=partial, home=x.b)
    found = split(x, contents, tensor, lengths, UNUSED)
    if isinstance(found.held, DenseItems):
        return [_rows(x, found.held.buffer, found.partial)]
    return [found]


# -- tensors of whole lists


def _emit_gather(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    indices = of_rank(value_of(x, inputs[1]), 1, "indices")
    shape = shape_input(x, value_of(x, inputs[2]))
    check_indices(x, list_of(x, inputs[0]), indices, GATHER)
    fault = (
        "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: {}"
    )
    if indices.type.size == 0:
        fault = "Tried to gather 0-elements from a list with non-fully-defined shape: {}"
    contents = readable_list(x, inputs[0], attrs["element_dtype"], shape, fault)
    faults = Faults(GATHER, UNSET.format(shown_dims(shape)), MERGE, {"message": GATHER})
    if counts_to(x.b, indices) == contents.rows:
        return [stacked(x, contents, faults, shape)]
    return [element_at(x, contents, indices, faults, shape)]


def _emit_stack(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rows, wanted = list_of(x, inputs[0]).rows, attrs["num_elements"]
    if wanted != -1 and isinstance(rows, int) and rows != wanted:
        raise InvalidArgumentError(
            f"Operation expected a list with {wanted} elements but got a list with {rows} elements."
        )
    fault = (
        "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined "
        "element_shape: {}"
    )
    if rows == 0:
        fault = "Tried to stack elements of an empty list with non-fully-defined element_shape: {}"
    shape = shape_input(x, value_of(x, inputs[1]))
    contents = readable_list(x, inputs[0], attrs["element_dtype"], shape, fault)
    unset = UNSET.format(shown_dims(shape))
    buffer = stacked(x, contents, Faults(unset=unset, unlike=MERGE), shape)
    if wanted != -1 and contents.rows != wanted:
        # The run checks the number, which is in the type from here on.
        buffer = x.b.ensure_shape(buffer, shape=(wanted, *(None for _ in buffer.dims[1:])))
    return [buffer]


# -- records: for each emitter names in IR text, with TensorFlow's signatures

RECORDS: dict[Emit, str] = {
    _emit_empty: """
        empty_tensor_list
        EmptyTensorList(element_shape: shape_type, max_num_elements: i32; element_dtype: type,
        shape_type: {i32, i64}) -> handle: variant""",
    _emit_reserve: """
        tensor_list_reserve
        TensorListReserve(element_shape: shape_type, num_elements: i32; element_dtype: type,
        shape_type: {i32, i64}) -> handle: variant""",
    _emit_set: """
        tensor_list_set_item
        TensorListSetItem(input_handle: variant, index: i32, item: element_dtype; element_dtype:
        type, resize_if_index_out_of_bounds: bool = False) -> output_handle: variant""",
    _emit_push: """
        tensor_list_push_back
        TensorListPushBack(input_handle: variant, tensor: element_dtype; element_dtype: type) ->
        output_handle: variant""",
    _emit_concat_lists: """
        tensor_list_concat_lists
        TensorListConcatLists(input_a: variant, input_b: variant; element_dtype: type) ->
        output: variant""",
    _emit_resize: """
        tensor_list_resize
        TensorListResize(input_handle: variant, size: i32) -> output_handle: variant""",
    _emit_length: """
        tensor_list_length
        TensorListLength(input_handle: variant) -> length: i32""",
    _emit_from_tensor: """
        tensor_list_from_tensor
        TensorListFromTensor(tensor: element_dtype, element_shape: shape_type; element_dtype:
        type, shape_type: {i32, i64}) -> output_handle: variant""",
    _emit_scatter: """
        tensor_list_scatter
        TensorListScatterV2(tensor: element_dtype, indices: i32, element_shape: shape_type,
        num_elements: i32; element_dtype: type, shape_type: {i32, i64}) -> output_handle:
        variant

        tensor_list_scatter_v1
        TensorListScatter(tensor: element_dtype, indices: i32, element_shape: shape_type;
        element_dtype: type, shape_type: {i32, i64}) -> output_handle: variant""",
    _emit_scatter_into: """
        tensor_list_scatter_into_existing_list
        TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices:
        i32; element_dtype: type) -> output_handle: variant""",
    _emit_split: """
        tensor_list_split
        TensorListSplit(tensor: element_dtype, element_shape: shape_type, lengths: i64;
        element_dtype: type, shape_type: {i32, i64}) -> output_handle: variant""",
    _emit_get: """
        tensor_list_get_item
        TensorListGetItem(input_handle: variant, index: i32, element_shape: Tshape;
        element_dtype: type, Tshape: {i32, i64} = i32) -> item: element_dtype""",
    _emit_pop: """
        tensor_list_pop_back
        TensorListPopBack(input_handle: variant, element_shape: i32; element_dtype: type) ->
        (output_handle: variant, tensor: element_dtype)""",
    _emit_element_shape: """
        tensor_list_element_shape
        TensorListElementShape(input_handle: variant; shape_type: {i32, i64}) -> element_shape:
        shape_type""",
    _emit_gather: """
        tensor_list_gather
        TensorListGather(input_handle: variant, indices: i32, element_shape: i32; element_dtype:
        type) -> values: element_dtype""",
    _emit_stack: """
        tensor_list_stack
        TensorListStack(input_handle: variant, element_shape: i32; element_dtype: type,
        num_elements: int = -1) -> tensor: element_dtype""",
    emit_concat: """
        tensor_list_concat
        TensorListConcatV2(input_handle: variant, element_shape: shape_type, leading_dims: i64;
        element_dtype: type, shape_type: {i32, i64}) -> (tensor: element_dtype, lengths: i64)

        tensor_list_concat_v1
        TensorListConcat(input_handle: variant; element_dtype: type, element_shape: shape =
        None) -> (tensor: element_dtype, lengths: i64)""",
}
GIVE_SCALARS = (": variant", "length: i32")

for _emit, _texts in RECORDS.items():
    for _text in _texts.strip().split("\n\n"):
        _name, _tf = " ".join(_text.split()).split(" ", 1)
        _infer = scalar if _tf.endswith(GIVE_SCALARS) else known_when_extracted
        _gradient = LIST_GRADIENTS.get(_tf.split("(")[0])
        define(_name, _tf, infer=_infer, lowering=Extracted(_emit), gradient=_gradient)
