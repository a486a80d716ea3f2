"""TensorFlow runs the graphs of gradients that flowc exports, and gives what its own give.

Needs TensorFlow beside flowc (`make oracle`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import flat_fetches, run_snippet, steps_before
from api_snippets import Snippet
from gradient_snippets import GRADIENT_SNIPPETS

import flowc

pytestmark = pytest.mark.oracle

PROGRAMS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "recorded" / "gradients.json").read_text()
)["programs"]
BUILT = [s for s in GRADIENT_SNIPPETS if PROGRAMS[s.name]["error"] is None]


@pytest.mark.parametrize("snippet", BUILT, ids=lambda s: s.name)
def test_tensorflow_runs_what_flowc_exports(snippet: Snippet) -> None:
    tf = pytest.importorskip("tensorflow.compat.v1")
    with flowc.Graph().as_default() as graph:
        program = run_snippet(flowc, snippet)
    message = tf.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default() as imported, tf.Session() as session:
        tf.import_graph_def(message, name="")

        def same(element: Any) -> Any:
            return imported.as_graph_element(graph.as_graph_element(element).name)

        for fetch, feed in steps_before(program):
            session.run([same(f) for f in flat_fetches(fetch)], feed)
        feeds = {same(k): v for k, v in program.get("feed", {}).items()}
        values = session.run([same(f) for f in flat_fetches(program["out"])], feeds)
    for found, (dtype, elements) in zip(values, PROGRAMS[snippet.name]["values"], strict=True):
        assert np.asarray(found).dtype == dtype
        if np.iscomplexobj(found):
            found = [np.real(found), np.imag(found)]
        np.testing.assert_allclose(found, elements, rtol=1e-5, atol=1e-6)
