"""Products and convolutions as kernels of a GPU, run on this processor, against the references."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from devices.device_launches import assembled, cuda_target
from devices.simt_grid import HostGrid
from ir_reference import reference_results
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cuda import contractions
from flowc.codegen.cuda.contractions import contraction_host_reason, contraction_launches
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.target import CudaTarget
from flowc.codegen.cuda.tile import LARGE, TENSOR_TILES
from flowc.codegen.kernels.kernel import WORKSPACE
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Symbol, evaluate, symbol, symbols_of
from flowc.ir.op import op_named
from flowc.options import Options
from flowc.passes.pipeline import run_passes

Array = np.ndarray[Any, Any]
Emit = Callable[..., Any]
Typed = tuple[dtypes.DType, tuple[Dim, ...]]
TARGET = cuda_target(80)
ROUNDING = replace(TARGET, tf32=True)
CANARY = 16  # elements before and after each array that a kernel gets

# Which operands are transposed: of all ways some, unless `make simt` asks for every one.
EVERY = bool(os.environ.get("FLOWC_SIMT"))
TURNED = (
    [(False, False), (True, False), (False, True), (True, True)]
    if EVERY
    else [
        (False, False),
        (True, True),
    ]
)


def some(cases: Sequence[Any], count: int) -> Sequence[Any]:
    """The first of many cases, or all where `make simt` asks for every one."""
    return cases if EVERY else cases[:count]


ALIGNMENT = 64

_GRIDS: dict[str, HostGrid] = {}


def grid(kernel: DeviceKernel) -> HostGrid:
    """One compilation for equal kernels."""
    if kernel.key not in _GRIDS:
        _GRIDS[kernel.key] = HostGrid(kernel)
    return _GRIDS[kernel.key]


def contraction(emit: Emit, types: Sequence[Typed]) -> tuple[Computation, Node]:
    """A computation, and the one cluster that it is."""
    b = Builder()
    parameters = [b.parameter(f"x{i}", tensor_type(*t)) for i, t in enumerate(types)]
    before = b.build([emit(b, *parameters)])
    # What decomposes halves is what makes them f32 for a CPU.
    skip = ("decompose",) if types[0][0] in (dtypes.f16, dtypes.bf16) else ()
    fused = run_passes(before, Options(target="cuda", skip=skip))
    (node,) = [n for n in fused.nodes if n.op.name == "cluster"]
    assert node.attrs["kind"] in ("matmul", "convolution")
    # The product itself is a result too where nothing of its dtype is one.
    assert fused.results == node.outputs[-1:]
    return before, node


def run(
    node: Node,
    given: Sequence[Array],
    sizes: Mapping[Symbol, int],
    target: CudaTarget,
    fault: Sequence[int] = (0, 0, 0, 0),
) -> list[Array]:
    """The cluster's results, from a grid on this processor, which leaves these words of a fault."""
    assert contraction_host_reason(node) is None
    known: dict[Value, Array] = dict(zip([v for v in node.inputs if v.constant is None], given))
    known |= {v: v.constant for v in node.inputs if v.constant is not None}
    results = {
        v: guarded(np.empty(known_dims(v.dims, sizes), v.type.dtype.numpy)) for v in node.outputs
    }
    places = {v: guarded(a) for v, a in known.items()} | results
    status = np.zeros(4, np.int64)
    before = {v: x[0].copy() for v, x in places.items() if v not in results}
    launches = contraction_launches(node, target)
    (most,) = known_dims([x.workspace for x in launches[:1]], sizes)
    workspace = guarded(np.empty(most, np.uint8))
    for launch in launches:
        assert isinstance(launch.kernel, DeviceKernel)
        arrays = [
            places[o][1] if isinstance(o, Value) else workspace[1] if o == WORKSPACE else status
            for o in launch.operands
        ]
        blocks, *ints = known_dims((launch.grid[0], *launch.ints), sizes)
        assert launch.grid[1:] == (1, 1)
        if blocks:
            grid(launch.kernel).run(arrays, ints, blocks)
    for v, whole in before.items():
        np.testing.assert_array_equal(places[v][0], whole)
    for whole, inside in (*results.values(), workspace):
        edge = np.concatenate([whole[:CANARY], whole[CANARY + inside.size :]])
        assert (edge.view(np.uint8) == 0xA5).all(), "written past the result"
    assert tuple(status) == tuple(fault)
    return [x for _, x in results.values()]


def known_dims(dims: Sequence[Dim], sizes: Mapping[Symbol, int]) -> tuple[int, ...]:
    return tuple(evaluate(d, sizes) for d in dims)


def guarded(x: Array) -> tuple[Array, Array]:
    """Memory with an array in it, and the array."""
    size = (x.size + 2 * CANARY) * x.itemsize
    raw = np.full(size + ALIGNMENT, 0xA5, np.uint8)
    first = -raw.ctypes.data % ALIGNMENT
    whole = raw[first : first + size].view(x.dtype)
    inside = whole[CANARY : CANARY + x.size].reshape(x.shape)
    if x.size:
        inside[...] = x
    return whole, inside


def numbers(dtype: dtypes.DType, shape: tuple[int, ...], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if dtype.is_integer:
        return rng.integers(-50 if dtype.kind == "int" else 0, 50, shape).astype(dtype.numpy)
    return rng.standard_normal(shape).astype(dtype.numpy)


def check(
    emit: Emit,
    types: Sequence[Typed],
    target: CudaTarget = TARGET,
    within: float = 2e-6,
    **named: int,
) -> None:
    """`within`: of the largest element. `named`: the sizes of symbols."""
    before, node = contraction(emit, types)
    sizes = {s: named[s.name] for s in symbols_of(*(d for _, dims in types for d in dims))}
    given = [numbers(t, known_dims(s, sizes), i) for i, (t, s) in enumerate(types)]
    found, (wanted,) = run(node, given, sizes, target)[-1], reference_results(before, given)
    assert found.dtype == wanted.dtype
    largest = float(np.abs(wanted).max(initial=0))
    if dtypes.as_dtype(found.dtype) in (dtypes.f16, dtypes.bf16):
        found, wanted = found.astype(np.float32), wanted.astype(np.float32)
        within = 2.0**-10 if types[0][0] is dtypes.f16 else 2.0**-7
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5 + within * largest)


F32 = dtypes.f32
SHAPES = [
    ((1, 1), (1, 1)), ((64, 64), (64, 64)), ((65, 16), (16, 63)), ((3, 130), (130, 70)),
    ((130, 17), (17, 200)), ((0, 5), (5, 3)), ((5, 3), (3, 0)), ((4, 0), (0, 5)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), some(SHAPES, 4))
@pytest.mark.parametrize("turned", TURNED)
def test_products(left: tuple[int, int], right: tuple[int, int], turned: tuple[bool, bool]) -> None:
    a, b = (s[::-1] if t else s for s, t in zip((left, right), turned))
    check(
        lambda k, x, y: k.mat_mul(x, y, transpose_a=turned[0], transpose_b=turned[1]),
        [(F32, a), (F32, b)],
    )


LARGE_SHAPES = [((1, 9), (9, 1)), ((128, 8), (8, 128)), ((200, 13), (13, 129))]


@pytest.mark.parametrize(("left", "right"), some(LARGE_SHAPES, 1))
@pytest.mark.parametrize("turned", [(False, False), (True, True)])
def test_products_in_large_tiles(
    left: tuple[int, int],
    right: tuple[int, int],
    turned: tuple[bool, bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contractions, "product_tile", lambda *_: LARGE)
    test_products(left, right, turned)


THIN = [
    ((1, 700), (700, 200)), ((8, 600), (600, 3)), ((300, 513), (513, 1)), ((7, 0), (0, 9)),
    ((20, 2000), (2000, 30)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), some(THIN, 3))
def test_long_sums_are_split(left: tuple[int, int], right: tuple[int, int]) -> None:
    _, node = contraction(lambda k, x, y: k.mat_mul(x, y), [(F32, left), (F32, right)])
    assert len(contraction_launches(node, TARGET)) == (2 if left[1] else 1)
    bias = (F32, right[1:])

    def emit(k: Builder, x: Value, y: Value, z: Value) -> Value:
        return k.relu(k.add(k.mat_mul(x, y), z))

    check(emit, [(F32, left), (F32, right), bias])
    turned = [(F32, left[::-1]), (F32, right[::-1]), bias]
    check(lambda k, x, y, z: k.add(k.mat_mul(x, y, transpose_a=True, transpose_b=True), z), turned)


BATCHES = [
    ((3, 20, 7), (3, 7, 33)), ((1, 1, 5, 9), (2, 4, 9, 6)), ((4, 70, 5), (5, 9)),
    ((1, 3, 4), (5, 4, 2)), ((0, 3, 4), (0, 4, 2)), ((2, 3, 0), (2, 0, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), some(BATCHES, 3))
def test_batches(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(lambda k, x, y: k.batch_mat_mul(x, y), [(F32, left), (F32, right)])
    turned = [(F32, (*s[:-2], s[-1], s[-2])) for s in (left, right)]
    check(lambda k, x, y: k.batch_mat_mul(x, y, adj_x=True, adj_y=True), turned)


@pytest.mark.parametrize(
    "dtype",
    [dtypes.f64, dtypes.i32, dtypes.i64, dtypes.u8, dtypes.u16, dtypes.u32, dtypes.i16],
)
def test_dtypes(dtype: dtypes.DType) -> None:
    types = [(dtype, (2, 66, 19)), (dtype, (2, 19, 5))]
    check(lambda k, x, y: k.batch_mat_mul(x, y), types)


def test_pieces_side_by_side() -> None:
    types = [(F32, (33, 5)), (F32, (33, 1)), (F32, (33, 0)), (F32, (33, 40)), (F32, (46, 17))]

    def emit(k: Builder, *x: Value) -> Value:
        attrs = {"transpose_b": False, "N": len(x) - 1}
        return k.emit(op_named("joined_mat_mul"), x, attrs).output

    check(emit, types)


EPILOGUES: list[tuple[Emit, list[tuple[int, ...]]]] = [
    (lambda k, x, y, z: k.tanh(k.add(k.mat_mul(x, y), z)), [(20, 30), (30, 40), (40,)]),
    (lambda k, x, y, z: k.mul(k.mat_mul(x, y), z), [(70, 3), (3, 66), (70, 1)]),
    (
        lambda k, x, y, z: k.add(k.cast(k.mat_mul(x, y), DstT=dtypes.f64), z),
        [(5, 3), (3, 7), (5, 7)],
    ),
    (
        lambda k, x, y, z: k.relu(k.add(k.batch_mat_mul(x, y), z)),
        [(3, 20, 7), (3, 7, 33), (3, 1, 33)],
    ),
]


@pytest.mark.parametrize(("emit", "shapes"), some(EPILOGUES, 3))
def test_what_follows_a_product(emit: Emit, shapes: Sequence[tuple[int, ...]]) -> None:
    types = [(F32, s) for s in shapes]
    check(emit, types if shapes[0] != (5, 3) else [*types[:2], (dtypes.f64, shapes[2])])


def test_the_first_fault_of_what_follows_is_told() -> None:
    def emit(k: Builder, x: Value, y: Value, table: Value, rows: Value) -> Value:
        return k.add(k.mat_mul(x, y), k.gather(table, rows, np.int32(0)))

    types = [(F32, (20, 3)), (F32, (3, 40)), (F32, (9, 40)), (dtypes.i32, (20,))]
    before, node = contraction(emit, types)
    given = [numbers(t, s, i) for i, (t, s) in enumerate(types[:3])]
    rows = np.arange(20, dtype=np.int32) % 9
    (wanted,) = reference_results(before, [*given, rows])
    (found,) = run(node, [*given, rows], {}, TARGET)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
    rows[7] = 12
    run(node, [*given, rows], {}, TARGET, (1, 12, 9, 0))


Convolution = tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]
CONVOLUTIONS: list[Convolution] = [
    ((2, 9, 11, 3), (3, 3, 3, 8), {"strides": [1, 1, 1, 1], "padding": "SAME"}),
    ((1, 12, 7, 4), (5, 2, 4, 70), {"strides": [1, 2, 3, 1], "padding": "VALID"}),
    ((3, 8, 8, 6), (1, 1, 6, 5), {"strides": [1, 2, 2, 1], "padding": "SAME"}),
    (
        (1, 10, 9, 2),
        (3, 3, 2, 3),
        {"strides": [1, 1, 1, 1], "padding": "SAME", "dilations": [1, 2, 3, 1]},
    ),
    (
        (2, 6, 5, 4),
        (2, 3, 2, 6),
        {
            "strides": [1, 2, 1, 1],
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, 1, 2, 3, 0, 0, 0],
        },
    ),
    ((0, 6, 5, 4), (2, 3, 4, 6), {"strides": [1, 1, 1, 1], "padding": "SAME"}),
]


@pytest.mark.parametrize(("image", "weights", "attrs"), some(CONVOLUTIONS, 3))
def test_convolutions(
    image: tuple[int, ...], weights: tuple[int, ...], attrs: dict[str, Any]
) -> None:
    check(lambda k, x, w: k.conv2d(x, w, **attrs), [(F32, image), (F32, weights)])


def test_convolutions_of_volumes() -> None:
    attrs = {"strides": [1, 1, 2, 1, 1], "padding": "SAME"}
    check(lambda k, x, w: k.conv3d(x, w, **attrs), [(F32, (2, 4, 5, 6, 3)), (F32, (2, 3, 3, 3, 4))])


def test_what_follows_a_convolution() -> None:
    types = [(F32, (2, 7, 6, 3)), (F32, (3, 3, 3, 10)), (F32, (10,))]

    def emit(k: Builder, x: Value, w: Value, bias: Value) -> Value:
        found = k.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME")
        return k.relu(k.add(found, bias))

    check(emit, types)


DEPTHWISE = [
    ((2, 7, 9, 5), (3, 3, 5, 1), [1, 1, 1, 1]), ((1, 8, 8, 40), (3, 2, 40, 1), [1, 2, 2, 1]),
    ((1, 5, 6, 3), (2, 2, 3, 4), [1, 1, 1, 1]), ((1, 9, 8, 4), (6, 5, 4, 1), [1, 1, 1, 1]),
]  # fmt: skip


@pytest.mark.parametrize(("image", "weights", "strides"), DEPTHWISE)
def test_depthwise_convolutions(
    image: tuple[int, ...], weights: tuple[int, ...], strides: list[int]
) -> None:
    check(
        lambda k, x, w: k.depthwise_conv2d(x, w, strides=strides, padding="SAME"),
        [(F32, image), (F32, weights)],
    )


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 1), (1, 2)])
def test_transposed_convolutions(stride: int, dilation: int) -> None:
    """Of constant weights and many channels; others are written as plain ones before."""
    weights = numbers(F32, (3, 2, 65, 6), 7)
    sizes = np.array([2, 9, 8, 65], np.int32)
    out = [(d + stride - 1) // stride for d in (9, 8)]

    def emit(k: Builder, dy: Value) -> Value:
        return k.conv2d_backprop_input(
            sizes,
            weights,
            dy,
            strides=[1, stride, stride, 1],
            dilations=[1, dilation, dilation, 1],
            padding="SAME",
        )

    check(emit, [(F32, (2, *out, 6))])


@pytest.mark.parametrize("batch", [0, 1, 5])
def test_sizes_that_only_a_run_knows(batch: int) -> None:
    n = symbol("batch")

    def dense(k: Builder, x: Value, y: Value, z: Value) -> Value:
        return k.tanh(k.add(k.mat_mul(x, y), z))

    check(dense, [(F32, (n, 40)), (F32, (40, 30)), (F32, (30,))], batch=batch)
    for channels, weights in ((8, (3, 3, 8, 7)), (8, (3, 3, 2, 8))):

        def convolved(k: Builder, x: Value, w: Value) -> Value:
            return k.relu(k.conv2d(x, w, strides=[1, 2, 2, 1], padding="SAME"))

        check(convolved, [(F32, (n, 6, 5, channels)), (F32, weights)], batch=batch)


TENSOR_DTYPES = [dtypes.f32, dtypes.f16, dtypes.bf16]


@pytest.mark.parametrize("dtype", some(TENSOR_DTYPES, 2))
@pytest.mark.parametrize("turned", TURNED[-1:] if not EVERY else TURNED)
def test_tensor_cores_multiply(dtype: dtypes.DType, turned: tuple[bool, bool]) -> None:
    for left, right in (((72, 40), (40, 96)), ((17, 13), (13, 30))):
        a, b = (s[::-1] if t else s for s, t in zip((left, right), turned))

        def emit(k: Builder, x: Value, y: Value) -> Value:
            return k.mat_mul(x, y, transpose_a=turned[0], transpose_b=turned[1])

        check(emit, [(dtype, a), (dtype, b)], ROUNDING, 1e-3)


@pytest.mark.parametrize("dtype", some(TENSOR_DTYPES, 2))
def test_large_tiles_of_tensor_cores(dtype: dtypes.DType, monkeypatch: pytest.MonkeyPatch) -> None:
    large = TENSOR_TILES[dtype.size][0]
    monkeypatch.setattr(contractions, "product_tile", lambda *_: large)
    types = [(dtype, (130, 48)), (dtype, (48, 136))]
    check(lambda k, x, y: k.relu(k.mat_mul(x, y)), types, ROUNDING, 1e-3)


@pytest.mark.parametrize("dtype", some(TENSOR_DTYPES, 2))
def test_tensor_cores_convolve(dtype: dtypes.DType) -> None:
    types = [(dtype, (2, 7, 6, 8)), (dtype, (3, 3, 8, 16))]
    check(
        lambda k, x, w: k.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), types, ROUNDING, 1e-3
    )


def test_operands_that_32_bits_do_not_count_stay_on_the_host() -> None:
    types = [(F32, (2, 1 << 30)), (F32, (1 << 30, 1))]
    _, node = contraction(lambda k, x, y: k.mat_mul(x, y), types)
    assert "32 bits" in (contraction_host_reason(node) or "")


SQUARE: list[Typed] = [(F32, (4096, 64)), (F32, (64, 4096))]
ASSEMBLED: list[tuple[int, bool, Emit, Sequence[Typed]]] = [
    *((a, False, lambda k, x, y: k.mat_mul(x, y), SQUARE) for a in (70, 90, 120)),
    *(
        (
            a,
            False,
            lambda k, x, w: k.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"),
            [(F32, (32, 28, 28, 128)), (F32, (3, 3, 128, 128))],
        )
        for a in (75, 90)
    ),
    (100, True, lambda k, x, y: k.relu(k.mat_mul(x, y)), SQUARE),
    (89, True, lambda k, x, y: k.mat_mul(x, y), [(dtypes.bf16, s) for _, s in SQUARE]),
]


@pytest.mark.parametrize(("architecture", "tf32", "emit", "types"), ASSEMBLED)
def test_large_tiles_fit_in_registers(
    architecture: int, tf32: bool, emit: Emit, types: Sequence[Typed]
) -> None:
    target = replace(cuda_target(architecture), tf32=tf32)
    (launch,) = contraction_launches(contraction(emit, types)[1], target)
    kernel = launch.kernel
    assert isinstance(kernel, DeviceKernel)
    cubin = assembled(kernel, architecture)
    assert cubin.spills == 0 and cubin.stack == 0
    assert cubin.registers * kernel.block <= 65536
    assert 2 * cubin.shared <= 100 << 10
