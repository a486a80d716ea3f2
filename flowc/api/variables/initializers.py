"""What variables are initialised with: functions of a shape and a dtype that make a tensor.

In: distributions and seeds. Out: objects to call with a shape and a dtype. Invariant: the nodes and
seeds are TensorFlow 1's, so that equal seeds draw equal numbers.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.blocks import diag_part
from flowc.api.arrays.filling import eye, ones, zeros
from flowc.api.arrays.shaping import matrix_transpose, reshape, slice_
from flowc.api.framework.basics import constant
from flowc.api.framework.raw_ops import call
from flowc.api.math.elementwise import sign
from flowc.api.random.random_ops import random_normal, random_uniform, truncated_normal
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph import Tensor, TensorShape

# The standard deviation of what is left of a normal distribution within two deviations.
TRUNCATED_DEVIATION = 0.87962566103423978


Sizes = TensorShape | Tensor  # a tensor where only a run knows them


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """Where a part of a partitioned variable lies: `var_offset` in a tensor of `full_shape`."""

    full_shape: Sequence[int]
    var_offset: Sequence[int]


class Initializer:
    """Makes initial values: `initializer(shape, dtype)`. Subclasses give `_made`."""

    dtype: DType

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        """A tensor of `shape`; without a dtype, of the initializer's own."""
        kind = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        sizes = shape if isinstance(shape, Tensor) else TensorShape(shape)
        return self._made(sizes, kind, partition_info)

    def _made(self, shape: Sizes, dtype: DType, part: PartitionInfo | None) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such an initializer again."""
        found = {n: getattr(self, n) for n in inspect.signature(self.__init__).parameters}
        return {n: v.name if isinstance(v, DType) else v for n, v in found.items()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        return cls(**config)


class Zeros(Initializer):
    """All zeros. `zeros_initializer(shape, dtype)` is the tensor itself, as it was in 2016. Raises
    `TypeError` for what is no dtype."""

    _fill = staticmethod(zeros)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], list | tuple | TensorShape):
            return cls._fill(*args, **kwargs)
        return object.__new__(cls)

    def __init__(self, dtype: Any = dtypes.f32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def _made(self, shape: Sizes, dtype: DType, part: PartitionInfo | None) -> Tensor:
        return self._fill(shape, dtype)


class Ones(Zeros):
    """All ones. `ones_initializer(shape, dtype)` is the tensor itself, as it was in 2016. Raises
    `TypeError` for what is no dtype."""

    _fill = staticmethod(ones)


class Constant(Initializer):
    """`value`: a number, or as many elements as the shape has. Raises `TypeError` for other values,
    and with `verify_shape` at the call for a value of another shape."""

    def __init__(self, value: Any = 0, dtype: Any = dtypes.f32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(
                f"Invalid type for initial value: {value} of type: {type(value).__name__}. "
                "Expected Python scalar, list or tuple of values, or numpy.ndarray."
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self.verify_shape = verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: Any = None,
        partition_info: PartitionInfo | None = None,
        verify_shape: bool | None = None,
    ) -> Tensor:
        kind = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        verify = self.verify_shape if verify_shape is None else verify_shape
        if isinstance(shape, Tensor):
            raise TypeError(f"the shape must be known when the graph is made, found {shape}")
        return constant(self.value, kind, shape, verify_shape=verify)

    def get_config(self) -> dict[str, Any]:
        return {"value": self.value, "dtype": self.dtype.name}


class _OfFloats(Initializer):
    """One of floats, with a seed."""

    def _take(self, seed: int | None, dtype: Any) -> None:
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)
        if not self.dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {self.dtype!r}.")


class RandomUniform(Initializer):
    """Uniform in [minval, maxval). Raises `TypeError` for what is no dtype."""

    def __init__(
        self,
        minval: Any = 0.0,
        maxval: Any = None,
        seed: int | None = None,
        dtype: Any = dtypes.f32,
    ) -> None:
        self.minval, self.maxval = minval, maxval
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)

    def _made(self, shape: Sizes, dtype: DType, part: PartitionInfo | None) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, dtype, self.seed)


class RandomNormal(_OfFloats):
    """Normal, of `mean` and `stddev`. Raises `ValueError` for a dtype that is no float."""

    _draw = staticmethod(random_normal)

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        seed: int | None = None,
        dtype: Any = dtypes.f32,
    ) -> None:
        self.mean, self.stddev = mean, stddev
        self._take(seed, dtype)

    def _made(self, shape: Sizes, dtype: DType, part: PartitionInfo | None) -> Tensor:
        return self._draw(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Normal, drawn again until it lies within two `stddev` of the mean. Raises `ValueError` for a
    dtype that is no float."""

    _draw = staticmethod(truncated_normal)


class UniformUnitScaling(_OfFloats):
    """Uniform in ±factor * sqrt(3 / inputs), which keeps the scale of what goes through a layer
    (Sussillo and Abbott, 2014, arXiv:1412.6558). Raises `ValueError` for a dtype that is no float.
    """

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.f32
    ) -> None:
        self.factor = factor
        self._take(seed, dtype)

    def _made(self, shape: Sizes, dtype: DType, part: PartitionInfo | None) -> Tensor:
        sizes = _sizes(shape, part)
        limit = math.sqrt(3 / max(1.0, math.prod(map(float, sizes[:-1])))) * self.factor
        return random_uniform(shape, -limit, limit, dtype, self.seed)


class VarianceScaling(_OfFloats):
    """Of a variance of `scale` divided by the number of inputs of a layer (`fan_in`), of outputs
    (`fan_out`) or their mean (`fan_avg`).

    `distribution`: `truncated_normal` (`normal` means it too), `untruncated_normal` or `uniform`.
    Raises `ValueError` for other names and a scale that is not positive.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = dtypes.f32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                "Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: "
                f"{mode}"
            )
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                "Argument `distribution` should be one of ('normal', 'uniform', "
                f"'truncated_normal', 'untruncated_normal'). Received: {distribution}"
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self._take(seed, dtype)

    def _made(self, shape: Sizes, dtype: DType, part: PartitionInfo | None) -> Tensor:
        fan_in, fan_out = _fans(_sizes(shape, part))
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}
        scale = self.scale / max(1.0, fan[self.mode])
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return random_uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(scale), dtype, self.seed)
        stddev = math.sqrt(scale) / TRUNCATED_DEVIATION
        return truncated_normal(shape, 0.0, stddev, dtype, self.seed)


class _Scaled(VarianceScaling):
    """A variance scaling of fixed arguments: `arguments` gives them."""

    arguments: tuple[float, str, str]

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.f32) -> None:
        super().__init__(*self.arguments, seed, dtype)


class GlorotUniform(_Scaled):
    """Uniform in ±sqrt(6 / (fan in + fan out)), by Glorot and Bengio, 2010. Raises `ValueError` for
    a dtype that is no float."""

    arguments = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Scaled):
    """Truncated normal of deviation sqrt(2 / (fan in + fan out)), by Glorot and Bengio, 2010.
    Raises `ValueError` for a dtype that is no float."""

    arguments = (1.0, "fan_avg", "truncated_normal")


class Identity(Initializer):
    """`gain` times the identity matrix. Raises `ValueError` for shapes of another rank than 2."""

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.f32) -> None:
        self.gain = gain
        self.dtype = dtypes.as_dtype(dtype)

    def _made(self, shape: Sizes, dtype: DType, part: PartitionInfo | None) -> Tensor:
        sizes = _sizes(shape, part)
        if len(sizes) != 2:
            raise ValueError(
                f"The tensor to initialize, specified by argument `shape` must be at least "
                f"two-dimensional. Received shape={shape}"
            )
        found = eye(*sizes, dtype=dtype)
        if part is not None:
            found = slice_(found, part.var_offset, _sizes(shape, None))
        return self.gain * found


class Orthogonal(_OfFloats):
    """`gain` times a random matrix of orthonormal rows or columns, whichever are fewer; what stands
    before the last axis counts as rows (Saxe et al., 2014, arXiv:1312.6120). Raises `ValueError`
    for a dtype that is no float, and at the call for shapes of rank 0 and 1."""

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.f32) -> None:
        self.gain = gain
        self._take(seed, dtype)

    def _made(self, shape: Sizes, dtype: DType, part: PartitionInfo | None) -> Tensor:
        sizes = _sizes(shape, None)
        if len(sizes) < 2:
            raise ValueError(
                "The tensor to initialize, specified by argument `shape` must be at least "
                f"two-dimensional. Received shape={shape}"
            )
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        tall = [max(rows, columns), min(rows, columns)]
        q, r = call("Qr", random_normal(tall, dtype=dtype, seed=self.seed))
        # Without the signs, the matrices would not be spread evenly over all orthogonal ones.
        q = q * sign(diag_part(r))
        return self.gain * reshape(matrix_transpose(q) if rows < columns else q, sizes)


def _sizes(shape: Sizes, part: PartitionInfo | None) -> list[int]:
    """The sizes that the scale follows from: of the whole, where a part is made. Raises
    `TypeError` for sizes that only a run knows."""
    if isinstance(shape, Tensor):
        raise TypeError(f"the shape must be known when the graph is made, found {shape}")
    found = shape.as_list() if part is None else part.full_shape
    return [int(size or 0) for size in found]


def _fans(sizes: Sequence[int]) -> tuple[float, float]:
    """The inputs and outputs of one element of a layer with weights of these sizes."""
    if not sizes:
        return 1.0, 1.0
    if len(sizes) == 1:
        return float(sizes[0]), float(sizes[0])
    field = math.prod(sizes[:-2])
    return float(sizes[-2] * field), float(sizes[-1] * field)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
orthogonal_initializer = Orthogonal
identity_initializer = Identity


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal of deviation sqrt(1 / fan in), by LeCun et al., 1998. Raises `TypeError` for
    a dtype that is no float, when it is called."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform in ±sqrt(3 / fan in), by LeCun et al., 1998. Raises `TypeError` for a dtype that is
    no float, when it is called."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal of deviation sqrt(2 / fan in), by He et al., 2015 (arXiv:1502.01852). Raises
    `TypeError` for a dtype that is no float, when it is called."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform in ±sqrt(6 / fan in), by He et al., 2015 (arXiv:1502.01852). Raises `TypeError` for a
    dtype that is no float, when it is called."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
