"""Benchmarks of contractions run, and say what they ran (nothing is timed here)."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import contractions


def test_every_kind_has_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contractions, "ROUNDS", 1)
    monkeypatch.setattr(contractions, "peak_operations", lambda: 1e9)
    monkeypatch.setattr(contractions, "SQUARES", ())
    monkeypatch.setattr(contractions, "OTHERS", ((3, 5, 7),))
    monkeypatch.setattr(contractions, "resnet50_layers", lambda: [(8, 3, 4, 3, 2, 1)])
    names = [row.name for row in contractions.measure()]
    assert names[:2] == ["matmul 3x5x7", "conv 8x8x3 -> 4 3x3/2 x1"]
    assert names[2] == "ResNet-50's convolutions" and len(names) == 6


def test_what_is_timed_is_the_op() -> None:
    x, w = contractions.random(3, 7), contractions.random(7, 5)
    run = contractions.run_of(lambda tf, given: tf.matmul(given, tf.constant(w)), x)
    np.testing.assert_allclose(run(), x @ w, rtol=1e-6)
