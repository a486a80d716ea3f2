"""Convolution kernels, 2-D and 3-D, over images in the layouts that there are tiles for.

In: a `ConvSpec` (structure only: sizes, strides, dilations, padding and groups are run-time
arguments, so one kernel serves every layer with the same epilogue). Out: kernel source.

A convolution is a matrix multiplication whose left operand is never stored: for a block of output
pixels (flattened over batch and space, so small maps fill whole tiles) and a block of taps x
channels, the kernel copies the input runs that the taps see into `scratch`, zeros where they fall
into the padding, and runs the register tile over the packed weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    arguments_of,
    block_bounds,
    block_count,
    block_name,
    block_pointer,
    block_symbols,
    each_block,
    function_text,
    indented,
    no_epilogue,
    parts,
)
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.vector_ir import (
    Index,
    Routine,
    Values,
    advance,
    broadcast,
    counted_loop,
    element_type,
    index_range,
    indices,
    least,
    load_vector,
    multiply_add,
    offset,
    store_vector,
)
from flowc.errors import InternalError
from flowc.ir.dims import Dim
from flowc.ir.layout import CHANNELS_LAST
from flowc.ir.lowering import Convolution
from flowc_runtime.native.writer import i64

AXES = "dhw"  # names of the spatial axes, slowest first; a 2-D kernel takes the last two


@dataclass(frozen=True, slots=True)
class ConvSpec:
    """The structure of a convolution over `rank` spatial dimensions, of images in a `layout`."""

    shape: TileShape
    rank: int = 2
    layout: str = CHANNELS_LAST

    @property
    def axes(self) -> str:
        return AXES[-self.rank :]


def per_axis(axes: str, *names: str) -> list[str]:
    return [f"{name}_{axis}" for name in names for axis in axes]


def product(factors: Sequence[str]) -> str:
    return " * ".join(factors)


def conv_source(
    spec: ConvSpec,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "conv",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[batch, *out, groups * n] = x convolved with weights packed by `pack_conv_weights`.

    Arguments: `x, weights, y, scratch` and the pointers of `extra`; `batch`; per axis (`_d _h _w`,
    or `_h _w`) each of `in out kernel stride dilation pad` (`pad`: zeros before the first element);
    `channels` and `n` (input and output channels of one group); `groups`; `x_stride` and `c_stride`
    (elements from one pixel to the next); the indices of `extra`; `begin, end`.
    """
    if spec.layout != CHANNELS_LAST:
        raise InternalError(f"no tiles for images in {spec.layout}")
    shape, axes = spec.shape, spec.axes
    sizes = per_axis(axes, "in", "out", "kernel", "stride", "dilation", "pad")
    indices = ["batch", *sizes, *["channels", "n", "groups", "x_stride", "c_stride"]]
    arguments = arguments_of(shape, "x weights y scratch", indices, extra)
    rows = product(["batch", *(f"out_{a}" for a in axes)])
    taps = product([f"kernel_{a}" for a in axes])
    before = f"""
        m = {rows}
        group_elements = ceil_div(n, {shape.columns}) * {shape.columns} * {taps} * channels
        """
    product_call = f"""
        panels = advance(weights, group * group_elements)
        {block_name("conv_block", shape)}(
            blocks, x, panels, advance(y, group * n), channels, x_stride, group * channels,
            c_stride, row_begin, row_end, column_begin, column_end,
            {", ".join(sizes)})
        """
    finish = epilogue(
        8, ("row_begin", "row_end"), ("(group * n + column_begin)", "(group * n + column_end)")
    )
    text = function_text(
        name,
        arguments,
        indented(block_pointer(shape), 4),
        indented(before, 4),
        indented(block_bounds(shape), 4),
        each_block(shape, "group", product_call),
        *finish,
    )
    tasks = f"groups * {block_count(shape, rows)}"
    symbols = block_symbols(shape, spec.rank, False)
    return ContractionSource(name, text, arguments, tasks, shape.block_bytes, symbols)


# -- windows of one pixel, of which few outputs are made

NARROW_VECTORS = 3  # of output channels, at most
NARROW_ROWS = 120  # pixels of a task, about: they stay in the first cache until they are finished
NARROW_DEPTH = 48  # input channels, at most: with more, gathering them first pays
UNROLLED = 4  # steps of the inner dimension whose code stands one after another


def is_narrow(shape: TileShape, lowering: Convolution, weights: Sequence[Dim]) -> bool:
    """Whether `narrow_source` is for a convolution with weights of those dims."""
    *window, channels, n = weights
    alone = set(window) == set(lowering.strides) == {1} and lowering.groups == 1
    if not alone or any(p != 0 for pair in lowering.pad for p in pair):
        return False
    if not (isinstance(channels, int) and isinstance(n, int)) or shape.lanes < 2:
        return False
    return 0 < n <= NARROW_VECTORS * shape.lanes and 0 < channels <= NARROW_DEPTH


def _narrow_vectors(shape: TileShape, n: int) -> list[tuple[int, int]]:
    """The first column and the lanes of the vectors that hold `n` columns. The last is moved back
    to end with them: columns that it shares with the one before are computed twice."""
    lanes = min(shape.lanes, 1 << n.bit_length() - 1)
    found = [(first, lanes) for first in range(0, n - lanes + 1, lanes)]
    rest = n % lanes
    if rest:
        last = min(lanes, 1 << (rest - 1).bit_length())
        found.append((n - last, last))
    return found


def _narrow_rows(shape: TileShape, n: int) -> int:
    """Rows of a tile: as many as have their sums in registers."""
    return max(1, 2 * shape.rows // len(_narrow_vectors(shape, n)))


def _emit_narrow(b: ir.IRBuilder, args: Values, shape: TileShape, n: int) -> None:
    """The last tile is moved back to end where the rows end: sums are computed twice alike."""
    rows, height = Index(b, args[-1]), _narrow_rows(shape, n)
    with b.if_else(rows.compare(">=", height)) as (many, few):
        with many, counted_loop(b, rows, height) as i:
            _narrow_tile(b, args, shape, n, i.least(rows - height), height)
        with few, counted_loop(b, rows) as i:
            _narrow_tile(b, args, shape, n, i, 1)


def _narrow_tile(
    b: ir.IRBuilder, args: Values, shape: TileShape, n: int, first: Index, height: int
) -> None:
    """Rows `first ... first + height` of C = A x B, of which A is read where it stands."""
    x, w, y = args[:3]
    channels, y_stride, _ = indices(b, args[3:])
    size, element = shape.dtype.size, element_type(shape.dtype)
    vectors = _narrow_vectors(shape, n)
    lines = [offset(x, (first + r) * channels) for r in range(height)]
    kinds = [ir.VectorType(element, lanes) for _, lanes in vectors]
    with b.goto_entry_block():
        sums = [[b.alloca(kind) for kind in kinds] for _ in lines]
    for total, kind in ((t, k) for row in sums for t, k in zip(row, kinds)):
        b.store(ir.Constant(kind, None), total)

    def add(k: Index) -> None:
        weights = offset(w, k * n)
        factors = [
            load_vector(b, b.gep(weights, [i64(column)]), lanes, size) for column, lanes in vectors
        ]
        for line, row in zip(lines, sums):
            value = b.load(offset(line, k))
            for total, factor, (_, lanes) in zip(row, factors, vectors):
                wide = broadcast(b, value, lanes)
                b.store(multiply_add(b, wide, factor, b.load(total)), total)

    whole = channels - channels % UNROLLED
    with counted_loop(b, whole, UNROLLED) as k:
        for step in range(UNROLLED):
            add(k + step)
    with index_range(b, whole, channels) as k:
        add(k)
    for r, row in enumerate(sums):
        target = offset(y, (first + r) * y_stride)
        for total, (column, _) in zip(row, vectors):
            store_vector(b, b.load(total), b.gep(target, [i64(column)]), size)


def narrow_source(
    shape: TileShape,
    n: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "narrow_conv",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[m, n] = x[m, channels] x weights[channels, n]: what a window of one pixel makes of it.

    Arguments: `x, weights, y` and the pointers of `extra`; `m channels c_stride`; the indices of
    `extra`; `begin, end`. A task is a block of rows. Every output is one chain of multiply-adds
    over the channels in order.
    """
    arguments = arguments_of(shape, "x weights y", ["m", "channels", "c_stride"], extra)
    height = _narrow_rows(shape, n)
    block = height * max(1, NARROW_ROWS // height)
    routine = Routine(
        f"narrow_block.{shape.dtype}.{shape.rows}x{shape.columns}.{n}",
        shape.dtype,
        "pppiii",
        lambda b, values: _emit_narrow(b, values, shape, n),
    )
    call = f"narrow_block_{shape.rows}x{shape.columns}_{n}"
    body = f"""
        for task in range(begin, end):
            row_begin = task * {block}
            row_end = least(row_begin + {block}, m)
            {call}(
                advance(x, row_begin * channels), weights, advance(y, row_begin * c_stride),
                channels, c_stride, row_end - row_begin)
        """
    finish = epilogue(8, ("row_begin", "row_end"), ("0", str(n)))
    text = function_text(name, arguments, indented(body, 4), *finish)
    symbols = {"advance": advance, "least": least, call: routine.intrinsic()}
    return ContractionSource(name, text, arguments, parts("m", block), 0, symbols)
