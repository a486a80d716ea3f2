"""Records the numbers that TensorFlow gives for the programs of `tests/support/random_programs.py`.

    V/bin/python tests/oracle/record_random.py        # V has tensorflow-cpu==2.21.0

Out: tests/recorded/random.npz: `<program>/<run>/<fetch>` -> the array; of arrays with more than
`MOST` elements the first and the last `MOST` of them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

from random_programs import PROGRAMS, RUNS

MOST = 500


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_control_flow_v2()
    found: dict[str, Any] = {}
    for name, text in PROGRAMS.items():
        with tf.Graph().as_default() as graph:
            program: dict[str, Any] = {"tf": tf, "np": np}
            exec(compile(text, name, "exec"), program)
            with tf.Session(graph=graph) as session:
                for run in range(RUNS):
                    values = session.run(program["out"], program.get("feed"))
                    for i, value in enumerate(values):
                        array = np.asarray(value)
                        if array.size > MOST:
                            array = np.concatenate([array[:MOST], array[-MOST:]])
                        kept = array.view(np.uint16) if array.dtype.name == "bfloat16" else array
                        found[f"{name}/{run}/{i}"] = kept
    np.savez_compressed(TESTS / "recorded" / "random.npz", **found)


if __name__ == "__main__":
    main()
