"""Ops that write at computed places: scatter_nd and the tensor_scatter family.

In: indices, updates and what they go into. Out: the whole tensor. Invariant: updates are applied in
row-major order of the indices; an index outside its dimension ends the run with
InvalidArgumentError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering
from flowc.ir.op import Op, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.indexing import check_indices_nd, ignores_bad_indices, indices_inside
from flowc.ops.arrays.scatter_core import DEPTH_LIMIT, changed_slices
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.host_ops import host_op


def _check_scatter(c: Inference, indices: Dims, updates: Dims, target: Dims) -> None:
    if not indices:
        raise c.fail("indices must be at least a vector")
    depth = c.need_number(indices[-1], "the last dimension of indices", [target])
    if depth > min(len(target), DEPTH_LIMIT):
        raise c.fail(f"index innermost dimension length must be <= {len(target)}, found {depth}")
    wanted = (*indices[:-1], *target[depth:])
    shown = [shown_dims(dims) for dims in (indices, updates, target)]
    fault = f"updates of shape {shown[1]} do not fit indices {shown[0]} into shape {shown[2]}"
    c.match_dims(wanted, updates, fault)


def _infer_scatter_nd(c: Inference) -> Dims:
    target = c.need_sizes(2)
    _check_scatter(c, c.dims(0), c.dims(1), target)
    return target


# What cannot be ordered has no smallest, and bools no difference.
_WITHOUT_KERNEL = {
    **dict.fromkeys(("min", "max"), (dtypes.c64, dtypes.c128)),
    "sub": (dtypes.bool_,),
}


def _infer_tensor_scatter(c: Inference, combine: str) -> Dims:
    c.refuse(0, *_WITHOUT_KERNEL.get(combine, ()))
    _check_scatter(c, c.dims(1), c.dims(2), c.dims(0))
    return c.dims(0)


def _depth(indices: Value) -> int:
    return int(indices.dims[-1])


def _scatter_texts(
    inputs: Sequence[Any], _: Sequence[Any], *, bad_indices_policy: str = ""
) -> list[np.ndarray]:
    """Texts that meet are joined, in order."""
    indices, updates, shape = inputs
    found = np.full(tuple(int(d) for d in shape), b"", object)
    there = indices_inside(indices, found.shape)
    if bad_indices_policy != "IGNORE":
        check_indices_nd(indices.astype(np.int64), found.shape, "")
    for row in np.ndindex(indices.shape[:-1]):
        if there[row]:
            place = tuple(indices[row].tolist())
            found[place] = found[place] + updates[row]
    return [found]


def _lower_scatter_nd(node: Node) -> Lowering:
    if node.inputs[1].type.dtype is dtypes.string:
        return Decompose(_build_scatter_texts)
    return Decompose(_build_scatter_nd)


def _build_scatter_texts(b: Any, node: Node) -> Value:
    indices, updates = node.inputs[:2]
    sizes = b.sizes(node.output.dims, indices.type.dtype)
    return b.scatter_texts(indices, updates, sizes, **node.attrs)


def _build_scatter_nd(b: Any, node: Node) -> Value:
    """Bools are "or"ed; other elements are added up."""
    indices, updates = node.inputs[:2]
    kind = node.output.type
    combine = "max" if kind.dtype is dtypes.bool_ else "add"
    zeros = b.broadcast_to(b.const(np.zeros((), kind.dtype.numpy)), kind.dims)
    return b.change_slices(
        zeros,
        indices,
        updates,
        combine=combine,
        depth=_depth(indices),
        ignores=ignores_bad_indices(node.attrs),
    )


def _build_tensor_scatter(combine: str) -> Callable[[Any, Node], Value]:
    def build(b: Any, node: Node) -> Value:
        tensor, indices, updates = node.inputs
        return b.change_slices(
            tensor,
            indices,
            updates,
            combine=combine,
            depth=_depth(indices),
            ignores=ignores_bad_indices(node.attrs),
        )

    return build


def _scatter_nd(
    indices: np.ndarray, updates: np.ndarray, shape: np.ndarray, *, bad_indices_policy: str = ""
) -> np.ndarray:
    if updates.dtype == object:
        parts = (indices, updates, shape)
        return _scatter_texts(parts, (), bad_indices_policy=bad_indices_policy)[0]
    zeros = np.zeros(tuple(int(d) for d in shape), updates.dtype)
    ignores = bad_indices_policy == "IGNORE"
    return changed_slices(zeros, indices, updates, combine="add", ignores=ignores)


scatter_texts = host_op(
    "scatter_texts",
    "_ScatterTexts(indices: Tindices, updates: string, shape: Tindices;"
    ' Tindices: {i16, i32, i64}, bad_indices_policy: string = "") -> output: string',
    _scatter_texts,
    infer=_infer_scatter_nd,
    shown="ScatterNd",
)

scatter_nd = define(
    "scatter_nd",
    "ScatterNd(indices: Tindices, updates: T, shape: Tindices; T: type,"
    ' Tindices: {i16, i32, i64}, bad_indices_policy: string = "") -> output: T',
    infer=_infer_scatter_nd,
    reference=_scatter_nd,
    lowering=_lower_scatter_nd,
    gradient=lambda b, node, dy: (None, _gathered(b, node, dy, node.inputs[0])),
    examples=(
        "i32[3,1]=[0,2,0] T[3,2] i32[2]=[4,2]",
        "Tindices[2,2]=[0,1,1,2] f32[2] Tindices[2]=[2,3]",
        "i32[0,1] f32[0] i32[1]=[3]",
        'i32[3,1]=[3,0,-1] f32[3] i32[1]=[2]; bad_indices_policy="IGNORE"',
    ),
)


def _define_tensor_scatter(name: str, tf_name: str, index_dtypes: str, *examples: str) -> Op:
    combine = name.rpartition("_")[2]
    return define(
        name,
        f"{tf_name}(tensor: T, indices: Tindices, updates: T; T: type,"
        f' Tindices: {{{index_dtypes}}}, bad_indices_policy: string = "") -> output: T',
        infer=lambda c: _infer_tensor_scatter(c, combine),
        reference=lambda tensor, indices, updates, *, bad_indices_policy="": changed_slices(
            tensor, indices, updates, combine=combine, ignores=bad_indices_policy == "IGNORE"
        ),
        lowering=Decompose(_build_tensor_scatter(combine)),
        gradient=_SCATTER_GRADIENTS.get(combine),
        examples=(
            "f32[4,2] Tindices[3,1]=[0,2,3] f32[3,2]",
            "i32[2,3] i32[2,2]=[0,1,1,2] i32[2]",
            'f32[2,2] i32[3,1]=[2,0,-1] f32[3,2]; bad_indices_policy="IGNORE"',
            *examples,
        ),
    )


def _gathered(b: GradientBuilder, node: Forward, x: Any, indices: Any) -> Any:
    """What stands at the places that a node wrote to."""
    return b.gather_nd(x, indices, bad_indices_policy=node.attrs["bad_indices_policy"])


def _extremum_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """Shared among the elements and updates that equal the result."""
    x, indices, updates = node.inputs
    kept = b.cast(b.equal(x, node.output), DstT=dy.dtype)
    written = _gathered(b, node, node.output, indices)
    chosen = b.cast(b.equal(updates, written), DstT=dy.dtype)
    policy = node.attrs["bad_indices_policy"]
    sizes = b.shape_of(x, dtype=indices.dtype)
    count = b.scatter_nd(indices, chosen, sizes, bad_indices_policy=policy)
    share = b.real_div(dy, b.add(kept, count))
    return b.mul(share, kept), None, b.mul(_gathered(b, node, share, indices), chosen)


_SCATTER_GRADIENTS: dict[str, Any] = {
    "max": _extremum_gradient,
    "min": _extremum_gradient,
    "update": lambda b, node, dy: (
        b.tensor_scatter_update(
            dy,
            node.inputs[1],
            b.zeros_like(node.inputs[2]),
            bad_indices_policy=node.attrs["bad_indices_policy"],
        ),
        None,
        _gathered(b, node, dy, node.inputs[1]),
    ),
    "add": lambda b, node, dy: (dy, None, _gathered(b, node, dy, node.inputs[1])),
    "sub": lambda b, node, dy: (dy, None, b.neg(_gathered(b, node, dy, node.inputs[1]))),
}

tensor_scatter_update = _define_tensor_scatter(
    "tensor_scatter_update", "TensorScatterUpdate", "i16, i32, i64, u16", "T[4] i32[1,1]=[2] T[1]"
)
tensor_scatter_add = _define_tensor_scatter(
    "tensor_scatter_add", "TensorScatterAdd", "i32, i64", "f32[3] i32[4,1]=[1,1,1,0] f32[4]"
)
tensor_scatter_sub = _define_tensor_scatter(
    "tensor_scatter_sub", "TensorScatterSub", "i32, i64", "f32[3] i32[4,1]=[1,1,1,0] f32[4]"
)
tensor_scatter_min = _define_tensor_scatter(
    "tensor_scatter_min", "TensorScatterMin", "i32, i64", "f32[3] i32[4,1]=[1,1,1,0] f32[4]"
)
tensor_scatter_max = _define_tensor_scatter(
    "tensor_scatter_max", "TensorScatterMax", "i32, i64", "f32[3] i32[4,1]=[1,1,1,0] f32[4]"
)
