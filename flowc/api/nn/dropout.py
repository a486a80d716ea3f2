"""`tf.nn.dropout`.

In: a tensor, and how much of it to drop. Out: a tensor of the same shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.api.arrays.shaping import shape
from flowc.api.framework.basics import cast, constant
from flowc.api.framework.scopes import name_scope
from flowc.api.random.random_ops import get_seed, random_uniform
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """`x` with a part `rate` of its elements made zero, the others scaled by 1 / (1 - rate).

    `keep_prob`: 1 - rate, the name that TensorFlow 1 had for it first. `noise_shape`: sizes of 1
    where elements are dropped together. Raises `ValueError` for no rate or two, one outside [0, 1),
    and a tensor that is not of floats.
    """
    if rate is not None and keep_prob is not None:
        raise ValueError("rate and keep_prob cannot both be set.")
    if rate is None:
        if keep_prob is None:
            raise ValueError("`rate` must be provided.")
        rate = 1 - keep_prob
    known = isinstance(rate, int | float | np.number)
    if known and not 0 <= rate < 1:
        raise ValueError(
            f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}"
        )
    with name_scope(name, "dropout", [x]):
        tensor = as_tensor(x, name="x")
        kind = tensor.dtype
        if kind is None or not kind.is_floating:
            raise ValueError(
                "`x.dtype` must be a floating point tensor as `x` will be scaled. Received: "
                f"x.dtype={kind!r}"
            )
        if known and rate == 0:
            get_seed(seed)
            return tensor
        if known:
            scaled = output("Mul", tensor, constant(1 / (1 - rate), kind))
        else:
            rate = cast(as_tensor(rate, name="rate"), kind)
            scaled = output("RealDiv", tensor, output("Sub", constant(1, kind), rate))
        sizes = _noise_shape(tensor, noise_shape)
        kept = output("GreaterEqual", random_uniform(sizes, seed=seed, dtype=kind), rate)
        found = output("SelectV2", kept, scaled, constant(0, kind))
        found.set_shape(tensor.shape)
        return found


def _noise_shape(tensor: Tensor, noise_shape: Any) -> Any:
    if noise_shape is None:
        return shape(tensor) if not tensor.shape.is_fully_defined() else tensor.shape
    if isinstance(noise_shape, Tensor) or any(isinstance(s, Tensor) for s in noise_shape):
        return noise_shape
    sizes = TensorShape(noise_shape).as_list()
    if None in sizes and tensor.shape.ndims == len(sizes):
        own = tensor.shape.as_list()
        sizes = [o if s is None and o is not None else s for s, o in zip(sizes, own, strict=True)]
    return sizes
