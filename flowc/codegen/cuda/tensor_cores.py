"""Multiplications of tensor cores as LLVM IR: for a GPU, and for a host that acts as one.

In: nothing. Out: texts that define `flowc_round_tf32` and `flowc_mma_{tf32,f16,bf16}`: 16 x 8 sums
from 16 x 8 and 8 x 8 elements of tf32, or 16 x 16 and 16 x 8 of the others. A thread of a warp has
four registers of the left operand, two of the right one and four sums.

Of thread 4 * g + t: sums of rows g, g + 8 and columns 2t, 2t + 1; of the left operand rows g and
g + 8, of the right one column g, both at steps t and t + 4, or, two elements in a register, 2t and
2t + 1, 2t + 8 and 2t + 9.
"""

from __future__ import annotations

from itertools import product

_NAMES = ("tf32", "f16", "bf16")
_FOUR = "{ float, float, float, float }"
_INTRINSICS = {
    "tf32": ("m16n8k8.row.col.tf32", "i32"),
    "f16": ("m16n8k16.row.col.f32.f32", "<2 x half>"),
    "bf16": ("m16n8k16.row.col.bf16", "i32"),
}


def _head(name: str) -> str:
    """The line that opens a function."""
    given = [*(f"i32 %r{i}" for i in range(6)), *(f"float %c{i}" for i in range(4))]
    return f"define linkonce_odr hidden {_FOUR} @flowc_mma_{name}({', '.join(given)})"


def gpu_tensor_cores() -> str:
    """The functions for a GPU of architecture 80 or later."""
    lines = [
        "declare i32 @llvm.nvvm.f2tf32.rna(float)",
        "define linkonce_odr hidden float @flowc_round_tf32(float %x) alwaysinline {",
        "  %bits = call i32 @llvm.nvvm.f2tf32.rna(float %x)",
        "  %found = bitcast i32 %bits to float",
        "  ret float %found",
        "}",
    ]
    for name in _NAMES:
        intrinsic, kind = _INTRINSICS[name]
        kinds = ", ".join([kind] * 6 + ["float"] * 4)
        passed = ", ".join([f"{kind} %b{i}" for i in range(6)] + [f"float %c{i}" for i in range(4)])
        lines += [
            f"declare {_FOUR} @llvm.nvvm.mma.{intrinsic}({kinds})",
            f"{_head(name)} alwaysinline convergent {{",
            *(f"  %b{i} = bitcast i32 %r{i} to {kind}" for i in range(6)),
            f"  %found = call {_FOUR} @llvm.nvvm.mma.{intrinsic}({passed})",
            f"  ret {_FOUR} %found",
            "}",
        ]
    return "\n".join([*lines, ""])


def host_tensor_cores(threads: int) -> str:
    """The functions for a host whose module has `@wait_for_warp` and the number `@thread`."""
    lines = [
        f"@registers = internal global [{threads} x [6 x i32]] zeroinitializer",
        "define linkonce_odr hidden float @flowc_round_tf32(float %x) {",
        "  %bits = bitcast float %x to i32",
        "  %more = add i32 %bits, 4096",
        "  %rounded = and i32 %more, -8192",
        "  %is_number = fcmp ord float %x, %x",
        "  %kept = select i1 %is_number, i32 %rounded, i32 %bits",
        "  %found = bitcast i32 %kept to float",
        "  ret float %found",
        "}",
    ]
    for name in _NAMES:
        lines += [f"{_head(name)} {{", *_host_body(name), "}"]
    return "\n".join([*lines, ""])


def _host_body(name: str) -> list[str]:
    lines = [
        "  %own = load volatile i64, ptr @thread",
        "  %lane = and i64 %own, 31",
        "  %first = sub i64 %own, %lane",
        "  %group = lshr i64 %lane, 2",
        "  %within = and i64 %lane, 3",
        "  %left = mul i64 %group, 4",
        "  %right = mul i64 %within, 8",
    ]
    for i in range(6):
        lines.append(f"  %p{i} = getelementptr [6 x i32], ptr @registers, i64 %own, i64 {i}")
        lines.append(f"  store i32 %r{i}, ptr %p{i}")
    lines.append("  call void @wait_for_warp()")
    halves = range(1 if name == "tf32" else 2)
    sums = {i: f"%c{i}" for i in range(4)}
    for i, (step, other, half) in product(range(4), product(range(2), range(4), halves)):
        at = f"{i}_{step}_{other}_{half}"
        lines += _host_element(name, f"x{at}", f"%left, {other}", step * 2 + i // 2, half)
        lines += _host_element(name, f"y{at}", f"%right, {i % 2 * 4 + other}", 4 + step, half)
        lines.append(f"  %m{at} = fmul float %x{at}, %y{at}")
        lines.append(f"  %s{at} = fadd float {sums[i]}, %m{at}")
        sums[i] = f"%s{at}"
    lines.append("  call void @wait_for_warp()")
    found = "undef"
    for i in range(4):
        lines.append(f"  %o{i} = insertvalue {_FOUR} {found}, float {sums[i]}, {i}")
        found = f"%o{i}"
    return [*lines, f"  ret {_FOUR} {found}"]


def _host_element(name: str, to: str, thread: str, register: int, half: int) -> list[str]:
    """`%to`: an element that another thread of the warp has in a register, as a float."""
    lines = [
        f"  %{to}t = add i64 {thread}",
        f"  %{to}n = add i64 %{to}t, %first",
        f"  %{to}p = getelementptr [6 x i32], ptr @registers, i64 %{to}n, i64 {register}",
        f"  %{to}r = load i32, ptr %{to}p",
    ]
    if name == "tf32":
        return [*lines, f"  %{to} = bitcast i32 %{to}r to float"]
    if name == "bf16":
        kept = f"and i32 %{to}r, -65536" if half else f"shl i32 %{to}r, 16"
        return [*lines, f"  %{to}w = {kept}", f"  %{to} = bitcast i32 %{to}w to float"]
    return [
        *lines,
        f"  %{to}s = lshr i32 %{to}r, {16 * half}",
        f"  %{to}w = trunc i32 %{to}s to i16",
        f"  %{to}h = bitcast i16 %{to}w to half",
        f"  %{to} = fpext half %{to}h to float",
    ]
