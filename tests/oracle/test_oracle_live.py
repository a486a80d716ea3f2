"""Graphs run by TensorFlow and by flowc in one process: `make oracle`.

Both directions: graphs that TensorFlow makes and flowc runs, and graphs that flowc makes and
TensorFlow runs. Left out of `make test`, which needs no TensorFlow.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.oracle
DIGITS = Path(__file__).parents[2] / "examples" / "digits"

UNARY = ("tanh", "sigmoid", "exp", "negative", "square", "abs", "softplus", "elu", "relu", "sin")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "squared_difference")


@pytest.fixture(scope="module")
def tf() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow.compat.v1")
    tensorflow.disable_eager_execution()
    return tensorflow


def random_graph(tf: Any, seed: int) -> tuple[list[Any], list[Any]]:
    """Placeholders and fetches of a random graph of elementwise, broadcast, reduction and view
    nodes. `tf` is TensorFlow or flowc: both build the same graph."""
    random = np.random.default_rng(seed)
    shapes: list[list[int | None]] = [[None, 6], [1, 6], [None, 1], [None, 6]]
    inputs = [tf.placeholder(tf.float32, s, name=f"x{i}") for i, s in enumerate(shapes)]
    known = list(inputs)
    for _ in range(int(random.integers(5, 25))):
        a, b = (known[int(i)] for i in random.integers(0, len(known), 2))
        match int(random.integers(0, 6)):
            case 0 | 1:
                found = _function(tf, UNARY, random)(tf.clip_by_value(a, -5.0, 5.0))
            case 2 | 3:
                found = _function(tf, BINARY, random)(a, b)
            case 4:
                found = tf.reduce_mean(a, axis=1, keepdims=True)
            case _:
                found = tf.concat([b, tf.reverse(b, [1])], axis=1)[:, : b.shape.as_list()[1]]
        known.append(found)
    return inputs, known[-3:]


def _function(tf: Any, names: tuple[str, ...], random: np.random.Generator) -> Any:
    name = names[int(random.integers(0, len(names)))]
    return getattr(tf, name, None) or getattr(tf.nn, name)


def arrays(seed: int, batch: int) -> list[np.ndarray]:
    random = np.random.default_rng(1000 + seed)
    shapes = [(batch, 6), (1, 6), (batch, 1), (batch, 6)]
    return [random.normal(size=s).astype(np.float32) for s in shapes]


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_of_tensorflow(tf: Any, seed: int) -> None:
    import flowc

    with tf.Graph().as_default() as graph:
        inputs, fetches = random_graph(tf, seed)
        names = [t.name for t in fetches]
    imported = flowc.Graph()
    with imported.as_default():
        flowc.import_graph_def(graph.as_graph_def().SerializeToString(), name="")
    for batch in (1, 5):
        values = arrays(seed, batch)
        with tf.Session(graph=graph) as session:
            wanted = session.run(names, dict(zip(inputs, values)))
        with flowc.Session(graph=imported) as session:
            found = session.run(names, {t.name: v for t, v in zip(inputs, values)})
        for one, other in zip(found, wanted):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(40, 60))
def test_random_graphs_of_flowc(tf: Any, seed: int) -> None:
    import flowc

    with flowc.Graph().as_default() as graph:
        inputs, fetches = random_graph(flowc, seed)
    names = [t.name for t in fetches]
    message = tf.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(message, name="")
    values = {t.name: v for t, v in zip(inputs, arrays(seed, 3))}
    with tf.Session(graph=imported) as session:
        wanted = session.run(names, values)
    with flowc.Session(graph=graph) as session:
        found = session.run(names, values)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_trained_model_and_its_gradients(tf: Any) -> None:
    import flowc

    names = ["probabilities:0", "loss:0", "gradients/conv1/Conv2D_grad/Conv2DBackpropFilter:0"]
    with np.load(DIGITS / "test.npz") as data:
        feeds = {"images:0": data["images"], "labels:0": data["labels"]}
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(str(DIGITS / "model.meta")).restore(
            session, str(DIGITS / "model")
        )
        wanted = session.run(names, feeds)
    graph = flowc.load_graph(DIGITS / "model.meta")
    with flowc.Session(graph=graph) as session:
        found = session.run(names, feeds)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_the_properties_of_dtypes(tf: Any) -> None:
    import flowc

    numbers = [d for d in flowc.dtypes.ALL if d in flowc.dtypes.NUMBERS]
    for ours in numbers:
        theirs = tf.as_dtype(ours.name)
        assert theirs.as_datatype_enum == ours.as_datatype_enum
        assert theirs.as_numpy_dtype == ours.as_numpy_dtype
        assert theirs.real_dtype.name == ours.real_dtype.name
        names = [n for n in dir(theirs) if n.startswith("is_") and n != "is_subtype_of"]
        for name in ("name", "size", *names):
            if not callable(getattr(theirs, name)):
                assert getattr(theirs, name) == getattr(ours, name), (ours, name)
        if ours.is_floating or ours.is_integer:
            assert (theirs.min, theirs.max) == (ours.min, ours.max)
