"""Diagonals of matrices, and blocks of space moved to depth or batch and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.api.framework.raw_ops import named
from flowc.graph import Tensor
from flowc.graph.building.creation import output


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    return output("Diag", diagonal, name=name)


def diag_part(input: Any, name: str | None = None) -> Tensor:
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
    """Matrices with `diagonal` on the diagonal `k`, above the main one for positive numbers, or
    its rows on those from the first to the second of a pair; `padding_value` elsewhere."""
    if (k, num_rows, num_cols, padding_value) == (0, -1, -1, 0):
        return output("MatrixDiag", diagonal, name=name)
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
    first to the second of a pair, with `padding_value` where they are shorter than the longest."""
    if (k, padding_value) == (0, 0):
        return output("MatrixDiagPart", input, name=name)
    return output("MatrixDiagPartV3", input, k, padding_value, align=align, name=name)


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    return output("MatrixBandPart", input, num_lower, num_upper, name=name)


def _moved(op_type: str, function_name: str) -> Callable[..., Tensor]:
    def function(
        input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
    ) -> Tensor:
        return output(op_type, input, block_size=block_size, data_format=data_format, name=name)

    return named(function, function_name)


space_to_depth = _moved("SpaceToDepth", "space_to_depth")
depth_to_space = _moved("DepthToSpace", "depth_to_space")


def space_to_batch_nd(
    input: Any, block_shape: Any, paddings: Any, name: str | None = None
) -> Tensor:
    return output("SpaceToBatchND", input, block_shape, paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    return output("BatchToSpaceND", input, block_shape, crops, name=name)


def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    sizes = [block_size, block_size] if block_shape is None else block_shape
    return space_to_batch_nd(input, sizes, paddings, name)


def batch_to_space(
    input: Any, crops: Any, block_size: int | None = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    sizes = [block_size, block_size] if block_shape is None else block_shape
    return batch_to_space_nd(input, sizes, crops, name)
