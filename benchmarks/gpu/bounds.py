"""What a GPU's memory and arithmetic allow at most of a model's kernels: a bound, not a time.

    python bounds.py MODEL [--size 8] [--target cuda:sm_80]

In: a model, and the size that stands for every open one. Out: per kind of cluster the launches,
bytes that must be moved at least (each operand and result once), operations of products, and the
time that GPUs need at least for these. `code` counts the multiprocessors that wait for the last
blocks of the chosen tiles, too. Clusters of loops count once. Nothing runs.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod

from flowc.api.framework.models import load_graph
from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.cuda.target import CudaTarget
from flowc.codegen.targets import target_named
from flowc.extract.interface import choose_interface
from flowc.extract.size_unification import extract_fetches
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, evaluate, symbols_of
from flowc.ir.lowering import Convolution, MatMul
from flowc.options import Options
from flowc.passes.pipeline import run_passes
from flowc.plan.plan import bytes_of


@dataclass(frozen=True, slots=True)
class Gpu:
    """Multiprocessors, f32 operations a second of its plain cores, bytes a second of its memory."""

    name: str
    multiprocessors: int
    flops: float
    bandwidth: float


GPUS = (Gpu("A100", 108, 19.5e12, 1.555e12), Gpu("H100", 132, 66.9e12, 3.35e12))


@dataclass(slots=True)
class Row:
    launches: int = 0
    bytes: float = 0
    flops: float = 0
    least: tuple[float, ...] = (0.0,) * len(GPUS)
    code: tuple[float, ...] = (0.0,) * len(GPUS)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("model")
    parser.add_argument("--size", type=int, default=8, help="what open sizes are (default 8)")
    parser.add_argument("--target", default="cuda:sm_80")
    options = parser.parse_args()
    target = target_named(options.target)
    assert isinstance(target, CudaTarget)
    graph = load_graph(options.model)
    _, found = extract_fetches(graph, choose_interface(graph))
    fused = run_passes(found.computation, Options(target=options.target, for_library=True))
    rows: dict[str, Row] = defaultdict(Row)
    for node in clusters(fused):
        kind = node.attrs["kind"] if target.host_reason(node) is None else "on the host"
        add(rows[kind], node, target, options.size)
    heads = "".join(f"{f'{g.name} least':>12}{f'{g.name} code':>12}" for g in GPUS)
    print(f"{'clusters':<14}{'launches':>9}{'MB':>9}{'GFLOP':>9}{heads}   (ms)")
    rows["all"] = total(rows)
    for kind, row in rows.items():
        times = "".join(f"{1e3 * a:12.3f}{1e3 * b:12.3f}" for a, b in zip(row.least, row.code))
        print(f"{kind:<14}{row.launches:>9}{row.bytes / 1e6:>9.1f}{row.flops / 1e9:>9.2f}{times}")


def clusters(c: Computation) -> Iterator[Node]:
    """Those of loops and branches count once."""
    for node in c.nodes:
        if node.op.name == "cluster":
            yield node
        elif node.op.name in ("while", "if"):
            for inner in node.attrs.values():
                if isinstance(inner, Computation):
                    yield from clusters(inner)


def add(row: Row, node: Node, target: CudaTarget, size: int) -> None:
    def known(dim: Dim) -> int:
        return evaluate(dim, dict.fromkeys(symbols_of(dim), size))

    moved = sum(known(bytes_of(v)) for v in {*node.inputs, *node.outputs})
    flops = sum(2 * known(multiplications(n)) for n in node.attrs["body"].nodes if is_product(n))
    launches = [x for x in target.launches(node) if isinstance(x, DeviceLaunch)]
    row.launches += len(launches)
    row.bytes += moved
    row.flops += flops
    least = [max(moved / g.bandwidth, flops / g.flops) for g in GPUS]
    waste = [1.0] * len(GPUS)
    if flops and launches:
        blocks = max(1, prod(known(d) for d in launches[0].grid))
        for i, g in enumerate(GPUS):
            waste[i] = ceil(blocks / g.multiprocessors) * g.multiprocessors / blocks
    code = [max(moved / g.bandwidth, flops * w / g.flops) for g, w in zip(GPUS, waste, strict=True)]
    row.least = tuple(a + b for a, b in zip(row.least, least))
    row.code = tuple(a + b for a, b in zip(row.code, code))


def is_product(node: Node) -> bool:
    return isinstance(node.lowering, (MatMul, Convolution))


def multiplications(node: Node) -> Dim:
    """Of a product: as many as its result has elements, times the steps of its sums."""
    result: Value = node.output
    lowering = node.lowering
    if isinstance(lowering, Convolution):
        *window, per_group, outputs = node.inputs[1].dims
        wide = node.inputs[0] if lowering.transposed else result
        pixels = wide.type.size // wide.dims[-1]
        return pixels * prod(window) * per_group * outputs
    assert isinstance(lowering, MatMul)
    left = node.inputs[-1]
    return result.type.size * left.dims[-1 if lowering.transpose_b else -2]


def total(rows: dict[str, Row]) -> Row:
    found = Row()
    for row in rows.values():
        found.launches += row.launches
        found.bytes += row.bytes
        found.flops += row.flops
        found.least = tuple(a + b for a, b in zip(found.least, row.least))
        found.code = tuple(a + b for a, b in zip(found.code, row.code))
    return found


if __name__ == "__main__":
    main()
