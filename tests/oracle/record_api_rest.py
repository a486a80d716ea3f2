"""Runs the programs of `snippets/api_rest_snippets.py` in TensorFlow and records what they do.

    V/bin/python tests/oracle/record_api_rest.py    # V has tensorflow-cpu==2.21.0

Out: `tests/recorded/api_rest.json`: for each program its values or its error.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from api_program import outcome
from snippets.api_rest_snippets import REST_SNIPPETS


def _short(value: Any) -> Any:
    """Floats in the digits that tell them apart in their dtype."""
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _shortened(entry: Any) -> Any:
    return [entry[0], _short(entry[1])] if entry is not None and "64" not in entry[0] else entry


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    recorded: dict[str, Any] = {}
    for snippet in REST_SNIPPETS:
        found = outcome(tf, snippet)
        if found.error is not None:
            print(f"{snippet.name}: {found.error[0][0]}: {found.error[1][:160]}")
        values = [_shortened(value) for value in found.values]
        recorded[snippet.name] = {"error": found.error, "values": values}
    lines = [f"{json.dumps(n)}: {json.dumps(r, default=bytes.hex)}" for n, r in recorded.items()]
    (TESTS / "recorded" / "api_rest.json").write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
