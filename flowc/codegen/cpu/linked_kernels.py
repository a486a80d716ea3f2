"""Calls of kernels in C: what a library does in the place of a Session.

In: a node, the symbol of its kernel, its attrs. Out: a kernel whose source is LLVM IR: it makes a
`flowc_op_call` (flowc/op.h) of the tables that a launch gives, and calls the symbol. Invariant: the
structs are those of the header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.kernels.kernel import Kernel
from flowc.dtypes import DType
from flowc.ir.computation import Node
from flowc_runtime.native.writer import I64, VOID, i64

I32, I8, F64 = ir.IntType(32), ir.IntType(8), ir.DoubleType()
PTR = I8.as_pointer()
TENSOR = ir.LiteralStructType([PTR, I64.as_pointer(), I32, I32])
ATTR = ir.LiteralStructType([PTR, I32, I32, I64, F64, PTR, PTR, PTR])
CALL = ir.LiteralStructType(
    [I32, I32, I32, I32, TENSOR.as_pointer(), TENSOR.as_pointer(), PTR, PTR, I32, I32, PTR, PTR]
)
CALL_SIZE = 80
MESSAGE, STATUS = 7, 9  # fields of a call
MESSAGE_SIZE = 512


def linked_kernel(node: Node, symbol: str, constants: Any) -> Kernel:
    """The kernel of a node of ops with kernels in C."""
    values = [*node.inputs, *node.outputs]
    module = ir.Module("linked")
    table = ir.FunctionType(VOID, [PTR.as_pointer(), I64.as_pointer(), I64, I64, I64])
    function = ir.Function(module, table, "kernel")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    buffers, dims, *_ = function.args
    tensors = b.alloca(TENSOR, i64(max(len(values), 1)))
    first = 0
    for i, value in enumerate(values):
        data = b.load(b.gep(buffers, [i64(i)]))
        sizes = b.gep(dims, [i64(first)])
        fields = (data, sizes, I32(value.type.rank), I32(value.type.dtype.enum))
        _store_fields(b, b.gep(tensors, [i64(i)]), fields)
        first += value.type.rank
    attrs, count = _attrs(module, dict(constants))
    message = b.alloca(I8, i64(MESSAGE_SIZE))
    b.store(I8(0), message)
    call = b.alloca(CALL)
    fields = (
        I32(CALL_SIZE), I32(len(node.inputs)), I32(len(node.outputs)), I32(count),
        tensors, b.gep(tensors, [i64(len(node.inputs))]), attrs,
        message, I32(MESSAGE_SIZE), I32(0), PTR(None), PTR(None),
    )  # fmt: skip
    _store_fields(b, call, fields)
    compute = ir.Function(module, ir.FunctionType(VOID, [CALL.as_pointer()]), symbol)
    b.call(compute, [call])
    status = b.load(b.gep(call, [I32(0), I32(STATUS)]))
    with b.if_then(b.icmp_signed("!=", status, I32(0)), likely=False):
        # The text of a fault is given back by whoever tells it.
        copy = ir.Function(module, ir.FunctionType(PTR, [PTR]), "strdup")
        words = b.bitcast(b.load(b.gep(buffers, [i64(len(values))])), I64.as_pointer())
        b.store(b.ptrtoint(b.call(copy, [message]), I64), b.gep(words, [i64(1)]))
        b.store(i64(1), words)
    b.ret_void()
    dtypes: list[DType | str] = [v.type.dtype for v in values]
    return Kernel(str(module), (*dtypes, "i64"), first, symbol=symbol)


def _store_fields(b: Any, place: Any, fields: Sequence[Any]) -> None:
    for k, field in enumerate(fields):
        b.store(field, b.gep(place, [I32(0), I32(k)]))


def _attrs(module: Any, attrs: Mapping[str, Any]) -> tuple[Any, int]:
    """A constant array of attrs, and how many there are."""
    if not attrs:
        return PTR(None), 0
    rows = [ir.Constant(ATTR, _attr(module, name, value)) for name, value in attrs.items()]
    return _constant(module, ir.ArrayType(ATTR, len(rows)), rows), len(rows)


def _attr(module: Any, name: str, value: Any) -> list[Any]:
    whole, number, text = 0, 0.0, PTR(None)
    ints = floats = PTR(None)
    count = 0
    match value:
        case tuple() | list():
            count = len(value)
            kind = "F" if any(isinstance(v, float) for v in value) else "I"
            element = F64 if kind == "F" else I64
            found = _constant(module, ir.ArrayType(element, count), [element(v) for v in value])
            ints, floats = (PTR(None), found) if kind == "F" else (found, PTR(None))
        case float():
            kind, number = "f", value
        case str():
            kind, text = "s", _text(module, value)
        case _:
            kind, whole = "i", int(value)
    first = [_text(module, name), I32(ord(kind)), I32(count), I64(whole), F64(number)]
    return [*first, text, ints, floats]


def _text(module: Any, text: str) -> Any:
    data = bytearray(text.encode() + b"\0")
    return _constant(module, ir.ArrayType(I8, len(data)), data)


def _constant(module: Any, kind: Any, value: Any) -> Any:
    """The address of a constant of the module."""
    found: Any = ir.GlobalVariable(module, kind, module.get_unique_name("constant"))
    found.linkage, found.global_constant = "private", True
    found.initializer = ir.Constant(kind, value)
    return found.bitcast(PTR)
