"""Records what TensorFlow gives for the calls of ops on sparse tensors and on sets.

Run in an environment with TensorFlow from the repository's root:
`PYTHONPATH=.:tests/support python tests/oracle/record_sparse_ops.py`. It writes
tests/recorded/sparse_ops.npz: results by op, call and place.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf
import tensorflow.python.ops.map_ops  # noqa: F401  registers the gradients of maps
from calls.sparse_op_calls import CALLS, GRADIENTS, listed

FOLDER = Path(__file__).resolve().parents[1] / "recorded"


def main() -> None:
    found = {}
    for name, calls in CALLS.items():
        for k, call in enumerate(calls):
            with tf.Graph().as_default(), tf.Session() as session:
                results = session.run(listed(call(tf.raw_ops)))
            found |= {f"{name}/{k}/{i}": np.asarray(x) for i, x in enumerate(results)}
    for name, program in GRADIENTS.items():
        with tf.Graph().as_default(), tf.Session() as session:
            found[f"gradient/{name}"] = session.run(program(tf))
    np.savez_compressed(FOLDER / "sparse_ops.npz", **found)
    print(len(found), "results")


if __name__ == "__main__":
    main()
