"""Floats of 8 bits and integers of 4: cast, moved, fed, fetched and written, and nothing else.

TensorFlow 2.21 rounds as ml_dtypes does, which makes what is expected here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import flowc as tf
from flowc import dtypes
from flowc.errors import UnsupportedError

FLOATS = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}
INTS = {"int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4}
NUMPY: dict[str, Any] = {**FLOATS, **INTS}
EDGES = [0, -0.0, 448, 464, 465, 480, 1e9, np.inf, -np.inf, np.nan, 57344, 61440, 61441, 65536]


def _run(fetch: Callable[[Any], Any], value: np.ndarray) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(value.dtype, value.shape)
        return session.run(fetch(x), {x: value})


def _codes(name: str) -> np.ndarray:
    """Every element there is."""
    return np.arange(256 if name in FLOATS else 16, dtype=np.uint8).view(NUMPY[name])


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint8)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_floats_round_to_the_nearest(name: str, source: Any) -> None:
    rng = np.random.default_rng(0)
    ties = np.arange(-40, 40)
    numbers = rng.standard_normal(200) * 10.0 ** rng.integers(-7, 7, 200)
    with np.errstate(all="ignore"):
        x = np.concatenate([numbers, ties * 2.0**-10, ties * 2.0**-17, EDGES]).astype(source)
        wanted = x.astype(NUMPY[name])
    found = _run(lambda x: tf.cast(x, name), x)
    assert found.dtype == NUMPY[name]
    assert np.array_equal(_bits(found), _bits(wanted))


@pytest.mark.parametrize("name", FLOATS)
def test_every_float_is_read(name: str) -> None:
    targets = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.bool_, *FLOATS.values()]
    found = _run(lambda x: [tf.cast(x, t) for t in targets], _codes(name))
    for one, target in zip(found, targets):
        with np.errstate(all="ignore"):
            wanted = _codes(name).astype(target).astype(np.float64)
        assert np.array_equal(one.astype(np.float64), wanted, equal_nan=True)
    finite = np.isfinite(_codes(name).astype(np.float32))
    whole = _run(lambda x: tf.cast(x, tf.int32), _codes(name)[finite])
    assert np.array_equal(whole, _codes(name)[finite].astype(np.float32).astype(np.int32))


@pytest.mark.parametrize("name", INTS)
def test_integers_keep_their_low_bits(name: str) -> None:
    x = np.array([-129, -17, -9, -8, -1, 0, 7, 8, 15, 16, 300], np.int32)
    lows = (x & 15).astype(np.uint8).view(NUMPY[name])
    found = _run(lambda x: tf.cast(x, name), x)
    assert found.dtype == NUMPY[name] and np.array_equal(_bits(found), _bits(lows))
    signed, unsigned, other = _run(
        lambda x: [tf.cast(x, t) for t in ("int8", "uint16", "int4")], _codes(name)
    )
    values = np.arange(16) if name == "uint4" else np.r_[0:8, -8:0]
    assert signed.tolist() == values.tolist()
    assert unsigned.tolist() == values.astype(np.uint16).tolist()
    assert np.array_equal(_bits(other), np.arange(16))


@pytest.mark.parametrize("name", NUMPY)
def test_elements_move(name: str) -> None:
    x = _codes(name)[:12].reshape(3, 4)
    moved = _run(
        lambda x: [
            tf.transpose(x),
            tf.concat([x, x[:, 1:3]], 1),
            tf.gather(x, [2, 0]),
            tf.stack([x, tf.zeros_like(x)]),
            tf.where([True, False, True], x, tf.ones_like(x)),
            tf.pad(tf.reshape(x, [12]), [[1, 0]]),
            tf.cond(tf.size(x) > 3, lambda: x[0], lambda: x[1]),
        ],
        x,
    )
    one = np.ones_like(x)
    wanted = [
        x.T,
        np.concatenate([x, x[:, 1:3]], 1),
        x[[2, 0]],
        np.stack([x, np.zeros_like(x)]),
        np.stack([x[0], one[1], x[2]]),
        np.concatenate([np.zeros_like(x)[0, :1], x.reshape(-1)]),
        x[0],
    ]
    for found, expected in zip(moved, wanted, strict=True):
        assert found.dtype == NUMPY[name]
        assert found.shape == expected.shape and found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("values", [[1, 3, 2], [3], []])
def test_constants_are_written_and_read(name: str, values: list[int]) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(np.array(values, np.float32).astype(NUMPY[name]), name="c")
        tf.fill([2], tf.constant(2, name), name="f")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph.as_graph_def().SerializeToString(), name="")
        found, filled = session.run(["c:0", "f:0"])
    assert found.dtype == filled.dtype == NUMPY[name]
    assert found.astype(np.float32).tolist() == values
    assert filled.astype(np.float32).tolist() == [2, 2]


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "add": (lambda x: x + x, TypeError, "not in list of allowed values"),
    "sum": (tf.reduce_sum, TypeError, "not in list of allowed values"),
    "equal": (lambda x: tf.equal(x, x), TypeError, "not in list of allowed values"),
    "from bool": (
        lambda x: tf.cast(tf.ones([2], tf.bool), x.dtype),
        tf.errors.UnimplementedError,
        "Cast bool to .* is not supported",
    ),
    "scatter": (
        lambda x: tf.scatter_nd([[1], [1]], x, [3]),
        UnsupportedError,
        "flowc only moves and casts floats of 8 bits and integers of 4",
    ),
}


@pytest.mark.parametrize("name", ["float8_e4m3fn", "int4"])
@pytest.mark.parametrize("case", REFUSED)
def test_refused(name: str, case: str) -> None:
    make, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        _run(make, _codes(name)[:2])


def test_no_kernel_computes_with_them() -> None:
    assert all(d.carrier is dtypes.u8 and d.is_narrow for d in dtypes.NARROW)
