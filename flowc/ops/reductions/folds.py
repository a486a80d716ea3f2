"""Ops that fold a tensor along axes: Sum, Mean, Prod, Max, Min, All, Any, EuclideanNorm, L2Loss.

In: op nodes whose axes are constants. Out: their records. Invariant: integers wrap as TensorFlow's
do, f16 and bf16 are summed in f32, and NaN wins in Max and Min.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidModelError
from flowc.ir.dims import Dim, maximum, minimum
from flowc.ir.inference import Inference
from flowc.ir.lowering import Reduction
from flowc.ir.op import Op, define
from flowc.ir.types import Dims
from flowc.ops.arrays.broadcast_gradients import sum_over_run_axes
from flowc.ops.gradients import Forward, GradientBuilder, conjugate
from flowc.ops.math.elementwise import HALVES, wide_dtype, widened

if TYPE_CHECKING:
    from flowc.ir.computation import Node


def constant_axes(node: Node) -> tuple[int, ...]:
    """The axes that input 1 holds, ascending and in [0, rank of input 0).

    Raises `InvalidModelError` where they are not constants.
    """
    axes = node.inputs[1].constant
    if axes is None and node.inputs[1].type.size == 0:
        return ()  # those of an input that no step of the program repeats
    if axes is None:
        raise InvalidModelError(
            f"{node.op.tf_name}: the axes ({node.inputs[1].type}) are computed at run time",
            node=node.name,
            hint="make the axes a constant",
        )
    rank = node.inputs[0].type.rank
    return tuple(sorted(int(a) % rank for a in axes.reshape(-1))) if rank else ()


def infer_reduction(c: Inference) -> Dims:
    """The dims that are left after the axes of input 1 are folded."""
    rank = c.rank(0)
    folded: set[int] = set()
    kept = [(None,) * rank] if c.attrs["keep_dims"] else None
    for axis in c.need_ints(1, shapes=kept):
        if not -rank <= axis < rank:
            text = f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)"
            if c.builds:
                text = f"Invalid reduction dimension {axis} for input with {rank} dimensions."
            raise c.fail(text)
        if axis % rank in folded:
            raise c.fail(
                f"Invalid reduction arguments: Axes contains duplicate dimension: {axis % rank}"
            )
        folded.add(axis % rank)
    if c.attrs["keep_dims"]:
        return tuple(1 if i in folded else d for i, d in enumerate(c.dims(0)))
    return tuple(d for i, d in enumerate(c.dims(0)) if i not in folded)


def accumulator_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What a reference sums elements of a dtype in: wider for floats, so that it errs least."""
    if dtype in HALVES:
        return np.dtype(np.float32)
    wider = {np.float32: np.float64, np.complex64: np.complex128}
    return np.dtype(wider.get(dtype.type, dtype.type))


def reduce_array(
    ufunc: np.ufunc, x: np.ndarray, axes: Any, keep_dims: bool, initial: Any = None
) -> np.ndarray:
    """Folds an array along possibly negative axes, in the dtype of the array."""
    rank = x.ndim
    which = tuple(int(a) % rank for a in np.asarray(axes).reshape(-1)) if rank else ()
    if not which:
        return x.copy()
    extra = {} if initial is None else {"initial": initial}
    if x.dtype != object:
        extra["dtype"] = x.dtype
    return np.asarray(ufunc.reduce(x, axis=which, keepdims=keep_dims, **extra))


def _count(x: np.ndarray, axes: Any) -> int:
    return int(np.prod([x.shape[int(a)] for a in np.asarray(axes).reshape(-1)], dtype=np.int64))


# -- references


def _total(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, axes: np.ndarray, *, keep_dims: bool) -> np.ndarray:
        if x.dtype == object:
            return reduce_array(ufunc, x, axes, keep_dims)
        with np.errstate(all="ignore"):
            total = reduce_array(ufunc, x.astype(accumulator_of(x.dtype)), axes, keep_dims)
            return total.astype(x.dtype)

    return reference


def _mean(x: np.ndarray, axes: np.ndarray, *, keep_dims: bool) -> np.ndarray:
    count = _count(x, axes)
    with np.errstate(all="ignore"):
        if x.dtype.kind in "iu":
            wide = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
            total = reduce_array(np.add, wide, axes, keep_dims)
            quotient = (
                abs(total) // max(count, 1) if wide.dtype.kind == "i" else total // max(count, 1)
            )
            return np.asarray(np.sign(total) * quotient).astype(x.dtype)
        total = reduce_array(np.add, x.astype(accumulator_of(x.dtype)), axes, keep_dims)
        if x.dtype.kind == "c":
            count = max(count, 1)
        return np.asarray(total / np.asarray(count, total.dtype)).astype(x.dtype)


def lowest(dtype: DType) -> Any:
    """The smallest finite number of a dtype."""
    if dtype.is_floating:
        return float(ml_dtypes.finfo(dtype.numpy).min)
    return 0 if dtype.kind == "bool" else int(np.iinfo(dtype.numpy).min)


def highest(dtype: DType) -> Any:
    """The largest finite number of a dtype."""
    if dtype.is_floating:
        return float(ml_dtypes.finfo(dtype.numpy).max)
    return 1 if dtype.kind == "bool" else int(np.iinfo(dtype.numpy).max)


def carried(number: Any, dtype: DType) -> np.generic:
    """A number in the dtype that a kernel sees: halves come as f32, bools as u8."""
    if dtype.kind == "bool":
        return np.uint8(number)
    return wide_dtype(dtype.numpy).type(number)


def _extremum(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, axes: np.ndarray, *, keep_dims: bool) -> np.ndarray:
        wide = widened(x)
        dtype = dtypes.as_dtype(wide.dtype)
        initial = lowest(dtype) if ufunc is np.maximum else highest(dtype)
        if dtype.is_floating:
            initial = -np.inf if ufunc is np.maximum else np.inf
        return reduce_array(ufunc, wide, axes, keep_dims, initial).astype(x.dtype)

    return reference


def _extremum_of_sizes(choose: Callable[[Dim, Dim], Dim]) -> Callable[..., np.ndarray]:
    def content(x: np.ndarray, axes: np.ndarray, *, keep_dims: bool) -> np.ndarray:
        each = np.frompyfunc(choose, 2, 1)  # which NumPy folds along one axis at a time
        which = {int(a) % max(x.ndim, 1) for a in axes.reshape(-1)}
        for axis in sorted(which, reverse=True):
            x = reduce_array(each, x, axis, keep_dims)
        return x

    return content


def _squares(x: np.ndarray) -> np.ndarray:
    """The squared magnitude of each element."""
    if x.dtype.kind != "c":
        return x * x
    real, imaginary = np.real(x), np.imag(x)
    return real * real + imaginary * imaginary


def _euclidean_norm(x: np.ndarray, axes: np.ndarray, *, keep_dims: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        square = _squares(x)
        total = reduce_array(np.add, square.astype(accumulator_of(square.dtype)), axes, keep_dims)
        if x.dtype in HALVES:
            total = total.astype(x.dtype).astype(np.float32)
        root = np.asarray(np.sqrt(total.astype(np.float64) if x.dtype.kind in "iu" else total))
        if x.dtype.kind in "iu" and x.dtype.itemsize < 4:
            return root.astype(np.int32).astype(x.dtype)
        return root.astype(x.dtype)


def _l2_loss(t: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        halves = t * t * np.asarray(0.5, t.dtype)
        return np.asarray(halves.astype(accumulator_of(t.dtype)).sum()).astype(t.dtype)


# -- lowerings


def _fold(combine: str) -> Callable[[Node], Reduction]:
    return lambda node: Reduction(constant_axes(node), combine)


def _lower_mean(node: Node) -> Reduction:
    dtype = node.output.type.dtype
    axes = constant_axes(node)
    if dtype.is_integer:
        wide = dtypes.i64 if dtype.kind == "int" else dtypes.u64
        return Reduction(
            axes,
            "add",
            prepare=lambda k, x, *_: k.cast(x, wide),
            finish=lambda k, total, n: k.cast(k.truncdiv(total, k.max(n, 1)), dtype),
            accumulator=wide,
        )
    if dtype.is_complex:
        return Reduction(
            axes,
            "add",
            finish=lambda k, total, n: k.div(total, k.select(k.eq(n, 0), k.const(1, dtype), n)),
        )
    return Reduction(axes, "add", finish=lambda k, total, n: k.cast(k.div(total, n), dtype))


def _lower_euclidean_norm(node: Node) -> Reduction:
    dtype = node.output.type.dtype

    def prepare(k: Any, x: Any, *_: Any) -> Any:
        if not dtype.is_complex:
            return k.mul(x, x)
        real, imag = k.real(x), k.imag(x)
        return k.add(k.mul(real, real), k.mul(imag, imag))

    def finish(k: Any, total: Any, _: Any) -> Any:
        if dtype.is_complex:
            return k.complex(k.sqrt(total), k.const(0.0, dtype.real_dtype))
        if dtype.is_integer:
            # A sum that wrapped below zero has no root: TensorFlow's NaN becomes the least int,
            # whose low bits are 0.
            root = k.sqrt(k.cast(total, dtypes.f64))
            return k.cast(k.cast(root, dtypes.i32) if dtype.size < 4 else root, dtype)
        return k.sqrt(k.cast(total, dtype))

    return Reduction(constant_axes(node), "add", prepare, finish)


def _lower_l2_loss(node: Node) -> Reduction:
    axes = tuple(range(node.inputs[0].type.rank))
    return Reduction(axes, "add", prepare=lambda k, x, *_: k.mul(k.mul(x, x), 0.5))


# -- gradients


def _kept(b: GradientBuilder, node: Forward, value: Any) -> Any:
    """A folded value with its axes kept as size 1, so that it broadcasts against the input."""
    if node.attrs["keep_dims"]:
        return value
    x, axes = node.inputs
    known, dims = b.elements_of(axes), b.dims_of(x)
    if known is None or dims is None:
        # The run's way: the shape, with ones put in at the axes.
        rank = b.rank(x)
        places = b.floor_mod(b.reshape(b.cast(axes, DstT=dtypes.i32), (-1,)), rank)
        ones = b.ones_like(places)
        return b.reshape(value, b.dynamic_stitch(b.range(0, rank, 1), places, b.shape_of(x), ones))
    for axis in sorted({int(a) % len(dims) for a in known.reshape(-1)}):
        value = b.expand_dims(value, np.int32(axis))
    return value


def _sum_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, axes = node.inputs
    known, dims = b.elements_of(axes), b.dims_of(x)
    if known is None or dims is None or known.reshape(-1).tolist() != [*range(len(dims))]:
        return b.broadcast_to(_kept(b, node, dy), b.shape_of(x))
    ones = b.reshape(dy, (1,) * len(dims))
    is_known = all(isinstance(size, int) for size in dims)
    return b.tile(ones, b.const(np.array(dims, np.int32)) if is_known else b.shape_of(x))


def _mean_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x = node.inputs[0]
    total = _sum_gradient(b, node, dy)
    counts = [_known_count(b.dims_of(v)) for v in (x, node.output)]
    if counts[0] is not None and counts[1] is not None:
        return b.real_div(total, b.const(counts[0] // max(counts[1], 1), x.dtype))
    folded = b.floor_div(b.count_of(x), b.maximum(b.count_of(node.output), 1))
    return b.real_div(total, b.cast(folded, DstT=x.dtype))


def _known_count(dims: Any) -> int | None:
    known = [d for d in dims or () if isinstance(d, int)]
    return None if dims is None or len(known) < len(dims) else math.prod(known)


def _extremum_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, axes = node.inputs
    hits = b.cast(b.equal(x, _kept(b, node, node.output)), DstT=x.dtype)
    return b.mul(hits, b.real_div(_kept(b, node, dy), b.sum(hits, axes, keep_dims=True)))


def _product_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The product of the other elements: of those before and those after, over all axes at once."""
    x, axes = node.inputs
    order, back, folded = _folded_first(b, x, axes)
    moved = b.transpose(x, order)
    sizes = b.shape_of(moved)
    counts = [b.prod(s, np.array([0], np.int32)) for s in (
        b.slice(sizes, (0,), folded), b.slice(sizes, folded, (-1,))
    )]  # fmt: skip
    lanes = b.reshape(moved, b.pack(*counts, axis=0))
    before = b.cumprod(lanes, np.int32(0), exclusive=True)
    after = b.cumprod(lanes, np.int32(0), exclusive=True, reverse=True)
    others = b.reshape(b.mul(conjugate(b, before), conjugate(b, after)), sizes)
    return b.mul(_kept(b, node, dy), b.transpose(others, back))


def _folded_first(b: GradientBuilder, x: Any, axes: Any) -> tuple[Any, Any, Any]:
    """An order of the axes of `x` that begins with those folded, the way back from it, and how many
    these are, as a vector of one."""
    known, dims = b.elements_of(axes), b.dims_of(x)
    if known is None or dims is None:
        rank = b.rank(x)
        places = b.floor_mod(b.reshape(b.cast(axes, DstT=dtypes.i32), (-1,)), rank)
        others, _ = b.list_diff(b.range(0, rank, 1), places)
        order = b.concat(places, others, np.int32(0))
        return order, b.invert_permutation(order), b.shape_of(places)
    folded = sorted({int(a) % len(dims) for a in known.reshape(-1)})
    order = np.array([*folded, *(a for a in range(len(dims)) if a not in folded)], np.int32)
    return order, np.argsort(order).astype(np.int32), (len(folded),)


def _euclidean_norm_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return b.mul(node.inputs[0], b.real_div(_kept(b, node, dy), _kept(b, node, node.output)))


# -- records

_SIGNATURE = (
    "{name}(input: T, reduction_indices: Tidx; keep_dims: bool = False, T: {types},"
    " Tidx: INDEX = i32) -> output: T"
)
_EXAMPLES = (
    "T[2,3] i32[1]=[1]",
    "T[2,3,5] i32[2]=[0,-1]; keep_dims=True",
    "T[4,17] i32[]=0",
    "T[1,0,3] i64[1]=[1]; Tidx=i64",
    "T[3] i32[0]=[]",
    "T[37] i32[1]=[-1]",
)


def _define_fold(name: str, tf_name: str, types: str, **fields: Any) -> Op:
    return define(
        name,
        _SIGNATURE.format(name=tf_name, types=types),
        infer=infer_reduction,
        examples=fields.pop("examples", _EXAMPLES),
        **fields,
    )


sum_ = _define_fold(
    "sum", "Sum", "NUMBER",
    lowering=_fold("add"), reference=_total(np.add), gradient=_sum_gradient, content=True,
    on_lists=sum_over_run_axes,
)  # fmt: skip
prod = _define_fold(
    "prod", "Prod", "NUMBER", lowering=_fold("mul"), reference=_total(np.multiply),
    gradient=_product_gradient, content=True,
)  # fmt: skip
mean = _define_fold(
    "mean", "Mean", "NUMBER", lowering=_lower_mean, reference=_mean, gradient=_mean_gradient
)  # fmt: skip
max_ = _define_fold(
    "max", "Max", "REAL",
    lowering=_fold("max"), reference=_extremum(np.maximum), gradient=_extremum_gradient,
    content=_extremum_of_sizes(maximum),
)  # fmt: skip
min_ = _define_fold(
    "min", "Min", "REAL",
    lowering=_fold("min"), reference=_extremum(np.minimum), gradient=_extremum_gradient,
    content=_extremum_of_sizes(minimum),
)  # fmt: skip
euclidean_norm = _define_fold(
    "euclidean_norm", "EuclideanNorm", "NUMBER",
    lowering=_lower_euclidean_norm, reference=_euclidean_norm, gradient=_euclidean_norm_gradient,
)  # fmt: skip


def _define_logical(name: str, tf_name: str, combine: str, ufunc: np.ufunc) -> Op:
    return define(
        name,
        f"{tf_name}(input: bool, reduction_indices: Tidx; keep_dims: bool = False,"
        " Tidx: INDEX = i32) -> output: bool",
        infer=infer_reduction,
        lowering=_fold(combine),
        reference=lambda x, axes, *, keep_dims: reduce_array(ufunc, x, axes, keep_dims),
        examples=tuple(e.replace("T[", "bool[") for e in _EXAMPLES),
    )


all_ = _define_logical("all", "All", "and", np.logical_and)
any_ = _define_logical("any", "Any", "or", np.logical_or)

l2_loss = define(
    "l2_loss",
    "L2Loss(t: T; T: FLOAT) -> output: T",
    infer=lambda c: (),
    lowering=_lower_l2_loss,
    reference=_l2_loss,
    gradient=lambda b, node, dy: b.mul(node.inputs[0], dy),
    examples=("T[7]", "T[2,3]", "T[0]", "T[]"),
)
