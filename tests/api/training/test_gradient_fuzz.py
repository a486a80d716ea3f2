"""Random programs with loops, branches, arrays and calls: their gradients against differences and
against TensorFlow's.

`frames` have the control flow of TensorFlow 1 and are built here; `functions` have that of
TensorFlow 2, and their graphs come from it. TensorFlow's values were recorded by
`tests/oracle/record_gradient_fuzz.py`, NaN where it raises. A few seeds always; `FLOWC_FUZZ=1000`
takes that many, from `FLOWC_FUZZ_SEED` on, of `FLOWC_GRADIENT_FUZZ`: another recording, which
`make gradients` makes. What a program computes is told by the references of its ops; every
`COMPILED`-th one is compiled, too.
"""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gradient_programs import (
    INPUTS,
    Built,
    GradientProgram,
    Results,
    differentiated,
    fault,
    flat,
    in_session,
    points,
)
from ir_reference import reference_results
from tensor_types import tensor_type

import flowc
from flowc.errors import InvalidArgumentError
from flowc.extract.program import extract_program
from flowc.proto.graph_pb2 import GraphDef

HERE = Path(__file__).parents[2] / "recorded" / "gradient_fuzz.npz"
RECORDED = dict(np.load(os.environ.get("FLOWC_GRADIENT_FUZZ", HERE)))
GRAPHS = lzma.decompress(RECORDED["graphs"].tobytes())
ENDS = [0, *RECORDED["ends"].tolist()]
START = int(RECORDED["first"])

FIRST = int(os.environ.get("FLOWC_FUZZ_SEED", "0"))
COUNT = int(os.environ.get("FLOWC_FUZZ", "10"))
COMPILED = 25
SEEDS = range(FIRST, FIRST + COUNT)
FOUND = [487] if FIRST == START == 0 and len(RECORDED["frames"]) > 487 else []  # found a fault


def by_references(built: Built) -> Callable[[list[np.ndarray]], Results]:
    fetches = [built.loss, *built.gradients]
    types = {x: tensor_type("f64", tuple(x.shape.as_list())) for x in built.fed}
    c = extract_program(built.loss.graph, fetches, types).computation
    return lambda arrays: reference_results(c, arrays)


def check(built: Built, seed: int, kind: str) -> None:
    run = by_references(built)
    theirs = RECORDED[f"{kind}s"][seed - START]
    raises = np.isnan(theirs).any()
    try:
        assert fault(run, seed) is None
    except InvalidArgumentError:  # rows that a loop of no iterations sums are of no size
        assert raises
        return
    if not raises:
        np.testing.assert_allclose(flat(run(points(seed)[0])), theirs, rtol=1e-9, atol=1e-12)
        if kind == "frame":  # those of functions are whole tensors
            assert built.rows == RECORDED["frame_rows"][seed - START].tolist()
    if seed % COMPILED == COMPILED - 1:
        with flowc.Session() as session:
            assert fault(in_session(session, built), seed) is None


@pytest.mark.parametrize("seed", dict.fromkeys([*SEEDS, *FOUND]))
def test_fuzz_of_gradients(seed: int) -> None:
    with flowc.Graph().as_default():
        check(GradientProgram(flowc, seed).build(), seed, "frame")


@pytest.mark.parametrize("seed", [s for s in SEEDS if s - START < len(ENDS) - 1])
def test_fuzz_of_gradients_of_functions(seed: int) -> None:
    at = seed - START
    message = GraphDef.FromString(GRAPHS[ENDS[at] : ENDS[at + 1]])
    with flowc.Graph().as_default() as graph:
        flowc.import_graph_def(message, name="")
        fed = [graph.get_tensor_by_name(f"x{i}:0") for i in range(INPUTS)]
        loss = graph.get_tensor_by_name(str(RECORDED["fetches"][at]))
        check(differentiated(flowc, loss, fed), seed, "function")
