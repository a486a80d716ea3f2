"""Draws from what is given: classes by their logits, and cuts of a tensor."""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import shape, slice_
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math.reductions import reduce_all
from flowc.api.random.random_ops import random_uniform, seeds_of
from flowc.dtypes import DType
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """Classes [batch, num_samples] drawn by the logarithms of their weights, `logits` [batch,
    classes]. Raises `ValueError` for another `output_dtype` than int32 and int64."""
    return _drawn(logits, num_samples, output_dtype, seed, (name, "multinomial"))


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """As `multinomial`, with another order of arguments."""
    return _drawn(logits, num_samples, dtype, seed, (name, "categorical"))


def _class_dtype(dtype: Any) -> DType:
    found = dtypes.i64 if dtype is None else dtypes.as_dtype(dtype)
    if found not in (dtypes.i32, dtypes.i64):
        raise ValueError(
            f"Argument `dtype` got invalid value {found!r}. Accepted dtypes are (tf.int32, "
            "tf.int64)."
        )
    return found


def _drawn(
    logits: Any, count: Any, dtype: Any, seed: int | None, scopes: tuple[str | None, str]
) -> Tensor:
    with name_scope(*scopes, [logits]):
        weights = as_tensor(logits, name="logits")
        kind = _class_dtype(dtype)
        return output("Multinomial", weights, count, output_dtype=kind, **seeds_of(seed))


def stateless_multinomial(
    logits: Any,
    num_samples: Any,
    seed: Any,
    output_dtype: Any = dtypes.i64,
    name: str | None = None,
) -> Tensor:
    """As `multinomial`, decided by the two integers of `seed`."""
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        weights = as_tensor(logits, name="logits")
        kind = _class_dtype(output_dtype)
        return output("StatelessMultinomial", weights, num_samples, seed, output_dtype=kind)


def stateless_categorical(
    logits: Any,
    num_samples: Any,
    seed: Any,
    dtype: Any = dtypes.i64,
    name: str | None = None,
) -> Tensor:
    """As `categorical`, decided by the two integers of `seed`."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A part of `value` of the sizes `size`, from a random place. A run fails with
    `InvalidArgumentError` where `value` is smaller."""
    with name_scope(name, "random_crop", [value, size]) as scope:
        tensor = as_tensor(value, name="value")
        wanted = as_tensor(size, dtypes.i32, "size")
        sizes = shape(tensor)
        data = ["Need value.shape >= size, got ", sizes, wanted]
        check = Assert(reduce_all(sizes >= wanted), data, summarize=1000)
        sizes = with_dependencies([check], sizes)
        room = sizes - wanted + 1
        drawn = random_uniform(shape(sizes), maxval=2**31 - 1, dtype=dtypes.i32, seed=seed)
        return slice_(tensor, drawn % room, wanted, name=scope)
