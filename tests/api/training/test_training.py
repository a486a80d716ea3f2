"""Optimizers, schedules, clipping and averages against what TensorFlow did with the same programs
(`training_snippets.py`).

Recorded by `tests/oracle/record_training.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import nodes_of, outcome
from snippets.api_snippets import Snippet
from snippets.training_snippets import TRAINING

import flowc
from flowc import errors

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "recorded" / "training.json").read_text()
)


@pytest.mark.parametrize("snippet", TRAINING, ids=lambda s: s.name)
def test_as_tensorflow(snippet: Snippet) -> None:
    recorded = RECORDED["programs"][snippet.name]
    found = outcome(flowc, snippet)
    if recorded["error"] is not None:
        (name, *_), message = recorded["error"]
        assert found.error is not None, f"TensorFlow raises {name}: {message}"
        assert getattr(builtins, name, None) or getattr(errors, name)
        assert name in found.error[0], f"{found.error}, TensorFlow: {name}: {message}"
        return
    assert found.error is None, found.error
    for ours, theirs in zip(found.values, recorded["values"], strict=True):
        assert ours[0] == theirs[0]
        np.testing.assert_allclose(ours[1], theirs[1], rtol=2e-6, atol=1e-6)
    if snippet.alike:
        mine = [json.loads(json.dumps(n)) for n in nodes_of(found.graph.as_graph_def())]
        theirs = [RECORDED["nodes"][place] for place in recorded["nodes"]]
        for one, other in zip(mine, theirs):
            assert one == other
        assert len(mine) == len(theirs)
