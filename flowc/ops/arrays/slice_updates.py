"""tensor_strided_slice_update: a tensor with other elements where a strided_slice would read.

In: a tensor, the bounds of a strided_slice of it, and values that broadcast to what it would read.
Out: the tensor with the values there. Invariant: it is asked of every element whether the slice
reads it, so that nothing is written twice and the update fuses with what is around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import minimum, product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import Attrs, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.slicing import array_index, sliced_dims
from flowc.ops.gradients import Forward, GradientBuilder


def _infer(c: Inference) -> Dims:
    wanted = sliced_dims(c, c.dims(0))
    if 0 in wanted:
        return c.dims(0)  # nothing changes, whatever the values are
    given = _without_leading_ones(c.dims(4), wanted)
    fault = (
        f"Cannot broadcast input shape {shown_dims(c.dims(4))} into final shape "
        f"{shown_dims(wanted)}"
    )
    if len(given) > len(wanted):
        raise c.fail(fault)
    size = product(wanted)
    for one, other in zip(given, wanted[len(wanted) - len(given) :]):
        if isinstance(size, int):
            if one != 1:
                c.equal(one, other, fault)
        elif one != 1:  # a slice of no elements takes any values
            c.equal(one * size, other * size, fault)
    return c.dims(0)


def _without_leading_ones(dims: Dims, wanted: Dims) -> Dims:
    """The dims of the values; those before the ones of the slice are 1."""
    extra = len(dims) - len(wanted)
    return dims[extra:] if extra > 0 and all(d == 1 for d in dims[:extra]) else dims


def _masks(attrs: Attrs) -> dict[str, Any]:
    return {name: value for name, value in attrs.items() if name.endswith("_mask")}


def _lower(b: Any, node: Node) -> Value:
    x, *bounds, values = node.inputs
    masks = _masks(node.attrs)
    wanted = b.strided_slice(x, *bounds, **masks).dims
    if 0 in wanted:
        return x
    shape = b.sizes(x.dims, bounds[0].type.dtype)
    given = values.dims[max(values.type.rank - len(wanted), 0) :]
    values = b.reshape(values, given)
    read = wanted[len(wanted) - len(given) :]
    if not all(isinstance(d, int) for d in read):
        box = tuple(d if d == 1 else minimum(d, r) for d, r in zip(given, read))
        values = b.slice(values, (0,) * len(box), box)

    def spread(slice_: Value) -> Value:
        return b.strided_slice_grad(shape, *bounds, b.broadcast_to(slice_, wanted), **masks)

    return b.select_v2(spread(b.const(np.bool_(True))), spread(values), x)


def _gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    _, *bounds, values = node.inputs
    zeros = b.zeros_like(values)
    dx = b.with_attrs_of(node, "tensor_strided_slice_update", dy, *bounds, zeros)
    part = b.with_attrs_of(node, "strided_slice", dy, *bounds)
    return dx, None, None, None, b.sum_to_shape_of(part, values)


def _update(
    input: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    strides: np.ndarray,
    value: np.ndarray,
    **attrs: Any,
) -> np.ndarray:
    found = input.copy()
    box = array_index(found, begin, end, strides, _masks(attrs))
    if not found[box].size:
        return found
    try:
        found[box] = value
    except ValueError as error:
        raise InvalidArgumentError(f"Cannot broadcast input shape {list(value.shape)}") from error
    return found


tensor_strided_slice_update = define(
    "tensor_strided_slice_update",
    "TensorStridedSliceUpdate(input: T, begin: Index, end: Index, strides: Index, value: T;"
    " T: type, Index: {i32, i64}, begin_mask: int = 0, end_mask: int = 0,"
    " ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0) -> output: T",
    infer=_infer,
    reference=_update,
    lowering=Decompose(_lower),
    gradient=_gradient,
    examples=(
        "T[3,4] i32[2]=[0,1] i32[2]=[3,3] i32[2]=[1,1] T[3,2]",
        "f32[3,4] i32[2]=[-1,0] i32[2]=[-4,0] i32[2]=[-2,1] f32[2,4]; end_mask=2",
        "f32[3,4] i64[2]=[0,1] i64[2]=[3,4] i64[2]=[2,2] f32[1,2]",
        "f32[3,4] i32[1]=[1] i32[1]=[2] i32[1]=[1] f32[1,4]; shrink_axis_mask=1",
        "f32[3,4] i32[2]=[0,0] i32[2]=[1,2] i32[2]=[1,1] f32[]; new_axis_mask=1",
        "f32[3,4] i32[2]=[0,1] i32[2]=[3,3] i32[2]=[2,-1] f32[2,0]",
        "f32[] i32[0] i32[0] i32[0] f32[]",
    ),
)
