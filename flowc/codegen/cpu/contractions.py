"""Matrix products and convolutions as launches: gemm.py and convolution.py give the kernels, the
cluster's elementwise nodes become loops over each block of the result while it is in cache.

In: a cluster of kind `matmul` or `convolution`. Out: launches; weights packed where they are known,
else a first launch that packs them into the cluster's workspace. Invariant: the contraction's own
kernel depends on dtype and target only; what a cluster adds is a small kernel of its own, which the
contraction calls through its address.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowc import dtypes
from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    LeftOperand,
    no_epilogue,
    parts_of_blocks,
    per_axis,
)
from flowc.codegen.cpu.conv_transpose import conv_transpose_source, pack_conv_transpose_weights
from flowc.codegen.cpu.convolution import (
    ConvSpec,
    conv_source,
    is_product_of_pixels,
    pack_pointwise,
    pointwise_source,
)
from flowc.codegen.cpu.depthwise import (
    DepthwiseSpec,
    channel_block,
    depthwise_source,
    fitted_to_image,
    pack_depthwise,
)
from flowc.codegen.cpu.gemm import GemmSpec, gemm_source, pack_source
from flowc.codegen.cpu.gemm_m_vectorized import is_turned, turned_columns, turned_source
from flowc.codegen.cpu.loop_choices import CPU_CHOICES, MULTIPLICATIONS
from flowc.codegen.cpu.packing import pack_conv_weights, pack_gemm_b
from flowc.codegen.cpu.planar.source import planar_source
from flowc.codegen.cpu.tiles import TileShape
from flowc.codegen.cpu.winograd.source import pack_winograd_weights, winograd_source
from flowc.codegen.cpu.winograd.ways import (
    DEPTHWISE,
    POINTWISE,
    TRANSPOSED,
    conv_ways,
    is_depthwise,
)
from flowc.codegen.kernels.builder import INLINE_SIZES, LOCAL, int_name, int_number
from flowc.codegen.kernels.cluster import ClusterLowering, row_major, unravel
from flowc.codegen.kernels.cost import body_cost
from flowc.codegen.kernels.kernel import (
    EPILOGUE,
    EPILOGUE_BUFFERS,
    EPILOGUE_INTS,
    SCRATCH,
    WORKSPACE,
    Epilogue,
    Fault,
    Launch,
    Operand,
)
from flowc.codegen.kernels.nest import Load
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, ceildiv, floordiv, maximum, parse_dim, product, symbol
from flowc.ir.layout import CHANNELS_LAST, LAYOUTS
from flowc.ir.lowering import Convolution, MatMul

if TYPE_CHECKING:
    from flowc.codegen.cpu.target import CpuTarget

ALIGNMENT = 64
NARROW = 32  # columns: fewer of them take about as long
AXES = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}


@dataclass(frozen=True, slots=True)
class _Finish:
    """What follows a finished block: an epilogue and the faults it may report."""

    epilogue: Epilogue | None = None
    errors: tuple[Fault, ...] = ()

    @property
    def hook(self) -> EpilogueLines:
        return no_epilogue if self.epilogue is None else _call_lines

    @property
    def extra(self) -> tuple[Argument, ...]:
        return () if self.epilogue is None else _EPILOGUE_ARGUMENTS


_EPILOGUE_ARGUMENTS = tuple(
    Argument(name, dtypes.u8) for name in (EPILOGUE, EPILOGUE_BUFFERS, EPILOGUE_INTS)
)


def _call_lines(indent: int, rows: tuple[str, str], columns: tuple[str, str]) -> Sequence[str]:
    """The one line that calls the epilogue: a contraction's code does not depend on what it is."""
    tables = ", ".join(a.name for a in _EPILOGUE_ARGUMENTS)
    return [f"{' ' * indent}call_epilogue({tables}, {', '.join((*rows, *columns))})"]


def contraction_launches(node: Node, target: CpuTarget) -> tuple[Launch, ...]:
    """The kernels of a cluster of kind `matmul` or `convolution`."""
    body: Computation = node.attrs["body"]
    inner = _product_in(body)
    outer = {p.output: v for p, v in zip(body.parameters, node.inputs)}
    shape = target.tile_shape(inner.output.type.dtype)
    finish = _finish(node, body, inner, target, shape)
    lowering = inner.lowering
    if isinstance(lowering, MatMul):
        return _matmul(node, inner, lowering, outer, shape, finish)
    assert isinstance(lowering, Convolution)
    return _convolution(node, inner, lowering, outer, shape, finish, target)


def _product_in(body: Computation) -> Node:
    return next(n for n in body.nodes if isinstance(n.lowering, (MatMul, Convolution)))


def _finish(
    node: Node, body: Computation, inner: Node, target: CpuTarget, shape: TileShape
) -> _Finish:
    """The loops that turn a block of the raw result into the cluster's results.

    The raw result stands in the buffer of the first result until its element is replaced.
    """
    if body.results == (inner.output,):
        return _Finish()
    c = ClusterLowering(body, node.inputs)
    nest = c.nest
    layout = LAYOUTS[inner.attrs.get("layout", CHANNELS_LAST)]
    stored, dims = inner.output.dims, layout.logical(inner.output.dims)
    row = symbol(f"{LOCAL}row", product(dims[:-1]))
    # Of one column, the rows are the innermost loop.
    is_single = dims[-1] == 1
    column = 0 if is_single else symbol(f"{LOCAL}column", dims[-1])
    index = layout.index((*unravel(row, dims[:-1]), column))
    rows = nest.loop("row", int_name("begin"), int_name("end"))
    one_panel = _is_one_panel(inner, dims[-1], shape)
    bounds = int_name("first"), int_name("last")
    if one_panel:
        bounds = int_number(0), nest.size(dims[-1])
    columns = nest.loop("column", *bounds)
    with rows, nullcontext() if is_single else columns:
        place = nest.index(row_major(stored, index))
        raw = Load(c.out_names[body.results[0]], place, inner.output.type.dtype)
        c.rows[inner.output] = (index, nest.let(raw))
        for value, x in [(v, c.element(v, index)) for v in body.results]:
            c.store(value, index, x)
        walked = product(dims) if is_single else dims[-1]
        if target.choices.is_interleaved(body_cost(body).has_compute_bound, walked):
            nest.invoke("interleave")
        elif not is_single:
            nest.invoke("keep_rolled" if one_panel else "interleave_two")
    tail = ("begin", "end", "first", "last")
    made = c.launch(target, node.outputs, 1, 1, 0, node, tail)
    return _Finish(Epilogue(made.kernel, made.operands, made.ints), made.errors)


def _is_one_panel(inner: Node, columns: Dim, shape: TileShape) -> bool:
    """Whether every block has all columns, so few that their number stands in the kernel: LLVM then
    makes vectors that hold just these."""
    if not isinstance(columns, int) or columns >= min(INLINE_SIZES, shape.columns + 1):
        return False
    lowering = inner.lowering
    if not isinstance(lowering, Convolution) or lowering.groups == 1:
        return True
    return is_depthwise(lowering, inner.inputs[1].dims, columns)


def _launch(
    node: Node,
    source: ContractionSource,
    operands: dict[str, Operand],
    ints: dict[str, Dim],
    finish: _Finish | None,
    workspace: Dim = 0,
) -> Launch:
    """A launch from operands and ints by argument name."""
    names = [a.name for a in source.arguments[:-2]]
    ints = {**ints, "parts": parts_of_blocks(source, ints)}
    operands |= {a.name: a.name for a in _EPILOGUE_ARGUMENTS}
    tasks = parse_dim(source.tasks, ints)
    return Launch(
        source.kernel,
        tuple(operands[a.name] for a in source.arguments if a.is_pointer),
        tuple(ints[n] for n, a in zip(names, source.arguments) if not a.is_pointer),
        tasks,
        _tasks_worth_a_thread(node, tasks),
        scratch=source.scratch_bytes,
        workspace=workspace,
        errors=finish.errors if finish is not None else (),
        nodes=node.origin,
        epilogue=finish.epilogue if finish is not None else None,
    )


def _tasks_worth_a_thread(node: Node, tasks: Dim) -> Dim:
    """How many of a launch's tasks make a chunk: a small product is not shared among threads."""
    inner = _product_in(node.attrs["body"])
    weights = inner.inputs[-1]
    match inner.lowering:
        case MatMul(transpose_b=transposed):
            depth = weights.dims[-1 if transposed else -2]
        case Convolution(transposed=True):
            depth = product(weights.dims[:-2]) * weights.dims[-1]
        case _:
            depth = product(weights.dims[:-1])
    *rows, columns = inner.output.dims
    work = maximum(1, product(rows) * maximum(columns, NARROW) * depth)
    enough = CPU_CHOICES.chunk_nanoseconds * MULTIPLICATIONS
    return maximum(1, floordiv(tasks * enough, work))


def _matmul(
    node: Node,
    inner: Node,
    lowering: MatMul,
    outer: dict[Value, Value],
    shape: TileShape,
    finish: _Finish,
) -> tuple[Launch, ...]:
    *left, b = (outer[v] for v in inner.inputs)
    (*a_batch, a0, a1), (*b_batch, b0, b1) = left[0].dims, b.dims
    m = a1 if lowering.transpose_a else a0
    n, k = (b0, b1) if lowering.transpose_b else (b1, b0)
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
        "c_stride": n,
        "a_batch": a_step,
        "b_batch": 0 if shared_b else panels * k,
    }
    names = LeftOperand(lowering.pieces)
    ints |= dict(zip(names.sizes, (v.dims[-1] for v in left)))
    source = gemm_source(
        GemmSpec(shape, transpose_a=lowering.transpose_a, pieces=lowering.pieces),
        finish.hook,
        name="gemm_transposed" if lowering.transpose_a else "gemm",
        extra=finish.extra,
    )
    operands: dict[str, Operand] = {"c": node.outputs[0], "scratch": SCRATCH}
    operands |= dict(zip(names.pointers.split(), left))
    constant = b.constant
    if constant is not None:
        right = np.swapaxes(constant, -1, -2) if lowering.transpose_b else constant
        right = right.reshape(math.prod(right.shape[:-2]), *right.shape[-2:])
        if batch == 1 and not lowering.transpose_a and is_turned(shape, m, n, k):
            assert isinstance(k, int)
            source = turned_source(
                shape, k, finish.hook, pieces=lowering.pieces, extra=finish.extra
            )
            operands["b"] = pack_gemm_b(right, shape, turned_columns(shape))
            return (_launch(node, source, operands, ints, finish),)
        is_plain = batch == 1 and not lowering.transpose_a and lowering.pieces == 1
        if is_plain and isinstance(m, int) and is_product_of_pixels(shape, k, n, m):
            operands = {"x": left[0], "weights": pack_pointwise(right[0], shape)}
            operands["y"] = node.outputs[0]
            ints |= {"channels": k, "x_batch": 0, "w_batch": 0}
            rest = right.shape[-1] % shape.columns
            source = pointwise_source(shape, rest, finish.hook, extra=finish.extra)
            return (_launch(node, source, operands, ints, finish),)
        packed = pack_gemm_b(right, shape)
        return (_launch(node, source, {**operands, "b": packed}, ints, finish),)
    count = product(b_batch)
    workspace = count * panels * k * shape.dtype.size + ALIGNMENT  # never empty
    pack = _pack_launch(
        node, b, shape, (count, k, n), (b1, k * n), workspace, transposed=lowering.transpose_b
    )
    whole_panels = isinstance(n, int) and n % shape.columns == 0
    is_plain = whole_panels and not lowering.transpose_a and lowering.pieces == 1
    if is_plain and isinstance(m, int) and is_product_of_pixels(shape, k, n, m):
        operands = {"x": left[0], "weights": WORKSPACE, "y": node.outputs[0]}
        ints |= {"channels": k, "x_batch": ints["a_batch"], "w_batch": ints["b_batch"]}
        source = pointwise_source(shape, 0, finish.hook, extra=finish.extra)
        return (pack, _launch(node, source, operands, ints, finish, workspace))
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
    target: CpuTarget,
) -> tuple[Launch, ...]:
    x, weights = (outer[v] for v in inner.inputs[:2])
    layout, rank = LAYOUTS[lowering.layout], len(lowering.strides)
    image, result = layout.logical(x.dims), layout.logical(inner.output.dims)
    spec = ConvSpec(shape, rank, lowering.layout)
    axes = AXES[rank]
    *window, channels, _ = weights.dims
    n = result[-1]
    ints: dict[str, Dim] = {"batch": image[0]}
    # An image is a volume of one slice.
    ints |= dict.fromkeys(per_axis("d", "in", "out", "kernel", "stride", "dilation"), 1)
    ints["pad_d"] = 0
    for i, axis in enumerate(axes):
        ints |= {
            f"in_{axis}": image[1 + i],
            f"out_{axis}": result[1 + i],
            f"kernel_{axis}": window[i],
            f"stride_{axis}": lowering.strides[i],
            f"dilation_{axis}": lowering.dilations[i],
            f"pad_{axis}": lowering.pad[i][0],
        }
    operands: dict[str, Operand] = {"x": x, "y": node.outputs[0], "scratch": SCRATCH}
    constant = weights.constant
    ways = conv_ways(lowering, weights, image, result, shape, target.exact)
    wanted = target.ways.get(node, ways[0].name)
    way = next(way for way in ways if way.name == wanted)
    if way.name == TRANSPOSED:
        assert (
            constant is not None and lowering.layout == CHANNELS_LAST
        )  # others are written as plain convolutions
        ints |= {"channels": image[-1], "n": n, "x_stride": image[-1], "y_stride": n}
        operands["weights"] = pack_conv_transpose_weights(
            constant, shape, lowering.strides, lowering.dilations
        )
        source = conv_transpose_source(spec, finish.hook, extra=finish.extra)
        return (_launch(node, source, operands, ints, finish),)
    planar = way.planar
    if planar is not None and constant is not None:
        ints |= {"channels": image[-1], "n": n, "groups": lowering.groups}
        ints["block_slices"] = planar.slices
        ints |= {"block_rows": planar.rows, "block_pixels": planar.pixels, "pitch": planar.pitch}
        packed = constant
        if planar.line_stride:
            tile = planar.grouped or shape
            packed = pack_conv_weights(constant, tile, groups=lowering.groups)
        operands["weights"] = np.ascontiguousarray(packed, shape.dtype.numpy)
        source = planar_source(shape, planar, constant.shape[-1], finish.hook, extra=finish.extra)
        return (_launch(node, source, operands, ints, finish),)
    if way.name == DEPTHWISE:
        ints["channels"] = n
        taps = tuple(d for d in window if isinstance(d, int))
        spec = DepthwiseSpec(
            shape,
            taps if len(taps) == 2 else None,
            lowering.strides[1],
            lowering.dilations[1],
        )
        # Of windows that move by one pixel, as many as fit lie inside.
        inside = image[2] - (window[1] - 1) * lowering.dilations[1]
        spec = fitted_to_image(spec, n, result[2], inside, wide=constant is not None)
        ints["block"] = channel_block(spec, n, image[2])
        source = depthwise_source(spec, finish.hook, extra=finish.extra)
        if constant is None:
            operands["weights"] = weights
        else:
            operands["weights"] = pack_depthwise(constant.transpose(0, 1, 3, 2), spec)
        return (_launch(node, source, operands, ints, finish),)
    if way.name == POINTWISE and constant is not None:
        ints |= {"m": product(image[:-1]), "n": n, "channels": channels, "c_stride": n}
        ints |= {"batch": 1, "x_batch": 0, "w_batch": 0}
        operands["weights"] = pack_pointwise(constant, shape)
        rest = constant.shape[-1] % shape.columns
        source = pointwise_source(shape, rest, finish.hook, extra=finish.extra)
        return (_launch(node, source, operands, ints, finish),)
    per_group = n // lowering.groups
    ints |= {
        "channels": channels,
        "n": per_group,
        "groups": lowering.groups,
        "x_stride": image[-1],
        "c_stride": n,
    }
    source = conv_source(spec, finish.hook, extra=finish.extra)
    if constant is not None:
        operands["weights"] = pack_conv_weights(constant, shape, groups=lowering.groups)
        if way.winograd is not None:
            operands["weights"] = pack_winograd_weights(constant, way.winograd)
            seen = math.prod(constant.shape[:-4]) * constant.shape[-2]  # by all taps of the depth
            source = winograd_source(way.winograd, seen, finish.hook, extra=finish.extra)
        return (_launch(node, source, operands, ints, finish),)
    k = product(window) * channels
    panels = ceildiv(per_group, shape.columns) * shape.columns
    workspace = panels * k * lowering.groups * shape.dtype.size + ALIGNMENT
    pack = _pack_launch(
        node, weights, shape, (lowering.groups, k, per_group), (n, per_group), workspace
    )
    operands["weights"] = WORKSPACE
    return (pack, _launch(node, source, operands, ints, finish, workspace))
