"""CPUs as targets: features, vector width, and who makes, renders, compiles and calls kernels.

In: `native`, the name of a level, or a CPU in LLVM's terms. Out: a CpuTarget. What makes kernels is
imported when they are made: a program from the cache runs without Numba and LLVM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from flowc.codegen.cpu.loop_choices import CPU_CHOICES, MASK_CHOICES
from flowc.codegen.kernels.loop_choices import LoopChoices
from flowc.codegen.llvm.processor import Processor, host_processor
from flowc.dataclass import dataclass
from flowc.errors import InternalError, UsageError

if TYPE_CHECKING:
    from flowc.codegen.cpu.tile_shape import TileShape
    from flowc.codegen.driver.frame import RunFrame
    from flowc.codegen.kernels.kernel import Kernel, Launch
    from flowc.codegen.kernels.nest import LoopNest
    from flowc.codegen.llvm.peaks import Peaks
    from flowc.codegen.llvm.shared_routines import SharedRoutine
    from flowc.codegen.target import Kept
    from flowc.dtypes import DType
    from flowc.ir.computation import Computation, Node


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """`vector_bits`: the width that tiles and loops are written for; `has_fma`: fused multiply-add
    is one instruction; `registers`: how many vector registers tiles may use; `exact`: as in
    `Options`. `prefetches`: as in `TileShape`. `algorithms`: their names, of clusters for which the
    cost model's choice is overridden (`contractions/algorithms.py`)."""

    processor: Processor
    vector_bits: int
    has_fma: bool
    registers: int
    exact: bool = False
    prefetches: bool = True
    algorithms: Mapping[Node, str] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> str:
        p = self.processor
        return f"{p.triple}/{p.cpu}/{p.features}/{self.vector_bits}{'/exact' * self.exact}"

    @property
    def libraries(self) -> tuple[str, ...]:
        """That of the level that is as wide, if this CPU has all that the level's have, and what
        there is beside it for one that gathers as fast as this does."""
        level = _LEVEL_OF.get(self.vector_bits)
        if level is None or not self.has_fma or self.processor.triple != _TRIPLE:
            return ()
        here = set(self.processor.features.split(","))
        if self.processor.cpu != level and not here >= {f"+{f}" for f in LIBRARY_LEVELS[level]}:
            return ()
        if _SLOW_GATHERS in here:
            return level, f"{level}-{_SLOW}"
        # Of those without AVX-512 some gather fast, and some do not; so of those that are a level.
        fast = self.vector_bits == 512 and self.processor.cpu != level
        return (level, f"{level}-{_FAST}") if fast else (level,)

    @property
    def choices(self) -> LoopChoices:
        return MASK_CHOICES if self.vector_bits == 512 else CPU_CHOICES

    @property
    def host(self) -> CpuTarget:
        return self

    def on_device(self, c: Computation) -> frozenset[Node]:
        return frozenset()

    def tile_shape(self, dtype: DType) -> TileShape:
        """The register tile of products of a dtype."""
        from flowc.codegen.cpu.tiles import tile_shape

        found = tile_shape(dtype, self.vector_bits, registers=self.registers, fma=self.has_fma)
        return replace(found, prefetches=self.prefetches)

    def algorithms_of(self, node: Node) -> list[str]:
        from flowc.codegen.cpu.contractions.algorithms import algorithms_of_cluster

        return algorithms_of_cluster(node, self.tile_shape, self.exact)

    def with_algorithms(self, chosen: Mapping[Node, str]) -> CpuTarget:
        return replace(self, algorithms=chosen)

    def check_runs_here(self) -> None:
        here = cpu_target("native")
        if self.vector_bits > here.vector_bits or self.has_fma > here.has_fma:
            raise UsageError(
                f"this processor cannot run what is compiled for {self.processor.cpu}, which is to "
                "be measured",
                hint="measure or tune on a machine that can, or compile without tuning",
            )

    def launches(self, node: Node) -> tuple[Launch, ...]:
        match node.attrs["kind"]:  # each imports what makes its kernels, and nothing of others
            case "loop":
                from flowc.codegen.kernels.loops import loop_launch

                return (loop_launch(node, self),)
            case "native":
                from flowc.codegen.cpu.native_kernels import native_launch

                return (native_launch(node),)
            case "scalar":
                from flowc.codegen.kernels.scalar_loops import scalar_launch

                return (scalar_launch(node, self),)
            case "matmul" | "convolution" | "filter_gradient":
                from flowc.codegen.cpu.contractions.cluster import contraction_launches

                return contraction_launches(node, self)
            case "stream":
                from flowc.codegen.cpu.contractions.streaming import streamed_launches

                return streamed_launches(node, self)
            case kind:
                raise InternalError(f"no kernels for a cluster of kind {kind}")

    def kernel(self, nest: LoopNest) -> Kernel:
        from flowc.codegen.cpu.numba_source import NumbaSource

        return NumbaSource(nest).kernel

    def objects_of(self, kernel: Kernel, kept: Kept) -> tuple[bytes, ...]:
        from flowc.codegen.llvm.compile import compile_module

        if kernel.symbol is not None:
            return (compile_module([_c_call_text(kernel)], self.processor),)
        from flowc.codegen.cpu.kernel_text import separate_texts

        texts, called = separate_texts(kernel)
        # Last: while this kernel was compiled, another thread may have made them.
        own = compile_module(texts, self.processor, **_passes(kernel.as_written))
        return (own, *self._objects_of_all(called, kept))

    def _objects_of_all(self, routines: Sequence[SharedRoutine], kept: Kept) -> Sequence[bytes]:
        """Those of the routines and of what they call, each once."""
        objects = (kept(r.symbol, partial(self._routine, r, kept)) for r in routines)
        return list(dict.fromkeys(chain.from_iterable(objects)))

    def _routine(self, routine: SharedRoutine, kept: Kept) -> tuple[bytes, ...]:
        from flowc.codegen.llvm.compile import compile_module

        passes = _passes(routine.as_written)
        own = compile_module([routine.text], self.processor, **passes)
        return (own, *self._objects_of_all(routine.calls, kept))

    def kernel_text(self, kernel: Kernel, form: Literal["llvm", "asm"]) -> str:
        from flowc.codegen.llvm.compile import module_text

        return module_text(_texts(kernel), self.processor, form, **_passes(kernel.as_written))

    def peaks(self, threads: int) -> Peaks:
        """The peak operations and bytes a second of so many threads, measured now."""
        from flowc.codegen.llvm.peaks import measured_peaks

        return measured_peaks(self.processor, self.vector_bits // 32, self.has_fma, threads)

    def emit_call(self, frame: RunFrame, launch: Launch, buffers: Any, ints: Any) -> None:
        from flowc.codegen.cpu.call import emit_call

        emit_call(frame, launch, buffers, ints)


def _passes(as_written: bool) -> dict[str, Any]:
    """What LLVM does. Of code whose vectors and unrolled loops are written as such there are none
    to find: it would unroll the loops at edges, and take twice as long."""
    return {"speed": 2, "loops": False} if as_written else {}


def _texts(kernel: Kernel) -> list[str]:
    """The LLVM IR of a kernel, and of what it calls."""
    if kernel.symbol is not None:
        return [_c_call_text(kernel)]
    from flowc.codegen.cpu.kernel_text import module_texts

    return module_texts(kernel)


def _c_call_text(kernel: Kernel) -> str:
    """The LLVM IR of a kernel that calls a kernel in C."""
    return kernel.source.replace(f'@"{kernel.entry}"(', f"@{kernel.key}(")


_TRIPLE = "x86_64-unknown-linux-gnu"
LEVELS = {
    "x86-64-v2": (128, False, 16),
    "x86-64-v3": (256, True, 16),
    "x86-64-v4": (512, True, 32),
}
# The levels that there are libraries for, by the width of vectors, and what LLVM uses of them.
_LEVEL_OF = {256: "x86-64-v3", 512: "x86-64-v4"}
_V2 = ("cx16", "popcnt", "sahf", "crc32", "sse3", "ssse3", "sse4.1", "sse4.2")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_SLOW_GATHERS = "+prefer-no-gather"
_FAST, _SLOW = "gathers", "loads"
LIBRARY_LEVELS = {"x86-64-v3": _V3, "x86-64-v4": _V4}


def cpu_target(name: str, exact: bool = False) -> CpuTarget:
    """The CPU of this process (`native`), or a level that many have."""
    if name == "native":
        return _native(exact)
    bits, fma, registers = LEVELS[name]
    features = "-prefer-256-bit" if bits == 512 else ""
    processor = Processor(_TRIPLE, name, features)
    return CpuTarget(processor, bits, fma, registers, exact)


def tuned_targets(level: str) -> dict[str, CpuTarget]:
    """The targets of a level for processors whose gathers are fast, and for those where a load of
    each element is faster, as is a product that does not ask for its weights ahead. What is the
    same for both serves any; the names are of the libraries of what is not."""
    target = cpu_target(level)
    found = target.processor

    def tuned(feature: str, prefetches: bool) -> CpuTarget:
        processor = replace(found, features=f"{found.features},{feature}".lstrip(","))
        return replace(target, processor=processor, prefetches=prefetches)

    return {
        f"{level}-{_FAST}": tuned("+fast-gather", True),
        f"{level}-{_SLOW}": tuned(_SLOW_GATHERS, False),
    }


def tuned_here(target: CpuTarget) -> CpuTarget:
    """The target of a level as it is best on the processor of this process: what it compiles runs
    wherever the level does, and elsewhere may be slower."""
    here = _native(target.exact)
    if target.processor.cpu not in LEVELS or _SLOW_GATHERS not in here.processor.features:
        return target
    features = f"{target.processor.features},{_SLOW_GATHERS}".lstrip(",")
    processor = replace(target.processor, features=features)
    return replace(target, processor=processor, prefetches=here.prefetches)


def _native(exact: bool) -> CpuTarget:
    host = host_processor()
    found = {f[1:] for f in host.features.split(",") if f.startswith("+")}
    bits, fma, registers = 128, "fma" in found, 16
    if found >= {"avx512f", "avx512bw", "avx512dq", "avx512vl"}:
        bits, registers = 512, 32
    elif "avx2" in found and fma:
        bits = 256
    features = host.features
    if bits == 512:
        features += ",-prefer-256-bit"
    if host.cpu.startswith("znver"):
        # These take longer for a gather than for a load of each element: lgamma, which reads a row
        # of a table for each, takes 1.3 times as long.
        features += f",{_SLOW_GATHERS}"
    # A product with a vector takes 1.25 times as long where it asks a Zen 4 for its weights.
    processor = replace(host, features=features)
    return CpuTarget(processor, bits, fma, registers, exact, prefetches=host.cpu != "znver4")
