"""The growing table in C++: trained in a Session, saved, and compiled to a library that trains on.

    python table_library.py FOLDER          # needs a C++ compiler

Each instance of the library has a table of its own, which begins with what the checkpoint has.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import flowc as tf


def build(folder: str) -> Any:
    """An archive with the kernels, for Sessions and for libraries."""
    source = Path(__file__).with_name("growing_table.cc")
    flags = ["-O2", "-fPIC", *tf.sysconfig.get_compile_flags()]
    subprocess.run(["c++", *flags, "-c", source, "-o", f"{folder}/table.o"], check=True)
    subprocess.run(["ar", "rc", f"{folder}/table.a", f"{folder}/table.o"], check=True)
    return tf.load_op_library(f"{folder}/table.a")


def network(ops: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Rows that are pulled, and a step that pushes them towards 1."""
    table = ops.row_table(dim=4, name="words")
    keys = tf.placeholder(tf.int64, [None], name="keys")
    rows = tf.identity(ops.pull_from_table(table, keys, dim=4), name="rows")
    loss = tf.reduce_sum(tf.square(rows - 1.0))
    deltas = -0.1 * tf.gradients(loss, rows)[0]
    return keys, rows, tf.identity(ops.push_to_table(table, keys, deltas), name="known")


def main(folder: str) -> None:
    ops = build(folder)
    tf.reset_default_graph()
    keys, rows, known = network(ops)
    saver = tf.train.Saver()
    batches = [np.array(keys, np.int64) for keys in ([7, 10**12], [7, -3])]
    with tf.Session() as session:
        for k in range(10):
            session.run(known, {keys: batches[k % 2]})
        saver.save(session, f"{folder}/words")
        for k in range(10):
            session.run(known, {keys: batches[k % 2]})
        every = np.array([7, 10**12, -3], np.int64)
        expected = session.run(rows, {keys: every})

    files = f"{folder}/words.meta", f"{folder}/words.so"
    model = tf.compile(files[0], ["keys=i64[n]"], ["known", "rows"], out=files[1])
    instance, other = model.new_instance(), model.new_instance()
    for k in range(10):
        instance(batches[k % 2])
    other.restore("words", instance.save("words"))
    found = other(every)[1]
    assert np.array_equal(found, expected)
    assert model.objects == ("words",) and len(instance.save("words")) == 3 * (8 + 4 * 4)
    return found


if __name__ == "__main__":
    print(main(sys.argv[1]))
