"""`tf.layers`: pooling, as layers without variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.api.arrays.shaping import expand_dims, squeeze
from flowc.api.layers.input_spec import InputSpec
from flowc.api.layers.layer import Layer, as_function
from flowc.api.layers.windows import (
    checked_format,
    checked_padding,
    every_axis,
    layout_of,
    per_axis,
)
from flowc.api.nn.convolutions import avg_pool, avg_pool3d, max_pool, max_pool3d
from flowc.graph import Tensor


class _Pooling(Layer):
    """The largest or mean element of each window. `pool_size` and `strides`: one number, or one for
    each spatial axis; `padding`: `valid` or `same`."""

    rank: int
    pool: Callable[..., Tensor]

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = per_axis(pool_size, self.rank, "pool_size")
        chosen = pool_size if strides is None else strides
        self.strides = per_axis(chosen, self.rank, "strides")
        self.padding = checked_padding(padding)
        self.data_format = checked_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Tensor) -> Tensor:
        sizes, strides, spatial = self.pool_size, self.strides, self.rank
        if spatial == 1:  # an image of width 1
            at = 2 if self.data_format == "channels_last" else 3
            inputs = expand_dims(inputs, axis=at)
            sizes, strides, spatial = (*sizes, 1), (*strides, 1), 2
        found = self.pool(
            inputs,
            every_axis(sizes, self.data_format),
            every_axis(strides, self.data_format),
            self.padding.upper(),
            layout_of(self.data_format, spatial),
        )
        return squeeze(found, axis=[at]) if self.rank == 1 else found


class MaxPooling1D(_Pooling):
    """The largest element of each window along [batch, steps, channels]. Of real dtypes;
    `pool_size`, `strides`: ints. Raises `ValueError` for another rank and windows of no size."""

    rank, pool = 1, staticmethod(max_pool)


class MaxPooling2D(_Pooling):
    """The largest element of each window of images [batch, height, width, channels]. Of real
    dtypes; `pool_size`, `strides`: an int, or two. Raises `ValueError` for another rank and windows
    of no size."""

    rank, pool = 2, staticmethod(max_pool)


class MaxPooling3D(_Pooling):
    """The largest element of each window of volumes [batch, depth, height, width, channels]. Of
    real dtypes; `pool_size`, `strides`: an int, or three. Raises `ValueError` for another rank and
    windows of no size."""

    rank, pool = 3, staticmethod(max_pool3d)


class AveragePooling1D(_Pooling):
    """The mean of each window along [batch, steps, channels]. Of floats; `pool_size`, `strides`:
    ints. Raises `ValueError` for another rank and windows of no size."""

    rank, pool = 1, staticmethod(avg_pool)


class AveragePooling2D(_Pooling):
    """The mean of each window of images [batch, height, width, channels]. Of floats; `pool_size`,
    `strides`: an int, or two. Raises `ValueError` for another rank and windows of no size."""

    rank, pool = 2, staticmethod(avg_pool)


class AveragePooling3D(_Pooling):
    """The mean of each window of volumes [batch, depth, height, width, channels]. Of floats;
    `pool_size`, `strides`: an int, or three. Raises `ValueError` for another rank and windows of no
    size."""

    rank, pool = 3, staticmethod(avg_pool3d)


max_pooling1d = as_function(MaxPooling1D)
max_pooling2d = as_function(MaxPooling2D)
max_pooling3d = as_function(MaxPooling3D)
average_pooling1d = as_function(AveragePooling1D)
average_pooling2d = as_function(AveragePooling2D)
average_pooling3d = as_function(AveragePooling3D)
