"""`tf.test.compute_gradient` and `compute_gradient_error`: gradients against differences.

In: tensors x, and y that follows from them, in the default session's graph. Out: Jacobians, by
`gradients` and by central differences. Invariant: row i and column j are about element i of x and
element j of y; the real and imaginary part of a complex element count as two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc.api.framework.basics import placeholder
from flowc.api.training.gradients import gradients
from flowc.dtypes import name_of
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.default import get_default_session
from flowc.graph.gradients.operation import is_trainable
from flowc.graph.indexed_slices import IndexedSlices

Jacobians = tuple[np.ndarray, np.ndarray]


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """(the Jacobian of `y` by `x` that `gradients` says, the one by differences of 2 * `delta`).

    `x`: a tensor of shape `x_shape`, or a list of them, which gives a list of pairs; it is fed
    `x_init_value`, or random numbers of 0 to 1. `init_targets`: operations that run before. Needs a
    default session. Raises `ValueError` for tensors that gradients do not flow through.
    """
    several = isinstance(x, list | tuple)
    xs, shapes = (list(x), list(x_shape)) if several else ([x], [x_shape])
    starts = list(x_init_value or [None] * len(xs)) if several else [x_init_value]
    xs = [t if isinstance(t, Tensor) else as_tensor(t) for t in xs]  # variables as they are read
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session")
    for target in init_targets if isinstance(init_targets, list | tuple) else [init_targets]:
        if target is not None:
            session.run(target)
    dy = placeholder(y.dtype, y_shape)
    values = [_start(t, s, given) for t, s, given in zip(xs, shapes, starts, strict=True)]
    feeds = {**(extra_feed_dict or {}), **dict(zip(xs, values))}
    found = []
    for tensor, dx in zip(xs, gradients(y, xs, grad_ys=[dy]), strict=True):
        _check(tensor)
        _check(y)
        found.append(
            (
                _by_gradients(session, feeds, tensor, dx, dy, y_shape),
                _by_differences(session, feeds, tensor, y, y_shape, delta),
            )
        )
    return found if several else found[0]


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> float:
    """The largest difference of the two Jacobians of `compute_gradient`, whose arguments it takes.
    Raises as it does."""
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs: list[Jacobians] = found if isinstance(found, list) else [found]
    return max(float(np.fabs(a - b).max(initial=0)) for a, b in pairs)


def _check(tensor: Tensor) -> None:
    if not is_trainable(tensor):
        raise ValueError(
            f"no gradient flows through {tensor.name} of dtype {name_of(tensor.dtype)}"
        )


def _start(x: Tensor, shape: Any, given: Any) -> np.ndarray:
    assert x.dtype is not None
    if given is not None:
        return np.array(given, x.dtype.numpy).reshape(shape)
    real = np.random.random_sample(shape)
    return np.asarray(real + 1j * np.random.random_sample(shape) if x.dtype.is_complex else real,
                      x.dtype.numpy)  # fmt: skip


def _parts(array: np.ndarray) -> np.ndarray:
    """The elements as a vector of real numbers, which shares the memory of a whole array."""
    flat = array.reshape(-1)
    return flat.view(f"f{flat.dtype.itemsize // 2}") if flat.dtype.kind == "c" else flat


def _dense(value: Any, shape: Sequence[int]) -> np.ndarray:
    found = np.zeros(shape, value.values.dtype)
    np.add.at(found, value.indices, value.values)
    return found


def _by_gradients(
    session: Any, feeds: Mapping[Any, Any], x: Tensor, dx: Any, dy: Tensor, y_shape: Sequence[int]
) -> np.ndarray:
    assert dy.dtype is not None
    flowing = np.zeros(y_shape, dy.dtype.numpy)
    parts = _parts(flowing)
    jacobian = np.zeros((_parts(feeds[x]).size, parts.size), parts.dtype)
    for column in range(parts.size if dx is not None else 0):
        parts[column] = 1
        value = session.run(dx, {**feeds, dy: flowing})
        value = _dense(value, feeds[x].shape) if isinstance(dx, IndexedSlices) else value
        jacobian[:, column] = _parts(np.asarray(value))
        parts[column] = 0
    return jacobian


def _by_differences(
    session: Any,
    feeds: Mapping[Any, Any],
    x: Tensor,
    y: Tensor,
    y_shape: Sequence[int],
    delta: float,
) -> np.ndarray:
    assert y.dtype is not None
    moved = feeds[x].copy()
    parts = _parts(moved)
    count = math.prod(y_shape) * (2 if y.dtype.is_complex else 1)
    jacobian = np.zeros((parts.size, count), _parts(np.zeros(0, y.dtype.numpy)).dtype)
    for row in range(parts.size):
        kept = parts[row]
        ends = []
        for step in (delta, -delta):
            parts[row] = kept + step
            ends.append(_parts(np.asarray(session.run(y, {**feeds, x: moved}))).copy())
        parts[row] = kept
        jacobian[row] = (ends[0] - ends[1]) / (2 * delta)
    return jacobian
