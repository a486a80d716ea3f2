"""Selection along the last axis: top-k, membership in the top k, the n-th element.

In: any tensor with a last axis. Out: values and indices, best first. Invariant: among equals the
lower index stands first, as in TensorFlow; a NaN stands behind every number, where TensorFlow's
order with NaN depends on the algorithm that it picks for k.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.dims import Dim, as_dim, product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels import sorting as kernels

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

REAL = "{f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}"
K_TYPES = "{i16, i32, i64}"


def _infer_top(c: Inference, k: Dim) -> list[Dims]:
    if c.rank(0) < 1:
        raise c.fail("input must be >= 1-D, got shape []")
    columns = c.dims(0)[-1]
    if isinstance(k, int):
        if k < 0:
            raise c.fail(f"Need k >= 0, got {k}")
        if isinstance(columns, int) and columns < k:
            fault = f"input must have at least k columns. Had {columns}, needed {k}"
            built = f"input must have last dimension >= k = {k} but is {columns}"
            raise c.fail(fault, built=built)
    dims = (*c.dims(0)[:-1], k)
    return [dims, dims]


def _infer_top_k(c: Inference) -> list[Dims]:
    if c.rank(1) != 0:
        raise c.fail(f"k must be a scalar, got rank {c.rank(1)}")
    return _infer_top(c, c.need_size(1))


def _lower_top_k(node: Node) -> Lowering:
    x = node.inputs[0]
    return Native(
        kernels.top_k,
        arguments=(x.dims[-1], node.outputs[0].dims[-1]),
        parallel=product(x.dims[:-1]),
        errors=("input must have at least k columns. Had {a}, needed {b}",),
        constants={"GROUP": kernels.GROUP, "FEW": kernels.FEW},
    )


def _best(x: np.ndarray, k: int, index_type: DType) -> tuple[np.ndarray, np.ndarray]:
    if x.dtype.kind in "fV":
        wide = x.astype(np.float64)
        number = ~np.isnan(wide)
        keys = (-np.where(number, wide, 0), ~number)
    else:
        # The complement turns the order of integers round without overflow.
        keys = (~x, np.zeros(x.shape, np.bool_))
    order = np.lexsort(keys, axis=-1)[..., :k] if x.size else np.zeros((*x.shape[:-1], k), np.int64)
    return np.take_along_axis(x, order, -1), order.astype(index_type.numpy)


def _top_gradient(b: GradientBuilder, node: Forward, dy: Any, _: Any) -> Any:
    return gradient_at(b, node.inputs[0], node.outputs[1], dy)


def gradient_at(b: GradientBuilder, x: Any, found: Any, dy: Any) -> Any:
    """Each gradient goes to where its element was in its row; the others have none."""
    places = b.cast(found, DstT=dtypes.i32)
    last = b.rank_of(x) - 1
    lanes = b.prod(b.shape_of(x, 0, last), np.array([0], np.int32))
    starts = b.expand_dims(b.mul(b.range(0, lanes, 1), b.size_of(x, last)), np.int32(1))
    lines = b.reshape(places, b.pack(lanes, b.size_of(places, last), axis=0))
    flat = b.reshape(b.add(lines, starts), (-1, 1))
    count = b.reshape(b.mul(lanes, b.size_of(x, last)), (1,))
    return b.reshape(b.scatter_nd(flat, b.reshape(dy, (-1,)), count), b.shape_of(x))


top_k = define(
    "top_k",
    f"TopKV2(input: T, k: Tk; sorted: bool = True, T: {REAL}, Tk: {K_TYPES} = i32, "
    f"index_type: {K_TYPES} = i32) -> (values: T, indices: index_type)",
    infer=_infer_top_k,
    lowering=_lower_top_k,
    reference=lambda x, k, *, index_type: _best(x, int(k), index_type),
    gradient=_top_gradient,
    examples=(
        "T[3,9] i32[]=4",
        "f32[2,3,17]~small i32[]=17",
        "f32[50]~small i64[]=20; index_type=i64",
        "i32[4,6]~small i16[]=1; index_type=i16",
        "u8[2,5] i32[]=0",
        "f32[0,5] i32[]=2",
        "f64[1,1] i32[]=1",
    ),
)


def _top_k_v1(b: Builder, node: Node) -> Any:
    k = b.const(np.int32(node.attrs["k"]))
    return b.top_k(node.inputs[0], k, sorted=node.attrs["sorted"])


top_k_v1 = define(
    "top_k_v1",
    f"TopK(input: T; k: int >= 0, sorted: bool = True, T: {REAL}) -> (values: T, indices: i32)",
    infer=lambda c: _infer_top(c, c.attrs["k"]),
    lowering=Decompose(_top_k_v1),
    reference=lambda x, *, k: _best(x, k, dtypes.i32),
    gradient=_top_gradient,
    examples=("T[2,7]; k=3", "f32[5]~small; k=5"),
)


def _infer_nth(c: Inference) -> Dims:
    if c.rank(0) < 1:
        raise c.fail("Input must be at least rank 1 but is rank 0")
    if c.rank(1) != 0:
        raise c.fail(f"N must be scalar but has rank {c.rank(1)}")
    known, columns = c.content(1), c.dims(0)[-1]
    n = None if known is None else known[()]
    if isinstance(n, (int, np.integer)):
        if n < 0:
            raise c.fail(f"n must be non-negative but is {n}")
        if isinstance(columns, int) and columns <= n:
            raise c.fail(f"Input must have last dimension > n = {n}")
    return c.dims(0)[:-1]


def _nth_of_sorted(b: Builder, node: Node) -> Value:
    """The last of the top k: k = n+1 for the n-th largest, columns-n for the n-th smallest."""
    x, n = node.inputs
    known, columns, rank = b.content(n), x.dims[-1], x.type.rank
    if known is None:  # of all, in order, the one that the run asks for
        values, _ = b.top_k(x, b.scalar_size(columns))
        end = b.cast(b.scalar_size(columns), DstT=n.type.dtype)
        n = b.checked_places(b.reshape(n, (1,)), b.scalar_size(columns, dtypes.i64), kind="n")
        n = b.reshape(n, ())
        place = n if node.attrs["reverse"] else b.sub(b.sub(end, 1), n)
        return b.gather(values, place, np.int32(rank - 1))
    place = as_dim(known[()])
    k = place + 1 if node.attrs["reverse"] else columns - place
    values, _ = b.top_k(x, b.scalar_size(k))
    last = b.slice(values, (0,) * (rank - 1) + (k - 1,), (*x.dims[:-1], 1))
    return b.reshape(last, node.output.dims)


def _nth_reference(x: np.ndarray, n: np.ndarray, *, reverse: bool) -> np.ndarray:
    k = int(n) + 1 if reverse else x.shape[-1] - int(n)
    return np.asarray(_best(x, k, dtypes.i32)[0][..., k - 1])


def _nth_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """Elements that are equal to the one found share its gradient."""
    x, last = node.inputs[0], np.int32(-1)
    equal = b.cast(b.equal(b.expand_dims(node.output, last), x), DstT=dy.dtype)
    count = b.expand_dims(b.sum(equal, last), last)
    return b.mul(b.real_div(equal, count), b.expand_dims(dy, last))


nth_element = define(
    "nth_element",
    f"NthElement(input: T, n: i32; reverse: bool = False, T: {REAL}) -> values: T",
    infer=_infer_nth,
    lowering=Decompose(_nth_of_sorted),
    reference=_nth_reference,
    gradient=_nth_gradient,
    examples=("T[3,9] i32[]=4", "f32[2,3,5] i32[]=1; reverse=True", "i32[7]~small i32[]=6"),
)


# -- membership


def _infer_in_top_k(c: Inference) -> Dims:
    if c.rank(0) != 2:
        raise c.fail("predictions must be 2-dimensional")
    if c.rank(1) != 1:
        raise c.fail("targets must be 1-dimensional")
    if len(c.inputs) == 3 and c.rank(2) != 0:
        raise c.fail(f"k must be a scalar, not {c.inputs[2]}")
    return (c.equal(c.dims(0)[0], c.dims(1)[0]),)


def _in_top(predictions: np.ndarray, targets: np.ndarray, k: int) -> np.ndarray:
    classes = predictions.shape[1]
    inside = (targets >= 0) & (targets < classes)
    wanted = predictions[np.arange(len(targets)), np.where(inside, targets, 0)]
    above = (predictions > wanted[:, None]).sum(-1)
    return inside & np.isfinite(predictions).all(-1) & (above < k)


in_top_k = define(
    "in_top_k",
    "InTopKV2(predictions: f32, targets: T, k: T; T: INDEX = i32) -> precision: bool",
    infer=_infer_in_top_k,
    lowering=lambda node: Native(
        kernels.in_top_k, arguments=(node.inputs[0].dims[1],), parallel=node.inputs[0].dims[0]
    ),
    reference=lambda predictions, targets, k: _in_top(predictions, targets, int(k)),
    examples=(
        "f32[6,4]~small T[6]~index5 T[]=2",
        "f32[6,5] i32[6]~index5 i32[]=3",
        "f32[0,5] i32[0] i32[]=3",
    ),
)

in_top_k_v1 = define(
    "in_top_k_v1",
    "InTopK(predictions: f32, targets: T; k: int, T: INDEX = i32) -> precision: bool",
    infer=_infer_in_top_k,
    lowering=Decompose(
        lambda b, node: b.in_top_k(
            *node.inputs,
            b.const(np.array(node.attrs["k"]), node.inputs[1].type.dtype),
        )
    ),
    reference=lambda predictions, targets, *, k: _in_top(predictions, targets, k),
    examples=("f32[6,4]~small T[6]~index5; k=2",),
)
