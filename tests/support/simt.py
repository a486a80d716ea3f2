"""Kernels of a GPU on this processor: the threads of a block take turns at its barriers.

In: a kernel of the device, arrays and ints. Out: what the grid writes. The threads are contexts of
libc: each runs until a barrier, where the next one goes on. Invariant: every thread of a block
passes the same number of barriers, which is checked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from llvmlite import binding as llvm

from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.llvm.compile import optimized_module

MOST_THREADS, STACK = 256, 1 << 16

_RUNTIME = """
@contexts = internal global [{threads} x [1024 x i8]] zeroinitializer, align 64
@main = internal global [1024 x i8] zeroinitializer, align 64
@stacks = internal global [{threads} x [{stack} x i8]] zeroinitializer, align 64
@barriers = internal global [{threads} x i64] zeroinitializer
@thread = internal global i64 0
@block = internal global i64 0
@count = internal global i64 0
@arguments = global [64 x i64] zeroinitializer
declare i32 @getcontext(ptr)
declare void @makecontext(ptr, ptr, i32, ...)
declare i32 @swapcontext(ptr, ptr)
declare void @setcontext(ptr)

define i64 @flowc_thread() noinline optnone {{
  %found = load volatile i64, ptr @thread
  ret i64 %found
}}
define i64 @flowc_block() noinline optnone {{
  %found = load volatile i64, ptr @block
  ret i64 %found
}}
define void @flowc_barrier() noinline optnone {{
  %own = load volatile i64, ptr @thread
  %place = getelementptr i64, ptr @barriers, i64 %own
  %passed = load i64, ptr %place
  %more = add i64 %passed, 1
  store i64 %more, ptr %place
  %after = add i64 %own, 1
  %all = load i64, ptr @count
  %next = urem i64 %after, %all
  store volatile i64 %next, ptr @thread
  %from = getelementptr [1024 x i8], ptr @contexts, i64 %own
  %to = getelementptr [1024 x i8], ptr @contexts, i64 %next
  %r = call i32 @swapcontext(ptr %from, ptr %to)
  ret void
}}
define void @flowc_report_fault(ptr %own, ptr %words) {{
  %fault = load i64, ptr %own
  %known = load i64, ptr %words
  %some = icmp ne i64 %fault, 0
  %none = icmp eq i64 %known, 0
  %first = and i1 %some, %none
  br i1 %first, label %write, label %done
write:
  call void @llvm.memcpy.p0.p0.i64(ptr %words, ptr %own, i64 32, i1 false)
  br label %done
done:
  ret void
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @run_thread() noinline optnone {{
{call}
  %own = load volatile i64, ptr @thread
  %next = add i64 %own, 1
  store volatile i64 %next, ptr @thread
  %all = load i64, ptr @count
  %last = icmp eq i64 %next, %all
  br i1 %last, label %end, label %other
end:
  call void @setcontext(ptr @main)
  unreachable
other:
  %to = getelementptr [1024 x i8], ptr @contexts, i64 %next
  call void @setcontext(ptr %to)
  unreachable
}}

; Whether all threads of all blocks passed the same barriers.
define i64 @run(i64 %blocks, i64 %threads) noinline optnone {{
  store i64 %threads, ptr @count
  br label %blocks_head
blocks_head:
  %block = phi i64 [ 0, %0 ], [ %next_block, %block_done ]
  %more = icmp slt i64 %block, %blocks
  br i1 %more, label %make, label %done
make:
  store volatile i64 %block, ptr @block
  br label %make_thread
make_thread:
  %t = phi i64 [ 0, %make ], [ %t1, %make_thread ]
  %context = getelementptr [1024 x i8], ptr @contexts, i64 %t
  %g = call i32 @getcontext(ptr %context)
  %stack = getelementptr [{stack} x i8], ptr @stacks, i64 %t
  %link = getelementptr i8, ptr %context, i64 8
  store ptr null, ptr %link
  %sp = getelementptr i8, ptr %context, i64 16
  store ptr %stack, ptr %sp
  %size = getelementptr i8, ptr %context, i64 32
  store i64 {stack}, ptr %size
  call void (ptr, ptr, i32, ...) @makecontext(ptr %context, ptr @run_thread, i32 0)
  %place = getelementptr i64, ptr @barriers, i64 %t
  store i64 0, ptr %place
  %t1 = add i64 %t, 1
  %some = icmp slt i64 %t1, %threads
  br i1 %some, label %make_thread, label %start
start:
  store volatile i64 0, ptr @thread
  %s = call i32 @swapcontext(ptr @main, ptr @contexts)
  br label %compare
compare:
  %c = phi i64 [ 0, %start ], [ %c1, %compare ]
  %its = getelementptr i64, ptr @barriers, i64 %c
  %passed = load i64, ptr %its
  %first = load i64, ptr @barriers
  %same = icmp eq i64 %passed, %first
  %c1 = add i64 %c, 1
  %rest = icmp slt i64 %c1, %threads
  %again = and i1 %same, %rest
  br i1 %again, label %compare, label %compared
compared:
  br i1 %same, label %block_done, label %wrong
block_done:
  %next_block = add i64 %block, 1
  br label %blocks_head
done:
  ret i64 1
wrong:
  ret i64 0
}}
"""


class HostGrid:
    """A kernel of the device, compiled for this processor."""

    def __init__(self, kernel: DeviceKernel) -> None:
        self.kernel = kernel
        pointers, numbers = len(kernel.buffers), kernel.ints + 2
        lines: list[str] = []
        for i in range(pointers + numbers):
            kind = "ptr addrspace(1)" if i < pointers else "i64"
            lines.append(f"  %p{i} = getelementptr i64, ptr @arguments, i64 {i}")
            lines.append(f"  %a{i} = load {kind}, ptr %p{i}")
        passed = [
            f"{'ptr addrspace(1)' if i < pointers else 'i64'} %a{i}"
            for i in range(pointers + numbers)
        ]
        kinds = ", ".join(p.rsplit(" ", 1)[0] for p in passed)
        lines.append(f"  call void @{kernel.key}({', '.join(passed)})")
        runtime = f"declare void @{kernel.key}({kinds})\n" + _RUNTIME.format(
            call="\n".join(lines), threads=MOST_THREADS, stack=STACK
        )
        machine = cpu_target("native").processor.target_machine(1)
        module = optimized_module([*kernel.module_texts(), runtime], machine, speed=1)
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self._run = kind(self.engine.get_function_address("run"))
        self._arguments = (ctypes.c_int64 * 64).from_address(
            self.engine.get_global_value_address("arguments")
        )

    def run(self, arrays: Sequence[np.ndarray], ints: Sequence[int], blocks: int) -> None:
        """The whole grid. `arrays`: one a buffer, which the kernel may write."""
        assert len(arrays) == len(self.kernel.buffers) and len(ints) == self.kernel.ints
        for i, value in enumerate([*(a.ctypes.data for a in arrays), *ints, 0, blocks]):
            self._arguments[i] = value
        assert self._run(blocks, self.kernel.block), "threads of a block passed other barriers"
