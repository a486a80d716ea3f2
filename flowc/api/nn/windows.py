"""Windows over one, two or three spatial dimensions alike: convolutions and pooling by rank, and
any of them over a dilated grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.api.arrays.blocks import batch_to_space_nd, space_to_batch_nd
from flowc.api.arrays.shaping import expand_dims, shape, squeeze
from flowc.api.arrays.shaping import reverse as reversed_along
from flowc.api.arrays.static_values import required_space_to_batch_paddings
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.reductions import one_of
from flowc.api.nn.convolutions import (
    avg_pool,
    avg_pool3d,
    conv1d,
    conv2d,
    conv3d,
    dilation2d,
    max_pool,
    max_pool3d,
)
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

LAYOUTS = ("NWC", "NHWC", "NDHWC")  # by the number of spatial dimensions
_POOLS = {
    ("MAX", 2): max_pool,
    ("MAX", 3): max_pool3d,
    ("AVG", 2): avg_pool,
    ("AVG", 3): avg_pool3d,
}


def convolution(
    input: Any,
    filter: Any = None,
    padding: Any = None,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Convolution along one, two or three spatial dimensions, as many as the filter [..., in, out]
    has. Raises `ValueError` for other numbers of them, and for strides with dilations."""
    weights = as_tensor(one_of(filter, "filter", filters, "filters"), name="filters")
    dilation = one_of(dilation_rate, "dilation_rate", dilations, "dilations")
    spatial = (weights.shape.ndims or 0) - 2
    if spatial not in (1, 2, 3):
        raise ValueError(
            f"`num_spatial_dims` must be 1, 2, or 3. Received: num_spatial_dims={spatial}."
        )
    steps, rates = _steps_and_rates(spatial, strides, dilation)
    with name_scope(name, "convolution", [input, weights]) as scope:
        function = (conv1d, conv2d, conv3d)[spatial - 1]
        layout = data_format or LAYOUTS[spatial - 1]
        more: dict[str, Any] = {"data_format": layout, "dilations": rates, "name": scope}
        return function(input, weights, steps, padding, **more)


def _steps_and_rates(spatial: int, strides: Any, rates: Any) -> tuple[list[int], list[int]]:
    """Strides and dilations, one for each spatial dimension; 1 where there are none."""
    found = []
    for given, what in ((strides, "strides"), (rates, "dilation_rate")):
        numbers = [1] * spatial if given is None else np.ravel(given).tolist()
        numbers = numbers * spatial if len(numbers) == 1 else numbers
        if len(numbers) == spatial + 2:
            numbers = numbers[1:-1]
        if len(numbers) != spatial:
            raise ValueError(
                f"`len({what})` should be {spatial}. Received: {what}={given} of length "
                f"{len(numbers)}"
            )
        if min(numbers) < 1:
            raise ValueError(f"all values of `{what}` must be positive. Received: {what}={given}")
        found.append([int(n) for n in numbers])
    if max(found[0]) > 1 and max(found[1]) > 1:
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={found[0]} and dilation_rate={found[1]}"
        )
    return found[0], found[1]


def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """The maxima (`"MAX"`) or means (`"AVG"`) of windows of one, two or three spatial dimensions.

    Raises `ValueError` for another kind or number of dimensions, for strides with dilations or
    longer than the window, and for `"SAME"` with dilations."""
    dilation = one_of(dilation_rate, "dilation_rate", dilations, "dilations")
    window = [int(size) for size in window_shape]
    spatial = len(window)
    if spatial not in (1, 2, 3):
        raise ValueError(
            f"`len(window_shape)` must be 1, 2, or 3. Received: window_shape={window_shape} of "
            f"length {spatial}"
        )
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        tensor = as_tensor(input, name="input")
        tensor.shape.with_rank(spatial + 2)
        steps, rates = _steps_and_rates(spatial, strides, dilation)
        if padding == "SAME" and max(rates) > 1:
            raise ValueError(
                "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. Received: "
                f"padding={padding} and dilation_rate={rates}"
            )
        if any(step > size for step, size in zip(steps, window)):
            raise ValueError(
                "`strides` > `window_shape` not supported due to inconsistency between CPU and GPU "
                f"implementations. Received: strides={steps} and window_shape={window}"
            )
        if pooling_type not in ("MAX", "AVG"):
            raise ValueError(f"{spatial}-D {pooling_type} pooling is not supported.")
        layout = data_format or LAYOUTS[spatial - 1]

        def pooled(images: Tensor, _: Any, kind: str) -> Tensor:
            if spatial == 1:
                return _along_one(pooling_type, images, window, steps, kind, layout, scope)
            function = _POOLS[pooling_type, spatial]
            return function(images, window, steps, kind, data_format=layout, name=scope)

        first = 2 if layout.startswith("NC") else 1
        axes = list(range(first, first + spatial))
        return with_space_to_batch(tensor, rates, padding, pooled, window, axes)


def _along_one(
    pooling_type: str,
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    """Pooling along one axis: that of an image of height 1."""
    if data_format not in (None, "NWC", "NCW"):
        raise ValueError(
            f"data_format must be either 'NWC' or 'NCW'. Received: data_format={data_format}"
        )
    at, layout = (2, "NCHW") if data_format == "NCW" else (1, "NHWC")
    (step,), (size,) = ([int(np.ravel(v)[_middle(v, at)])] for v in (strides, ksize))
    images = expand_dims(value, at)
    pads = padding if isinstance(padding, str) else [*padding[:at], [0, 0], *padding[at:]]
    function = _POOLS[pooling_type, 2]
    found = function(images, [1, size], [1, step], pads, data_format=layout, name=name)
    return squeeze(found, [at])


def _middle(numbers: Any, at: int) -> int:
    """Where the number of the spatial dimension stands in one or three numbers."""
    return 0 if np.size(numbers) == 1 else at


def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The means of windows of [batch, width, channels]. Floats. Raises `TypeError` for other
    dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "AvgPool1D", [input]) as scope:
        return _along_one("AVG", input, ksize, strides, padding, data_format, scope)


def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The maxima of windows of [batch, width, channels]. Real numbers. Raises `TypeError` for other
    dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "MaxPool1d", [input]) as scope:
        return _along_one("MAX", input, ksize, strides, padding, data_format, scope)


def _pool_by_rank(
    pooling_type: str, input: Any, ksize: Any, strides: Any, padding: Any,
    data_format: str | None, name: str | None,
) -> Tensor:  # fmt: skip
    tensor = as_tensor(input, name="input")
    spatial = tensor.shape.with_rank_at_least(3).ndims
    spatial = len(data_format) - 2 if spatial is None and data_format else (spatial or 0) - 2
    if spatial not in (1, 2, 3):
        raise ValueError("`input.shape.rank` must be 3, 4 or 5 in a pool of unknown layout. "
                         f"Received: input.shape={tensor.shape}.")  # fmt: skip
    layout = data_format or LAYOUTS[spatial - 1]
    if spatial == 1:
        return _along_one(pooling_type, tensor, ksize, strides, padding, layout, name)
    function = _POOLS[pooling_type, spatial]
    return function(tensor, ksize, strides, padding, data_format=layout, name=name)


def avg_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The means of windows of a tensor of floats, of rank 3, 4 or 5. Raises `TypeError` for other
    dtypes, `ValueError` for other ranks and paddings."""
    return _pool_by_rank("AVG", input, ksize, strides, padding, data_format, name)


def max_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The maxima of windows of a tensor of real numbers, of rank 3, 4 or 5. Raises `TypeError` for
    other dtypes, `ValueError` for other ranks and paddings."""
    return _pool_by_rank("MAX", input, ksize, strides, padding, data_format, name)


def with_space_to_batch(
    input: Any,
    dilation_rate: Any,
    padding: str,
    op: Callable[[Tensor, int, str], Tensor],
    filter_shape: Any = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """`op(images, number of spatial dimensions, padding)` over a grid whose points are
    `dilation_rate` apart: each of the grids is a batch of its own.

    `filter_shape`: the window, needed for `"SAME"`. Raises `ValueError` without it, for another
    padding, and for rates below 1."""
    tensor = as_tensor(input, name="input")
    rates = [int(rate) for rate in np.ravel(dilation_rate)]
    if min(rates, default=1) < 1:
        raise ValueError(f"`dilation_rate` must be positive. Received: dilation_rate={rates}")
    if max(rates, default=1) == 1:
        return op(tensor, len(rates), padding)
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    axes = list(spatial_dims or range(first, first + len(rates)))
    window = rates if filter_shape is None else [int(s) for s in np.ravel(filter_shape)]
    if padding == "SAME" and filter_shape is None:
        raise ValueError("`filter_shape` must be specified for `padding='SAME'`. Received: "
                         "filter_shape=None and padding=SAME")  # fmt: skip
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"`padding` must be one of 'SAME' or 'VALID'. Received: padding={padding}")
    blocks, base = [1] * axes[-1], [[0, 0]] * axes[-1]
    for axis, rate, size in zip(axes, rates, window):
        blocks[axis - 1] = rate
        if padding == "SAME":
            more = (size - 1) * rate
            base[axis - 1] = [more // 2, more - more // 2]
    sizes = tensor.shape[1 : axes[-1] + 1]
    inner = sizes.as_list() if sizes.is_fully_defined() else shape(tensor)[1 : axes[-1] + 1]
    paddings, crops = required_space_to_batch_paddings(inner, blocks, base)
    moved = space_to_batch_nd(tensor, blocks, paddings)
    return batch_to_space_nd(op(moved, len(rates), "VALID"), blocks, crops)


def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """A convolution of images whose filter's elements are `rate` pixels apart. Floats [batch,
    height, width, in] and filters [height, width, in, out]. Raises `TypeError` for other dtypes,
    `ValueError` for shapes that do not fit."""
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


def erosion2d(
    value: Any, kernel: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """The greyscale erosion: the minima of windows of `value - kernel`, kernel [height, width,
    channels]. `value`: real numbers [batch, height, width, channels]. Raises `TypeError` for other
    dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        reversed_kernel = reversed_along(as_tensor(kernel), [0, 1])
        opposite = elementwise.negative(as_tensor(value))
        dilated = dilation2d(opposite, reversed_kernel, strides, rates, padding)
        return elementwise.negative(dilated, name=scope)
