"""Ops that keep every element and change the dims: reshape, squeeze, expand_dims, transpose.

In: one tensor. Out: its elements in other dims. Invariant: the number of elements stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, floordiv, product
from flowc.ir.inference import Inference, NeedsContent, indivisible
from flowc.ir.lowering import Decompose, Lowering, View
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.broadcast_gradients import reshape_unranked
from flowc.ops.arrays.shapes import constant_ints
from flowc.ops.gradients import Forward, GradientBuilder

# -- reshape


def matching_groups(source: Dims, target: Dims) -> list[tuple[range, range]]:
    """Splits two dims of one total into runs of axes whose products are equal, from the left."""
    source_at = {p: i + 1 for i, p in enumerate(accumulate(source, lambda a, b: a * b))}
    groups: list[tuple[range, range]] = []
    i = j = 0
    for end, p in enumerate(accumulate(target, lambda a, b: a * b)):
        found = source_at.get(p, 0)
        if found > i:
            groups.append((range(i, found), range(j, end + 1)))
            i, j = found, end + 1
    if i < len(source) or j < len(target):
        groups.append((range(i, len(source)), range(j, len(target))))
    return groups


def reshaped_index(source: Dims, target: Dims, index: Sequence[Dim]) -> tuple[Dim, ...]:
    """The index in `source` of the element that stands at `index` in `target` (row-major)."""
    result: list[Dim] = []
    for ours, theirs in matching_groups(source, target):
        flat: Dim = 0
        for axis in theirs:
            flat = flat * target[axis] + (0 if target[axis] == 1 else index[axis])
        strides = [product(source[a] for a in range(axis + 1, ours.stop)) for axis in ours]
        first = True
        for axis, stride in zip(ours, strides):
            if source[axis] == 1:
                result.append(0)
                continue
            place = floordiv(flat, stride)
            result.append(place if first else place % source[axis])
            first = False
    return tuple(result)


def _lower_reshape(node: Node) -> Lowering:
    source, target = node.inputs[0].dims, node.output.dims
    if any(d == 0 for d in (*source, *target)):
        return View(lambda k, index: k.const(0, node.output.type.dtype), reshape=True)
    return View(lambda k, index: k.load(0, reshaped_index(source, target, index)), reshape=True)


def _infer_reshape(c: Inference) -> Dims:
    if c.builds:  # a scalar is found in old graphs
        c.need_rank(1, 1)
    wanted = [c.need_size(1)] if c.rank(1) == 0 else list(c.need_sizes(1))
    total = c.inputs[0].size
    for i, dim in enumerate(wanted):
        if isinstance(dim, int) and dim < -1:
            built = f"Invalid value in tensor used for shape: {dim}"
            raise c.fail(f"Size {i} must be non-negative, not {dim}", built=built)
    open_axes = [i for i, d in enumerate(wanted) if d == -1]
    if len(open_axes) > 1:
        raise c.fail(f"Only one input size may be -1, not both {open_axes[0]} and {open_axes[1]}")
    rest = product(d for d in wanted if d != -1)
    if open_axes:
        return _fill_open_axis(c, wanted, open_axes[0], total, rest)
    fault = f"Input to reshape is a tensor with {total} values, but the requested shape has {rest}"
    if isinstance(total, int) and isinstance(rest, int) and total != rest:
        shown = shown_dims(tuple(wanted))
        built = f"Cannot reshape a tensor with {total} elements to shape {shown} ({rest} elements)"
        raise c.fail(fault, built=built)
    known = product(d for d in c.dims(0) if isinstance(d, int))
    if isinstance(known, int) and isinstance(rest, int) and known and rest % known:
        raise c.fail(fault, built=indivisible(known, rest))
    c.equal(total, rest, fault)
    return tuple(wanted)


def _fill_open_axis(c: Inference, wanted: list[Dim], axis: int, total: Dim, rest: Dim) -> Dims:
    if rest == 0:
        wanted[axis] = _axis_of_nothing(c, wanted)
        c.equal(total, 0)
        return tuple(wanted)
    wanted[axis] = floordiv(total, rest)
    if isinstance(total, int) and isinstance(rest, int) and total % rest:
        raise c.fail(
            f"Input to reshape is a tensor with {total} values, but the requested shape "
            f"requires a multiple of {rest}",
            built=indivisible(rest, total),
        )
    if total != wanted[axis] * rest:
        c.equal(total, wanted[axis] * rest)
    return tuple(wanted)


def _axis_of_nothing(c: Inference, wanted: list[Dim]) -> int:
    """The open axis beside a size of 0: TensorFlow divides the sizes that are not 0."""
    dims = [*c.dims(0), *wanted]
    if not all(isinstance(d, int) for d in dims):
        raise c.fail(
            "reshape cannot infer the missing input size for an empty tensor unless all "
            "specified input sizes are non-zero"
        )
    return _quotient_of_sizes(c.dims(0), wanted)


def _quotient_of_sizes(dims: Sequence[Any], wanted: Sequence[Any]) -> int:
    filled = math.prod(d for d in dims if d != 0)
    return filled // math.prod(d for d in wanted if d not in (0, -1))


def _reshape(tensor: np.ndarray, shape: np.ndarray) -> np.ndarray:
    wanted = [int(d) for d in shape.reshape(-1)]
    if 0 in wanted and -1 in wanted:
        wanted[wanted.index(-1)] = _quotient_of_sizes(tensor.shape, wanted)
    try:
        return tensor.reshape(wanted)
    except ValueError as error:
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {tensor.size} values, but the requested shape "
            f"is {shape.tolist()}"
        ) from error


# -- squeeze and expand_dims


def _squeezed_axes(c: Inference) -> tuple[int, ...]:
    dims = c.dims(0)
    axes = tuple(c.axis(a, len(dims)) for a in c.attrs["squeeze_dims"])
    if not axes:
        if c.builds and not all(isinstance(d, int) for d in dims):
            raise NeedsContent("which sizes are 1, only the run tells", shapes=[None])
        return tuple(i for i, d in enumerate(dims) if d == 1)
    for axis in axes:
        if isinstance(dims[axis], int) and dims[axis] != 1:
            raise c.fail(
                f"Can not squeeze dim[{axis}], expected a dimension of 1, got {dims[axis]}"
            )
        c.equal(dims[axis], 1)
    return axes


def _infer_squeeze(c: Inference) -> Dims:
    axes = _squeezed_axes(c)
    return tuple(d for i, d in enumerate(c.dims(0)) if i not in axes)


def _squeeze(x: np.ndarray, *, squeeze_dims: tuple[int, ...]) -> np.ndarray:
    axes = {axis % x.ndim for axis in squeeze_dims}  # one may be named twice
    return np.squeeze(x, axis=tuple(axes) or None)


def _reshape_to_output(b: Any, node: Node) -> Value:
    return b.reshape(node.inputs[0], node.output.dims)


def _reshape_back(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return b.reshape(dy, b.shape_of(node.inputs[0]))


def _infer_expand_dims(c: Inference) -> Dims:
    fault = f"'dim' must be a tensor with a single value, not {c.inputs[1]}"
    c.need_dims(1, (1,) * c.rank(1), fault)
    (axis,) = c.need_ints(1)
    dims = c.dims(0)
    if not -len(dims) - 1 <= axis <= len(dims):
        fault = f"Tried to expand dim index {axis} for tensor with {len(dims)} dimensions."
        built = f"dim {axis} not in the interval [{-len(dims) - 1}, {len(dims)}]."
        raise c.fail("" if c.builds else fault, built=built)
    at = axis % (len(dims) + 1)
    return (*dims[:at], 1, *dims[at:])


def _expand_dims(x: np.ndarray, dim: np.ndarray) -> np.ndarray:
    return np.expand_dims(x, int(dim.reshape(-1)[0]))


# -- transpose


def _infer_transpose(c: Inference) -> Dims:
    dims = c.dims(0)
    c.need_rank(1, 1, f"perm must be rank 1, got {c.inputs[1]}")
    count, rank = c.dims(1)[0], len(dims)
    known = not isinstance(count, int) or count == rank
    perm = c.need_ints(1, shapes=[(None,) * rank]) if known else None
    if perm is None or len(perm) != rank:
        fault = f"transpose expects a vector of size {rank}. But {c.inputs[1]} was given"
        raise c.fail(fault, built=f"Dimension must be {rank} but is {count}")
    perm = [p + rank if -rank <= p < 0 else p for p in perm]
    for i, p in enumerate(perm):
        if not 0 <= p < len(dims):
            built = f"perm dim {p} is out of range of input rank {len(dims)}"
            raise c.fail(f"{p} is out of range [0 .. {len(dims)})", built=built)
        if p in perm[:i]:
            missing = next(k for k in range(len(dims)) if k not in perm)
            shown = ",".join(map(str, perm))
            raise c.fail(f"{missing} is missing from {{{shown}}}.")
    return tuple(dims[p] for p in perm)


def _permutation(node: Node) -> list[int]:
    rank = node.inputs[0].type.rank
    return [p % rank for p in constant_ints(node, 1)]


def _lower_transpose(node: Node) -> Lowering:
    perm = _permutation(node)
    places = [perm.index(axis) for axis in range(len(perm))]
    return View(lambda k, index: k.load(0, tuple(index[p] for p in places)))


def _lower_conjugate_transpose(b: Any, node: Node) -> Value:
    moved = b.transpose(*node.inputs)
    return b.conj(moved) if moved.type.dtype.kind == "complex" else moved


def _inverse(b: GradientBuilder, node: Forward) -> Any:
    perm = b.elements_of(node.inputs[1])
    if perm is None:
        return b.invert_permutation(node.inputs[1])
    return b.const(np.argsort(perm % max(perm.size, 1)).astype(np.int32))


def _transpose(x: np.ndarray, perm: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.transpose([int(p) for p in perm])).reshape(
        [x.shape[int(p)] for p in perm]
    )


reshape = define(
    "reshape",
    "Reshape(tensor: T, shape: Tshape; T: type, Tshape: {i32, i64} = i32) -> output: T",
    infer=_infer_reshape,
    reference=_reshape,
    lowering=_lower_reshape,
    gradient=_reshape_back,
    examples=(
        "T[2,3] i32[2]=[3,2]",
        "T[4,3,2] i64[3]=[2,-1,6]",
        "f32[2,0] i32[2]=[0,5]",
        "f32[1] i32[0]",
        "f32[] i32[2]=[1,-1]",
    ),
    traits=frozenset({"moves"}),
    content=True,
    on_lists=reshape_unranked,
)

squeeze = define(
    "squeeze",
    "Squeeze(input: T; T: type, squeeze_dims: list(int) >= 0 = []) -> output: T",
    infer=_infer_squeeze,
    reference=_squeeze,
    lowering=Decompose(_reshape_to_output),
    gradient=_reshape_back,
    examples=(
        "T[1,3,1]",
        "f32[1,3,1]; squeeze_dims=[-1]",
        "f32[1,1]; squeeze_dims=[0]",
        "f32[1,0]",
        "f32[]",
    ),
    traits=frozenset({"moves"}),
    content=True,
)

expand_dims = define(
    "expand_dims",
    "ExpandDims(input: T, dim: Tdim; T: type, Tdim: {i32, i64} = i32) -> output: T",
    infer=_infer_expand_dims,
    reference=_expand_dims,
    lowering=Decompose(_reshape_to_output),
    gradient=_reshape_back,
    examples=("T[2,3] i32[]=1", "f32[2,3] i64[]=-1", "f32[] i32[1]=[0]", "f32[0] i32[]=-2"),
    traits=frozenset({"moves"}),
    content=True,
)

transpose = define(
    "transpose",
    "Transpose(x: T, perm: Tperm; T: type, Tperm: {i32, i64} = i32) -> y: T",
    infer=_infer_transpose,
    reference=_transpose,
    lowering=_lower_transpose,
    gradient=lambda b, node, dy: b.transpose(dy, _inverse(b, node)),
    examples=(
        "T[2,3] i32[2]=[1,0]",
        "f32[5,1,3,2] i64[4]=[0,3,1,2]",
        "f32[2,3,4] i32[3]=[2,1,0]",
        "f32[0,3] i32[2]=[1,0]",
        "f32[] i32[0]",
    ),
    content=True,
)

conjugate_transpose = define(
    "conjugate_transpose",
    "ConjugateTranspose(x: T, perm: Tperm; T: type, Tperm: {i32, i64} = i32) -> y: T",
    infer=_infer_transpose,
    reference=lambda x, perm: (
        np.conj(_transpose(x, perm)) if x.dtype.kind == "c" else _transpose(x, perm)
    ),
    lowering=Decompose(_lower_conjugate_transpose),
    gradient=lambda b, node, dy: b.conjugate_transpose(dy, _inverse(b, node)),
    examples=("T[2,3] i32[2]=[1,0]", "c64[2,3,4] i32[3]=[1,2,0]"),
)
