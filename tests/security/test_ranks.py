"""Calls of ops with one input of another rank, of no elements, or of one more or less: the record
refuses them, or takes them all the way through the passes; its rules never trip over them.

`FLOWC_FUZZ` tries every op; else those whose records did not refuse some of them once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from calls.op_examples import Case
from op_cases import TESTED, is_constant, plain_cases
from tensor_types import tensor_type

from flowc.errors import FlowcError, InternalError
from flowc.ir.builder import Builder
from flowc.ir.op import Op
from flowc.options import Options
from flowc.passes.pipeline import run_passes

ONCE_AT_FAULT = [
    "batch_matrix_band_part",
    "batch_norm_with_global_normalization",
    "batch_to_space_nd",
    "concat_offset",
    "dense_bincount",
    "lin_space",
    "lstm_block_cell",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_diag_part_v2",
    "matrix_diag_v2",
    "max_pool_v2",
    "space_to_batch_nd",
    "sparse_to_dense",
    "split_v",
]
CHOSEN = [
    op
    for op in TESTED
    if not op.is_internal and ("FLOWC_FUZZ" in os.environ or op.name in ONCE_AT_FAULT)
]


def others(array: np.ndarray) -> Iterator[np.ndarray]:
    """What may stand in place of an array."""
    yield array[None]
    yield array[None, None]
    if array.ndim == 0:
        yield np.zeros(0, array.dtype)
        yield np.zeros(2, array.dtype)
        return
    yield array.reshape(-1)[0] if array.size else np.zeros((), array.dtype)
    yield array[..., None]
    yield np.zeros((0,) * array.ndim, array.dtype)
    yield array.reshape(-1)
    yield array[:1]
    yield np.concatenate([array, array[:1]])


def fault_of(case: Case, arrays: Sequence[np.ndarray], constant: Sequence[bool]) -> str | None:
    b = Builder()
    try:
        inputs = [
            b.const(a) if c else b.parameter(f"x{i}", tensor_type(case.dtypes[i], a.shape))
            for i, (a, c) in enumerate(zip(arrays, constant))
        ]
        node = b.emit(case.op, inputs, case.attrs, origin=("y",))
        run_passes(b.build(list(node.outputs)), Options())
    except InternalError as error:
        return str(error)
    except FlowcError:
        pass
    return None


@pytest.mark.parametrize("op", CHOSEN, ids=lambda op: op.name)
def test_fuzz_no_rank_is_taken_for_granted(op: Op) -> None:
    faults: list[str] = []
    with np.errstate(all="ignore"):
        for case in plain_cases(op)[:3]:
            for i, array in enumerate(case.inputs):
                for other in others(array):
                    arrays = [*case.inputs[:i], other, *case.inputs[i + 1 :]]
                    for constant in (is_constant(case), [True] * len(arrays)):
                        fault = fault_of(case, arrays, constant)
                        if fault is not None:
                            faults.append(f"{case.text}, input {i} {other.shape}: {fault}")
    assert not faults, "\n".join(faults[:5])
