"""Ops that read shapes, and what is known of a shape's elements.

In: tensors, or small integer vectors that hold shapes. Out: shapes. Invariant: nothing here reads
an element of a tensor that is not itself a shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType, i32
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder, content_of, types_suffice
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Expr, Symbol, as_dim
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.types import Dims, TensorType
from flowc.ops.arrays.broadcast_gradients import axes_of_data
from flowc.ops.gradients import no_gradient


def known_elements(value: Value) -> np.ndarray | None:
    """The elements of a value as numbers and sizes (an object array holds sizes); None: data."""
    found: dict[Value, np.ndarray | None] = {}
    stack = [value]
    while stack:
        top = stack[-1]
        missing: list[Value] = []

        def known(operand: Value, missing: list[Value] = missing) -> np.ndarray | None:
            if operand not in found:
                missing.append(operand)
            return found.get(operand)

        content = content_of(top, known)
        if missing:
            stack += missing
        else:
            found[top] = content
            stack.pop()
    return found[value]


def known_dims(value: Value) -> tuple[Dim, ...] | None:
    """The elements of an integer value, flattened, as ints and sizes; None where they are data."""
    found = known_elements(value)
    return None if found is None else tuple(as_dim(x) for x in found.reshape(-1))


def known_ints(value: Value) -> tuple[int, ...] | None:
    """The elements of an integer value, flattened; None where any is not a constant."""
    found = known_dims(value)
    if found is None or any(isinstance(d, Expr) for d in found):
        return None
    return tuple(int(d) for d in found)


def constant_ints(node: Node, i: int) -> tuple[int, ...]:
    """The elements of a node's input i. Raises `NeedsContent` where they are not constants."""
    found = known_ints(node.inputs[i])
    if found is None:
        raise NeedsContent(
            f"{node.op.tf_name} needs constants as its input {i} ({node.inputs[i].type})",
            node=node.name,
            hint="make that input a constant of the graph",
        )
    return found


def size_scalar(k: Any, value: Value, operand: int, position: int, extent: Dim) -> Dim:
    """Element `position` of an integer vector as an index: known, or read by the kernel."""
    found = known_dims(value)
    if found is not None:
        return found[position]
    index = (position,) if value.type.rank else ()
    return k.as_index(k.load(operand, index), extent)


def append_sized(
    b: Builder,
    name: str,
    inputs: Sequence[Value],
    attrs: Attrs,
    types: Sequence[TensorType],
    sizes: Sequence[tuple[Symbol, Dim | None]],
) -> Node:
    """A node that takes over data-dependent sizes from the node that is being decomposed.

    Other nodes name those sizes already, so that inference must not make new ones.
    """
    op = op_named(name)
    kept = {n: attrs[n] for n in op.signature.attrs if n in attrs}
    node = Node(op, tuple(inputs), kept, tuple(types), (), b.origin, tuple(sizes))
    return b.append(node)


def dims_of(x: TensorType | np.ndarray) -> tuple[Dim, ...]:
    return x.dims if isinstance(x, TensorType) else x.shape


def _objects(values: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@types_suffice
def _shape_content(x: TensorType | np.ndarray) -> np.ndarray:
    return _objects(dims_of(x))


@types_suffice
def _shape_n_content(inputs: list[TensorType | np.ndarray]) -> list[np.ndarray]:
    return [_objects(dims_of(x)) for x in inputs]


@types_suffice
def _size_content(x: TensorType | np.ndarray) -> Any:
    total: Dim = 1
    for dim in dims_of(x):
        total = total * dim
    return np.array(total, dtype=object)


@types_suffice
def _rank_content(x: TensorType | np.ndarray) -> Any:
    return np.array(len(dims_of(x)), dtype=object)


def _infer_shape(c: Inference) -> list[Dims]:
    for i, dim in enumerate(d for t in c.inputs for d in t.dims):
        if not _fits(c, dim):
            raise c.fail(f"Shape output type is 32-bit but dim {i} is {dim}")
    return [(t.rank,) for t in c.inputs]


def _infer_size(c: Inference) -> Dims:
    if not _fits(c, c.inputs[0].size):
        raise c.fail("Number of elements was larger than representable by 32-bit output type")
    return ()


def _fits(c: Inference, dim: Dim) -> bool:
    """Whether a size that is known can be told; the run looks at others."""
    return c.attrs["out_type"] is not i32 or not isinstance(dim, int) or dim < 1 << 31


def _shape(x: np.ndarray, *, out_type: DType) -> np.ndarray:
    return np.array(x.shape, out_type.numpy)


def _lower_shape(b: Any, node: Node) -> Value:
    return b.sizes(node.inputs[0].dims, node.output.type.dtype)


def _lower_size(b: Any, node: Node) -> Value:
    sizes = b.sizes((node.inputs[0].type.size,), node.output.type.dtype)
    return b.reshape(sizes, ())


# -- broadcasting of shapes


def broadcast_shapes(left: Sequence[Dim], right: Sequence[Dim]) -> list[Dim]:
    """The shape that two shapes broadcast to. Raises `InvalidArgumentError` where there is none."""
    rank = max(len(left), len(right))
    a = [1] * (rank - len(left)) + list(left)
    b = [1] * (rank - len(right)) + list(right)
    result: list[Dim] = []
    for x, y in zip(a, b):
        if isinstance(x, int) and isinstance(y, int) and x != y and 1 not in (x, y):
            raise InvalidArgumentError(f"Incompatible shapes: {list(left)} vs. {list(right)}")
        # A size that is not known yet stands for itself, as `Inference.broadcast` takes it.
        result.append(y if x == 1 or (isinstance(y, int) and y != 1) else x)
    return result


def _elements(x: np.ndarray) -> list[Dim]:
    return [as_dim(v) for v in x.reshape(-1)]


def _infer_broadcast_args(c: Inference) -> Dims:
    return (max(_static_length(c, 0), _static_length(c, 1)),)


def _static_length(c: Inference, i: int) -> int:
    c.need_rank(i, 1, f"In[{i}] must be a vector. {c.dims(i)}")
    length = c.dims(i)[0]
    if not isinstance(length, int):
        raise NeedsContent(
            f"{c.op.tf_name} needs an input {i} ({c.inputs[i]}) of a known length",
            node=c.node_name,
            input=i,
        )
    return length


def _broadcast_args(s0: np.ndarray, s1: np.ndarray) -> np.ndarray:
    shape = broadcast_shapes(_elements(s0), _elements(s1))
    return np.asarray(_objects(shape), dtype=s0.dtype)


def broadcast_args_kernel(s0, s1, out, status, n0, n1, begin, end):
    rank = n0 if n0 > n1 else n1
    for i in range(rank):
        x = s0[i - (rank - n0)] if i >= rank - n0 else 1
        y = s1[i - (rank - n1)] if i >= rank - n1 else 1
        if x != y and x != 1 and y != 1:
            status[0], status[1], status[2] = 1, x, y
            return
        out[i] = y if x == 1 else x


def _lower_broadcast_args(node: Node) -> Lowering:
    lengths = (node.inputs[0].dims[0], node.inputs[1].dims[0])
    errors = ("Incompatible shapes: size {a} vs. {b}",)
    return Native(broadcast_args_kernel, arguments=lengths, errors=errors)


def gradient_axes(left: Sequence[Dim], right: Sequence[Dim]) -> tuple[list[int], list[int]]:
    """The axes to sum over in the gradients of two broadcast operands."""
    rank = max(len(left), len(right))
    result = broadcast_shapes(left, right)
    axes: tuple[list[int], list[int]] = ([], [])
    for shape, found in zip((left, right), axes):
        full = [1] * (rank - len(shape)) + list(shape)
        for i in range(rank):
            both_one = result[i] == 1 and list(left) != list(right)
            if i < rank - len(shape) or (full[i] == 1 and result[i] != 1) or both_one:
                found.append(i)
    return axes


def _infer_gradient_args(c: Inference) -> list[Dims]:
    shapes = [c.content(i) for i in range(2)]
    if shapes[0] is None or shapes[1] is None:
        # A size read at run time could be 1, and then its axis would be summed over.
        raise NeedsContent(
            "BroadcastGradientArgs needs shapes that are known when it is compiled",
            node=c.node_name,
        )
    left, right = gradient_axes(_elements(shapes[0]), _elements(shapes[1]))
    return [(len(left),), (len(right),)]


def _gradient_args(s0: np.ndarray, s1: np.ndarray) -> list[np.ndarray]:
    axes = gradient_axes(_elements(s0), _elements(s1))
    return [np.array(a, dtype=s0.dtype) for a in axes]


def _lower_gradient_args(b: Any, node: Node) -> list[Value]:
    found = [known_dims(v) for v in node.inputs]
    if found[0] is None or found[1] is None:
        raise NeedsContent("BroadcastGradientArgs needs known shapes", node=node.name)
    dtype = node.inputs[0].type.dtype
    return [b.const(np.array(a, dtype.numpy), dtype) for a in gradient_axes(found[0], found[1])]


# -- offsets of concatenated shapes


def _infer_concat_offset(c: Inference) -> list[Dims]:
    for i in range(1, len(c.inputs)):
        c.need_rank(i, 1, f"input {i} should be a vector, but got {c.inputs[i]}")
    rank = _static_length(c, 1)
    axis = c.need_int(0)
    if not -rank <= axis < rank:
        raise c.fail(f"Concat dim is out of range: {axis} vs. {rank}")
    for i in range(2, len(c.inputs)):
        fault = f"input {i} should contain {rank} elements, but got {c.inputs[i]}"
        c.match_dims((rank,), c.dims(i), fault)
        known = c.content(1), c.content(i)
        if known[0] is not None and known[1] is not None:
            _check_beside(axis % rank, known[0], known[1], i - 1)
    return [t.dims for t in c.inputs[1:]]


def _check_beside(axis: int, first: np.ndarray, shape: np.ndarray, i: int) -> None:
    """All sizes but that of the axis agree."""
    apart = [d for d in range(len(first)) if d != axis and first[d] != shape[d]]
    if apart and not any(isinstance(size, Expr) for size in (*first, *shape)):
        raise InvalidArgumentError(
            f"{_unlike(axis)} Input {i} has shape {_shown(shape)} and"
            f" doesn't match input 0 with shape {_shown(first)}."
        )


def _unlike(axis: int) -> str:
    return f"All dimensions except {axis} must match."


def _shown(shape: np.ndarray) -> str:
    return f"[{' '.join(map(str, shape.tolist()))}]"


def _concat_offset(concat_dim: np.ndarray, shapes: list[np.ndarray]) -> list[np.ndarray]:
    axis = int(concat_dim)
    rank = len(shapes[0])
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"Concat dim is out of range: {axis} vs. {rank}")
    total: Any = 0
    offsets = []
    for i, shape in enumerate(shapes):
        _check_beside(axis % rank, shapes[0], shape, i)
        offset = np.zeros_like(shape)
        offset[axis] = total
        total = total + shape[axis]
        offsets.append(offset)
    return offsets


def _lower_concat_offset(b: Any, node: Node) -> list[Value]:
    (axis,) = constant_ints(node, 0)
    shapes = node.inputs[1:]
    rank = int(shapes[0].dims[0])
    axis %= rank
    dtype = shapes[0].type.dtype
    zero = np.zeros(1, dtype.numpy)
    total = b.const(zero, dtype)
    beside = b.const(np.arange(rank) == axis)
    offsets = []
    for i, shape in enumerate(shapes):
        if i and (b.content(shapes[0]) is None or b.content(shape) is None):
            alike = b.all(b.logical_or(b.equal(shape, shapes[0]), beside), np.int32(0))
            b.check(alike, message=f"{_unlike(axis)} Input {i} doesn't match input 0.")
        before = b.const(np.zeros(axis, dtype.numpy), dtype)
        after = b.const(np.zeros(rank - 1 - axis, dtype.numpy), dtype)
        offsets.append(b.concat(before, total, after, b.const(np.int32(0))))
        total = b.add(total, b.slice(shape, (axis,), (1,)))
    return offsets


shape = define(
    "shape",
    "Shape(input: T; T: type, out_type: {i32, i64} = i32) -> output: out_type",
    infer=_infer_shape,
    reference=_shape,
    lowering=Decompose(_lower_shape),
    gradient=no_gradient,
    examples=("T[2,3]", "f32[]; out_type=i64", "f32[0,1]"),
    content=_shape_content,
    traits=frozenset({"of_sizes"}),
)

shape_n = define(
    "shape_n",
    "ShapeN(input: N*T; N: int >= 1, T: type, out_type: {i32, i64} = i32) -> output: N*out_type",
    infer=_infer_shape,
    reference=lambda inputs, *, out_type: [_shape(x, out_type=out_type) for x in inputs],
    lowering=Decompose(
        lambda b, node: [b.sizes(v.dims, o.type.dtype) for v, o in zip(node.inputs, node.outputs)]
    ),
    gradient=no_gradient,
    examples=("f32[2,3] f32[4]", "i32[] i32[0,1] i32[5]; out_type=i64"),
    content=_shape_n_content,
    traits=frozenset({"of_sizes"}),
)

size = define(
    "size",
    "Size(input: T; T: type, out_type: {i32, i64} = i32) -> output: out_type",
    infer=_infer_size,
    reference=lambda x, *, out_type: np.array(x.size, out_type.numpy),
    lowering=Decompose(_lower_size),
    gradient=no_gradient,
    examples=("T[2,3]", "f32[]; out_type=i64", "f32[0,1]"),
    content=_size_content,
    traits=frozenset({"of_sizes"}),
)

rank = define(
    "rank",
    "Rank(input: T; T: type) -> output: i32",
    infer=lambda c: (),
    reference=lambda x: np.array(x.ndim, np.int32),
    lowering=Decompose(lambda b, node: b.const(np.int32(node.inputs[0].type.rank))),
    gradient=no_gradient,
    examples=("T[2,3]", "f32[]"),
    content=_rank_content,
    traits=frozenset({"of_sizes"}),
)

broadcast_args = define(
    "broadcast_args",
    "BroadcastArgs(s0: T, s1: T; T: {i32, i64} = i32) -> r0: T",
    infer=_infer_broadcast_args,
    reference=_broadcast_args,
    lowering=_lower_broadcast_args,
    examples=("T[2]=[1,3] T[3]=[4,2,1]", "T[0] T[1]=[5]"),
    content=_broadcast_args,
)

broadcast_gradient_args = define(
    "broadcast_gradient_args",
    "BroadcastGradientArgs(s0: T, s1: T; T: {i32, i64} = i32) -> (r0: T, r1: T)",
    infer=_infer_gradient_args,
    reference=_gradient_args,
    lowering=Decompose(_lower_gradient_args),
    examples=("T[2]=[1,3] T[3]=[4,2,1]", "T[2]=[2,3] T[2]=[2,3]", "T[2]=[1,3] T[2]=[1,1]"),
    content=_gradient_args,
    on_data=axes_of_data,
)

concat_offset = define(
    "concat_offset",
    "ConcatOffset(concat_dim: i32, shape: N*shape_type; N: int >= 2,"
    " shape_type: {i32, i64} = i32) -> offset: N*shape_type",
    infer=_infer_concat_offset,
    reference=_concat_offset,
    lowering=Decompose(_lower_concat_offset),
    examples=(
        "i32[]=1 i32[2]=[2,3] i32[2]=[2,5] i32[2]=[2,1]",
        "i32[]=-1 i64[1]=[2] i64[1]=[3]",
    ),
    content=_concat_offset,
)
