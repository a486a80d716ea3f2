"""Variables: their handles, reads and assignments.

In: handles and values. Out: values, and effects on state. Invariant: the dims of a handle's value
are those of the variable behind it, so that reads are typed; extraction turns the reads of frozen
variables into constants before anything is lowered.
"""

from __future__ import annotations

from typing import Any

from flowc.ir.computation import Node, Value
from flowc.ir.lowering import Decompose, Structural
from flowc.ir.op import Inference, Op, define
from flowc.ir.types import Dims
from flowc.ops.identity import shape_attr_dims
from flowc.ops.indexing import gather_dims

STATE = frozenset({"stateful"})
# A handle only names a variable: equal handles may be merged and dead ones dropped.
HANDLE = frozenset({"no_fold"})


def _infer_assign(c: Inference) -> Dims:
    return _assigned_dims(c)


def _infer_assign_handle(c: Inference) -> list[Dims]:
    _assigned_dims(c)
    return []


def _assigned_dims(c: Inference) -> Dims:
    held, given = c.dims(0), c.dims(1)
    fault = f"a variable of shape {list(held)} cannot take a value of shape {list(given)}"
    if len(held) != len(given):
        raise c.fail(fault)
    for ours, theirs in zip(held, given):
        if isinstance(ours, int) and isinstance(theirs, int) and ours != theirs:
            raise c.fail(fault)
        c.equal(ours, theirs)
    return held


def _lower_resource_gather(b: Any, node: Node) -> Value:
    resource, indices = node.inputs
    params = b.read_variable(resource, dtype=node.output.type.dtype)
    axis = node.attrs["batch_dims"] % max(indices.type.rank, 1)
    return b.gather(params, indices, axis, batch_dims=node.attrs["batch_dims"])


def _infer_resource_gather(c: Inference) -> Dims:
    batch = c.attrs["batch_dims"]
    return gather_dims(c, batch if batch >= 0 else batch + c.rank(1), batch)


variable = define(
    Op(
        "variable",
        'VariableV2(; shape: shape, dtype: type, container: string = "",'
        ' shared_name: string = "") -> ref: ref(dtype)',
        infer=shape_attr_dims,
        lowering=Structural(),
        traits=STATE,
        aliases=("Variable",),
    )
)

var_handle = define(
    Op(
        "var_handle",
        'VarHandleOp(; container: string = "", shared_name: string = "", debug_name: string = "",'
        " dtype: type, shape: shape, allowed_devices: list(string) = []) -> resource: resource",
        infer=shape_attr_dims,
        lowering=Structural(),
        traits=HANDLE,
    )
)

read_variable = define(
    Op(
        "read_variable",
        "ReadVariableOp(resource: resource; dtype: type) -> value: dtype",
        infer=lambda c: c.dims(0),
        lowering=Structural(),
        gradient=lambda b, node, dy: (dy,),
        traits=STATE,
    )
)

variable_shape = define(
    Op(
        "variable_shape",
        "VariableShape(input: resource; out_type: {i32, i64} = i32) -> output: out_type",
        infer=lambda c: (c.rank(0),),
        lowering=Decompose(lambda b, node: b.sizes(node.inputs[0].dims, node.output.type.dtype)),
        traits=HANDLE,
    )
)

resource_gather = define(
    Op(
        "resource_gather",
        "ResourceGather(resource: resource, indices: Tindices; batch_dims: int = 0,"
        " validate_indices: bool = True, dtype: type, Tindices: {i32, i64}) -> output: dtype",
        infer=_infer_resource_gather,
        lowering=Decompose(_lower_resource_gather),
        traits=STATE,
    )
)

assign = define(
    Op(
        "assign",
        "Assign(ref: ref(T), value: T; T: type, validate_shape: bool = True,"
        " use_locking: bool = True) -> output_ref: ref(T)",
        infer=_infer_assign,
        lowering=Structural(),
        traits=STATE,
    )
)

assign_add = define(
    Op(
        "assign_add",
        "AssignAdd(ref: ref(T), value: T; T: NUMBER, use_locking: bool = False)"
        " -> output_ref: ref(T)",
        infer=_infer_assign,
        lowering=Structural(),
        traits=STATE,
    )
)

assign_sub = define(
    Op(
        "assign_sub",
        "AssignSub(ref: ref(T), value: T; T: NUMBER, use_locking: bool = False)"
        " -> output_ref: ref(T)",
        infer=_infer_assign,
        lowering=Structural(),
        traits=STATE,
    )
)

assign_variable = define(
    Op(
        "assign_variable",
        "AssignVariableOp(resource: resource, value: dtype; dtype: type,"
        " validate_shape: bool = False)",
        infer=_infer_assign_handle,
        lowering=Structural(),
        traits=STATE,
    )
)

assign_add_variable = define(
    Op(
        "assign_add_variable",
        "AssignAddVariableOp(resource: resource, value: dtype; dtype: type)",
        infer=_infer_assign_handle,
        lowering=Structural(),
        traits=STATE,
    )
)

assign_sub_variable = define(
    Op(
        "assign_sub_variable",
        "AssignSubVariableOp(resource: resource, value: dtype; dtype: type)",
        infer=_infer_assign_handle,
        lowering=Structural(),
        traits=STATE,
    )
)

var_is_initialized = define(
    Op(
        "var_is_initialized",
        "VarIsInitializedOp(resource: resource) -> is_initialized: bool",
        infer=lambda c: (),
        lowering=Structural(),
        traits=STATE,
    )
)

is_variable_initialized = define(
    Op(
        "is_variable_initialized",
        "IsVariableInitialized(ref: ref(dtype); dtype: type) -> is_initialized: bool",
        infer=lambda c: (),
        lowering=Structural(),
        traits=STATE,
    )
)

destroy_resource = define(
    Op(
        "destroy_resource",
        "DestroyResourceOp(resource: resource; ignore_lookup_error: bool = True)",
        infer=lambda c: [],
        lowering=Structural(),
        traits=STATE,
    )
)
