"""Cases of ops as programs whose sizes only the run knows.

In: a case of an op. Out: a Computation in which sizes of what is fed are symbols. Invariant: a size
of 1, which broadcasts, and one of 0 stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from calls.op_examples import Case
from op_cases import is_constant

from flowc.errors import FlowcError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.dims import symbol
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.passes.pipeline import run_passes

Axis = tuple[int, int]  # of an input


def axes_of(case: Case) -> list[Axis]:
    """The sizes that may be a symbol: those of what is fed, but for 1, which broadcasts, and 0."""
    return [
        (i, d)
        for i, (constant, a) in enumerate(zip(is_constant(case), case.inputs))
        for d, size in enumerate(a.shape)
        if size > 1 and not constant
    ]


def with_open_sizes(case: Case, axes: Collection[Axis]) -> Computation:
    b = Builder()
    inputs = []
    for i, (constant, a) in enumerate(zip(is_constant(case), case.inputs)):
        dims = tuple(symbol(f"n{i}_{d}") if (i, d) in axes else s for d, s in enumerate(a.shape))
        kind = TensorType(case.dtypes[i], dims)
        inputs.append(b.const(a, case.dtypes[i]) if constant else b.parameter(f"x{i}", kind))
    return b.build(b.emit(case.op, inputs, case.attrs, origin=(case.name,)).outputs)


def refusal(case: Case, axes: Collection[Axis]) -> FlowcError | None:
    """What the compiler says of these open sizes before it makes kernels."""
    try:
        run_passes(with_open_sizes(case, axes), Options())
    except FlowcError as error:
        return error
    return None


def open_axes(case: Case) -> list[Axis]:
    """As many sizes as may be open at once."""
    every = axes_of(case)
    if refusal(case, every) is None:
        return every
    found: list[Axis] = []
    for axis in every:
        if refusal(case, [*found, axis]) is None:
            found.append(axis)
    return found


def fed(case: Case, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [a for a, constant in zip(arrays, is_constant(case)) if not constant]
