"""Runs the programs of `snippets/api_snippets.py` in TensorFlow and records what they do.

In: TensorFlow and flowc in one process. Out: `tests/recorded/api.json`: values or errors, the nodes
of TensorFlow's graph, and a digest of the GraphDef that flowc exports for the same program, written
only if TensorFlow loads that GraphDef and computes the same values from it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS.parent), str(TESTS.parent / "runtime")]

from api_program import (
    Outcome,
    digest,
    flat_fetches,
    nodes_of,
    outcome,
    plain,
    run_snippet,
    steps_before,
)
from raw_op_graphs import first_cases, graph_of
from snippets.api_snippets import SNIPPETS

import flowc


def check_export(program: dict[str, Any], graph: Any, expected: list[Any], name: str) -> str:
    """TensorFlow runs flowc's GraphDef; the digest of it."""
    exported = graph.as_graph_def().SerializeToString()
    message = tf.GraphDef.FromString(exported)
    with tf.Graph().as_default() as imported, tf.Session() as session:
        tf.import_graph_def(message, name="")

        def same_element(item: Any) -> Any:
            name = item if isinstance(item, str) else graph.as_graph_element(item).name
            return imported.as_graph_element(name)

        def same_feed(feed: dict[Any, Any] | None) -> dict[Any, Any]:
            found: dict[Any, Any] = {}
            for key, value in (feed or {}).items():
                several = hasattr(key, "components")
                pairs = zip(key.components(), value) if several else [(key, value)]
                found |= {same_element(k): v for k, v in pairs}
            return found

        for fetch, feed in steps_before(program):
            session.run([same_element(f) for f in flat_fetches(fetch)], same_feed(feed))
        elements = [same_element(f) for f in flat_fetches(program["out"])]
        values = [plain(v) for v in session.run(elements, same_feed(program.get("feed")))]
    for found, wanted in zip(values, expected, strict=True):
        same = found == wanted or (
            found is not None
            and wanted is not None
            and found[0] == wanted[0]
            and np.allclose(found[1], wanted[1], rtol=1e-5, atol=1e-6, equal_nan=True)
        )
        if not same:
            raise SystemExit(f"{name}: flowc's graph gives {found}, TensorFlow's {wanted}")
    return digest(graph.as_graph_def())


def raw_op_digests(failures: list[str]) -> dict[str, Any]:
    """For each op record, the digest of its graph by `flowc.raw_ops` and the shapes that TensorFlow
    infers for it, where TensorFlow loads that graph."""
    found: dict[str, Any] = {}
    for name, case in sorted(first_cases().items()):
        try:
            graph, _ = graph_of(name, case)
            with tf.Graph().as_default() as imported:
                message = tf.GraphDef.FromString(graph.as_graph_def().SerializeToString())
                tf.import_graph_def(message, name="")
                outputs = imported.get_operation_by_name("it").outputs
                shapes = [None if t.shape.ndims is None else t.shape.as_list() for t in outputs]
                dtypes = [t.dtype.base_dtype.name for t in outputs]
            found[name] = {
                "digest": digest(graph.as_graph_def()),
                "shapes": shapes,
                "dtypes": dtypes,
            }
        except Exception as error:
            failures.append(f"raw op {name}: {type(error).__name__}: {error}")
    return found


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    recorded: dict[str, Any] = {}
    failures: list[str] = []
    for snippet in SNIPPETS:
        found: Outcome = outcome(tf, snippet)
        entry: dict[str, Any] = {"error": found.error, "values": found.values}
        if snippet.alike:
            entry["nodes"] = nodes_of(found.graph.as_graph_def())
        if found.error is None:
            with flowc.Graph().as_default() as graph:
                try:
                    program = run_snippet(flowc, snippet)
                    entry["exported"] = check_export(program, graph, found.values, snippet.name)
                except Exception as error:
                    failures.append(f"{snippet.name}: {type(error).__name__}: {error}")
        recorded[snippet.name] = entry
    recorded["raw_ops"] = raw_op_digests(failures)
    if failures:
        raise SystemExit("\n".join(failures))
    (TESTS / "recorded" / "api.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
