"""TensorArrays of every version, as lists that a resource holds.

In: handles, indices, elements. Out: elements, and new contents of the arrays. A handle of any
version is a Resource whose contents are a ListValue with marks; flow tensors only order nodes, so
each is a constant 0. Invariant: an element is written once (gradients add up) and, where the array
clears what it has read, read once; the run fails otherwise, with TensorFlow's message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from flowc import dtypes
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.extraction import Bound, Extractor, ListValue, Ragged, Resource
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, Inference, Op, define
from flowc.ir.types import Dims
from flowc.ops.array_access import (
    KIND,
    array_of,
    emit_concat,
    emit_gather,
    emit_pack,
    emit_read,
    emit_scatter,
    emit_split,
    emit_unpack,
    emit_write,
    flow,
)
from flowc.ops.list_operations import with_element, zeros
from flowc.ops.lists.list_values import complete, known_when_extracted, size_of, size_value
from flowc.ops.state.variables import Emit, value_of

# -- creation


def _emit_array(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rows = size_of(x.b, value_of(x, inputs[0]))
    if isinstance(rows, int) and rows < 0:
        raise InvalidArgumentError("Size should be >= 0.", node=x.name)
    dtype, partial = attrs["dtype"], attrs["element_shape"]
    alike = attrs.get("identical_element_shapes", False)
    marks = zeros(x.b, (rows,), dtypes.u8)
    contents = ListValue(dtype, rows, marks=marks, partial=partial, uniform=alike, home=x.b)
    element = complete(partial)
    if element is not None:
        contents = with_element(x.b, contents, element, dtype)
    info = {
        "grows": attrs["dynamic_size"],
        "clears": attrs["clear_after_read"],
        "alike": alike,
        "adds": False,
        "label": attrs["tensor_array_name"],  # what its author called it
    }
    return [x.create(KIND, contents, info), flow(x)]


def _emit_gradient(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [_gradient(x, inputs[0], attrs["source"], ()), flow(x)]


def _emit_gradient_with_shape(
    x: Extractor, inputs: Sequence[Bound], attrs: Attrs
) -> Sequence[Bound]:
    prepended = x.b.content(value_of(x, inputs[2]))
    if prepended is None:
        raise UnsupportedError(
            f"flowc must know the shape that '{x.name}' prepends when it compiles", node=x.name
        )
    return [_gradient(x, inputs[0], attrs["source"], tuple(prepended.reshape(-1))), flow(x)]


def _gradient(x: Extractor, handle: Bound, source: str, prepended: Dims) -> Resource:
    """The array of gradients of an array, one for each `source`, made when first asked for."""
    array, _ = array_of(x, handle)
    role = f"gradient {source}"
    found = x.related(array, role)
    if found is not None:
        return found

    def make(outer: Extractor) -> ListValue:
        _, forward = array_of(outer, array)
        marks = zeros(outer.b, (forward.rows,), dtypes.u8)
        partial = None if forward.partial is None else (*prepended, *forward.partial)
        contents = ListValue(
            forward.dtype,
            forward.rows,
            marks=marks,
            partial=partial,
            uniform=forward.uniform,
            home=outer.b,
        )
        if isinstance(forward.held, Ragged):
            if prepended:
                raise UnsupportedError(
                    f"'{outer.name}' prepends a shape to elements of different sizes, which flowc "
                    "does not",
                    node=outer.name,
                )
            flat = zeros(outer.b, forward.held.flat.dims, forward.dtype)
            return replace(contents, held=replace(forward.held, flat=flat))
        if forward.element is None:
            return contents
        return with_element(outer.b, contents, (*prepended, *forward.element), forward.dtype)

    # What has no gradient reads as zeros of its element's shape.
    info = {**array.info, "grows": False, "alike": True, "adds": True}
    return x.create_beside(array, role, make, info)


def _emit_size(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    _, contents = array_of(x, inputs[0])
    return [size_value(x.b, contents.rows)]


def _emit_close(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    array_of(x, inputs[0])
    return []


# -- records: versions differ in the dtype of their handles, and in when they were


def _scalars(count: int) -> Callable[[Inference], list[Dims]]:
    return lambda c: [()] * count


def _handle_and_flow(c: Inference) -> list[Dims]:
    return [(2,), ()]


def _first(emit: Emit) -> Emit:
    """An emitter without the flow that early versions do not give."""
    return lambda x, inputs, attrs: emit(x, inputs, attrs)[:1]


def _define(
    name: str,
    versions: Sequence[tuple[str, str, str]],
    signature: str,
    infer: Callable[[Inference], Any],
    emit: Emit,
) -> None:
    """Records for the versions of an op: (of its IR name, of its TensorFlow name, the handle's
    type)."""
    for ending, tf_ending, handle in versions:
        define(
            Op(
                name + ending,
                signature.format(version=tf_ending, handle=handle),
                infer=infer,
                lowering=Extracted(emit),
                traits=frozenset({"stateful"}),
            )
        )


_ALL = (("", "V3", "resource"), ("_v2", "V2", "string"), ("_v1", "", "ref(string)"))
_FLAGS = "dynamic_size: bool = False, clear_after_read: bool = True"

_define(
    "tensor_array",
    _ALL[:1],
    "TensorArray{version}(size: i32; dtype: type, element_shape: shape = None, "
    + _FLAGS
    + ', identical_element_shapes: bool = False, tensor_array_name: string = "")'
    " -> (handle: {handle}, flow: f32)",
    _handle_and_flow,
    _emit_array,
)
_define(
    "tensor_array",
    _ALL[1:2],
    "TensorArray{version}(size: i32; dtype: type, element_shape: shape = None, "
    + _FLAGS
    + ', tensor_array_name: string = "") -> handle: {handle}',
    lambda c: (2,),
    _first(_emit_array),
)
_define(
    "tensor_array",
    _ALL[2:],
    "TensorArray{version}(size: i32; dtype: type, "
    + _FLAGS
    + ', tensor_array_name: string = "", element_shape: shape = None) -> handle: {handle}',
    lambda c: (2,),
    _first(_emit_array),
)
_define(
    "tensor_array_gradient",
    _ALL[:1],
    "TensorArrayGrad{version}(handle: {handle}, flow_in: f32; source: string)"
    " -> (grad_handle: {handle}, flow_out: f32)",
    _handle_and_flow,
    _emit_gradient,
)
_define(
    "tensor_array_gradient",
    _ALL[1:2],
    "TensorArrayGrad{version}(handle: {handle}, flow_in: f32; source: string)"
    " -> grad_handle: {handle}",
    lambda c: (2,),
    _first(_emit_gradient),
)
_define(
    "tensor_array_gradient",
    (("_v1", "", "string"),),
    "TensorArrayGrad{version}(handle: {handle}, flow_in: f32; source: string)"
    " -> grad_handle: ref(string)",
    lambda c: (2,),
    _first(_emit_gradient),
)
_define(
    "tensor_array_gradient_with_shape",
    (("", "", "resource"),),
    "TensorArrayGradWithShape{version}(handle: {handle}, flow_in: f32, shape_to_prepend: i32;"
    " source: string) -> (grad_handle: {handle}, flow_out: f32)",
    _handle_and_flow,
    _emit_gradient_with_shape,
)
_define(
    "tensor_array_write",
    _ALL,
    "TensorArrayWrite{version}(handle: {handle}, index: i32, value: T, flow_in: f32; T: type)"
    " -> flow_out: f32",
    _scalars(1),
    emit_write,
)
_define(
    "tensor_array_read",
    _ALL,
    "TensorArrayRead{version}(handle: {handle}, index: i32, flow_in: f32; dtype: type)"
    " -> value: dtype",
    known_when_extracted,
    emit_read,
)
_define(
    "tensor_array_gather",
    _ALL,
    "TensorArrayGather{version}(handle: {handle}, indices: i32, flow_in: f32; dtype: type,"
    " element_shape: shape = None) -> value: dtype",
    known_when_extracted,
    emit_gather,
)
_define(
    "tensor_array_pack",
    _ALL[2:],
    "TensorArrayPack{version}(handle: {handle}, flow_in: f32; dtype: type,"
    " element_shape: shape = None) -> value: dtype",
    known_when_extracted,
    emit_pack,
)
_define(
    "tensor_array_scatter",
    _ALL,
    "TensorArrayScatter{version}(handle: {handle}, indices: i32, value: T, flow_in: f32; T: type)"
    " -> flow_out: f32",
    _scalars(1),
    emit_scatter,
)
_define(
    "tensor_array_unpack",
    _ALL[2:],
    "TensorArrayUnpack{version}(handle: {handle}, value: T, flow_in: f32; T: type)"
    " -> flow_out: f32",
    _scalars(1),
    emit_unpack,
)
_define(
    "tensor_array_concat",
    _ALL,
    "TensorArrayConcat{version}(handle: {handle}, flow_in: f32; dtype: type,"
    " element_shape_except0: shape = None) -> (value: dtype, lengths: i64)",
    known_when_extracted,
    emit_concat,
)
_define(
    "tensor_array_split",
    _ALL,
    "TensorArraySplit{version}(handle: {handle}, value: T, lengths: i64, flow_in: f32; T: type)"
    " -> flow_out: f32",
    _scalars(1),
    emit_split,
)
_define(
    "tensor_array_size",
    _ALL,
    "TensorArraySize{version}(handle: {handle}, flow_in: f32) -> size: i32",
    _scalars(1),
    _emit_size,
)
_define(
    "tensor_array_close",
    _ALL,
    "TensorArrayClose{version}(handle: {handle})",
    _scalars(0),
    _emit_close,
)
