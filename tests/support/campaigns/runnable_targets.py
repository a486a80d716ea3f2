"""The named CPUs whose code this machine runs, its own first: seeds of campaigns take turns."""

from __future__ import annotations

from flowc.codegen.cpu.target import cpu_target

NATIVE = cpu_target("native")
TARGETS = [
    name
    for name in ("native", "x86-64-v2", "x86-64-v3")
    if cpu_target(name).vector_bits <= NATIVE.vector_bits and NATIVE.has_fma
] or ["native"]
