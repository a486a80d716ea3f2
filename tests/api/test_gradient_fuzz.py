"""Random programs with loops, branches and arrays: their gradients against differences.

A few of them always; `FLOWC_FUZZ=1000` takes that many, from `FLOWC_FUZZ_SEED` on. What a program
computes is told by the references of its ops; every `COMPILED`-th one is compiled, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest
from gradient_programs import Built, GradientProgram, Results, fault, in_session
from ir_reference import reference_results

import flowc
from flowc.extract.program import extract_program
from flowc.ir.types import tensor_type

FIRST = int(os.environ.get("FLOWC_FUZZ_SEED", "0"))
COUNT = int(os.environ.get("FLOWC_FUZZ", "10"))
COMPILED = 25


def by_references(built: Built) -> Callable[[list[np.ndarray]], Results]:
    fetches = [built.loss, *built.gradients]
    types = {x: tensor_type("f64", tuple(x.shape.as_list())) for x in built.fed}
    c = extract_program(built.loss.graph, fetches, types).computation
    return lambda arrays: reference_results(c, arrays)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_fuzz_of_gradients(seed: int) -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        built = GradientProgram(flowc, seed).build()
        assert fault(by_references(built), seed) is None
        if seed % COMPILED == COMPILED - 1:
            assert fault(in_session(session, built), seed) is None
