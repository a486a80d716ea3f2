#!/usr/bin/env python3
"""Records graphs with TensorArrays, TensorLists and stacks, and what TensorFlow makes of them.

    V/bin/python tests/oracle/record_list_graphs.py    # V has tensorflow-cpu==2.21.0

Out: tests/data/lists/graphs.npz. For each case its GraphDef, what `x` is fed with, and either the
fetched arrays `y0`, `y1`... or the message of the error that the run ends in. `calls` are graphs of
a few raw ops; `programs` are loops as users write them, with gradients, each with frames (v1) and
with functions (v2). `calls` are in list_graphs.py.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np
import tensorflow as tf
from list_graphs import ARRAYS, LISTS, STACKS, Build, f32

FOLDER = Path(__file__).resolve().parents[1] / "data" / "lists"
v1 = tf.compat.v1
X = np.random.RandomState(7).normal(size=(5, 3)).astype(np.float32)


# -- programs


def summed_gradient(y: Any, x: Any) -> Any:
    return tf.convert_to_tensor(tf.gradients(y, x)[0])


def recurrent(x: Any) -> list[Any]:
    n = tf.shape(x)[0]
    xs = tf.TensorArray(f32, n).unstack(x)

    def body(i: Any, h: Any, ys: Any) -> Any:
        h = tf.tanh(h * 0.5 + xs.read(i))
        return i + 1, h, ys.write(i, h)

    start = [0, tf.zeros([3]), tf.TensorArray(f32, n)]
    _, h, ys = tf.while_loop(lambda i, *_: i < n, body, start)
    y = ys.stack()
    return [y, h, summed_gradient(tf.reduce_sum(y * y) + tf.reduce_sum(h), x)]


def growing(x: Any) -> list[Any]:
    def body(i: Any, s: Any, ys: Any) -> Any:
        return i + 1, s + tf.reduce_sum(x * x), ys.write(i, s * x[0])

    start = [0, tf.constant(0.0), tf.TensorArray(f32, 0, dynamic_size=True)]
    _, _, ys = tf.while_loop(lambda i, s, _: tf.logical_and(i < 20, s < 70.0), body, start)
    return [ys.size(), ys.stack()]


def concatenated(x: Any) -> list[Any]:
    n = tf.shape(x)[0]

    def body(i: Any, ys: Any) -> Any:
        return i + 1, ys.write(i, tf.tile(tf.gather(x, [i]), [2, 1]))

    _, ys = tf.while_loop(lambda i, _: i < n, body, [0, tf.TensorArray(f32, n)])
    y = ys.concat()
    return [y, summed_gradient(tf.reduce_sum(y**3), x)]


def gathered(x: Any) -> list[Any]:
    xs = tf.TensorArray(f32, tf.shape(x)[0], clear_after_read=False).unstack(x)
    y, z = xs.gather([1, 0, 1]), xs.read(2)
    return [y, z, summed_gradient([tf.reduce_sum(y * y), tf.reduce_sum(z**3)], x)]


def array_of_arrays(x: Any) -> list[Any]:
    n = tf.shape(x)[0]

    def outer(i: Any, ys: Any) -> Any:
        def body(j: Any, inner: Any) -> Any:
            return j + 1, inner.write(j, x[i, j] * tf.cast(j + 1, f32))

        _, inner = tf.while_loop(lambda j, _: j < 3, body, [0, tf.TensorArray(f32, 3)])
        return i + 1, ys.write(i, inner.stack())

    _, ys = tf.while_loop(lambda i, _: i < n, outer, [0, tf.TensorArray(f32, n)])
    return [ys.stack()]


def product_gradient(x: Any) -> list[Any]:
    n = tf.shape(x)[0]

    def body(i: Any, y: Any) -> Any:
        return i + 1, y * tf.sin(y + tf.gather(x, i))

    _, y = tf.while_loop(lambda i, _: i < n, body, [0, tf.ones([3])])
    return [y, summed_gradient(y, x)]


def nested_gradient(x: Any) -> list[Any]:
    def outer(i: Any, s: Any) -> Any:
        def body(j: Any, t: Any) -> Any:
            return j + 1, t * tf.cos(s + tf.gather(x, j))

        _, t = tf.while_loop(lambda j, _: j < 3, body, [0, s])
        return i + 1, t + s

    _, s = tf.while_loop(lambda i, _: i < 4, outer, [0, tf.ones([3])])
    return [s, summed_gradient(s, x)]


def conditional_writes(x: Any) -> list[Any]:
    n = tf.shape(x)[0]

    def body(i: Any, ys: Any) -> Any:
        row = tf.gather(x, i)
        positive = tf.reduce_sum(row) > 0
        return i + 1, tf.cond(positive, lambda: ys.write(i, row), lambda: ys.write(i, row * -2.0))

    _, ys = tf.while_loop(lambda i, _: i < n, body, [0, tf.TensorArray(f32, n)])
    return [ys.stack()]


def mapped(x: Any) -> list[Any]:
    y = tf.map_fn(lambda row: tf.nn.softmax(row) * 2, x)
    z = tf.scan(lambda a, row: a + row, x)
    return [y, z, summed_gradient([tf.reduce_sum(y**2), tf.reduce_sum(z**2)], x)]


def written_twice(x: Any) -> list[Any]:
    def body(i: Any, ys: Any) -> Any:
        return i + 1, ys.write(tf.maximum(i, 1), x[0])

    _, ys = tf.while_loop(lambda i, _: i < 3, body, [0, tf.TensorArray(f32, 3)])
    return [ys.stack()]


PROGRAMS: dict[str, Build] = {
    f.__name__: f
    for f in (
        recurrent, growing, concatenated, gathered, array_of_arrays, product_gradient,
        nested_gradient, conditional_writes, mapped, written_twice,
    )
}  # fmt: skip


# -- TensorArrays of the versions before, which TensorFlow takes in graphs of their time


def old_node(name: str, op: str, inputs: Sequence[str], **attrs: Any) -> Any:
    node = v1.NodeDef(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        if isinstance(value, str):
            node.attr[key].s = value.encode()
        elif isinstance(value, np.ndarray):
            node.attr[key].tensor.CopyFrom(tf.make_tensor_proto(value))
        else:
            node.attr[key].type = value.as_datatype_enum
    return node


def old_const(name: str, value: Any) -> Any:
    array = np.asarray(value)
    return old_node(name, "Const", [], dtype=tf.as_dtype(array.dtype), value=array)


def old_graph(version: str, producer: int, put: Any, take: Any) -> Any:
    """All rows put in and taken out, a gradient written and read, and the size."""
    nodes = [
        old_node("x", "Placeholder", [], dtype=f32),
        old_const("n", np.int32(5)),
        old_const("i", np.int32(1)),
        old_const("places", np.arange(5, dtype=np.int32)),
        old_const("row", np.ones(3, np.float32)),
        old_const("flow", np.float32(0)),
        old_node("ta", f"TensorArray{version}", ["n"], dtype=f32),
        put,
        take,
        old_node("g", f"TensorArrayGrad{version}", ["ta", "put"], source="s"),
        old_node("gw", f"TensorArrayWrite{version}", ["g", "i", "row", "put"], T=f32),
        old_node("y1", f"TensorArrayRead{version}", ["g", "i", "gw"], dtype=f32),
        old_node("y2", f"TensorArraySize{version}", ["ta", "put"]),
    ]
    definition = v1.GraphDef(node=nodes)
    definition.versions.producer = producer
    return definition


OLD = {
    "v1": old_graph(
        "", 8,
        old_node("put", "TensorArrayUnpack", ["ta", "x", "flow"], T=f32),
        old_node("y0", "TensorArrayPack", ["ta", "put"], dtype=f32),
    ),
    "v2": old_graph(
        "V2", 20,
        old_node("put", "TensorArrayScatterV2", ["ta", "places", "x", "flow"], T=f32),
        old_node("y0", "TensorArrayGatherV2", ["ta", "places", "put"], dtype=f32),
    ),
}  # fmt: skip


def recorded_old(definition: Any) -> tuple[bytes, list[np.ndarray]]:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        with v1.Session(graph=graph) as session:
            found = session.run(["y0:0", "y1:0", "y2:0"], {"x:0": X})
    return definition.SerializeToString(deterministic=True), found


def recorded(build: Build) -> tuple[bytes, list[np.ndarray] | str]:
    """A graph, and the arrays or the message that a run of it ends in."""
    config = v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(f32, [None, 3], name="x")
        fetches = [tf.identity(y, f"y{i}") for i, y in enumerate(build(x))]
        definition = graph.as_graph_def().SerializeToString(deterministic=True)
        with v1.Session(graph=graph, config=config) as session:
            try:
                return definition, session.run(fetches, {x: X})
            except tf.errors.OpError as error:
                text = re.search(r"^Node: .*\n(.*)$", error.message, re.MULTILINE)
                message = text[1] if text is not None else error.message
                return definition, re.sub(r"\s*\[\[.*", "", message.strip())


def of_both_versions(programs: Mapping[str, Build]) -> dict[str, Any]:
    """Each program recorded with frames and with functions."""
    found: dict[str, Any] = {}
    for version, switch in (
        ("v1", v1.disable_control_flow_v2),
        ("v2", v1.enable_control_flow_v2),
    ):
        switch()
        found |= {f"program/{n}_{version}": recorded(f) for n, f in programs.items()}
    return found


def write(found: Mapping[str, Any], path: Path) -> None:
    arrays: dict[str, np.ndarray] = {"x": X}
    errors: dict[str, str] = {}
    for name, (definition, result) in sorted(found.items()):
        arrays[f"{name}/graph"] = np.frombuffer(definition, np.uint8)
        if isinstance(result, str):
            errors[name] = result
        else:
            arrays |= {f"{name}/y{i}": np.asarray(y) for i, y in enumerate(result)}
    arrays["errors"] = np.frombuffer(json.dumps(errors, indent=1).encode(), np.uint8)
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, **arrays)
    print(f"{len(found)} graphs, {len(errors)} of them fail")
    print(json.dumps(errors, indent=1))


def main() -> None:
    cases = {**{f"array/{n}": f for n, f in ARRAYS.items()},
             **{f"list/{n}": f for n, f in LISTS.items()},
             **{f"stack/{n}": f for n, f in STACKS.items()}}  # fmt: skip
    found: dict[str, Any] = {name: recorded(build) for name, build in cases.items()}
    found |= {f"old/{version}": recorded_old(graph) for version, graph in OLD.items()}
    write(found | of_both_versions(PROGRAMS), FOLDER / "graphs.npz")


if __name__ == "__main__":
    main()
