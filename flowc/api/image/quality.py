"""How alike two images are, how their pixels differ from their neighbours, and edges.

In: images [..., height, width, channels]. Out: a number for each image, or images of differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.shaping import concat, pad, reshape, shape, stack, tile
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope
from flowc.api.image.colors import convert_image_dtype
from flowc.api.math import elementwise
from flowc.api.math.reductions import reduce_all, reduce_mean, reduce_prod, reduce_sum
from flowc.api.nn.activations import relu, softmax
from flowc.api.nn.convolutions import avg_pool, depthwise_conv2d
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor

MULTISCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # of the scales, finest first


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of two images in decibels. `max_val`: the greatest value that
    a pixel can have. Raises `ValueError` for shapes that differ."""
    with name_scope(name, "PSNR", [a, b]):
        left, right = as_tensor(a, name="a"), as_tensor(b, name="b")
        peak = convert_image_dtype(cast(max_val, left.dtype), dtypes.f32)
        left, right = _comparable(left, right)
        error = reduce_mean(elementwise.squared_difference(left, right), [-3, -2, -1])
        signal = 20 * elementwise.log(peak) / elementwise.log(10.0)
        return signal - float(np.float32(10 / np.log(10))) * elementwise.log(error)


def _comparable(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Two images of one size as floats. Raises `ValueError` for shapes that differ; runs fail with
    `InvalidArgumentError`."""
    shapes = [t.shape.with_rank_at_least(3) for t in (a, b)]
    shapes[0][-3:].assert_is_compatible_with(shapes[1][-3:])
    if shapes[0].ndims is not None and shapes[1].ndims is not None:
        outer = zip(reversed(shapes[0].as_list()[:-3]), reversed(shapes[1].as_list()[:-3]))
        if any(x != y and x not in (1, None) and y not in (1, None) for x, y in outer):
            raise ValueError(f"Two images are not compatible: {shapes[0]} and {shapes[1]}")
    checks = []
    if not (shapes[0].is_fully_defined() and shapes[1].is_fully_defined()):
        sizes = [shape(a), shape(b)]
        equal = reduce_all(elementwise.equal(sizes[0][-3:], sizes[1][-3:]))
        checks.append(Assert(equal, sizes, summarize=10))
    with get_default_graph().control_dependencies(checks):
        return (
            convert_image_dtype(identity(a), dtypes.f32),
            convert_image_dtype(identity(b), dtypes.f32),
        )


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """The structural similarity of images, a number for each pair, 1 for equal ones.

    `max_val`: the greatest value that a pixel can have. `filter_size`, `filter_sigma`: a Gaussian's
    window. `return_index_map`: for each place of the window instead. Raises `ValueError` for shapes
    that differ."""
    with name_scope(None, "SSIM", [img1, img2]):
        pair, peak = _pair_and_peak(img1, img2, max_val)
        constants = (k1 * peak) ** 2, (k2 * peak) ** 2
        found, _ = _similarity(pair, constants, filter_size, filter_sigma, return_index_map)
        return reduce_mean(found, [-1])


def _pair_and_peak(img1: Any, img2: Any, max_val: Any) -> tuple[tuple[Tensor, Tensor], Tensor]:
    left, right = as_tensor(img1, name="img1"), as_tensor(img2, name="img2")
    peak = convert_image_dtype(cast(max_val, left.dtype), dtypes.f32)
    return _comparable(left, right), peak


def _similarity(
    pair: Sequence[Tensor],
    constants: tuple[Any, Any],
    filter_size: int,
    filter_sigma: float,
    is_map: bool = False,
) -> tuple[Tensor, Tensor]:
    """Similarity, and that of contrast and structure alone, of each channel. Runs fail with
    `InvalidArgumentError` for images smaller than the window."""
    checks = [
        Assert(reduce_all(shape(t)[-3:-1] >= filter_size), [shape(t), filter_size], summarize=8)
        for t in pair
    ]
    with get_default_graph().control_dependencies(checks):
        x = identity(pair[0])
    y = pair[1]
    kernel = tile(_gaussian(filter_size, filter_sigma), stack([1, 1, shape(x)[-1], 1]))

    def blurred(images: Tensor) -> Tensor:
        sizes = shape(images)
        flat = reshape(images, concat([[-1], sizes[-3:]], 0))
        found = depthwise_conv2d(flat, kernel, [1, 1, 1, 1], "VALID")
        return reshape(found, concat([sizes[:-3], shape(found)[1:]], 0))

    means = blurred(x), blurred(y)
    twice = means[0] * means[1] * 2.0
    squares = elementwise.square(means[0]) + elementwise.square(means[1])
    luminance = (twice + constants[0]) / (squares + constants[0])
    products = blurred(x * y) * 2.0
    powers = blurred(elementwise.square(x) + elementwise.square(y))
    structure = (products - twice + constants[1]) / (powers - squares + constants[1])
    found = luminance * structure
    if is_map:
        return found, structure
    return reduce_mean(found, [-3, -2]), reduce_mean(structure, [-3, -2])


def _gaussian(size: Any, sigma: float) -> Tensor:
    """A window [size, size, 1, 1] whose elements sum to 1."""
    width = as_tensor(size, dtypes.i32)
    at = cast(range_of(width), dtypes.f32) - cast(width - 1, dtypes.f32) / 2.0
    spread = as_tensor(sigma, dtypes.f32)
    powers = elementwise.square(at) * (-0.5 / elementwise.square(spread))
    grid = reshape(powers, [1, -1]) + reshape(powers, [-1, 1])
    return reshape(softmax(reshape(grid, [1, -1])), stack([width, width, 1, 1]))


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = MULTISCALE_WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity over several scales, each half of the one before, one for each of
    `power_factors`, which are their exponents. Raises `ValueError` for shapes that differ."""
    with name_scope(None, "MS-SSIM", [img1, img2]):
        pair, peak = _pair_and_peak(img1, img2, max_val)
        constants = (k1 * peak) ** 2, (k2 * peak) ** 2
        images: Sequence[Tensor] = pair
        parts: list[Tensor] = []
        found = parts
        for scale in range(len(power_factors)):
            if scale:
                images = [_halved(image) for image in images]
            whole, structure = _similarity(images, constants, filter_size, filter_sigma)
            found = [*parts, relu(whole)]
            parts.append(relu(structure))
        factors = as_tensor(list(power_factors), dtypes.f32)
        powers = elementwise.pow(stack(found, axis=-1), factors)
        return reduce_mean(reduce_prod(powers, [-1]), [-1])


def _halved(images: Tensor) -> Tensor:
    """Means of 2 by 2 pixels; an odd last row or column stands twice."""
    sizes = shape(images)
    flat = reshape(images, concat([[-1], sizes[-3:]], 0))
    odd = sizes[-3:-1] % 2
    paddings = stack([stack([0, 0]), stack([0, odd[0]]), stack([0, odd[1]]), stack([0, 0])])
    padded = pad(flat, paddings, mode="SYMMETRIC")
    small = avg_pool(padded, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return reshape(small, concat([sizes[:-3], shape(small)[1:]], 0))


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the distances of neighbouring pixels, for each image. Raises `ValueError` for
    other ranks than 3 and 4."""
    with name_scope(name, "total_variation"):
        tensor = as_tensor(images)
        if tensor.shape.ndims not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        axes = None if tensor.shape.ndims == 3 else [1, 2, 3]
        rows = tensor[..., 1:, :, :] - tensor[..., :-1, :, :]
        columns = tensor[..., :, 1:, :] - tensor[..., :, :-1, :]
        return reduce_sum(elementwise.abs(rows), axes) + reduce_sum(elementwise.abs(columns), axes)


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """What each pixel of [batch, height, width, channels] lacks to the one below and to the one to
    the right of it; 0 at the end. Raises `ValueError` for another rank."""
    tensor = as_tensor(image)
    if tensor.shape.ndims != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {tensor.shape}."
        )
    below = pad(tensor[:, 1:] - tensor[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    right = pad(tensor[:, :, 1:] - tensor[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return below, right


def sobel_edges(image: Any) -> Tensor:
    """Vertical and horizontal edges [batch, height, width, channels, 2] by Sobel's filters. Floats
    [batch, height, width, channels]. Raises `TypeError` for other dtypes, `ValueError` for shapes
    that do not fit."""
    tensor = as_tensor(image)
    across = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    filters = np.stack([across, across.T], -1)[:, :, np.newaxis, :]
    sizes = shape(tensor)
    kernel = as_tensor(filters.astype((tensor.dtype or dtypes.f32).numpy))
    kernels = tile(kernel, stack([1, 1, sizes[-1], 1]), name="sobel_filters")
    padded = pad(tensor, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    found = depthwise_conv2d(padded, kernels, [1, 1, 1, 1], "VALID")
    edges = reshape(found, concat([sizes, [2]], 0))
    edges.set_shape(tensor.shape.concatenate([2]))
    return edges
