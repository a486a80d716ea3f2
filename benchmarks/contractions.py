"""Speed of the contraction kernels on one thread: matrix products beside NumPy's BLAS, and
ResNet-50's convolutions beside the machine's peak and beside NumPy's product of the same size
(a convolution that would find its patches for nothing).

Part of `benchmarks/run.py`; alone, `OPENBLAS_NUM_THREADS=1 python benchmarks/contractions.py
[gemm|conv|depthwise|compile ...]`. Every round measures ours, peak and the peer one by one. The
`peak` column is the time that the machine's multiply-adds would take.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from compiled_source import Compiled
from rounds import Row, compare, show

from flowc import dtypes
from flowc.codegen.cpu.blocked import Argument, ContractionSource
from flowc.codegen.cpu.convolution import ConvSpec, conv_source
from flowc.codegen.cpu.depthwise import DepthwiseSpec, depthwise_source, pack_depthwise
from flowc.codegen.cpu.packing import pack_conv_weights, pack_gemm_b
from flowc.codegen.cpu.products.gemm import GemmSpec, gemm_source
from flowc.codegen.cpu.products.gemm_m_vectorized import is_turned, turned_columns, turned_source
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.cpu.tiles import TileShape, tile_shape
from flowc.codegen.llvm.vector_ir import (
    I64,
    Routine,
    Values,
    element_type,
    load_vector,
    multiply_add,
    store_vector,
)
from flowc_runtime.native.writer import i64

ROUNDS = 11
READINGS = 15
CHAINS = 12  # independent sums: more than latency x units needs, fewer than the registers


def _emit_multiply_adds(b: ir.IRBuilder, values: Values, shape: TileShape) -> None:
    """`count` rounds of CHAINS multiply-adds that stay in registers."""
    pointer, count = values
    lanes, size = shape.lanes, shape.dtype.size
    vector = ir.VectorType(element_type(shape.dtype), lanes)
    factor = load_vector(b, pointer, lanes, size)
    entry, loop, done = b.block, b.append_basic_block("loop"), b.append_basic_block("done")
    b.branch(loop)
    b.position_at_end(loop)
    index = b.phi(I64)
    sums = [b.phi(vector) for _ in range(CHAINS)]
    totals = [multiply_add(b, factor, factor, total) for total in sums]
    following = b.add(index, i64(1))
    index.add_incoming(i64(0), entry)
    index.add_incoming(following, loop)
    for total, next_total in zip(sums, totals):
        total.add_incoming(factor, entry)
        total.add_incoming(next_total, loop)
    b.cbranch(b.icmp_signed("<", following, count), loop, done)
    b.position_at_end(done)
    for i, total in enumerate(totals):
        store_vector(b, total, b.gep(pointer, [i64(i * lanes)]), size)


def peak_meter(shape: TileShape) -> Callable[[], float]:
    """A function that measures what multiply-adds in registers reach, in GFLOP/s: the median of
    some readings, after as many in which the core settles on wide vectors."""
    emit = lambda b, values: _emit_multiply_adds(b, values, shape)
    symbols = {"multiply_adds": Routine("multiply_adds", shape.dtype, "pi", emit).intrinsic()}
    text = "def peak(p, count, begin, end):\n    multiply_adds(p, count)\n"
    arguments = (Argument("p", shape.dtype), *(Argument(n) for n in ("count", "begin", "end")))
    kernel = Compiled(ContractionSource("peak", text, arguments, "1", 0, symbols))
    space, count = np.zeros(CHAINS * shape.lanes, shape.dtype.numpy), 40_000
    call = kernel.bind(space, count=count)

    def measure() -> float:
        seconds = statistics.median([timed(call) for _ in range(2 * READINGS)][READINGS:])
        return 2 * CHAINS * shape.lanes * count / seconds / 1e9

    measure()
    return measure


def timed(call: Callable[[], Any]) -> float:
    """Seconds of processor time, so that waiting for a core does not count."""
    start = time.thread_time()
    call()
    return time.thread_time() - start


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Random numbers at a multiple of 64 bytes, where an arena has its buffers."""
    count = int(np.prod(shape))
    space = np.empty(count + 64, dtype)
    start = -space.ctypes.data % 64 // dtype.itemsize
    array = space[start : start + count].reshape(shape)
    array[...] = np.random.random_sample(shape)
    return array


def contest(
    name: str,
    operations: float,
    peak: Callable[[], float],
    ours: Callable[[], Any],
    peer: Callable[[], Any] | None = None,
    goal: str = "",
) -> Row:
    """A row of processor time beside the time at the peak, and beside NumPy's."""
    contestants = {"peak": lambda: operations / peak() / 1e9}
    if peer is not None:
        contestants["NumPy"] = lambda: timed(peer)
    return compare(name, lambda: timed(ours), contestants, rounds=ROUNDS, goal=goal)


def bench_gemm(shape: TileShape, peak: Callable[[], float]) -> list[Row]:
    kernels = Compiled(gemm_source(GemmSpec(shape))), Compiled(turned_source(shape))
    rows = []
    squares = [(n, n, n) for n in (256, 512, 1024, 2048)]
    for m, n, k in [*squares, (1, 1024, 1024), (16, 4096, 1024), (128, 3072, 768), (512, 64, 512)]:
        a, b, c, d = (aligned(s, shape.dtype.numpy) for s in ((m, k), (k, n), (m, n), (m, n)))
        turned = is_turned(shape, m, n, k)
        kernel = kernels[turned]
        packed = pack_gemm_b(b, shape, turned_columns(shape) if turned else 0).array()
        sizes = dict(batch=1, m=m, n=n, k=k, a_stride=k, c_stride=n, a_batch=0, b_batch=0)
        goal = "NumPy 0.85x" if m == n == k else ""
        ours = kernel.bind(a, packed, c, **sizes)
        peer = partial(np.matmul, a, b, out=d)
        rows.append(contest(f"matmul {m}x{n}x{k}", 2 * m * n * k, peak, ours, peer, goal))
    return rows


Layer = tuple[int, int, int, int, int, int]  # input size, channels, out, kernel, stride, how many


def resnet50_layers() -> list[Layer]:
    """Every convolution of ResNet-50 (stride in the 3x3, 224 x 224 inputs)."""
    layers: list[Layer] = [(224, 3, 64, 7, 2, 1)]
    stages = [(56, 64, 64, 256, 3, 1), (28, 256, 128, 512, 4, 2)]
    stages += [(14, 512, 256, 1024, 6, 2), (7, 1024, 512, 2048, 3, 2)]
    for size, channels, inside, out, blocks, stride in stages:
        big = size * stride
        layers += [(big, channels, inside, 1, 1, 1), (big, inside, inside, 3, stride, 1)]
        layers += [(big, channels, out, 1, stride, 1), (size, inside, out, 1, 1, blocks)]
        layers += [(size, out, inside, 1, 1, blocks - 1), (size, inside, inside, 3, 1, blocks - 1)]
    return layers


def conv_sizes(size: int, kernel: int, stride: int) -> tuple[int, dict[str, int]]:
    """The output size and the per-axis arguments of a square layer with SAME padding."""
    out = -(-size // stride)
    pad = max(0, (out - 1) * stride + kernel - size) // 2
    per_axis = {"in": size, "out": out, "kernel": kernel, "stride": stride, "dilation": 1}
    per_axis["pad"] = pad
    return out, {f"{name}_{axis}": v for name, v in per_axis.items() for axis in "hw"}


def bench_conv(shape: TileShape, peak: Callable[[], float]) -> list[Row]:
    conv = Compiled(conv_source(ConvSpec(shape)))
    rows = []
    ours = at_peak = 0.0
    for size, channels, n, kernel, stride, many in resnet50_layers():
        out, sizes = conv_sizes(size, kernel, stride)
        x, y = (aligned(s, shape.dtype.numpy) for s in ((size, size, channels), (out, out, n)))
        packed = pack_conv_weights(aligned((kernel, kernel, channels, n), x.dtype), shape).array()
        sizes |= dict(batch=1, channels=channels, n=n, groups=1, x_stride=channels, c_stride=n)
        k = kernel * kernel * channels
        label = f"conv {size}x{size}x{channels} -> {n} {kernel}x{kernel}/{stride} x{many}"
        run = conv.bind(x, packed, y, **sizes)
        a, b, c = (aligned(s, x.dtype) for s in ((out * out, k), (k, n), (out * out, n)))
        peer = partial(np.matmul, a, b, out=c)
        rows.append(contest(label, 2 * out * out * n * k, peak, run, peer))
        ours += many * rows[-1].ours
        at_peak += many * rows[-1].ours * rows[-1].ratios["peak"]
    of_peak = {"peak": at_peak / ours}
    rows.append(Row("ResNet-50's convolutions", ours, {"peak": at_peak}, of_peak, "peak 0.6x"))
    return rows


def bench_depthwise(shape: TileShape, peak: Callable[[], float]) -> list[Row]:
    rows = []
    for size, channels, kernel, stride in [(112, 32, 3, 1), (56, 128, 3, 2), (14, 512, 3, 1)]:
        out, sizes = conv_sizes(size, kernel, stride)
        x, y = (aligned((s, s, channels), shape.dtype.numpy) for s in (size, out))
        spec = DepthwiseSpec(shape, (kernel, kernel), stride)
        depthwise = Compiled(depthwise_source(spec))
        w = pack_depthwise(aligned((kernel, kernel, channels, 1), x.dtype), spec)
        sizes |= dict(batch=1, channels=channels)
        label = f"depthwise {size}x{size}x{channels} {kernel}x{kernel}/{stride}"
        operations = 2 * out * out * channels * kernel * kernel
        rows.append(contest(label, operations, peak, depthwise.bind(x, w, y, **sizes)))
    return rows


def bench_compile(shape: TileShape, peak: Callable[[], float]) -> list[Row]:
    sources = [
        gemm_source(GemmSpec(shape)),
        turned_source(shape),
        conv_source(ConvSpec(shape)),
        depthwise_source(DepthwiseSpec(shape, (3, 3))),
    ]
    Compiled(sources[0])
    return [
        Row(f"compile {s.name}", min(timed(lambda s=s: Compiled(s)) for _ in range(3)) * 1e3)
        for s in sources
    ]


BENCHMARKS = {
    "compile": bench_compile,
    "gemm": bench_gemm,
    "conv": bench_conv,
    "depthwise": bench_depthwise,
}


def machine_tile(vector_bits: int | None = None) -> TileShape:
    """The register tile for f32 on this machine."""
    target = cpu_target("native")
    bits = vector_bits or target.vector_bits
    registers = target.registers if bits == target.vector_bits else 16
    return tile_shape(dtypes.f32, bits, registers=registers, fma=target.has_fma)


def measure(names: Sequence[str], shape: TileShape) -> list[Row]:
    """The rows of the named benchmarks."""
    peak = peak_meter(shape)
    return [row for name in names for row in BENCHMARKS[name](shape, peak)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], default=[])
    parser.add_argument("--vector-bits", type=int, help="default: the machine's own")
    options = parser.parse_args()
    shape = machine_tile(options.vector_bits)
    show(f"tile {shape.rows}x{shape.columns}", measure(options.names or [*BENCHMARKS], shape))


if __name__ == "__main__":
    main()
