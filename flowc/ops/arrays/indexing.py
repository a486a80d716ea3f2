"""Ops that read elements at computed places: gather, gather_nd, where, invert_permutation.

In: tensors and integer indices. Out: the elements there, or the places themselves. Invariant: an
index outside its dimension ends the run with InvalidArgumentError, as TensorFlow does on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import ByThreads, Decompose, Lowering, Native, View, by_owners, on_gpu
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.shapes import constant_ints
from flowc.ops.gradients import Forward, GradientBuilder, constant_int

# -- gather


def gather_dims(c: Inference, axis: int, batch_dims: int) -> Dims:
    """The output's dims of a gather from input 0 at the indices of input 1."""
    params, indices = c.dims(0), c.dims(1)
    if not params:
        raise c.fail("params must be at least 1 dimensional")
    axis = c.axis(axis, len(params))
    if not -len(indices) <= batch_dims <= len(indices):
        raise c.fail(
            f"Expected batch_dims in the range [{-len(indices)}, {len(indices)}], "
            f"but got {batch_dims}"
        )
    batch = batch_dims + len(indices) if batch_dims < 0 else batch_dims
    if batch > axis:
        raise c.fail(f"batch_dims ({batch}) must be less than or equal to axis ({axis}).")
    common = tuple(c.equal(p, i) for p, i in zip(params[:batch], indices[:batch]))
    return (*common, *params[batch:axis], *indices[batch:], *params[axis + 1 :])


def gather_view(params: Dims, indices_rank: int, axis: int, batch_dims: int) -> View:
    """Reads input 0 at the indices of input 1; both axes are in range already."""
    inner = indices_rank - batch_dims

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        at = (*index[:batch_dims], *index[axis : axis + inner])
        message = f"indices{'[{place}]' if at else ''} = {{value}} is not in [0, {{extent}})"
        place = k.checked_index(k.load(1, at), params[axis], message, at)
        return k.load(0, (*index[:axis], place, *index[axis + inner :]))

    return View(read)


def gather_elements(
    params: np.ndarray, indices: np.ndarray, axis: int, batch_dims: int
) -> np.ndarray:
    axis %= params.ndim
    batch_dims = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    places = indices.astype(np.int64)
    extent = params.shape[axis]
    wrong = np.argwhere((places < 0) | (places >= extent))
    if len(wrong):
        where = f"[{','.join(str(i) for i in wrong[0])}]" if places.ndim else ""
        raise InvalidArgumentError(
            f"indices{where} = {places[tuple(wrong[0])]} is not in [0, {extent})"
        )
    batch, outer, inner = (
        math.prod(d)
        for d in (
            params.shape[:batch_dims],
            params.shape[batch_dims:axis],
            params.shape[axis + 1 :],
        )
    )
    count = math.prod(indices.shape[batch_dims:])
    table = params.reshape(batch, outer, extent, inner)
    found = table[
        np.arange(batch)[:, None, None],
        np.arange(outer)[None, :, None],
        places.reshape(batch, 1, count),
    ]
    shape = (*params.shape[:axis], *indices.shape[batch_dims:], *params.shape[axis + 1 :])
    return found.reshape(shape)


def _infer_gather(c: Inference) -> Dims:
    batch = c.attrs["batch_dims"]
    inner = c.rank(1) - batch if batch >= 0 else -batch
    rank = c.rank(0) - 1 + inner
    return gather_dims(c, c.need_int(2, shapes=[(None,) * max(rank, 0)]), batch)


def _lower_gather(node: Node) -> Lowering:
    params, indices = node.inputs[0].dims, node.inputs[1].dims
    axis = constant_ints(node, 2)[0] % len(params)
    batch_dims = node.attrs["batch_dims"]
    batch_dims = batch_dims + len(indices) if batch_dims < 0 else batch_dims
    return gather_view(params, len(indices), axis, batch_dims)


def _gather(
    params: np.ndarray, indices: np.ndarray, axis: np.ndarray, *, batch_dims: int
) -> np.ndarray:
    return gather_elements(params, indices, int(axis.reshape(-1)[0]), batch_dims)


# -- gather_nd


def _infer_gather_nd(c: Inference) -> Dims:
    params, indices = c.dims(0), c.dims(1)
    if not params or not indices:
        raise c.fail("params and indices must be at least a vector")
    depth = c.need_number(indices[-1], "the last dimension of indices", [None])
    if depth > len(params):
        fault = f"index innermost dimension length must be <= params rank; saw: {depth}"
        shapes = f"indices shape: {shown_dims(indices)} and params shape: {shown_dims(params)}"
        built = f"indices.shape[-1] must be <= params.rank, but saw {shapes}"
        raise c.fail(fault, built=built)
    return (*indices[:-1], *params[depth:])


def ignores_bad_indices(attrs: Mapping[str, Any]) -> bool:
    """Whether an op leaves out what is not there: TensorFlow's `bad_indices_policy`."""
    policy = attrs["bad_indices_policy"]
    policy = policy.decode() if isinstance(policy, bytes) else policy
    if policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(f"Bad indices policy {policy!r} is not one of ERROR, IGNORE")
    return policy == "IGNORE"


def _build_ignoring_gather(b: Any, node: Node) -> Value:
    """Zeros for slices that are not there."""
    params, indices = node.inputs
    dims, depth = params.dims, int(indices.dims[-1])
    kind = indices.type.dtype
    extents = b.sizes(dims[:depth], kind) if depth else None
    if extents is None:
        return b.gather_nd(params, indices)
    zero = b.const(0, kind)
    inside = b.logical_and(b.greater_equal(indices, zero), b.less(indices, extents))
    places = b.select_v2(inside, indices, b.zeros_like(indices))
    found = b.gather_nd(params, places)
    there = b.all(inside, np.array([len(indices.dims) - 1], np.int32))
    there = b.reshape(there, (*indices.dims[:-1], *(1,) * (len(dims) - depth)))
    return b.select_v2(there, found, b.zeros_like(found))


def _lower_gather_nd(node: Node) -> Lowering:
    if ignores_bad_indices(node.attrs):
        return Decompose(_build_ignoring_gather)
    params, indices = node.inputs[0].dims, node.inputs[1].dims
    depth = int(indices[-1])
    outer = len(indices) - 1
    shown = shown_dims(params)

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        places: list[Dim] = []
        for i in range(depth):
            around = ", ".join("{value}" if j == i else ".." for j in range(depth))
            where = "[{place}]" if outer else ""
            message = f"indices{where} = [{around}] does not index into param shape {shown}"
            found = k.load(1, (*index[:outer], i))
            places.append(k.checked_index(found, params[i], message, index[:outer]))
        return k.load(0, (*places, *index[outer:]))

    return View(read)


def _gather_nd(
    params: np.ndarray, indices: np.ndarray, *, bad_indices_policy: str = ""
) -> np.ndarray:
    depth = indices.shape[-1]
    places = indices.astype(np.int64)
    if bad_indices_policy == "IGNORE":
        inside = indices_inside(places, params.shape)
        found = _gather_nd(params, places * inside[..., None], bad_indices_policy="")
        found[~inside] = np.zeros((), params.dtype)
        return found
    check_indices_nd(places, params.shape, "param ")
    found = params[tuple(places[..., i] for i in range(depth))] if depth else params
    shape = (*indices.shape[:-1], *params.shape[depth:])
    return np.broadcast_to(found, shape).copy()


def indices_inside(places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Whether each row of `places` names a slice of `shape`."""
    extents = np.array(shape[: places.shape[-1]], np.int64)
    return np.all((places >= 0) & (places < extents), axis=-1)


def check_indices_nd(places: np.ndarray, shape: tuple[int, ...], what: str) -> None:
    """Raises `InvalidArgumentError` for the first row of `places` that is outside `shape`."""
    depth = places.shape[-1]
    extents = np.array(shape[:depth], np.int64)
    wrong = np.argwhere(((places < 0) | (places >= extents)).any(axis=-1))
    if len(wrong):
        where = ",".join(str(i) for i in wrong[0])
        found = places[tuple(wrong[0])].tolist()
        raise InvalidArgumentError(
            f"indices[{where}] = {found} does not index into {what}shape {list(shape)}"
        )


# -- where


RANK = 1  # in a kernel: the rank of its input, as a constant


def where_kernel(x, out, sizes, d0, d1, d2, d3, d4, d5, d6, d7, begin, end):
    dims = (d0, d1, d2, d3, d4, d5, d6, d7)
    total = d0 * d1 * d2 * d3 * d4 * d5 * d6 * d7
    count = 0
    for i in range(total):
        if x[i] != 0:
            rest = i
            for d in range(RANK - 1, -1, -1):
                extent = dims[8 - RANK + d]
                out[count * RANK + d] = rest % extent
                rest = rest // extent
            count += 1
    sizes[0] = count


def _infer_where(c: Inference) -> Dims:
    if c.rank(0) > 8:
        raise c.fail(f"WhereOp : Unhandled input dimensions: {c.rank(0)}")
    return (c.fresh("where", c.inputs[0].size), c.rank(0))


def _where(x: np.ndarray) -> np.ndarray:
    return np.argwhere(x != 0).astype(np.int64).reshape(-1, x.ndim)


def _lower_where(node: Node) -> Lowering:
    dims = node.inputs[0].dims
    arguments = (*(1,) * (8 - len(dims)), *dims)
    return Native(where_kernel, arguments=arguments, constants={"RANK": len(dims)})


# -- invert_permutation


def owned_places(x, out, status, n, band, begin, end):
    """The form for GPUs: a step owns `band` neighbouring places, and looks at all indices for
    them."""
    for step in range(begin, end):
        first = step * band
        last = first + band if first + band < n else n
        for i in range(first, last):
            out[i] = -1
        for i in range(n):
            place = x[i]
            if place < 0 or place >= n:
                status[0], status[1], status[2] = 1, place, n
                return
            if place >= first and place < last:
                if out[place] != -1:
                    status[0], status[1] = 2, place
                    return
                out[place] = i


def _by_owners(native: Native) -> Native:
    return by_owners(native, owned_places, native.arguments[0], 1)


@on_gpu(ByThreads(_by_owners))
def invert_permutation_kernel(x, out, status, n, begin, end):
    for i in range(n):
        out[i] = -1
    for i in range(n):
        place = x[i]
        if place < 0 or place >= n:
            status[0], status[1], status[2] = 1, place, n
            return
        if out[place] != -1:
            status[0], status[1] = 2, place
            return
        out[place] = i


def _infer_invert_permutation(c: Inference) -> Dims:
    c.need_rank(0, 1, f"invert_permutation expects a 1D vector, found {c.inputs[0]}")
    return c.dims(0)


def _invert_permutation(x: np.ndarray) -> np.ndarray:
    result = np.full_like(x, -1)
    for i, place in enumerate(x):
        if not 0 <= place < len(x):
            raise InvalidArgumentError(f"{place} is not between 0 and {len(x)}")
        if result[place] != -1:
            raise InvalidArgumentError(f"{place} is duplicated in the input.")
        result[place] = i
    return result


def _lower_invert_permutation(node: Node) -> Lowering:
    errors = ("{a} is not between 0 and {b}", "{a} is duplicated in the input.")
    return Native(invert_permutation_kernel, arguments=node.inputs[0].dims, errors=errors)


def _gather_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The rows of `dy` summed by their index, which counts on from one batch to the next."""
    params, indices = node.inputs[:2]
    if constant_int(b, node, 2) == 0 == node.attrs["batch_dims"]:
        return rows_gradient(b, node, dy)
    rank, places = b.rank_of(params), b.rank_of(indices)
    axis, batch = constant_int(b, node, 2) % rank, node.attrs["batch_dims"]
    batch += places if batch < 0 else 0
    inner, extent = places - batch, b.size_of(params, axis)
    order = [*range(batch), *range(axis, axis + inner), *range(batch, axis)]
    moved = _arranged(b, dy, [*order, *range(axis + inner, rank - 1 + inner)])
    batches = b.shape_of(params, 0, batch)
    outside = b.shape_of(params, batch, axis), b.shape_of(params, axis + 1)
    count = b.reshape(b.size(indices), (1,))
    rows = b.reshape(moved, b.concat(count, *outside, np.int32(0)))
    if batch:
        lanes, width = (
            b.prod(s, np.array([0], np.int32)) for s in (batches, b.shape_of(indices, batch))
        )
        starts = b.expand_dims(b.mul(b.range(0, lanes, 1), extent), np.int32(1))
        lines = b.reshape(indices, b.pack(lanes, width, axis=0))
        indices = b.add(lines, b.cast(starts, DstT=indices.dtype))
        extent = b.mul(lanes, extent)
    summed = b.unsorted_segment_sum(rows, b.reshape(indices, (-1,)), extent)
    if batch:
        dims = (batches, b.shape_of(params, axis, axis + 1), *outside)
        summed = b.reshape(summed, b.concat(*dims, np.int32(0)))
    back = [*range(batch), *range(batch + 1, axis + 1), batch, *range(axis + 1, rank)]
    return _arranged(b, summed, back)


def rows_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The gradient of params, of an op that gathers rows, whose first inputs are params and
    indices."""
    params, indices = node.inputs[:2]
    count = b.reshape(b.size(indices), (1,))
    rows = b.reshape(dy, b.concat(count, b.shape_of(params, 1), np.int32(0)))
    return b.sum_rows(rows, b.reshape(indices, (-1,)), params)


def _arranged(b: GradientBuilder, x: Any, order: list[int]) -> Any:
    return x if order == sorted(order) else b.transpose(x, np.array(order, np.int32))


gather = define(
    "gather",
    "GatherV2(params: Tparams, indices: Tindices, axis: Taxis; batch_dims: int = 0,"
    " Tparams: type, Tindices: {i16, i32, i64}, Taxis: {i32, i64}) -> output: Tparams",
    infer=_infer_gather,
    reference=_gather,
    lowering=_lower_gather,
    gradient=_gather_gradient,
    examples=(
        "Tparams[5,3] i32[4]~index5 i32[]=0",
        "f32[2,5,3] Tindices[2,2]~index5 i32[]=1",
        "f32[2,5] i32[]=3 i64[]=-1",
        "f32[2,3,5] i32[2,4]~index5 i32[]=2; batch_dims=1",
        "f32[0,3] i32[0] i32[]=0",
        "f32[5] i32[0,2] i32[]=0",
    ),
    content=True,
)

gather_v1 = define(
    "gather_v1",
    "Gather(params: Tparams, indices: Tindices; validate_indices: bool = True, Tparams: type,"
    " Tindices: {i32, i64}) -> output: Tparams",
    infer=lambda c: gather_dims(c, 0, 0),
    reference=lambda params, indices: gather_elements(params, indices, 0, 0),
    lowering=Decompose(lambda b, node: b.gather(*node.inputs, np.int32(0))),
    gradient=rows_gradient,
    examples=("Tparams[5,3] i32[4]~index5", "f32[5] Tindices[]=4"),
    content=True,
)


def slices_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The gradient of params, of an op that gathers slices. Where these are rows, it is sparse."""
    params, indices = node.inputs
    dims, policy = b.dims_of(indices), node.attrs.get("bad_indices_policy", "")
    if dims is not None and len(dims) == 2 and dims[1] == 1 and not policy:
        return b.sum_rows(dy, b.reshape(indices, (-1,)), params)
    sizes = b.shape_of(params, dtype=indices.dtype)
    return b.scatter_nd(indices, dy, sizes, bad_indices_policy=policy)


gather_nd = define(
    "gather_nd",
    "GatherNd(params: Tparams, indices: Tindices; Tparams: type, Tindices: {i16, i32, i64},"
    ' bad_indices_policy: string = "") -> output: Tparams',
    infer=_infer_gather_nd,
    reference=_gather_nd,
    lowering=_lower_gather_nd,
    gradient=slices_gradient,
    examples=(
        "Tparams[5,5,2] i32[3,2]~index5",
        "f32[5,3] Tindices[4,1]~index5",
        "f32[2,3] i32[2]=[1,2]",
        "f32[2,3] i32[4,0]",
        'f32[2,3] i32[3,1]=[1,-1,2]; bad_indices_policy="IGNORE"',
        'i32[2,3] i32[2,2,2]=[1,-1,0,2,2,2,1,0]; bad_indices_policy="IGNORE"',
    ),
)

where = define(
    "where",
    "Where(input: T; T: {f32, f64, i32, u8, i16, i8, c64, i64, bf16, u16, c128, f16, u32, u64,"
    " bool} = bool) -> index: i64",
    infer=_infer_where,
    reference=_where,
    lowering=_lower_where,
    examples=("T[3,4]", "bool[7]", "bool[2,2,3]~true", "bool[4]~false", "f32[0,2]"),
)

invert_permutation = define(
    "invert_permutation",
    "InvertPermutation(x: T; T: {i32, i64} = i32) -> y: T",
    infer=_infer_invert_permutation,
    reference=_invert_permutation,
    lowering=_lower_invert_permutation,
    examples=("T[5]=[3,4,0,2,1]", "i32[0]"),
    content=True,
)
