"""Hand-written kernels on a GPU: in which form they go there, and why some do not.

In: a cluster of kind `native`. Out: the launch of what one thread does, or the reason for which the
cluster stays on the host. The form is what the kernel's record says (`flowc.ir.lowering`).
Invariant: what one thread does alone, and would do for long, stays on the host.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace

from flowc import dtypes
from flowc.codegen.cpu.kernel_inlining import kernel_source
from flowc.codegen.cpu.native_kernels import native_launch
from flowc.codegen.kernels.kernel import Kernel, Launch
from flowc.codegen.llvm.lanes import barrier
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Dim, maximum
from flowc.ir.lowering import ByColumns, ByThreads, GpuForm, Lowering, Native, gpu_form

# What a native kernel may call that only a process has.
_OF_PROCESSES = re.compile(r"\b(format_float|parse_f32|parse_f64|write_text|keep_text)\(")
LITTLE = 1 << 10  # elements that one thread may read and write
MUCH = 1 << 16  # elements that are too many for so few threads:
FEW_THREADS = 32


def native_host_reason(node: Node) -> str | None:
    """Why a cluster stays on the host; None where it runs on the GPU."""
    inner = _inner(node)
    lowering = inner.lowering
    assert isinstance(lowering, Native)
    reason = process_reason(inner, lowering)
    if reason is not None:
        return reason
    if gpu_form(lowering.function) is not None or inner.attrs.get("device") == "on_gpu":
        return None
    work = sum((v.type.size for v in (*inner.inputs, *inner.outputs)), start=0)
    is_known = isinstance(work, int)
    if _is_serial(lowering) and not (is_known and work <= LITTLE):
        return "its kernel is work for one thread"
    steps = lowering.parallel
    if isinstance(steps, int) and steps < FEW_THREADS and is_known and work > MUCH:
        return "its steps are too few for the threads of a GPU"
    return None


def process_reason(node: Node, lowering: Lowering) -> str | None:
    """Why a node that is computed in this way cannot run on a GPU, whatever its sizes."""
    if any(v.type.dtype is dtypes.string for v in (*node.inputs, *node.outputs)):
        return "strings are on the host"
    if not isinstance(lowering, Native):
        return None
    if node.sizes:
        return "it finds sizes that the driver waits for"
    if lowering.symbol is not None or _OF_PROCESSES.search(kernel_source(lowering.function)):
        return "it calls what only a process has"
    return None


def thread_launch(node: Node) -> Launch:
    """The launch of a native kernel on a GPU, in the form that its `on_gpu` states."""
    lowering = _inner(node).lowering
    assert isinstance(lowering, Native)
    form: GpuForm | None = gpu_form(lowering.function)
    match form:
        case ByColumns(name):
            return _by_columns(native_launch(node), lowering, name)
        case ByThreads(change, lanes):
            changed = change(lowering)
            if changed is None:
                return native_launch(node)
            launch = native_launch(node, changed)
            own: GpuForm | None = gpu_form(changed.function)
            if isinstance(own, ByColumns):
                return _by_columns(launch, changed, own.name)
            takes_lanes = "lanes" in inspect.signature(changed.function).parameters
            return _by_lanes(launch, lanes) if takes_lanes else launch
        case _:
            return native_launch(node)


def _is_serial(lowering: Native) -> bool:
    """Whether a kernel does not look at its range, but does everything at once."""
    tree = ast.parse(kernel_source(lowering.function))
    return not any(isinstance(n, ast.Name) and n.id == "begin" for n in ast.walk(tree))


def _inner(node: Node) -> Node:
    body: Computation = node.attrs["body"]
    return next(n for n in body.nodes if isinstance(n.lowering, Native))


def _by_lanes(launch: Launch, lanes: int) -> Launch:
    given = {**launch.kernel.globals, "barrier": barrier()}
    return replace(launch, kernel=replace(launch.kernel, globals=given, ranges=2), lanes=lanes)


def _by_columns(launch: Launch, lowering: Native, name: str) -> Launch:
    """Each step of the range becomes as many as there are columns."""
    names = list(inspect.signature(lowering.function).parameters)[:-2]
    position = names.index(name) - (len(names) - len(lowering.arguments))
    count: Dim = maximum(lowering.arguments[position], 1)
    kernel = launch.kernel
    source = _column_source(kernel.source, name)
    changed: Kernel = replace(kernel, source=source)
    return replace(launch, kernel=changed, total=launch.total * count)


def _column_source(source: str, columns: str) -> str:
    """The kernel for the column that `begin` names beside its step."""
    module = ast.parse(source)
    (function,) = module.body
    assert isinstance(function, ast.FunctionDef)
    found = _OneColumn(columns)
    body = [found.visit(statement) for statement in function.body]
    assert found.loops, f"{function.name} has no loop over {columns}"
    head = f"""
own_column = begin % {columns} if {columns} > 0 else 0
own_end = own_column + 1 if {columns} > 0 else 0
begin = begin // {columns} if {columns} > 0 else begin
end = begin + 1
"""
    function.body = [*ast.parse(head).body, *body]
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


class _OneColumn(ast.NodeTransformer):
    """Loops over columns have one step."""

    def __init__(self, columns: str) -> None:
        self.iterated = f"range({columns})"
        self.loops = 0

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        if ast.unparse(node.iter) == self.iterated:
            self.loops += 1
            node.iter = ast.parse("range(own_column, own_end)", mode="eval").body
        return node
