"""Run by tests of the cache in processes of their own: compiles one small program and says how.

Prints a line of JSON: how many kernels and programs were compiled, the result, and digests of what
must not depend on the process (IR text, kernel keys, objects, the program's key).
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

import numpy as np
from program_keys import program_key
from tensor_types import tensor_type

from flowc import compiler
from flowc.codegen.cpu.target import CpuTarget
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.target import Kept
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.program_spec import ProgramSpec, spec_of
from flowc.options import Options


def spec(c: Computation | None = None) -> ProgramSpec:
    return spec_of(c or network(), ["x:0"], ["y:0"])


def network(factor: float = 1.0) -> Computation:
    b = Builder(("net/layer",))
    x = b.parameter("x:0", tensor_type("f32", (3, 8)))
    weights = np.arange(8 * 5, dtype=np.float32).reshape(8, 5) / 50 * np.float32(factor)
    return b.build([b.softmax(b.relu(b.add(b.mat_mul(x, weights), np.ones(5, np.float32))))])


def inputs() -> list[np.ndarray]:
    return [np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)]


def digest(data: object) -> str:
    raw = data if isinstance(data, bytes) else str(data).encode()
    return hashlib.sha256(raw).hexdigest()


def count_kernels(counts: dict[str, int]) -> None:
    objects_of = CpuTarget.objects_of

    def counted(target: CpuTarget, kernel: Kernel, kept: Kept) -> tuple[bytes, ...]:
        counts["kernels"] += 1
        return objects_of(target, kernel, kept)

    CpuTarget.objects_of = counted


def main(mode: str) -> None:
    counts = {"programs": 0, "kernels": 0}
    compile_program = compiler.compile_computation

    def counted(*arguments: object, **more: object) -> object:
        counts["programs"] += 1
        if mode == "slow":
            time.sleep(1.5)
        return compile_program(*arguments, **more)

    compiler.compile_computation = counted
    if mode != "bare":
        count_kernels(counts)
    found: dict[str, object] = {}
    if mode == "digests":
        report = compiler.Report()
        program = compile_program(network(), Options(), spec(), report=report)
        found = {
            "text": digest(report.fused),
            "kernels": sorted(report.stages.kernels),
            "objects": [digest(o) for o in program.objects],
            "metadata": digest(json.dumps(program.metadata.to_json(), sort_keys=True)),
        }
    executable = compiler.load_executable(network(), Options(), spec())
    found["result"] = executable.run(inputs())[0].tolist()
    found["key"] = program_key(network(), Options(), spec())
    found["numba"] = "numba" in sys.modules
    print(json.dumps(counts | found))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
