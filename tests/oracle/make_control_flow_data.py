"""Records what TensorFlow does with the programs of `snippets/control_flow_snippets.py`.

In: TensorFlow and flowc in one process. Out: `tests/recorded/control_flow.json`, as `api.json`;
the digests of `exported` are also those of TensorFlow's own GraphDefs where a program is marked so.
"""

from __future__ import annotations

import json
import os
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow.compat.v1 as tf
from make_api_data import TESTS, check_export

from api_program import Outcome, nodes_of, outcome, run_snippet  # isort: skip
from snippets.control_flow_snippets import CONTROL_FLOW_SNIPPETS  # isort: skip

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
        if found.error is None:
            with flowc.Graph().as_default() as graph:
                try:
                    program = run_snippet(flowc, snippet)
                    entry["exported"] = check_export(program, graph, found.values, snippet.name)
                    if snippet.alike:
                        check_same_nodes(graph.as_graph_def(), found.graph.as_graph_def())
                except (Exception, SystemExit) as error:
                    failures.append(f"{snippet.name}: {type(error).__name__}: {error}")
        elif snippet.alike:
            failures.append(f"{snippet.name}: TensorFlow refuses it: {found.error}")
        recorded[snippet.name] = entry
    (TESTS / "recorded" / "control_flow.json").write_text(json.dumps(recorded, indent=1) + "\n")
    if failures:
        raise SystemExit("\n".join(failures))


def check_same_nodes(ours: Any, theirs: Any) -> None:
    """Exits where flowc's GraphDef has other nodes than TensorFlow's."""
    mine, wanted = nodes_of(ours), nodes_of(theirs)
    for a, b in zip(mine, wanted):
        if a != b:
            raise SystemExit(f"nodes differ\n  flowc      {a}\n  TensorFlow {b}")
    if len(mine) != len(wanted):
        raise SystemExit(f"{len(mine)} nodes, TensorFlow has {len(wanted)}")


if __name__ == "__main__":
    main()
