"""Elementwise ops on everything: all 2^16 numbers of f16 and bf16, all pairs of 8-bit integers, and
numbers all over f32.

`FLOWC_FUZZ` tries every op; else a few of them. `FLOWC_ALL_FLOATS` takes all 2^32 numbers of f32,
which are minutes for each op; else every 1,031st.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from calls.native_calls import compiled
from calls.op_examples import Case, cases_of
from closeness import difference
from op_cases import EXACT, TESTED, is_extreme, reference
from op_tolerances import COMPILED, COMPILED_EXTREMES_APART

from flowc import dtypes
from flowc.ir.lowering import Elementwise

STEP = 1 if "FLOWC_ALL_FLOATS" in os.environ else 1031
PIECE = 1 << 22  # numbers that are tried at once
FEW = {"left_shift": (dtypes.i8,)}

# Two take a single shape; the other is rounded once, and its reference after every product.
NOT_TRIED = {"ensure_shape", "placeholder_with_default", "selu"}


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
            singles = len(case.inputs) == 1 and dtype is dtypes.f32 and "FLOWC_FUZZ" in os.environ
            if floats or pairs or singles:
                seen.add(dtype)
                yield case


def everything(case: Case) -> Iterator[list[np.ndarray]]:
    """All operands, in pieces."""
    kind = case.dtypes[0].numpy
    if kind == np.float32:
        for start in range(0, 2**32, STEP * PIECE):
            codes = np.arange(start, min(start + STEP * PIECE, 2**32), STEP, dtype=np.uint64)
            yield [codes.astype(np.uint32).view(kind)]
    elif len(case.inputs) == 1:
        yield [np.arange(2**16, dtype=np.uint16).view(kind)]
    else:
        every = np.arange(256, dtype=np.uint8).view(kind)
        yield [np.repeat(every, 256), np.tile(every, 256)]


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("case", cases(), ids=lambda c: c.name)
def test_fuzz_every_number(case: Case) -> None:
    for arrays in everything(case):
        check(case, arrays)


def check(case: Case, arrays: list[np.ndarray]) -> None:
    if case.op.name in COMPILED_EXTREMES_APART:
        arrays = [a[~is_extreme(a)] for a in arrays]
    if case.op.name.startswith("bessel") and case.dtypes[0] is dtypes.f32:
        arrays = [a[np.abs(a) < 1e6] for a in arrays]  # beyond, f32 has no phase
    if any(word in case.op.name for word in ("div", "mod")) and case.dtypes[0].is_integer:
        arrays = [a[arrays[1] != 0] for a in arrays]  # which ends the run
    with np.errstate(all="ignore"):
        (expected,) = reference(case, arrays)
        (found,) = compiled(case.op.name, arrays, **case.attrs)
    wrong = difference(found, expected, COMPILED.get(case.op.name, EXACT))
    assert wrong is None, f"of {arrays[0][:1]} and so on: {wrong}"
