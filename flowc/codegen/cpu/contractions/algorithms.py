"""The algorithms that can compute a convolution, and which one the cost model chooses.

In: a convolution, and the register tile of its target. Out: `ConvAlgorithm`s by name, the chosen
one first. Invariant: each gives the same result, up to the rounding that `Options.exact` is about.
"""

from __future__ import annotations

from collections.abc import Callable

from flowc.codegen.cpu.planar.blocks import LINE_STRIDE, PlanarBlock, planar_block
from flowc.codegen.cpu.products.few_columns import is_product_of_few_columns
from flowc.codegen.cpu.products.few_rows import is_product_of_few_rows
from flowc.codegen.cpu.products.pixel_tiles import is_of_single_pixels, is_product_of_pixels
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.winograd.choice import least_pixels, winograd_costs, winograd_for
from flowc.codegen.cpu.winograd.source import WinogradSpec
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, product
from flowc.ir.layout import CHANNELS_LAST, LAYOUTS
from flowc.ir.lowering import Convolution
from flowc.ir.types import Dims

DIRECT, POINTWISE, PLANAR, DEPTHWISE = "direct", "pointwise", "planar", "depthwise"
TRANSPOSED, FEW_ROWS, FEW_COLUMNS = "transposed", "few_rows", "few_columns"


@dataclass(frozen=True, slots=True)
class ConvAlgorithm:
    """`planar` and `winograd`: how algorithms with blocks or tiles of their own cut the work. Of
    fewer than `least_pixels` the convolution is computed directly, which the run finds out."""

    name: str
    planar: PlanarBlock | None = None
    winograd: WinogradSpec | None = None
    least_pixels: int = 0


def conv_algorithms(
    lowering: Convolution, weights: Value, image: Dims, result: Dims, shape: TileShape, exact: bool
) -> list[ConvAlgorithm]:
    """At least one. `image` and `result` are the logical dims of the input and the output.

    Of the algorithms, `direct` alone reads other layouts than channels last, with known weights.
    """
    is_last, is_known = lowering.layout == CHANNELS_LAST, weights.constant is not None
    if not is_last and (lowering.transposed or not is_known):
        what = "transposed" if lowering.transposed else "with weights of the run"
        raise InternalError(f"no convolution {what} takes images in {lowering.layout}")
    if lowering.transposed:
        return [ConvAlgorithm(TRANSPOSED)]
    found: list[ConvAlgorithm] = []
    planar = planar_block(shape, lowering, weights.dims, result)
    if planar is not None and is_last:
        found.append(ConvAlgorithm(PLANAR, planar=planar))
    if is_depthwise(lowering, weights.dims, result[-1]) and is_last:
        return [*found, ConvAlgorithm(DEPTHWISE)]
    rows = product(image[:-1])
    if is_known and is_last and is_of_single_pixels(lowering, weights.dims):
        if is_product_of_few_columns(shape, result[-1], weights.dims[-2]):
            found.append(ConvAlgorithm(FEW_COLUMNS))
        if is_product_of_few_rows(shape, rows, result[-1]):
            found.append(ConvAlgorithm(FEW_ROWS))
        if is_product_of_pixels(shape, weights.dims[-2], weights.dims[-1], rows):
            found.append(ConvAlgorithm(POINTWISE))
    specs: list[WinogradSpec | None] = [None]
    if not exact:
        chosen = winograd_for(lowering, weights, result, shape)
        others = [s for s, _ in winograd_costs(lowering, weights, result, shape)]
        specs = [chosen, *(s for s in others or specs if s != chosen)]
    products = [
        _of_products(s, least_pixels(s, lowering, weights, result, shape) if s else 0)
        for s in specs
    ]
    if specs[0] is not None and planar is not None and planar.line_stride > LINE_STRIDE:
        return [*products, *found]  # of many inputs, fewer multiplications count for more
    return [*found, *products]


def algorithms_of_cluster(
    node: Node, shape_of: Callable[[DType], TileShape], exact: bool
) -> list[str]:
    """The names of the algorithms of a cluster that holds a convolution; none for others.
    `shape_of`: the register tile for elements of a dtype."""
    if node.attrs["kind"] != "convolution":
        return []
    body: Computation = node.attrs["body"]
    inner = next(n for n in body.nodes if isinstance(n.lowering, Convolution))
    lowering = inner.lowering
    assert isinstance(lowering, Convolution)
    outer = {p.output: v for p, v in zip(body.parameters, node.inputs)}
    x, weights = (outer[v] for v in inner.inputs[:2])
    layout = LAYOUTS[lowering.layout]
    image, result = layout.logical(x.dims), layout.logical(inner.output.dims)
    shape = shape_of(inner.output.type.dtype)
    return [a.name for a in conv_algorithms(lowering, weights, image, result, shape, exact)]


def is_depthwise(lowering: Convolution, weights: Dims, outputs: Dim) -> bool:
    """Whether every channel is convolved by itself, to one channel."""
    return len(lowering.strides) == 2 and lowering.groups == outputs and weights[-2] == 1


def _of_products(spec: WinogradSpec | None, least: int) -> ConvAlgorithm:
    if spec is None:
        return ConvAlgorithm(DIRECT)
    outputs = spec.winograd.h.outputs, spec.winograd.w.outputs
    name = f"winograd {outputs[0]}x{outputs[1]}"
    return ConvAlgorithm(name, winograd=spec, least_pixels=least)
