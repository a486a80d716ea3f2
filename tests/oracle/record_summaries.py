"""Records what TensorFlow does with the programs of `tests/support/summary_snippets.py`.

Out: `tests/recorded/summaries.json`: what each saw.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "support"))

import tensorflow.compat.v1 as tf
from row_program import seen_by
from summary_snippets import SUMMARY_SNIPPETS


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    recorded = {}
    for snippet in SUMMARY_SNIPPETS:
        with tempfile.TemporaryDirectory() as folder:
            recorded[snippet.name] = seen_by(tf, snippet, f"{folder}/")
    place = TESTS / "recorded" / "summaries.json"
    place.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
