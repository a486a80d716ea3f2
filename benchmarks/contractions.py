"""Matrix products and convolutions with constant weights on one thread: a Session that runs a graph
of one op, beside the machine's peak of multiply-adds and NumPy's product of the same size (for a
convolution: a product that would find its patches for nothing).

Part of `benchmarks/run.py`; alone, `OPENBLAS_NUM_THREADS=1 python benchmarks/contractions.py
[products|convolutions|depthwise ...]`. Every round measures ours and the peers one after another.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from rounds import Row, compare, show, timer

Array = np.ndarray[Any, Any]
ROUNDS = 11
SQUARES = ((256,) * 3, (512,) * 3, (1024,) * 3, (2048,) * 3)
OTHERS = ((1, 1024, 1024), (16, 4096, 1024), (128, 3072, 768), (512, 64, 512))


@cache
def peak_operations() -> float:
    """A second of one thread's multiply-adds in registers, each of which is two."""
    from flowc.codegen.cpu.target import cpu_target

    return cpu_target("native").peaks(1).operations


def seconds_at_peak(operations: int) -> float:
    return operations / peak_operations()


def random(*dims: int) -> Array:
    return np.random.default_rng(sum(dims)).random(dims, np.float32)


def run_of(build: Callable[[Any, Any], Any], x: Array) -> Callable[[], Any]:
    """A call that runs `build(flowc, input)` on `x` in a Session."""
    import flowc

    graph = flowc.Graph()
    with graph.as_default():
        given = flowc.placeholder(x.dtype, x.shape)
        found = build(flowc, given)
    session = flowc.Session(graph=graph, threads=1)
    return lambda: session.run(found, {given: x})


def contest(
    name: str,
    operations: int,
    ours: Callable[[], Any],
    product: tuple[int, int, int],
    goal: str = "",
) -> Row:
    """A row of processor time beside the time at the peak, and NumPy's for a product m, n, k."""
    m, n, k = product
    numpy = partial(np.matmul, random(m, k), random(k, n), out=np.empty((m, n), np.float32))
    peers = {"peak": lambda: seconds_at_peak(operations), "NumPy": timer(numpy)}
    return compare(name, timer(ours), peers, rounds=ROUNDS, goal=goal)


def products() -> list[Row]:
    rows = []
    for m, n, k in (*SQUARES, *OTHERS):
        weights = random(k, n)
        ours = run_of(lambda tf, x, w=weights: tf.matmul(x, tf.constant(w)), random(m, k))
        goal = "NumPy 0.85x" if m == n == k else ""
        rows.append(contest(f"matmul {m}x{n}x{k}", 2 * m * n * k, ours, (m, n, k), goal))
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


def convolutions() -> list[Row]:
    rows = []
    ours = at_peak = 0.0
    for size, channels, n, kernel, stride, many in resnet50_layers():
        out, k = -(-size // stride), kernel * kernel * channels
        filters = random(kernel, kernel, channels, n)
        steps = [1, stride, stride, 1]
        run = run_of(
            lambda tf, x, f=filters, s=steps: tf.nn.conv2d(x, tf.constant(f), s, "SAME"),
            random(1, size, size, channels),
        )
        label = f"conv {size}x{size}x{channels} -> {n} {kernel}x{kernel}/{stride} x{many}"
        operations = 2 * out * out * n * k
        rows.append(contest(label, operations, run, (out * out, n, k)))
        ours += many * rows[-1].ours
        at_peak += many * seconds_at_peak(operations) * 1e3
    of_peak = {"peak": at_peak / ours}
    rows.append(Row("ResNet-50's convolutions", ours, {"peak": at_peak}, of_peak, "peak 0.6x"))
    return rows


def depthwise() -> list[Row]:
    rows = []
    for size, channels, kernel, stride in [(112, 32, 3, 1), (56, 128, 3, 2), (14, 512, 3, 1)]:
        out, window = -(-size // stride), kernel * kernel
        filters = random(kernel, kernel, channels, 1)
        steps = [1, stride, stride, 1]
        run = run_of(
            lambda tf, x, f=filters, s=steps: tf.nn.depthwise_conv2d(x, tf.constant(f), s, "SAME"),
            random(1, size, size, channels),
        )
        label = f"depthwise {size}x{size}x{channels} {kernel}x{kernel}/{stride}"
        operations = 2 * out * out * channels * window
        rows.append(contest(label, operations, run, (out * out, channels, window)))
    return rows


BENCHMARKS = {"products": products, "convolutions": convolutions, "depthwise": depthwise}


def measure(names: Sequence[str] = tuple(BENCHMARKS)) -> list[Row]:
    """The rows of the named benchmarks."""
    return [row for name in names for row in BENCHMARKS[name]()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], default=[])
    show("contractions", measure(parser.parse_args().names or tuple(BENCHMARKS)))


if __name__ == "__main__":
    main()
