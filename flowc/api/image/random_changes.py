"""Random flips, colours and contrasts. With seeds, the numbers drawn are TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.api.arrays.shaping import rank, reshape, reverse, shape
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.image.colors import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
)
from flowc.api.math import elementwise
from flowc.api.random.random_ops import random_uniform
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def _random_flip(axis: int, function_name: str) -> Callable[..., Tensor]:
    def flip(image: Any, seed: int | None = None) -> Tensor:
        with name_scope(None, function_name, [image]) as scope:
            tensor = with_dependencies([], as_tensor(image, name="image"))
            if tensor.shape.ndims == 3:
                return _one_flipped(tensor, axis, seed, scope)
            if tensor.shape.ndims == 4:
                return _some_flipped(tensor, axis, seed)
            if tensor.shape.ndims is None:
                return cond(
                    elementwise.equal(rank(tensor), 3),
                    lambda: _one_flipped(tensor, axis, seed, scope),
                    lambda: _some_flipped(tensor, axis, seed),
                )
            raise ValueError(f"'image' (shape {tensor.shape}) must have either 3 or 4 dimensions.")

    doc = (
        "Mirrored with a probability of one half, each image of a batch by itself: images [height, "
        "width, channels] or a batch of them, of any dtype. Raises `ValueError` for another rank."
    )
    return named(flip, function_name, doc)


def _one_flipped(image: Tensor, axis: int, seed: int | None, scope: str) -> Tensor:
    drawn = random_uniform([], 0, 1.0, seed=seed)
    flips = elementwise.less(drawn, 0.5)
    return cond(flips, lambda: reverse(image, [axis]), lambda: image, name=scope)


def _some_flipped(images: Tensor, axis: int, seed: int | None) -> Tensor:
    count = shape(images)[0]
    drawn = random_uniform([count], 0, 1.0, seed=seed)
    flips = cast(elementwise.round(reshape(drawn, [count, 1, 1, 1])), images.dtype)
    return flips * reverse(images, [axis + 1]) + (1 - flips) * images


random_flip_left_right = _random_flip(1, "random_flip_left_right")
random_flip_up_down = _random_flip(0, "random_flip_up_down")


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """The image with a number of [-max_delta, max_delta) added. Raises `ValueError` where that is
    negative."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """The image with its hue moved by a number of [-max_delta, max_delta). Raises `ValueError` for
    one beyond [0, 0.5]."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """The image with its contrast times a number of [lower, upper). Raises `ValueError` for an
    empty range or one below 0."""
    return adjust_contrast(image, _factor(lower, upper, seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """The image with its saturation times a number of [lower, upper). Raises `ValueError` for an
    empty range or one below 0."""
    return adjust_saturation(image, _factor(lower, upper, seed))


def _factor(lower: float, upper: float, seed: int | None) -> Tensor:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return random_uniform([], lower, upper, seed=seed)
