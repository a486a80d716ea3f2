"""What follows when a block has its tile of a product: each element of the raw result becomes the
cluster's results, without a way through memory.

In: a cluster of kind `matmul` or `convolution`. Out: a function of one element, by its row and
column, made from the cluster's elementwise nodes; the calls of it in a kernel. Invariant: all that
the function reads of the product is the element itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.cpu.numba_frontend import body_text
from flowc.codegen.cpu.numba_source import NumbaSource
from flowc.codegen.cuda.device_writer import DeviceWriter, memory_type
from flowc.codegen.kernels.builder import LOCAL
from flowc.codegen.kernels.check import check_nest
from flowc.codegen.kernels.cluster import ClusterLowering, unravel
from flowc.codegen.kernels.kernel import STATUS, Fault, Kernel, Operand
from flowc.codegen.kernels.nest import IndexSum, Load, LoopNest
from flowc.codegen.llvm.vector_ir import Index
from flowc.codegen.math import math_module_text
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
    c = ClusterLowering(body, node.inputs)
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


class Finish:
    """Stores elements of the result in a kernel. Made where the kernel begins."""

    def __init__(self, w: DeviceWriter, dtype: DType, function: ElementFunction | None) -> None:
        self.w, self.dtype, self.function = w, dtype, function
        self.own_status: Any = None
        if function is None:
            return
        self.raw, self.unused = w.block(16, 16), w.block(8)
        self.buffers: list[Any] = []
        for i, operand in enumerate(function.operands):
            pointer = w.b.addrspacecast(w.parameters[f"e{i}"], PTR)
            if isinstance(operand, str):
                assert operand == STATUS
                self.status = pointer
                pointer = self.own_status = w.block(32)
                for word in range(4):
                    w.store(i64(0), pointer, i64(word))
            self.buffers.append(pointer)
        self.ints = [w.parameters[f"i{i}"] for i in range(len(function.ints))]

    def element(self, row: Index, column: Index, total: Any, stride: Index) -> None:
        """Does what is to be done with one sum; `stride`: elements from one row to the next."""
        w, b = self.w, self.w.b
        value = self._stored(total)
        if self.function is None:
            place = row * stride + column
            b.store(value, w.at(w.parameters["c"], place, value.type))
            return
        b.store(value, self.raw)
        given = [
            self.unused,
            self.unused,
            *self.buffers,
            self.raw,
            *self.ints,
            row.value,
            column.value,
        ]
        kind = ir.FunctionType(I32, [x.type for x in given])
        b.call(declare(w.module, f"{self.function.kernel.key}_body", kind), given)

    def end(self) -> None:
        """Reports what this thread found at fault."""
        if self.own_status is not None:
            kind = ir.FunctionType(VOID, [PTR, PTR])
            report = declare(self.w.module, "flowc_report_fault", kind)
            self.w.b.call(report, [self.own_status, self.status])

    def _stored(self, total: Any) -> Any:
        """A sum as memory holds an element."""
        if self.dtype not in (dtypes.f16, dtypes.bf16):
            return total
        b = self.w.b
        kind = ir.FunctionType(ir.IntType(16), [total.type])
        convert = declare(self.w.module, f"flowc_f32_to_{self.dtype}", kind)
        return b.bitcast(b.call(convert, [total]), memory_type(self.dtype))
