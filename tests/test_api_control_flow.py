"""Loops, conditionals and TensorArrays as programs build them (`control_flow_snippets.py`), against
what TensorFlow did with the same programs.

Recorded by `tests/oracle/make_control_flow_data.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from api_program import digest, run_snippet
from api_snippets import Snippet
from control_flow_snippets import CONTROL_FLOW_SNIPPETS

import flowc

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "recorded" / "control_flow.json").read_text()
)
# What TensorFlow finds at run time alone: flowc's graphs are the same then.
BUILD_ERRORS = {
    s.name: RECORDED[s.name]["error"]
    for s in CONTROL_FLOW_SNIPPETS
    if RECORDED[s.name]["error"] is not None
    and RECORDED[s.name]["error"][0][0] not in ("InvalidArgumentError", "FailedPreconditionError")
}
BUILT = [s for s in CONTROL_FLOW_SNIPPETS if RECORDED[s.name]["error"] is None]


def graph_of(snippet: Snippet) -> flowc.Graph:
    with flowc.Graph().as_default() as graph:
        run_snippet(flowc, snippet)
    return graph


@pytest.mark.parametrize("snippet", BUILT, ids=lambda s: s.name)
def test_exported_graph_is_the_one_that_tensorflow_ran(snippet: Snippet) -> None:
    assert digest(graph_of(snippet).as_graph_def()) == RECORDED[snippet.name].get("exported")


@pytest.mark.parametrize(
    "snippet", [s for s in CONTROL_FLOW_SNIPPETS if s.name in BUILD_ERRORS], ids=lambda s: s.name
)
def test_refused_while_built(snippet: Snippet) -> None:
    (name, *_), message = BUILD_ERRORS[snippet.name]
    with pytest.raises(getattr(builtins, name)) as caught:
        graph_of(snippet)
    if snippet.name not in OWN_WORDS:
        assert shared_words(str(caught.value), message), (str(caught.value), message)


# Refused as TensorFlow does, and explained better.
OWN_WORDS = ("33_scatter_another_shape", "33_scatter_another_dtype")


def shared_words(ours: str, theirs: str) -> bool:
    """Whether half of the words of TensorFlow's first line are in ours."""
    wanted = set(theirs.splitlines()[0].split())
    return 2 * len(wanted & set(ours.split())) >= len(wanted)
