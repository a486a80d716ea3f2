"""Trains the cases of `tests/support/batch_normalization_cases.py` in TensorFlow.

Out: `tests/recorded/batch_normalization.json`: what each step gave, and variables at the end.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "support"))

import tensorflow.compat.v1 as tf
from batch_normalization_cases import CASES, trained


def main() -> None:
    # Parts of a batch are cut as TensorFlow 1 cut them.
    tf.disable_v2_behavior()
    recorded = {name: trained(tf, name) for name in CASES}
    place = TESTS / "recorded" / "batch_normalization.json"
    lines = (f"{json.dumps(name)}: {json.dumps(found)}" for name, found in recorded.items())
    place.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
