"""Chains of products and rows as launches: a block of rows goes through all of them before the
next, so that what they hand on stays in the second cache and takes no memory of the run.

In: a cluster of kind `stream`, whose body is a chain of clusters: a product, a loop over its rows,
a product of these; or a depthwise convolution and one of its single pixels. Out: launches that pack
right operands of the run, and one of a kernel that calls those of the chain. Invariant: the same
bits as of the clusters one after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from flowc.codegen.cpu.blocked import WANTED_TASKS
from flowc.codegen.cpu.contractions.cluster import contraction_launches
from flowc.codegen.cpu.contractions.launching import (
    ALIGNMENT,
    product_in,
    tasks_worth_a_thread,
)
from flowc.codegen.cpu.contractions.stream_source import (
    CalledKernel,
    Entry,
    Tables,
    Walked,
    buffers_of,
    stream_kernel,
    table_bytes,
)
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.kernels.kernel import (
    EPILOGUE_BUFFERS,
    SCRATCH,
    STREAMED,
    Epilogue,
    Launch,
    Operand,
)
from flowc.codegen.kernels.loops import loop_launch
from flowc.dataclass import dataclass
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, ceildiv, evaluate, floordiv, maximum, symbols_of
from flowc.ir.lowering import MatMul
from flowc.passes.analysis.pixel_chains import rows_of_band
from flowc.passes.analysis.products import entries_and_rows

if TYPE_CHECKING:
    from flowc.codegen.cpu.target import CpuTarget

BLOCK_BYTES = 1 << 20  # of all values of a block of rows, at most: half of a second cache
LEAST_TILES = 3  # above one another in a block: fewer share what they read of the right operand


def streamed_launches(node: Node, target: CpuTarget) -> tuple[Launch, ...]:
    """The kernels of a cluster of kind `stream`."""
    chain = _chain(node)
    if chain[0].attrs["kind"] == "convolution":
        return (_streamed_pixels(node, chain, target),)
    values = [n.output for n in chain[:-1]]
    shape = target.tile_shape(values[0].type.dtype)
    row_bytes = [v.dims[-1] * v.type.dtype.size for v in values]
    entries, rows = _entries_and_rows(chain[0])
    most = _block_rows(entries * rows, sum(row_bytes, start=0), shape)
    blocks = ceildiv(rows, most)
    block_rows = ceildiv(ceildiv(rows, blocks), shape.rows) * shape.rows
    packs, calls = _members(chain, target, most)
    products = [n for n in chain if n.attrs["kind"] == "matmul"]
    panels = [ceildiv(product_in(n.attrs["body"]).output.dims[-1], shape.columns) for n in products]
    called = [_called(x, values, "rows" if x.kernel.nest else "panels") for x in calls]
    blocked = _RowBlocks(entries, rows, block_rows, blocks)
    return (*packs, _stream_launch(node, chain, calls, called, blocked, row_bytes, panels, target))


def _streamed_pixels(node: Node, chain: Sequence[Node], target: CpuTarget) -> Launch:
    """Of a depthwise convolution and one of single pixels: a block is rows of the image."""
    (value,) = (n.output for n in chain[:-1])
    images, rows, columns, channels = (d for d in value.dims if isinstance(d, int))
    row_bytes = columns * channels * value.type.dtype.size
    block_rows = rows_of_band(rows, row_bytes)
    blocked = _RowBlocks(images, rows, block_rows, rows // block_rows)
    calls = [x for n in chain for x in contraction_launches(n, target, block_rows * columns)]
    called = [_called(x, [value], "tasks") for x in calls]
    tasks = [floordiv(x.total, blocked.entries * blocked.blocks) for x in calls]
    return _stream_launch(node, chain, calls, called, blocked, [row_bytes], tasks, target)


@dataclass(frozen=True, slots=True)
class _RowBlocks:
    """How the `rows` of each of so many `entries` are cut into `blocks`."""

    entries: Dim
    rows: Dim
    block_rows: Dim
    blocks: Dim


def _stream_launch(
    node: Node,
    chain: Sequence[Node],
    calls: Sequence[Launch],
    called: Sequence[CalledKernel],
    blocked: _RowBlocks,
    row_bytes: Sequence[Dim],
    tasks: Sequence[Dim],
    target: CpuTarget,
) -> Launch:
    """The launch that makes the `calls`. `tasks`: the ints that say what a block is of those whose
    range is not rows."""
    values = [n.output for n in chain[:-1]]
    places: list[Dim] = [_aligned(table_bytes(called))]
    for size in row_bytes:
        places.append(_aligned(places[-1] + blocked.block_rows * size))
    ints = [blocked.rows, blocked.block_rows, blocked.blocks, places[-1]]
    ints += [x for pair in zip(places, row_bytes) for x in pair]
    seen: dict[Value, Operand] = dict(zip(chain[-1].outputs, node.outputs, strict=True))
    seen |= dict.fromkeys(values, STREAMED)
    units = blocked.entries * blocked.blocks
    tables = Tables.of(called, len(values))
    return Launch(
        stream_kernel(called, len(values), target.tile_shape(values[0].type.dtype)),
        (SCRATCH, np.array(tables.places, np.int64), *buffers_of(called)),
        (*ints, *tasks, *tables.ints),
        units,
        tasks_worth_a_thread(chain[0], units),
        scratch=places[-1] + reduce(maximum, (x.scratch for x in calls)),
        nodes=node.origin,
        calls=tuple(_with_operands(x, seen) for x in calls),
    )


def _members(
    chain: Sequence[Node], target: CpuTarget, block_rows: int
) -> tuple[list[Launch], list[Launch]]:
    """The launches that pack the right operands, in memory of their own, and those of the chain."""
    packs: list[Launch] = []
    calls: list[Launch] = []
    offset: Dim = 0
    for member in chain:
        if member.attrs["kind"] == "loop":
            calls.append(loop_launch(member, target))
            continue
        pack, launch = contraction_launches(member, target, block_rows)
        packs.append(replace(pack, workspace_offset=offset))
        calls.append(replace(launch, workspace_offset=offset))
        offset = offset + _aligned(launch.workspace)
    return packs, calls


def _chain(node: Node) -> list[Node]:
    """The clusters of the body, over the values that the node reads."""
    body: Computation = node.attrs["body"]
    values = {p.output: v for p, v in zip(body.parameters, node.inputs)}
    found: list[Node] = []
    for inner in body.nodes:
        if inner.op.name == "cluster":
            found.append(inner.over(values[v] for v in inner.inputs))
            values.update(zip(inner.outputs, found[-1].outputs))
    return found


def _entries_and_rows(member: Node) -> tuple[Dim, Dim]:
    inner = product_in(member.attrs["body"])
    assert isinstance(inner.lowering, MatMul)
    left, right = inner.inputs
    return entries_and_rows(inner.lowering, left, right, inner.output)


def _called(launch: Launch, streamed: Sequence[Value], walked: Walked) -> CalledKernel:
    """What the tables of a launch have to be told."""

    def told(operands: Sequence[Operand]) -> tuple[Entry, ...]:
        numbers = {value: i for i, value in enumerate(streamed)}
        return tuple(
            numbers.get(o)
            if isinstance(o, Value)
            else next((x for x in (SCRATCH, EPILOGUE_BUFFERS) if x is o), None)
            for o in operands
        )

    late = launch.epilogue.operands if launch.epilogue is not None else ()
    return CalledKernel(walked, told(launch.operands), told(late))


def _with_operands(launch: Launch, seen: Mapping[Value, Operand]) -> Launch:
    """The launch over what its caller and the run know of."""

    def own(operands: Sequence[Operand]) -> tuple[Operand, ...]:
        return tuple(seen.get(o, o) if isinstance(o, Value) else o for o in operands)

    epilogue = launch.epilogue
    if epilogue is not None:
        epilogue = Epilogue(epilogue.kernel, own(epilogue.operands), epilogue.ints)
    return replace(launch, operands=own(launch.operands), epilogue=epilogue)


def _block_rows(rows: Dim, row_bytes: Dim, shape: TileShape) -> int:
    """Rows of a block: as many as a product gathers, if their values have room and there are tasks
    for many threads. Sizes that only the run knows count as 1."""
    assert isinstance(row_bytes, int)
    rows = evaluate(rows, dict.fromkeys(symbols_of(rows), 1))
    fitting = BLOCK_BYTES // max(1, row_bytes) // shape.rows * shape.rows
    shared = -(-rows // (WANTED_TASKS * shape.rows)) * shape.rows
    wanted = max(shared, LEAST_TILES * shape.rows)
    return max(shape.rows, min(fitting, wanted, shape.block_rows))


def _aligned(size: Dim) -> Dim:
    return ceildiv(size, ALIGNMENT) * ALIGNMENT
