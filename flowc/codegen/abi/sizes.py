"""The part of the C ABI that checks the dims of inputs and finds the program's sizes in them.

In: an `AbiModule`. Out: `flowc_abi_bind` and `flowc_abi_count` in it. Invariant: when binding
succeeds, every size of the inputs is known, not negative, and agrees with every dim given.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from flowc.codegen.abi.model import dims_text
from flowc.codegen.abi.module import BAD_ARGUMENT, MESSAGE_BYTES, OK, AbiModule
from flowc.codegen.driver.sizes import SizeFunction
from flowc.errors import BROADCAST_HINT
from flowc.ir.dims import Dim, Symbol, lone_symbol, symbols_of
from flowc.ir.program_spec import TensorSpec
from flowc_runtime.native.writer import I32, I64, NULL, PTR, FunctionWriter, i32, i64

MOST_ELEMENTS = 1 << 47
UNBOUNDED = -2


class SizesEmitter:
    def __init__(self, abi: AbiModule) -> None:
        self.abi = abi

    def emit(self) -> None:
        self._count_elements()
        self._fail_dims()
        self._bind()

    def _count_elements(self) -> None:
        """Elements of a dense tensor; -1 when they are more than any machine holds, UNBOUNDED when
        a dim is negative, which stands for one that only the run will know."""
        args = {"dims": PTR, "rank": I64}
        w = self.abi.function("flowc_abi_count", I64, args)
        dims, rank = w.args
        for operator, answer in (("<", UNBOUNDED), ("==", 0)):
            with w.count(rank) as axis, w.when(w.compare(operator, w.load(dims, axis), i64(0))):
                w.give(i64(answer))
        total = w.variable(i64(1))
        with w.count(rank) as axis:
            dim = w.load(dims, axis)
            with w.when(w.compare(">", total.get(), w.b.sdiv(i64(MOST_ELEMENTS), dim))):
                w.give(i64(-1))
            total.set(w.b.mul(total.get(), dim))
        w.give(total.get())

    def _fail_dims(self) -> None:
        """`input 'x:0' has dims [3, 5], expected [batch, 784]: dimension 1 is 5, expected 784`."""
        args = {"name": PTR, "expected": PTR, "dims": PTR, "rank": I64, "axis": I32, "right": I64}
        w = self.abi.function("flowc_abi_fail_dims", I32, args | {"hint": PTR})
        name, expected, dims, rank, axis, right, hint = w.args
        message = w.call("flowc_abi_message")
        with w.when(w.compare("==", message, NULL)):
            w.give(i32(BAD_ARGUMENT))
        used = w.variable(i64(0))

        def append(template: str, *values: Any) -> None:
            start = used.get()
            room = w.b.sub(i64(MESSAGE_BYTES), start)
            end = w.element(message, start, ir.IntType(8))
            wrote = w.b.sext(w.print_to(end, room, template, *values), I64)
            used.set(w.minimum(w.b.add(start, wrote), i64(MESSAGE_BYTES - 1)))

        append("input '%s' has dims [", name)
        with w.count(rank) as index:
            comma = w.b.select(w.compare("==", index, i64(0)), w.text(""), w.text(", "))
            append("%s%lld", comma, w.load(dims, index))
        append("], expected %s", expected)
        with w.when(w.compare("<", axis, i32(0))):
            append(": too many elements")
            w.give(i32(BAD_ARGUMENT))
        dim = w.load(dims, w.b.sext(axis, I64))
        append(": dimension %d is %lld, ", axis, dim)
        with w.when(w.compare("<", right, i64(0))):
            append("expected a size of 0 or more")
            w.give(i32(BAD_ARGUMENT))
        append("expected %lld", right)
        either = w.b.or_(w.compare("==", dim, i64(1)), w.compare("==", right, i64(1)))
        append("%s", w.b.select(either, hint, w.text("")))
        w.give(i32(BAD_ARGUMENT))

    def _bind(self) -> None:
        """Checks the dims of all inputs and fills the table of sizes from them."""
        args = {"input_dims": PTR, "sizes": PTR}
        w = self.abi.function("flowc_abi_bind", I32, args)
        input_dims, sizes = w.args
        bound: set[Symbol] = set()
        derived: list[tuple[int, int]] = []
        for index, port in enumerate(self.abi.spec.fed):
            given = w.variable(NULL)
            with w.when(w.compare("!=", input_dims, NULL)):
                given.set(w.load(input_dims, i64(index), PTR))
            dims, is_missing = given.get(), w.compare("==", given.get(), NULL)
            if port.is_static:
                dims = w.b.select(is_missing, self.abi.static_dims(port), dims)
            else:
                with w.when(is_missing):
                    template = "input '%s' of dims %s needs its dims: input_dims gives none"
                    texts = (w.text(port.name), w.text(dims_text(port)))
                    self.abi.fail(w, BAD_ARGUMENT, template, *texts)
            for axis, dim in enumerate(port.dims):
                value = w.load(dims, i64(axis))
                size = lone_symbol(dim)
                if isinstance(dim, int):
                    self._expect(w, port, dims, axis, i64(dim))
                elif size is None:
                    derived.append((index, axis))
                elif size in bound:
                    self._expect(w, port, dims, axis, w.load(sizes, self._place(size)))
                else:
                    bound.add(size)
                    with w.when(w.compare("<", value, i64(0))):
                        w.give(self._wrong(w, port, dims, axis, i64(-1)))
                    w.store(value, sizes, self._place(size))
            count = w.call("flowc_abi_count", dims, i64(len(port.dims)))
            with w.when(w.compare("<", count, i64(0))):
                w.give(self._wrong(w, port, dims, -1, i64(0)))
        for index, axis in derived:
            port = self.abi.spec.fed[index]
            dims = w.load(input_dims, i64(index), PTR)
            right = self._size(w, port.dims[axis], sizes)
            self._expect(w, port, dims, axis, right)
        w.give(i32(OK))

    def _place(self, size: Symbol) -> Any:
        """Where a size stands in the table of sizes."""
        return i64(self.abi.metadata.sizes.index(size.name))

    def _expect(
        self, w: FunctionWriter, port: TensorSpec, dims: Any, axis: int, right: Any
    ) -> None:
        with w.when(w.compare("!=", w.load(dims, i64(axis)), right)):
            w.give(self._wrong(w, port, dims, axis, right))

    def _wrong(self, w: FunctionWriter, port: TensorSpec, dims: Any, axis: int, right: Any) -> Any:
        texts = (w.text(port.name), w.text(dims_text(port)))
        rank = i64(len(port.dims))
        is_named = axis >= 0 and not isinstance(port.dims[axis], int)
        hint = w.text(BROADCAST_HINT if is_named else "")
        return w.call("flowc_abi_fail_dims", *texts, dims, rank, i32(axis), right, hint)

    def _size(self, w: FunctionWriter, dim: Dim, sizes: Any) -> Any:
        """The value of a size expression over the table of sizes."""
        env = {size: w.load(sizes, self._place(size)) for size in symbols_of(dim)}
        return SizeFunction(w.b, env).wrapping(dim)
