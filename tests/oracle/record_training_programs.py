"""Records the losses of the programs of `examples/training` as TensorFlow computes them.

    V/bin/python tests/oracle/record_training_programs.py [NAME ...]

V has tensorflow-cpu==2.21.0 and tf-keras==2.21.0. Out: tests/recorded/training_programs.json: the
loss of every step of each program.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

from training_programs import NAMES, losses_of

FOUND = TESTS / "recorded" / "training_programs.json"


def main() -> None:
    warnings.simplefilter("ignore")
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    tf.logging.set_verbosity(tf.logging.ERROR)
    chosen = sys.argv[1:] or NAMES
    found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    for name in chosen:
        found[name] = [float(f"{loss:.8g}") for loss in losses_of(name, tf)]
        print(f"{name}: {found[name][0]} ... {found[name][-1]}")
    found = {name: found[name] for name in NAMES}
    FOUND.write_text(json.dumps(found, separators=(",", ":")).replace("],", "],\n") + "\n")


if __name__ == "__main__":
    main()
