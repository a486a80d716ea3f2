"""Variables of compiled libraries: instances, from C and from Python, and what cannot be kept."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
import state_recordings
from google.protobuf import text_format
from table_graphs import AT, TABLE, table_graph

import flowc
import flowc_runtime
from flowc import errors
from flowc.cli.entry import run_command_line
from flowc.extract.interface import choose_interface
from flowc.proto.graph_pb2 import GraphDef

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")
SOURCES = Path(__file__).parents[2] / "cc"

COUNTED = """
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } } }
  node { name: "total" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape { dim { size: 2 } } } } }
  node { name: "steps" op: "VarHandleOp" attr { key: "dtype" value { type: DT_INT64 } }
         attr { key: "shape" value { shape { } } } }
  node { name: "twice" op: "Add" input: "total" input: "total"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
         attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
  node { name: "sums" op: "Sum" input: "x" input: "axis"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "Tidx" value { type: DT_INT32 } } }
  node { name: "more" op: "AssignAdd" input: "total" input: "sums" input: "^twice"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "seven" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
         attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: 7 } } } }
  node { name: "put" op: "AssignVariableOp" input: "steps" input: "seven"
         attr { key: "dtype" value { type: DT_INT64 } } }
  node { name: "train" op: "NoOp" input: "^more" input: "^put" }
"""
X = np.array([[1, 2], [3, 4]], np.float32)


def counted_graph() -> flowc.Graph:
    graph = flowc.Graph()
    with graph.as_default():
        flowc.import_graph_def(text_format.Parse(COUNTED, GraphDef()), name="")
    graph.variable_values = {"total": np.array([10, 20], np.float32)}
    return graph


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> flowc_runtime.Model:
    path = tmp_path_factory.mktemp("state") / "counted.so"
    return flowc.compile(counted_graph(), fetches=["twice", "train"], out=path)


@needs_cc
def test_c_programs_use_instances(model: flowc_runtime.Model) -> None:
    folder = Path(model.path).parent
    program = folder / "check_state"
    flags = ["-std=gnu99", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{folder}"]
    source = str(SOURCES / "check_state.c")
    link = [str(folder / "counted.so"), f"-Wl,-rpath,{folder}"]
    subprocess.run([str(CC), *flags, source, *link, "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_two_instances_share_nothing(model: flowc_runtime.Model) -> None:
    with model.new_instance() as one, model.new_instance() as other:
        np.testing.assert_array_equal(one(X), [20, 40])
        np.testing.assert_array_equal(one(x=X), [28, 52])
        np.testing.assert_array_equal(one.run({"x": X})["twice"], [36, 64])
        np.testing.assert_array_equal(other(X), [20, 40])
        np.testing.assert_array_equal(one.read("total"), [22, 38])
        np.testing.assert_array_equal(other.read("total:0"), [14, 26])
        assert one.read("steps") == 7


def test_variables_are_read_and_written(model: flowc_runtime.Model) -> None:
    assert [str(v) for v in model.variables] == ["total: float32[2]", "steps: int64[]"]
    with model.new_instance() as instance:
        with pytest.raises(flowc_runtime.InvalidArgumentError, match="'steps' has no value yet"):
            instance.read("steps")
        instance.write("steps", 3)
        assert instance.read("steps") == 3
        instance.write("total", [1, 2])
        np.testing.assert_array_equal(instance(X), [2, 4])
        with pytest.raises(flowc_runtime.InvalidArgumentError, match=r"dims \[2\], found \[3\]"):
            instance.write("total", [1, 2, 3])
        with pytest.raises(flowc_runtime.InvalidArgumentError, match="no variable 'v'; it has tot"):
            instance.read("v")
        instance.reset()
        np.testing.assert_array_equal(instance.read("total"), [10, 20])
    with pytest.raises(flowc_runtime.InvalidArgumentError, match="closed"):
        instance(X)


def test_a_model_with_variables_runs_in_instances_only(model: flowc_runtime.Model) -> None:
    with pytest.raises(flowc_runtime.InvalidArgumentError, match=r"variables \(total, steps\)"):
        model(X)


def test_threads_of_one_instance_lose_no_update(model: flowc_runtime.Model) -> None:
    one = np.ones((1, 2), np.float32)
    with model.new_instance() as instance:

        def work() -> None:
            for _ in range(200):
                instance(one)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(instance.read("total"), [810, 820])


def test_a_model_without_variables_may_run_in_instances_too(tmp_path: Path) -> None:
    plain = flowc.compile(counted_graph(), fetches=["sums"], out=tmp_path / "plain.so")
    assert plain.variables == ()
    with plain.new_instance() as instance:
        np.testing.assert_array_equal(instance(X), [4, 6])
    np.testing.assert_array_equal(plain(X), [4, 6])


def test_rows_are_changed_in_place(tmp_path: Path) -> None:
    graph, expected = table_graph(), TABLE.copy()
    model = flowc.compile(graph, fetches=["read", "step"], out=tmp_path / "table.so")
    program = flowc.compile(graph, fetches=["read", "step"])
    assert model.metadata["variables"][0]["in_place"] is True
    with model.new_instance() as instance:
        for _ in range(3):
            np.testing.assert_array_equal(instance(AT), expected[AT])
            np.testing.assert_array_equal(program(AT), expected[AT])
            expected[AT] += 1
        np.testing.assert_array_equal(instance.read("v"), expected)
        instance.reset()
        np.testing.assert_array_equal(instance.read("v"), TABLE)


def test_programs_in_memory_keep_their_variables() -> None:
    program = flowc.compile(counted_graph(), fetches=["twice", "train"])
    np.testing.assert_array_equal(program(X), [20, 40])
    np.testing.assert_array_equal(program(X[:1]), [28, 52])
    np.testing.assert_array_equal(program(X), [30, 56])


def test_weights_of_a_side_file_are_first_values(tmp_path: Path) -> None:
    out = tmp_path / "beside.so"
    model = flowc.compile(counted_graph(), fetches=["twice", "more"], out=out, weights="file")
    assert out.with_name("beside.so.weights").exists()
    with model.new_instance() as instance:
        twice, more = instance(X)
        np.testing.assert_array_equal(twice, [20, 40])
        np.testing.assert_array_equal(more, [14, 26])


def test_a_training_step_in_a_library_does_what_tensorflow_does(tmp_path: Path) -> None:
    name = "ApplyMomentum_use_nesterov"
    graph = state_recordings.graph_of(name)
    steps = state_recordings.steps_of(name)
    with flowc.Session(graph=graph) as session:
        first = [s for s in steps if not s.feeds and s.targets]
        for step in first:
            session.run(list(step.targets))
        graph.variable_values = {v: session.run(f"{v}:0") for v in ("var", "accum")}
    trained = [s for s in steps if s.feeds]
    model = flowc.compile(graph, fetches=trained[0].targets, out=tmp_path / "step.so")
    with model.new_instance() as instance:
        for step in trained:
            instance.run({"grad": step.feeds["grad:0"]})
        last = dict(zip(steps[-1].fetches, steps[-1].outputs))
        for variable in ("var", "accum"):
            np.testing.assert_allclose(instance.read(variable), last[f"{variable}:0"], 2e-5, 1e-6)


def test_a_shape_that_changes_cannot_be_kept(tmp_path: Path) -> None:
    graph = state_recordings.graph_of("variable_of_unknown_shape")
    with pytest.raises(errors.UnsupportedError, match="variable 'v' changes its shape"):
        flowc.compile(graph, "x=f32[n]", ["Assign"], out=tmp_path / "no.so")
    assert not (tmp_path / "no.so").exists()


def test_operations_are_fetched_by_name() -> None:
    graph = counted_graph()
    chosen = choose_interface(graph, None, ["twice", "train"])
    assert [f.name for f in chosen.fetches] == ["twice"]
    assert [t.name for t in chosen.targets] == ["train"]
    assert [f.name for f in chosen.feeds] == ["x"]
    chosen = choose_interface(graph, None, [graph.get_operation_by_name("train")])
    assert not chosen.fetches and [f.name for f in chosen.feeds] == ["x"]


def test_commands_compile_and_run_training_graphs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = text_format.Parse(COUNTED + FILL, GraphDef())
    saved, out = tmp_path / "graph.pb", tmp_path / "counted.so"
    saved.write_bytes(message.SerializeToString())
    wanted = ["--fetch", "twice", "--fetch", "train"]
    assert run_command_line(["compile", str(saved), "-o", str(out), *wanted]) == 4
    assert "uninitialized value total" in capsys.readouterr().err
    assert run_command_line(["compile", str(saved), "-o", str(out), *wanted, "--init", "fill"]) == 0
    assert "variables  total=f32[2], steps=i64[]" in capsys.readouterr().err
    for model, more in ((out, []), (saved, [*wanted, "--init", "fill"])):
        assert run_command_line(["run", str(model), "--input", "x=[[1,2]]", *more]) == 0
        assert "[4., 4.]" in capsys.readouterr().out


FILL = """
  node { name: "two" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT
           tensor_shape { dim { size: 2 } } float_val: 2 } } } }
  node { name: "fill" op: "Assign" input: "total" input: "two"
         attr { key: "T" value { type: DT_FLOAT } } }
"""
