"""Runs the programs of `text_programs.py` in TensorFlow and records what they see.

    V/bin/python tests/oracle/record_text_programs.py    # V has tensorflow-cpu 2.21.0

Out: `tests/recorded/text_programs.json`, with the op types of their graphs and of the rows' of
records.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from row_program import seen_by
from snippets.api_snippets import Snippet
from snippets.row_snippets_records import RECORD_ROWS
from text_programs import TEXT_PROGRAMS

_OPS = "\nlog.append(sorted({o.type for o in tf.get_default_graph().get_operations()}))"


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    recorded: dict[str, object] = {}
    ops: set[str] = set()
    for snippet in TEXT_PROGRAMS + RECORD_ROWS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                with_ops = Snippet(snippet.name, snippet.code + _OPS)
                *seen, types = seen_by(tf, with_ops, folder + "/")
            except Exception as error:
                raise SystemExit(f"{snippet.name}: {type(error).__name__}: {error}") from error
        ops.update(types)
        if snippet in TEXT_PROGRAMS:
            recorded[snippet.name] = seen
    recorded["ops"] = sorted(ops)
    lines = [f"{json.dumps(name)}: {json.dumps(seen)}" for name, seen in recorded.items()]
    (TESTS / "recorded" / "text_programs.json").write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
