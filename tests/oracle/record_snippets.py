"""Records what TensorFlow does with the programs of `table_snippets.py` and `summary_snippets.py`
in `tests/support`.

Out: `tests/recorded/lookup_tables.json` and `summaries.json`: what each saw.
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
from snippets.summary_snippets import SUMMARY_SNIPPETS
from snippets.table_snippets import TABLE_SNIPPETS

RECORDINGS = {"lookup_tables.json": TABLE_SNIPPETS, "summaries.json": SUMMARY_SNIPPETS}


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    for name, snippets in RECORDINGS.items():
        recorded = {}
        for snippet in snippets:
            with tempfile.TemporaryDirectory() as folder:
                recorded[snippet.name] = seen_by(tf, snippet, f"{folder}/")
        (TESTS / "recorded" / name).write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
