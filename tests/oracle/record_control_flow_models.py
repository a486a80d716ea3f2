#!/usr/bin/env python3
"""Records small models with control flow and state, and what TensorFlow computes with them.

    V/bin/python tests/oracle/record_control_flow_models.py    # V has tensorflow-cpu==2.21.0

Out, in tests/data/control_flow: a model for each class, batch (dynamic, static) and kind. v1: a
GraphDef of Switch, Merge and frames; with reference variables a MetaGraphDef and its checkpoint.
v2: a SavedModel with functions and resource variables. `models.npz` holds, for each model, what
runs one after another are fed with and give. A second run writes the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np
import tensorflow as tf

FOLDER = Path(__file__).resolve().parents[1] / "data" / "control_flow"
v1 = tf.compat.v1
Values = dict[str, Any]
Shape = list[int | None]


class Model:
    """One class. `inputs`: dtypes and shapes, where None is the batch; `variables`: their starts;
    `body`: outputs by name, from inputs and variables by name. `others`: what the scalars are fed
    with, run by run."""

    def __init__(
        self,
        body: Callable[[Values, Values], Values],
        inputs: dict[str, Shape],
        variables: dict[str, np.ndarray] | None = None,
        others: dict[str, list[int]] | None = None,
    ) -> None:
        self.body = body
        self.inputs = inputs
        self.variables = variables or {}
        self.others = others or {}

    def specs(self, batch: int | None) -> dict[str, tuple[Any, Shape]]:
        found: dict[str, tuple[Any, Shape]] = {n: (tf.int32, []) for n in self.others}
        for name, shape in self.inputs.items():
            dtype = tf.int32 if name == "ids" else tf.float32
            found[name] = (dtype, [batch if d is None else d for d in shape])
        return dict(sorted(found.items()))

    def feeds(self, batches: list[int]) -> list[dict[str, np.ndarray]]:
        random = np.random.RandomState(len(self.inputs))
        runs = []
        for number, batch in enumerate(batches):
            feed: dict[str, np.ndarray] = {}
            for name, (dtype, shape) in self.specs(batch).items():
                if name in self.others:
                    feed[name] = np.int32(self.others[name][number])
                elif dtype == tf.int32:
                    feed[name] = random.randint(0, 3, shape).astype(np.int32)
                else:
                    feed[name] = random.uniform(-1, 1, shape).astype(np.float32)
            runs.append(feed)
        return runs


def weights(*shape: int) -> np.ndarray:
    return np.random.RandomState(sum(shape)).uniform(-0.7, 0.7, shape).astype(np.float32)


# -- the classes


def mlp(x: Values, v: Values) -> Values:
    hidden = tf.nn.relu(tf.matmul(x["x"], v["w1"]) + v["b1"])
    return {"probabilities": tf.nn.softmax(tf.matmul(hidden, v["w2"]) + v["b2"])}


def cond(x: Values, v: Values) -> Values:
    def small() -> Any:
        return tf.cond(x["k"] > 1, lambda: tf.sqrt(tf.abs(x["x"])), lambda: -x["x"])

    return {
        "y": tf.cond(x["k"] > 2, lambda: tf.tanh(x["x"]) * 2.0, small),
        "sign": tf.cond(tf.reduce_sum(x["x"]) > 0, lambda: 1, lambda: -1),
    }


def while_(x: Values, v: Values) -> Values:
    start = [tf.constant(0), tf.zeros_like(x["x"]), tf.constant(False)]

    def body(i: Any, a: Any, _: Any) -> Any:
        return i + 1, tf.tanh(a) * 0.5 + x["x"], tf.reduce_mean(a) > 0.1

    i, a, positive = tf.while_loop(lambda i, a, _: i < x["n"], body, start)
    return {"i": i, "a": a, "positive": positive}


def while_array(x: Values, v: Values) -> Values:
    rows = tf.shape(x["x"])[0]
    given = tf.TensorArray(tf.float32, size=rows, element_shape=[4]).unstack(x["x"])
    made = tf.TensorArray(tf.float32, size=rows, element_shape=[4])

    def body(i: Any, state: Any, made: Any) -> Any:
        state = 0.6 * state + given.read(i)
        return i + 1, state, made.write(i, tf.sin(state))

    start = [tf.constant(0), tf.zeros([4]), made]
    _, last, made = tf.while_loop(lambda i, *_: i < rows, body, start)
    return {"states": made.stack(), "last": last}


def growing(x: Values, v: Values) -> Values:
    _, kept = tf.while_loop(
        lambda i, _: i < x["n"],
        lambda i, kept: (i + 1, tf.concat([kept, x["x"] * tf.cast(i, tf.float32)], 0)),
        [tf.constant(0), x["x"]],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])],
    )
    return {"kept": kept, "rows": tf.shape(kept)[0]}


def nested(x: Values, v: Values) -> Values:
    def outer(i: Any, total: Any) -> Any:
        _, inner = tf.while_loop(
            lambda j, _: j < i,
            lambda j, s: (j + 1, s * 0.5 + tf.cast(j, tf.float32) * x["x"]),
            [tf.constant(0), tf.zeros_like(x["x"])],
        )
        even = tf.equal(i % 2, 0)
        return i + 1, tf.cond(even, lambda: total + inner, lambda: total - 0.5 * inner)

    _, total = tf.while_loop(
        lambda i, _: i < x["n"], outer, [tf.constant(0), tf.zeros_like(x["x"])]
    )
    return {"total": total}


def partition_stitch(x: Values, v: Values) -> Values:
    places = tf.range(tf.shape(x["x"])[0])
    parts = tf.dynamic_partition(x["x"], x["ids"], 3)
    where = tf.dynamic_partition(places, x["ids"], 3)
    parts = [parts[0] * 2.0, tf.tanh(parts[1]), parts[2] - 1.0]
    return {"y": tf.dynamic_stitch(where, parts), "second": parts[1]}


def assign_add(x: Values, v: Values) -> Values:
    step = tf.reduce_mean(x["x"], 0)
    added = v["total"].assign_add(step)
    with tf.control_dependencies([added]):
        count = v["count"].assign_add(1)
        with tf.control_dependencies([count]):
            return {
                "total": tf.identity(v["total"]),
                "mean": v["total"] / tf.cast(v["count"], tf.float32),
            }


def scatter_add(x: Values, v: Values) -> Values:
    if isinstance(v["table"], v1.Variable) and not hasattr(v["table"], "handle"):
        added: Any = v1.scatter_add(v["table"], x["ids"], x["x"])
    else:
        added = v["table"].scatter_add(tf.IndexedSlices(x["x"], x["ids"]))
    with tf.control_dependencies([added]):
        table = v["table"].read_value()
        return {"table": table, "row": tf.gather(table, 1)}


def sgd(x: Values, v: Values) -> Values:
    def loss_of() -> Any:
        return tf.reduce_mean(tf.square(tf.matmul(x["x"], v["w"]) + v["b"] - x["y"]))

    if tf.inside_function():
        with tf.GradientTape() as tape:
            loss = loss_of()
        slopes = tape.gradient(loss, [v["w"], v["b"]])
        steps = [
            tf.raw_ops.ResourceApplyGradientDescent(var=v[n].handle, alpha=0.1, delta=slope)
            for n, slope in zip("wb", slopes)
        ]
    else:
        loss = loss_of()
        steps = [v1.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[v["w"], v["b"]])]
    with tf.control_dependencies([loss, *steps]):
        return {"loss": tf.identity(loss), "w": v["w"].read_value(), "b": v["b"].read_value()}


def one(value: Any) -> np.ndarray:
    return np.asarray(value)


MODELS: dict[str, Model] = {
    "mlp": Model(
        mlp,
        {"x": [None, 6]},
        {"w1": weights(6, 9), "b1": weights(9), "w2": weights(9, 4), "b2": weights(4)},
    ),
    "cond": Model(cond, {"x": [None, 4]}, others={"k": [1, 2, 3]}),
    "while": Model(while_, {"x": [None, 4]}, others={"n": [0, 3, 8]}),
    "while_array": Model(while_array, {"x": [None, 4]}),
    "growing": Model(growing, {"x": [None, 3]}, others={"n": [0, 2, 7]}),
    "nested": Model(nested, {"x": [None, 5]}, others={"n": [1, 4, 5]}),
    "partition_stitch": Model(partition_stitch, {"x": [None, 3], "ids": [None]}),
    "assign_add": Model(
        assign_add, {"x": [None, 3]}, {"total": weights(3), "count": one(np.int32(2))}
    ),
    "scatter_add": Model(scatter_add, {"x": [None, 2], "ids": [None]}, {"table": weights(4, 2)}),
    "sgd": Model(
        sgd, {"x": [None, 3], "y": [None, 2]}, {"w": weights(3, 2), "b": np.zeros(2, np.float32)}
    ),
}


# -- the two kinds


def record_v1(model: Model, path: Path, batch: int | None, runs: list[Any]) -> dict[str, Any]:
    """A graph with placeholders and, where there are variables, references."""
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        inputs = {n: v1.placeholder(d, s, n) for n, (d, s) in model.specs(batch).items()}
        variables = {
            name: v1.get_variable(name, initializer=start, use_resource=False)
            for name, start in model.variables.items()
        }
        found = model.body(inputs, variables)
        outputs = {n: tf.identity(t, f"out_{n}") for n, t in sorted(found.items())}
        if variables:
            saver = v1.train.Saver(list(variables.values()))
            session.run(v1.global_variables_initializer())
            saver.save(session, str(path), write_meta_graph=False, write_state=False)
            meta = v1.train.export_meta_graph(graph=graph, saver_def=saver.as_saver_def())
            meta.meta_info_def.ClearField("stripped_op_list")
            path = path.with_suffix(".meta")
            path.write_bytes(meta.SerializeToString(deterministic=True))
        else:
            path = path.with_suffix(".pb")
            path.write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))
        fetches = list(outputs.values())
        values = [session.run(fetches, {inputs[n]: a for n, a in feed.items()}) for feed in runs]
    return {
        "file": path.name,
        "fetches": {name: t.op.name for name, t in outputs.items()},
        "values": [dict(zip(outputs, v)) for v in values],
    }


def record_v2(model: Model, path: Path, batch: int | None, runs: list[Any]) -> dict[str, Any]:
    """A SavedModel, whose signature is a function over resource variables."""
    module = tf.Module()
    module.v = {name: tf.Variable(start, name=name) for name, start in model.variables.items()}
    specs = {n: tf.TensorSpec(s, d, n) for n, (d, s) in model.specs(batch).items()}

    @tf.function(input_signature=[specs], autograph=False)
    def serve(inputs: Values) -> Values:
        return model.body(inputs, module.v)

    tf.saved_model.save(module, str(path), {"serving_default": serve})
    (path / "fingerprint.pb").unlink()
    (path / "assets").rmdir()
    loaded = tf.saved_model.load(str(path)).signatures["serving_default"]
    values = [loaded(**{n: tf.constant(a) for n, a in feed.items()}) for feed in runs]
    return {
        "file": path.name,
        "values": [{n: v.numpy() for n, v in sorted(value.items())} for value in values],
    }


def main() -> None:
    v1.disable_control_flow_v2()  # of graphs; functions have While and If in any case
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    shutil.rmtree(FOLDER / "models", ignore_errors=True)
    (FOLDER / "models").mkdir(parents=True)
    index: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, model in MODELS.items():
        for kind, batch in (("dynamic", None), ("static", 4)):
            runs = model.feeds([1, 5, 3] if batch is None else [batch] * 3)
            for version, record in (("v1", record_v1), ("v2", record_v2)):
                key = f"{name}_{kind}_{version}"
                entry = record(model, FOLDER / "models" / key, batch, runs)
                for number, value in enumerate(entry.pop("values")):
                    arrays |= {f"{key}/{number}/in/{n}": a for n, a in runs[number].items()}
                    arrays |= {f"{key}/{number}/out/{n}": a for n, a in value.items()}
                index[key] = {**entry, "state": bool(set(model.variables) & STATE)}
    text = json.dumps(index, indent=1).encode()
    np.savez_compressed(FOLDER / "models.npz", index=np.frombuffer(text, np.uint8), **arrays)


STATE = {"total", "table", "w"}  # variables that a run assigns

if __name__ == "__main__":
    main()
