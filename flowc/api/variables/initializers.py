"""What variables are initialised with: functions of a shape and a dtype that make a tensor."""

from __future__ import annotations

import math
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones, zeros
from flowc.api.framework.basics import constant
from flowc.api.random.random_ops import random_uniform
from flowc.graph import Tensor, TensorShape


class Zeros:
    """All zeros."""

    def __init__(self, dtype: Any = dtypes.f32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return zeros(shape, self.dtype if dtype is None else dtype)


class Ones(Zeros):
    """All ones."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return ones(shape, self.dtype if dtype is None else dtype)


class Constant:
    """`value`: a number, or as many elements as the shape has."""

    def __init__(self, value: Any = 0, dtype: Any = dtypes.f32, verify_shape: bool = False) -> None:
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self.verify_shape = verify_shape

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        kind = self.dtype if dtype is None else dtype
        return constant(self.value, kind, shape, verify_shape=self.verify_shape)


class GlorotUniform:
    """Uniform in ±sqrt(6 / (fan in + fan out)), by Glorot and Bengio, 2010."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.f32) -> None:
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        fan_in, fan_out = _fans(shape)
        limit = math.sqrt(3.0 / max(1.0, (fan_in + fan_out) / 2.0))
        kind = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        return random_uniform(TensorShape(shape), -limit, limit, kind, self.seed)


def _fans(shape: Any) -> tuple[float, float]:
    """The inputs and outputs of one element of a layer with weights of this shape."""
    sizes = [int(s or 0) for s in TensorShape(shape).as_list()]
    if not sizes:
        return 1.0, 1.0
    if len(sizes) == 1:
        return float(sizes[0]), float(sizes[0])
    field = math.prod(sizes[:-2])
    return float(sizes[-2] * field), float(sizes[-1] * field)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
glorot_uniform_initializer = GlorotUniform
