"""Records what TensorFlow gives for the expressions of `tests/support/distribution_cases.py`.

Out: `tests/recorded/distributions.json`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "support"))

import tensorflow.compat.v1 as tf
from distribution_cases import evaluated


def main() -> None:
    tf.disable_eager_execution()
    place = TESTS / "recorded" / "distributions.json"
    lines = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in evaluated(tf).items())
    place.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
