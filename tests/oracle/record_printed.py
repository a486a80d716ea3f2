"""Records what TensorFlow writes for the programs of `tests/support/print_programs.py`.

    V/bin/python tests/oracle/record_printed.py        # V has tensorflow-cpu==2.21.0

Out: tests/recorded/printed.json: for each program what each of its runs writes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

from print_programs import PROGRAMS, outcomes


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_control_flow_v2()
    with tf.Session() as session:
        session.run(tf.constant(0))  # what TensorFlow says at its first session
    found = {name: outcomes(tf, np, name) for name in PROGRAMS}
    (TESTS / "recorded" / "printed.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
