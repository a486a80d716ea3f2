"""Elementwise ops on everything: all 2^16 numbers of f16 and bf16, all pairs of 8-bit integers.

`FLOWC_FUZZ` tries every op; else a few of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from closeness import difference
from native_calls import compiled
from op_cases import EXACT, TESTED, is_extreme, reference
from op_examples import Case, cases_of
from op_tolerances import COMPILED, COMPILED_EXTREMES_APART

from flowc import dtypes
from flowc.ir.lowering import Elementwise

FEW = {"left_shift": (dtypes.i8,)}

# One takes a single shape; the other is rounded once, and its reference after every product.
NOT_TRIED = {"ensure_shape", "selu"}


def cases() -> Iterator[Case]:
    """One of each op and dtype, of which all numbers are taken, whatever the example gives."""
    for op in TESTED:
        if not isinstance(op.lowering, Elementwise) or op.name in NOT_TRIED:
            continue
        seen: set[dtypes.DType] = set()
        for case in cases_of(op):
            kinds = set(case.dtypes)
            dtype = case.dtypes[0] if len(kinds) == 1 else None
            floats = len(case.inputs) == 1 and dtype in (dtypes.f16, dtypes.bf16)
            pairs = len(case.inputs) == 2 and dtype in (dtypes.i8, dtypes.u8)
            anything = all(x.domain in ("finite", "any", "nonzero") for x in case.operands)
            chosen = "FLOWC_FUZZ" in os.environ or dtype in FEW.get(op.name, ())
            if dtype is None or dtype in seen or not (anything and chosen):
                continue
            if floats or pairs:
                seen.add(dtype)
                yield case


def everything(case: Case) -> list[np.ndarray]:
    kind = case.dtypes[0].numpy
    if len(case.inputs) == 1:
        return [np.arange(2**16, dtype=np.uint16).view(kind)]
    every = np.arange(256, dtype=np.uint8).view(kind)
    return [np.repeat(every, 256), np.tile(every, 256)]


@pytest.mark.parametrize("case", cases(), ids=lambda c: c.name)
def test_fuzz_every_number(case: Case) -> None:
    arrays = everything(case)
    if case.op.name in COMPILED_EXTREMES_APART:
        arrays = [a[~is_extreme(a)] for a in arrays]
    if any(word in case.op.name for word in ("div", "mod")) and case.dtypes[0].is_integer:
        arrays = [a[arrays[1] != 0] for a in arrays]  # which ends the run
    with np.errstate(all="ignore"):
        (expected,) = reference(case, arrays)
        (found,) = compiled(case.op.name, arrays, **case.attrs)
    wrong = difference(found, expected, COMPILED.get(case.op.name, EXACT))
    assert wrong is None, wrong
