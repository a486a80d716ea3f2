"""Records what TensorFlow gives for the programs and calls of linear algebra.

Run in an environment with TensorFlow from the repository's root:
`PYTHONPATH=.:tests/support python tests/oracle/record_matrices.py`. It writes
tests/recorded/matrices.npz: for each program its results, by name and place.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf
from matrix_programs import PROGRAMS
from snippets.linalg_snippets import CALLS

FOLDER = Path(__file__).resolve().parents[1] / "recorded"


def main() -> None:
    found = {}
    for name, program in {**PROGRAMS, **CALLS}.items():
        with tf.Graph().as_default(), tf.Session() as session:
            try:
                results = session.run(program(tf))
            except (NotImplementedError, ValueError) as error:
                print(name, error)
                continue
            results = results if isinstance(results, list) else [results]
            found |= {f"{name}/{i}": np.asarray(x) for i, x in enumerate(results)}
    np.savez_compressed(FOLDER / "matrices.npz", **found)
    print(len(found), "results")


if __name__ == "__main__":
    main()
