"""Graphs with TensorArrays, TensorLists and stacks against what TensorFlow made of them.

Recorded by `tests/oracle/record_list_graphs.py`: results, or the message that a run ends in.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ir_reference import reference_results
from list_recordings import ListGraphs, alike, extracted, fetches_of

import flowc
from flowc.errors import FlowcError, InvalidArgumentError, OpError

GRAPHS = ListGraphs("graphs.npz", 1e-5)


def referenced(name: str, folder: Path) -> list[np.ndarray]:
    """What the extracted graph computes, by the references of its ops."""
    return reference_results(extracted(GRAPHS.graph(name, folder)), [GRAPHS.x])


def ran(name: str, folder: Path) -> list[np.ndarray]:
    graph = GRAPHS.graph(name, folder)
    with flowc.Session(graph=graph) as session:
        return session.run(fetches_of(graph), {"x:0": GRAPHS.x})


@pytest.mark.parametrize("name", GRAPHS.good)
def test_extracted_graphs_mean_what_tensorflow_computes(name: str, tmp_path: Path) -> None:
    GRAPHS.assert_equal(referenced(name, tmp_path), name)


@pytest.mark.parametrize(
    "name",
    ["recurrent_v1", "growing_v2", "concatenated_v2", "gathered_v1", "array_of_arrays_v2",
     "nested_gradient_v1", "conditional_writes_v1", "mapped_v2"],
)  # fmt: skip
def test_programs_run(name: str, tmp_path: Path) -> None:
    GRAPHS.assert_equal(ran(f"program/{name}", tmp_path), f"program/{name}")


@pytest.mark.parametrize("name", sorted(GRAPHS.errors))
def test_what_fails_says_why_as_tensorflow_does(name: str, tmp_path: Path) -> None:
    with pytest.raises(FlowcError) as caught:
        referenced(name, tmp_path)
    assert isinstance(caught.value, OpError)
    assert alike(GRAPHS.errors[name]) in alike(str(caught.value))


@pytest.mark.parametrize(
    "name",
    ["array/write_twice", "array/read_past", "array/read_twice", "list/get_past",
     "array/unwritten_kept", "program/written_twice_v1"],
)  # fmt: skip
def test_runs_fail_with_the_message(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        ran(name, tmp_path)
    assert alike(GRAPHS.errors[name]) in alike(str(caught.value))
