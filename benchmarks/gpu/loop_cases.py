"""The clusters of loops that are timed on a GPU.

In: nothing. Out: a file of kernels for sm_90 with what to launch them with; run_loops.py takes it
to a machine with a GPU, where nothing of flowc is needed.

    python benchmarks/gpu/loop_cases.py loops.json.gz
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.codegen.cuda.images import device_text
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.cuda.ptxas import assemble, find_ptxas
from flowc.codegen.cuda.target import CudaTarget
from flowc.codegen.targets import target_named
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.passes.pipeline import run_passes

ARCHITECTURE = 90
MANY = 1 << 26


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def gelu(b: Any, x: Any) -> Any:
    inner = b.mul(b.add(x, b.mul(b.mul(b.mul(x, x), x), 0.044715)), 0.7978846)
    return b.mul(b.mul(x, 0.5), b.add(b.tanh(inner), 1.0))


def layer_norm(b: Any, x: Any, gamma: Any, beta: Any) -> Any:
    mean = b.mean(x, ints(1), keep_dims=True)
    variance = b.mean(b.squared_difference(x, mean), ints(1), keep_dims=True)
    factor = b.mul(b.rsqrt(b.add(variance, 1e-6)), gamma)
    return b.add(b.mul(x, factor), b.sub(beta, b.mul(mean, factor)))


def pool(b: Any, x: Any) -> Any:
    return b.max_pool(x, ksize=(1, 3, 3, 1), strides=(1, 2, 2, 1), padding="SAME")


# Name -> the shapes of the inputs, and the graph; run_loops.py has the same in NumPy.
CASES: dict[str, tuple[tuple[tuple[int, ...], ...], Callable[..., Any]]] = {
    "add": (((MANY,), (MANY,)), lambda b, x, y: b.add(x, y)),
    "relu of sum": (((MANY,), (MANY,)), lambda b, x, y: b.relu(b.add(x, y))),
    "gelu": (((MANY,),), gelu),
    "bias": (((65536, 1024), (1024,)), lambda b, x, y: b.relu(b.add(x, y))),
    "softmax 1024": (((65536, 1024),), lambda b, x: b.softmax(x)),
    "softmax 128": (((524288, 128),), lambda b, x: b.softmax(x)),
    "softmax 10": (((1 << 22, 10),), lambda b, x: b.softmax(x)),
    "layer norm 768": (((65536, 768), (768,), (768,)), layer_norm),
    "sum of rows": (((16384, 4096),), lambda b, x: b.sum(x, ints(1))),
    "sum of columns": (((16384, 4096),), lambda b, x: b.sum(x, ints(0))),
    "sum of 64 columns": (((1 << 20, 64),), lambda b, x: b.sum(x, ints(0))),
    "sum of all": (((MANY,),), lambda b, x: b.sum(x, ints(0))),
    "transpose": (((8192, 8192),), lambda b, x: b.transpose(x, ints(1, 0))),
    "transpose of heads": (
        ((64, 512, 16, 64),),
        lambda b, x: b.transpose(x, ints(0, 2, 1, 3)),
    ),
    "NHWC to NCHW": (((64, 128, 128, 64),), lambda b, x: b.transpose(x, ints(0, 3, 1, 2))),
    "concat": (((262144, 64), (262144, 128)), lambda b, x, y: b.concat(x, y, np.int32(1))),
    "max pool": (((64, 112, 112, 64),), pool),
}


def launches(name: str) -> tuple[list[DeviceLaunch], dict[Value, str], list[Any]]:
    """Of one case: what is launched, the names of the values, and the dims of the results."""
    shapes, emit = CASES[name]
    b: Any = Builder()
    values = [b.parameter(f"x{i}", TensorType(dtypes.f32, s)) for i, s in enumerate(shapes)]
    c = run_passes(b.build([emit(b, *values)]), Options(target=f"cuda:sm_{ARCHITECTURE}"))
    names = {p.output: f"x{i}" for i, p in enumerate(c.parameters)}
    names |= {v: f"y{i}" for i, v in enumerate(c.results)}
    target = CudaTarget(target_named("native"), (ARCHITECTURE,))
    (node,) = [n for n in c.nodes if n.op.name == "cluster"]
    found = [x for x in target.launches(node) if isinstance(x, DeviceLaunch)]
    return found, names, [v.dims for v in c.results]


def number(dim: Dim) -> int:
    assert isinstance(dim, int)
    return dim


def described(launch: DeviceLaunch, names: dict[Value, str]) -> dict[str, Any]:
    threads = number(launch.grid[0]) * launch.block
    return {
        "kernel": launch.kernel.key,
        "operands": [names[o] if isinstance(o, Value) else str(o) for o in launch.operands],
        "ints": [*map(number, launch.ints), -(-number(launch.scratch) // 64) * 64],
        "total": number(launch.total),
        "grid": [number(d) for d in launch.grid],
        "block": launch.block,
        "shared": launch.shared,
        "scratch": threads * -(-number(launch.scratch) // 64) * 64,
        "workspace": number(launch.workspace),
    }


def cases(images: dict[str, str]) -> Iterator[dict[str, Any]]:
    ptxas = find_ptxas()
    if ptxas is None:
        raise SystemExit("there is no ptxas: see flowc/codegen/cuda/ptxas.py")
    for name, (shapes, _) in CASES.items():
        found, names, results = launches(name)
        for launch in found:
            kernel = launch.kernel
            assert isinstance(kernel, DeviceKernel)
            text = device_text(kernel, ARCHITECTURE, "asm")
            cubin = assemble(ptxas, text, ARCHITECTURE)
            images[kernel.key] = base64.b64encode(cubin.image).decode()
            print(f"{name:20} {cubin.registers:4} registers {cubin.spills:4} bytes spilled")
        yield {
            "name": name,
            "shapes": shapes,
            "results": results,
            "launches": [described(x, names) for x in found],
        }


if __name__ == "__main__":
    kernels: dict[str, str] = {}
    data = {"cases": list(cases(kernels)), "images": kernels}
    with gzip.open(sys.argv[1], "wt") as file:
        json.dump(data, file)
