"""Writes one kernel of a GPU that works in tiles: threads of a block, barriers, shared memory.

In: the names of its buffers and ints. Out: a module that defines `kernel(*buffers, *ints, stride,
total)`; where a thread stands it asks functions `flowc_*`, which `intrinsics.py` defines for a
machine. Invariant: the text names no machine, so that a CPU can run it thread by thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.llvm.quantity import F32, F64
from flowc.codegen.llvm.vector_ir import Index
from flowc.dtypes import DType
from flowc_runtime.native.writer import (
    I32,
    I64,
    VOID,
    FunctionWriter,
    declare,
    i64,
)

ENTRY = "kernel"  # the name of the entry until the kernel's key is known
GLOBAL, SHARED = ir.PointerType(addrspace=1), ir.PointerType(addrspace=3)
SHARED_ALIGNMENT = 16

HALF = ir.HalfType()


def memory_type(dtype: DType) -> ir.Type:
    """An element of a tensor in memory."""
    if dtype is dtypes.f16:
        return HALF
    return {dtypes.f32: F32, dtypes.f64: F64}.get(dtype) or ir.IntType(8 * dtype.size)


def total_type(dtype: DType) -> ir.Type:
    """The type in which sums of products of elements are accumulated."""
    return F32 if dtype in (dtypes.f16, dtypes.bf16) else memory_type(dtype)


class DeviceWriter(FunctionWriter):
    """`block`: how many threads a block has, which the machine's compiler is told."""

    def __init__(self, buffers: Sequence[str], ints: Sequence[str], block: int) -> None:
        parameters = {
            **dict.fromkeys(buffers, GLOBAL),
            **dict.fromkeys((*ints, "stride", "total"), I64),
        }
        super().__init__(ir.Module("device"), ENTRY, VOID, parameters, linkage="")
        self.parameters = dict(zip(parameters, self.function.args))
        self.block_threads = block

    def text(self, blocks: int = 1) -> str:
        """The module. `blocks`: how many a multiprocessor shall hold at least: one waits where the
        other multiplies."""
        limits = f'"nvvm.maxntid"="{self.block_threads}" "nvvm.minctasm"="{blocks}"'
        head = re.compile(rf'^(define void @"{ENTRY}"\(.*\) nounwind)$', re.MULTILINE)
        return head.sub(rf"\1 {limits}", str(self.module), count=1)

    def int(self, name: str) -> Index:
        """An int of the kernel."""
        return Index(self.b, self.parameters[name])

    def number(self, value: int) -> Index:
        return Index(self.b, i64(value))

    def narrow(self, x: Index) -> Index:
        """As 32 bits, which hold it: divisions of these are short."""
        return Index(self.b, self.b.trunc(x.value, I32))

    def wide(self, x: Index) -> Index:
        """A 32-bit number, which is not negative, as 64 bits."""
        return Index(self.b, self.b.zext(x.value, I64))

    def signed(self, x: Index) -> Index:
        """A 32-bit number, which may be negative, as 64 bits."""
        return Index(self.b, self.b.sext(x.value, I64))

    # -- threads

    def thread(self) -> Index:
        """The number of this thread within its block, in 32 bits."""
        return self.narrow(Index(self.b, self._ask("flowc_thread", I64)))

    def block_number(self) -> Index:
        """The number of this block, in 32 bits."""
        return self.narrow(Index(self.b, self._ask("flowc_block", I64)))

    def barrier(self) -> None:
        """No thread of the block goes on before all are here."""
        self._ask("flowc_barrier", VOID)

    def _ask(self, name: str, result: ir.Type, *values: Any) -> Any:
        kind = ir.FunctionType(result, [v.type for v in values])
        function = declare(self.module, name, kind)
        for attribute in ("convergent", "nounwind"):
            function.attributes.add(attribute)
        return self.b.call(function, values)

    # -- memory

    def shared(self, name: str, size: int) -> Any:
        """Bytes that the threads of a block share."""
        found: Any = ir.GlobalVariable(self.module, ir.ArrayType(ir.IntType(8), size), name, 3)
        found.linkage = "internal"
        found.initializer = ir.Constant(found.value_type, ir.Undefined)
        found.align = SHARED_ALIGNMENT
        return ir.FormattedConstant(SHARED, found.get_reference())

    def at(self, base: Any, index: Index, kind: ir.Type) -> Any:
        """The address of an element."""
        return self.b.gep(base, [index.value], source_etype=kind)

    def read(self, pointer: Any, kind: ir.Type, align: int | None = None) -> Any:
        return self.b.load(pointer, typ=kind, align=align)

    def where(self, holds: Any, element: Any) -> Any:
        """The element where a condition holds, else zero. It is read in any case: without branches
        the reads of a tile are under way together."""
        is_float = not isinstance(element.type, (ir.IntType, ir.VectorType))
        zero = ir.Constant(element.type, 0.0 if is_float else None)
        return self.b.select(holds, element, zero)

    def lanes(self, vector: Any) -> list[Any]:
        """The elements of a vector; a scalar is one."""
        if not isinstance(vector.type, ir.VectorType):
            return [vector]
        return [self.b.extract_element(vector, I32(i)) for i in range(vector.type.count)]

    def as_computed(self, element: Any, dtype: DType) -> Any:
        """An element as it is multiplied."""
        b = self.b
        if dtype is dtypes.f16:
            return b.fpext(element, F32)
        if dtype is dtypes.bf16:
            return b.bitcast(b.shl(b.zext(element, I32), ir.Constant(I32, 16)), F32)
        return element

    # -- control

    @contextmanager
    def steps(self, end: Index, step: int, start: Index | None = None) -> Iterator[Index]:
        """`for i in range(start, end, step)`, as it stands: LLVM unrolls no such loop."""
        position = self.variable(end.like(0) if start is None else start.value)
        with self.loop() as loop:
            index = Index(self.b, position.get())
            loop.leave_if(index.compare(">=", end))
            yield index
            position.set((index + step).value)

    def all(self, *conditions: Any) -> Any:
        first, *rest = conditions
        for condition in rest:
            first = self.b.and_(first, condition)
        return first

    def sum(self, x: Any, y: Any) -> Any:
        return self.b.add(x, y) if isinstance(x.type, ir.IntType) else self.b.fadd(x, y)

    def multiply_add(self, x: Any, y: Any, total: Any) -> Any:
        """x * y + total, fused where the numbers are floats."""
        b = self.b
        if isinstance(x.type, ir.IntType):
            return b.add(b.mul(x, y), total)
        suffix = "f32" if x.type == F32 else "f64"
        kind = ir.FunctionType(x.type, [x.type] * 3)
        return b.call(declare(self.module, f"llvm.fma.{suffix}", kind), [x, y, total])
