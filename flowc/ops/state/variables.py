"""Variables: their handles, reads and assignments.

In: handles and values. Out: values, and new contents of variables. Invariants: the inferred dims of
a handle are those of the variable behind it, so that reads are typed while a graph is built;
extraction turns what a variable holds into plain values, and no node here outlives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, NotFoundError, UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, Extractor, Resource
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, Op, define, op_named
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.identity import shape_attr_dims
from flowc.ops.arrays.indexing import gather_dims, rows_gradient, slices_gradient
from flowc.ops.gradients import same_gradient

STATE = frozenset({"stateful"})
# A handle only names a variable: equal handles may be merged and dead ones dropped.
HANDLE = frozenset({"no_fold"})
# What TensorFlow calls variables that share nothing although their names are equal.
ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"

Emit = Callable[[Extractor, Sequence[Bound], Attrs], Sequence[Bound]]


# -- what emitters share


def variable_of(x: Extractor, bound: Bound) -> Resource:
    """The variable that an input names. Raises `InvalidArgumentError` for a value without one."""
    if isinstance(bound, Resource):
        return bound
    raise InvalidArgumentError(
        f"node '{x.name}' changes its input, which is no variable (a fed value, or a copy)"
    )


def value_of(x: Extractor, bound: Bound) -> Value:
    """The value of an input; what a variable holds now, where a reference to one is given."""
    found = x.contents(bound) if isinstance(bound, Resource) else bound
    if not isinstance(found, Value):
        raise UnsupportedError(f"node '{x.name}' takes a list as a plain value")
    return found


def require_same(x: Extractor, held: Dims, given: Dims, text: str) -> None:
    """Raises an error of `text`, with {held} and {given} in it, where two shapes differ; sizes that
    only a run knows are checked by it."""
    same = len(held) == len(given)
    for one, other in zip(held, given):
        same = same and not (isinstance(one, int) and isinstance(other, int) and one != other)
    if not same:
        raise InvalidArgumentError(text.format(held=shown_dims(held), given=shown_dims(given)))
    for one, other in zip(held, given):
        if one != other:
            x.b.require_equal(one, other)


def define_change(
    name: str,
    tf: str,
    emit: Emit,
    infer: Callable[[Inference], Dims] = lambda c: c.dims(0),
    traits: frozenset[str] = STATE,
) -> Op:
    """An op that changes the variable of input 0: the form on a reference gives it back, the form
    on a handle gives nothing."""

    def infer_handle(c: Inference) -> list[Dims]:
        infer(c)
        return []

    def emit_handle(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        emit(x, inputs, attrs)
        return []

    on_handle = "->" not in tf
    return define(
        name,
        tf,
        infer=infer_handle if on_handle else infer,
        lowering=Extracted(emit_handle if on_handle else emit),
        traits=traits,
    )


# -- inference


def same_as_held(c: Inference) -> Dims:
    """The dims of the variable (input 0), which the value (input 1) must have too."""
    held, given = c.dims(0), c.dims(1)
    fault = f"a variable of shape {shown_dims(held)} cannot take a value of {shown_dims(given)}"
    c.match_dims(held, given, fault)
    return held


def _infer_count_up_to(c: Inference) -> Dims:
    c.need_rank(0, 0, "only a scalar counts")
    return ()


def _infer_assign(c: Inference) -> Dims:
    return same_as_held(c) if c.attrs["validate_shape"] else c.dims(1)


def _infer_resource_gather(c: Inference) -> Dims:
    batch = c.attrs["batch_dims"]
    return gather_dims(c, batch if batch >= 0 else batch + c.rank(1), batch)


def _infer_resource_gather_nd(c: Inference) -> Dims:
    held, places = c.dims(0), c.dims(1)
    if not places:
        raise c.fail("indices must be at least a vector")
    depth = c.need_number(places[-1], "the last dimension of indices", [None])
    if depth > len(held):
        raise c.fail(f"index innermost dimension length must be <= {len(held)}, found {depth}")
    return (*places[:-1], *held[depth:])


# -- emitters


def _stated_dims(attrs: Attrs) -> tuple[Dim, ...] | None:
    """The shape that a variable's node states, where it is complete."""
    shape = attrs["shape"]
    return None if shape is None or any(d is None for d in shape) else tuple(shape)


def variable_name(shared: str | bytes, node: str) -> str:
    """What a variable is known by: its shared name, or that of its node where it has none."""
    text = shared.decode("utf-8", "surrogateescape") if isinstance(shared, bytes) else shared
    return node if text in ("", ANONYMOUS) else text


def _emit_variable(is_ref: bool) -> Emit:

    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        name = variable_name(attrs["shared_name"], x.name)
        return [x.variable(name, attrs["dtype"], _stated_dims(attrs), {"is_ref": is_ref})]

    return emit


def _emit_read(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [x.contents(variable_of(x, inputs[0]))]


def _emit_assign(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    variable, value = variable_of(x, inputs[0]), value_of(x, inputs[1])
    held = _settled_dims(x, variable)
    if attrs["validate_shape"] and held is not None:
        text = (
            "Assign requires shapes of both tensors to match. lhs shape= {held} rhs shape= {given}"
        )
        require_same(x, held, value.dims, text)
        if held != value.dims:  # equal sizes, one of them known by another name
            value = x.b.reshape(value, held)
    x.replace(variable, value)
    return [variable]


def _settled_dims(x: Extractor, variable: Resource) -> Dims | None:
    """The shape that a variable has: of what it holds, else as its node states it."""
    if x.is_initialized(variable):
        return value_of(x, variable).dims
    return variable.info.get("dims")


def _emit_assign_handle(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    variable, value = variable_of(x, inputs[0]), value_of(x, inputs[1])
    held = variable.info.get("dims")
    if attrs["validate_shape"] and held is not None:
        text = (
            "Trying to assign to variable with tensor with wrong shape. Expected {held} got {given}"
        )
        require_same(x, held, value.dims, text)
    x.replace(variable, value)
    return [variable]


def refuse(x: Extractor, held: Value, *without_kernel: DType) -> None:
    """Raises `UnsupportedError` for a variable of a dtype for which there is no kernel."""
    if held.type.dtype in without_kernel:
        raise UnsupportedError(
            f"node '{x.name}': there is no kernel for {held.type.dtype}", node=x.name
        )


def _emit_change(op: str, text: str) -> Emit:
    """The value added to or subtracted from what a reference holds, which the output refers to.
    `text`: what is said of shapes that differ."""

    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        variable, value = variable_of(x, inputs[0]), value_of(x, inputs[1])
        held = value_of(x, variable)
        require_same(x, held.dims, value.dims, text)
        refuse(x, held, dtypes.bool_, dtypes.string)
        x.replace(variable, getattr(x.b, op)(held, value))
        return [variable]

    return emit


def _emit_is_initialized(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    found = inputs[0]
    known = not isinstance(found, Resource) or x.is_initialized(found)
    return [x.b.const(known, dtypes.bool_)]


def _emit_variable_shape(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [x.b.sizes(value_of(x, inputs[0]).dims, attrs["out_type"])]


def _emit_resource_gather(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    params, indices = value_of(x, inputs[0]), value_of(x, inputs[1])
    batch = attrs["batch_dims"]
    axis = batch if batch >= 0 else batch + indices.type.rank
    return [x.b.gather(params, indices, axis, batch_dims=batch)]


def _emit_resource_gather_nd(
    x: Extractor, inputs: Sequence[Bound], attrs: Attrs
) -> Sequence[Bound]:
    return [x.b.gather_nd(value_of(x, inputs[0]), value_of(x, inputs[1]))]


def _emit_count_up_to(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    variable = variable_of(x, inputs[0])
    held = value_of(x, variable)
    limit = int(attrs["limit"])
    dtype = held.type.dtype
    last = 1 << (8 * dtype.size - 1) if dtype.is_integer else 0
    if not -last <= limit < last:
        raise InvalidArgumentError(f"a variable of {dtype} does not count up to {limit}")
    fault = {"message": f"Reached limit of {limit}", "fault": "OutOfRangeError"}
    x.effect(x.b.emit(op_named("check"), (x.b.less(held, limit),), fault))
    x.replace(variable, x.b.add(held, 1))
    return [held]


def _emit_temporary(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    dtype, dims = attrs["dtype"], _stated_dims(attrs)
    contents = None  # until it is assigned; TensorFlow's holds what the memory held
    if dims is not None and dtype.size:
        contents = x.b.broadcast_to(x.b.const(np.zeros((), dtype.numpy), dtype), dims)
    info = {"dtype": dtype, "dims": dims, "is_ref": True, "var_name": attrs["var_name"] or x.name}
    return [x.create("variable", contents, info)]


def _emit_destroy_temporary(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    wanted, held = attrs["var_name"], inputs[0]
    if isinstance(held, Resource) and held.info.get("var_name") != wanted:
        raise NotFoundError(
            f"Resource {wanted} does not exist",
            node=x.name,
            hint="`var_name` is that of the TemporaryVariable, which is its node's where it has "
            "none of its own",
        )
    return [value_of(x, held)]


def _emit_destroy(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    raise UnsupportedError(
        f"flowc cannot free one variable: node '{x.name}' (DestroyResourceOp)",
        hint="a Session's variables are freed when it is closed",
    )


# -- records


def _define(
    name: str,
    tf: str,
    emit: Emit,
    infer: Callable[[Inference], Dims | list[Dims]],
    traits: frozenset[str] = STATE,
    gradient: Callable[..., Any] | None = None,
    aliases: tuple[str, ...] = (),
) -> Op:
    return define(
        name,
        tf,
        infer=infer,
        lowering=Extracted(emit),
        gradient=gradient,
        traits=traits,
        aliases=aliases,
    )


variable = _define(
    "variable",
    'VariableV2(; shape: shape, dtype: type, container: string = "",'
    ' shared_name: string = "") -> ref: ref(dtype)',
    _emit_variable(is_ref=True),
    shape_attr_dims,
    STATE | {"variable"},
    aliases=("Variable",),
)
var_handle = _define(
    "var_handle",
    'VarHandleOp(; container: string = "", shared_name: string = "", debug_name: string = "",'
    " dtype: type, shape: shape, allowed_devices: list(string) = []) -> resource: resource",
    _emit_variable(is_ref=False),
    shape_attr_dims,
    HANDLE | {"variable"},
)
# Allocated by the run that uses it: a variable that nothing outside its own users can name.
temporary_variable = _define(
    "temporary_variable",
    'TemporaryVariable(; shape: shape, dtype: type, var_name: string = "") -> ref: ref(dtype)',
    _emit_temporary,
    shape_attr_dims,
)
destroy_temporary_variable = _define(
    "destroy_temporary_variable",
    "DestroyTemporaryVariable(ref: ref(T); T: type, var_name: string) -> value: T",
    _emit_destroy_temporary,
    lambda c: c.dims(0),
)
read_variable = _define(
    "read_variable",
    "ReadVariableOp(resource: resource; dtype: type) -> value: dtype",
    _emit_read,
    lambda c: c.dims(0),
    STATE | {"reads_variable"},
    gradient=same_gradient,
)
variable_shape = _define(
    "variable_shape",
    "VariableShape(input: resource; out_type: {i32, i64} = i32) -> output: out_type",
    _emit_variable_shape,
    lambda c: (c.rank(0),),
    HANDLE,
)
resource_gather = _define(
    "resource_gather",
    "ResourceGather(resource: resource, indices: Tindices; batch_dims: int = 0,"
    " validate_indices: bool = True, dtype: type, Tindices: {i32, i64}) -> output: dtype",
    _emit_resource_gather,
    _infer_resource_gather,
    STATE | {"reads_variable"},
    gradient=rows_gradient,
)
resource_gather_nd = _define(
    "resource_gather_nd",
    "ResourceGatherNd(resource: resource, indices: Tindices; dtype: type, Tindices: {i32, i64})"
    " -> output: dtype",
    _emit_resource_gather_nd,
    _infer_resource_gather_nd,
    STATE | {"reads_variable"},
    gradient=slices_gradient,
)
assign = define_change(
    "assign",
    "Assign(ref: ref(T), value: T; T: type, validate_shape: bool = True,"
    " use_locking: bool = True) -> output_ref: ref(T)",
    _emit_assign,
    _infer_assign,
    STATE | {"assign"},
)
assign_variable = define_change(
    "assign_variable",
    "AssignVariableOp(resource: resource, value: dtype; dtype: type, validate_shape: bool = False)",
    _emit_assign_handle,
    _infer_assign,
    STATE | {"assign"},
)
for _op, _kind in (("add", "Add"), ("sub", "Sub")):
    define_change(
        f"assign_{_op}",
        f"Assign{_kind}(ref: ref(T), value: T; T: NUMBER, use_locking: bool = False)"
        " -> output_ref: ref(T)",
        _emit_change(_op, "Parameters and update must be the same size, found {held} and {given}"),
        same_as_held,
    )
    define_change(
        f"assign_{_op}_variable",
        f"Assign{_kind}VariableOp(resource: resource, value: dtype; dtype: type)",
        _emit_change(
            _op,
            "Cannot update variable with shape {held} using a Tensor with shape {given}, shapes"
            " must be equal.",
        ),
        same_as_held,
    )
var_is_initialized = _define(
    "var_is_initialized",
    "VarIsInitializedOp(resource: resource) -> is_initialized: bool",
    _emit_is_initialized,
    lambda c: (),
    STATE | {"reads_variable"},
)
is_variable_initialized = _define(
    "is_variable_initialized",
    "IsVariableInitialized(ref: ref(dtype); dtype: type) -> is_initialized: bool",
    _emit_is_initialized,
    lambda c: (),
    STATE | {"reads_variable"},
)
count_up_to = _define(
    "count_up_to",
    "CountUpTo(ref: ref(T); limit: int, T: {i32, i64}) -> output: T",
    _emit_count_up_to,
    _infer_count_up_to,
)
resource_count_up_to = _define(
    "resource_count_up_to",
    "ResourceCountUpTo(resource: resource; limit: int, T: {i32, i64}) -> output: T",
    _emit_count_up_to,
    lambda c: (),
)
destroy_resource = _define(
    "destroy_resource",
    "DestroyResourceOp(resource: resource; ignore_lookup_error: bool = True)",
    _emit_destroy,
    lambda c: [],
)
disable_copy_on_read = _define(
    "disable_copy_on_read",
    "DisableCopyOnRead(resource: resource)",
    lambda x, inputs, attrs: [],  # a read is a value: nothing is copied for it
    lambda c: [],
)
