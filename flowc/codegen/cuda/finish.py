"""The epilogue of a product's tile: each element of the raw result becomes the cluster's results in
registers, without a pass through memory.

In: a cluster of kind `matmul` or `convolution`. Out: a function of one element, by its row and
column, made from the cluster's elementwise nodes; the calls of it in a kernel. Invariant: all that
the function reads of the product is the element itself.
"""

from __future__ import annotations

import re
from typing import Any

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.cpu.kernel_text import body_text
from flowc.codegen.cpu.numba_source import NumbaSource
from flowc.codegen.cuda.device_writer import DeviceWriter, memory_type, total_type
from flowc.codegen.kernels.builder import LOCAL
from flowc.codegen.kernels.check import check_nest
from flowc.codegen.kernels.cluster import ClusterLowering, unravel
from flowc.codegen.kernels.kernel import STATUS, Fault, Kernel, Operand
from flowc.codegen.kernels.nest import IndexSum, Load, LoopNest
from flowc.codegen.llvm.vector_ir import Index
from flowc.codegen.math import math_module_text
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Dim, product, symbol
from flowc_runtime.native.writer import I32, PTR, VOID, declare, i64

RAW = "raw"  # the pointer to the product's element
ROW, COLUMN = "row", "column"


@dataclass(frozen=True, eq=False)
class ElementFunction:
    """`kernel`: a function of one element, whose last buffer is that element. `operands`, `ints`:
    what its other buffers and its ints are."""

    kernel: Kernel
    operands: tuple[Operand, ...]
    ints: tuple[Dim, ...]
    errors: tuple[Fault, ...]

    def texts(self) -> list[str]:
        """LLVM IR, to be inlined where it is called."""
        start = re.compile(rf"define internal (i32 @{self.kernel.key}_body\(.*\))")
        inlined = r"define linkonce_odr hidden \1 alwaysinline"
        text = start.sub(inlined, body_text(self.kernel), count=1)
        functions = sorted(self.kernel.functions)
        return [text, math_module_text(functions)] if functions else [text]


def element_function(node: Node, body: Computation, inner: Node) -> ElementFunction | None:
    """What a cluster does to its product; None where that is its result."""
    if body.results == (inner.output,):
        return None
    c = ClusterLowering(body, node.inputs, tells_places=False)
    dims = inner.output.dims
    row, column = symbol(f"{LOCAL}{ROW}", product(dims[:-1])), symbol(f"{LOCAL}{COLUMN}", dims[-1])
    index = (*unravel(row, dims[:-1]), column)
    c.rows[inner.output] = (index, c.nest.let(Load(RAW, IndexSum(), inner.output.type.dtype)))
    for value, x in [(v, c.element(v, index)) for v in body.results]:
        c.store(value, index, x)
    nest = c.nest
    operands, buffers = c.parameters(node.outputs)
    if nest.faults:
        operands.append(STATUS)
        buffers.append((STATUS, dtypes.i64))
    ints = tuple(f"n{i}" for i in range(len(nest.ints)))
    made = LoopNest(
        (*buffers, (RAW, inner.output.type.dtype)), ints, (ROW, COLUMN), tuple(nest.body)
    )
    check_nest(made)
    return ElementFunction(
        NumbaSource(made).kernel, tuple(operands), tuple(nest.ints), tuple(nest.faults)
    )


@dataclass(frozen=True, slots=True)
class Ending:
    """What a kernel does with sums: `function`, or, without one, it stores them as `dtype` in
    `result`."""

    dtype: DType
    result: Operand
    function: ElementFunction | None = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The tensors that the ending reads and writes, which are buffers of the kernel."""
        return (self.result,) if self.function is None else self.function.operands

    @property
    def kinds(self) -> tuple[DType | str, ...]:
        """The dtypes of `operands`."""
        return (self.dtype,) if self.function is None else self.function.kernel.buffers[:-1]

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of `operands` in the kernel."""
        return tuple(f"e{i}" for i in range(len(self.operands)))

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """The sizes that the ending needs, which are ints of the kernel."""
        return () if self.function is None else self.function.ints

    @property
    def ints(self) -> tuple[str, ...]:
        """The names of `sizes` in the kernel."""
        return tuple(f"i{i}" for i in range(len(self.sizes)))

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the math library that the ending calls."""
        is_held = total_type(self.dtype) == memory_type(self.dtype)
        return () if is_held else (f"f32_to_{self.dtype}",)


class Finish:
    """Does in a kernel what its Ending says. Made where the kernel begins."""

    def __init__(self, w: DeviceWriter, end: Ending) -> None:
        self.w, self.ending = w, end
        self.own_status: Any = None
        function = end.function
        if function is None:
            return
        self.raw, self.unused = w.block(16, 16), w.block(8)
        self.buffers: list[Any] = []
        for name, operand in zip(end.buffers, function.operands, strict=True):
            pointer = w.b.addrspacecast(w.parameters[name], PTR)
            if isinstance(operand, str):
                assert operand == STATUS
                self.status = pointer
                pointer = self.own_status = w.block(32)
                for word in range(4):
                    w.store(i64(0), pointer, i64(word))
            self.buffers.append(pointer)
        self.ints = [w.parameters[name] for name in end.ints]

    def element(self, row: Index, column: Index, total: Any, further: Index) -> None:
        """Does what is to be done with one sum. Without a function it is stored in the row and
        column of a result whose first element is `further` than that of the buffer."""
        w, b, function = self.w, self.w.b, self.ending.function
        value = self._stored(total)
        if function is None:
            place = further + row * w.int("c_stride") + column
            b.store(value, w.at(w.parameters["e0"], place, value.type))
            return
        b.store(value, self.raw)
        given = [self.unused, self.unused, *self.buffers, self.raw, *self.ints]
        given += [row.value, column.value]
        kind = ir.FunctionType(I32, [x.type for x in given])
        b.call(declare(w.module, f"{function.kernel.key}_body", kind), given)

    def end(self) -> None:
        """Reports what this thread found at fault."""
        if self.own_status is not None:
            kind = ir.FunctionType(VOID, [PTR, PTR])
            report = declare(self.w.module, "flowc_report_fault", kind)
            self.w.b.call(report, [self.own_status, self.status])

    def _stored(self, total: Any) -> Any:
        """A sum, converted to the type in which memory holds an element."""
        b, dtype = self.w.b, self.ending.dtype
        for name in self.ending.functions:
            kind = ir.FunctionType(ir.IntType(16), [total.type])
            total = b.call(declare(self.w.module, f"flowc_{name}", kind), [total])
        return b.bitcast(total, memory_type(dtype))
