"""Every op's code for GPUs on a GPU, beside the reference: `make gpu-test`, where one is.

Runs are those of a Session: transfers, launches and faults by the driver of the GPU. Without
`FLOWC_GPU=1` nothing is asked of a machine.
"""

from __future__ import annotations

import os
import warnings
from unittest import mock

import numpy as np
import pytest
from op_cases import (
    EXACT,
    TESTED,
    assert_near,
    chosen_cases,
    ordinary_elements,
    placed,
    reference,
)
from op_tolerances import COMPILED, COMPILED_EXTREMES_APART

from flowc.codegen.cuda import placement
from flowc.compiler import compile_computation
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.op import Op
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import open_program

OPS = TESTED if os.environ.get("FLOWC_GPU") else []


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_an_op_on_the_gpu_agrees_with_the_reference(op: Op) -> None:
    warnings.simplefilter("ignore", RuntimeWarning)
    cases = chosen_cases(op)
    b, feeds = Builder(), dict[Value, np.ndarray]()
    nodes = [placed(b, case, feeds) for case in cases]
    c = b.build([v for n in nodes for v in n.outputs])
    names = [p.attrs["name"] for p in c.parameters], [f"y{i}" for i in range(len(c.results))]
    with mock.patch.object(placement, "FEW", -1), np.errstate(all="ignore"):
        program = compile_computation(c, Options(target="cuda"), spec_of(c, *names))
        outputs = iter(open_program(program, 1).run(list(feeds.values())))
        for case, node in zip(cases, nodes):
            found, expected = [next(outputs) for _ in node.outputs], reference(case)
            if op.name in COMPILED_EXTREMES_APART:
                found, expected = ordinary_elements(case, found, expected)
            assert_near(case, found, expected, COMPILED.get(op.name, EXACT))
