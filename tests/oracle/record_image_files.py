"""Records what TensorFlow reads of the image files of `make_image_files.py`.

    PYTHONPATH=tests/support V/bin/python tests/oracle/record_image_files.py

V has tensorflow-cpu 2.21.0. Out: `tests/recorded/image_files.npz`, which has the files already.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf
from image_file_cases import CASES, case_name

OUT = Path(__file__).parents[1] / "recorded" / "image_files.npz"


def main() -> None:
    with np.load(OUT) as arrays:
        found: dict[str, Any] = {n: arrays[n] for n in arrays.files if n.startswith("file ")}
    for case in CASES:
        file, op, attrs = case
        contents = found[f"file {file}"].tobytes()
        try:
            answer = getattr(tf.raw_ops, op)(contents=contents, **attrs).numpy()
        except (tf.errors.OpError, ValueError) as error:
            text = re.sub(r"\{\{.*?\}\} | \[Op:\w+\].*", "", str(error))
            answer = np.array(f"{type(error).__name__}: {text}")
        found[case_name(case)] = answer
    np.savez_compressed(OUT, **found)


if __name__ == "__main__":
    main()
