"""A trained look-up model whose nodes are edited, in TensorFlow and flowc alike.

In: the module `tf` and a folder. Out: `lookup.meta` with its checkpoint there; of an edited model,
what it computes. `EDITS`: what `flowc edit` is told, by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

EDITS: dict[str, list[str]] = {
    "an older op": [
        *("--replace", "GatherV2=Gather", "--where", "name~^words/"),
        *("--rewire", "words/lookup:axis="),
    ],
    "a look-up by handle": [
        *("--replace", "GatherV2=ResourceGather", "--where", "input~^shared/"),
        *("--rewire", "shared/lookup:0=shared/table", "--rewire", "shared/lookup:2="),
    ],
    "a look-up by product": [
        *("--replace", "GatherV2=MatMul", "--where", "name~^words/"),
        *("--rewire", "words/lookup:0=hot", "--rewire", "words/lookup:b=words/table/read"),
        *(
            "--rewire",
            "words/lookup:2=",
        ),
    ],
    "attrs and names": ["--set-attr", "loss:keep_dims=true", "--rename", "score=points"],
    "a node less": [
        *("--rewire", "doubled:0=score", "--rewire", "gradients/doubled_grad/Mul_1:0=score"),
        *("--remove", "same"),
    ],
}
EXTRACTS: dict[str, list[str]] = {
    "with variables": ["--outputs", "summed,score"],
    "between tensors": ["--outputs", "doubled", "--inputs", "summed"],
}
FREEZES: dict[str, list[str]] = {
    "all": ["--outputs", "doubled:0"],
    "but one": ["--outputs", "words/lookup,summed", "--keep", "shared/table"],
}
WANTED = ("words/lookup", "shared/lookup", "summed", "score", "points", "doubled", "loss")


def write_model(tf: Any, folder: str) -> None:
    """A model with a plain and a resource table, after a step of training."""
    with tf.Graph().as_default():
        ids = tf.placeholder(tf.int32, [3], name="ids")
        with tf.variable_scope("words", use_resource=False):
            table = tf.get_variable(
                "table", initializer=np.arange(12, dtype=np.float32).reshape(4, 3)
            )
            words = tf.gather(table, ids, name="lookup")
        with tf.variable_scope("shared", use_resource=True):
            other = tf.get_variable("table", initializer=np.ones([4, 3], np.float32))
            shared = tf.raw_ops.GatherV2(
                params=other.read_value(), indices=ids, axis=0, name="lookup"
            )
        tf.one_hot(ids, 4, name="hot")
        summed = tf.add(words, 2.0 * shared, name="summed")
        score = tf.matmul(summed, tf.ones([3, 2]), name="score")
        same = tf.identity(score, name="same")
        doubled = tf.multiply(same, 2.0, name="doubled")
        loss = tf.reduce_mean(tf.square(doubled), name="loss")
        step = tf.train.GradientDescentOptimizer(0.001).minimize(loss, name="step")
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step, {"ids:0": [0, 2, 1]})
            saver.save(session, f"{folder}/lookup", write_state=False)


def computed(tf: Any, meta: str, checkpoint: str) -> list[Any]:
    """What a model, as `flowc edit` wrote it, computes; and what its collections hold."""
    with tf.Graph().as_default() as graph:
        saver = tf.train.import_meta_graph(meta)
        with tf.Session() as session:
            saver.restore(session, checkpoint)
            names = [op.name for op in graph.get_operations()]
            wanted = [n for n in WANTED if n in names]
            feeds = {"ids:0": [3, 0, 2]}
            values = session.run([f"{name}:0" for name in wanted], feeds)
            session.run("step", feeds)
            after = session.run("words/table:0")
            held = sorted(v.name for v in tf.trainable_variables())
    return [wanted, [v.tolist() for v in values], after.tolist(), held]


def computed_from_initial_values(tf: Any, meta: str) -> list[Any]:
    """What a model that `flowc extract` wrote computes from the first values of its variables."""
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta)
        names = [op.name for op in graph.get_operations()]
        wanted = [n for n in WANTED if n in names]
        inputs = [op.name for op in graph.get_operations() if op.type == "Placeholder"]
        feeds = {f"{n}:0": [3, 0, 2] if n == "ids" else np.ones([3, 3]) for n in inputs}
        with tf.Session() as session:
            session.run(tf.variables_initializer(tf.global_variables()))
            values = session.run([f"{name}:0" for name in wanted], feeds)
        held = sorted(v.name for v in tf.trainable_variables())
    return [sorted(names), wanted, [v.tolist() for v in values], held]


def computed_when_frozen(tf: Any, path: str) -> list[Any]:
    """What a GraphDef that `flowc freeze` wrote computes where no variable is left."""
    message = tf.GraphDef()
    with open(path, "rb") as file:
        message.ParseFromString(file.read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(message, name="")
        names = [op.name for op in graph.get_operations()]
        wanted = ["doubled"] if "doubled" in names else ["words/lookup"]
        with tf.Session() as session:
            values = session.run([f"{name}:0" for name in wanted], {"ids:0": [3, 0, 2]})
    return [[[node.name, node.op] for node in message.node], [v.tolist() for v in values]]
