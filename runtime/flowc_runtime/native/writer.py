"""Structured emission of LLVM functions: variables, loops, conditions, atomics, libc calls.

In: an `llvmlite.ir.Module`. Out: functions added to it. Invariant: pointers are opaque, integers
are i32 or i64, and every block that a `with` statement opens is closed by it; a block that returns
stays as it is. Callers write straight code; LLVM's mem2reg turns the variables into registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
VOID = ir.VoidType()
PTR = ir.PointerType()
NULL = ir.Constant(PTR, None)

LIBC: dict[str, ir.FunctionType] = {
    "abort": ir.FunctionType(VOID, []),
    "clock_gettime": ir.FunctionType(I32, [I32, PTR]),
    "close": ir.FunctionType(I32, [I32]),
    "dladdr": ir.FunctionType(I32, [PTR, PTR]),
    "dlopen": ir.FunctionType(PTR, [PTR, I32]),
    "dlsym": ir.FunctionType(PTR, [PTR, PTR]),
    "free": ir.FunctionType(VOID, [PTR]),
    "getrandom": ir.FunctionType(I64, [PTR, I64, I32]),
    "getpid": ir.FunctionType(I32, []),
    "lseek": ir.FunctionType(I64, [I32, I64, I32]),
    "madvise": ir.FunctionType(I32, [PTR, I64, I32]),
    "malloc": ir.FunctionType(PTR, [I64]),
    "memcmp": ir.FunctionType(I32, [PTR, PTR, I64]),
    "memcpy": ir.FunctionType(PTR, [PTR, PTR, I64]),
    "memset": ir.FunctionType(PTR, [PTR, I32, I64]),
    "mmap": ir.FunctionType(PTR, [PTR, I64, I32, I32, I32, I64]),
    "munmap": ir.FunctionType(I32, [PTR, I64]),
    "open": ir.FunctionType(I32, [PTR, I32], var_arg=True),
    "posix_memalign": ir.FunctionType(I32, [PTR, I64, I64]),
    "pread": ir.FunctionType(I64, [I32, PTR, I64, I64]),
    "pthread_attr_destroy": ir.FunctionType(I32, [PTR]),
    "pthread_attr_init": ir.FunctionType(I32, [PTR]),
    "pthread_attr_setstacksize": ir.FunctionType(I32, [PTR, I64]),
    "pthread_create": ir.FunctionType(I32, [PTR, PTR, PTR, PTR]),
    "pthread_getspecific": ir.FunctionType(PTR, [I32]),
    "pthread_join": ir.FunctionType(I32, [I64, PTR]),
    "pthread_key_create": ir.FunctionType(I32, [PTR, PTR]),
    "pthread_key_delete": ir.FunctionType(I32, [I32]),
    "pthread_mutex_destroy": ir.FunctionType(I32, [PTR]),
    "pthread_mutex_init": ir.FunctionType(I32, [PTR, PTR]),
    "pthread_mutex_lock": ir.FunctionType(I32, [PTR]),
    "pthread_mutex_unlock": ir.FunctionType(I32, [PTR]),
    "pthread_setspecific": ir.FunctionType(I32, [I32, PTR]),
    "pthread_sigmask": ir.FunctionType(I32, [I32, PTR, PTR]),
    "realpath": ir.FunctionType(PTR, [PTR, PTR]),
    "sched_getaffinity": ir.FunctionType(I32, [I32, I64, PTR]),
    "snprintf": ir.FunctionType(I32, [PTR, I64, PTR], var_arg=True),
    "syscall": ir.FunctionType(I64, [I64], var_arg=True),
}


def i32(value: int) -> ir.Constant:
    return ir.Constant(I32, value)


def i64(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def declare(module: ir.Module, name: str, signature: ir.FunctionType) -> ir.Function:
    """The function of that name, declared at its first use."""
    found = module.globals.get(name)
    return found if found is not None else ir.Function(module, signature, name)


def as_pointer(value: Any) -> Any:
    """The address of a global or function as an opaque pointer constant."""
    return ir.FormattedConstant(PTR, value.get_reference())


def new_global(
    module: ir.Module,
    name: str,
    start: Any,
    *,
    linkage: str = "internal",
    constant: bool = False,
    section: str = "",
    align: int | None = None,
) -> Any:
    """A global that starts with a constant; a type in its place means all zeros."""
    zeros = isinstance(start, ir.Type)
    made: Any = ir.GlobalVariable(module, start if zeros else start.type, name)
    made.initializer = ir.Constant(start, None) if zeros else start
    made.linkage = linkage
    made.global_constant = constant
    made.section = section
    made.align = align
    return made


def text_constant(module: ir.Module, text: str) -> Any:
    """The address of a NUL-terminated UTF-8 constant; equal texts share one."""
    data = bytearray(text.encode("utf-8") + b"\0")
    return as_pointer(data_constant(module, ir.Constant(ir.ArrayType(I8, len(data)), data), "text"))


def data_constant(module: ir.Module, value: ir.Constant, prefix: str) -> ir.GlobalVariable:
    """A private read-only global with that value; equal values of one prefix share one."""
    key = f"{prefix}|{value}"
    table: dict[str, ir.GlobalVariable] = module.__dict__.setdefault("flowc_constants", {})
    if key not in table:
        name = f".{prefix}.{len(table)}"
        made = new_global(module, name, value, linkage="private", constant=True)
        made.unnamed_addr = True
        table[key] = made
    return table[key]


def call_at_load(module: ir.Module, functions: Sequence[ir.Function]) -> None:
    """Lists functions for the dynamic loader to call when the library is loaded."""
    _list_in_section(module, ".init_array", functions)


def call_at_unload(module: ir.Module, functions: Sequence[ir.Function]) -> None:
    """Lists functions for the dynamic loader to call when the library is unloaded."""
    _list_in_section(module, ".fini_array", functions)


def _list_in_section(module: ir.Module, section: str, functions: Sequence[ir.Function]) -> None:
    """A table that LLVM keeps, in a section that every linker knows. (`llvm.global_dtors` would end
    up in `.dtors` here, which only some linkers still turn into calls.)"""
    rows = [as_pointer(f) for f in functions]
    value = ir.Constant(ir.ArrayType(PTR, len(rows)), rows)
    table = new_global(module, f"flowc{section}", value, constant=True, section=section, align=8)
    used: Any = module.globals.get("llvm.used")
    kept = [*(used.initializer.constant if used else ()), as_pointer(table)]
    value = ir.Constant(ir.ArrayType(PTR, len(kept)), kept)
    if used is None:
        new_global(module, "llvm.used", value, linkage="appending", section="llvm.metadata")
    else:
        used.value_type, used.initializer = value.type, value


@dataclass(frozen=True, slots=True)
class WriterVariable:
    """A local of one integer or pointer type, kept in a stack slot."""

    builder: ir.IRBuilder
    slot: Any
    type: ir.Type

    def get(self) -> Any:
        return self.builder.load(self.slot, typ=self.type)

    def set(self, value: Any) -> None:
        self.builder.store(value, self.slot)


@dataclass(frozen=True, slots=True)
class WriterLoop:
    """An endless loop under construction."""

    writer: FunctionWriter
    top: ir.Block
    end: ir.Block

    def leave_if(self, condition: Any) -> None:
        b = self.writer.b
        go_on = b.append_basic_block("stay")
        b.cbranch(condition, self.end, go_on)
        b.position_at_end(go_on)

    def leave(self) -> None:
        self.writer.b.branch(self.end)

    def again(self) -> None:
        self.writer.b.branch(self.top)


class FunctionWriter:
    """Writes the body of one function.

    `args` maps argument names to types, in order. `linkage`: `internal`, `hidden` (seen by the
    other objects of one library) or an empty text (exported).
    """

    def __init__(
        self,
        module: ir.Module,
        name: str,
        result: ir.Type,
        args: Mapping[str, ir.Type],
        *,
        linkage: str = "internal",
    ) -> None:
        self.module = module
        signature = ir.FunctionType(result, list(args.values()))
        self.function = declare(module, name, signature)
        self.function.linkage = linkage
        self.function.attributes.add("nounwind")
        for value, label in zip(self.function.args, args):
            value.name = label
        self._entry = self.function.append_basic_block("entry")
        self.b: Any = ir.IRBuilder(self._entry)
        body = self.function.append_basic_block("body")
        self.b.branch(body)
        self.b.position_at_end(body)

    @property
    def args(self) -> tuple[Any, ...]:
        return tuple(self.function.args)

    def block(self, size: int, align: int = 8) -> Any:
        """`size` bytes on the stack, reserved once at entry."""
        with self.b.goto_block(self._entry):
            slot: Any = self.b.alloca(ir.ArrayType(I8, size))
        slot.align, slot.type = align, PTR
        return slot

    def variable(self, start: Any) -> WriterVariable:
        """A local that starts with the given value."""
        with self.b.goto_block(self._entry):
            slot = self.b.alloca(start.type)
        slot.type = PTR
        made = WriterVariable(self.b, slot, start.type)
        made.set(start)
        return made

    def call(self, name: str, *args: Any) -> Any:
        """Calls a libc function, or a function that this module already holds."""
        signature = LIBC.get(name)
        if signature is not None:
            return self.b.call(declare(self.module, name, signature), args)
        return self.b.call(self.module.globals[name], args)

    def text(self, text: str) -> Any:
        return text_constant(self.module, text)

    def print_to(self, buffer: Any, room: Any, template: str, *args: Any) -> Any:
        """snprintf: the length that the whole text has, as i32."""
        return self.call("snprintf", buffer, room, self.text(template), *args)

    def element(self, base: Any, index: Any, kind: ir.Type = I64) -> Any:
        """Address of base[index]."""
        return self.b.gep(base, [index], source_etype=kind)

    def load(self, base: Any, index: Any, kind: ir.Type = I64) -> Any:
        return self.b.load(self.element(base, index, kind), typ=kind)

    def store(self, value: Any, base: Any, index: Any) -> None:
        self.b.store(value, self.element(base, index, value.type))

    def atomic_load(self, address: Any, order: str = "acquire", kind: ir.Type = I64) -> Any:
        return self.b.load_atomic(address, order, 8 if kind != I32 else 4, typ=kind)

    def atomic_store(self, value: Any, address: Any, order: str = "release") -> None:
        address.type = value.type.as_pointer()  # llvmlite stores atomically through these only
        self.b.store_atomic(value, address, order, 8 if value.type != I32 else 4)

    def atomic(self, operation: str, address: Any, value: Any, order: str = "acq_rel") -> Any:
        """Read-modify-write; gives the old value."""
        return self.b.atomic_rmw(operation, address, value, order)

    def swap_if(self, address: Any, expected: Any, value: Any) -> Any:
        """Compare-and-swap; gives whether it took place."""
        pair = self.b.cmpxchg(address, expected, value, "acq_rel", "acquire")
        return self.b.extract_value(pair, 1)

    def compare(self, operator: str, left: Any, right: Any) -> Any:
        """Signed comparison of integers, or equality of pointers."""
        return self.b.icmp_signed(operator, left, right)

    def minimum(self, left: Any, right: Any) -> Any:
        return self.b.select(self.compare("<", left, right), left, right)

    def maximum(self, left: Any, right: Any) -> Any:
        return self.b.select(self.compare(">", left, right), left, right)

    def when(self, condition: Any) -> Any:
        """`with w.when(c):` runs the body if c holds."""
        return self.b.if_then(condition)

    @contextmanager
    def loop(self) -> Iterator[WriterLoop]:
        """`with w.loop() as loop:` runs the body until `loop.leave_if` or a return."""
        b = self.b
        top, end = b.append_basic_block("loop"), b.append_basic_block("done")
        b.branch(top)
        b.position_at_end(top)
        yield WriterLoop(self, top, end)
        if not b.block.is_terminated:
            b.branch(top)
        b.position_at_end(end)

    @contextmanager
    def count(self, end: Any) -> Iterator[Any]:
        """`with w.count(n) as i:` runs the body for i = 0 .. n-1 (i64)."""
        position = self.variable(i64(0))
        with self.loop() as loop:
            index = position.get()
            loop.leave_if(self.compare(">=", index, end))
            yield index
            position.set(self.b.add(index, i64(1)))

    def give(self, value: Any | None = None) -> None:
        """Returns from the function."""
        if value is None:
            self.b.ret_void()
        else:
            self.b.ret(value)
