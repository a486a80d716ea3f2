"""Variables, layers, losses and metrics against what TensorFlow did with the same programs.

Recorded by `tests/oracle/record_layers.py`; no TensorFlow is needed here. A graph with the very
nodes of TensorFlow's is not run again: what its ops compute, the tests of ops say.
"""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import nodes_only, outcome
from layer_program import lines_of
from snippets.api_snippets import Snippet
from snippets.layer_snippets import LAYER_SNIPPETS

import flowc
from flowc import errors

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "recorded" / "layers.json").read_text()
)


@pytest.mark.parametrize("snippet", LAYER_SNIPPETS, ids=lambda s: s.name)
def test_program(snippet: Snippet) -> None:
    recorded = RECORDED[snippet.name]
    found = (nodes_only if snippet.alike else outcome)(flowc, snippet)
    if not snippet.alike and "error" in recorded:
        _check_error(found.error, *recorded["error"])
        return
    assert found.error is None, found.error
    assert json.loads(json.dumps(found.said)) == recorded.get("said")
    if snippet.alike:
        ours = lines_of(found.graph.as_graph_def())
        for mine, theirs in zip(ours, recorded["nodes"]):
            assert mine == theirs
        assert len(ours) == len(recorded["nodes"])
        return
    values = recorded.get("values", [])
    assert len(found.values) == len(values)
    for ours, theirs in zip(found.values, values):
        _check_value(ours, theirs)


def _check_error(found: Any, names: list[str], message: str) -> None:
    assert found is not None, f"TensorFlow raises {names[0]}: {message}"
    wanted = next(n for n in names if hasattr(errors, n) or hasattr(builtins, n))
    assert wanted in found[0], f"{found}, TensorFlow: {names[0]}: {message}"


def _check_value(ours: Any, theirs: Any) -> None:
    if theirs is None:
        assert ours is None
    elif theirs[0] == "object":
        assert json.loads(json.dumps(ours, default=bytes.decode)) == theirs
    else:
        assert ours[0] == theirs[0]
        assert np.shape(ours[1]) == np.shape(theirs[1])
        np.testing.assert_allclose(ours[1], theirs[1], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("unique", [True, False])
def test_candidate_samplers_draw_as_often_as_they_say(unique: bool) -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        right = flowc.constant([[0], [9]], flowc.int64)
        samplers = flowc.nn.log_uniform_candidate_sampler, flowc.nn.uniform_candidate_sampler
        for sampler in samplers:
            found = sampler(right, 1, 4, unique, 1000, seed=3)
            counts, said, right_said = np.zeros(1000), np.zeros(1000), np.zeros(2)
            for _ in range(600):
                drawn, of_right, of_drawn = session.run(found)
                assert drawn.dtype == np.int64 and (drawn >= 0).all() and (drawn < 1000).all()
                assert not unique or len(set(drawn)) == 4
                np.add.at(counts, drawn, 1 / 600)
                np.add.at(said, drawn, of_drawn / 600)
                right_said += of_right[:, 0] / 600
            np.testing.assert_allclose(right_said, counts[[0, 9]], atol=0.12)
            np.testing.assert_allclose(said, counts**2, atol=0.12)
            assert abs(counts.sum() - 4) < 1e-6
    with flowc.Graph().as_default(), flowc.Session() as session:
        found = flowc.nn.uniform_candidate_sampler([[0]], 1, 4, True, 3)
        with pytest.raises(flowc.errors.InvalidArgumentError, match="range is too small"):
            session.run(found)
