"""Hand-written kernels: a `native` cluster holds one op, whose record names the function."""

from __future__ import annotations

from flowc.codegen.cpu.kernel_inlining import kernel_source
from flowc.codegen.cpu.linked_kernels import linked_kernel
from flowc.codegen.cpu.loop_choices import CPU_CHOICES
from flowc.codegen.kernels.kernel import SCRATCH, SIZES, STATUS, Fault, Kernel, Launch, Operand
from flowc.codegen.kernels.loop_choices import grain_of
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Dim, symbols_of
from flowc.ir.lowering import Native

ELEMENT_NANOSECONDS = 1  # that a kernel is taken to need for an element which it reads or writes


def native_launch(node: Node, other: Native | None = None) -> Launch:
    """The kernel of a cluster of kind `native`. `other`: a lowering in place of the node's own."""
    body: Computation = node.attrs["body"]
    inner = next(n for n in body.nodes if isinstance(n.lowering, Native))
    lowering = other or inner.lowering
    assert isinstance(lowering, Native)
    outer = {p.output: v for p, v in zip(body.parameters, node.inputs)}
    operands: list[Operand] = [*(outer[v] for v in inner.inputs), *node.outputs]
    operands += [operand for operand, _ in _beside(inner, lowering)]
    errors = tuple(map(Fault, lowering.errors))
    if lowering.symbol is not None:
        kernel = linked_kernel(inner, lowering)
        return Launch(
            kernel,
            tuple(operands),
            tuple(lowering.arguments),
            errors=errors,
            fault=lowering.fault,
            nodes=node.origin,
        )
    return Launch(
        _kernel(inner, lowering),
        tuple(operands),
        tuple(lowering.arguments),
        lowering.parallel,
        _steps_worth_a_thread(inner, lowering.parallel),
        sizes=tuple(size for size, _ in inner.sizes),
        scratch=lowering.scratch,
        errors=errors,
        fault=lowering.fault,
        nodes=node.origin,
    )


def _beside(node: Node, lowering: Native) -> list[tuple[Operand, DType | str]]:
    """The operands that a kernel is given beside the values, and the elements of each."""
    found: list[tuple[Operand, DType | str]] = []
    if node.sizes:
        found.append((SIZES, "i64"))
    if lowering.scratch != 0:
        found.append((SCRATCH, "bytes"))
    if lowering.errors:
        found.append((STATUS, "i64"))
    return found


def _kernel(node: Node, lowering: Native) -> Kernel:
    """The kernel of a lowering that is a function of Python. Raises `InternalError` for a
    closure."""
    function = lowering.function
    if function.__closure__:
        raise InternalError(f"{function.__qualname__}: a native kernel must not be a closure")
    buffers: list[DType | str] = [v.type.dtype for v in (*node.inputs, *node.outputs)]
    buffers += [elements for _, elements in _beside(node, lowering)]
    return Kernel(
        kernel_source(function),
        tuple(buffers),
        len(lowering.arguments),
        tuple(lowering.functions),
        dict(lowering.constants),
        entry=function.__name__,
        element=node.inputs[0].type.dtype if node.inputs else None,
    )


def _steps_worth_a_thread(node: Node, total: Dim) -> Dim:
    """The grain of the range of a kernel. Its elements tell how much work it is, as far as their
    number is known before it runs."""
    found = {size for size, _ in node.sizes}
    values = [v for v in (*node.inputs, *node.outputs) if found.isdisjoint(symbols_of(*v.dims))]
    work = sum((v.type.size for v in values), start=0) * ELEMENT_NANOSECONDS
    return grain_of(total * CPU_CHOICES.chunk_nanoseconds, work)
