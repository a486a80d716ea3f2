"""An embedding look-up of a trained model becomes one's own op, in C++: the model trains on, is
saved, and is compiled to a library.

    python swap.py FOLDER          # needs a C++ compiler
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import flowc as tf
from flowc.cli.entry import run_command_line

IDS = np.array([[1, 4], [3, 1], [0, 2]], np.int64)
TARGETS = np.array([[1.0], [0.0], [2.0]], np.float32)


def build(folder: str) -> str:
    """An archive with the kernel, for Sessions and for libraries."""
    source = Path(__file__).with_name("pull_embedding.cc")
    flags = ["-O2", "-fPIC", *tf.sysconfig.get_compile_flags()]
    subprocess.run(["c++", *flags, "-c", source, "-o", f"{folder}/pull.o"], check=True)
    subprocess.run(["ar", "rc", f"{folder}/pull.a", f"{folder}/pull.o"], check=True)
    return f"{folder}/pull.a"


def network() -> tuple[tf.Tensor, tf.Tensor]:
    ids = tf.placeholder(tf.int64, [None, 2], name="ids")
    table = tf.get_variable("embedding", [5, 3], initializer=tf.random_normal_initializer(seed=3))
    rows = tf.gather(table, ids, axis=0, name="embedding_lookup")
    start = tf.glorot_uniform_initializer(seed=4)
    y = tf.layers.dense(tf.reshape(rows, [-1, 6]), 1, kernel_initializer=start)
    return ids, tf.identity(y, name="y")


def train_first(folder: str) -> NDArray[np.float32]:
    """A model of GatherV2, trained and saved; what it says."""
    with tf.Graph().as_default(), tf.Session() as session:
        ids, y = network()
        loss = tf.losses.mean_squared_error(TARGETS, y)
        step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(step, {ids: IDS})
        tf.train.Saver().save(session, f"{folder}/first", write_meta_graph=False)
        said = session.run(y, {ids: IDS})
    with tf.Graph().as_default():  # the graph without gradients, which would be those of GatherV2
        network()
        tf.train.export_meta_graph(
            f"{folder}/first.meta", saver_def=tf.train.Saver().as_saver_def()
        )
    return said


def register_gradient() -> None:
    @tf.RegisterGradient("PullEmbedding")
    def gradient(op: tf.Operation, dy: tf.Tensor) -> tuple[tf.IndexedSlices, None]:
        params, ids = op.inputs
        width = params.shape.as_list()[1]
        rows = tf.IndexedSlices(
            tf.reshape(dy, [-1, width]), tf.reshape(ids, [-1]), tf.shape(params)
        )
        return rows, None


def main(folder: str) -> tuple[float, float, NDArray[np.float32], NDArray[np.float32]]:
    archive = build(folder)
    before = train_first(folder)
    swap = "--replace GatherV2=PullEmbedding --where name~^embedding_lookup"
    swap += " --rewire embedding_lookup:2="  # the axis goes
    files = [f"{folder}/first.meta", "--op-library", archive, "-o", f"{folder}/swapped.meta"]
    status = run_command_line(["edit", *files, *swap.split()])
    assert status == 0

    tf.load_op_library(archive)
    register_gradient()
    tf.reset_default_graph()
    saver = tf.train.import_meta_graph(f"{folder}/swapped.meta")
    assert saver is not None
    graph = tf.get_default_graph()
    assert graph.get_operation_by_name("embedding_lookup").type == "PullEmbedding"
    ids, y = graph.get_tensor_by_name("ids:0"), graph.get_tensor_by_name("y:0")
    loss = tf.losses.mean_squared_error(TARGETS, y)
    variables = graph.get_collection("trainable_variables")
    step = tf.train.GradientDescentOptimizer(0.05).minimize(loss, var_list=variables)
    with tf.Session() as session:
        saver.restore(session, f"{folder}/first")
        swapped = session.run(y, {ids: IDS})
        first = session.run(loss, {ids: IDS})
        for _ in range(20):
            session.run(step, {ids: IDS})
        last, after = session.run([loss, y], {ids: IDS})
        saver.save(session, f"{folder}/second")
    model = tf.compile(f"{folder}/second.meta", ["ids=i64[n,2]"], ["y"], out=f"{folder}/second.so")
    assert np.array_equal(before, swapped)
    assert np.allclose(model(IDS), after, atol=1e-6)
    return float(first), float(last), before, after


if __name__ == "__main__":
    first, last, _, _ = main(sys.argv[1])
    print(f"loss {first:.4f} -> {last:.4f}")
