"""Diagonals of matrices, and blocks of space moved to depth or batch and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.api.framework.raw_ops import named
from flowc.graph import Tensor
from flowc.graph.building.creation import output


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """A tensor [..., ...] of twice the rank, with `diagonal` on its diagonal and zeros elsewhere.
    Of numbers; raises `TypeError` for other dtypes."""
    return output("Diag", diagonal, name=name)


def diag_part(input: Any, name: str | None = None) -> Tensor:
    """The diagonal [d1, ..., dk] of a tensor [d1, ..., dk, d1, ..., dk] of numbers. Raises
    `ValueError` for an odd rank, and where the halves of the shape differ."""
    return output("DiagPart", input, name=name)


def matrix_diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with `diagonal` on the diagonal `k`, above the main one for positive numbers, or its
    rows on those from the first to the second of a pair; `padding_value` elsewhere. Of any dtype.
    Raises `ValueError` for shapes that do not fit."""
    inputs = diagonal, k, num_rows, num_cols, padding_value
    return output("MatrixDiagV3", *inputs, align=align, name=name)


def matrix_diag_part(
    input: Any,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """The diagonal `k` of matrices, above the main one for positive numbers, or those from the
    first to the second of a pair, with `padding_value` where they are shorter than the longest. Of
    any dtype. Raises `ValueError` for shapes that do not fit."""
    return output("MatrixDiagPartV3", input, k, padding_value, align=align, name=name)


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Matrices [..., m, n] with zeros outside a band: `num_lower` diagonals below the main one and
    `num_upper` above it are kept (integer scalars; all of them where negative). Raises `ValueError`
    for a rank below 2."""
    return output("MatrixBandPart", input, num_lower, num_upper, name=name)


def _moved(op_type: str, function_name: str, doc: str) -> Callable[..., Tensor]:
    def function(
        input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
    ) -> Tensor:
        return output(op_type, input, block_size=block_size, data_format=data_format, name=name)

    return named(function, function_name, doc)


space_to_depth = _moved(
    "SpaceToDepth",
    "space_to_depth",
    "Blocks of `block_size` rows and columns of images [batch, height, width, channels] moved to "
    "the channels, which grow by its square. Raises `ValueError` where height or width is no "
    "multiple of it, and for a size below 2.",
)
depth_to_space = _moved(
    "DepthToSpace",
    "depth_to_space",
    "The inverse of `space_to_depth`. Raises `ValueError` where the channels are no multiple of "
    "the square of `block_size`, and for a size below 2.",
)


def space_to_batch_nd(
    input: Any, block_shape: Any, paddings: Any, name: str | None = None
) -> Tensor:
    """Blocks of `block_shape` [m] of the m dimensions after the first, padded by `paddings` [m, 2],
    moved to the batch, which grows by their product. Raises `ValueError` where a padded size is no
    multiple of its block."""
    return output("SpaceToBatchND", input, block_shape, paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """The inverse of `space_to_batch_nd`, with `crops` [m, 2] cut off afterwards. Raises
    `ValueError` where the batch is no multiple of the blocks' product."""
    return output("BatchToSpaceND", input, block_shape, crops, name=name)


def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    """`space_to_batch_nd` of images [batch, height, width, channels], in square blocks of
    `block_size` unless `block_shape` is given. Raises as it does."""
    sizes = [block_size, block_size] if block_shape is None else block_shape
    return space_to_batch_nd(input, sizes, paddings, name)


def batch_to_space(
    input: Any, crops: Any, block_size: int | None = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    """The inverse of `space_to_batch`, with `crops` [2, 2] cut off afterwards. Raises as
    `batch_to_space_nd`."""
    sizes = [block_size, block_size] if block_shape is None else block_shape
    return batch_to_space_nd(input, sizes, crops, name)
