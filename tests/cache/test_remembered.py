"""Models that a Session ran before: found without being read, and only if nothing has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import flowc as tf
from flowc import dtypes
from flowc.cache import program_index
from flowc.cache.disk import DiskCache
from flowc.errors import InvalidModelError
from flowc.files import identity as file_identity
from flowc.graph import Graph
from flowc.graph.lazy_graph import UntouchedGraph
from flowc.importer import load_graph, read_model
from flowc.options import Options
from flowc.proto.graph_pb2 import GraphDef
from flowc.run.session import Session

X = np.array([1.0, -2.0], np.float32)


def write(path: Path, factor: float) -> None:
    """A graph that computes `y = x * factor`, with `x` of unknown size."""
    graph = Graph()
    x = graph.add_operation("Placeholder", [], {"dtype": dtypes.f32, "shape": (None,)}, "x").output(
        0
    )
    value = {"dtype": dtypes.f32, "value": np.float32(factor)}
    c = graph.add_operation("Const", [], value, "c").output(0)
    graph.add_operation("Mul", [x, c], {"T": dtypes.f32}, "y")
    path.write_bytes(graph.as_graph_def().SerializeToString())


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model whose file counts as settled, beside an empty cache."""
    monkeypatch.setattr(file_identity, "SETTLED_SECONDS", -1)
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "model.pb"
    write(path, 3)
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of models that are really read."""
    seen: list[str] = []
    original = read_model.read_model

    def count(found: read_model.Model) -> Graph:
        seen.append(found.path)
        return original(found)

    monkeypatch.setattr(read_model, "read_model", count)
    return seen


# Of flowc and its runtime, that a process imports for a program which the cache has. Each takes
# some tenths of a millisecond, as much as a small network's run.
MOST_MODULES = 97


def run(path: Path, feeds: dict[str, np.ndarray] | None = None, **settings: object) -> np.ndarray:
    session = Session(graph=load_graph(path), **settings)
    return session.run("y:0", {"x:0": X} if feeds is None else feeds)


def test_a_known_request_reads_no_model(model: Path, reads: list[str]) -> None:
    first = run(model)
    assert len(reads) == 1
    graph = load_graph(model)
    session = Session(graph=graph)
    assert session.run(["y:0"], {"x:0": X})[0].tolist() == first.tolist() == [3, -6]
    assert session.run(("y:0",), {"x:0": X})[0].tolist() == [3, -6]
    assert session.run("y:0", {"x:0": X}).tolist() == [3, -6]
    assert len(reads) == 1
    assert type(graph) is UntouchedGraph


def test_later_shapes_of_a_process_are_known_to_the_next(
    model: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two shapes with programs of their own, then those that one program serves: the Session that
    read the model for the first remembers them all, and one program is opened once."""
    shapes = [np.arange(n, dtype=np.float32) for n in (2, 3, 4, 5, 1)]
    session = Session(graph=load_graph(model))
    first = [session.run("y:0", {"x:0": x}).tolist() for x in shapes]
    opened: list[str] = []
    load = DiskCache.load
    monkeypatch.setattr(DiskCache, "load", lambda c, key: opened.append(key) or load(c, key))
    again = Session(graph=load_graph(model))
    assert [again.run("y:0", {"x:0": x}).tolist() for x in shapes] == first
    assert first == [(x * 3).tolist() for x in shapes]
    assert len(reads) == 1
    assert len(opened) == 4


def test_values_that_a_known_program_does_not_serve(model: Path) -> None:
    """A slice to a place that is counted from the end has a program of its own."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        n = tf.placeholder(tf.int32, [], name="n")
        tf.identity(x[:n] * 3, name="y")
    model.write_bytes(graph.as_graph_def().SerializeToString())
    x = np.arange(4, dtype=np.float32)
    for given in ([2], [-1, 2, -1], [2, -1, 2]):
        session = Session(graph=load_graph(model))
        for n in given:
            found = session.run("y:0", {"x:0": x, "n:0": np.array(n, np.int32)})
            assert found.tolist() == (x[:n] * 3).tolist()


def test_a_graph_that_changed_since_it_was_read_teaches_nothing(
    model: Path, reads: list[str]
) -> None:
    graph = load_graph(model)
    session = Session(graph=graph)
    assert session.run("y:0", {"x:0": X}).tolist() == [3, -6]
    nine = graph.add_operation("Const", [], {"dtype": dtypes.f32, "value": np.float32(9)}, "nine")
    graph.get_operation_by_name("y").update_input(1, nine.output(0))
    assert session.run("y:0", {"x:0": X[:1]}).tolist() == [9]
    assert run(model, {"x:0": X[:1]}).tolist() == [3]
    assert len(reads) == 2


def set_factor(graph: Graph) -> None:
    graph.get_operation_by_name("c").attrs["value"] = np.float32(9)


def set_type(graph: Graph) -> None:
    graph.get_operation_by_name("y").type = "Pow"


def set_function_factor(graph: Graph) -> None:
    (node,) = (n for n in graph.functions["triple"].body.nodes if n.type == "Const")
    node.attrs["value"] = np.float32(9)


def set_shape(graph: Graph) -> None:
    graph.get_tensor_by_name("x:0").set_shape([1])


CALL = """
library { function {
  signature {
    name: "triple"
    input_arg { name: "v" type: DT_FLOAT }
    output_arg { name: "out" type: DT_FLOAT }
  }
  node_def { name: "k" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 3 } } } }
  node_def { name: "m" op: "Mul" input: "v" input: "k:output:0"
    attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "out" value: "m:z:0" }
} }
node { name: "z" op: "triple" input: "x" }
"""


@pytest.mark.parametrize("change", [set_factor, set_type, set_function_factor, set_shape])
def test_what_is_changed_by_hand_is_not_what_the_files_say(
    model: Path, change: Callable[[Graph], None]
) -> None:
    """Neither is such a graph answered by the files' program, nor do they learn of its own."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.multiply(x, tf.constant(3.0, name="c"), name="y")
    definition = graph.as_graph_def()
    definition.MergeFrom(text_format.Parse(CALL, GraphDef()))
    model.write_bytes(definition.SerializeToString())

    def all_of(given: Graph) -> list[Any]:
        session = Session(graph=given)
        found: list[Any] = []
        for x in (X, X[:1]):
            try:
                found.append([a.tolist() for a in session.run(["y:0", "z:0"], {"x:0": x})])
            except ValueError:  # a shape that is not fed any more
                found.append(None)
        return found

    once = all_of(load_graph(model))
    changed = load_graph(model)
    change(changed)
    twice = all_of(changed)
    fresh = tf.Graph()
    with fresh.as_default():
        tf.import_graph_def(definition, name="")
    change(fresh)
    assert once == [[[3, -6]] * 2, [[3]] * 2]
    assert twice == all_of(fresh) != once
    assert all_of(load_graph(model)) == once


def test_a_graph_that_was_looked_at_is_what_the_files_say(model: Path) -> None:
    run(model)
    graph = load_graph(model)
    for op in graph.get_operations():
        assert dict(op.attrs) and op.node_def and op.outputs
    request = program_index.request_of(graph, "y:0", {"x:0": X}, Options())
    assert request is not None and request.executable(1, {}) is not None


def test_a_model_remembers_so_many_requests(
    model: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_index, "MOST", 2)
    for _ in range(2):
        session = Session(graph=load_graph(model))
        for n in (2, 3, 4):
            assert session.run("y:0", {"x:0": np.ones(n, np.float32)}).tolist() == [3] * n
    assert len(reads) == 2


def test_a_saved_model_that_begins_with_nothing_is_known_too(model: Path, reads: list[str]) -> None:
    """TensorFlow 2 has each begin with an operation, most with one that does nothing."""
    path = model.with_name("saved")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.multiply(x, 3.0, name="y")
        builder = tf.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(session, ["serve"], main_op=tf.no_op(name="init"))
        builder.save()
    assert [run(path).tolist() for _ in range(2)] == [[3, -6]] * 2
    assert len(reads) == 1


def test_another_process_reads_no_model(model: Path) -> None:
    run(model)
    program = (
        "import sys, numpy as np\n"
        "before = {*sys.modules}\n"
        "from flowc.files import identity\n"
        "identity.SETTLED_SECONDS = -1\n"
        "from flowc.importer import load_graph\n"
        "from flowc.run.session import Session\n"
        "s = Session(graph=load_graph(sys.argv[1]))\n"
        "print(s.run('y:0', {'x:0': np.array([1, -2], 'f4')}).tolist())\n"
        "print(*sorted({*sys.modules} - before))\n"
    )
    command = [sys.executable, "-c", program, str(model)]
    subprocess.run(command, capture_output=True, check=True)  # it notes what LLVM says
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    values, imported = done.stdout.splitlines()
    assert values == "[3.0, -6.0]"
    modules = imported.split()
    packages = {m.partition(".")[0] for m in modules} - sys.stdlib_module_names
    assert packages <= {"flowc", "flowc_runtime", "ml_dtypes", "google_crc32c", "org"}
    assert "google.protobuf" not in modules
    own = [m for m in modules if m.startswith("flowc")]
    assert not [m for m in own if m.startswith(("flowc.ops", "flowc.api", "flowc.passes"))]
    assert len(own) <= MOST_MODULES, sorted(own)


def changed_value(path: Path) -> None:
    write(path, 5)


def changed_within_its_times(path: Path) -> None:
    times = path.stat()
    write(path, 5)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def replaced(path: Path) -> None:
    write(path.with_name("new"), 5)
    path.with_name("new").rename(path)


@pytest.mark.parametrize("change", [changed_value, changed_within_its_times, replaced])
def test_a_changed_model_is_read(
    model: Path, reads: list[str], change: Callable[[Path], None]
) -> None:
    assert run(model).tolist() == [3, -6]
    change(model)
    assert run(model).tolist() == [5, -10]
    assert len(reads) == 2


def test_other_feeds_and_options_are_other_requests(model: Path, reads: list[str]) -> None:
    run(model)
    assert run(model, {"x:0": X[:1]}).tolist() == [3]
    assert run(model, {"x:0": X.astype(np.float64)}).tolist() == [3, -6]
    assert run(model, {"c:0": np.array(7, np.float32), "x:0": X}).tolist() == [7, -14]
    assert run(model, options=Options(fuse=False)).tolist() == [3, -6]
    assert len(reads) == 5


@pytest.mark.parametrize("dtype", ["f8", "f2", "i4", "i8", ">f4"])
def test_arrays_of_other_dtypes_are_converted_each_time(model: Path, dtype: str) -> None:
    """Their bytes are not those that a program takes which answered before."""
    given = np.array([1, -2], dtype)
    assert [run(model, {"x:0": given}).tolist() for _ in range(3)] == [[3, -6]] * 3
    assert run(model).tolist() == [3, -6]
    assert run(model, {"x:0": given}).tolist() == [3, -6]


def test_a_graph_that_was_looked_at_is_read_and_teaches_nothing(
    model: Path, reads: list[str]
) -> None:
    graph = load_graph(model)
    operation = graph.get_operation_by_name("y")
    assert operation.graph is graph and type(graph) is Graph
    nine = graph.add_operation("Const", [], {"dtype": dtypes.f32, "value": np.float32(9)}, "nine")
    operation.update_input(1, nine.output(0))
    assert Session(graph=graph).run("y:0", {"x:0": X}).tolist() == [9, -18]
    assert run(model).tolist() == [3, -6]


def test_a_known_model_is_read_when_it_is_looked_at(model: Path, reads: list[str]) -> None:
    run(model)
    graph = load_graph(model)
    assert len(reads) == 1
    graph.seed = 4
    assert graph.seed == 4
    assert [op.name for op in graph.get_operations()] == ["x", "c", "y"]
    assert graph.source.path == str(model)
    assert len(reads) == 2


def test_a_model_that_changes_before_it_is_looked_at(model: Path) -> None:
    run(model)
    graph = load_graph(model)
    write(model, 5)
    with pytest.raises(InvalidModelError, match="changed after it was loaded"):
        graph.get_operations()


def test_errors_stay_what_they_were(model: Path) -> None:
    run(model)
    session = Session(graph=load_graph(model))
    with pytest.raises(ValueError, match="refers to a Tensor which does not exist"):
        session.run("z:0", {"x:0": X})
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
        session.run("y:0", {"z:0": X})


def test_a_program_that_the_cache_lost_is_made_again(model: Path, reads: list[str]) -> None:
    run(model)
    for entry in (model.parent / "cache").glob("*/*.flowc"):
        entry.unlink()
    assert run(model).tolist() == [3, -6]
    assert len(reads) == 2


def test_a_file_changed_just_now_is_read(
    model: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_identity, "SETTLED_SECONDS", 5)
    run(model)
    run(model)
    assert len(reads) == 2
    assert not (model.parent / "cache" / "models").exists()


def test_without_a_cache_models_are_read(
    model: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWC_CACHE", "0")
    run(model)
    assert type(load_graph(model)) is Graph
    assert len(reads) == 2


def test_a_known_request_gives_tensors_of_ranks_that_the_run_decides(
    model: Path, reads: list[str]
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        p = tf.placeholder(tf.bool, [], name="p")
        tf.identity(tf.cond(p, lambda: x * 3, lambda: tf.reduce_sum(x)), name="y")
    model.write_bytes(graph.as_graph_def().SerializeToString())
    for _ in range(2):
        assert run(model, {"x:0": X, "p:0": np.array(True)}).tolist() == [3, -6]
        assert run(model, {"x:0": X, "p:0": np.array(False)}) == -1
    assert len(reads) == 1
