"""Device code run on the host: what becomes PTX gives what the reference gives.

`FLOWC_SIMT=1` (`make simt`) takes every op that has examples, in every dtype; else there are a few
ops of each kind of kernel, in one dtype. Every access to memory is checked on the way.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from typing import Any

import numpy as np
import pytest
from calls.op_calls import axes
from devices.device_launches import cuda_target, device_launches
from devices.simt_checks import AccessChecks, reports
from devices.simt_target import running_on_device
from op_cases import (
    EXACT,
    TESTED,
    assert_near,
    chosen_cases,
    ordinary_elements,
    placed,
    plain_cases,
    reference,
)
from op_tolerances import COMPILED, COMPILED_EXTREMES_APART
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.simt import simt_object
from flowc.codegen.link.jit import engine_of
from flowc.compiler import compile_computation
from flowc.dataclass import dataclass
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.op import Op, op_named
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes.pipeline import run_passes
from flowc.run.executable import open_program

# Pointwise with and without functions, views, reads at computed places, rows, columns, faults,
# scratch, native kernels, updates.
FEW = (
    "softmax", "mean", "tanh", "gather", "transpose", "avg_pool_grad", "top_k", "floor_mod",
    "change_slices", "unsorted_segment_sum", "cumsum", "resize_bilinear", "list_set",
)  # fmt: skip
EVERY = bool(os.environ.get("FLOWC_SIMT"))
OPS = TESTED if EVERY else [op_named(name) for name in FEW]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_device_code_agrees_with_the_reference(op: Op) -> None:
    warnings.simplefilter("ignore", RuntimeWarning)
    cases = chosen_cases(op) if EVERY else plain_cases(op)
    b, feeds = Builder(), dict[Value, np.ndarray]()
    nodes = [placed(b, case, feeds) for case in cases]
    c = b.build([v for n in nodes for v in n.outputs])
    names = [p.attrs["name"] for p in c.parameters], [f"y{i}" for i in range(len(c.results))]
    with running_on_device(checked=True), np.errstate(all="ignore"):
        program = compile_computation(c, Options(), spec_of(c, *names))
        outputs = iter(open_program(program, 1).run(list(feeds.values())))
        assert reports() == []
        for case, node in zip(cases, nodes):
            found, expected = [next(outputs) for _ in node.outputs], reference(case)
            if op.name in COMPILED_EXTREMES_APART:
                found, expected = ordinary_elements(case, found, expected)
            assert_near(case, found, expected, COMPILED.get(op.name, EXACT))


# -- the executor itself


@dataclass(frozen=True, eq=False)
class Written(DeviceKernel):
    """A kernel that is written by hand."""

    body: str = ""

    @property
    def key(self) -> str:
        return f"d_{self.entry}"

    def module_texts(self) -> list[str]:
        return [
            "declare i64 @flowc_thread() convergent nounwind\n"
            "declare i64 @flowc_block() convergent nounwind\n"
            "declare i64 @flowc_thread_of_grid() convergent nounwind\n"
            "declare void @flowc_barrier() convergent nounwind\n"
            "declare i32 @flowc_shuffle_xor_i32(i32, i32) convergent nounwind\n"
            "@tile = internal addrspace(3) global [256 x i64] zeroinitializer\n"
            f"{self.entry_head()}\n{self.body}\n}}\n"
        ]


def run(
    kernel: DeviceKernel, out: np.ndarray, blocks: int, checks: AccessChecks | None = None
) -> None:
    """The grid of a kernel with one buffer and no ints. With checks it is told that half of the
    buffer is there."""
    engine = engine_of([simt_object(kernel, cuda_target(80).processor, checks)])
    count, architecture, size, image = (ctypes.c_int64 * 4).from_address(
        engine.get_global_value_address(kernel.key)
    )
    assert (count, architecture, size) == (1, -1, 16)
    assert ctypes.string_at(image, 8) == b"FLOWCSIM"
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 5)(
        ctypes.c_void_p.from_address(image + 8).value or 0
    )
    values = (ctypes.c_int64 * 4)(out.ctypes.data, 0, out.size, out.nbytes // 2)
    step = ctypes.sizeof(ctypes.c_int64)
    table = (ctypes.c_void_p * 4)(*(ctypes.addressof(values) + i * step for i in range(4)))
    entry(table, blocks, 1, 1, kernel.block, 0)


TURNED = """
  %t = call i64 @flowc_thread()
  %g = call i64 @flowc_thread_of_grid()
  %own = getelementptr i64, ptr addrspace(3) @tile, i64 %t
  store i64 %g, ptr addrspace(3) %own
  call void @flowc_barrier()
  %r = sub i64 255, %t
  %theirs = getelementptr i64, ptr addrspace(3) @tile, i64 %r
  %v = load i64, ptr addrspace(3) %theirs
  call void @flowc_barrier()
  %p = getelementptr i64, ptr addrspace(1) %a0, i64 %g
  store i64 %v, ptr addrspace(1) %p
  ret void
"""
BUTTERFLY = """
  %t = call i64 @flowc_thread()
  %narrow = trunc i64 %t to i32
  %a = call i32 @flowc_shuffle_xor_i32(i32 %narrow, i32 1)
  %b = call i32 @flowc_shuffle_xor_i32(i32 %a, i32 16)
  %v = zext i32 %b to i64
  %p = getelementptr i64, ptr addrspace(1) %a0, i64 %t
  store i64 %v, ptr addrspace(1) %p
  ret void
"""


def test_threads_of_a_block_wait_at_its_barriers() -> None:
    out = np.zeros(3 * 256, np.int64)
    run(Written("", ("i64",), 0, entry="turned", body=TURNED), out, 3)
    np.testing.assert_array_equal(out.reshape(3, 256), np.arange(768).reshape(3, 256)[:, ::-1])


def test_threads_of_a_warp_exchange_what_they_have() -> None:
    out = np.zeros(64, np.int64)
    run(Written("", ("i64",), 0, entry="butterfly", body=BUTTERFLY, block=64), out, 1)
    np.testing.assert_array_equal(out, np.arange(64) ^ 17)


BARRIER = "  call void @flowc_barrier()\n"
PLANTS = {
    "right": (TURNED, 768, ""),
    "beside the buffer": (TURNED, 384, "writes outside: 8 bytes at 3072 of operand 0"),
    "no barrier": (TURNED.replace(BARRIER, "", 1), 768, "reads what no thread of the block wrote"),
    "one place for all blocks": (
        TURNED.replace("ptr addrspace(1) %a0, i64 %g", "ptr addrspace(1) %a0, i64 %t"),
        768,
        "a race to write: 8 bytes at 0 of operand 0, threads 256 and 0",
    ),
    "read while others write": (
        TURNED.replace(
            "  %v = load i64, ptr addrspace(3) %theirs\n" + BARRIER,
            "  %v = load i64, ptr addrspace(3) %theirs\n  store i64 %v, ptr addrspace(3) %own\n",
        ),
        768,
        "a race to write: 8 bytes at",
    ),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_accesses_beside_memory_and_races_are_found(plant: str) -> None:
    body, elements, wanted = PLANTS[plant]
    out = np.zeros(2 * elements + 768, np.int64)[: 2 * elements]
    run(Written("", ("i64",), 0, entry="planted", body=body), out, 3, AccessChecks())
    found = reports()
    assert bool(found) == bool(wanted)
    assert any(wanted in line for line in found) or not wanted, found[:3]


# -- rows that have several lanes


@pytest.mark.parametrize("rows", [3, 300])
def test_rows_of_every_length_are_folded(rows: int) -> None:
    """One thread, a few lanes, a warp, a block; rows that lanes do not divide."""
    lengths = (8, 16, 17, 64, 65, 512, 513, 2100) if rows == 3 else (7, 17, 130)
    b: Any = Builder()
    arrays = [np.random.default_rng(n).standard_normal((rows, n), np.float32) for n in lengths]
    values = [b.parameter(f"x{n}", tensor_type(dtypes.f32, (rows, n))) for n in lengths]
    axis = np.array([1], np.int32)
    results = [f for x in values for f in (b.softmax(x), b.max(x, axis), b.mean(x, axis))]
    c = b.build(results)
    names = [f"x{n}" for n in lengths], [f"y{i}" for i in range(len(results))]
    with running_on_device():
        program = compile_computation(c, Options(), spec_of(c, *names))
        found = iter(open_program(program, 1).run(arrays))
    for x in arrays:
        wide = x.astype(np.float64)
        e = np.exp(wide - wide.max(1, keepdims=True))
        np.testing.assert_allclose(next(found), e / e.sum(1, keepdims=True), rtol=3e-6)
        np.testing.assert_array_equal(next(found), x.max(1))
        np.testing.assert_allclose(next(found), wide.mean(1), rtol=1e-5, atol=1e-6)


def test_folds_of_many_elements_to_few_go_by_two_kernels() -> None:
    b: Any = Builder()
    shapes = [(70_000,), (4, 33, 190), (3, 5000)]
    arrays = [np.random.default_rng(n).standard_normal(s, np.float32) for n, s in enumerate(shapes)]
    flat, columns, rows = (
        b.parameter(f"x{i}", tensor_type(dtypes.f32, s)) for i, s in enumerate(shapes)
    )
    results = [
        b.sum(flat, axes(0)),
        b.add(b.mean(columns, axes(0, 1)), b.max(columns, axes(0, 1))),
        b.sqrt(b.sum(b.square(rows), axes(1), keep_dims=True)),
    ]
    c = b.build(results)
    names = ["x0", "x1", "x2"], ["y0", "y1", "y2"]
    fused = run_passes(c, Options())
    clusters = [n for n in fused.nodes if n.op.name == "cluster"]
    assert len(list(device_launches(fused, cuda_target(80)))) == 2 * len(clusters)
    with running_on_device():
        program = compile_computation(c, Options(), spec_of(c, *names))
        total, of_columns, of_rows = open_program(program, 1).run(arrays)
    x, y, z = (a.astype(np.float64) for a in arrays)
    np.testing.assert_allclose(total, x.sum(), rtol=1e-5)
    np.testing.assert_allclose(of_columns, y.mean((0, 1)) + y.max((0, 1)), rtol=1e-5)
    np.testing.assert_allclose(of_rows, np.sqrt((z * z).sum(1, keepdims=True)), rtol=1e-6)


@pytest.mark.parametrize("dims", [(70_001,), (65_536,), (300, 250), (3, 200, 111)])
def test_threads_compute_neighbouring_elements(dims: tuple[int, ...]) -> None:
    """Where the last dim is no multiple, or the only one and odd; of several dtypes."""
    b: Any = Builder()
    random = np.random.default_rng(1)
    arrays = [
        random.standard_normal(dims, np.float32),
        random.standard_normal(dims[-1:], np.float32),
        random.standard_normal(dims, np.float32).astype(np.float16),
    ]
    x, row, half = (
        b.parameter(f"x{i}", tensor_type(dtypes.as_dtype(a.dtype), a.shape))
        for i, a in enumerate(arrays)
    )
    c = b.build([b.relu(b.add(x, row)), b.greater(x, row), b.add(half, half)])
    names = ["x0", "x1", "x2"], ["y0", "y1", "y2"]
    with running_on_device():
        program = compile_computation(c, Options(), spec_of(c, *names))
        found = open_program(program, 1).run(arrays)
    x, row, half = arrays
    expected = [np.maximum(x + row, 0), x > row, half + half]
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.bool_, np.int64])
def test_blocks_turn_tiles(dtype: type) -> None:
    """Rows and columns that tiles do not divide, dims before and between, other reads beside."""
    b: Any = Builder()
    random = np.random.default_rng(1)
    shapes = [(33, 65), (2, 20, 3, 40)]
    arrays = [(random.standard_normal(s) * 4).astype(dtype) for s in shapes]
    kind = dtypes.as_dtype(np.dtype(dtype))
    x, y = (b.parameter(f"x{i}", tensor_type(kind, s)) for i, s in enumerate(shapes))
    turned = b.transpose(x, axes(1, 0))
    results = [turned, b.not_equal(turned, turned), b.transpose(y, axes(0, 3, 2, 1))]
    c = b.build(results)
    names = ["x0", "x1"], ["y0", "y1", "y2"]
    with running_on_device():
        program = compile_computation(c, Options(), spec_of(c, *names))
        found = open_program(program, 1).run(arrays)
    x, y = arrays
    for got, wanted in zip(found, [x.T, x.T != x.T, y.transpose(0, 3, 2, 1)], strict=True):
        np.testing.assert_array_equal(got, wanted)


# -- native kernels in the forms that many threads want

LONG = np.random.default_rng(5).integers(-4, 5, (3, 700)).astype(np.float32)
PLACES = np.random.default_rng(6).integers(0, 40_000, 300).astype(np.int32)


def _forms(b: Any) -> dict[str, tuple[Any, np.ndarray]]:
    """Results that are whole numbers, so that they do not depend on an order."""
    x = b.parameter("x", tensor_type(dtypes.f32, LONG.shape))
    at = b.parameter("at", tensor_type(dtypes.i32, PLACES.shape))
    axis, size = np.int32(1), np.int32(40_000)
    exclusive = np.cumsum(LONG[:, ::-1], 1)[:, ::-1] - LONG
    ones = np.ones(PLACES.size, np.float32)
    counts = np.bincount(PLACES, minlength=40_000)
    return {
        "cumsum": (b.cumsum(x, axis), np.cumsum(LONG, 1)),
        "cumsum from behind": (b.cumsum(x, axis, exclusive=True, reverse=True), exclusive),
        "arg_max": (b.arg_max(x, axis), LONG.argmax(1)),
        "arg_min": (b.arg_min(x, np.int32(0)), LONG.argmin(0)),
        "segments": (b.unsorted_segment_sum(ones, at, size), counts.astype(np.float32)),
        "bins": (b.bincount(at, size, np.zeros(0, np.float32)), counts.astype(np.float32)),
        "slices": (
            b.change_slices(
                np.zeros(40_000, np.float32),
                b.reshape(at, (PLACES.size, 1)),
                ones,
                combine="add",
                depth=1,
            ),
            counts.astype(np.float32),
        ),
    }


def test_long_rows_and_many_places_are_shared_by_threads() -> None:
    b: Any = Builder()
    cases = _forms(b)
    c = b.build([value for value, _ in cases.values()])
    names = ["x", "at"], [f"y{i}" for i in range(len(cases))]
    launches = list(device_launches(run_passes(c, Options()), cuda_target(80)))
    assert sum(launch.lanes == 256 for launch in launches) == 3
    with running_on_device(checked=True):
        program = compile_computation(c, Options(), spec_of(c, *names))
        found = open_program(program, 1).run([LONG, PLACES])
    assert reports() == []
    for name, got, (_, wanted) in zip(cases, found, cases.values(), strict=True):
        np.testing.assert_array_equal(got, wanted, name)
