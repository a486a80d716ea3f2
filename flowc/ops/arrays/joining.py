"""Ops that join tensors and take them apart: concat, pack, split, unpack.

In and out: tensors that agree in all dims but one. Invariant: every element of the whole is one
element of one part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Expr, as_dim, floordiv
from flowc.ir.inference import Inference, indivisible
from flowc.ir.lowering import Decompose, Lowering, View
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.identity import shape_attr_dims
from flowc.ops.arrays.shapes import constant_ints
from flowc.ops.gradients import Forward, GradientBuilder

# -- concat and pack


def _concat_dims(c: Inference, axis_input: int, parts: range) -> Dims:
    first = c.dims(parts[0])
    for i in parts:
        if c.rank(i) != len(first):
            raise c.fail(
                f"ConcatOp : Ranks of all input tensors should match: {_two_shapes(c, parts, i)}",
                built=f"Shape must be rank {len(first)} but is rank {c.rank(i)}",
            )
    axis = c.need_int(axis_input, [(None,) * len(first)])
    if not -len(first) <= axis < len(first):
        raise c.fail(
            "ConcatOp : Expected concatenating dimensions in the range "
            f"[{-len(first)}, {len(first)}), but got {axis}",
            built=f"Shape must be at least rank {axis + 1} but is rank {len(first)}",
        )
    axis %= len(first)
    dims = list(first)
    for i in parts[1:]:
        for a, (ours, theirs) in enumerate(zip(dims, c.dims(i))):
            if a == axis:
                dims[a] = ours + theirs
            elif isinstance(ours, int) and isinstance(theirs, int) and ours != theirs:
                fault = f"Dimension {a} in both shapes must be equal"
                raise c.fail(
                    f"ConcatOp : {fault}: {_two_shapes(c, parts, i)}",
                    built=f"{fault}, but are {ours} and {theirs}",
                )
            else:
                dims[a] = c.equal(ours, theirs)
    return tuple(dims)


def _two_shapes(c: Inference, parts: range, i: int) -> str:
    first, other = (shown_dims(c.dims(k)) for k in (parts[0], i))
    return f"shape[0] = {first} vs. shape[{i - parts[0]}] = {other}"


def _infer_concat(c: Inference) -> Dims:
    last = len(c.inputs) - 1
    return _concat_dims(c, last, range(last))


def read_joined(k: Any, index: tuple[Dim, ...], axis: int, values: Sequence[Value]) -> Any:
    """The element at `index` of the concatenation of a kernel's inputs along `axis`."""
    result = k.const(0, values[0].type.dtype)
    starts: list[Dim] = [0]
    for value in values:
        starts.append(starts[-1] + value.dims[axis])
    for i in reversed(range(len(values))):
        inside = k.in_range(index[axis], starts[i], starts[i + 1])
        place = (*index[:axis], index[axis] - starts[i], *index[axis + 1 :])
        result = k.load_if(inside, i, place, result)
    return result


def _lower_concat(node: Node) -> Lowering:
    axis = constant_ints(node, len(node.inputs) - 1)[0] % node.output.type.rank
    return View(lambda k, index: read_joined(k, index, axis, node.inputs[:-1]))


def _concat(values: list[np.ndarray], axis: np.ndarray) -> np.ndarray:
    return np.concatenate(values, axis=int(axis.reshape(-1)[0]))


def _concat_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return _pieces_of(b, dy, node.inputs[:-1], node.inputs[-1])


def _pieces_of(b: GradientBuilder, dy: Any, values: Sequence[Any], axis: Any) -> list[Any]:
    shapes = [b.shape_of(v) for v in values]
    axis = b.cast(axis, DstT=dtypes.i32) if axis.dtype is not dtypes.i32 else axis
    offsets = b.concat_offset(axis, *shapes) if len(values) > 1 else [b.zeros_like(shapes[0])]
    return [b.slice(dy, offset, shape) for offset, shape in zip(offsets, shapes)]


def _pieces(b: Any, value: Value, axis: int, sizes: Sequence[Dim]) -> list[Value]:
    """Consecutive runs of `value` along an axis, one of each size."""
    start: Dim = 0
    found: list[Value] = []
    for size in sizes:
        begin = tuple(start if a == axis else 0 for a in range(value.type.rank))
        box = tuple(size if a == axis else d for a, d in enumerate(value.dims))
        found.append(b.slice(value, begin, box))
        start = start + size
    return found


def _join(b: GradientBuilder, parts: Sequence[Any], axis: Any) -> Any:
    return parts[0] if len(parts) == 1 else b.concat(*parts, axis)


def _unlike_values(c: Inference, i: int) -> str:
    one, other = (shown_dims(c.dims(k)) for k in (0, i))
    return (
        f"Shapes of all inputs must match: values[0].shape = {one} != values[{i}].shape = {other}"
    )


def _infer_pack(c: Inference) -> Dims:
    dims = c.dims(0)
    for i, other in enumerate(c.inputs):
        if other.rank != len(dims):
            built = f"Shapes must be equal rank, but are {len(dims)} and {other.rank}"
            raise c.fail(_unlike_values(c, i), built=built)
        for axis, (x, y) in enumerate(zip(dims, other.dims)):
            if isinstance(x, int) and isinstance(y, int) and x != y:
                built = f"Dimension {axis} in both shapes must be equal, but are {x} and {y}"
                raise c.fail(_unlike_values(c, i), built=built)
        dims = tuple(c.equal(x, y) for x, y in zip(dims, other.dims))
    axis = c.axis(c.attrs["axis"], len(dims) + 1)
    return (*dims[:axis], len(c.inputs), *dims[axis:])


def _lower_pack(b: Any, node: Node) -> Value:
    axis = node.attrs["axis"] % node.output.type.rank
    dims = node.output.dims  # of the sizes that must be equal the known ones
    wide = (*dims[:axis], 1, *dims[axis + 1 :])
    parts = [b.reshape(v, wide) for v in node.inputs]
    return parts[0] if len(parts) == 1 else b.concat(*parts, np.int32(axis))


def _pack(values: list[np.ndarray], *, axis: int) -> np.ndarray:
    return np.stack(values, axis=axis)


# -- split and unpack


def _infer_split(c: Inference) -> list[Dims]:
    dims = c.dims(1)
    count = c.attrs["num_split"]
    axis = c.axis(c.need_int(0, shapes=[(None,) * len(dims)] * count), len(dims))
    size = dims[axis]
    if isinstance(size, int) and size % count:
        raise c.fail(
            "Number of ways to split should evenly divide the split dimension, but got "
            f"split_dim {axis} (size = {size}) and num_split {count}",
            built=indivisible(count, size),
        )
    part = floordiv(size, count)
    if part * count != size:
        c.equal(part * count, size)
    return [(*dims[:axis], part, *dims[axis + 1 :])] * count


def _split(split_dim: np.ndarray, value: np.ndarray, *, num_split: int) -> list[np.ndarray]:
    axis = int(split_dim.reshape(-1)[0])
    if value.shape[axis] % num_split:
        raise InvalidArgumentError(
            "Number of ways to split should evenly divide the split dimension, but got "
            f"split_dim {axis} (size = {value.shape[axis]}) and num_split {num_split}"
        )
    return np.split(value, num_split, axis=axis)


def _lower_split(value: int, along: int) -> Decompose:
    """`value` and `along`: which inputs are the tensor and the axis."""

    def build(b: Any, node: Node) -> list[Value]:
        whole = node.inputs[value]
        axis = constant_ints(node, along)[0] % whole.type.rank
        return _pieces(b, whole, axis, [v.dims[axis] for v in node.outputs])

    return Decompose(build)


def _infer_split_v(c: Inference) -> list[Dims]:
    dims = c.dims(0)
    count = c.attrs["num_split"]
    axis = c.axis(c.need_int(2, shapes=[(None,) * len(dims)] * count), len(dims))
    c.need_rank(1, 1, f"size_splits must be a vector, not {c.inputs[1]}")
    static = [None if k == axis or isinstance(d, Expr) else d for k, d in enumerate(dims)]
    sizes = [as_dim(d) for d in c.need(1, shapes=[tuple(static)] * count)]
    if len(sizes) != count:
        raise c.fail(f"size_splits has {len(sizes)} elements for {count} outputs")
    rest: Dim = dims[axis]
    for size in sizes:
        rest = rest if size == -1 else rest - size
    open_parts = sum(1 for s in sizes if s == -1)
    wrong = isinstance(rest, int) and (rest < 0 if open_parts else rest != 0)
    if open_parts > 1 or wrong:
        raise c.fail(
            "Determined shape must either match input shape along split_dim exactly if fully "
            f"specified, or be less than the size of the input along split_dim if not: {sizes}",
            built=f"can't split axis of size {dims[axis]} into pieces of size "
            f"{shown_dims(tuple(sizes))}",
        )
    if not open_parts:
        c.equal(dims[axis] - rest, dims[axis])
    parts = [rest if s == -1 else s for s in sizes]
    return [(*dims[:axis], p, *dims[axis + 1 :]) for p in parts]


def _split_v(value: np.ndarray, size_splits: np.ndarray, split_dim: np.ndarray) -> list[np.ndarray]:
    axis = int(split_dim.reshape(-1)[0])
    sizes = [int(s) for s in size_splits]
    if -1 in sizes:
        sizes[sizes.index(-1)] = value.shape[axis] - sum(sizes) - 1
    if min(sizes) < 0 or sum(sizes) != value.shape[axis]:
        raise InvalidArgumentError(
            f"sizes {size_splits.tolist()} do not split a dimension of {value.shape[axis]}"
        )
    return np.split(value, np.cumsum(sizes)[:-1], axis=axis)


def _infer_unpack(c: Inference) -> list[Dims]:
    dims = c.dims(0)
    axis = c.axis(c.attrs["axis"], len(dims))
    count = c.attrs["num"]
    if isinstance(dims[axis], int) and dims[axis] != count:
        fault = f"Input shape axis {axis} must equal {count}, got shape {shown_dims(c.dims(0))}"
        raise c.fail(fault, built=f"Dimension must be {count} but is {c.dims(0)[axis]}")
    c.equal(dims[axis], count)
    return [(*dims[:axis], *dims[axis + 1 :])] * count


def _unpack(value: np.ndarray, *, num: int, axis: int) -> list[np.ndarray]:
    if value.shape[axis] != num:
        raise InvalidArgumentError(
            f"Input shape axis {axis} must equal {num}, got shape {list(value.shape)}"
        )
    parts = np.moveaxis(value, axis, 0)
    return [parts[i, ...] for i in range(num)]  # an array also of one string, whose end zeros stay


def _lower_unpack(b: Any, node: Node) -> list[Value]:
    value = node.inputs[0]
    axis = node.attrs["axis"] % value.type.rank
    parts = _pieces(b, value, axis, [1] * len(node.outputs))
    return [b.reshape(p, o.dims) for p, o in zip(parts, node.outputs)]


def _infer_parallel_concat(c: Inference) -> Dims:
    dims = shape_attr_dims(c)
    for i, part in enumerate(c.inputs):
        if part.dims != (1, *dims[1:]):
            raise c.fail(f"input {i} is {part}, expected a leading 1 and the rest of {list(dims)}")
    return (len(c.inputs), *dims[1:])


def _lower_parallel_concat(node: Node) -> Lowering:
    return View(lambda k, index: read_joined(k, index, 0, node.inputs))


concat = define(
    "concat",
    "ConcatV2(values: N*T, axis: Tidx; N: int >= 2, T: type, Tidx: {i32, i64} = i32) -> output: T",
    infer=_infer_concat,
    reference=_concat,
    lowering=_lower_concat,
    gradient=_concat_gradient,
    examples=(
        "T[2,3] T[2,1] i32[]=1",
        "f32[2] f32[0] f32[3] i64[]=-1",
        "f32[1,2,2] f32[3,2,2] i32[]=-3",
        "f32[2,0] f32[2,0] i32[]=0",
    ),
    traits=frozenset({"moves"}),
    content=True,
)

concat_v1 = define(
    "concat_v1",
    "Concat(concat_dim: i32, values: N*T; N: int >= 2, T: type) -> output: T",
    infer=lambda c: _concat_dims(c, 0, range(1, len(c.inputs))),
    reference=lambda concat_dim, values: _concat(values, concat_dim),
    lowering=Decompose(lambda b, node: b.concat(*node.inputs[1:], node.inputs[0])),
    gradient=lambda b, node, dy: (
        None,
        *_pieces_of(b, dy, node.inputs[1:], node.inputs[0]),
    ),
    examples=("i32[]=1 T[2,3] T[2,1]", "i32[]=-1 f32[2] f32[0]"),
    traits=frozenset({"moves"}),
    content=True,
)

pack = define(
    "pack",
    "Pack(values: N*T; N: int >= 1, T: type, axis: int = 0) -> output: T",
    infer=_infer_pack,
    reference=_pack,
    lowering=Decompose(_lower_pack),
    gradient=lambda b, node, dy: b.unpack(dy, num=len(node.inputs), axis=node.attrs["axis"]),
    examples=("T[2,3] T[2,3]; axis=1", "f32[] f32[] f32[]", "f32[2]; axis=-1", "f32[0] f32[0]"),
    traits=frozenset({"moves"}),
    content=True,
)

split = define(
    "split",
    "Split(split_dim: i32, value: T; num_split: int >= 1, T: type) -> output: num_split*T",
    infer=_infer_split,
    reference=_split,
    lowering=_lower_split(1, 0),
    gradient=lambda b, node, *dys: (None, _join(b, dys, node.inputs[0])),
    examples=(
        "i32[]=1 T[2,6]; num_split=3",
        "i32[]=-2 f32[4,1]; num_split=2",
        "i32[]=0 f32[0,2]; num_split=2",
        "i32[]=0 f32[3]; num_split=1",
    ),
    content=True,
)

split_v = define(
    "split_v",
    "SplitV(value: T, size_splits: Tlen, split_dim: i32; num_split: int >= 1, T: type,"
    " Tlen: {i8, i32, i64} = i64) -> output: num_split*T",
    infer=_infer_split_v,
    reference=_split_v,
    lowering=_lower_split(0, 2),
    gradient=lambda b, node, *dys: _join(b, dys, node.inputs[2]),
    examples=(
        "T[2,6] i32[3]=[1,2,3] i32[]=1; num_split=3",
        "f32[5,2] i64[2]=[2,-1] i32[]=-2; num_split=2",
        "f32[3] i64[2]=[0,3] i32[]=0; num_split=2",
    ),
    content=True,
)

unpack = define(
    "unpack",
    "Unpack(value: T; num: int >= 0, T: type, axis: int = 0) -> output: num*T",
    infer=_infer_unpack,
    reference=_unpack,
    lowering=Decompose(_lower_unpack),
    gradient=lambda b, node, *dys: b.pack(*dys, axis=node.attrs["axis"]),
    examples=("T[2,3]; num=3, axis=1", "f32[2,0]; num=2", "f32[4]; num=4, axis=-1"),
    content=True,
)

parallel_concat = define(
    "parallel_concat",
    "ParallelConcat(values: N*T; N: int >= 1, T: type, shape: shape) -> output: T",
    infer=_infer_parallel_concat,
    reference=lambda values: np.concatenate(values, axis=0),
    lowering=_lower_parallel_concat,
    examples=("T[1,3] T[1,3]; shape=(2, 3)",),
)
