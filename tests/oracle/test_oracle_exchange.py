"""The training programs that begin with one of TensorFlow and flowc and go on with the other, from
its checkpoint and MetaGraph: `make oracle`.

A program runs whole with the one, and is saved on its way. The runs behind that are asked for again
of the other, by the names of what they fetch and feed; they give the same, so the training agrees.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import context_programs
import numpy as np
import pytest
from training_programs import NAMES, losses_of

import flowc

# What tf.layers of TensorFlow 2.21 is made of, as it is imported.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
pytestmark = pytest.mark.oracle
RUNS = 30  # of a session before it is saved
STEPS = 60
CLOSE = 1e-3  # relative
# Both halves of it have a session of their own; the first is the one that is saved.
LONGER = {"restart": 2 * STEPS}
# What their ops draw begins anew with a session, so a new one of the writer is compared with.
DRAWING = ("variational_autoencoder",)
# Runs that are compared, of programs in which rounding grows: ReLUs and pools of the ResNet come to
# take another side, in TensorFlow alone too when a weight is changed by 1e-6.
STABLE = {"resnet": 8}
# How hooks read the step, which is ordered neither before nor after the update.
UNORDERED = "global_step/add:0"


@pytest.fixture(scope="module")
def tensorflow() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    found = pytest.importorskip("tensorflow.compat.v1")
    found.disable_eager_execution()
    found.disable_resource_variables()
    found.disable_control_flow_v2()
    return found


@dataclass(frozen=True)
class Run:
    """A call of Session.run: names of what it fetches, values by the names of what it feeds."""

    fetches: list[str]
    feeds: dict[str, Any]
    results: list[Any]


def leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, dict):
        nested = nested.values()
    elif not isinstance(nested, (list, tuple)):
        yield nested
        return
    for part in nested:
        yield from leaves(part)


def numbers(result: Any) -> Any:
    """What a run gave; of a summary, its values and what its histograms are of."""
    if not isinstance(result, bytes):
        return result
    every = [(v.simple_value, v.histo) for v in flowc.Summary.FromString(result).value]
    return [(x, h.min, h.max, h.num, h.sum, h.sum_squares) for x, h in every]


def begun(tf: Any, name: str, prefix: str, patch: pytest.MonkeyPatch) -> list[Run]:
    """The runs of a program's first session behind the checkpoint that is written on its way."""
    noted: list[tuple[Any, Run]] = []
    plain = tf.Session.run

    def run(session: Any, fetches: Any, feed_dict: Any = None, *rest: Any, **named: Any) -> Any:
        results = plain(session, fetches, feed_dict, *rest, **named)
        # What is asked for by name is the work of savers, or of a graph that was loaded.
        if isinstance(fetches, str) or (noted and session is not noted[0][0]):
            return results
        feeds = {key.name: value for key, value in (feed_dict or {}).items()}
        names = [leaf.name for leaf in leaves(fetches)]
        noted.append((session, Run(names, feeds, list(leaves(results)))))
        if len(noted) == RUNS:
            with session.graph.as_default():
                savers = tf.get_collection(tf.GraphKeys.SAVERS)  # of a graph that is finished
                saver = savers[0] if savers else tf.train.Saver()
                saver.save(session, prefix)
        return results

    with patch.context() as patched:
        patched.setattr(tf.Session, "run", run)
        losses_of(name, tf, LONGER.get(name, STEPS))
    assert len(noted) >= 2 * RUNS
    return [run for _, run in noted[RUNS:]]


def resumed(tf: Any, prefix: str, runs: list[Run]) -> list[list[Any]]:
    """What the runs give in a session of the graph and the values that are read."""
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(prefix + ".meta")
        with tf.Session() as session:
            saver.restore(session, prefix)
            return [session.run(run.fetches, run.feeds) for run in runs]


@pytest.mark.parametrize("is_ours", [True, False], ids=["flowc-writes", "tensorflow-writes"])
@pytest.mark.parametrize("name", NAMES)
def test_training_goes_on(
    name: str,
    is_ours: bool,
    tensorflow: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer, reader = (flowc, tensorflow) if is_ours else (tensorflow, flowc)
    prefix = str(tmp_path / "model")
    runs = begun(writer, name, prefix, monkeypatch)
    wanted = [run.results for run in runs]
    if name in DRAWING:
        wanted = resumed(writer, prefix, runs)
    compared = 0
    every = list(zip(runs, resumed(reader, prefix, runs), wanted, strict=True))
    for run, found, expected in every[: STABLE.get(name)]:
        for fetch, value, other in zip(run.fetches, found, expected, strict=True):
            assert (value is None) == (other is None), fetch
            if other is not None and fetch != UNORDERED:
                pair = numbers(value), numbers(other)
                np.testing.assert_allclose(*pair, rtol=CLOSE, atol=1e-6, err_msg=fetch)
                compared += 1
    assert compared >= STABLE.get(name, RUNS)


def written(tf: Any, name: str, path: Path) -> list[Any]:
    """What a program gives, and its gradient; its MetaGraph is in a file."""
    with tf.Graph().as_default():
        context_programs.built(tf, name)
        tf.train.export_meta_graph(str(path))
        return context_programs.gradient_in_graph(tf)


@pytest.mark.parametrize("is_ours", [True, False], ids=["flowc-writes", "tensorflow-writes"])
@pytest.mark.parametrize("name", context_programs.PROGRAMS)
def test_gradients_of_imported_loops_and_branches(
    name: str, is_ours: bool, tensorflow: Any, tmp_path: Path
) -> None:
    writer, reader = (flowc, tensorflow) if is_ours else (tensorflow, flowc)
    path = tmp_path / "model.meta"
    expected = written(writer, name, path)
    # TensorFlow's own import under a scope mixes up the loops of gradients inside branches.
    for scope in (None,) if is_ours else (None, "outer"):
        with reader.Graph().as_default():
            reader.train.import_meta_graph(str(path), import_scope=scope)
            found = context_programs.gradient_in_graph(reader, f"{scope}/" if scope else "")
        for value, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-5)


@pytest.mark.parametrize("is_ours", [True, False], ids=["flowc-writes", "tensorflow-writes"])
def test_a_loop_is_trained_on(is_ours: bool, tensorflow: Any, tmp_path: Path) -> None:
    writer, reader = (flowc, tensorflow) if is_ours else (tensorflow, flowc)
    prefix = str(tmp_path / "model")
    went_on = context_programs.begun(writer, prefix)
    expected = context_programs.resumed(writer, prefix)
    np.testing.assert_allclose(expected[0], went_on, rtol=1e-5)
    np.testing.assert_allclose(context_programs.resumed(reader, prefix), expected, rtol=1e-4)
