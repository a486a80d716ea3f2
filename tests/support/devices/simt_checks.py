"""Checks of every access to memory of device code that runs on the host (`simt_checks.c`).

In: kernels of a GPU. Out: their texts with a call before each load and store, and what was found
wrong: accesses beside what a kernel was given, races between threads, shared memory that is read
before it is written. Invariant: what a thread has on its own stack, and constants, are not watched.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.llvm.compile import optimized_module
from flowc.codegen.llvm.processor import Processor

_FUNCTION = re.compile(r"^(define [^\n]*\{\n)(.*?)^\}$", re.MULTILINE | re.DOTALL)
_PLACE = r"(?P<place>ptr(?: addrspace\(\d\))?) (?P<name>[^ ,]+)"
_LOAD = re.compile(rf"= load (?:volatile )?(?P<kind>.+?), {_PLACE}")
_STORE = re.compile(rf"^  store (?:volatile )?(?P<value>.+), {_PLACE}(?:, align|$|, !)")
_DERIVED = re.compile(
    r"^  (?P<new>%\S+) = (?:getelementptr|addrspacecast|bitcast|select|phi)\b(?P<rest>.*)$"
)
_POINTERS = re.compile(r"ptr(?: addrspace\(\d\))? (?P<name>[%@][^ ,)]+)|\[ (?P<from>[%@][^ ,]+), %")
_ALLOCA = re.compile(r"^  (?P<new>%\S+) = alloca")
_BLOCK_MOVE = re.compile(r"call void @llvm\.mem(?P<how>set|cpy|move)\.[^(]*\((?P<given>.*)\)")
_SHARED = re.compile(r"^(@\S+) = \S+.*addrspace\(3\) global (\[\d+ x [^\]]+\]|\S+)", re.MULTILINE)


@cache
def _library() -> Any:
    folder = Path(mkdtemp())
    source, made = Path(__file__).with_name("simt_checks.c"), folder / "simt_checks.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", made], check=True)
    library: Any = ctypes.CDLL(str(made))
    library.simt_reports.restype = ctypes.c_char_p
    return library


def _address(name: str) -> int:
    found = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
    assert found is not None
    return found


def reports() -> list[str]:
    """What was found since it was asked last."""
    found = _library().simt_reports().decode().splitlines()
    _library().simt_forget()
    return found


@dataclass(frozen=True, slots=True)
class AccessChecks:
    """What `simt_object` is given to have a kernel watched."""

    def texts(self, kernel: DeviceKernel, host: Processor) -> list[str]:
        machine = host.target_machine()
        text = str(optimized_module(kernel.module_texts(), machine))
        text = re.sub(r"memory\([^)]*\)|nosync|willreturn|nofree|mustprogress", "", text)
        text = re.sub(r"\b(readonly|writeonly|readnone|captures\(none\))", "", text)
        shared = [name for name, _ in _SHARED.findall(text)]
        found = _FUNCTION.sub(lambda m: m[1] + _watched(m[2], shared) + "}", text)
        ranges = "".join(
            f"  call void inttoptr (i64 {_address('simt_range')} to ptr)("
            f"ptr addrspacecast (ptr addrspace(3) {name} to ptr), "
            f"i64 ptrtoint (ptr getelementptr ({kind}, ptr null, i64 1) to i64), i64 1)\n"
            for name, kind in _SHARED.findall(text)
        )
        return [
            f"{found}\ndeclare void @flowc_access(ptr, i64, i64)\n"
            "define linkonce_odr hidden void @flowc_shared() alwaysinline {\n"
            f"{ranges}  ret void\n}}\n"
        ]

    def begins(self, kernel: DeviceKernel) -> str:
        pointers = len(kernel.buffers)
        words = pointers + kernel.ints + 2
        return (
            f"  call void inttoptr (i64 {_address('simt_begin')} to ptr)(ptr @of_kernel,"
            f" ptr %parameters, i64 {pointers}, i64 {words}, i64 %size)\n"
            "  call void @flowc_shared()\n"
        )

    def definitions(self, kernel: DeviceKernel) -> str:
        return f"""
@of_kernel = internal constant [{len(kernel.key) + 1} x i8] c"{kernel.key}\\00"
declare void @flowc_shared()
define linkonce_odr hidden void @flowc_access(ptr %place, i64 %bytes, i64 %writes) #0 {{
  %thread = load volatile i64, ptr @thread
  %block = load volatile i64, ptr @block
  %barriers = call i64 @barriers_passed(i64 %thread)
  call void inttoptr (i64 {_address("simt_access")} to ptr)(ptr %place, i64 %bytes, i64 %writes,
    i64 %thread, i64 %block, i64 %barriers)
  ret void
}}
"""


def _watched(body: str, shared: list[str]) -> str:
    """The lines of a function with a call before each access."""
    lines = body.split("\n")
    origins: dict[str, list[str]] = {}
    for line in lines:
        if found := _ALLOCA.match(line):
            origins[found["new"]] = ["own"]
        elif found := _DERIVED.match(line):
            pairs = _POINTERS.findall(found["rest"])
            origins[found["new"]] = [name or other for name, other in pairs]
    result: list[str] = []
    for number, line in enumerate(lines):
        result += _calls(line, number, origins, shared)
        result.append(line)
    return "\n".join(result)


def _calls(line: str, number: int, origins: dict[str, list[str]], shared: list[str]) -> list[str]:
    accesses: list[tuple[str, str, str, int]] = []
    if found := _LOAD.search(line):
        accesses.append((found["place"], found["name"], _bytes(found["kind"]), 0))
    elif found := _STORE.match(line):
        accesses.append((found["place"], found["name"], _bytes(_kind(found["value"])), 1))
    elif found := _BLOCK_MOVE.search(line):
        words = [w.strip() for w in found["given"].split(", ")]
        size = words[2].removeprefix("i64 ")
        places = words[:1] if found["how"] == "set" else words[:2]
        for i, word in enumerate(places):
            place = re.match(r"ptr(?: addrspace\(\d\))?", word)
            assert place is not None
            accesses.append((place[0], word.split()[-1], size, 1 - i))
    result: list[str] = []
    for i, (place, name, size, writes) in enumerate(accesses):
        if not _is_watched(name, origins, shared, set()):
            continue
        value = name
        if place != "ptr":
            value = f"%seen{number}.{i}"
            result.append(f"  {value} = addrspacecast {place} {name} to ptr")
        result.append(f"  call void @flowc_access(ptr {value}, i64 {size}, i64 {writes})")
    return result


def _is_watched(
    name: str, origins: dict[str, list[str]], shared: list[str], seen: set[str]
) -> bool:
    """Whether a pointer may be to memory of the grid."""
    if name in seen:
        return False
    seen.add(name)
    if name.startswith("@"):
        return name in shared
    if name not in origins:
        return name.startswith("%")
    return any(o != "own" and _is_watched(o, origins, shared, seen) for o in origins[name])


def _kind(value: str) -> str:
    """The type at the start of `type value`."""
    if value[0] in "<[{":
        pairs = {"<": ">", "[": "]", "{": "}"}
        depth = 0
        for i, letter in enumerate(value):
            depth += (letter in "<[{") - (letter in ">]}")
            if not depth:
                assert letter == pairs[value[0]]
                return value[: i + 1]
    return value.rpartition(" ")[0] if value.count(" ") == 1 else value.split()[0]


def _bytes(kind: str) -> str:
    return f"ptrtoint (ptr getelementptr ({kind}, ptr null, i64 1) to i64)"
