"""Transforms of lengths whose factors take every way through the kernel."""

from __future__ import annotations

import numpy as np
import pytest

import flowc as tf

# Fours alone, fours and a two, a two alone, odd factors behind them, primes.
LENGTHS = (1, 2, 4, 6, 8, 11, 16, 30, 32, 60, 97, 100, 128)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.complex64, 5e-7), (np.complex128, 1e-14)], ids=["c64", "c128"]
)
def test_transforms_of_any_length(dtype: type, tolerance: float) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        signal = tf.placeholder(dtype, [2, None])
        spectra = tf.signal.fft(signal), tf.signal.ifft(signal)
        for length in LENGTHS:
            random = np.random.default_rng(length)
            given = random.standard_normal((2, length)) + 1j * random.standard_normal((2, length))
            given = given.astype(dtype)
            found = session.run(spectra, {signal: given})
            exact = given.astype(np.complex128)
            for got, wanted in zip(found, (np.fft.fft(exact), np.fft.ifft(exact))):
                assert got.dtype == dtype
                assert np.abs(got - wanted).max() <= tolerance * np.abs(wanted).max()
