"""Kernels of a GPU as LLVM IR that names no machine.

In: a Kernel `entry(*buffers, *ints, begin, end)`, which is what one thread does. Out: a
DeviceKernel, whose entry takes the addresses of its buffers, its ints, the bytes of scratch of a
thread and the total by value, all 64 bits wide. The threads of the grid share the range [0, total)
one by one: each, or some lanes together, calls the function on [i, i + 1). Where a thread stands it
asks `flowc_*` functions, which `intrinsics.py` defines for a GPU and `simt.py` for a host.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields

from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.cuda.loop_choices import BLOCK
from flowc.codegen.kernels.kernel import SCRATCH, STATUS, Kernel, Launch
from flowc.dataclass import dataclass
from flowc.ir.cached_property import cached_property
from flowc.ir.dims import ceildiv, minimum

MOST_BLOCKS = 2048  # of a grid: more would wait for the first ones to end
MOST_STACK = 1024  # bytes of scratch that a thread has on its stack
MOST_SHARED = 48 << 10  # bytes of scratch that a block shares
SCRATCH_BLOCKS = 64  # of a grid whose threads have scratch in memory
ALIGNMENT = 64  # of scratch


@dataclass(frozen=True, eq=False)
class DeviceKernel(Kernel):
    """`block`: threads in a block, which the code may rely on."""

    block: int = BLOCK

    @abstractmethod
    def module_texts(self) -> list[str]:
        """LLVM IR of the entry, whose name is the kernel's key, and of what it calls but for the
        intrinsics. The entry is declared by `entry_head`."""

    def entry_head(self) -> str:
        """The line that opens the entry: its parameters are %a0.. %n0.. %stride %total. Operands
        begin at multiples of 16 bytes."""
        names = [f"ptr addrspace(1) align 16 %a{i}" for i in range(len(self.buffers))]
        names += [*(f"i64 %n{i}" for i in range(self.ints)), "i64 %stride", "i64 %total"]
        return f'define void @{self.key}({", ".join(names)}) "nvvm.maxntid"="{self.block}" {{'


@dataclass(frozen=True, eq=False)
class ThreadKernel(DeviceKernel):
    """Every thread runs `thread` on ranges of its own. `status`, `scratch`: which of its buffers
    these are (-1: it has none). `stack`: how many bytes of scratch stand on the thread's stack, or
    in memory that a block shares; the entry gets no buffer for them. 0: they are in memory.
    `lanes`: how many neighbouring threads take a step of the range together; the function is told
    which of them it is. `known`: the ints that are the same in every launch, else None: what is
    divided by them becomes a product."""

    thread: Kernel | None = None
    status: int = -1
    scratch: int = -1
    stack: int = 0
    lanes: int = 1
    known: tuple[int | None, ...] = ()

    @cached_property
    def key(self) -> str:
        given = (self.block, self.status, self.scratch, self.stack, self.lanes, self.known)
        text = repr((self.function.key, given))
        return f"d_{hashlib.sha256(text.encode()).hexdigest()[:24]}"

    @property
    def function(self) -> Kernel:
        assert self.thread is not None
        return self.thread

    def module_texts(self) -> list[str]:
        from flowc.codegen.cpu.kernel_text import body_text
        from flowc.codegen.llvm.lanes import lanes_text
        from flowc.codegen.math import math_module_text

        texts = [body_text(self.function) + self._entry()]
        folds = lanes_text(texts[0])
        if folds is not None:
            texts.append(folds)
        if self.function.functions:
            texts.append(math_module_text(self.function.functions))
        return texts

    def _own_scratch(self) -> list[str]:
        """What defines %near: memory of the thread, or of its block where all of that are lanes."""
        if not self.stack:
            return []
        kind = f"[{self.stack} x i8]"
        if self.lanes == self.block:
            return [f"  %near = addrspacecast ptr addrspace(3) @{self.key}_shared to ptr"]
        return [f"  %near = alloca {kind}, align {ALIGNMENT}"]

    def _entry(self) -> str:
        shared = f"@{self.key}_shared = internal addrspace(3) global [{self.stack} x i8] undef"
        lines = [
            f"{shared}, align {ALIGNMENT}" if self.stack and self.lanes == self.block else "",
            "declare i64 @flowc_thread_of_grid()",
            "declare i64 @flowc_threads_of_grid()",
            "declare void @flowc_report_fault(ptr, ptr)",
            "declare void @llvm.assume(i1)",
            self.entry_head(),
            "entry:",
            "  %unused = alloca ptr",
            "  %fault = alloca [4 x i64], align 16",
            *self._own_scratch(),
            "  %thread = call i64 @flowc_thread_of_grid()",
            "  %threads = call i64 @flowc_threads_of_grid()",
            f"  %start = udiv i64 %thread, {self.lanes}",
            f"  %step = udiv i64 %threads, {self.lanes}",
            f"  %lane = urem i64 %thread, {self.lanes}",
            "  %offset = mul i64 %thread, %stride",
        ]
        for i in range(len(self.buffers)):
            lines.append(f"  %c{i} = addrspacecast ptr addrspace(1) %a{i} to ptr")
            lines.append(f'  call void @llvm.assume(i1 true) [ "align"(ptr %c{i}, i64 16) ]')
        pointers = [f"%c{i}" for i in range(len(self.buffers))]
        if self.stack:
            pointers.insert(self.scratch, "%near")
        elif self.scratch >= 0:
            lines.append(f"  %own = getelementptr i8, ptr %c{self.scratch}, i64 %offset")
            pointers[self.scratch] = "%own"
        words = ""
        if self.status >= 0:
            words, pointers[self.status] = pointers[self.status], "%fault"
        passed = ["ptr %unused", "ptr %unused", *(f"ptr {p}" for p in pointers)]
        passed += [f"i64 %n{i}" if n is None else f"i64 {n}" for i, n in enumerate(self.known)]
        passed += ["i64 %i", "i64 %end"]
        if self.function.ranges == 2:
            passed += ["i64 %lane", f"i64 {self.lanes}"]
        lines += [
            "  br label %head",
            "head:",
            "  %i = phi i64 [ %start, %entry ], [ %next, %body ]",
            "  %more = icmp slt i64 %i, %total",
            "  br i1 %more, label %body, label %done",
            "body:",
            "  %end = add nsw i64 %i, 1",
            *(["  store i64 0, ptr %fault"] if words else []),
            f"  %r = call i32 @{self.function.key}_body({', '.join(passed)})",
            *([f"  call void @flowc_report_fault(ptr %fault, ptr {words})"] if words else []),
            "  %next = add nsw i64 %i, %step",
            "  br label %head",
            "done:",
            "  ret void",
            "}",
            "",
        ]
        return "\n".join(["", *lines])


def device_launch(launch: Launch) -> DeviceLaunch:
    """A launch of one thread's function, by the threads of a grid."""
    operands, scratch, function = list(launch.operands), launch.scratch, launch.kernel
    place, status = _position(operands, SCRATCH), _position(operands, STATUS)
    buffers = list(function.buffers)
    stack, most = 0, MOST_BLOCKS
    most_near = MOST_SHARED if launch.lanes == BLOCK else MOST_STACK
    if isinstance(scratch, int) and 0 < scratch <= most_near and place >= 0:
        stack, scratch = ceildiv(scratch, ALIGNMENT) * ALIGNMENT, 0
        assert isinstance(stack, int)
        del operands[place], buffers[place]
    elif place >= 0:
        most, scratch = SCRATCH_BLOCKS, ceildiv(scratch, ALIGNMENT) * ALIGNMENT
    given = {f.name: getattr(function, f.name) for f in fields(Kernel)}
    given |= {"buffers": tuple(buffers)}
    kernel = ThreadKernel(
        **given,
        thread=function,
        status=status,
        scratch=place,
        stack=stack,
        lanes=launch.lanes,
        known=tuple(n if isinstance(n, int) else None for n in launch.ints),
    )
    given = {f.name: getattr(launch, f.name) for f in fields(Launch)}
    given |= {"kernel": kernel, "operands": tuple(operands), "scratch": scratch}
    blocks = minimum(ceildiv(launch.total * launch.lanes, BLOCK), most)
    return DeviceLaunch(**given, grid=(blocks, 1, 1), block=BLOCK)


def _position(operands: Sequence[object], wanted: str) -> int:
    return next((i for i, o in enumerate(operands) if isinstance(o, str) and o == wanted), -1)
