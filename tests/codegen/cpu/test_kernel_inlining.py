"""Functions that native kernels call: how they are written into the kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flowc.codegen.cpu.kernel_inlining import kernel_source
from flowc.errors import InternalError

SCALE = 0  # a constant of kernels: what it is when they are made is given below


def scaled(x: Any, i: int) -> Any:
    """Of one value."""
    product = x[i] * SCALE
    return product


def ends(low: int, high: int, limit: int) -> Any:
    high = limit if high > limit else high
    if low < 0:
        low = 0
    return low, high


def turned(a: int, b: int) -> Any:
    return b, a


def fill(y: Any, begin: int, end: int, value: Any) -> None:
    for i in range(begin, end):
        y[i] = value


def fill_scaled(x: Any, y: Any, begin: int, end: int) -> None:
    fill(y, begin, end, 0)
    for i in range(begin, end):
        y[i] += scaled(x, i)


def calls_others(x: Any, y: Any, begin: int, end: int) -> None:
    low, high = ends(begin - 2, end + 5, 6)
    fill_scaled(x, y, low, high)
    if high > low:
        low, high = turned(low, high)
        y[0] = low
        y[1] = high
    product = scaled(x, 2)
    y[2] += product


def calls_none(x: Any, y: Any, begin: int, end: int) -> None:
    y[begin] = x[begin]  # a remark


def in_expression(x: Any, y: Any, begin: int, end: int) -> None:
    if begin < end:
        y[begin] = 1 + scaled(x, begin)


def leaves_early(x: Any) -> int:
    if x[0] > 0:
        return 1
    return 2


def calls_early(x: Any, y: Any, begin: int, end: int) -> None:
    y[0] = leaves_early(x)


def too_few(x: Any, y: Any, begin: int, end: int) -> None:
    y[0] = scaled(x)  # pyright: ignore[reportCallIssue]


def without_result(x: Any, y: Any, begin: int, end: int) -> None:
    y[0] = fill(y, begin, end, 0)


def test_a_kernel_with_its_calls_inlined_computes_what_it_says() -> None:
    space: dict[str, Any] = {"SCALE": 3}
    exec(kernel_source(calls_others), space)
    x, y = np.arange(6.0), np.full(6, -1.0)
    space["calls_others"](x, y, 1, 4)
    assert y.tolist() == [6, 0, 12, 9, 12, 15]


def test_no_call_is_left_and_every_call_has_its_own_variables() -> None:
    source = kernel_source(calls_others)
    assert not any(f"{name}(" in source for name in ("scaled", "ends", "turned", "fill"))
    assert len(set(re.findall(r"product__\d+", source))) == 2


def test_a_kernel_that_calls_none_stays_as_it_is_written() -> None:
    assert "# a remark" in kernel_source(calls_none)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (in_expression, "must be a statement"),
        (calls_early, "returns at its end only"),
        (too_few, "its 2 arguments"),
        (without_result, "which there is not"),
    ],
)
def test_other_forms_are_refused(kernel: Callable[..., None], message: str) -> None:
    with pytest.raises(InternalError, match=message):
        kernel_source(kernel)
