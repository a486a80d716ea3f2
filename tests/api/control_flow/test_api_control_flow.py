"""Loops, conditionals and TensorArrays as programs build them (`control_flow_snippets.py`), against
what TensorFlow did with the same programs.

Recorded by `tests/oracle/make_control_flow_data.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import digest, outcome, run_snippet
from snippets.api_snippets import Snippet
from snippets.control_flow_snippets import CONTROL_FLOW_SNIPPETS

import flowc

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "recorded" / "control_flow.json").read_text()
)
RUN_ERRORS = ("InvalidArgumentError", "FailedPreconditionError")
# Refused by `Session.run`, before anything runs.
REFUSED_IN_SESSIONS = ("72_inside_fetched", "72_inside_fed", "79_inside_fetched")
BUILD_ERRORS = {
    s.name: RECORDED[s.name]["error"]
    for s in CONTROL_FLOW_SNIPPETS
    if RECORDED[s.name]["error"] is not None
    and RECORDED[s.name]["error"][0][0] not in RUN_ERRORS
    and s.name not in REFUSED_IN_SESSIONS
}
# What flowc's graphs say, and its native code does not compute: ranks that change in a loop, a
# write that nothing reads.
NOT_COMPILED = ("74_unknown_rank", "75_tensor_array_written_past_the_end")
# The programs that every test run compiles and runs; `make oracle` does so with all of them.
RUN_ALWAYS = """
16_initialized_value 17_assign 17_uninitialized 33_scatter_out_of_range 3_assert_fails
3_assert_in_a_loop 3_foldr 3_map_fn_structures 3_rnn_lstm 3_scan_reverse 71_assign_in_a_loop
71_body_returns_what_is_outside 71_captures 71_control_dependencies_inside 71_counter 71_never_runs
71_resource_variable_in_a_loop 71_scatter_in_a_loop 71_swapped_variables 73_nested 73_pair
74_concat 75_indexed_slices_that_grow 75_sparse_tensor 75_tensor_array 75_tensor_array_grad
75_tensor_array_element_shape 75_tensor_array_methods 75_tensor_array_of_dynamic_size
75_tensor_array_read_past_the_end 75_tensor_array_split
75_tensor_array_read_twice 75_tensor_array_written_twice 77_maximum_iterations 78_cond_in_loop
78_loop_in_cond 78_three_deep 79_control_dependencies 79_only_the_branch_taken_assigns
79_resource_variable_in_a_branch 79_shapes_differ 79_structures 79_tensor_array 80_case
80_exclusive 80_exclusive_with_two_true 80_no_default_none_true 80_switch_case_out_of_range
"""
RUN = [
    pytest.param(s, id=s.name, marks=() if s.name in RUN_ALWAYS.split() else pytest.mark.oracle)
    for s in CONTROL_FLOW_SNIPPETS
    if s.name not in BUILD_ERRORS and s.name not in NOT_COMPILED + REFUSED_IN_SESSIONS
]
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


@pytest.mark.parametrize("snippet", RUN)
def test_runs_as_in_tensorflow(snippet: Snippet) -> None:
    recorded = RECORDED[snippet.name]
    found = outcome(flowc, snippet)
    if recorded["error"] is not None:
        assert found.error is not None
        assert recorded["error"][0][0] in found.error[0]
        return
    assert found.error is None, found.error
    for ours, theirs in zip(found.values, recorded["values"], strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours[0] == theirs[0]
            assert np.shape(ours[1]) == np.shape(theirs[1])
            np.testing.assert_allclose(ours[1], theirs[1], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", REFUSED_IN_SESSIONS)
def test_refused_in_a_session(name: str) -> None:
    (snippet,) = [s for s in CONTROL_FLOW_SNIPPETS if s.name == name]
    found = outcome(flowc, snippet)
    assert found.error is not None and "ValueError" in found.error[0]
    assert "ValueError" in RECORDED[name]["error"][0]


def test_dtype_that_changes_is_refused_while_built() -> None:
    with flowc.Graph().as_default(), pytest.raises(TypeError, match="dtype int32, but has dtype"):
        flowc.while_loop(lambda i: i < 3, lambda i: flowc.cast(i, flowc.float32), [0])


def test_tensor_array_of_another_dtype_is_refused() -> None:
    with flowc.Graph().as_default(), pytest.raises(TypeError, match=r"cannot hold .*: cast it"):
        flowc.TensorArray(flowc.float32, size=1).write(0, flowc.constant(1))


# Refused as TensorFlow does, and explained better.
OWN_WORDS = ("33_scatter_another_shape", "33_scatter_another_dtype")


def shared_words(ours: str, theirs: str) -> bool:
    """Whether half of the words of TensorFlow's first line are in ours."""
    wanted = set(theirs.splitlines()[0].split())
    return 2 * len(wanted & set(ours.split())) >= len(wanted)


def ranks_differ(read: Callable[[flowc.Tensor, flowc.Tensor], Any]) -> list[Any]:
    """What is made of a tensor that is a vector in one branch and a scalar in the other one, where
    either is taken."""
    with flowc.Graph().as_default() as graph:
        x = flowc.placeholder(flowc.float32, [3], name="x")
        p = flowc.placeholder(flowc.bool, [], name="p")
        found = flowc.cond(p, lambda: x, lambda: flowc.reduce_sum(x))
        fetch = read(found, x)
        with flowc.Session(graph=graph) as session:
            feeds = [{x: [1.0, 2.0, 3.0], p: taken} for taken in (True, False)]
            return [np.asarray(session.run(fetch, feed)).tolist() for feed in feeds]


def test_branches_of_different_ranks_that_come_to_one() -> None:
    """As TensorFlow 2.21 computes them."""
    assert ranks_differ(lambda y, x: flowc.reshape(y, [-1])) == [[1.0, 2.0, 3.0], [6.0]]
    assert ranks_differ(lambda y, x: y + x) == [[2.0, 4.0, 6.0], [7.0, 8.0, 9.0]]
    assert ranks_differ(lambda y, x: flowc.size(flowc.exp(y))) == [3, 1]
    assert ranks_differ(lambda y, x: flowc.rank(flowc.expand_dims(y, 0))) == [2, 1]
    assert ranks_differ(lambda y, x: flowc.shape(y)) == [[3], []]

    def again(y: flowc.Tensor, x: flowc.Tensor) -> flowc.Tensor:
        z = flowc.cond(x[0] > 5.0, lambda: x[1], lambda: y * 2.0)
        return flowc.reshape(z, [-1])

    assert ranks_differ(again) == [[2.0, 4.0, 6.0], [12.0]]


def test_branches_of_different_ranks_are_fetched() -> None:
    assert ranks_differ(lambda y, x: flowc.identity(y)) == [[1.0, 2.0, 3.0], 6.0]


def test_a_loop_that_keeps_elements_may_carry_a_text() -> None:
    """Its start is no number that the checks of the list could count from."""
    x = flowc.placeholder(flowc.int32, [None])
    count = flowc.size(x)

    def body(i: Any, text: Any, kept: Any) -> Any:
        longer = flowc.strings.join([text, flowc.as_string(x[i])])
        return i + 1, longer, kept.write(i, x[i] * 2)

    begin = [0, flowc.constant("b"), flowc.TensorArray(flowc.int32, count)]
    _, text, kept = flowc.while_loop(lambda i, *_: i < count, body, begin)
    with flowc.Session() as session:
        found = session.run([text, kept.stack()], {x: [1, 2, 3]})
    assert found[0] == b"b123"
    np.testing.assert_array_equal(found[1], [2, 4, 6])
