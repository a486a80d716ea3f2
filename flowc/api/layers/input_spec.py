"""`tf.layers.InputSpec`: what inputs a layer takes.

In: ranks and sizes of axes. Out: a check of a tensor. Invariant: what only a run knows fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowc import dtypes
from flowc.graph import Tensor


class InputSpec:
    """What a layer takes: the rank of its input, and sizes of some axes. Raises `TypeError` for
    axes that are no integers."""

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, int] | None = None,
    ) -> None:
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self.shape = shape
        self.ndim = len(shape) if shape is not None else ndim
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        for axis in axes or {}:
            if not isinstance(axis, int):
                raise TypeError(f"`axes` must be numbers of axes. Received: axes={axes}")
        self.axes = dict(axes or {})

    def check(self, tensor: Tensor, layer: str) -> None:
        """Raises `ValueError` for a tensor that does not fit."""
        rank = tensor.shape.ndims
        if rank is None:
            return
        shown = tuple(tensor.shape.as_list())
        said = f'Input 0 of layer "{layer}" is incompatible with the layer: expected '
        for name, wanted, fits in (
            ("ndim", self.ndim, rank == self.ndim),
            ("max_ndim", self.max_ndim, rank <= (self.max_ndim or 0)),
            ("min_ndim", self.min_ndim, rank >= (self.min_ndim or 0)),
        ):
            if wanted is not None and not fits:
                raise ValueError(
                    f"{said}{name}={wanted}, found ndim={rank}. Full shape received: {shown}"
                )
        for axis, size in self.axes.items():
            if shown[axis] not in (None, size):
                raise ValueError(
                    f"{said}axis {axis} of input shape to have value {size}, but received input "
                    f"with shape {shown}"
                )
