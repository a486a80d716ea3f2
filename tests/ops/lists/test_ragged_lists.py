"""Lists whose elements differ in size, against what TensorFlow made of them.

Recorded by `tests/oracle/record_ragged_lists.py`: results, or the message that a run ends in.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from ir_reference import reference_results
from list_recordings import ListGraphs, alike, extracted, fetches_of

import flowc
from flowc.cli.entry import run_command_line
from flowc.compiler import load_executable
from flowc.errors import FlowcError, OpError
from flowc.ir.bodies import bodies_of
from flowc.ir.computation import Computation
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc_runtime import Model

GRAPHS = ListGraphs("ragged.npz", 1e-4)
DENSE = ListGraphs("graphs.npz", 1e-4)
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.mark.parametrize("name", GRAPHS.good)
def test_extracted_graphs_mean_what_tensorflow_computes(name: str, tmp_path: Path) -> None:
    GRAPHS.assert_equal(
        reference_results(extracted(GRAPHS.graph(name, tmp_path)), [GRAPHS.x]), name
    )


@pytest.mark.parametrize(
    "name",
    ["growing_v1", "growing_at_times_v2", "growing_inside_v2", "joined_v1", "pieces_of_run_v2"],
)  # fmt: skip
def test_programs_for_any_number_of_rows(name: str, tmp_path: Path) -> None:
    graph = GRAPHS.graph(f"program/{name}", tmp_path)
    c = extracted(graph)
    spec = spec_of(c, ["x:0"], fetches_of(graph))
    executable = load_executable(c, Options(), spec, threads=1)
    for _ in range(2):  # the second run finds the memory of the first one
        GRAPHS.assert_equal(executable.run([GRAPHS.x]), f"program/{name}")


@pytest.mark.parametrize("name", ["growing_in_branch_v1", "shrinking_v2", "gathered_v1"])
def test_sessions(name: str, tmp_path: Path) -> None:
    graph = GRAPHS.graph(f"program/{name}", tmp_path)
    with flowc.Session(graph=graph) as session:
        GRAPHS.assert_equal(session.run(fetches_of(graph), {"x:0": GRAPHS.x}), f"program/{name}")


@needs_cc
@pytest.mark.parametrize(
    ("name", "rows"), [("growing_at_times_v1", "5"), ("longer_each_time_v2", "batch")]
)
def test_libraries(name: str, rows: str, tmp_path: Path) -> None:
    fetches = fetches_of(GRAPHS.graph(f"program/{name}", tmp_path))
    out = tmp_path / "model.so"
    command = ["compile", str(tmp_path / "graph.pb"), "-o", str(out), "--feed", f"x=f32[{rows},3]"]
    for fetch in fetches:
        command += ["--fetch", fetch]
    assert run_command_line(command) == 0
    found = {n.partition(":")[0]: v for n, v in Model(out).run({"x": GRAPHS.x}).items()}
    GRAPHS.assert_equal([found[f.partition(":")[0]] for f in fetches], f"program/{name}")


@pytest.mark.parametrize("name", sorted(GRAPHS.errors))
def test_what_fails_says_why_as_tensorflow_does(name: str, tmp_path: Path) -> None:
    with pytest.raises(FlowcError) as caught:
        reference_results(extracted(GRAPHS.graph(name, tmp_path)), [GRAPHS.x])
    assert isinstance(caught.value, OpError)
    # Of shapes that differ along several axes one is told, and `?` for the others.
    said = re.escape(alike(caught.value.message)).replace(r"\?", r"(\d+|\?)")
    assert re.search(said.partition("\\\n")[0], alike(GRAPHS.errors[name]))


@pytest.mark.parametrize("name", ["program/stacked_v1", "list/gather_unlike", "array/read_twice"])
def test_runs_fail_with_the_message(name: str, tmp_path: Path) -> None:
    graph = GRAPHS.graph(name, tmp_path)
    with flowc.Session(graph=graph) as session, pytest.raises(OpError) as caught:
        session.run(fetches_of(graph), {"x:0": GRAPHS.x})
    assert alike(GRAPHS.errors[name]) in alike(str(caught.value))


def ops_in(c: Computation) -> list[str]:
    found: list[str] = []
    stack = [c]
    while stack:
        for node in stack.pop().nodes:
            found.append(node.op.name)
            stack += bodies_of(node).values()
    return found


@pytest.mark.parametrize("name", ["mapped_v1", "growing_v2", "joined_v1", "pieces_v2"])
def test_what_varies_is_ragged(name: str, tmp_path: Path) -> None:
    found = ops_in(extracted(GRAPHS.graph(f"program/{name}", tmp_path)))
    assert any(op.startswith("ragged_") for op in found)


@pytest.mark.parametrize("name", ["recurrent", "product_gradient", "mapped", "array_of_arrays"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_what_does_not_vary_is_dense(name: str, version: str, tmp_path: Path) -> None:
    found = ops_in(extracted(DENSE.graph(f"program/{name}_{version}", tmp_path)))
    assert not any(op.startswith("ragged_") for op in found)
