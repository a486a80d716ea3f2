"""The frame of a run: its arguments, its variables, and how it ends.

In: a module. Out: `flowc_program_run` with its entry block open. Invariants: all of its stack is
taken in the entry block, so that loops take none; every way out passes through one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.driver_sizes import BYTES, I32, I64, SizeFunction, number

STATUS_INVALID = 3
STATUS_MEMORY = 5

ErrorRow = dict[str, str]


def error_row(message: str, node: str = "", kind: str = "InvalidArgumentError") -> ErrorRow:
    return {"message": message, "node": node, "class": kind}


class Frame(SizeFunction):
    """`errors`: rows of the error table so far. `loops`: how many loops are open."""

    def __init__(self, module: ir.Module) -> None:
        words, pointers = I64.as_pointer(), BYTES.as_pointer()
        signature = ir.FunctionType(I32, [pointers, pointers, words, BYTES, I64, words])
        run = ir.Function(module, signature, "flowc_program_run")
        names = ("inputs", "outputs", "sizes", "weights", "threads", "status")
        for argument, name in zip(run.args, names):
            argument.name = name
        super().__init__(run, {})
        self.module = module
        self.inputs, self.outputs, self.sizes, self.weights, self.threads, self.status = run.args
        self.errors: list[ErrorRow] = []
        self.loops = 0
        self.exit = run.append_basic_block("exit")
        self.code = self.variable(I32, "code")
        self.b.store(ir.Constant(I32, 0), self.code)

    def variable(self, kind: ir.Type, name: str, count: int = 1) -> Any:
        """Memory of the stack that lives as long as the run."""
        with self.b.goto_entry_block():
            return self.b.alloca(kind, count, name=name)

    def declare(self, name: str, result: ir.Type, arguments: Sequence[ir.Type]) -> Any:
        found = self.module.globals.get(name)
        kind = ir.FunctionType(result, arguments)
        return found or ir.Function(self.module, kind, name)

    def element(self, base: ir.Value, index: int) -> Any:
        """The address of one element of a table."""
        return self.b.gep(base, [number(index)])

    def leave_if(
        self,
        condition: ir.Value,
        code: int,
        error: ir.Value | ErrorRow | None,
        values: Sequence[ir.Value],
    ) -> None:
        """Ends the run with a status where the condition holds."""
        b = self.b
        if isinstance(error, dict):
            self.errors.append(error)
            error = number(len(self.errors) - 1)
        leave = self.function.append_basic_block("leave")
        stay = self.function.append_basic_block("stay")
        b.cbranch(condition, leave, stay)
        b.position_at_end(leave)
        slots = [number(code), error or number(-1), *values]
        for i, value in enumerate(slots):
            b.store(value, self.element(self.status, i))
        b.store(ir.Constant(I32, code), self.code)
        b.branch(self.exit)
        b.position_at_end(stay)
