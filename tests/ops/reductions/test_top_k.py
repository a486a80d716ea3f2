"""The k best of rows: few of them in their order, many as a heap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf

Array = np.ndarray[Any, Any]


def best(x: Array, k: int, threads: int = 1) -> tuple[Array, Array]:
    with tf.Graph().as_default():
        given = tf.placeholder(tf.as_dtype(x.dtype), x.shape)
        found = tf.math.top_k(given, k)
        config = tf.ConfigProto(intra_op_parallelism_threads=threads)
        with tf.Session(config=config) as session:
            return session.run([found.values, found.indices], {given: x})


def expected(x: Array, k: int) -> Array:
    """Larger first, NaN below every number, the first of equals."""
    is_nan = np.isnan(x)
    order = np.lexsort((-np.where(is_nan, 0, x.astype("f8")), is_nan), axis=-1)
    return order[..., :k]


@pytest.mark.parametrize("k", [1, 2, 5, 63, 64, 65, 130, 299, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_the_best_of_rows_with_equals(k: int, dtype: type) -> None:
    random = np.random.default_rng(k)
    x = random.integers(0, 200, (11, 300)).astype(dtype)
    places = expected(x, k)
    for threads in (1, 2):
        values, indices = best(x, k, threads)
        np.testing.assert_array_equal(indices, places)
        np.testing.assert_array_equal(values, np.take_along_axis(x, places, -1))


@pytest.mark.parametrize("k", [1, 3, 64, 70, 200])
def test_nan_is_worse_than_every_number(k: int) -> None:
    """Also where a row begins with more of them than are wanted, and where it has nothing else."""
    x = np.random.default_rng(0).standard_normal((6, 200)).astype(np.float32)
    x[0, :100] = np.nan
    x[1, ::2] = np.nan
    x[2] = np.nan
    x[3, 1:] = np.nan
    x[4, 150:] = -np.inf
    x[5, :] = np.where(np.arange(200) % 2, 0.0, -0.0)
    assert (best(x, k)[1] == expected(x, k)).all()


@pytest.mark.parametrize("columns", [1, 5, 63, 64, 65, 129])
def test_rows_that_are_no_whole_groups(columns: int) -> None:
    rising = np.arange(columns, dtype=np.float32)[None]
    assert best(rising, 1)[1].tolist() == [[columns - 1]]
    assert best(-rising, columns)[1].tolist() == [list(range(columns))]
