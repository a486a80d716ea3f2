"""Random nests of loops, conditionals, TensorArrays and variables, against TensorFlow.

`make test` replays those that `tests/oracle/record_control_flow_fuzz.py` recorded: all that have
variables and one in COMPILED of the rest are compiled, the others computed by the references of
ops. `make oracle` builds `FLOWC_FUZZ` others (1000) from `FLOWC_FUZZ_SEED` on, compiles them and
runs them in TensorFlow beside. A failure names its seed.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ir_reference import reference_results

import flowc
from flowc import dtypes
from flowc.compiler import load_executable
from flowc.extract.program import extract_program
from flowc.ir.computation import Computation
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.ir.types import TensorType
from flowc.options import Options

RECORDED = Path(__file__).parents[1] / "data" / "control_flow" / "fuzz.npz"
ORACLE = Path(__file__).parents[1] / "oracle"
FIRST = int(os.environ.get("FLOWC_FUZZ_SEED", "10000"))
COUNT = int(os.environ.get("FLOWC_FUZZ", "1000"))
COMPILED = 4
ROWS = {"x:0", "y:0"}  # what is fed with as many rows as the run has
Feeds = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Case:
    """A GraphDef, what runs one after another are fed with, and what TensorFlow gave."""

    seed: int
    graph: bytes
    fetches: list[str]
    initializer: str | None
    dynamic: bool
    feeds: list[Feeds]
    values: list[list[np.ndarray]]


@cache
def recorded() -> dict[int, Case]:
    with np.load(RECORDED) as file:
        index, data = json.loads(file["index"].tobytes()), file["data"].tobytes()
    at = 0

    def take(entry: list[Any]) -> np.ndarray:
        nonlocal at
        kind, *shape = entry
        count = int(np.prod(shape))
        found = np.frombuffer(data, kind, count, at).reshape(shape)
        at += found.nbytes
        return found

    cases: dict[int, Case] = {}
    for entry in index:
        graph = data[at : at + entry["bytes"]]
        at += len(graph)
        feeds = [{n: take(a) for n, a in feed.items()} for feed in entry["feeds"]]
        values = [[take(a) for a in found] for found in entry["values"]]
        keys = ("fetches", "initializer", "dynamic")
        case = Case(entry["seed"], graph, *(entry[k] for k in keys), feeds, values)
        cases[case.seed] = case
    return cases


def imported(case: Case) -> flowc.Graph:
    graph = flowc.Graph()
    with graph.as_default():
        flowc.import_graph_def(case.graph, name="")
    return graph


def compiled_results(case: Case) -> list[list[np.ndarray]]:
    """What flowc gives: in a Session, or by one program for all numbers of rows."""
    if case.dynamic and case.initializer is None:
        return _by_one_program(case)
    with flowc.Session(graph=imported(case), threads=1) as session:
        if case.initializer is not None:
            session.run(case.initializer)
        return [session.run(case.fetches, feeds) for feeds in case.feeds]


def _extracted(case: Case) -> Computation:
    graph = imported(case)
    types = {}
    for name, array in case.feeds[0].items():
        is_open = case.dynamic and name in ROWS
        dims = (symbol("batch"), *array.shape[1:]) if is_open else array.shape
        types[graph.get_tensor_by_name(name)] = TensorType(dtypes.as_dtype(array.dtype), dims)
    fetches = [graph.get_tensor_by_name(name) for name in case.fetches]
    return extract_program(graph, fetches, types).computation


def _by_one_program(case: Case) -> list[list[np.ndarray]]:
    c, names = _extracted(case), list(case.feeds[0])
    executable = load_executable(c, Options(), spec_of(c, names, case.fetches), threads=1)
    return [executable.run([np.asarray(f[n]) for n in names]) for f in case.feeds]


def interpreted_results(case: Case) -> list[list[np.ndarray]]:
    """What the references of ops give for what is extracted."""
    c = _extracted(case)
    return [reference_results(c, list(feeds.values())) for feeds in case.feeds]


def fault(case: Case, results: list[list[np.ndarray]]) -> str | None:
    """The first disagreement, in words."""
    for number, (given, wanted) in enumerate(zip(results, case.values, strict=True)):
        for name, found, expected in zip(case.fetches, given, wanted, strict=True):
            x, y = np.asarray(found), np.asarray(expected)
            if x.dtype != y.dtype or x.shape != y.shape:
                return f"run {number}: {name} is {x.dtype}{x.shape}, not {y.dtype}{y.shape}"
            exact = x.dtype.kind != "f"
            if not (np.array_equal(x, y) if exact else np.allclose(x, y, 2e-4, 2e-5)):
                return f"run {number}: {name} is {x}, not {y}"
    return None


def seeds() -> list[int]:
    with np.load(RECORDED) as file:
        return [entry["seed"] for entry in json.loads(file["index"].tobytes())]


@pytest.mark.parametrize("seed", seeds())
def test_recorded(seed: int) -> None:
    case = recorded()[seed]
    is_compiled = case.initializer is not None or seed % COMPILED == 0
    found = fault(case, compiled_results(case) if is_compiled else interpreted_results(case))
    assert found is None, f"seed {seed}: {found}"


@pytest.fixture(scope="module")
def oracle() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow")
    tensorflow.compat.v1.disable_eager_execution()
    sys.path.insert(0, str(ORACLE))
    import control_flow_fuzz

    return control_flow_fuzz


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_live(oracle: Any, seed: int) -> None:
    program = oracle.program(seed)
    values = oracle.results(program)
    case = Case(
        seed,
        program.graph.as_graph_def().SerializeToString(),
        program.fetches,
        program.initializer,
        program.dynamic,
        program.feeds,
        values,
    )
    failed = [v for v in values if isinstance(v, str)]
    if failed:
        with pytest.raises(flowc.errors.FlowcError):
            compiled_results(case)
        return
    found = fault(case, compiled_results(case))
    assert found is None, f"seed {seed}: {found}"
