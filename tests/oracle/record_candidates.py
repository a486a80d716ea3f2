#!/usr/bin/env python3
"""Records what TensorFlow's candidate samplers draw: `tests/recorded/candidates.json`.

V/bin/python tests/oracle/record_candidates.py        # V has tensorflow-cpu==2.21.0

In: the samplers of `tests/support/candidate_programs.py`. Out: what each gives, run by
run.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

from candidate_programs import draws


def main() -> None:
    tf.disable_eager_execution()
    text = json.dumps(draws(tf), separators=(",", ":"))
    (TESTS / "recorded" / "candidates.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
