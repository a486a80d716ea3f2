"""The frame of a run: its arguments, its variables, and how it ends.

In: a module. Out: `flowc_program_run` with its entry block open. Invariants: all of its stack is
taken in the entry block, so that loops take none; every way out passes through one block; no size
that is used has wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from llvmlite import ir

from flowc.codegen.compiled import ErrorRow
from flowc.codegen.driver.size_limits import WORD, SizeLimits
from flowc.codegen.driver.sizes import BYTES, SizeFunction
from flowc.errors import ResourceExhaustedError
from flowc.ir.dims import Dim, Expr, symbols_of
from flowc_runtime.native.arena import NO_MEMORY
from flowc_runtime.native.interpreter import ENDED, WORDS
from flowc_runtime.native.writer import I32, I64, declare, i64

if TYPE_CHECKING:
    from flowc.codegen.driver.device_memory import DeviceMemory

STATUS_INVALID = 3
STATUS_MEMORY = NO_MEMORY
STATUS_INTERRUPTED = 6  # Python raised an exception, or the time was over

MOST_VALUES = 3  # that an error tells

SMALL_STEPS = 256  # iterations between two polls where kernels do little
SMALL_CHUNKS = 200  # of work between two polls where kernels follow each other: a millisecond


class RunFrame(SizeFunction):
    """`errors`: rows of the error table so far. `loops`: how many loops are open. `limits`: what is
    known of sizes here. `node`: the name of the one whose step is emitted. `device`: its memory,
    where the run has one. `has_workers`: whether kernels have the pool's threads."""

    def __init__(self, module: ir.Module) -> None:
        words, pointers = I64.as_pointer(), BYTES.as_pointer()
        signature = ir.FunctionType(I32, [pointers, pointers, words, BYTES, I64, words, BYTES])
        run = ir.Function(module, signature, "flowc_program_run")
        names = ("inputs", "outputs", "sizes", "weights", "threads", "status", "interpreter")
        for argument, name in zip(run.args, names):
            argument.name = name
        super().__init__(ir.IRBuilder(run.append_basic_block("entry")), {})
        self.module = module
        self.inputs, self.outputs, self.sizes, self.weights, *rest = run.args
        self.threads, self.status, table = rest
        self.errors: list[ErrorRow] = []
        self.numbers: dict[ErrorRow, int] = {}  # of those that several checks may come to
        self.loops = 0
        self.limits = SizeLimits()
        self.node = ""
        self.has_workers = False
        self.device: DeviceMemory | None = None
        self.exit = run.append_basic_block("exit")
        # The blocks where a signal ends the run, and where what is missing stands in `status`.
        self.interrupted: Any = None
        self.without_memory: Any = None
        self.chunks = 0  # of work since the last poll
        self.code = self.variable(I32, "code")
        self.b.store(ir.Constant(I32, 0), self.code)
        self.left = self.variable(I64, "left")
        self.b.store(i64(SMALL_STEPS), self.left)
        self.interpreter = self.variable(I64, "interpreter", WORDS)
        release = self.declare("flowc_interpreter_release", ir.VoidType(), [words, BYTES, I64])
        self.b.call(release, [self.interpreter, table, self.b.load(self.status)])

    # -- sizes

    @contextmanager
    def scope(self) -> Iterator[None]:
        limits, self.limits = self.limits, self.limits.copy()
        with super().scope():
            yield
        self.limits = limits

    def dim(self, dim: Dim) -> ir.Value:
        """A size as i64. The run ends where it could wrap, and does."""
        self.limit(dim, WORD, "a size")
        return self.wrapping(dim)

    def limit(self, dim: Dim, most: int, what: str, node: str | None = None) -> None:
        """Ends the run where a size wraps or is larger than `most`, if it can be. `what` is too
        large then, at `node`, or the one whose step is emitted."""
        if self.limits.of(dim) <= most:
            return
        if isinstance(dim, int):
            text = f"{what} is too large for any memory: {dim}"
            raise ResourceExhaustedError(text, node=node or self.node)
        sizes = list(symbols_of(dim))[:3]
        shown = ", ".join(f"{size} = {{{place}}}" for size, place in zip(sizes, "abc"))
        row = no_memory(f"{what} is too large for any memory, with {shown}", node or self.node)
        compared, bound = _compared(dim, most)
        value, bad = self.exact(compared)
        if most < WORD:
            is_large = self.b.icmp_signed(">", value, i64(bound))
            bad = is_large if bad is None else self.b.or_(bad, is_large)
        if bad is not None:
            self.leave_if(bad, STATUS_MEMORY, row, [self.env[size] for size in sizes])
        self.limits.learn(dim, most)

    def at_least_zero(self, dim: Dim, node: str) -> None:
        """Ends the run where a size that has no proof of it is negative."""
        value = self.dim(dim)
        row = ErrorRow(f"a size of {dim} must not be negative, found {{a}}", node)
        self.leave_if(self.b.icmp_signed("<", value, i64(0)), STATUS_INVALID, row, [value])

    def variable(self, kind: ir.Type, name: str, count: int = 1) -> Any:
        """Memory of the stack that lives as long as the run."""
        with self.b.goto_entry_block():
            return self.b.alloca(kind, count, name=name)

    def declare(self, name: str, result: ir.Type, arguments: Sequence[ir.Type]) -> Any:
        return declare(self.module, name, ir.FunctionType(result, arguments))

    def element(self, base: ir.Value, index: int) -> Any:
        """The address of one element of a table."""
        return self.b.gep(base, [i64(index)])

    def poll_sometimes(self) -> None:
        """A poll where little happens from one time to the next."""
        b = self.b
        left = b.sub(b.load(self.left), i64(1))
        b.store(left, self.left)
        with b.if_then(b.icmp_signed("<", left, i64(0)), likely=False):
            b.store(i64(SMALL_STEPS), self.left)
            self.poll()

    def poll_after(self, chunks: int | None) -> None:
        """A poll after so much work, where there was enough since the last one. LLVM takes time
        quadratic in the number of branches of a function, so that thousands of small kernels are
        not to have one each."""
        self.chunks += SMALL_CHUNKS if self.loops or chunks is None else chunks
        if self.chunks >= SMALL_CHUNKS:
            self.poll()

    def poll(self) -> None:
        """Ends the run where a signal asks for it."""
        self.chunks = 0
        ask = self.declare("flowc_interpreter_poll", I32, [I64.as_pointer()])
        ended = self.b.call(ask, [self.interpreter])
        self._leave_if_ended(ended)

    def leave_if_ended(self) -> None:
        """Ends the run where a kernel has seen that a signal asks for it."""
        self._leave_if_ended(self.b.load(self.element(self.interpreter, ENDED)))

    def _leave_if_ended(self, ended: Any) -> None:
        failed = self.b.icmp_unsigned("!=", ended, ir.Constant(ended.type, 0))
        if self.interrupted is None:
            self.interrupted = self.function.append_basic_block("interrupted")
            with self.b.goto_block(self.interrupted):
                self.leave(STATUS_INTERRUPTED, i64(-1), [])
        stay = self.function.append_basic_block("stay")
        self.b.cbranch(failed, self.interrupted, stay)
        self.b.position_at_end(stay)

    def call_python(self, step: int, words: ir.Value) -> None:
        """Calls the function of Python with a step's words; the run ends where it raises."""
        kinds = [I64.as_pointer(), I64, I64.as_pointer()]
        call = self.declare("flowc_interpreter_call", I32, kinds)
        self._release_workers()
        ended = self.b.call(call, [self.interpreter, i64(step), words])
        if self.has_workers:
            self.call_workers(0)
        self._leave_if_ended(ended)

    def alone(self) -> None:
        """No kernel of this run has other threads."""
        self.threads = i64(1)

    def call_workers(self, wakes: int) -> None:
        """From here on this run is one of those that have the pool's threads. `wakes`: how many of
        them it surely needs."""
        self.has_workers = True
        begin = self.declare("flowc_run_begin", ir.VoidType(), [I64, I64])
        self.b.call(begin, [self.threads, i64(wakes)])

    def _release_workers(self) -> None:
        """While Python computes, which may wait for another run, and when the run ends."""
        if self.has_workers:
            end = self.declare("flowc_run_end", ir.VoidType(), [I64])
            self.b.call(end, [self.threads])

    def finish(self) -> None:
        """Returns, with the interpreter held as before."""
        self._release_workers()
        acquire = self.declare("flowc_interpreter_acquire", ir.VoidType(), [I64.as_pointer()])
        self.b.call(acquire, [self.interpreter])
        self.b.ret(self.b.load(self.code))

    def error_number(self, row: ErrorRow) -> ir.Value:
        """Where a row stands in the error table."""
        number = self.numbers.setdefault(row, len(self.errors))
        if number == len(self.errors):
            self.errors.append(row)
        return i64(number)

    def leave_if(
        self,
        condition: ir.Value,
        code: int,
        error: ir.Value | ErrorRow,
        values: Sequence[ir.Value],
    ) -> None:
        """Ends the run with a status where the condition holds."""
        if isinstance(error, ErrorRow):
            error = self.error_number(error)
        with self.where_it_leaves(condition):
            self.leave(code, error, values)

    @contextmanager
    def where_it_leaves(self, condition: ir.Value) -> Iterator[None]:
        """The block where the condition holds, which ends the run, is open within."""
        b = self.b
        leave = self.function.append_basic_block("leave")
        stay = self.function.append_basic_block("stay")
        b.cbranch(condition, leave, stay)
        b.position_at_end(leave)
        yield
        b.position_at_end(stay)

    def leave(self, code: int, error: ir.Value, values: Sequence[ir.Value]) -> None:
        """Ends the run in the open block. Of the many places where a run may end hardly one is ever
        come to: each is a call, with zeros for the values that it has not."""
        assert len(values) <= MOST_VALUES, values
        words = [error, *values, *[i64(0)] * (MOST_VALUES - len(values))]
        self.b.call(_leaving(self.module), [self.status, i64(code), *words])
        self.b.store(ir.Constant(I32, code), self.code)
        self.b.branch(self.exit)

    def leave_without_memory_if(self, missing: Any) -> None:
        """Ends the run where it is not 0: then `status` says what there is no memory for."""
        failed = self.b.icmp_unsigned("!=", missing, i64(0))
        if self.without_memory is None:
            self.without_memory = self.function.append_basic_block("without_memory")
            with self.b.goto_block(self.without_memory):
                self.b.store(ir.Constant(I32, STATUS_MEMORY), self.code)
                self.b.branch(self.exit)
        stay = self.function.append_basic_block("stay")
        self.b.cbranch(failed, self.without_memory, stay)
        self.b.position_at_end(stay)


def _leaving(module: ir.Module) -> ir.Function:
    """The function that writes down how the run ends, made at its first use."""
    found = module.globals.get("flowc_run_leaves")
    if found is not None:
        return found
    kind = ir.FunctionType(ir.VoidType(), [I64.as_pointer(), *[I64] * (2 + MOST_VALUES)])
    made = ir.Function(module, kind, "flowc_run_leaves")
    made.linkage = "internal"
    for attribute in ("cold", "noinline"):
        made.attributes.add(attribute)
    b = cast(Any, ir.IRBuilder(made.append_basic_block()))
    status, *words = made.args
    for i, word in enumerate(words):
        b.store(word, b.gep(status, [i64(i)]))
    b.ret_void()
    return made


def no_memory(message: str, node: str) -> ErrorRow:
    return ErrorRow(message, node, "ResourceExhaustedError")


def _compared(dim: Expr, most: int) -> tuple[Dim, int]:
    """What is compared with what to see whether a size is larger than `most`: of one product, and
    of the sum of one and a number, the numbers need not be computed with."""
    products = [(monomial, factor) for monomial, factor in dim.terms if monomial]
    number = sum(factor for monomial, factor in dim.terms if not monomial)
    if len(products) == 1 and products[0][1] > 0 and 0 <= number <= most:
        ((monomial, factor),) = products
        return Expr(((monomial, 1),)), (most - number) // factor
    return dim, most
