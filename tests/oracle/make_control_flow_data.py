"""Records what TensorFlow does with the programs of `tests/control_flow_snippets.py`.

In: TensorFlow and flowc in one process. Out: `tests/recorded/control_flow.json`, as `api.json`.
"""

from __future__ import annotations

import json
from typing import Any

import tensorflow.compat.v1 as tf
from make_api_data import TESTS, check_export

from api_program import Outcome, nodes_of, outcome, run_snippet  # isort: skip
from control_flow_snippets import CONTROL_FLOW_SNIPPETS  # isort: skip

import flowc


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    recorded: dict[str, Any] = {}
    failures: list[str] = []
    for snippet in CONTROL_FLOW_SNIPPETS:
        found: Outcome = outcome(tf, snippet)
        entry: dict[str, Any] = {"error": found.error, "values": found.values}
        if snippet.alike:
            entry["nodes"] = nodes_of(found.graph.as_graph_def())
        if found.error is None:
            with flowc.Graph().as_default() as graph:
                try:
                    program = run_snippet(flowc, snippet)
                    entry["exported"] = check_export(program, graph, found.values, snippet.name)
                except (Exception, SystemExit) as error:
                    failures.append(f"{snippet.name}: {type(error).__name__}: {error}")
        recorded[snippet.name] = entry
    (TESTS / "recorded" / "control_flow.json").write_text(json.dumps(recorded, indent=1) + "\n")
    if failures:
        raise SystemExit("\n".join(failures))


if __name__ == "__main__":
    main()
