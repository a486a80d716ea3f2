"""Nodes computed with NumPy from the lowerings of their records, without the code generator.

In: op records or nodes, and arrays. Out: the arrays that come out. Invariant: no compiled code
runs, so that what is wrong here is wrong in a record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy_scalars import NARROW, Array, ArrayScalar, NumpyScalars
from scipy import special

from flowc import dtypes
from flowc.codegen.cpu.kernel_inlining import kernel_source
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Symbol, evaluate, lone_symbol, symbol
from flowc.ir.lowering import (
    Convolution,
    Decompose,
    Elementwise,
    FilterGradient,
    Lowering,
    MatMul,
    Native,
    Reduction,
    Structural,
    View,
)
from flowc.ir.op import Op, input_spans
from flowc.ir.types import TensorType
from flowc.ops.nn.convolution_reference import convolve, met
from flowc.ops.nn.convolution_window import SlidingWindow


def apply_op(
    op: Op,
    arrays: Sequence[Array],
    attrs: Mapping[str, Any] | None = None,
    constant: Collection[int] | None = None,
) -> list[Array]:
    """The outputs of an op as its lowering computes them.

    The inputs are constants of the Computation, so that inference and lowering see their elements;
    `constant` lists which, where the others are to be parameters.
    """
    b = Builder()
    values: list[Value] = []
    for i, array in enumerate(arrays):
        array = np.asarray(array)
        if constant is None or i in constant:
            values.append(b.const(array))
        else:
            kind = TensorType(dtypes.as_dtype(array.dtype), array.shape)
            values.append(b.parameter(f"x{i}", kind))
    full = dict(attrs or {})
    spans = input_spans(op, len(values), full)
    for arg, (start, stop) in zip(op.signature.inputs, spans):
        if arg.number_attr is not None:
            full.setdefault(arg.number_attr, stop - start)
    node = b.emit(op, values, full)
    known = dict(zip(values, (np.asarray(a) for a in arrays)))
    sizes: dict[Symbol, int] = {}
    for step in b.nodes:
        if step.op.name == "read_sizes":
            sizes.update(_read_sizes(step, known[step.inputs[0]]))
    return evaluate_node(node, list(known.values()), sizes)


def _read_sizes(node: Node, array: Array) -> dict[Symbol, int]:
    return {size: int(x) for (size, _), x in zip(node.sizes, array.reshape(-1))}


def evaluate_node(
    node: Node, arrays: Sequence[Array], sizes: Mapping[Symbol, int] | None = None
) -> list[Array]:
    """The outputs of one node for the arrays of its inputs; `sizes` are those known besides."""
    lowering = node.op.lowering
    if not isinstance(lowering, Lowering):
        lowering = lowering(node)
    env = _sizes_of(node, arrays) | dict(sizes or {})
    match lowering:
        case Elementwise(body=expr):
            k = NumpyScalars(arrays)
            elements = [ArrayScalar(dtypes.as_dtype(a.dtype), a) for a in arrays]
            return [_finished(expr(k, *elements), node, env)]
        case View(body=read):
            k = NumpyScalars(arrays, env)
            return [_finished(read(k, _output_index(k, node, env)), node, env)]
        case Reduction():
            return [_evaluate_reduction(lowering, node, arrays, env)]
        case MatMul():
            return [_evaluate_matmul(lowering, arrays)]
        case Convolution(transposed=False):
            pad = tuple((evaluate(a, env), evaluate(b, env)) for a, b in lowering.pad)
            sizes_out = tuple(evaluate(d, env) for d in node.output.dims[1:-1])
            kernel = arrays[1].shape[:-2]
            window = SlidingWindow(kernel, lowering.strides, lowering.dilations, pad, sizes_out)
            return [convolve(arrays[0], arrays[1], window)]
        case FilterGradient():
            return [_evaluate_filter_gradient(lowering, node, arrays, env)]
        case Decompose(build=build):
            return _evaluate_decomposition(build, node, arrays, env)
        case Native():
            return _evaluate_native(lowering, node, arrays, env)
    raise NotImplementedError(f"{node.op.name}: no evaluation of {type(lowering).__name__}")


def _evaluate_filter_gradient(
    lowering: FilterGradient, node: Node, arrays: Sequence[Array], env: Mapping[Symbol, Any]
) -> Array:
    x, dy = arrays
    kernel = tuple(evaluate(d, env) for d in node.output.dims[:-2])
    pad = tuple((evaluate(a, env), evaluate(b, env)) for a, b in lowering.pad)
    window = SlidingWindow(kernel, lowering.strides, lowering.dilations, pad, dy.shape[1:-1])
    found = np.zeros((*kernel, x.shape[-1], dy.shape[-1]), x.dtype)
    axes = list(range(dy.ndim - 1))
    for tap, part in met(x, window):
        found[tap] = np.tensordot(part, dy, (axes, axes))
    return np.swapaxes(found, -1, -2) if lowering.swapped else found


def _sizes_of(node: Node, arrays: Sequence[Array]) -> dict[Symbol, Any]:
    """The sizes that a node's symbols stand for, where an input's dim is just that symbol."""
    env: dict[Symbol, Any] = {}
    for value, array in zip(node.inputs, arrays):
        for dim, number in zip(value.dims, array.shape):
            size = lone_symbol(dim)
            if size is not None:
                env.setdefault(size, number)
    return env


def _finished(result: Any, node: Node, env: Mapping[Symbol, Any]) -> Array:
    kind = node.output.type
    if result.dtype is not kind.dtype:
        raise TypeError(f"{node.op.name}: the lowering gives {result.dtype}, expected {kind.dtype}")
    dims = tuple(evaluate(d, dict(env)) for d in kind.dims)
    return np.broadcast_to(result.data, dims).copy()


def _output_index(k: NumpyScalars, node: Node, env: Mapping[Symbol, Any]) -> tuple[Dim, ...]:
    dims = node.output.type.dims
    sizes = [evaluate(d, dict(env)) for d in dims]
    index: list[Dim] = []
    for axis, (dim, size) in enumerate(zip(dims, sizes)):
        shape = [1] * len(dims)
        shape[axis] = size
        k.env[Symbol(f"i{axis}")] = np.arange(size).reshape(shape)
        index.append(0 if size == 1 and dim == 1 else symbol(f"i{axis}", dim))
    return tuple(index)


_FOLDS: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
    "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def _neutral(combine: str, dtype: DType) -> Any:
    if combine in ("add", "mul", "and", "or"):
        return {"add": 0, "mul": 1, "and": True, "or": False}[combine]
    lowest = combine == "max"
    if dtype.is_floating:
        return -np.inf if lowest else np.inf
    limits = np.iinfo(dtype.numpy)
    return limits.min if lowest else limits.max


def _evaluate_reduction(
    lowering: Reduction, node: Node, arrays: Sequence[Array], env: Mapping[Symbol, Any]
) -> Array:
    k = NumpyScalars(arrays, env)
    elements = [ArrayScalar(dtypes.as_dtype(a.dtype), a) for a in arrays]
    kind = node.output.type
    prepared = lowering.prepare(k, *elements) if lowering.prepare is not None else elements[0]
    accumulator = lowering.accumulator or (
        dtypes.f32 if prepared.dtype in NARROW else prepared.dtype
    )
    widened = k.cast(prepared, accumulator).data
    full = np.broadcast_to(widened, arrays[0].shape)
    axes = tuple(a % full.ndim for a in lowering.axes) if full.ndim else ()
    count = int(np.prod([full.shape[a] for a in axes], dtype=np.int64))
    neutral = _neutral(lowering.combine, accumulator)
    with np.errstate(all="ignore"):
        total = _FOLDS[lowering.combine].reduce(
            full, axis=axes, dtype=accumulator.numpy, keepdims=True, initial=neutral
        )
    result = ArrayScalar(accumulator, np.asarray(total, accumulator.numpy))
    if lowering.finish is not None:
        result = lowering.finish(k, result, k.const(count, accumulator))
    if result.dtype is not kind.dtype:
        result = k.cast(result, kind.dtype)
    dims = tuple(evaluate(d, dict(env)) for d in kind.dims)
    return np.ascontiguousarray(np.broadcast_to(result.data, total.shape)).reshape(dims)


def _evaluate_matmul(lowering: MatMul, arrays: Sequence[Array]) -> Array:
    *pieces, b = arrays
    a = np.concatenate(pieces, -1)
    dtype = a.dtype
    if dtypes.as_dtype(dtype) in NARROW:
        a, b = a.astype(np.float32), b.astype(np.float32)
    a = np.swapaxes(a, -1, -2) if lowering.transpose_a else a
    b = np.swapaxes(b, -1, -2) if lowering.transpose_b else b
    return np.matmul(a, b).astype(dtype)


def _evaluate_decomposition(
    build: Callable[..., Any], node: Node, arrays: Sequence[Array], env: Mapping[Symbol, Any]
) -> list[Array]:
    b = Builder(node.origin)
    mapped = [
        b.const(a) if v.constant is not None else b.parameter(f"x{i}", v.type)
        for i, (v, a) in enumerate(zip(node.inputs, arrays))
    ]
    inner = Node(node.op, tuple(mapped), node.attrs, node.types, (), node.origin, node.sizes)
    built = build(b, inner)
    results = [built] if isinstance(built, Value) else list(built)
    known = run_nodes(b.nodes, dict(zip(mapped, arrays)), env)
    return [known[v] for v in results]


def run_nodes(
    nodes: Sequence[Node], known: Mapping[Value, Array], sizes: Mapping[Symbol, int] | None = None
) -> dict[Value, Array]:
    """The arrays of all values of the nodes, which stand in order; those in `known` are given."""
    known = dict(known)
    sizes = dict(sizes or {})
    for step in nodes:
        if all(v in known for v in step.outputs):
            continue
        if step.op.name == "const":
            known[step.output] = step.attrs["value"]
        elif step.op.name == "sizes":
            dims = [evaluate(d, sizes) for d in step.attrs["dims"]]
            known[step.output] = np.array(dims, step.output.type.dtype.numpy)
        elif step.op.name == "read_sizes":
            sizes.update(_read_sizes(step, known[step.inputs[0]]))
        elif not isinstance(step.op.lowering, Structural):
            found = evaluate_node(step, [known[v] for v in step.inputs], sizes)
            known.update(zip(step.outputs, found))
        else:
            raise NotImplementedError(f"no evaluation of {step.op.name}")
    return known


CASTS = {"f32": np.float32, "f64": np.float64, "i64": np.int64}
SPECIAL = {"digamma": special.digamma, "lgamma": special.gammaln}


def plain_kernel(lowering: Native) -> Callable[..., None]:
    """A native kernel as plain Python."""
    space = CASTS | lowering.function.__globals__ | dict(lowering.constants)
    for name in lowering.functions:
        plain = name.rpartition("_")[0]
        space[name] = getattr(np, plain, None) or SPECIAL[plain]
    exec(kernel_source(lowering.function), space)
    return space[lowering.function.__name__]


def _evaluate_native(
    lowering: Native, node: Node, arrays: Sequence[Array], env: Mapping[Symbol, Any]
) -> list[Array]:
    """Calls the kernel as plain Python, once for the whole of its parallel range.

    Outputs of data-dependent sizes are cut to what the kernel reports.
    """
    sizes = dict(env)
    for open_size, bound in node.sizes:
        sizes[open_size] = evaluate(bound if bound is not None else 0, sizes)
    narrow = [a.dtype for a in arrays]
    inputs = [
        np.ascontiguousarray(a.astype(np.float32) if dtypes.as_dtype(t) in NARROW else a).reshape(
            -1
        )
        for a, t in zip(arrays, narrow)
    ]
    inputs = [a.view(np.uint8) if a.dtype == np.bool_ else a for a in inputs]
    bounds = [tuple(evaluate(d, sizes) for d in t.dims) for t in node.types]
    outputs = [
        np.zeros(int(np.prod(d, dtype=np.int64)), _stored(t)) for d, t in zip(bounds, node.types)
    ]
    if lowering.updates is not None:
        count = min(outputs[0].size, inputs[lowering.updates].size)
        outputs[0][:count] = inputs[lowering.updates][:count]
    reported = np.zeros(max(len(node.sizes), 1), np.int64)
    status = np.zeros(4, np.int64)
    parallel = evaluate(lowering.parallel, sizes)
    extras: list[Any] = [reported] if node.sizes else []
    if not (isinstance(lowering.scratch, int) and lowering.scratch == 0):
        extras.append(np.zeros(evaluate(lowering.scratch, sizes), np.uint8))
    if lowering.errors:
        extras.append(status)
    extras += [evaluate(a, sizes) for a in lowering.arguments]
    with np.errstate(all="ignore"):
        plain_kernel(lowering)(*inputs, *outputs, *extras, 0, parallel)
    if status[0]:
        text = lowering.errors[int(status[0]) - 1]
        raise InvalidArgumentError(text.format(a=status[1], b=status[2], c=status[3]))
    for (size, _), number in zip(node.sizes, reported):
        sizes[size] = int(number)
    final = [tuple(evaluate(d, sizes) for d in t.dims) for t in node.types]
    return [
        _restored(a, t.dtype)[: int(np.prod(d, dtype=np.int64))].reshape(d)
        for a, t, d in zip(outputs, node.types, final)
    ]


def _stored(kind: TensorType) -> Any:
    if kind.dtype is dtypes.bool_:
        return np.uint8
    return np.float32 if kind.dtype in NARROW else kind.dtype.numpy


def _restored(array: Array, dtype: DType) -> Array:
    return array.view(np.bool_) if dtype is dtypes.bool_ else array.astype(dtype.numpy)
