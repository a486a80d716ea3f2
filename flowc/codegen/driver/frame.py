"""The frame of a run: its arguments, its variables, and how it ends.

In: a module. Out: `flowc_program_run` with its entry block open. Invariants: all of its stack is
taken in the entry block, so that loops take none; every way out passes through one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.compiled import ErrorRow
from flowc.codegen.driver.sizes import BYTES, SizeFunction
from flowc_runtime.native.interpreter import ENDED, WORDS
from flowc_runtime.native.writer import I32, I64, declare, i64

STATUS_INVALID = 3
STATUS_MEMORY = 5
STATUS_INTERRUPTED = 6  # Python raised an exception, or the time was over

SMALL_STEPS = 256  # iterations between two polls where kernels do little


class RunFrame(SizeFunction):
    """`errors`: rows of the error table so far. `loops`: how many loops are open."""

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
        self.loops = 0
        self.exit = run.append_basic_block("exit")
        self.code = self.variable(I32, "code")
        self.b.store(ir.Constant(I32, 0), self.code)
        self.left = self.variable(I64, "left")
        self.b.store(i64(SMALL_STEPS), self.left)
        self.interpreter = self.variable(I64, "interpreter", WORDS)
        release = self.declare("flowc_interpreter_release", ir.VoidType(), [words, BYTES, I64])
        self.b.call(release, [self.interpreter, table, self.b.load(self.status)])

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

    def poll(self) -> None:
        """Ends the run where a signal asks for it."""
        ask = self.declare("flowc_interpreter_poll", I32, [I64.as_pointer()])
        ended = self.b.call(ask, [self.interpreter])
        self._leave_if_ended(ended)

    def leave_if_ended(self) -> None:
        """Ends the run where a kernel has seen that a signal asks for it."""
        self._leave_if_ended(self.b.load(self.element(self.interpreter, ENDED)))

    def _leave_if_ended(self, ended: Any) -> None:
        failed = self.b.icmp_unsigned("!=", ended, ir.Constant(ended.type, 0))
        self.leave_if(failed, STATUS_INTERRUPTED, None, [])

    def call_python(self, step: int, words: ir.Value) -> None:
        """Calls the function of Python with a step's words; the run ends where it raises."""
        kinds = [I64.as_pointer(), I64, I64.as_pointer()]
        call = self.declare("flowc_interpreter_call", I32, kinds)
        self._leave_if_ended(self.b.call(call, [self.interpreter, i64(step), words]))

    def finish(self) -> None:
        """Returns, with the interpreter held as before."""
        acquire = self.declare("flowc_interpreter_acquire", ir.VoidType(), [I64.as_pointer()])
        self.b.call(acquire, [self.interpreter])
        self.b.ret(self.b.load(self.code))

    def error_number(self, row: ErrorRow) -> ir.Value:
        """Where a row stands in the error table."""
        if row not in self.errors:
            self.errors.append(row)
        return i64(self.errors.index(row))

    def leave_if(
        self,
        condition: ir.Value,
        code: int,
        error: ir.Value | ErrorRow | None,
        values: Sequence[ir.Value],
    ) -> None:
        """Ends the run with a status where the condition holds."""
        b = self.b
        if isinstance(error, ErrorRow):
            error = self.error_number(error)
        leave = self.function.append_basic_block("leave")
        stay = self.function.append_basic_block("stay")
        b.cbranch(condition, leave, stay)
        b.position_at_end(leave)
        slots = [i64(code), error or i64(-1), *values]
        for i, value in enumerate(slots):
            b.store(value, self.element(self.status, i))
        b.store(ir.Constant(I32, code), self.code)
        b.branch(self.exit)
        b.position_at_end(stay)
