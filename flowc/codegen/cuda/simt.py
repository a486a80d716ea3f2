"""Device code on the host: the grid of a launch on one thread of a CPU, for tests without a GPU.

In: a DeviceKernel. Out: an object in the form of `images.py` with one image, of architecture -1:

    { [8 x i8] "FLOWCSIM", ptr entry }
    void entry(void **parameters, i64 x, i64 y, i64 z, i64 block, i64 shared_bytes)

`parameters` are those of `cuLaunchKernel`. Blocks run one after another. So do the threads of one
that has no barrier; else each thread is a context of libc, which runs until it has to wait for the
others. Invariants: the code of the kernel is what becomes PTX; one launch of a kernel at a time;
what is defined here is inlined or internal, as loaded objects share their other names.
"""

from __future__ import annotations

import re
from typing import Protocol

from flowc.codegen.cuda.intrinsics import ON_EVERY_MACHINE
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.tensor_cores import host_tensor_cores
from flowc.codegen.llvm.compile import compile_module
from flowc.codegen.llvm.processor import Processor

ARCHITECTURE = -1  # of the image in an object
# What threads wait for each other in.
WAITING = re.compile(r'@"?flowc_(barrier|shuffle_|mma_)')

_GRID = """
@parameters = internal global ptr null
@thread = internal global i64 0
@block = internal global i64 0
@blocks = internal global i64 0
@size = internal global i64 0

define linkonce_odr hidden i64 @flowc_thread() #0 {{
  %found = load volatile i64, ptr @thread
  ret i64 %found
}}
define linkonce_odr hidden i64 @flowc_block() #0 {{
  %found = load volatile i64, ptr @block
  ret i64 %found
}}
define linkonce_odr hidden i64 @flowc_blocks() #0 {{
  %found = load volatile i64, ptr @blocks
  ret i64 %found
}}
define linkonce_odr hidden i64 @flowc_block_size() #0 {{
  %found = load volatile i64, ptr @size
  ret i64 %found
}}

declare void @{key}_of_thread({kinds})

define internal void @call_thread() noinline {{
  %table = load ptr, ptr @parameters
{arguments}
  call void @{key}_of_thread({passed})
  ret void
}}

declare void @abort()
attributes #0 = {{ alwaysinline }}

define internal void @entry(ptr %parameters, i64 %x, i64 %y, i64 %z, i64 %size, i64 %shared) {{
  %rest = mul i64 %y, %z
  %flat = icmp eq i64 %rest, 1
  %fits = icmp ule i64 %size, {threads}
  %known = and i1 %flat, %fits
  br i1 %known, label %begin, label %wrong
wrong:
  call void @abort()
  unreachable
begin:
  store ptr %parameters, ptr @parameters
  store i64 %x, ptr @blocks
  store i64 %size, ptr @size
{watched}  call void @begin_grid()
  br label %head
head:
  %b = phi i64 [ 0, %begin ], [ %next, %body ]
  %more = icmp slt i64 %b, %x
  br i1 %more, label %body, label %done
body:
  store volatile i64 %b, ptr @block
  call void @run_block(i64 %size)
  %next = add i64 %b, 1
  br label %head
done:
  call void @end_grid()
  ret void
}}

@image = internal constant {{ [8 x i8], ptr }} {{ [8 x i8] c"FLOWCSIM", ptr @entry }}, align 16
@{key} = constant {{ i64, [1 x {{ i64, i64, ptr }}] }} {{ i64 1,
  [1 x {{ i64, i64, ptr }}] [{{ i64, i64, ptr }} {{ i64 {architecture}, i64 16, ptr @image }}] }}
"""

# Threads that wait for nobody.
_IN_TURN = """
define internal void @begin_grid() {
  ret void
}
define internal void @end_grid() {
  ret void
}
define internal i64 @barriers_passed(i64 %thread) {
  ret i64 0
}
define internal void @run_block(i64 %size) {
  br label %head
head:
  %t = phi i64 [ 0, %0 ], [ %next, %body ]
  %more = icmp slt i64 %t, %size
  br i1 %more, label %body, label %done
body:
  store volatile i64 %t, ptr @thread
  call void @call_thread()
  %next = add i64 %t, 1
  br label %head
done:
  ret void
}
"""

# Threads as contexts. Of each: how often it has arrived at a barrier of its block, and at an
# exchange of its group, which has as many lanes throughout a kernel. It waits until all have
# arrived as often; where nobody can go on, the process ends.
_CONTEXTS = """
@contexts = internal global ptr null
@main = internal global [1024 x i8] zeroinitializer, align 64
@stacks = internal global ptr null
@ended = internal global [{threads} x i64] zeroinitializer
@block_waits = internal global [{threads} x i64] zeroinitializer
@group_waits = internal global [{threads} x i64] zeroinitializer
@block_arrived = internal global i64 0
@group_arrived = internal global [{threads} x i64] zeroinitializer
@left = internal global i64 0
@idle = internal global i64 0
@exchanged = internal global [{threads} x i64] zeroinitializer
declare i32 @getcontext(ptr) returns_twice
declare void @makecontext(ptr, ptr, i32, ...)
declare i32 @swapcontext(ptr, ptr) returns_twice
declare i32 @setcontext(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @begin_grid() {{
  %all = mul i64 {threads}, {stack}
  %stacks = call ptr @malloc(i64 %all)
  store ptr %stacks, ptr @stacks
  %places = mul i64 {threads}, 1024
  %contexts = call ptr @malloc(i64 %places)
  store ptr %contexts, ptr @contexts
  ret void
}}
define internal void @end_grid() {{
  %stacks = load ptr, ptr @stacks
  call void @free(ptr %stacks)
  %contexts = load ptr, ptr @contexts
  call void @free(ptr %contexts)
  ret void
}}

; The next thread that has not ended, after the one that is given.
define internal i64 @next_thread(i64 %thread) noinline {{
  %size = load i64, ptr @size
  br label %head
head:
  %t = phi i64 [ %thread, %0 ], [ %next, %head ]
  %t1 = add i64 %t, 1
  %next = urem i64 %t1, %size
  %place = getelementptr i64, ptr @ended, i64 %next
  %ended = load i64, ptr %place
  %gone = icmp ne i64 %ended, 0
  br i1 %gone, label %head, label %done
done:
  ret i64 %next
}}

define internal void @wait(ptr %waits, ptr %arrived, i64 %members) noinline {{
  %own = load volatile i64, ptr @thread
  %place = getelementptr i64, ptr %waits, i64 %own
  %before = load i64, ptr %place
  %times = add i64 %before, 1
  store i64 %times, ptr %place
  %earlier = load i64, ptr %arrived
  %here = add i64 %earlier, 1
  store i64 %here, ptr %arrived
  store i64 0, ptr @idle
  %goal = mul i64 %times, %members
  br label %head
head:
  %now = load volatile i64, ptr %arrived
  %all = icmp uge i64 %now, %goal
  br i1 %all, label %done, label %other
other:
  %idle = load i64, ptr @idle
  %more = add i64 %idle, 1
  store i64 %more, ptr @idle
  %never = icmp ugt i64 %more, {patience}
  br i1 %never, label %stuck, label %switch
stuck:
  call void @abort()
  unreachable
switch:
  %next = call i64 @next_thread(i64 %own)
  store volatile i64 %next, ptr @thread
  %contexts = load ptr, ptr @contexts
  %from = getelementptr [1024 x i8], ptr %contexts, i64 %own
  %to = getelementptr [1024 x i8], ptr %contexts, i64 %next
  %r = call i32 @swapcontext(ptr %from, ptr %to)
  br label %head
done:
  ret void
}}

define internal i64 @barriers_passed(i64 %thread) {{
  %place = getelementptr i64, ptr @block_waits, i64 %thread
  %found = load i64, ptr %place
  ret i64 %found
}}

define linkonce_odr hidden void @flowc_barrier() #0 {{
  %size = load i64, ptr @size
  call void @wait(ptr @block_waits, ptr @block_arrived, i64 %size)
  ret void
}}

define internal void @wait_for_group(i64 %own, i64 %lanes) {{
  %size = load i64, ptr @size
  %group = udiv i64 %own, %lanes
  %first = mul i64 %group, %lanes
  %rest = sub i64 %size, %first
  %short = icmp ult i64 %rest, %lanes
  %members = select i1 %short, i64 %rest, i64 %lanes
  %arrived = getelementptr i64, ptr @group_arrived, i64 %group
  call void @wait(ptr @group_waits, ptr %arrived, i64 %members)
  ret void
}}

define internal void @wait_for_warp() {{
  %own = load volatile i64, ptr @thread
  call void @wait_for_group(i64 %own, i64 32)
  ret void
}}

define internal i64 @exchange(i64 %value, i64 %distance, i64 %lanes) noinline {{
  %own = load volatile i64, ptr @thread
  %mine = getelementptr i64, ptr @exchanged, i64 %own
  store i64 %value, ptr %mine
  call void @wait_for_group(i64 %own, i64 %lanes)
  %other = xor i64 %own, %distance
  %theirs = getelementptr i64, ptr @exchanged, i64 %other
  %found = load i64, ptr %theirs
  call void @wait_for_group(i64 %own, i64 %lanes)
  ret i64 %found
}}

define linkonce_odr hidden i64 @flowc_shuffle_lanes_i64(i64 %value, i64 %distance, i64 %lanes) #0 {{
  %many = icmp ugt i64 %lanes, 32
  %group = select i1 %many, i64 32, i64 %lanes
  %found = call i64 @exchange(i64 %value, i64 %distance, i64 %group)
  ret i64 %found
}}

define linkonce_odr hidden i32 @flowc_shuffle_lanes_i32(i32 %value, i64 %distance, i64 %lanes) #0 {{
  %wide = zext i32 %value to i64
  %found = call i64 @flowc_shuffle_lanes_i64(i64 %wide, i64 %distance, i64 %lanes)
  %narrow = trunc i64 %found to i32
  ret i32 %narrow
}}

define linkonce_odr hidden i32 @flowc_shuffle_xor_i32(i32 %value, i32 %mask) #0 {{
  %wide = zext i32 %value to i64
  %distance = zext i32 %mask to i64
  %found = call i64 @exchange(i64 %wide, i64 %distance, i64 32)
  %narrow = trunc i64 %found to i32
  ret i32 %narrow
}}

define internal void @run_thread() noinline {{
  call void @call_thread()
  %own = load volatile i64, ptr @thread
  %place = getelementptr i64, ptr @ended, i64 %own
  store i64 1, ptr %place
  store i64 0, ptr @idle
  %before = load i64, ptr @left
  %left = sub i64 %before, 1
  store i64 %left, ptr @left
  %last = icmp eq i64 %left, 0
  br i1 %last, label %end, label %other
end:
  %e = call i32 @setcontext(ptr @main)
  unreachable
other:
  %next = call i64 @next_thread(i64 %own)
  store volatile i64 %next, ptr @thread
  %contexts = load ptr, ptr @contexts
  %to = getelementptr [1024 x i8], ptr %contexts, i64 %next
  %o = call i32 @setcontext(ptr %to)
  unreachable
}}

define internal void @run_block(i64 %size) noinline {{
  %bytes = mul i64 {threads}, 8
  call void @llvm.memset.p0.i64(ptr @ended, i8 0, i64 %bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr @block_waits, i8 0, i64 %bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr @group_waits, i8 0, i64 %bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr @group_arrived, i8 0, i64 %bytes, i1 false)
  store i64 0, ptr @block_arrived
  store i64 0, ptr @idle
  store i64 %size, ptr @left
  %stacks = load ptr, ptr @stacks
  %contexts = load ptr, ptr @contexts
  br label %make
make:
  %t = phi i64 [ 0, %0 ], [ %t1, %make ]
  %context = getelementptr [1024 x i8], ptr %contexts, i64 %t
  %g = call i32 @getcontext(ptr %context)
  %stack = getelementptr [{stack} x i8], ptr %stacks, i64 %t
  %link = getelementptr i8, ptr %context, i64 8
  store ptr null, ptr %link
  %sp = getelementptr i8, ptr %context, i64 16
  store ptr %stack, ptr %sp
  %stack_size = getelementptr i8, ptr %context, i64 32
  store i64 {stack}, ptr %stack_size
  call void (ptr, ptr, i32, ...) @makecontext(ptr %context, ptr @run_thread, i32 0)
  %t1 = add i64 %t, 1
  %some = icmp slt i64 %t1, %size
  br i1 %some, label %make, label %start
start:
  store volatile i64 0, ptr @thread
  %s = call i32 @swapcontext(ptr @main, ptr %contexts)
  ret void
}}
"""
_THREADS, _STACK = 1024, 1 << 16


class Watch(Protocol):
    """Instrumentation of every memory access, for tests: `begins` are the lines of a call before a
    grid, `definitions` the functions that they and the instrumented texts call. There `@thread` and
    `@block` are where one stands, and `@barriers_passed(i64)` tells what a thread of the block has
    behind it."""

    def texts(self, kernel: DeviceKernel, host: Processor) -> list[str]: ...
    def begins(self, kernel: DeviceKernel) -> str: ...
    def definitions(self, kernel: DeviceKernel) -> str: ...


def simt_object(kernel: DeviceKernel, host: Processor, watch: Watch | None = None) -> bytes:
    """The kernel with what runs its grid."""
    texts = kernel.module_texts() if watch is None else watch.texts(kernel, host)
    # Its name is that of the object's constant.
    first = texts[0].replace(f"void @{kernel.key}(", f"void @{kernel.key}_of_thread(", 1)
    return compile_module([_grid(kernel, texts, watch), first, *texts[1:]], host)


def _grid(kernel: DeviceKernel, texts: list[str], watch: Watch | None) -> str:
    pointers, count = len(kernel.buffers), len(kernel.buffers) + kernel.ints + 2
    kinds = ["ptr addrspace(1)"] * pointers + ["i64"] * (count - pointers)
    lines: list[str] = []
    for i, kind in enumerate(kinds):
        lines.append(f"  %e{i} = getelementptr ptr, ptr %table, i64 {i}")
        lines.append(f"  %p{i} = load ptr, ptr %e{i}")
        lines.append(f"  %v{i} = load {kind}, ptr %p{i}")
    text = ON_EVERY_MACHINE + _GRID.format(
        key=kernel.key,
        kinds=", ".join(kinds),
        arguments="\n".join(lines),
        passed=", ".join(f"{kind} %v{i}" for i, kind in enumerate(kinds)),
        threads=_THREADS,
        architecture=ARCHITECTURE,
        watched="" if watch is None else watch.begins(kernel),
    )
    text += "" if watch is None else watch.definitions(kernel)
    if not any(map(WAITING.search, texts)):
        return text + _IN_TURN
    contexts = _CONTEXTS.format(threads=_THREADS, stack=_STACK, patience=4 * _THREADS)
    return text + contexts + host_tensor_cores(_THREADS)
