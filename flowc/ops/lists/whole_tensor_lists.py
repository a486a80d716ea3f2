"""TensorLists and whole tensors: a list of a tensor's rows, a tensor of a list's elements.

In: tensors, indices, lengths, lists. Out: lists whose elements are rows or pieces of a tensor, and
tensors that stack or join elements. Invariant: as in tensor_lists.py; a list of all rows of a
tensor is the tensor's buffer, and stacking it gives that again.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import (
    Bound,
    Dense,
    Extractor,
    ListValue,
)
from flowc.ir.op import Attrs
from flowc.ops.list_operations import (
    element_at,
    joined,
    resized,
    split,
    stacked,
    typed_for,
    whole,
    with_elements,
)
from flowc.ops.lists.list_values import (
    Faults,
    Partial,
    counts_to,
    fits,
    rows_for,
    shape_input,
    shape_shown,
    size_of,
)
from flowc.ops.lists.variant_lists import (
    UNSET,
    check_takes,
    list_of,
    readable_list,
    unset_list,
)
from flowc.ops.state.variables import value_of

GATHER = "Trying to gather element {value} in a list with {extent} elements."
SCATTER = "TensorListScatter: Trying to scatter at index {value} in list with size {extent}"
MERGE = "PartialTensorShape: Incompatible shapes during merge: {one} vs. {other}"
SCATTERING = Faults(SCATTER, attrs={"message": SCATTER})


# -- lists of whole tensors


def emit_from_tensor(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    tensor, partial = value_of(x, inputs[0]), shape_input(x, value_of(x, inputs[1]))
    return [_rows(x, tensor, partial)]


def _rows(x: Extractor, tensor: Value, partial: Partial) -> ListValue:
    """The rows of a tensor as a list."""
    if tensor.type.rank < 1:
        raise InvalidArgumentError(
            f"Tensor must be at least a vector, but saw shape: {shape_shown(tensor.dims)}",
            node=x.name,
        )
    if not fits(partial, tensor.dims[1:]):
        raise InvalidArgumentError(
            "Specified a list with shape "
            f"{shape_shown(partial)} from a tensor with shape {shape_shown(tensor.dims[1:])}",
            node=x.name,
        )
    return whole(ListValue(tensor.type.dtype, 0, partial=partial, home=x.b), tensor)


def emit_scatter(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
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
        return [_rows(x, tensor, partial)]
    contents = unset_list(x, wanted, partial, tensor.type.dtype)
    return [_scattered(x, contents, indices, tensor)]


def _scattered(x: Extractor, contents: ListValue, indices: Value, tensor: Value) -> ListValue:
    (rows, *given), (count,) = tensor.dims, indices.dims
    if isinstance(rows, int) and isinstance(count, int) and rows != count:
        raise InvalidArgumentError(
            f"Expected len(indices) == tensor.shape[0], but saw: {count} vs. {rows}", node=x.name
        )
    check_takes(x, contents, tensor.type.dtype, tuple(given), "scatter")
    typed = typed_for(x, contents, tensor.type.dtype, tuple(given))
    return with_elements(x, typed, indices, tensor, SCATTERING)


def emit_scatter_into(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    contents = list_of(x, inputs[0])
    tensor, indices = value_of(x, inputs[1]), value_of(x, inputs[2])
    grown = resized(x, contents, rows_for(x.b, contents.rows, indices))
    return [_scattered(x, grown, indices, tensor)]


def emit_split(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    tensor, shape, lengths = (value_of(x, bound) for bound in inputs)
    unused = "Unused values in tensor. Length of tensor: {extent} Values used: {value}"
    contents = ListValue(tensor.type.dtype, 0, partial=shape_input(x, shape), home=x.b)
    found = split(x, contents, tensor, lengths, unused)
    if isinstance(found.held, Dense):
        return [_rows(x, found.held.buffer, found.partial)]
    return [found]


# -- tensors of whole lists


def emit_gather(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    indices, shape = value_of(x, inputs[1]), shape_input(x, value_of(x, inputs[2]))
    fault = UNSET
    if indices.type.size == 0:
        fault = "Tried to gather 0-elements from a list with non-fully-defined shape: {}"
    contents = readable_list(x, inputs[0], attrs["element_dtype"], shape, fault)
    faults = Faults(GATHER, UNSET.format(shape_shown(shape)), MERGE, {"message": GATHER})
    if counts_to(x.b, indices) == contents.rows:
        return [stacked(x, contents, faults, shape)]
    return [element_at(x, contents, indices, faults, shape)]


def emit_stack(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rows, wanted = list_of(x, inputs[0]).rows, attrs["num_elements"]
    if wanted != -1 and isinstance(rows, int) and rows != wanted:
        raise InvalidArgumentError(
            f"Operation expected a list with {wanted} elements but got a list with {rows} "
            "elements.",
            node=x.name,
        )
    fault = UNSET
    if rows == 0:
        fault = "Tried to stack elements of an empty list with non-fully-defined element_shape: {}"
    shape = shape_input(x, value_of(x, inputs[1]))
    contents = readable_list(x, inputs[0], attrs["element_dtype"], shape, fault)
    unset = UNSET.format(shape_shown(shape))
    buffer = stacked(x, contents, Faults(unset=unset, unlike=MERGE), shape)
    if wanted != -1 and contents.rows != wanted:
        # The run checks the number, which is in the type from here on.
        buffer = x.b.ensure_shape(buffer, shape=(wanted, *(None for _ in buffer.dims[1:])))
    return [buffer]


def emit_concat(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    partial = attrs["element_shape"] if len(inputs) == 1 else None
    if partial is None and len(inputs) > 1:
        partial = shape_input(x, value_of(x, inputs[1]))
    contents = list_of(x, inputs[0])
    if contents.element == ():
        partial = None
    if contents.element is None and contents.rows == 0 and partial and partial[0] is None:
        partial = (0, *partial[1:])
    fault = UNSET
    if contents.rows == 0:
        fault = (
            "All except the first dimension must be fully defined when concating an empty tensor "
            "list. element_shape: {}"
        )
    contents = readable_list(x, contents, attrs["element_dtype"], partial, fault)
    faults = Faults(unset=UNSET.format(shape_shown(partial)), unlike=MERGE)
    return joined(x, contents, faults, partial)
