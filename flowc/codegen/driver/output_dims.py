"""The functions that tell the dims of a program's outputs, or their upper bounds.

In: a Plan, and the sizes in the order of the run's table. Out: LLVM IR. Invariant: every dim that
is returned is valid; sizes that wrap or are negative are reported by the run itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from llvmlite import ir

from flowc.codegen.driver.size_limits import WORD
from flowc.codegen.driver.sizes import BYTES, MEMCPY, MEMCPY_TYPE, SizeFunction
from flowc.ir.dims import Dim, Symbol, is_nonnegative
from flowc.plan.plan import Plan
from flowc_runtime.native.writer import I1, I64, data_constant, declare, i64


def emit_output_dims(
    module: ir.Module,
    name: str,
    plan: Plan,
    sizes: Sequence[Symbol],
    known: Callable[[Dim], Dim | None],
) -> None:
    """`void flowc_program_output_NAME(i64* sizes, i64* dims)`: `known` of the dims of all outputs,
    one after another, -1 where that is None."""
    signature = ir.FunctionType(ir.VoidType(), [I64.as_pointer(), I64.as_pointer()])
    function = ir.Function(module, signature, f"flowc_program_output_{name}")
    f = SizeFunction(ir.IRBuilder(function.append_basic_block("entry")), {})
    given, dims = function.args
    for i, size in enumerate(sizes):
        f.bind(size, f.b.load(f.b.gep(given, [i64(i)])))
    found = [known(dim) for value in plan.computation.results for dim in value.dims]
    numbers = [-1 if d is None else d if _is_number(d) else 0 for d in found]
    _copy_numbers(f.b, dims, numbers)
    for position, dim in enumerate(found):
        if dim is not None and not _is_number(dim):
            f.b.store(_saturated(f, dim), f.b.gep(dims, [i64(position)]))
    f.b.ret_void()


def _is_number(dim: Dim) -> TypeGuard[int]:
    return isinstance(dim, int) and 0 <= dim <= WORD


def _copy_numbers(b: ir.IRBuilder, dims: ir.Value, numbers: Sequence[int]) -> None:
    """Writes the dims that are constants with one memcpy from a table: programs may have thousands
    of outputs."""
    if not numbers:
        return
    table = ir.Constant(ir.ArrayType(I64, len(numbers)), list(map(i64, numbers)))
    source = b.bitcast(data_constant(b.module, table, "dims"), BYTES)
    size = i64(len(numbers) * I64.width // 8)
    memcpy = declare(b.module, MEMCPY, MEMCPY_TYPE)
    b.call(memcpy, [b.bitcast(dims, BYTES), source, size, ir.Constant(I1, 0)])


def _saturated(f: SizeFunction, dim: Dim) -> ir.Value:
    """A size; where it wraps, one that is too large for any memory, and 0 where it is negative."""
    value, wrapped = f.exact(dim)
    if not is_nonnegative(dim):
        value = f.larger(value, i64(0))
    return value if wrapped is None else f.b.select(wrapped, i64(WORD), value)
