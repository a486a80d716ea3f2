"""The products and convolutions that are timed on a GPU, each compiled into one kernel.

In: nothing. Out: a file of kernels for sm_90 with what to launch them with; run_contractions.py
takes it to a machine with a GPU, where nothing of flowc is needed.

    python benchmarks/gpu/contraction_cases.py contractions.json.gz
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flowc import dtypes
from flowc.codegen.cuda.contractions import contraction_launches
from flowc.codegen.cuda.images import device_text
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.ptxas import assemble, find_ptxas
from flowc.codegen.cuda.target import CudaTarget
from flowc.codegen.targets import target_named
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.passes.pipeline import run_passes

ARCHITECTURE = 90
TARGET = CudaTarget(target_named("native"), (ARCHITECTURE,))
F32, F16, BF16 = dtypes.f32, dtypes.f16, dtypes.bf16


@dataclass(frozen=True)
class Case:
    """`emit`: the graph. `torch`: the same as an expression over `x0`, `x1`..., for comparison.
    `work`: multiplications and additions."""

    name: str
    shapes: Sequence[tuple[int, ...]]
    emit: Callable[..., Any]
    torch: str
    work: int
    dtype: DType = field(default=F32)
    tf32: bool = False


def product(m: int, n: int, k: int, batch: int = 1, turned: str = "nn", dtype: DType = F32) -> Case:
    a = (m, k) if turned[0] == "n" else (k, m)
    b = (k, n) if turned[1] == "n" else (n, k)
    leading = (batch,) if batch > 1 else ()
    ta, tb = turned[0] == "t", turned[1] == "t"

    def emit(kb: Builder, x: Any, y: Any) -> Any:
        if batch > 1:
            return kb.batch_mat_mul(x, y, adj_x=ta, adj_y=tb)
        return kb.mat_mul(x, y, transpose_a=ta, transpose_b=tb)

    torch = f"torch.matmul(x0{'.mT' * ta}, x1{'.mT' * tb})"
    shown = f"{batch}x" if batch > 1 else ""
    name = f"product {dtype} {shown}{m}x{n}x{k} {turned}"
    return Case(name, [leading + a, leading + b], emit, torch, 2 * batch * m * n * k, dtype)


def dense(m: int, n: int, k: int, dtype: DType = F32) -> Case:
    return Case(
        f"bias+relu {dtype} {m}x{n}x{k}",
        [(m, k), (k, n), (n,)],
        lambda kb, x, y, z: kb.relu(kb.add(kb.mat_mul(x, y), z)),
        "torch.relu(torch.addmm(x2, x0, x1))",
        2 * m * n * k,
        dtype,
    )


def convolution(
    batch: int, size: int, inputs: int, outputs: int, window: int, stride: int = 1,
    dtype: DType = F32,
) -> Case:  # fmt: skip
    out = -(-size // stride)
    total = max((out - 1) * stride + window - size, 0)
    before = total // 2
    pad = (before, total - before) * 2
    torch = (
        f"F.conv2d(F.pad(x0.permute(0, 3, 1, 2), {pad}), x1.permute(3, 2, 0, 1), stride={stride})"
        ".permute(0, 2, 3, 1)"
    )
    return Case(
        f"conv {dtype} {batch}x{size}x{size}x{inputs} -> {outputs} {window}x{window}/{stride}",
        [(batch, size, size, inputs), (window, window, inputs, outputs)],
        lambda kb, x, w: kb.conv2d(x, w, strides=[1, stride, stride, 1], padding="SAME"),
        torch,
        2 * batch * out * out * inputs * outputs * window * window,
        dtype,
    )


def depthwise(batch: int, size: int, channels: int, window: int, stride: int = 1) -> Case:
    out = -(-size // stride)
    total = max((out - 1) * stride + window - size, 0)
    pad = (total // 2, total - total // 2) * 2
    torch = (
        f"F.conv2d(F.pad(x0.permute(0, 3, 1, 2), {pad}), x1.permute(2, 3, 0, 1), stride={stride},"
        f" groups={channels}).permute(0, 2, 3, 1)"
    )
    return Case(
        f"depthwise f32 {batch}x{size}x{size}x{channels} {window}x{window}/{stride}",
        [(batch, size, size, channels), (window, window, channels, 1)],
        lambda kb, x, w: kb.depthwise_conv2d(x, w, strides=[1, stride, stride, 1], padding="SAME"),
        torch,
        2 * batch * out * out * channels * window * window,
    )


CASES = [
    *(product(s, s, s) for s in (256, 512, 1024, 1000, 2048, 4096)),
    *(product(4096, 4096, 4096, turned=t) for t in ("tn", "nt", "tt")),
    product(512, 512, 64, batch=192, turned="nt"),
    product(512, 64, 512, batch=192),
    dense(4096, 3072, 768),
    dense(128, 1024, 4096),
    product(1, 4096, 4096),
    product(1, 4096, 4096, turned="nt"),
    product(8, 4096, 4096),
    product(4096, 1, 4096),
    product(64, 64, 65536),
    convolution(32, 224, 3, 64, 7, 2),
    convolution(32, 56, 64, 64, 3),
    convolution(32, 56, 256, 64, 1),
    convolution(32, 28, 128, 128, 3),
    convolution(32, 14, 256, 256, 3),
    convolution(32, 14, 1024, 256, 1),
    convolution(32, 7, 512, 512, 3),
    convolution(1, 14, 256, 256, 3),
    depthwise(32, 56, 144, 3),
    depthwise(32, 112, 96, 3, 2),
]


TENSOR_CASES = [
    product(1024, 1024, 1024),
    *(product(4096, 4096, 4096, turned=t) for t in ("nn", "tn", "nt")),
    product(512, 512, 64, batch=192, turned="nt"),
    dense(4096, 3072, 768),
    dense(128, 1024, 4096),
    convolution(32, 224, 3, 64, 7, 2),
    convolution(32, 56, 64, 64, 3),
    convolution(32, 28, 128, 128, 3),
    convolution(32, 14, 1024, 256, 1),
]
HALF_CASES = [
    case
    for dtype in (F16, BF16)
    for case in (
        *(product(4096, 4096, 4096, turned=t, dtype=dtype) for t in ("nn", "nt")),
        dense(4096, 3072, 768, dtype),
        convolution(32, 56, 64, 64, 3, dtype=dtype),
    )
]
CASES += [replace(c, name=c.name.replace("f32", "tf32"), tf32=True) for c in TENSOR_CASES]
CASES += HALF_CASES


def compiled(case: Case, images: dict[str, str]) -> dict[str, Any]:
    b = Builder()
    types = [TensorType(case.dtype, s) for s in case.shapes]
    parameters = [b.parameter(f"x{i}", t) for i, t in enumerate(types)]
    # What decomposes halves is what makes them f32 for a CPU.
    skip = ("decompose",) if case.dtype is not F32 else ()
    options = Options(target=f"cuda:sm_{ARCHITECTURE}", skip=skip)
    fused = run_passes(b.build([case.emit(b, *parameters)]), options)
    (node,) = [n for n in fused.nodes if n.op.name == "cluster"]
    names = {p.output: f"x{i}" for i, p in enumerate(fused.parameters)}
    names |= {v: f"y{i}" for i, v in enumerate(node.outputs)}
    return {
        "name": case.name,
        "shapes": case.shapes,
        "dtype": case.dtype.name,
        "torch": case.torch,
        "work": case.work,
        "results": [list(v.dims) for v in node.outputs],
        "launches": [launch_of(x, names, images) for x in launches(node, case)],
    }


def launches(node: Node, case: Case) -> Sequence[Any]:
    return contraction_launches(node, replace(TARGET, tf32=case.tf32))


def launch_of(launch: Any, names: dict[Any, str], images: dict[str, str]) -> dict[str, Any]:
    kernel = launch.kernel
    assert isinstance(kernel, DeviceKernel)
    found: dict[str, Any] = {
        "kernel": kernel.key,
        "operands": [o if isinstance(o, str) else name_of(o, names) for o in launch.operands],
        "ints": [*launch.ints, 0, launch.total],
        "grid": launch.grid,
        "block": launch.block,
        "shared": launch.shared,
        "workspace": launch.workspace,
    }
    if kernel.key not in images:
        ptxas = find_ptxas()
        assert ptxas is not None
        cubin = assemble(ptxas, device_text(kernel, ARCHITECTURE, "asm"), ARCHITECTURE)
        images[kernel.key] = base64.b64encode(cubin.image).decode()
        shown = f"{cubin.registers} registers, {cubin.shared} bytes shared, {cubin.spills} spilled"
        found["resources"] = shown
    return found


def name_of(value: Any, names: dict[Any, str]) -> str:
    """The name of a value, or of what it is a view of."""
    while value not in names:
        (value,) = value.node.inputs
    return names[value]


def main() -> None:
    images: dict[str, str] = {}
    cases = []
    for case in CASES:
        cases.append(compiled(case, images))
        print(case.name, cases[-1]["launches"][0].get("resources", ""), flush=True)
    with gzip.open(sys.argv[1], "wt") as file:
        json.dump({"cases": cases, "images": images}, file)


if __name__ == "__main__":
    main()
