"""Rows that are written in pieces: which nests call functions that they share, and the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from ir_reference import reference_results
from partitions import PartitionedProgram
from tensor_types import tensor_type

from flowc import dtypes
from flowc.cache.store import DiskCache, KernelCache
from flowc.codegen.cpu.kernel_text import separate_texts
from flowc.codegen.cpu.row_pieces import pieces_of
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.kernels.nest import Expression, Load
from flowc.codegen.kernels.rewriting import NestRewriter
from flowc.compiler import Report, compile_computation
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.program_spec import spec_of
from flowc.options import Options

TARGET = Options(target="x86-64-v3")


def joined(widths: Sequence[int], *, rows: int = 37, exponential: bool = False) -> Computation:
    """A normalization and an activation of values that are joined along their last axis."""
    b, rng = Builder(), np.random.default_rng(5)
    x = [
        b.parameter(f"x{i}:0", tensor_type(dtypes.f32, (rows, width)))
        for i, width in enumerate(widths)
    ]
    factor, term = (rng.normal(size=sum(widths)).astype(np.float32) for _ in range(2))
    y = b.add(b.mul(b.concat(*x, np.int32(1)), b.const(factor)), b.const(term))
    return b.build([b.sigmoid(y) if exponential else b.relu(y)])


def kernel_of(c: Computation) -> Kernel:
    report = Report()
    names = [f"x{i}:0" for i in range(len(c.parameters))]
    kernels = KernelCache(DiskCache(None))
    compile_computation(c, TARGET, spec_of(c, names, ["y:0"]), report=report, kernels=kernels)
    (kernel,) = report.stages.kernels.values()
    return kernel


def functions_of(c: Computation) -> list[str]:
    """What the kernel of a Computation calls and does not define."""
    texts, routines = separate_texts(kernel_of(c))
    assert not routines or "".join(texts).count("define") == 1
    assert not any(routine.as_written for routine in routines)  # LLVM looks for vectors
    return [routine.symbol for routine in routines]


def test_pieces_that_are_alike_are_calls_of_one_function() -> None:
    four, seven = functions_of(joined([64, *[32] * 3])), functions_of(joined([96, *[48] * 6]))
    assert len(four) == 2  # the first piece has no offset
    assert four == seven


@pytest.mark.parametrize("rows", [0, 1, 16, 37])
def test_rows_are_whole_however_they_are_shared(rows: int) -> None:
    c = joined([40, 32, 32, 32], rows=rows)
    rng = np.random.default_rng(rows)
    given = [rng.normal(size=(rows, w)).astype(np.float32) for w in (40, 32, 32, 32)]
    (expected,) = reference_results(c, given)
    (found,) = PartitionedProgram(c, Options()).run(given)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_other_nests_stay_one_function() -> None:
    assert not functions_of(joined([64, 32]))  # two loops, of which none is like the other
    assert not functions_of(joined([64, *[32] * 3], exponential=True))


class _OfOutput(NestRewriter):
    """Reads what is written."""

    def expression(self, x: Expression) -> Expression:
        return replace(x, buffer="y0") if isinstance(x, Load) else x


def test_pieces_that_read_what_is_written_stay_together() -> None:
    nest = kernel_of(joined([64, *[32] * 3])).nest
    assert nest is not None and len(pieces_of(nest)) == 4
    assert not pieces_of(replace(nest, body=_OfOutput().block(nest.body)))
