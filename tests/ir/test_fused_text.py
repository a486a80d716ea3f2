"""The text of fused programs compiles back to the same kernels: of every op, and of models. They
launch as many as is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from calls.op_examples import Case, cases_of
from fused_text import assert_text_compiles_back
from kernel_counts import check_kernel_count
from tensor_types import tensor_type

import flowc
from flowc import dtypes
from flowc.dtypes import DType
from flowc.extract.interface import choose_interface
from flowc.extract.size_unification import extract_fetches
from flowc.graph import Graph
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.dims import symbol
from flowc.ir.inference import NeedsContent
from flowc.ir.op import Op
from flowc.ops import all_ops
from flowc.options import Options
from flowc.passes.pipeline import run_passes
from flowc.proto.graph_pb2 import GraphDef

DATA = Path(__file__).parents[1] / "data"
WANTED: tuple[DType, ...] = (dtypes.f32, dtypes.f16, dtypes.c64, dtypes.i32, dtypes.bool_)
OPS = [op for op in all_ops() if op.examples and op.reference is not None]
with np.load(DATA / "control_flow" / "models.npz") as file:
    MODELS = json.loads(file["index"].tobytes())
with np.load(DATA / "training" / "graphs.npz") as file:
    STEPS = dict(file)
STEP_NAMES = json.loads(STEPS.pop("index").tobytes())


def computation(case: Case, floats_too: bool = False) -> Computation:
    """One op: what its example gives of whole numbers is constant, as in real graphs."""
    b = Builder()
    inputs = [
        b.const(array)
        if x.given and (floats_too or array.dtype.kind in "iub")
        else b.parameter(f"x{i}", tensor_type(case.dtypes[i], array.shape))
        for i, (x, array) in enumerate(zip(case.operands, case.inputs))
    ]
    return b.build(b.emit(case.op, inputs, case.attrs, origin=(case.name,)).outputs)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--update-golden")


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_ops(op: Op, update: bool) -> None:
    cases = [c for c in cases_of(op) if all(d in WANTED for d in c.bound.values())]
    found = []
    for case in cases[:4]:
        try:
            c = computation(case)
        except NeedsContent:
            c = computation(case, floats_too=True)
        fused, separate = (run_passes(c, Options(fuse=fuse)) for fuse in (True, False))
        assert_text_compiles_back(fused)
        assert_text_compiles_back(separate)
        found.append(fused)
    check_kernel_count(f"op {op.name}", found, update)


def test_what_the_host_computes() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (symbol("n"), 3)))
    fused = run_passes(b.build([b.as_string(b.exp(x), precision=3, fill="0")]), Options())
    assert "host(%0) {op='as_string', settings=[['precision', 3]," in str(fused)
    assert_text_compiles_back(fused)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_models_with_control_flow(name: str, update: bool) -> None:
    entry = MODELS[name]
    graph = flowc.load_graph(DATA / "control_flow" / "models" / entry["file"])
    fetches = list(entry["fetches"].values()) if "fetches" in entry else None
    c = fused(graph, fetches)
    assert_text_compiles_back(c)
    check_kernel_count(f"model {name}", [c], update)


@pytest.mark.parametrize("name", sorted(STEP_NAMES))
def test_training_steps(name: str, update: bool) -> None:
    graph, entry = flowc.Graph(), STEP_NAMES[name]
    with graph.as_default():
        flowc.import_graph_def(GraphDef.FromString(STEPS[f"{name}/graph"].tobytes()), name="")
    with flowc.Session(graph=graph) as session:
        session.run(entry["initializer"])
        graph.variable_values = session.variable_values()
    c = fused(graph, [entry["loss"], entry["step"]])
    assert_text_compiles_back(c)
    check_kernel_count(f"training {name}", [c], update)


def fused(graph: Graph, fetches: list[str] | None) -> Computation:
    _, program = extract_fetches(graph, choose_interface(graph, fetches=fetches))
    return run_passes(program.computation, Options())
