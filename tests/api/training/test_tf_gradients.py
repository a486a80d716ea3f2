"""Programs that ask for gradients (`gradient_snippets.py`), against what TensorFlow did with them.

Recorded by `tests/oracle/record_gradients.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import digest, outcome, run_snippet
from ir_reference import reference_results
from snippets.api_snippets import Snippet
from snippets.gradient_snippets import GRADIENT_SNIPPETS
from tensor_types import tensor_type

import flowc
from flowc.api.training.registration import GRADIENTS
from flowc.extract.program import extract_program
from flowc.ops import tf_names

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "recorded" / "gradients.json").read_text()
)
PROGRAMS: dict[str, Any] = RECORDED["programs"]
REFUSED = [s for s in GRADIENT_SNIPPETS if PROGRAMS[s.name]["error"] is not None]
BUILT = [s for s in GRADIENT_SNIPPETS if PROGRAMS[s.name]["error"] is None]
# The programs that every test run compiles and runs; `make oracle` does so with all of them.
RUN_ALWAYS = """
batch_norm_twice block_lstm_peepholes list_items list_popped
map_fn_in_a_branch_of_a_loop maxima_of_windows_three_times
broadcast_unknown case colocated_on_devices cond cond_gathered cond_nested cond_of_a_handle
cond_unknown_sizes cond_with_while custom_gradient custom_gradient_of_several
custom_gradient_with_variables diagonals fourier gated gathered gathered_and_dense
gathered_of_a_handle gradient_inside_a_branch gradient_inside_a_loop
gradient_inside_a_loop_by_what_is_outside integers layers_of_any_batch named not_differentiable
registered second_order segments stop_gradients tensor_array_split unconnected
unconnected_zeros variables_of_both_kinds while while_maximum_iterations while_no_back_prop
while_one_at_a_time while_unused_variable while_variable_without_a_path
"""
RUN = [
    pytest.param(s, id=s.name, marks=() if s.name in RUN_ALWAYS.split() else pytest.mark.oracle)
    for s in BUILT
]
# What TensorFlow registers a gradient of that ends in an AssertionError when it is asked for: it
# takes the handle of a version that only old GraphDefs have for one of the newest; or in a
# TypeError: its function takes the gradient of one output, and there are more.
RAISES = """
QuantizeAndDequantizeV4Grad
TensorArrayConcat TensorArrayConcatV2 TensorArrayGather TensorArrayGatherV2 TensorArrayRead
TensorArrayReadV2 TensorArrayScatter TensorArrayScatterV2 TensorArraySplit TensorArraySplitV2
TensorArrayWrite TensorArrayWriteV2
"""
# What TensorFlow has a gradient of, and flowc not yet.
MISSING = """
EagerPyFunc
"""


@pytest.mark.parametrize("snippet", BUILT, ids=lambda s: s.name)
def test_exported_graph_is_the_one_that_tensorflow_ran(snippet: Snippet) -> None:
    with flowc.Graph().as_default() as graph:
        run_snippet(flowc, snippet)
    if "_gradient_op_type" not in str(graph.as_graph_def()):  # names of this process
        assert digest(graph.as_graph_def()) == PROGRAMS[snippet.name]["exported"]


@pytest.mark.parametrize("snippet", REFUSED, ids=lambda s: s.name)
def test_refused_as_in_tensorflow(snippet: Snippet) -> None:
    names, message = PROGRAMS[snippet.name]["error"]
    found = outcome(flowc, snippet)
    assert found.error is not None
    assert names[0] in found.error[0]
    ours, theirs = (set(text.split()) for text in (found.error[1], message))
    assert len(ours & theirs) >= len(ours) / 2, (found.error[1], message)


@pytest.mark.parametrize("snippet", RUN)
def test_gradients_are_those_of_tensorflow(snippet: Snippet) -> None:
    found = outcome(flowc, snippet)
    assert found.error is None, found.error
    for ours, theirs in zip(found.values, PROGRAMS[snippet.name]["values"], strict=True):
        assert ours[0] == theirs[0]
        assert np.shape(ours[1]) == np.shape(theirs[1])
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5, atol=1e-6)


def test_the_ops_that_have_gradients_are_those_of_tensorflow() -> None:
    assert {*RAISES.split(), *MISSING.split()} == {
        name
        for name in RECORDED["differentiable"]
        if name in tf_names() and not GRADIENTS.knows(name)
    }
    unknown = [n for n in RECORDED["not differentiable"] if n in tf_names()]
    assert [n for n in unknown if not GRADIENTS.knows(n)] == []


@pytest.mark.parametrize("name", ["SparseSparseMaximum", "SparseSparseMinimum"])
def test_gradients_that_say_that_they_are_not_implemented(name: str) -> None:
    sparse = {"a_indices": [[0]], "a_shape": [2], "b_indices": [[1]], "b_shape": [2]}
    sparse = {key: np.array(value, np.int64) for key, value in sparse.items()}
    with flowc.Graph().as_default():
        x = flowc.constant([1.0])
        largest = getattr(flowc.raw_ops, name)(**sparse, a_values=x, b_values=[2.0])[1]
        with pytest.raises(NotImplementedError, match=f"Gradient for {name} is not implemented"):
            flowc.gradients(largest, x)


def test_branches_that_are_known_to_be_taken_make_their_arrays_once() -> None:
    """What TensorFlow computes: each gradient of the branch found arrays of its own there."""

    def body(i: Any, x: Any) -> tuple[Any, Any]:
        no = flowc.size(x) < 3
        squares = lambda: flowc.map_fn(flowc.tanh, flowc.map_fn(lambda v: v * v * 1.5, x))
        return i + 1, flowc.cond(no, lambda: x * 2.0, squares)

    with flowc.Graph().as_default() as graph:
        x = flowc.placeholder(flowc.float64, [3])
        y = flowc.while_loop(lambda i, _: i < 2, body, [0, x])[1]
        loss = flowc.reduce_sum(y * y)
        wanted = [loss, flowc.gradients(loss, x)[0]]
        c = extract_program(graph, wanted, {x: tensor_type("f64", (3,))}).computation
    found = reference_results(c, [np.array([0.3, 0.5, 0.9])])
    np.testing.assert_allclose(found[0], 0.6504636642029632, rtol=1e-12)
    np.testing.assert_allclose(found[1], [0.01919956, 0.51552305, 1.22270522], rtol=1e-6)
