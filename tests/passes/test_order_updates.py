"""Updates stand after the readers of what they change, so that nothing is copied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ir_reference import reference_results
from list_recordings import ListGraphs
from tensor_types import tensor_type

from flowc import dtypes
from flowc.compiler import Report, compile_computation
from flowc.extract.program import extract_program
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.passes.order_updates import order_updates
from flowc.passes.pipeline import run_passes
from flowc.plan.text import plan_text
from flowc.run.executable import Executable

GRAPHS = ListGraphs("graphs.npz", 1e-5)
X = np.arange(6, dtype=np.float32).reshape(3, 2)


def set_then_read(dependent: bool) -> Computation:
    """A list that is changed before an element is read, from the new list or the old one."""
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (3, 2)))
    index = b.parameter("i", tensor_type("i32", ()))
    new = b.list_new(b.sizes((3, 2)), T=dtypes.f32)
    held = b.list_set(new, np.int32(0), b.list_get(x, np.int32(2), message=""), message="")
    later = b.list_set(held, np.int32(1), b.list_get(x, np.int32(1), message=""), message="")
    read = b.tanh(b.list_get(later if dependent else held, index, message="no {value}"))
    return b.build([read, later])


def plan_of(c: Computation) -> tuple[str, Executable]:
    report = Report()
    names = [p.name for p in c.parameters], [f"y{i}" for i in range(len(c.results))]
    program = compile_computation(c, Options(), spec_of(c, *names), report=report)
    assert report.stages.plan is not None
    return plan_text(report.stages.plan), Executable(program, 1)


def places(c: Computation, word: str) -> list[int]:
    return [i for i, node in enumerate(c.nodes) if word in str(node.attrs.get("body", ""))]


def test_a_reader_goes_before_the_update() -> None:
    c = set_then_read(dependent=False)
    unordered = run_passes(c, Options(skip=("order_updates",)))
    ordered = order_updates(unordered, Options())
    assert places(unordered, "tanh")[-1] > places(unordered, "list_set")[-1]
    assert places(ordered, "tanh")[-1] < places(ordered, "list_set")[-1]
    assert sorted(map(str, ordered.nodes)) == sorted(map(str, unordered.nodes))
    assert order_updates(ordered, Options()) is ordered


def test_what_is_read_no_more_is_changed_in_place() -> None:
    c = set_then_read(dependent=False)
    text, executable = plan_of(c)
    assert "copy and update" not in text
    index = np.asarray(0, np.int32)
    for found, expected in zip(executable.run([X, index]), reference_results(c, [X, index])):
        np.testing.assert_allclose(found, expected, 1e-6)


def test_a_reader_of_the_result_stays_behind() -> None:
    c = run_passes(set_then_read(dependent=True), Options(skip=("order_updates",)))
    assert order_updates(c, Options()) is c


def test_stacks_of_gradients_are_popped_in_place(tmp_path: Path) -> None:
    graph = GRAPHS.graph("program/product_gradient_v1", tmp_path)
    feed = {graph.get_tensor_by_name("x:0"): TensorType(dtypes.f32, (symbol("batch"), 3))}
    program = extract_program(graph, [graph.get_tensor_by_name("y1:0")], feed)
    text, _ = plan_of(program.computation)
    assert text.count("update native") > 4
    assert "copy and update" not in text
