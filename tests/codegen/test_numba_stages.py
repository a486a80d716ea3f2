"""The stages of Numba that kernels go through: types of variables, and text that repeats."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from numba.core import types

from flowc import dtypes
from flowc.codegen.cpu.numba_frontend import kernel_text
from flowc.codegen.cpu.numba_stages import _typed
from flowc.codegen.kernels.kernel import Kernel

SOURCE = """
def kernel(x, y, n, begin, end):
    for i in range(begin, end):
        {body}
"""
ALIKE = "v = f32(0.0)\n        v = v + x[i]\n        y[i] = v"
# The two values of `v` have nothing in common: mixed, the division would be of floats.
MIXED = "v = n\n        w = v // 2\n        v = x[i]\n        y[i] = v + f32(w)"


def kernel(body: str) -> Kernel:
    return Kernel(SOURCE.format(body=body), ("f32", "f32"), 1)


@pytest.mark.parametrize("body, halves", [(ALIKE, {"float32"}), (MIXED, {"int64", "float32"})])
def test_values_of_one_variable_keep_their_types(body: str, halves: set[str]) -> None:
    space: dict[str, object] = {"f32": types.float32}
    exec(SOURCE.format(body=body), space)
    pointer = types.CPointer(types.float32)
    arguments = (pointer, pointer, types.int64, types.int64, types.int64)
    _, typemap, _ = _typed(space["kernel"], arguments)
    assert {str(t) for name, t in typemap.items() if name.split(".")[0] == "v"} == halves


def test_a_rejected_kernel_is_named_with_its_source() -> None:
    from flowc.errors import InternalError

    with pytest.raises(InternalError, match="unknown_name"):
        kernel_text(kernel("y[i] = unknown_name(x[i])"))


def test_text_depends_neither_on_order_nor_on_threads() -> None:
    kernels = [kernel(ALIKE), kernel(MIXED)] * 4
    alone = [kernel_text(k) for k in kernels]
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(kernel_text, kernels[::-1])) == alone[::-1]


def test_what_constants_rule_out_need_not_fit_the_types() -> None:
    source = """def kernel(x, y, begin, end):
    for i in range(begin, end):
        if WHOLE == 0:
            y[i] = x[i] + x[i]
        else:
            y[i] = x[i] << x[i]
"""
    kernel = Kernel(source, (dtypes.f32, dtypes.f32), 0, constants={"WHOLE": 0})
    assert "define" in kernel_text(kernel)
