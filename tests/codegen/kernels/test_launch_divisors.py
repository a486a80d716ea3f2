"""Kernels that divide by different whole numbers are one kernel."""

from __future__ import annotations

import numpy as np
import pytest

import flowc as tf
from flowc.cache.store import kernel_cache
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.target import Target

RNG = np.random.default_rng(7)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the kernels that are asked for."""
    monkeypatch.setenv("FLOWC_CACHE", "0")
    found: list[str] = []
    cache = type(kernel_cache())
    objects_of = cache.objects_of

    def noted(self: object, kernel: Kernel, target: Target) -> tuple[bytes, ...]:
        found.append(kernel.key)
        return objects_of(self, kernel, target)  # type: ignore[arg-type]

    monkeypatch.setattr(cache, "objects_of", noted)
    return found


def means(rows: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Means over so many rows of 300 columns, and the same by a fold and a division."""
    x = RNG.random((rows, 300)).astype(dtype)
    with tf.Graph().as_default(), tf.Session(threads=1) as session:
        fed = tf.placeholder(dtype, x.shape)
        mean, total = session.run([tf.reduce_mean(fed, 0), tf.reduce_sum(fed, 0)], {fed: x})
    return mean, total / dtype(rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_of_different_sizes_share_a_kernel(kernels: list[str], dtype: type) -> None:
    for rows in (37, 81, 1001):
        found, wanted = means(rows, dtype)
        np.testing.assert_array_equal(found, wanted)
    assert len(set(kernels)) == len(kernels) // 3


def test_whole_rows_have_no_rest(kernels: list[str]) -> None:
    """Rows are added up four at a time: kernels for multiples of four have no loop for others."""
    for rows in (36, 100, 1000):
        found, wanted = means(rows, np.float32)
        np.testing.assert_array_equal(found, wanted)
    whole = set(kernels)
    assert len(whole) == len(kernels) // 3
    means(37, np.float32)
    assert whole.isdisjoint(kernels[len(kernels) * 3 // 4 :])


def test_powers_of_two_stay_known(kernels: list[str]) -> None:
    """A division by one is a multiplication, which is faster."""
    for rows in (64, 128):
        found, wanted = means(rows, np.float32)
        np.testing.assert_array_equal(found, wanted)
    assert (len(set(kernels)), len(kernels)) == (3, 4)  # what only sums is one kernel
