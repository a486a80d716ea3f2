"""Variables in sessions: against TensorFlow's recorded runs, and what flowc promises besides."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import state_recordings
from ir_reference import reference_results
from table_graphs import AT, TABLE, table_graph

import flowc
from flowc import errors
from flowc.extract.program import extract_program
from flowc.proto.graph_pb2 import GraphDef
from flowc.run.variables import Access, HeldVariables, type_of

# What is compiled; the others are the same ops with other arithmetic.
COMPILED = (
    "reference_variable",
    "variable_of_unknown_shape",
    "handle_variable",
    "feeding_a_read",
    "read_then_update",
    "branches",
    "branches_read_by_two_conditionals",
    "old_reads_in_branches_and_loops",
    "loop",
    "functions",
    "update_then_read",
    "counter",
    "temporary",
    "scatters_nd",
    "boxes",
    "ApplyMomentum_use_nesterov",
    "ResourceApplyAdam",
    "ResourceSparseApplyAdagrad",
)


def assert_near(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], what: str) -> None:
    assert len(found) == len(expected), what
    for ours, theirs in zip(found, expected):
        assert np.asarray(ours).dtype == theirs.dtype, what
        assert np.asarray(ours).shape == theirs.shape, what
        np.testing.assert_allclose(ours, theirs, 2e-5, 1e-6, err_msg=what)


class ReferenceSession:
    """Runs what extraction gives by the references of its ops, which needs no compiler."""

    def __init__(self, graph: flowc.Graph) -> None:
        self.graph = graph
        self.held: dict[str, np.ndarray] = {}

    def run(self, names: Sequence[str], feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        elements = [self.graph.as_graph_element(n) for n in names]
        fetches = [e for e in elements if isinstance(e, flowc.Tensor)]
        targets = [e for e in elements if not isinstance(e, flowc.Tensor)]
        fed = {self.graph.get_tensor_by_name(n): a for n, a in feeds.items()}
        fed = {t: a.astype(t.dtype.numpy) for t, a in fed.items()}
        types = {t: type_of(a) for t, a in fed.items()}
        held = {n: type_of(a) for n, a in self.held.items()}
        program = extract_program(self.graph, fetches, types, targets, held)
        reads, writes = program.spec.reads, program.spec.writes
        first = {v.name: v.first for v in reads if v.first is not None}
        arrays = [*fed.values(), *({**first, **self.held}[v.name] for v in reads)]
        results = reference_results(program.computation, arrays)
        self.held.update(zip((v.name for v in writes), results[len(fetches) :]))
        return results[: len(fetches)]


@pytest.mark.parametrize("name", [n for n in state_recordings.names() if n != "counter"])
def test_programs_mean_what_tensorflow_does(name: str) -> None:
    session = ReferenceSession(state_recordings.graph_of(name))
    check(session, name)


@pytest.mark.parametrize("name", COMPILED)
def test_sessions_do_what_tensorflow_does(name: str) -> None:
    with flowc.Session(graph=state_recordings.graph_of(name)) as session:
        check(session, name)


def check(session: ReferenceSession | flowc.Session, name: str) -> None:
    for number, step in enumerate(state_recordings.steps_of(name)):
        names = [*step.fetches, *step.targets]
        if step.error is not None:
            with pytest.raises(getattr(errors, step.error)):
                session.run(names, step.feeds)
            continue
        found = session.run(names, step.feeds)
        assert_near(found[: len(step.fetches)], step.outputs, f"{name} step {number}")


# -- beyond the recordings


def counting_graph() -> flowc.Graph:
    """`v` of two elements, `fill` (assigns `x`), `up` (adds 1), `double` (of what is read)."""
    text = """
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "shape" value { shape { dim { size: 2 } } } } }
      node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "shape" value { shape { dim { size: 2 } } } } }
      node { name: "fill" op: "Assign" input: "v" input: "x"
             attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT
               tensor_shape { dim { size: 2 } } float_val: 1 } } } }
      node { name: "up" op: "AssignAdd" input: "v" input: "one"
             attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "read" op: "Identity" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "double" op: "Add" input: "read" input: "read"
             attr { key: "T" value { type: DT_FLOAT } } }
    """
    from google.protobuf import text_format

    graph = flowc.Graph()
    with graph.as_default():
        flowc.import_graph_def(text_format.Parse(text, GraphDef()), name="")
    return graph


ONES = np.ones(2, np.float32)


def test_arrays_of_callers_are_not_those_of_variables() -> None:
    with flowc.Session(graph=counting_graph()) as session:
        given = np.array([1, 2], np.float32)
        session.run("fill", {"x:0": given})
        given[:] = 9
        first = session.run("v:0")
        np.testing.assert_array_equal(first, [1, 2])
        first[:] = 7
        np.testing.assert_array_equal(session.run("read:0"), [1, 2])
        kept = session.run("up:0")
        session.run("up")
        session.run("up")
        np.testing.assert_array_equal(kept, [2, 3])


def test_each_session_has_its_own_variables() -> None:
    graph = counting_graph()
    with flowc.Session(graph=graph) as one, flowc.Session(graph=graph) as other:
        one.run("fill", {"x:0": ONES})
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized value v"):
            other.run("double:0")
        other.run("fill", {"x:0": ONES * 5})
        one.run("up")
        np.testing.assert_array_equal(one.run("double:0"), [4, 4])
        np.testing.assert_array_equal(other.run("double:0"), [10, 10])


def test_a_value_of_a_checkpoint_is_a_constant_until_it_is_assigned() -> None:
    graph = counting_graph()
    stored = np.array([3, 4], np.float32)
    graph.variable_values = {"v": stored}
    with flowc.Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run("double:0"), [6, 8])
        assert session._variables.types() == (0, {})
        np.testing.assert_array_equal(session.run("up:0"), [4, 5])
        np.testing.assert_array_equal(session.run("double:0"), [8, 10])
        for _ in range(3):
            session.run("up")
        np.testing.assert_array_equal(session.run("double:0"), [14, 16])
    np.testing.assert_array_equal(stored, [3, 4])
    with flowc.Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run("double:0"), [6, 8])


def test_a_run_that_fails_changes_nothing() -> None:
    text = state_recordings.graph_of("scatters")
    with flowc.Session(graph=text) as session:
        steps = state_recordings.steps_of("scatters")
        for step in steps[:2]:
            session.run([*step.fetches, *step.targets], step.feeds)
        add = next(s for s in steps if s.error is not None)
        before = session.run("v:0")
        with pytest.raises(errors.InvalidArgumentError, match=r"= 5 is not in \[0, 5\)"):
            session.run(list(add.fetches), add.feeds)
        np.testing.assert_array_equal(session.run("v:0"), before)


def test_steady_steps_allocate_nothing_for_variables() -> None:
    with flowc.Session(graph=counting_graph()) as session:
        session.run("fill", {"x:0": ONES})
        places = set()
        for _ in range(8):
            session.run("up")
            places.add(session._variables._held["v"].value.ctypes.data)
        assert len(places) == 2
        np.testing.assert_array_equal(session.run("v:0"), [9, 9])


def test_rows_are_changed_where_they_are() -> None:
    graph = table_graph()
    with flowc.Session(graph=graph) as session:
        expected = TABLE.copy()
        places = set()
        for _ in range(4):
            rows, _ = session.run(["read:0", "step"], {"at:0": AT})
            np.testing.assert_array_equal(rows, expected[AT])
            expected[AT] += 1
            places.add(session._variables._held["v"].value.ctypes.data)
        assert len(places) == 1
        np.testing.assert_array_equal(session.run("v:0"), expected)
        (program,) = [p for p in session._dispatcher.programs.all() if p.spec.writes]
        assert [v.name for v in program.spec.variables if program.spec.in_place(v)] == ["v"]
    np.testing.assert_array_equal(graph.variable_values["v"], TABLE)


def test_a_value_that_is_still_wanted_is_not_overwritten() -> None:
    with flowc.Session(graph=table_graph()) as session:
        expected = TABLE.copy()
        for _ in range(3):
            old, new = session.run(["old:0", "after:0"], {"at:0": AT})
            np.testing.assert_array_equal(old, expected)
            expected[AT] += 1
            np.testing.assert_array_equal(new, expected)


def test_nobody_sees_half_of_a_change_in_place() -> None:
    with flowc.Session(graph=table_graph()) as session:
        session.run("step", {"at:0": AT})
        seen: list[np.ndarray] = []

        def work() -> None:
            for _ in range(200):
                session.run("step", {"at:0": AT})
                seen.append(session.run("v:0") - TABLE)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(len(np.unique(found[AT])) == 1 for found in seen)
        np.testing.assert_array_equal(session.run("v:0")[AT], TABLE[AT] + 801)


def test_threads_lose_no_update() -> None:
    with flowc.Session(graph=counting_graph()) as session:
        session.run("fill", {"x:0": ONES * 0})
        session.run("up")
        seen: list[np.ndarray] = []

        def work() -> None:
            for _ in range(200):
                session.run("up")
                seen.append(session.run("double:0"))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(session.run("v:0"), [801, 801])
        assert all(found[0] == found[1] for found in seen)  # no half of a write is ever seen


def test_buffers_that_a_run_reads_are_not_written() -> None:
    held = HeldVariables(lambda: {"v": np.zeros(4)})
    held.adopt(["v"])
    version = held.version

    def write(number: float) -> None:
        def run(
            values: Sequence[np.ndarray], buffers: Sequence[np.ndarray | None], _: object
        ) -> list:
            buffer = buffers[0] if buffers[0] is not None else np.empty(4)
            buffer[:] = number
            return [buffer]

        assert held.run(version, Access((), ("v",)), run) == []

    def read(values: Sequence[np.ndarray], *_: object) -> list:
        before = values[0].copy()
        for number in range(5):
            write(number + 10)
        np.testing.assert_array_equal(values[0], before)
        return [values[0].copy()]

    write(1)
    write(2)
    found = held.run(version, Access(("v",)), read)
    assert found is not None
    np.testing.assert_array_equal(found[0], [2, 2, 2, 2])


def test_a_closed_session_has_no_variables() -> None:
    session = flowc.Session(graph=counting_graph())
    session.run("fill", {"x:0": ONES})
    session.close()
    assert session._variables.types()[1] == {}
    with pytest.raises(RuntimeError, match="closed"):
        session.run("v:0")
