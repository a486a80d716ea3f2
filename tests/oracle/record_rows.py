"""Runs the programs of `row_snippets.py` in TensorFlow and records what they see.

    V/bin/python tests/oracle/record_rows.py    # V has tensorflow-cpu 2.21.0

Out: `tests/recorded/rows.json`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from row_program import seen_by
from snippets.row_snippets import ROW_SNIPPETS


def main(only: set[str]) -> None:
    """All programs, or those named (`82_nodes`, or `82` for a whole row)."""
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    path = TESTS / "recorded" / "rows.json"
    recorded: dict[str, object] = json.loads(path.read_text()) if only else {}
    for snippet in ROW_SNIPPETS:
        if only and not only & {snippet.name, snippet.name.partition("_")[0]}:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                recorded[snippet.name] = seen_by(tf, snippet, folder + "/")
            except Exception as error:
                raise SystemExit(f"{snippet.name}: {type(error).__name__}: {error}") from error
    ordered = {s.name: recorded[s.name] for s in ROW_SNIPPETS}
    text = json.dumps(ordered, indent=0)
    path.write_text(text + "\n")


if __name__ == "__main__":
    main(set(sys.argv[1:]))
