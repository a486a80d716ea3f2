"""Folds across the threads of a GPU that walk a row together, its lanes.

In: names of folds such as `across_add_f32`. Out: functions for Numba that call them, and the LLVM
IR that defines them, by the `flowc_*` functions of `codegen/cuda/intrinsics.py`.
Invariants: the order of a fold is a tree that only the number of lanes decides; every lane gets
the same bits.
"""

from __future__ import annotations

import re
from typing import Any

from llvmlite import ir

from flowc.codegen.llvm.kernel_functions import KernelFunction
from flowc_runtime.native.writer import I64, declare

WARP = 32  # threads that exchange values without memory
MOST_LANES = 1024
_NAME = re.compile(r"across_(\w+)_([fiu])(\d+)")
_CALLED = re.compile(r'@"?flowc_(across_\w+)"?\(')
_FLOATS = {32: "float", 64: "double"}


def across(name: str) -> KernelFunction:
    """The function `name(value, lanes)`."""
    how, letter, width = _parts(name)
    scalar = f"{ {'f': 'float', 'i': 'int', 'u': 'uint'}[letter] }{width}"

    def signature(types: Any) -> Any:
        kind = getattr(types, scalar)
        return kind(kind, types.int64)

    def emit(b: ir.IRBuilder, values: Any) -> Any:
        kind = ir.FunctionType(values[0].type, [values[0].type, I64])
        function = declare(b.module, f"flowc_{name}", kind)
        function.attributes.add("convergent")
        function.attributes.add("nounwind")
        return b.call(function, values)

    return KernelFunction(f"across_{how}", signature, emit)


def barrier() -> KernelFunction:
    """The lanes of a block wait for each other."""

    def emit(b: ir.IRBuilder, values: Any) -> None:
        function = declare(b.module, "flowc_barrier", ir.FunctionType(ir.VoidType(), []))
        function.attributes.add("convergent")
        function.attributes.add("nounwind")
        b.call(function, [])

    return KernelFunction("barrier", lambda types: types.void(), emit)


def _parts(name: str) -> tuple[str, str, int]:
    found = _NAME.fullmatch(name)
    assert found is not None, name
    return found[1], found[2], int(found[3])


def lanes_text(module: str) -> str | None:
    """What defines the folds that a module calls; None where it calls none."""
    names = sorted(set(_CALLED.findall(module)))
    if not names:
        return None
    return "\n".join([_SHARED, *map(_fold_text, names)])


_SHARED = f"""
declare i64 @flowc_thread() convergent nounwind
declare void @flowc_barrier() convergent nounwind
declare i32 @flowc_shuffle_lanes_i32(i32, i64, i64) convergent nounwind
declare i64 @flowc_shuffle_lanes_i64(i64, i64, i64) convergent nounwind
@flowc_folded = internal addrspace(3) global [{MOST_LANES // WARP} x i64] zeroinitializer
"""


def _fold_text(name: str) -> str:
    return _Fold(name).text()


class _Fold:
    """The text of a fold's function. Lanes of a warp exchange totals with those 1, 2, 4... beside
    them; then, where there are more, each reads the totals of all warps in their order."""

    def __init__(self, name: str) -> None:
        self.name = name
        how, letter, self.width = _parts(name)
        self.kind = _FLOATS[self.width] if letter == "f" else f"i{self.width}"
        self.wide = 64 if self.width == 64 else 32  # bits of a total as it is exchanged
        self.intrinsics: list[str] = []
        self.operation = _operation(how, letter, self.kind, self.intrinsics)

    def text(self) -> str:
        head = (
            f"define linkonce_odr hidden {self.kind} @flowc_{self.name}({self.kind} %given,"
            " i64 %lanes) alwaysinline convergent nounwind {"
        )
        lines = [head, *self._within_warp(), *self._across_warps(), "}"]
        return "\n".join([*lines, *self.intrinsics, ""])

    def _joined(self, result: str, x: str, y: str) -> str:
        return f"  %{result} = {self.operation(x, y)}"

    def _to_word(self, result: str, x: str) -> list[str]:
        return [
            f"  %{result}b = bitcast {self.kind} {x} to i{self.width}",
            f"  %{result} = {self._cast('zext')} i{self.width} %{result}b to i{self.wide}",
        ]

    def _from_word(self, result: str, x: str) -> list[str]:
        return [
            f"  %{result}b = {self._cast('trunc')} i{self.wide} {x} to i{self.width}",
            f"  %{result} = bitcast i{self.width} %{result}b to {self.kind}",
        ]

    def _cast(self, how: str) -> str:
        return "bitcast" if self.width == self.wide else how

    def _within_warp(self) -> list[str]:
        kind, wide = self.kind, self.wide
        lines = ["entry:", "  br label %step1"]
        value, before = "%given", "entry"
        for distance in (1, 2, 4, 8, 16):
            following = f"step{2 * distance}"
            lines += [
                f"step{distance}:",
                f"  %v{distance} = phi {kind} [ {value}, %{before} ]"
                + (f", [ %v{distance // 2}, %step{distance // 2} ]" if distance > 1 else ""),
                f"  %far{distance} = icmp sge i64 {distance}, %lanes",
                f"  br i1 %far{distance}, label %{following}, label %join{distance}",
                f"join{distance}:",
                *self._to_word(f"w{distance}", f"%v{distance}"),
                f"  %o{distance} = call i{wide} @flowc_shuffle_lanes_i{wide}(i{wide} %w{distance},"
                f" i64 {distance}, i64 %lanes)",
                *self._from_word(f"t{distance}", f"%o{distance}"),
                self._joined(f"j{distance}", f"%v{distance}", f"%t{distance}"),
                f"  br label %{following}",
            ]
            value, before = f"%j{distance}", f"join{distance}"
        return lines

    def _across_warps(self) -> list[str]:
        kind, wide = self.kind, self.wide
        return [
            "step32:",
            f"  %own = phi {kind} [ %j16, %join16 ], [ %v16, %step16 ]",
            f"  %few = icmp sle i64 %lanes, {WARP}",
            "  br i1 %few, label %done, label %many",
            "many:",
            "  %thread = call i64 @flowc_thread()",
            f"  %warp = udiv i64 %thread, {WARP}",
            f"  %warps = udiv i64 %lanes, {WARP}",
            "  %place = getelementptr i64, ptr addrspace(3) @flowc_folded, i64 %warp",
            f"  %lane = urem i64 %thread, {WARP}",
            "  %first = icmp eq i64 %lane, 0",
            "  br i1 %first, label %write, label %written",
            "write:",
            *self._to_word("mine", "%own"),
            f"  store i{wide} %mine, ptr addrspace(3) %place",
            "  br label %written",
            "written:",
            "  call void @flowc_barrier()",
            f"  %begin = load i{wide}, ptr addrspace(3) @flowc_folded",
            *self._from_word("total0", "%begin"),
            "  br label %next",
            "next:",
            "  %number = phi i64 [ 1, %written ], [ %following, %next ]",
            f"  %total = phi {kind} [ %total0, %written ], [ %sum, %next ]",
            "  %there = getelementptr i64, ptr addrspace(3) @flowc_folded, i64 %number",
            f"  %theirs = load i{wide}, ptr addrspace(3) %there",
            *self._from_word("value", "%theirs"),
            self._joined("sum", "%total", "%value"),
            "  %following = add i64 %number, 1",
            "  %more = icmp slt i64 %following, %warps",
            "  br i1 %more, label %next, label %all",
            "all:",
            "  call void @flowc_barrier()",
            "  br label %done",
            "done:",
            f"  %found = phi {kind} [ %own, %step32 ], [ %sum, %all ]",
            f"  ret {kind} %found",
        ]


def _operation(how: str, letter: str, kind: str, intrinsics: list[str]) -> Any:
    """The instruction that joins two totals."""
    plain = {"add": "add", "mul": "mul", "and": "and", "or": "or"}
    if how in plain:
        name = f"f{plain[how]}" if letter == "f" else plain[how]
        return lambda x, y: f"{name} {kind} {x}, {y}"
    if letter == "f":
        suffix = "f32" if kind == "float" else "f64"
        name = f"llvm.{'maximum' if how == 'max' else 'minimum'}.{suffix}"
    else:
        name = f"llvm.{'s' if letter == 'i' else 'u'}{how}.{kind}"
    intrinsics.append(f"declare {kind} @{name}({kind}, {kind})")
    return lambda x, y: f"call {kind} @{name}({kind} {x}, {kind} {y})"
