"""The public API against what TensorFlow did with the same programs (`api_snippets.py`).

Recorded by `tests/oracle/make_api_data.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import digest, nodes_of, outcome
from snippets.api_snippets import SNIPPETS, Snippet

import flowc
from flowc import errors

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "recorded" / "api.json").read_text()
)
# TensorFlow's class -> what an `except` of a TensorFlow program names.
CATCHABLE = ("TypeError", "ValueError", "RuntimeError", "InvalidArgumentError", "NotFoundError")


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda s: s.name)
def test_row(snippet: Snippet) -> None:
    recorded = RECORDED[snippet.name]
    found = outcome(flowc, snippet)
    if recorded["error"] is not None:
        names, message = recorded["error"]
        assert found.error is not None, f"TensorFlow raises {names[0]}: {message}"
        wanted = next(n for n in names if n in CATCHABLE)
        kind = getattr(errors, wanted, None) or getattr(builtins, wanted)
        assert kind.__name__ in found.error[0], f"{found.error}, TensorFlow: {names[0]}: {message}"
        return
    assert found.error is None, found.error
    assert len(found.values) == len(recorded["values"])
    for ours, theirs in zip(found.values, recorded["values"]):
        if theirs is None:
            assert ours is None
            continue
        assert ours[0] == theirs[0]
        if ours[0] == "object":
            assert ours == theirs
        else:
            assert np.shape(ours[1]) == np.shape(theirs[1])
            np.testing.assert_allclose(ours[1], theirs[1], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("snippet", [s for s in SNIPPETS if s.alike], ids=lambda s: s.name)
def test_graph_def_has_tensorflows_nodes(snippet: Snippet) -> None:
    recorded = RECORDED[snippet.name]
    found = outcome(flowc, snippet)
    ours = json.loads(json.dumps(nodes_of(found.graph.as_graph_def())))
    for mine, theirs in zip(ours, recorded["nodes"]):
        assert mine == theirs
    assert len(ours) == len(recorded["nodes"])


@pytest.mark.parametrize(
    "snippet",
    [s for s in SNIPPETS if RECORDED[s.name]["error"] is None],
    ids=lambda s: s.name,
)
def test_exported_graph_is_the_one_that_tensorflow_ran(snippet: Snippet) -> None:
    found = outcome(flowc, snippet)
    assert digest(found.graph.as_graph_def()) == RECORDED[snippet.name].get("exported")
