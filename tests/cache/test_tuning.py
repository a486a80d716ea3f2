"""Convolutions whose algorithms are measured: what is found is obeyed and kept.

Times are made up, so that what is chosen is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from tensor_types import tensor_type

import flowc as tf
from flowc.cache import tuning
from flowc.cache.disk import DiskCache
from flowc.cache.store import KernelCache
from flowc.codegen.cpu.target import CpuTarget
from flowc.codegen.program import launches_of
from flowc.codegen.targets import target_named
from flowc.errors import UsageError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.dims import Dim, symbol
from flowc.ir.op import op_named
from flowc.options import Options
from flowc.passes.pipeline import run_passes

TARGET = "x86-64-v3"


def network(*layers: tuple[int, int], batch: Dim = 1, channels: int = 32) -> Computation:
    """Convolutions of (window, outputs), one after another, on images of 28 x 28, with ReLU."""
    b, random = Builder(), np.random.default_rng(0)
    y = b.parameter("x", tensor_type("f32", (batch, 28, 28, channels)))
    for window, outputs in layers:
        inputs = y.dims[-1]
        assert isinstance(inputs, int)
        shape = (window, window, inputs, outputs)
        w = b.const(random.normal(size=shape).astype(np.float32) / (window * inputs))
        attrs = {"strides": (1, 1, 1, 1), "padding": "SAME"}
        y = b.relu(b.emit(op_named("conv2d"), [y, w], attrs).output)
    return run_passes(b.build([y]), Options(target=TARGET))


class Clock:
    """Takes the place of measuring: the algorithms take as long as it is told, and are counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: Callable[[int], float]) -> None:
        self.counts: list[int] = []
        self.seconds = seconds
        monkeypatch.setattr(tuning, "measured", self.measured)

    def measured(self, trials: Sequence[tuning.Trial]) -> list[float]:
        self.counts.append(len(trials))
        return [self.seconds(i) for i in range(len(trials))]


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled, since no time is measured."""
    monkeypatch.setattr(tuning, "_trial", lambda *_: tuning.Trial(lambda _: None, []))


def chosen(c: Computation, folder: Path | None) -> list[str]:
    found = tuning.tuned(target_named(TARGET), c, KernelCache(DiskCache(folder)))
    assert isinstance(found, CpuTarget)
    return list(found.algorithms.values())


def entries(c: Computation, folder: Path) -> list[str]:
    """The entry points of the kernels of a tuned program."""
    target = tuning.tuned(target_named(TARGET), c, KernelCache(DiskCache(folder)))
    return [x.kernel.entry for found in launches_of(c, target).values() for x in found]


@pytest.mark.usefixtures("uncompiled")
def test_each_kind_is_measured_once_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    c = network((3, 32), (3, 32), (1, 32), (1, 48))
    clock = Clock(monkeypatch, lambda i: 1.0 if i else 2.0)  # the second of each
    assert chosen(c, tmp_path) == ["direct"] * 4
    # Direct, tiles of 2 x 2, and lines; pixels where they stand, and gathered.
    assert clock.counts == [3, 2, 2]
    assert chosen(network((3, 32), (1, 48)), tmp_path) == ["direct"] * 2
    assert clock.counts == [3, 2, 2]
    assert entries(c, tmp_path) == ["conv"] * 4


@pytest.mark.usefixtures("uncompiled")
def test_the_cost_model_stays_unless_another_way_is_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    c = network((3, 32))
    Clock(monkeypatch, lambda i: 0.99**i)
    first = chosen(c, tmp_path)
    assert first[0].startswith("winograd")
    Clock(monkeypatch, lambda i: 0.9**i)
    assert chosen(c, tmp_path) == first  # what was found stays
    others = chosen(c, tmp_path / "others")
    assert others == ["planar"]
    assert entries(c, tmp_path / "others") == ["line_conv"]


def test_what_is_not_known_or_has_one_way_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock(monkeypatch, lambda i: 1.0)
    assert chosen(network((3, 32), batch=symbol("n")), tmp_path) == []
    assert chosen(network((6, 80), channels=258), tmp_path) == []
    assert clock.counts == []


def test_measuring_gives_a_time_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "CACHES", 1 << 10)
    monkeypatch.setattr(tuning, "ROUNDS", 2)
    runs: list[int] = []
    trials = [tuning.Trial(lambda _, i=i: runs.append(i), [np.ones(3)]) for i in range(2)]
    assert all(seconds >= 0 for seconds in tuning.measured(trials))
    assert runs == [0, 1, 0, 1, 0, 1]  # once before, then in turns


def test_sessions_and_libraries_are_tuned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both algorithms are compiled and give the same."""
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path))
    given: list[np.ndarray] = []

    def measured(trials: Sequence[tuning.Trial]) -> list[float]:
        results = [cast(list[np.ndarray], trial.run(trial.feeds)) for trial in trials]
        given.extend(y for (y,) in results)
        return [2.0, 1.0]

    monkeypatch.setattr(tuning, "measured", measured)
    image = np.random.default_rng(1).random((1, 12, 12, 32), np.float32)
    kernel = np.random.default_rng(2).random((1, 1, 32, 32), np.float32)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, image.shape, name="x")
        y = tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME", name="y")
        with tf.Session(tune=True) as session:
            found = session.run(y, {x: image})
    np.testing.assert_allclose(found, image @ kernel[0, 0], rtol=1e-5)
    assert len(given) == 2
    np.testing.assert_allclose(*given, rtol=1e-5, atol=1e-6)
    program = tf.compile(graph, ["x"], ["y"], tune=True)
    np.testing.assert_array_equal(program(image), found)
    assert len(given) == 2


def test_what_cannot_run_here_is_refused() -> None:
    c = network((3, 32))
    store = KernelCache(DiskCache(None))
    with pytest.raises(UsageError, match="GPUs is not tuned"):
        tuning.tuned(target_named("cuda:sm_80"), c, store)
    native = target_named("native")
    assert isinstance(native, CpuTarget)
    wider = replace(native, vector_bits=2 * native.vector_bits)
    with pytest.raises(UsageError, match="this processor cannot run"):
        tuning.tuned(wider, c, store)
