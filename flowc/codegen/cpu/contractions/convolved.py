"""Convolutions as launches, by each of the algorithms that there are
(`contractions/algorithms.py`).

In: a cluster of kind `convolution`. Out: launches; weights packed where they are known, else a
first launch that packs them into the cluster's workspace.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.codegen.cpu.blocked import ContractionSource
from flowc.codegen.cpu.contractions.algorithms import (
    DEPTHWISE,
    FEW_COLUMNS,
    FEW_ROWS,
    POINTWISE,
    TRANSPOSED,
    conv_algorithms,
)
from flowc.codegen.cpu.contractions.launching import (
    ALIGNMENT,
    BlockFinish,
    axis_sizes,
    launch_if,
    launch_of,
    pack_launch,
)
from flowc.codegen.cpu.conv_transpose import conv_transpose_source, pack_conv_transpose_weights
from flowc.codegen.cpu.convolution import ConvSpec, conv_source, pack_conv_weights
from flowc.codegen.cpu.depthwise import (
    DepthwiseSpec,
    channel_block,
    depthwise_source,
    fitted_to_image,
    pack_depthwise,
)
from flowc.codegen.cpu.packing import Array, pack_gemm_b
from flowc.codegen.cpu.planar.blocks import PlanarBlock
from flowc.codegen.cpu.planar.source import planar_source
from flowc.codegen.cpu.products.few_columns import few_columns_source, pack_few_columns
from flowc.codegen.cpu.products.few_rows import few_rows_source
from flowc.codegen.cpu.products.pixel_tiles import pack_pointwise, pixel_shape
from flowc.codegen.cpu.products.pointwise import pointwise_source, rows_together
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.winograd.run_weights import transform_source, transformed_elements
from flowc.codegen.cpu.winograd.source import WinogradSpec, pack_winograd_weights, winograd_source
from flowc.codegen.kernels.kernel import SCRATCH, WORKSPACE, Launch, Operand, PackedConstant
from flowc.codegen.packed import Packed
from flowc.dataclass import dataclass
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, ceildiv, floordiv, minimum, product
from flowc.ir.layout import LAYOUTS
from flowc.ir.lowering import Convolution
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.codegen.cpu.target import CpuTarget


@dataclass(frozen=True, slots=True)
class Convolved:
    """A cluster around a convolution: `inner` of its body, whose values are `outer` ones."""

    node: Node
    inner: Node
    outer: dict[Value, Value]
    shape: TileShape
    finish: BlockFinish
    target: CpuTarget

    @property
    def lowering(self) -> Convolution:
        found = self.inner.lowering
        assert isinstance(found, Convolution)
        return found

    @property
    def x(self) -> Value:
        return self.outer[self.inner.inputs[0]]

    @property
    def weights(self) -> Value:
        return self.outer[self.inner.inputs[1]]

    @property
    def image(self) -> Dims:
        """Logical dims of the input: channels last."""
        return LAYOUTS[self.lowering.layout].logical(self.x.dims)

    @property
    def result(self) -> Dims:
        return LAYOUTS[self.lowering.layout].logical(self.inner.output.dims)

    def launches(self, block_rows: int = 0) -> tuple[Launch, ...]:
        """`block_rows`: pixels of a block of a chain of a depthwise convolution and one of single
        pixels, whose tasks are those of one block after another."""
        known = self.weights.constant
        if block_rows:
            assert known is not None
            is_single = self.lowering.groups == 1
            return (self._pointwise(known.shape, block_rows) if is_single else self._depthwise(),)
        possible = conv_algorithms(
            self.lowering, self.weights, self.image, self.result, self.shape, self.target.exact
        )
        wanted = self.target.algorithms.get(self.node, possible[0].name)
        algorithm = next(a for a in possible if a.name == wanted)
        if algorithm.name == DEPTHWISE:
            return (self._depthwise(),)
        if algorithm.planar is not None:
            return self._planar(algorithm.planar)
        if known is None:
            spec = algorithm.winograd
            return self._of_weights_of_the_run() if spec is None else self._transformed(spec)
        if algorithm.name == TRANSPOSED:
            return (self._transposed(),)
        if algorithm.name == FEW_ROWS:
            return (self._of_few_pixels(),)
        if algorithm.name == FEW_COLUMNS:
            return (self._of_few_channels(),)
        if algorithm.name == POINTWISE:
            return (self._pointwise(known.shape),)
        if algorithm.winograd is None:
            return (self._of_patches(),)
        in_tiles = self._winograd(known.shape, algorithm.winograd)
        if not algorithm.least_pixels:
            return (in_tiles,)
        pixels = product(self.result[:-1])
        are_many = minimum(1, floordiv(pixels, algorithm.least_pixels))
        return launch_if(1 - are_many, self._of_patches()), launch_if(are_many, in_tiles)

    def _of_patches(self) -> Launch:
        packed = self._packed(pack_conv_weights, self._spec, self.lowering.groups)
        return self._launch(self._direct(), packed, self._of_groups())

    def _packed(self, pack: Callable[..., Array | Packed], *settings: Any) -> Operand:
        """The weights as `pack` makes them of the array and the settings."""
        return PackedConstant(self.weights, pack, settings)

    def _launch(
        self, source: ContractionSource, weights: Operand, ints: dict[str, Dim],
        workspace: Dim = 0,
    ) -> Launch:  # fmt: skip
        operands: dict[str, Operand] = {"x": self.x, "y": self.node.outputs[0], "weights": weights}
        operands["scratch"] = SCRATCH
        return launch_of(self.node, source, operands, self._sizes() | ints, self.finish, workspace)

    def _sizes(self) -> dict[str, Dim]:
        """What most kernels are told."""
        return axis_sizes(self.lowering, self.image, self.result, self.weights.dims)

    @property
    def _spec(self) -> ConvSpec:
        return ConvSpec(self.shape, len(self.lowering.strides), self.lowering.layout)

    def _of_groups(self) -> dict[str, Dim]:
        return {
            "channels": self.weights.dims[-2],
            "n": self.result[-1] // self.lowering.groups,
            "groups": self.lowering.groups,
            "x_stride": self.image[-1],
            "c_stride": self.result[-1],
        }

    def _direct(self) -> ContractionSource:
        return conv_source(self._spec, self.finish.hook, extra=self.finish.extra)

    def _transposed(self) -> Launch:
        steps = self.lowering.strides, self.lowering.dilations
        ints: dict[str, Dim] = {"channels": self.image[-1], "n": self.result[-1]}
        ints |= {"x_stride": self.image[-1], "y_stride": self.result[-1]}
        source = conv_transpose_source(self._spec, self.finish.hook, extra=self.finish.extra)
        packed = self._packed(pack_conv_transpose_weights, self.shape, *steps)
        return self._launch(source, packed, ints)

    def _planar(self, block: PlanarBlock) -> tuple[Launch, ...]:
        """Weights of the run are packed for tiles; without, they are read where they stand."""
        shape, groups = self.shape, self.lowering.groups
        outputs = self.weights.type.static_dims[-1]
        ints: dict[str, Dim] = {"channels": self.image[-1], "n": self.result[-1], "groups": groups}
        ints |= {"block_slices": block.slices, "block_rows": block.rows}
        ints |= {"block_pixels": block.pixels, "pitch": block.pitch}
        finish = self.finish
        source = planar_source(
            shape, block, outputs, finish.hook, extra=finish.extra, groups=groups,
            width=self.result[-2],
        )  # fmt: skip
        if self.weights.constant is None:
            if block.tile is None:
                return (self._launch(source, self.weights, ints),)
            pack, workspace = self._pack(block.tile)
            return pack, self._launch(source, WORKSPACE, ints, workspace)
        if block.tile is not None:
            packed = self._packed(pack_conv_weights, ConvSpec(block.tile), groups)
        else:
            packed = self._packed(np.ascontiguousarray, shape.dtype.numpy)
        return (self._launch(source, packed, ints),)

    def _depthwise(self) -> Launch:
        lowering, known, n = self.lowering, self.weights.constant, self.result[-1]
        window = self.weights.dims[:-2]
        taps = tuple(d for d in window if isinstance(d, int))
        step = lowering.strides[1], lowering.dilations[1]
        spec = DepthwiseSpec(self.shape, taps if len(taps) == 2 else None, *step)
        # Of windows that move by one pixel, as many as fit lie inside.
        inside = self.image[2] - (window[1] - 1) * lowering.dilations[1]
        spec = fitted_to_image(spec, n, self.result[2], inside, wide=known is not None)
        block = channel_block(spec, n, self.image[2])
        ints: dict[str, Dim] = {"channels": n, "block": block, "in_blocks": int(known is not None)}
        source = depthwise_source(spec, self.finish.hook, extra=self.finish.extra)
        if known is None:
            return self._launch(source, self.weights, ints)
        assert isinstance(block, int)
        packed = self._packed(_pack_depthwise, spec, block)
        return self._launch(source, packed, ints)

    def _pointwise(self, window: tuple[int, ...], block_rows: int = 0) -> Launch:
        """Blocks of given rows are entries of a batch, which share the weights."""
        channels, n = self.weights.dims[-2:]
        m, finish = product(self.image[:-1]), self.finish
        ints: dict[str, Dim] = {"m": m, "n": n, "channels": channels, "w_step": channels}
        ints["x_stride"] = channels
        ints |= {"c_stride": n, "batch": 1, "x_batch": 0, "w_batch": 0}
        if block_rows:
            ints |= {"m": block_rows, "batch": floordiv(m, block_rows), "parts": 1}
            ints["x_batch"] = channels * block_rows
        tiles = pixel_shape(self.shape, window[-1])
        rest = window[-1] % tiles.columns
        together = rows_together(tiles, channels, n)
        source = pointwise_source(
            tiles, rest, finish.hook, extra=finish.extra, together=together,
            block_rows=block_rows, sizes=ints,
        )  # fmt: skip
        return self._launch(source, self._packed(pack_pointwise, tiles), ints)

    def _of_few_pixels(self) -> Launch:
        """Such as those of an image that was squeezed to its channels."""
        pixels = product(self.image[:-1])
        assert isinstance(pixels, int)
        source = few_rows_source(self.shape, pixels, self.finish.hook, extra=self.finish.extra)
        return self._product(source, self._packed(_pack_pixel, self.shape))

    def _of_few_channels(self) -> Launch:
        """Such as those of a mask, or of what is told of each pixel."""
        source = few_columns_source(self.shape, self.finish.hook, extra=self.finish.extra)
        return self._product(source, self._packed(pack_few_columns, self.shape))

    def _product(self, source: ContractionSource, weights: Operand) -> Launch:
        """Of all pixels as rows."""
        channels, n = self.weights.dims[-2:]
        operands: dict[str, Operand] = {"a": self.x, "b": weights, "c": self.node.outputs[0]}
        sizes = product(self.image[:-1]), n, channels, channels, n
        ints: dict[str, Dim] = dict(zip(("m", "n", "k", "a_stride", "c_stride"), sizes))
        return launch_of(self.node, source, operands, ints, self.finish)

    def _winograd(self, window: tuple[int, ...], spec: WinogradSpec) -> Launch:
        seen = math.prod(window[:-4]) * window[-2] * spec.sections_in_all
        source = winograd_source(spec, seen, self.finish.hook, extra=self.finish.extra)
        packed = self._packed(pack_winograd_weights, spec)
        return self._launch(source, packed, self._of_groups())

    def _transformed(self, spec: WinogradSpec) -> tuple[Launch, ...]:
        """The weights are transformed first."""
        *window, channels, n = self.weights.dims
        seen = product(window[:-2]) * channels
        workspace = transformed_elements(spec, seen, n) * self.shape.dtype.size + ALIGNMENT
        operands: dict[str, Operand] = {"weights": self.weights, "packed": WORKSPACE}
        ints: dict[str, Dim] = {"kernel_d": product(window[:-2]), "channels": channels, "n": n}
        first = launch_of(self.node, transform_source(spec), operands, ints, None, workspace)
        assert isinstance(seen, int)
        source = winograd_source(spec, seen, self.finish.hook, extra=self.finish.extra)
        return first, self._launch(source, WORKSPACE, self._of_groups(), workspace)

    def _of_weights_of_the_run(self) -> tuple[Launch, ...]:
        pack, workspace = self._pack(self.shape)
        return (pack, self._launch(self._direct(), WORKSPACE, self._of_groups(), workspace))

    def _pack(self, tile: TileShape) -> tuple[Launch, Dim]:
        """The launch that packs weights of the run for a tile, and the bytes of its panels."""
        groups, n = self.lowering.groups, self.result[-1]
        *window, channels, _ = self.weights.dims
        per_group, k = n // groups, product(window) * channels
        panels = ceildiv(per_group, tile.columns) * tile.columns
        workspace = panels * k * groups * tile.dtype.size + ALIGNMENT
        sizes, steps = (groups, k, per_group), (n, per_group)
        return pack_launch(self.node, self.weights, tile, sizes, steps, workspace), workspace


def _pack_depthwise(weights: Array, spec: DepthwiseSpec, block: int) -> Array:
    return pack_depthwise(weights.transpose(0, 1, 3, 2), spec, block)


def _pack_pixel(weights: Array, shape: TileShape) -> Packed:
    """The weights of a window of one pixel, as a matrix."""
    return pack_gemm_b(weights.reshape(weights.shape[-2:]), shape)
