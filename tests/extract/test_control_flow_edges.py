"""Graphs at the edges of control flow, in sessions, against what TensorFlow made of them.

Recorded by `tests/oracle/record_control_flow_edges.py`: the runs of each graph one after another,
with their results or the message that they end in.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc
from flowc.errors import InvalidArgumentError, OpError

with np.load(Path(__file__).parents[1] / "data" / "control_flow_edges" / "graphs.npz") as file:
    ARRAYS = dict(file)
INDEX: dict[str, list[dict[str, Any]]] = json.loads(ARRAYS.pop("index").tobytes())
# Numbers that only a run finds are not in flowc's messages.
LATE = re.compile(r"(?<=Invalid start/limit/delta: ).*")


def run(session: flowc.Session, where: str, entry: dict[str, Any]) -> None:
    feeds = feeds_of(where, entry)
    if "error" in entry:
        name, message = entry["error"]
        with pytest.raises(OpError) as caught:
            session.run(entry["fetches"], feeds)
        assert type(caught.value).__name__ == name, where
        assert LATE.sub("", message) in str(caught.value), where
        return
    found = session.run(entry["fetches"], feeds)
    for i, value in enumerate(found):
        expected = ARRAYS.get(f"{where}/y{i}")
        if expected is None:
            assert value is None, where
            continue
        assert np.asarray(value).dtype == expected.dtype, where
        np.testing.assert_allclose(value, expected, 1e-6, 1e-6, err_msg=where)
        assert np.shape(value) == expected.shape, where


# What flowc takes and TensorFlow does not: two loops in frames of one name, in different loops.
TAKEN = {"same_name_in_two_parents": [[0.0, 100.0], [2.0, 102.0], [6.0, 106.0]]}
# What TensorFlow takes and flowc does not: tensors whose rank is only known when they are there.
REFUSED = {
    "loop_rank_changes": "enters the loop as f32[1], but is f32[1,1] after one iteration",
    "while_rank_changes": "enters the loop as f32[1], but is f32[1,1] after one iteration",
}


def session_of(name: str, folder: Path) -> flowc.Session:
    path = folder / "graph.pb"
    path.write_bytes(ARRAYS[f"{name}/graph"].tobytes())
    return flowc.Session(graph=flowc.load_graph(path))


def feeds_of(where: str, entry: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: ARRAYS[f"{where}/x{i}"] for i, name in enumerate(entry["feeds"])}


@pytest.mark.parametrize("name", sorted(set(INDEX) - set(TAKEN) - set(REFUSED)))
def test_runs_as_in_tensorflow(name: str, tmp_path: Path) -> None:
    with session_of(name, tmp_path) as session:
        for number, entry in enumerate(INDEX[name]):
            run(session, f"{name}/{number}", entry)


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_taken_where_tensorflow_fails(name: str, tmp_path: Path) -> None:
    with session_of(name, tmp_path) as session:
        for number, (entry, expected) in enumerate(zip(INDEX[name], TAKEN[name], strict=True)):
            assert "error" in entry
            found = session.run(entry["fetches"], feeds_of(f"{name}/{number}", entry))
            assert found == expected


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_ranks_are_fixed(name: str, tmp_path: Path) -> None:
    with session_of(name, tmp_path) as session:
        for number, entry in enumerate(INDEX[name]):
            with pytest.raises(InvalidArgumentError) as caught:
                session.run(entry["fetches"], feeds_of(f"{name}/{number}", entry))
            assert REFUSED[name] in str(caught.value)


@pytest.mark.parametrize("given", [True, np.True_, np.array(True), [1.0]])
def test_a_predicate_is_fed_by_any_bool(given: object, tmp_path: Path) -> None:
    with session_of("fed_predicate", tmp_path) as session:
        feeds = {"Greater:0": given} if not isinstance(given, list) else {}
        assert session.run("Merge:0", {"x:0": [3.0], **feeds}) == [4.0]
