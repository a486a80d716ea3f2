"""What device code asks the machine for, as LLVM IR: for a GPU, and for a host that acts as one.

In: nothing. Out: the text of a module that defines every `flowc_*` function that kernels of a
device may declare. Invariant: the code of a kernel is the same for both machines.
"""

from __future__ import annotations

from flowc.codegen.cuda.tensor_cores import gpu_tensor_cores

# What is the same on every machine that tells where a thread stands.
ON_EVERY_MACHINE = """
; The first thread of a launch that finds a fault reports it: words that a launch starts with are 0.
define linkonce_odr hidden void @flowc_report_fault(ptr %own, ptr %words) alwaysinline {
  %fault = load i64, ptr %own
  %some = icmp ne i64 %fault, 0
  br i1 %some, label %report, label %done
report:
  %pair = cmpxchg ptr %words, i64 0, i64 %fault monotonic monotonic
  %first = extractvalue { i64, i1 } %pair, 1
  br i1 %first, label %write, label %done
write:
  %own1 = getelementptr i64, ptr %own, i64 1
  %words1 = getelementptr i64, ptr %words, i64 1
  %v1 = load i64, ptr %own1
  store i64 %v1, ptr %words1
  %own2 = getelementptr i64, ptr %own, i64 2
  %words2 = getelementptr i64, ptr %words, i64 2
  %v2 = load i64, ptr %own2
  store i64 %v2, ptr %words2
  %own3 = getelementptr i64, ptr %own, i64 3
  %words3 = getelementptr i64, ptr %words, i64 3
  %v3 = load i64, ptr %own3
  store i64 %v3, ptr %words3
  br label %done
done:
  ret void
}

define linkonce_odr hidden i64 @flowc_thread_of_grid() alwaysinline {
  %thread = call i64 @flowc_thread()
  %block = call i64 @flowc_block()
  %size = call i64 @flowc_block_size()
  %before = mul nuw nsw i64 %block, %size
  %found = add nuw nsw i64 %before, %thread
  ret i64 %found
}

define linkonce_odr hidden i64 @flowc_threads_of_grid() alwaysinline {
  %blocks = call i64 @flowc_blocks()
  %size = call i64 @flowc_block_size()
  %found = mul nuw nsw i64 %blocks, %size
  ret i64 %found
}
"""

# All threads of a block wait for each other, and see what the others wrote before.
_BARRIER = """
declare void @llvm.nvvm.barrier0()
define linkonce_odr hidden void @flowc_barrier() #0 {
  call void @llvm.nvvm.barrier0()
  ret void
}

; What another thread of the warp gives: the one whose number differs in the bits of the mask. Of
; few lanes, a power of two, only those that walk the same row take part.
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
define linkonce_odr hidden i32 @flowc_shuffle_xor_i32(i32 %value, i32 %mask) #0 {
  %found = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %value, i32 %mask, i32 31)
  ret i32 %found
}
define linkonce_odr hidden i32 @flowc_members(i64 %lanes) #0 {
  %thread = call i64 @flowc_thread()
  %own = and i64 %thread, 31
  %less = sub i64 %lanes, 1
  %outside = xor i64 %less, -1
  %first = and i64 %own, %outside
  %bit = shl i64 1, %lanes
  %some = sub i64 %bit, 1
  %placed = shl i64 %some, %first
  %is_whole = icmp sge i64 %lanes, 32
  %found = select i1 %is_whole, i64 -1, i64 %placed
  %narrow = trunc i64 %found to i32
  ret i32 %narrow
}
define linkonce_odr hidden i32 @flowc_shuffle_lanes_i32(i32 %value, i64 %distance, i64 %lanes) #0 {
  %mask = call i32 @flowc_members(i64 %lanes)
  %bits = trunc i64 %distance to i32
  %found = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 %mask, i32 %value, i32 %bits, i32 31)
  ret i32 %found
}
define linkonce_odr hidden i64 @flowc_shuffle_lanes_i64(i64 %value, i64 %distance, i64 %lanes) #0 {
  %low = trunc i64 %value to i32
  %top = lshr i64 %value, 32
  %high = trunc i64 %top to i32
  %l = call i32 @flowc_shuffle_lanes_i32(i32 %low, i64 %distance, i64 %lanes)
  %h = call i32 @flowc_shuffle_lanes_i32(i32 %high, i64 %distance, i64 %lanes)
  %lw = zext i32 %l to i64
  %hw = zext i32 %h to i64
  %shifted = shl i64 %hw, 32
  %found = or i64 %shifted, %lw
  ret i64 %found
}
attributes #0 = { alwaysinline convergent nounwind }
"""

# Function -> the register of a GPU that says it. Of a grid only x is used.
_REGISTERS = {
    "flowc_thread": "tid.x",
    "flowc_block": "ctaid.x",
    "flowc_block_size": "ntid.x",
    "flowc_blocks": "nctaid.x",
}


def gpu_intrinsics() -> str:
    """The module for a GPU."""
    lines = [ON_EVERY_MACHINE, _BARRIER, gpu_tensor_cores()]
    for name, register in _REGISTERS.items():
        asked = f"@llvm.nvvm.read.ptx.sreg.{register}()"
        lines += [
            f"declare i32 {asked}",
            f"define linkonce_odr hidden i64 @{name}() alwaysinline {{",
            f"  %narrow = call i32 {asked}",
            "  %found = zext i32 %narrow to i64",
            "  ret i64 %found",
            "}",
            "",
        ]
    return "\n".join(lines)
