"""Matrix products and convolutions as launches of a GPU.

In: a cluster of kind `matmul` or `convolution`. Out: one launch, whose kernel computes the product
tile by tile and does to each element what the cluster does. Invariant: operands are read where they
stand, transposed or not: nothing is packed, and no memory is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from flowc import dtypes
from flowc.codegen.cuda.depthwise import (
    DEPTHWISE_THREADS,
    MOST_TAPS,
    DepthwiseSource,
    depthwise_text,
)
from flowc.codegen.cuda.device_writer import DeviceWriter, memory_type
from flowc.codegen.cuda.finish import ElementFunction, Ending, element_function
from flowc.codegen.cuda.fold import FOLD_THREADS, fold_text
from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.cuda.operands import (
    PER_AXIS,
    Image,
    ImageTile,
    MatrixTile,
    Operand,
    PiecesTile,
    StoredMatrix,
    TransposedWeights,
    window_axes,
)
from flowc.codegen.cuda.product import SIZES, ProductSource, Tile, product_text
from flowc.codegen.cuda.simt import ARCHITECTURE as SIMT
from flowc.codegen.cuda.tensor_product import TensorProduct
from flowc.codegen.cuda.thread_product import ThreadProduct
from flowc.codegen.cuda.tile import FEW, VECTOR_BYTES, TensorTile, inner_parts, product_tile
from flowc.codegen.cuda.tile_kernel import TileKernel
from flowc.codegen.kernels.kernel import WORKSPACE
from flowc.codegen.kernels.kernel import Operand as KernelOperand
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, ceildiv, floordiv, product
from flowc.ir.layout import CHANNELS_LAST
from flowc.ir.lowering import Convolution, MatMul
from flowc.ir.scalar import held_dtype

if TYPE_CHECKING:
    from flowc.codegen.cuda.target import CudaTarget

ALIGNMENT = 64  # of a workspace, which is never empty
NEW_ARCHITECTURE = 80  # the first whose tensor cores take tf32 and bf16
# Where two blocks with the largest tile of single threads fit into one multiprocessor's registers
# without spills, as `ptxas` 12.9 has it: one block waits while the other multiplies.
TWO_BLOCKS: dict[type[Any], set[int]] = {MatMul: {80, 86, 89, 90, 100}, Convolution: {90}}
MOST_ELEMENTS = 1 << 31
AXES = {1: "w", 2: "hw", 3: "dhw"}


def contraction_host_reason(node: Node) -> str | None:
    """Why a cluster of these kinds stays on the host; None where it runs on the GPU."""
    inner = _product_in(node.attrs["body"])
    lowering = inner.lowering
    if isinstance(lowering, Convolution) and lowering.layout != CHANNELS_LAST:
        return f"no kernel of a GPU takes images in {lowering.layout}"
    sizes = [v.type.size for v in inner.inputs]
    if any(isinstance(size, int) and size >= MOST_ELEMENTS for size in sizes):
        return "kernels of a GPU count the steps of a product and a picture's pixels in 32 bits"
    return None


def contraction_launches(node: Node, target: CudaTarget) -> tuple[DeviceLaunch, ...]:
    """The kernels of a cluster of kind `matmul` or `convolution`."""
    body: Computation = node.attrs["body"]
    inner = _product_in(body)
    outer = {p.output: v for p, v in zip(body.parameters, node.inputs)}
    operands = tuple(outer[v] for v in inner.inputs)
    function = element_function(node, body, inner)
    lowering = inner.lowering
    chosen = _choices(inner, target)
    if isinstance(lowering, Convolution) and _is_depthwise(lowering, operands[-1]):
        end = Ending(inner.output.type.dtype, node.outputs[0], function)
        return (_depthwise(node, inner, lowering, operands, end),)
    if isinstance(lowering, MatMul):
        given = _matmul(inner, lowering, operands, chosen)
    else:
        assert isinstance(lowering, Convolution)
        given = _convolution(inner, lowering, operands, chosen)
    return _launches(node, given, function)


def _product_in(body: Computation) -> Node:
    return next(n for n in body.nodes if isinstance(n.lowering, (MatMul, Convolution)))


@dataclass(frozen=True, slots=True)
class _Given:
    """A product's kernel, what its operands are, and its ints by name."""

    source: ProductSource
    operands: tuple[Value, ...]
    ints: dict[str, Dim]


def _launches(
    node: Node, given: _Given, function: ElementFunction | None
) -> tuple[DeviceLaunch, ...]:
    """One launch; or one for the parts of the inner dimension and one that adds them up."""
    source, sizes, tile = given.source, given.ints, given.source.tile
    entries, rows, columns, depth = (sizes[name] for name in SIZES[:4])
    made = TensorProduct if isinstance(tile, TensorTile) else ThreadProduct
    parts = inner_parts(tile, entries, rows, columns, depth)
    elements = node.outputs[0].type.size
    steps = ceildiv(ceildiv(depth, tile.depth), parts)
    sizes = sizes | {"parts": parts, "part_depth": steps * tile.depth, "part_step": elements}
    blocks = entries * parts * ceildiv(rows, tile.rows) * ceildiv(columns, tile.columns)
    kinds = [source.dtype] * len(given.operands)
    ints = [sizes[name] for name in (*SIZES, *source.ints)]
    end = Ending(source.dtype, node.outputs[0], function)
    if parts == 1:
        kernel = _kernel(product_text(made, source, end, False), kinds, ints, end, tile.threads)
        return (_launch(node, kernel, given.operands, ints, end, blocks),)
    sums = Ending(held_dtype(source.dtype), WORKSPACE)
    workspace = parts * elements * sums.dtype.size + ALIGNMENT
    folding = [elements, sizes["c_stride"], parts]
    kernel = _kernel(product_text(made, source, sums, True), kinds, ints, sums, tile.threads)
    fold = _kernel(fold_text(source.dtype, end), [sums.dtype], folding, end, FOLD_THREADS)
    groups = ceildiv(elements, FOLD_THREADS)
    return (
        _launch(node, kernel, given.operands, ints, sums, blocks, workspace),
        _launch(node, fold, [WORKSPACE], folding, end, groups, workspace),
    )


def _kernel(
    text: str, kinds: Sequence[DType], ints: Sequence[Dim], end: Ending, threads: int
) -> TileKernel:
    return TileKernel(
        text,
        (*kinds, *end.kinds),
        len(ints) + len(end.ints),
        functions=end.functions,
        block=threads,
        function=end.function,
    )


def _launch(
    node: Node,
    kernel: TileKernel,
    operands: Sequence[KernelOperand],
    ints: Sequence[Dim],
    end: Ending,
    blocks: Dim,
    workspace: Dim = 0,
) -> DeviceLaunch:
    return DeviceLaunch(
        kernel,
        (*operands, *end.operands),
        (*ints, *end.sizes),
        blocks,
        workspace=workspace,
        errors=end.function.errors if end.function is not None else (),
        nodes=node.origin,
        grid=(blocks, 1, 1),
        block=kernel.block,
    )


@dataclass(frozen=True, slots=True)
class _Choices:
    """What follows from the GPU. `blocks`: how many a multiprocessor shall hold at least."""

    tensor_cores: bool
    blocks: int


def _choices(inner: Node, target: CudaTarget) -> _Choices:
    """Products of f32 go to tensor cores only where they may be rounded first."""
    dtype, known = inner.output.type.dtype, set(target.architectures) - {SIMT}
    rounds = dtype in (dtypes.f16, dtypes.bf16) or (dtype is dtypes.f32 and target.tf32)
    tensor_cores = rounds and all(a >= NEW_ARCHITECTURE for a in known)
    return _Choices(tensor_cores, 2 if known <= TWO_BLOCKS[type(inner.lowering)] else 1)


def _matmul(inner: Node, lowering: MatMul, operands: Sequence[Value], chosen: _Choices) -> _Given:
    *left, b = operands
    dtype = inner.output.type.dtype
    (*a_batch, a0, a1), (*b_batch, b0, b1) = left[0].dims, b.dims
    m = a1 if lowering.transpose_a else a0
    n, k = (b0, b1) if lowering.transpose_b else (b1, b0)
    batch = product(inner.output.dims[:-2])
    a_entry: Dim = 0 if product(a_batch) == 1 else m * k
    b_entry: Dim = 0 if product(b_batch) == 1 else k * n
    if b_entry == 0 and not lowering.transpose_a:
        # One right operand for the whole batch: its entries are more rows.
        m, batch, a_entry = m * product(a_batch), 1, 0
    pieces = [f"a{i}" for i in range(lowering.pieces)]
    ints: dict[str, Dim] = dict(zip(SIZES, (batch, m, n, k, m, 0, n)))
    ints |= {"a_entry": a_entry, "b_entry": b_entry, "b_step": b1}
    ints |= {f"{p}_step": v.dims[-1] for p, v in zip(pieces, left)}
    names = tuple(name for name in ints if name not in SIZES)
    along = lowering.transpose_a, not lowering.transpose_b

    def made(w: DeviceWriter, tile: Tile) -> tuple[Operand, Operand]:
        kind, depth = memory_type(dtype), tile.end
        parts, end = list[StoredMatrix](), w.number(0)
        for p in pieces:
            step = w.int(f"{p}_step")
            end = depth if p == pieces[-1] else end + step
            entry = w.at(w.parameters[p], tile.entry * w.int("a_entry"), kind)
            parts.append(StoredMatrix(entry, step, end))
        entry = w.at(w.parameters["b"], tile.entry * w.int("b_entry"), kind)
        place, rows = tile.row, w.int("rows")
        return (
            MatrixTile(w, source.share(0), parts[0], place, rows)
            if len(parts) == 1
            else PiecesTile(w, source.share(0), parts, place, rows),
            MatrixTile(
                w,
                source.share(1),
                StoredMatrix(entry, w.int("b_step"), depth),
                tile.column,
                w.int("columns"),
            ),
        )

    shape = product_tile(dtype, batch, m, n, chosen.tensor_cores)
    left_ends = [m] if lowering.transpose_a else [v.dims[-1] for v in left]
    width = _width(dtype, *left_ends), _width(dtype, b1)
    source = ProductSource(shape, dtype, (*pieces, "b"), names, along, width, chosen.blocks, made)
    return _Given(source, tuple(operands), ints)


def _width(dtype: DType, *sizes: Dim) -> int:
    """How many neighbours are read at once where all these sizes are of memory that is read."""
    width = VECTOR_BYTES // dtype.size
    while width > 1 and not all(isinstance(d, int) and d % width == 0 for d in sizes):
        width //= 2
    return width


def _axis_sizes(inner: Node, lowering: Convolution, operands: Sequence[Value]) -> dict[str, Dim]:
    """The ints of the axes, by name."""
    found: dict[str, Dim] = {}
    for i, letter in enumerate(AXES[len(lowering.strides)]):
        sizes = (
            operands[0].dims[1 + i],
            inner.output.dims[1 + i],
            operands[1].dims[i],
            lowering.strides[i],
            lowering.dilations[i],
            lowering.pad[i][0],
        )
        found |= {f"{name}_{letter}": size for name, size in zip(PER_AXIS, sizes, strict=True)}
    return found


def _is_depthwise(lowering: Convolution, weights: Value) -> bool:
    """Whether each channel of the image is by itself, and makes few of the result's."""
    per_group, outputs = weights.dims[-2:]
    is_few = isinstance(outputs, int) and outputs <= FEW * lowering.groups
    return not lowering.transposed and per_group == 1 and lowering.groups > 1 and is_few


def _depthwise(
    node: Node, inner: Node, lowering: Convolution, operands: Sequence[Value], end: Ending
) -> DeviceLaunch:
    x, weights = operands[:2]
    *window, _, outputs = weights.dims
    width = _width(end.dtype, outputs) if lowering.groups == outputs else 1
    vectors = floordiv(inner.output.type.size, width)
    axes = _axis_sizes(inner, lowering, operands)
    taps = tuple(d for d in window if isinstance(d, int))
    is_short = len(taps) == len(window) and prod(taps) <= MOST_TAPS
    source = DepthwiseSource(
        end.dtype,
        AXES[len(lowering.strides)],
        width,
        taps if is_short else None,
        tuple(axes),
    )
    ints = [vectors, outputs, x.dims[-1], *axes.values()]
    kinds = [end.dtype] * 2
    kernel = _kernel(depthwise_text(source, end), kinds, ints, end, DEPTHWISE_THREADS)
    blocks = ceildiv(vectors, DEPTHWISE_THREADS)
    return _launch(node, kernel, (x, weights), ints, end, blocks)


def _convolution(
    inner: Node, lowering: Convolution, operands: Sequence[Value], chosen: _Choices
) -> _Given:
    x, weights = operands[:2]
    dtype, axes = inner.output.type.dtype, AXES[len(lowering.strides)]
    *window, per_group, outputs = weights.dims
    result = inner.output.dims
    if lowering.transposed:
        # The weights' last dims change places.
        columns, channels = per_group, outputs
    else:
        columns, channels = outputs // lowering.groups, per_group
    rows, depth = product(result[:-1]), product(window) * channels
    sizes = (lowering.groups, rows, columns, depth, 0, columns, result[-1])
    ints: dict[str, Dim] = dict(zip(SIZES, sizes))
    ints |= {"channels": channels, "pixel_step": x.dims[-1]}
    ints |= _axis_sizes(inner, lowering, operands)
    names = tuple(name for name in ints if name not in SIZES)

    def made(w: DeviceWriter, tile: Tile) -> tuple[Operand, Operand]:
        kind, depth, columns = memory_type(dtype), tile.end, w.int("columns")
        channels, b = w.int("channels"), w.parameters["b"]
        own = window_axes(w, axes)
        pointer = w.at(w.parameters["a"], tile.entry * channels, kind)
        image = Image(pointer, own, channels, w.int("pixel_step"), lowering.transposed)
        left = ImageTile(w, source.share(0), image, tile.row, w.int("rows"), depth, b)
        if lowering.transposed:
            share = source.share(1)
            return left, TransposedWeights(w, share, b, channels, tile.column, columns, depth)
        matrix = StoredMatrix(w.at(b, tile.entry * columns, kind), w.int("c_stride"), depth)
        return left, MatrixTile(w, source.share(1), matrix, tile.column, columns)

    shape = product_tile(dtype, lowering.groups, rows, columns, chosen.tensor_cores)
    along = False, not lowering.transposed
    right_ends = (channels,) if lowering.transposed else (columns, outputs)
    width = _width(dtype, channels, x.dims[-1]), _width(dtype, *right_ends)
    source = ProductSource(shape, dtype, ("a", "b"), names, along, width, chosen.blocks, made)
    return _Given(source, (x, weights), ints)
