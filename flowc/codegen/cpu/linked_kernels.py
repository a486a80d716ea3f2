"""Calls of kernels in C: what a library does in the place of a Session.

In: a node and its lowering. Out: a kernel whose source is LLVM IR: it makes a `flowc_op_call`
(flowc/op.h) of the tables that a launch gives, calls the symbol, and ends with the call's status.
Invariant: the structs are those of the header.
"""

from __future__ import annotations

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.attr_table import attr_table
from flowc.codegen.kernels.kernel import Kernel
from flowc.dtypes import DType
from flowc.ir.computation import Node
from flowc.ir.lowering import Native
from flowc_runtime.native.writer import (
    I32,
    I64,
    NULL,
    PTR,
    VOID,
    FunctionWriter,
    declare,
    i32,
    i64,
)

CALL_SIZE = 88
MESSAGE_SIZE = 512
STATUS = 13  # among the numbers of 32 bits
SCRATCH, PERSISTENT = 9, 10  # among the words
TENSOR_WORDS = 3  # address, dims, rank and dtype


def linked_kernel(node: Node, lowering: Native) -> Kernel:
    """The kernel of a node of ops with kernels in C."""
    symbol = lowering.symbol
    assert symbol is not None
    values = [*node.inputs, *node.outputs]
    module = ir.Module("linked")
    table = {"buffers": PTR, "dims": PTR, "faults": I64, "begin": I64, "end": I64}
    w = FunctionWriter(module, "kernel", VOID, table, linkage="")
    buffers, dims, *_ = w.args
    tensors = w.block(8 * TENSOR_WORDS * max(len(values), 1))
    first = 0
    for i, value in enumerate(values):
        data, dtype = w.load(buffers, i64(i), PTR), value.type.dtype
        if i in lowering.handles:
            data, dtype = w.load(data, i64(0), PTR), dtypes.resource
        at = i * TENSOR_WORDS
        w.store(data, tensors, i64(at))
        w.store(w.element(dims, i64(first)), tensors, i64(at + 1))
        w.store(i32(value.type.rank), tensors, i64(2 * at + 4))
        w.store(i32(dtype.enum), tensors, i64(2 * at + 5))
        first += value.type.rank
    message = w.block(MESSAGE_SIZE)
    w.store(ir.Constant(ir.IntType(8), 0), message, i64(0))
    call = w.block(CALL_SIZE)
    attrs = dict(lowering.constants)
    given = len(node.inputs) - lowering.persistent
    counts = (CALL_SIZE, given, len(node.outputs), len(attrs))
    for k, count in enumerate(counts):
        w.store(i32(count), call, i64(k))
    outputs = w.element(tensors, i64(len(node.inputs) * TENSOR_WORDS))
    for k, address in enumerate((tensors, outputs, attr_table(module, attrs), message), 2):
        w.store(address, call, i64(k))
    w.store(i32(MESSAGE_SIZE), call, i64(12))
    w.store(i32(0), call, i64(STATUS))
    for k in (7, 8, SCRATCH):  # a library allocates no outputs for a kernel
        w.store(NULL, call, i64(k))
    memory = w.load(tensors, i64(given * TENSOR_WORDS), PTR) if lowering.persistent else NULL
    w.store(memory, call, i64(PERSISTENT))
    w.b.call(declare(module, symbol, ir.FunctionType(VOID, [PTR])), [call])
    with w.loop() as loop:  # a block of scratch memory begins with the address of the one before
        block = w.load(call, i64(SCRATCH), PTR)
        loop.leave_if(w.compare("==", block, NULL))
        w.store(w.load(block, i64(0), PTR), call, i64(SCRATCH))
        w.call("free", block)
    with w.when(w.compare("!=", w.load(call, i64(STATUS), I32), i32(0))):
        # The text of a fault is given back by whoever tells it.
        copy = declare(module, "strdup", ir.FunctionType(PTR, [PTR]))
        words = w.load(buffers, i64(len(values)), PTR)
        w.store(w.b.ptrtoint(w.b.call(copy, [message]), I64), words, i64(1))
        w.store(i64(1), words, i64(0))
    w.give()
    kinds: list[DType | str] = [v.type.dtype for v in values]
    return Kernel(str(module), (*kinds, "i64"), first, symbol=symbol)
