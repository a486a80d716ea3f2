"""TensorArrays of every version, as lists that a resource holds.

In: handles, indices, elements. Out: elements, and new contents of the arrays. A handle of any
version is a Resource whose contents are a ListValue with marks; flow tensors only order nodes, so
each is a constant 0. Invariant: an element is written once (gradients add up) and, where the array
clears what it has read, read once; the run fails otherwise, with TensorFlow's message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowc import dtypes
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.extraction import Bound, Extractor, ListValue, Ragged, Resource
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, define
from flowc.ir.types import Dims
from flowc.ops.lists.array_access import (
    KIND,
    array_of,
    element_dtype,
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
from flowc.ops.lists.list_operations import with_element, zeros
from flowc.ops.lists.list_values import complete, known_when_extracted, of_rank, size_of
from flowc.ops.state.variables import Emit, value_of

# -- creation


def _emit_array(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    rows = size_of(x.b, of_rank(value_of(x, inputs[0]), 0, "size"))
    if isinstance(rows, int) and rows < 0:
        raise InvalidArgumentError("Size should be >= 0.")
    dtype, partial = element_dtype(attrs["dtype"]), attrs["element_shape"]
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
            f"flowc must know the shape that '{x.name}' prepends when it compiles"
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
    return [x.b.scalar_size(contents.rows)]


def _emit_close(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    array_of(x, inputs[0])
    return []


# -- records: versions differ in the dtype of their handles, and in when they were

VERSIONS = {
    "V3": ("", "V3", "resource"),
    "V2": ("_v2", "V2", "string"),
    "V1": ("_v1", "", "ref(string)"),
}

# For each emitter: names in IR text, their versions (all, if none is named), and TensorFlow's
# signatures.
RECORDS: dict[Emit, str] = {
    _emit_array: """
        tensor_array V3
        TensorArray(size: i32; dtype: type, element_shape: shape = None,
        dynamic_size: bool = False, clear_after_read: bool = True,
        identical_element_shapes: bool = False, tensor_array_name: string = "")
        -> (handle: HANDLE, flow: f32)

        tensor_array V2
        TensorArray(size: i32; dtype: type, element_shape: shape = None,
        dynamic_size: bool = False, clear_after_read: bool = True, tensor_array_name: string = "")
        -> handle: HANDLE

        tensor_array V1
        TensorArray(size: i32; dtype: type, dynamic_size: bool = False,
        clear_after_read: bool = True, tensor_array_name: string = "", element_shape: shape = None)
        -> handle: HANDLE""",
    _emit_gradient: """
        tensor_array_gradient V3
        TensorArrayGrad(handle: HANDLE, flow_in: f32; source: string)
        -> (grad_handle: HANDLE, flow_out: f32)

        tensor_array_gradient V2
        TensorArrayGrad(handle: HANDLE, flow_in: f32; source: string) -> grad_handle: HANDLE

        tensor_array_gradient V1
        TensorArrayGrad(handle: string, flow_in: f32; source: string) -> grad_handle: HANDLE""",
    emit_write: """
        tensor_array_write
        TensorArrayWrite(handle: HANDLE, index: i32, value: T, flow_in: f32; T: type)
        -> flow_out: f32""",
    emit_read: """
        tensor_array_read
        TensorArrayRead(handle: HANDLE, index: i32, flow_in: f32; dtype: type) -> value: dtype""",
    emit_gather: """
        tensor_array_gather
        TensorArrayGather(handle: HANDLE, indices: i32, flow_in: f32; dtype: type,
        element_shape: shape = None) -> value: dtype""",
    emit_pack: """
        tensor_array_pack V1
        TensorArrayPack(handle: HANDLE, flow_in: f32; dtype: type, element_shape: shape = None)
        -> value: dtype""",
    emit_scatter: """
        tensor_array_scatter
        TensorArrayScatter(handle: HANDLE, indices: i32, value: T, flow_in: f32; T: type)
        -> flow_out: f32""",
    emit_unpack: """
        tensor_array_unpack V1
        TensorArrayUnpack(handle: HANDLE, value: T, flow_in: f32; T: type) -> flow_out: f32""",
    emit_concat: """
        tensor_array_concat
        TensorArrayConcat(handle: HANDLE, flow_in: f32; dtype: type,
        element_shape_except0: shape = None) -> (value: dtype, lengths: i64)""",
    emit_split: """
        tensor_array_split
        TensorArraySplit(handle: HANDLE, value: T, lengths: i64, flow_in: f32; T: type)
        -> flow_out: f32""",
    _emit_size: """
        tensor_array_size
        TensorArraySize(handle: HANDLE, flow_in: f32) -> size: i32""",
    _emit_close: """
        tensor_array_close
        TensorArrayClose(handle: HANDLE)""",
}


def _infer(c: Inference) -> list[Dims]:
    names = [output.name for output in c.op.signature.outputs]
    if "value" in names:
        return [known_when_extracted(c)]
    return [(2,) if name.endswith("handle") else () for name in names]


def _define(name: str, tf: str, emit: Emit) -> None:
    define(
        name,
        tf,
        infer=_infer,
        lowering=Extracted(emit),
        traits=frozenset({"stateful"}),
    )


def _first(emit: Emit) -> Emit:
    """An emitter without the flow that early versions do not give."""
    return lambda x, inputs, attrs: emit(x, inputs, attrs)[:1]


for _emit, _texts in RECORDS.items():
    for _text in _texts.strip().split("\n\n"):
        _head, _tf = _text.strip().split("\n", 1)
        _name, *_versions = _head.split()
        _called, _rest = " ".join(_tf.split()).split("(", 1)
        for _version in _versions or VERSIONS:
            _ending, _tf_ending, _handle = VERSIONS[_version]
            _signature = f"{_called}{_tf_ending}({_rest}".replace("HANDLE", _handle)
            _one = _signature.endswith(f"handle: {_handle}")
            _define(_name + _ending, _signature, _first(_emit) if _one else _emit)

# The newest of all: its name bears no version.
_define(
    "tensor_array_gradient_with_shape",
    "TensorArrayGradWithShape(handle: resource, flow_in: f32, shape_to_prepend: i32;"
    " source: string) -> (grad_handle: resource, flow_out: f32)",
    _emit_gradient_with_shape,
)
