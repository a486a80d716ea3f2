"""Hand-written kernels: a `native` cluster holds one op, whose record names the function."""

from __future__ import annotations

from flowc.codegen.cpu.kernel_parts import kernel_source
from flowc.codegen.cpu.linked_kernels import linked_kernel
from flowc.codegen.kernels.kernel import SCRATCH, SIZES, STATUS, Fault, Kernel, Launch, Operand
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.computation import Computation, Node
from flowc.ir.lowering import Native

NATIVE_GRAIN = 1


def native_launch(node: Node) -> Launch:
    """The kernel of a cluster of kind `native`."""
    body: Computation = node.attrs["body"]
    inner = next(n for n in body.nodes if isinstance(n.lowering, Native))
    lowering = inner.lowering
    assert isinstance(lowering, Native)
    by_parameter = {p.output: v for p, v in zip(body.parameters, node.inputs)}
    operands: list[Operand] = [by_parameter[v] for v in inner.inputs]
    operands += node.outputs
    buffers: list[DType | str] = [v.type.dtype for v in (*inner.inputs, *inner.outputs)]
    if inner.sizes:
        operands.append(SIZES)
        buffers.append("i64")
    if lowering.scratch != 0:
        operands.append(SCRATCH)
        buffers.append("bytes")
    if lowering.errors:
        operands.append(STATUS)
        buffers.append("i64")
    if lowering.symbol is not None:
        kernel = linked_kernel(inner, lowering.symbol, lowering.constants)
        return Launch(
            kernel,
            tuple(operands),
            tuple(lowering.arguments),
            errors=tuple(map(Fault, lowering.errors)),
            fault=lowering.fault,
            nodes=node.origin,
        )
    function = lowering.function
    if function.__closure__:
        raise InternalError(f"{function.__qualname__}: a native kernel must not be a closure")
    kernel = Kernel(
        kernel_source(function),
        tuple(buffers),
        len(lowering.arguments),
        tuple(lowering.functions),
        dict(lowering.constants),
        entry=function.__name__,
        element=inner.inputs[0].type.dtype if inner.inputs else None,
    )
    return Launch(
        kernel,
        tuple(operands),
        tuple(lowering.arguments),
        lowering.parallel,
        NATIVE_GRAIN,
        sizes=tuple(size for size, _ in inner.sizes),
        scratch=lowering.scratch,
        errors=tuple(map(Fault, lowering.errors)),
        fault=lowering.fault,
        nodes=node.origin,
    )
