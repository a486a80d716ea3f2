"""Runs the programs of `context_programs.py` in TensorFlow and records what it writes and gives.

    V/bin/python tests/oracle/record_contexts.py    # V has tensorflow-cpu and tf-keras 2.21.0

Out: `tests/recorded/contexts.npz`: of each program the MetaGraph, its result and gradient; of the
network the MetaGraph and checkpoint, and the losses of the training that goes on with them.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from context_programs import PROGRAMS, begun, built, gradient_in_graph, resumed

FOUND = TESTS / "recorded" / "contexts.npz"


def main() -> None:
    warnings.simplefilter("ignore")
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    tf.logging.set_verbosity(tf.logging.ERROR)
    found: dict[str, Any] = {}
    for name in PROGRAMS:
        with tf.Graph().as_default():
            built(tf, name)
            meta = tf.train.export_meta_graph()
        meta.meta_info_def.Clear()
        found[f"{name}/meta"] = _bytes(meta.SerializeToString())
        with tf.Graph().as_default():
            tf.train.import_meta_graph(meta)
            found[f"{name}/result"], found[f"{name}/gradient"] = gradient_in_graph(tf)
    with tempfile.TemporaryDirectory() as folder:
        prefix = folder + "/model"
        begun(tf, prefix)
        found["network/losses"] = np.array(resumed(tf, prefix))
        for path in Path(folder).glob("model*"):
            found[f"network/{path.name}"] = _bytes(path.read_bytes())
    np.savez_compressed(FOUND, **found)


def _bytes(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


if __name__ == "__main__":
    main()
