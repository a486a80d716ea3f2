"""Slots: variables that an optimizer or an average keeps beside another variable.

In: the variable (or tensor) that a slot belongs to, and what it starts with. Out: a variable that
is not trained, under the other's name (`v/Adam`, `v/Adam_1`), of its kind and placed with it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from flowc.api.arrays.filling import zeros
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.variables.initializers import zeros_initializer
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.api.variables.save_slices import SaveSliceInfo
from flowc.api.variables.variable_scope import variable_scope
from flowc.api.variables.variables import Variable
from flowc.dtypes import DType
from flowc.graph import Tensor, TensorShape

Initializer = Callable[..., Any]  # of a shape and a dtype


def create_slot(
    primary: Variable | Tensor, initial_value: Tensor, name: str, colocate: bool = True
) -> Variable:
    """A slot that starts with a tensor."""
    checked = initial_value.shape.is_fully_defined()
    return _slot(primary, initial_value, name, colocate, validate_shape=checked)


def create_slot_with_initializer(
    primary: Variable | Tensor,
    initializer: Initializer,
    shape: TensorShape,
    dtype: DType,
    name: str,
    colocate: bool = True,
) -> Variable:
    """A slot that starts with what `initializer` makes of a shape and a dtype."""
    return _slot(primary, lambda: initializer(shape.as_list(), dtype=dtype), name, colocate)


def create_zeros_slot(
    primary: Variable | Tensor, name: str, dtype: DType | None = None, colocate: bool = True
) -> Variable:
    """A slot of zeros; its shape is that of `primary`, which may be known in the run only."""
    kind = base_dtype(primary) if dtype is None else dtype
    if primary.shape.is_fully_defined():
        initializer = zeros_initializer()
        return create_slot_with_initializer(
            primary, initializer, primary.shape, kind, name, colocate
        )
    held = primary.initialized_value() if isinstance(primary, Variable) else primary
    return create_slot(primary, zeros(shape_of(held), kind), name, colocate)


def base_dtype(item: Any) -> DType:
    """The dtype of a variable's or a tensor's elements."""
    return item.dtype.base_dtype


def _slot(
    primary: Variable | Tensor, initial: Any, name: str, colocate: bool, validate_shape: bool = True
) -> Variable:
    graph = primary.graph
    beside = graph.colocate_with(primary.op) if colocate else nullcontext()
    with variable_scope(None, f"{primary.op.name}/{name}") as scope, beside, graph.name_scope(None):
        made = Variable(
            initial,
            trainable=False,
            name=f"{scope.name}/",
            validate_shape=validate_shape,
            use_resource=isinstance(primary, ResourceVariable),
        )
    whole = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if whole is not None and made.shape.ndims != 0:
        made._set_save_slice_info(_slot_part(made, primary.op.name, whole))
    return made


def _slot_part(slot: Variable, primary: str, whole: SaveSliceInfo) -> SaveSliceInfo:
    """The slot of a part of a partitioned variable is a part itself."""
    rank = slot.shape.ndims
    return SaveSliceInfo(
        whole.full_name + slot.op.name.removeprefix(primary),
        whole.full_shape[:rank],
        whole.var_offset[:rank],
        whole.var_shape[:rank],
    )
