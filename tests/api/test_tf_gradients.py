"""Programs that ask for gradients (`gradient_snippets.py`), against what TensorFlow did with them.

Recorded by `tests/oracle/record_gradients.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import outcome
from api_snippets import Snippet
from gradient_snippets import GRADIENT_SNIPPETS

import flowc

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "recorded" / "gradients.json").read_text()
)
PROGRAMS: dict[str, Any] = RECORDED["programs"]


@pytest.mark.parametrize("snippet", GRADIENT_SNIPPETS, ids=lambda s: s.name)
def test_gradients_are_those_of_tensorflow(snippet: Snippet) -> None:
    recorded = PROGRAMS[snippet.name]
    found = outcome(flowc, snippet)
    if recorded["error"] is not None:
        assert found.error is not None
        assert recorded["error"][0][0] in found.error[0]
        return
    assert found.error is None, found.error
    for ours, theirs in zip(found.values, recorded["values"], strict=True):
        assert ours[0] == theirs[0]
        assert np.shape(ours[1]) == np.shape(theirs[1])
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5, atol=1e-6)
    if snippet.alike:
        nodes = [[n.name, n.op, list(n.input)] for n in found.graph.as_graph_def().node]
        assert nodes == recorded["nodes"]
