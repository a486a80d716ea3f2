"""Matrix products and convolutions as launches: gemm.py and convolution.py give the kernels, the
cluster's elementwise nodes become loops over each block of the result while it is in cache.

In: a cluster of kind `matmul` or `convolution`. Out: launches; weights packed where they are known,
else a first launch that packs them into the cluster's workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flowc.codegen.blocked import Argument, ContractionSource, Epilogue, no_epilogue
from flowc.codegen.cluster import ClusterLowering, row_major, stored, unravel
from flowc.codegen.convolution import ConvSpec, conv_source, depthwise_source
from flowc.codegen.gemm import GemmSpec, gemm_source, pack_source
from flowc.codegen.kernel import SCRATCH, STATUS, WORKSPACE, Launch, Operand
from flowc.codegen.packing import pack_conv_weights, pack_depthwise, pack_gemm_b
from flowc.codegen.scalars import LOCAL, Scalar
from flowc.codegen.target import Target
from flowc.codegen.tiles import TileShape, tile_shape
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, ceildiv, parse_dim, product, symbol
from flowc.ir.lowering import Convolution, MatMul

AXES = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}


@dataclass(frozen=True, slots=True)
class _Finish:
    """The epilogue of a cluster: its lines, and the pointers and ints that they need."""

    epilogue: Epilogue
    extra: tuple[Argument, ...]
    operands: tuple[Operand, ...]
    ints: tuple[Dim, ...]
    errors: tuple[str, ...]
    functions: tuple[str, ...]


def contraction_launches(node: Node, target: Target) -> tuple[Launch, ...]:
    """The kernels of a cluster of kind `matmul` or `convolution`."""
    body: Computation = node.attrs["body"]
    inner = next(n for n in body.nodes if isinstance(n.lowering, (MatMul, Convolution)))
    outer = {p.output: v for p, v in zip(body.parameters, node.inputs)}
    shape = tile_shape(
        inner.output.type.dtype,
        target.vector_bits,
        registers=target.registers,
        fma=target.has_fma,
    )
    finish = _finish(node, body, inner, "y" if isinstance(inner.lowering, Convolution) else "c")
    lowering = inner.lowering
    if isinstance(lowering, MatMul):
        return _matmul(node, inner, lowering, outer, shape, finish)
    assert isinstance(lowering, Convolution)
    return _convolution(node, inner, lowering, outer, shape, finish)


def _finish(node: Node, body: Computation, inner: Node, result_name: str) -> _Finish:
    """Loops over rows x columns that turn the raw result into the cluster's results."""
    if body.results == (inner.output,):
        return _Finish(no_epilogue, (), (), (), (), ())
    c = ClusterLowering(body, node.inputs)
    w = c.writer
    dims = inner.output.dims
    row = symbol(f"{LOCAL}row", product(dims[:-1]))
    column = symbol(f"{LOCAL}column", dims[-1])
    index = (*unravel(row, dims[:-1]), column) if len(dims) > 1 else (column,)
    # The first result's buffer holds the raw result until its element is replaced.
    c.out_names[body.results[0]] = result_name
    raw = f"{result_name}[{w.index(row_major(dims, index))}]"
    w.indent = 0
    c.rows[inner.output] = (index, Scalar(w.local(raw), inner.output.type.dtype))
    for value, x in [(v, c.element(v, index)) for v in body.results]:
        address = w.index(row_major(value.dims, index))
        w.line(f"{c.out_names[value]}[{address}] = {stored(w, x)}")
    used = [p for p in body.parameters if c.names[p.output] in c.read]
    extra = [Argument(c.names[p.output], p.output.type.dtype) for p in used]
    operands: list[Operand] = [node.inputs[body.parameters.index(p)] for p in used]
    for value, outside in list(zip(body.results, node.outputs))[1:]:
        extra.append(Argument(c.out_names[value], value.type.dtype))
        operands.append(outside)
    if w.messages:
        extra.append(Argument("status", "i64"))
        operands.append(STATUS)
    extra += [Argument(f"n{i}") for i in range(len(w.ints))]
    lines = list(w.lines)

    def epilogue(indent: int, rows: tuple[str, str], columns: tuple[str, str]) -> Sequence[str]:
        pad = " " * indent
        head = [
            f"{pad}for row in range({rows[0]}, {rows[1]}):",
            f"{pad}    for column in range({columns[0]}, {columns[1]}):",
        ]
        return [*head, *(f"{pad}        {line}" for line in lines)]

    return _Finish(
        epilogue,
        tuple(extra),
        tuple(operands),
        tuple(w.ints),
        tuple(w.messages),
        tuple(w.functions),
    )


def _launch(
    node: Node,
    source: ContractionSource,
    operands: dict[str, Operand],
    ints: dict[str, Dim],
    finish: _Finish | None,
    workspace: Dim = 0,
) -> Launch:
    """A launch from operands and ints by argument name."""
    if finish is not None:
        pointers = [a for a in finish.extra if a.is_pointer]
        operands |= {a.name: o for a, o in zip(pointers, finish.operands)}
        ints |= {f"n{i}": d for i, d in enumerate(finish.ints)}
    names = [a.name for a in source.arguments[:-2]]
    functions = finish.functions if finish is not None else ()
    return Launch(
        replace(source.kernel, functions=functions),
        tuple(operands[a.name] for a in source.arguments if a.is_pointer),
        tuple(ints[n] for n, a in zip(names, source.arguments) if not a.is_pointer),
        parse_dim(source.tasks, ints),
        1,
        scratch=source.scratch_bytes,
        workspace=workspace,
        errors=finish.errors if finish is not None else (),
        nodes=node.origin,
    )


def _matmul(
    node: Node,
    inner: Node,
    lowering: MatMul,
    outer: dict[Value, Value],
    shape: TileShape,
    finish: _Finish,
) -> tuple[Launch, ...]:
    a, b = (outer[v] for v in inner.inputs)
    (*a_batch, a0, a1), (*b_batch, b0, b1) = a.dims, b.dims
    m, k = (a1, a0) if lowering.transpose_a else (a0, a1)
    n = b0 if lowering.transpose_b else b1
    batch = product(inner.output.dims[:-2])
    a_step: Dim = 0 if product(a_batch) == 1 else m * k
    shared_b = product(b_batch) == 1
    if shared_b and not lowering.transpose_a:
        # One right operand for the whole batch: its entries are more rows.
        m, batch, a_step = m * product(a_batch), 1, 0
    panels = ceildiv(n, shape.columns) * shape.columns
    ints: dict[str, Dim] = {
        "batch": batch,
        "m": m,
        "n": n,
        "k": k,
        "a_stride": a1,
        "c_stride": n,
        "a_batch": a_step,
        "b_batch": 0 if shared_b else panels * k,
    }
    source = gemm_source(
        GemmSpec(shape, transpose_a=lowering.transpose_a), finish.epilogue, extra=finish.extra
    )
    operands: dict[str, Operand] = {"a": a, "c": node.outputs[0], "scratch": SCRATCH}
    constant = b.constant
    if constant is not None:
        right = np.swapaxes(constant, -1, -2) if lowering.transpose_b else constant
        packed = pack_gemm_b(right.reshape(-1, *right.shape[-2:]), shape)
        return (_launch(node, source, operands | {"b": packed}, ints, finish),)
    count = product(b_batch)
    workspace = count * panels * k * shape.dtype.size
    pack = _pack_launch(
        node, b, shape, (count, k, n), (b1, k * n), workspace, transposed=lowering.transpose_b
    )
    return (pack, _launch(node, source, operands | {"b": WORKSPACE}, ints, finish, workspace))


def _pack_launch(
    node: Node,
    b: Value,
    shape: TileShape,
    sizes: tuple[Dim, Dim, Dim],
    steps: tuple[Dim, Dim],
    workspace: Dim,
    *,
    transposed: bool = False,
) -> Launch:
    """Packs a right operand that the run computes."""
    ints: dict[str, Dim] = dict(zip(("batch", "k", "n"), sizes))
    ints |= {"b_stride": steps[0], "b_batch": steps[1]}
    source = pack_source(shape, transpose_b=transposed)
    operands: dict[str, Operand] = {"b": b, "packed": WORKSPACE}
    return _launch(node, source, operands, ints, None, workspace)


def _convolution(
    node: Node,
    inner: Node,
    lowering: Convolution,
    outer: dict[Value, Value],
    shape: TileShape,
    finish: _Finish,
) -> tuple[Launch, ...]:
    x, weights = (outer[v] for v in inner.inputs[:2])
    rank = len(lowering.strides)
    axes = AXES[rank]
    *window, channels, _ = weights.dims
    n = inner.output.dims[-1]
    ints: dict[str, Dim] = {"batch": x.dims[0]}
    for i, axis in enumerate(axes):
        ints |= {
            f"in_{axis}": x.dims[1 + i],
            f"out_{axis}": inner.output.dims[1 + i],
            f"kernel_{axis}": window[i],
            f"stride_{axis}": lowering.strides[i],
            f"dilation_{axis}": lowering.dilations[i],
            f"pad_{axis}": lowering.pad[i][0],
        }
    operands: dict[str, Operand] = {"x": x, "y": node.outputs[0], "scratch": SCRATCH}
    constant = weights.constant
    depthwise = rank == 2 and lowering.groups == n and channels == 1 and x.dims[-1] == n
    if depthwise:
        ints["channels"] = n
        source = depthwise_source(shape, finish.epilogue, extra=finish.extra)
        if constant is None:
            operands["weights"] = weights
        else:
            transposed = constant.transpose(0, 1, 3, 2)
            operands["weights"] = pack_depthwise(transposed, shape)
        return (_launch(node, source, operands, ints, finish),)
    per_group = n // lowering.groups
    ints |= {
        "channels": channels,
        "n": per_group,
        "groups": lowering.groups,
        "x_stride": x.dims[-1],
        "c_stride": n,
    }
    source = conv_source(ConvSpec(shape, rank), finish.epilogue, extra=finish.extra)
    if constant is not None:
        operands["weights"] = pack_conv_weights(constant, shape, groups=lowering.groups)
        return (_launch(node, source, operands, ints, finish),)
    k = product(window) * channels
    panels = ceildiv(per_group, shape.columns) * shape.columns
    workspace = panels * k * lowering.groups * shape.dtype.size
    pack = _pack_launch(
        node, weights, shape, (lowering.groups, k, per_group), (n, per_group), workspace
    )
    operands["weights"] = WORKSPACE
    return (pack, _launch(node, source, operands, ints, finish, workspace))
