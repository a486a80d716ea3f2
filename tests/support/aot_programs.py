"""A small compiled program written by hand, for tests of the runtime and of the AOT library.

It has what the real ones have: a dynamic batch, weights, a parallel kernel, scratch memory, an
output whose size depends on values, and an error that the values can raise.

    x: f32[batch, 4], k: i64[] -> y = x * w + sum(x) over each row,  kept = the y > 0 in order,
                                  steps = 0 .. k-1, whose size no bound foretells
    k < 0 is an error of node `top/K`; k > 10 asks the arena for more memory than there is
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from flowc.codegen.compiled import CompiledProgram, ProgramMetadata
from flowc.codegen.llvm.compile import compile_module
from flowc.codegen.targets import target_named
from flowc_runtime.native import data_layout, native_module_text
from flowc_runtime.native.writer import (
    I32,
    I64,
    NULL,
    PTR,
    VOID,
    FunctionWriter,
    as_pointer,
    declare,
    i32,
    i64,
)

F32 = ir.FloatType()
WIDTH = 4
PROCESSOR = target_named("x86-64-v2").processor
RUN_ARGS: dict[str, ir.Type] = {
    "inputs": PTR, "outputs": PTR, "sizes": PTR, "weights": PTR, "threads": I64, "status": PTR,
    "interpreter": PTR,
}  # fmt: skip


def metadata(weights_bytes: int = 16) -> dict[str, Any]:
    return {
        "format": 1,
        "name": "hand",
        "inputs": [
            {"name": "in/x:0", "dtype": "f32", "dims": ["batch", WIDTH]},
            {"name": "k:0", "dtype": "i64", "dims": []},
        ],
        "outputs": [
            {"name": "y:0", "dtype": "f32", "dims": ["batch", WIDTH]},
            {"name": "kept:0", "dtype": "f32", "dims": ["kept_count"]},
            {"name": "steps:0", "dtype": "i64", "dims": ["step_count"]},
        ],
        "sizes": ["batch", "kept_count", "step_count"],
        "input_sizes": 1,
        "constraints": [],
        "errors": [
            {
                "message": "k = {a} is not in [{b}, 100%)",
                "node": "top/K",
                "class": "InvalidArgumentError",
            },
            {
                "message": "{a} bytes asked for",
                "node": "top/K",
                "class": "ResourceExhaustedError",
            },
        ],
        "weights_bytes": weights_bytes,
        "flowc": "0.0-test",
    }


described = ProgramMetadata.from_json


def expected(
    x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What the program computes, in its order of additions."""
    total = ((x[:, 0] + x[:, 1]) + x[:, 2]) + x[:, 3]
    y = x * w + total[:, None]
    return y, y[y > 0]


def program(weights: np.ndarray[Any, Any] | None = None) -> CompiledProgram:
    w = np.arange(1, WIDTH + 1, dtype=np.float32) if weights is None else weights
    objects = (compile_module([driver_text()], PROCESSOR),)
    return CompiledProgram(objects, [(0, w)], described(metadata(w.nbytes)), runtime_object())


@cache
def runtime_object() -> bytes:
    return compile_module([native_module_text(PROCESSOR.triple)], PROCESSOR)


def rows_program() -> CompiledProgram:
    """y = x * w + sum(x) over each row, alone: x: f32[batch, 4] -> y: f32[batch, 4]."""
    module = ir.Module("rows")
    module.triple = PROCESSOR.triple
    module.data_layout = data_layout(PROCESSOR.triple)
    _emit_kernel(module)
    for which in ("dims", "bounds"):
        args = {"sizes": PTR, "dims": PTR}
        w = FunctionWriter(module, f"flowc_program_output_{which}", VOID, args, linkage="hidden")
        w.store(w.load(w.args[0], i64(0)), w.args[1], i64(0))
        w.store(i64(WIDTH), w.args[1], i64(1))
        w.give()
    w = FunctionWriter(module, "flowc_program_run", I32, RUN_ARGS, linkage="hidden")
    inputs, outputs, sizes, weights, threads, *_ = w.args
    x, y = w.load(inputs, i64(0), PTR), w.load(outputs, i64(0), PTR)
    _call_rows(w, (x, y, weights), w.load(sizes, i64(0)), threads)
    w.give(i32(0))
    objects = (compile_module([str(module)], PROCESSOR),)
    known = metadata()
    ports = known | {
        "inputs": known["inputs"][:1],
        "outputs": known["outputs"][:1],
        "sizes": ["batch"],
        "errors": [],
    }
    weights = np.arange(1, WIDTH + 1, dtype=np.float32)
    return CompiledProgram(objects, [(0, weights)], described(ports), runtime_object())


def sizes_program(count: int) -> tuple[bytes, ...]:
    """A program whose one output has the sizes themselves as dims, and that computes nothing."""
    module = ir.Module("sizes")
    module.triple = PROCESSOR.triple
    module.data_layout = data_layout(PROCESSOR.triple)
    for which in ("dims", "bounds"):
        args = {"sizes": PTR, "dims": PTR}
        w = FunctionWriter(module, f"flowc_program_output_{which}", VOID, args, linkage="hidden")
        for index in range(count):
            w.store(w.load(w.args[0], i64(index)), w.args[1], i64(index))
        w.give()
    w = FunctionWriter(module, "flowc_program_run", I32, RUN_ARGS, linkage="hidden")
    w.give(i32(0))
    return (compile_module([str(module)], PROCESSOR),)


def driver_text() -> str:
    module = ir.Module("hand")
    module.triple = PROCESSOR.triple
    module.data_layout = data_layout(PROCESSOR.triple)
    _emit_kernel(module)
    _emit_sizes(module, "dims")
    _emit_sizes(module, "bounds")
    _emit_run(module)
    return str(module)


def _emit_kernel(module: ir.Module) -> None:
    args = {"buffers": PTR, "dims": PTR, "begin": I64, "end": I64, "worker": I64}
    w = FunctionWriter(module, "rows_kernel", VOID, args)
    buffers, _, begin, end, _ = w.args
    x, y, weights = (w.load(buffers, i64(n), PTR) for n in range(3))
    with w.count(w.b.sub(end, begin)) as step:
        row = w.b.mul(w.b.add(begin, step), i64(WIDTH))
        values = [w.load(x, w.b.add(row, i64(c)), F32) for c in range(WIDTH)]
        total = values[0]
        for value in values[1:]:
            total = w.b.fadd(total, value)
        for column, value in enumerate(values):
            product = w.b.fmul(value, w.load(weights, i64(column), F32))
            w.store(w.b.fadd(product, total), y, w.b.add(row, i64(column)))
    w.give()


def _emit_sizes(module: ir.Module, which: str) -> None:
    args = {"sizes": PTR, "dims": PTR}
    w = FunctionWriter(module, f"flowc_program_output_{which}", VOID, args, linkage="hidden")
    sizes, dims = w.args
    batch = w.load(sizes, i64(0))
    w.store(batch, dims, i64(0))
    w.store(i64(WIDTH), dims, i64(1))
    is_known = which == "dims"
    w.store(w.load(sizes, i64(1)) if is_known else w.b.mul(batch, i64(WIDTH)), dims, i64(2))
    w.store(w.load(sizes, i64(2)) if is_known else i64(-1), dims, i64(3))
    w.give()


def _call_rows(w: FunctionWriter, buffers: tuple[Any, ...], batch: Any, threads: Any) -> None:
    table = w.block(24)
    for place, value in enumerate(buffers):
        w.store(value, table, i64(place))
    kind = ir.FunctionType(VOID, [PTR, PTR, PTR, I64, I64, I64])
    parallel_for = declare(w.module, "flowc_parallel_for", kind)
    kernel = as_pointer(w.module.globals["rows_kernel"])
    w.b.call(parallel_for, [kernel, table, NULL, batch, i64(3), threads])


def _emit_run(module: ir.Module) -> None:
    w = FunctionWriter(module, "flowc_program_run", I32, RUN_ARGS, linkage="hidden")
    inputs, outputs, sizes, weights, threads, status, _ = w.args
    x, k = w.load(inputs, i64(0), PTR), w.load(w.load(inputs, i64(1), PTR), i64(0))

    def fail(row: int, a: Any, b: Any) -> None:
        for place, value in enumerate((i64(3), i64(row), a, b)):
            w.store(value, status, i64(place))
        w.give(i32(3))

    with w.when(w.compare("<", k, i64(0))):
        fail(0, k, i64(0))
    steps = w.call("malloc", w.b.mul(w.b.add(k, i64(1)), i64(8)))
    w.store(steps, outputs, i64(2))
    with w.count(k) as index:
        w.store(index, steps, index)
    w.store(k, sizes, i64(2))
    y, kept = (w.load(outputs, i64(n), PTR) for n in range(2))
    batch = w.load(sizes, i64(0))
    acquire = declare(module, "flowc_arena_acquire", ir.FunctionType(PTR, [I64]))
    release = declare(module, "flowc_arena_release", ir.FunctionType(VOID, [PTR]))
    bytes_needed = w.b.mul(w.b.mul(batch, i64(WIDTH)), i64(4))
    is_greedy = w.compare(">", k, i64(10))
    bytes_needed = w.b.select(is_greedy, i64(1 << 60), bytes_needed)
    scratch = w.b.call(acquire, [bytes_needed])
    with w.when(w.compare("==", scratch, NULL)):
        fail(1, bytes_needed, i64(0))
    _call_rows(w, (x, scratch, weights), batch, threads)
    count = w.variable(i64(0))
    with w.count(w.b.mul(batch, i64(WIDTH))) as index:
        value = w.load(scratch, index, F32)
        w.store(value, y, index)
        with w.when(w.b.fcmp_ordered(">", value, ir.Constant(F32, 0.0))):
            w.store(value, kept, count.get())
            count.set(w.b.add(count.get(), i64(1)))
    w.store(count.get(), sizes, i64(1))
    w.b.call(release, [scratch])
    w.give(i32(0))
