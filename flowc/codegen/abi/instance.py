"""The part of the C ABI that keeps a model's variables and objects from run to run, in instances.

In: an `AbiModule` that already holds `flowc_abi_run`. Out: `flowc_run` and the functions of
instances. Invariants: instances share nothing; one call at a time is inside an instance; what a run
writes becomes the variables' values when it has ended well, and not before; only what runs change
in place may be left half changed by one that fails.

An instance is one block of memory: a mutex, then for each variable its value's address, the address
that the next value is written to (the same one where runs change the value in place), and whether
it has a value; then the addresses of the objects, which are an input of the program each; then the
buffers of the variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llvmlite import ir

from flowc.codegen.abi.instance_objects import OBJECT_ACCESS, InstanceObjects
from flowc.codegen.abi.instance_rows import (
    IS_SET,
    MUTEX_BYTES,
    NEXT,
    VALUE,
    WORDS,
    rows_of,
)
from flowc.codegen.abi.model import bytes_of
from flowc.codegen.abi.module import BAD_ARGUMENT, EXPORTS, NO_MEMORY, OK, RUN_ARGS, AbiModule
from flowc_runtime.native.writer import I32, I64, NULL, PTR, FunctionWriter, i32, i64

ALIGNMENT = 64


class InstanceEmitter:
    """`prefix`: what the functions begin with that messages tell of."""

    def __init__(self, abi: AbiModule, prefix: str = "flowc") -> None:
        self.abi, self.prefix = abi, prefix
        self.variables = abi.spec.variables
        self.objects = InstanceObjects(abi)

    def emit(self) -> None:
        self.objects.emit()
        self._reset()
        self._destroy()
        self._create()
        self._access()
        self._guarded("flowc_instance_reset", "flowc_abi_reset", {})
        self._guarded("flowc_instance_run", "flowc_abi_run", RUN_ARGS)
        self._plain_run()
        access: dict[str, ir.Type] = {"variable": I32, "value": PTR}
        self._guarded("flowc_instance_read", "flowc_abi_read", access)
        self._guarded("flowc_instance_write", "flowc_abi_write", access)
        for name, inner in OBJECT_ACCESS.items():
            result, args = EXPORTS[name]
            assert result == I32
            self._guarded(name, inner, {k: a for k, a in args.items() if k != "instance"})

    # -- one instance at a time

    def _guarded(self, name: str, inner: str, args: Mapping[str, ir.Type]) -> None:
        """An exported function that calls another one with the instance's mutex held."""
        w = self.abi.export(name)
        instance, *rest = w.args
        assert len(rest) == len(args)
        with w.when(w.compare("==", instance, NULL)):
            self.abi.fail(w, BAD_ARGUMENT, "instance is NULL")
        w.call("pthread_mutex_lock", instance)
        code = w.call(inner, instance, *rest)
        w.call("pthread_mutex_unlock", instance)
        w.give(code)

    def _plain_run(self) -> None:
        w = self.abi.export("flowc_run")
        kept = [v.name for v in (*self.variables, *self.abi.spec.objects)]
        if kept and all(v.is_random for v in self.variables) and not self.abi.spec.objects:
            self._run_once(w)
        elif kept:
            names = ", ".join(kept[:3])
            more = ", ..." if len(kept) > 3 else ""
            template = (
                "the model has variables (%s%s): make an instance with "
                f"{self.prefix}_instance_create and run it with {self.prefix}_instance_run"
            )
            self.abi.fail(w, BAD_ARGUMENT, template, w.text(names), w.text(more))
        else:
            w.give(w.call("flowc_abi_run", NULL, *w.args))

    def _run_once(self, w: FunctionWriter) -> None:
        """A run in an instance of its own: what it keeps are only states of random nodes."""
        made = w.block(8)
        code = w.call("flowc_instance_create", made)
        with w.when(w.compare("!=", code, i32(OK))):
            w.give(code)
        instance = w.load(made, i64(0), PTR)
        code = w.call("flowc_instance_run", instance, *w.args)
        w.call("flowc_instance_destroy", instance)
        w.give(code)

    # -- making and ending

    def _offsets(self) -> tuple[list[tuple[int, int]], int]:
        """Where the two buffers of each variable start, and the size of an instance."""
        words = WORDS * len(self.variables) + len(self.abi.spec.objects)
        at = _aligned(MUTEX_BYTES + 8 * words)
        found = []
        for variable in self.variables:
            size = _aligned(bytes_of(variable.tensor))
            after = at if self.abi.spec.in_place(variable) else at + size
            found.append((at, after))
            at = after + size
        return found, at

    def _create(self) -> None:
        w = self.abi.export("flowc_instance_create")
        (place,) = w.args
        with w.when(w.compare("==", place, NULL)):
            self.abi.fail(w, BAD_ARGUMENT, "instance is NULL")
        w.store(NULL, place, i64(0))
        offsets, size = self._offsets()
        made = w.block(8)
        failed = w.call("posix_memalign", made, i64(ALIGNMENT), i64(size))
        with w.when(w.compare("!=", failed, i32(0))):
            template = "no memory for an instance: %lld bytes could not be had"
            self.abi.fail(w, NO_MEMORY, template, i64(size))
        instance = w.load(made, i64(0), PTR)
        w.call("memset", instance, i32(0), i64(offsets[0][0] if offsets else size))
        w.call("pthread_mutex_init", instance, NULL)
        starts = self.abi.table(I64, [i64(s) for pair in offsets for s in pair], "starts")
        rows = rows_of(w, instance)
        with w.count(i64(len(self.variables))) as index:
            row = w.b.mul(index, i64(WORDS))
            for word in (VALUE, NEXT):
                start = w.load(starts, w.b.add(w.b.mul(index, i64(2)), i64(word)))
                address = w.element(instance, start, ir.IntType(8))
                w.store(address, rows, w.b.add(row, i64(word)))
        code = w.call("flowc_abi_reset", instance)
        with w.when(w.compare("!=", code, i32(OK))):
            w.call("flowc_instance_destroy", instance)
            w.give(code)
        w.store(instance, place, i64(0))
        w.give(i32(OK))

    def _destroy(self) -> None:
        w = self.abi.export("flowc_instance_destroy")
        (instance,) = w.args
        with w.when(w.compare("!=", instance, NULL)):
            self.objects.destroy(w, instance)
            w.call("pthread_mutex_destroy", instance)
            w.call("free", instance)
        w.give()

    def _reset(self) -> None:
        """Initial values, where there are any."""
        w = self.abi.function("flowc_abi_reset", I32, {"instance": PTR})
        (instance,) = w.args
        weights = self.abi.weights_address(w)
        self.objects.reset(w, instance, weights)
        initial = [i64(-1 if v.initial is None else v.initial) for v in self.variables]
        places = self.abi.table(I64, initial, "initial")
        rows = rows_of(w, instance)
        with w.count(i64(len(self.variables))) as index:
            row = w.b.mul(index, i64(WORDS))
            place = w.load(places, index)
            has_value = w.compare(">=", place, i64(0))
            w.store(w.b.zext(has_value, I64), rows, w.b.add(row, i64(IS_SET)))
            with w.when(has_value):
                source = w.element(weights, place, ir.IntType(8))
                w.call("memcpy", w.load(rows, row, PTR), source, self._bytes(w, index))
        for number, variable in enumerate(self.variables):
            if variable.is_random and variable.initial is None:
                value = w.load(rows, i64(number * WORDS + VALUE), PTR)
                w.call("getrandom", value, i64(bytes_of(variable.tensor)), i32(0))
                w.store(i64(1), rows, i64(number * WORDS + IS_SET))
        w.give(i32(OK))

    def _bytes(self, w: FunctionWriter, index: Any) -> Any:
        return w.load(
            self.abi.table(I64, [i64(bytes_of(v.tensor)) for v in self.variables], "bytes"), index
        )

    # -- reading and writing

    def _access(self) -> None:
        for name, is_read in (("flowc_abi_read", True), ("flowc_abi_write", False)):
            args: dict[str, ir.Type] = {"instance": PTR, "variable": I32, "value": PTR}
            w = self.abi.function(name, I32, args)
            instance, variable, value = w.args
            count = i32(len(self.variables))
            with w.when(w.b.not_(w.b.icmp_unsigned("<", variable, count))):
                self.abi.fail(w, BAD_ARGUMENT, "the model has no variable %d", variable)
            index = w.b.sext(variable, I64)
            size = self._bytes(w, index)
            missing = w.compare("==", value, NULL)
            with w.when(w.b.and_(missing, w.compare("!=", size, i64(0)))):
                self.abi.fail(w, BAD_ARGUMENT, "value is NULL")
            rows, row = rows_of(w, instance), w.b.mul(index, i64(WORDS))
            held, mark = w.load(rows, row, PTR), w.b.add(row, i64(IS_SET))
            if is_read:
                with w.when(w.compare("==", w.load(rows, mark), i64(0))):
                    self.abi.fail(
                        w,
                        BAD_ARGUMENT,
                        "variable '%s' has no value yet",
                        w.call("flowc_variable_name", variable),
                    )
                w.call("memcpy", value, held, size)
            else:
                w.call("memcpy", held, value, size)
                w.store(i64(1), rows, mark)
            w.give(i32(OK))


class RunTables:
    """The program's own tables of pointers for a run in an instance: the caller's, then those of
    variables."""

    def __init__(self, abi: AbiModule, w: FunctionWriter, instance: Any) -> None:
        self.abi = abi
        self.w = w
        self.rows = rows_of(w, instance)

    def inputs(self, given: Any) -> Any:
        """Raises the error of a variable that has no value yet."""
        w, spec = self.w, self.abi.spec
        table = w.block(8 * (len(spec.inputs) or 1))
        self._copy(given, table, len(spec.fed))
        for number, variable in self.abi.reads:
            if variable.initial is None and not variable.is_random:
                is_set = w.load(self.rows, i64(number * WORDS + IS_SET))
                with w.when(w.compare("==", is_set, i64(0))):
                    template = "Attempting to use uninitialized value %s"
                    self.abi.fail(w, BAD_ARGUMENT, template, w.text(variable.name))
            value = w.load(self.rows, i64(number * WORDS + VALUE), PTR)
            w.store(value, table, i64(variable.input or 0))
        first = len(spec.fed) + len(spec.reads)
        for number in range(len(spec.objects)):
            place = w.element(self.rows, i64(len(spec.variables) * WORDS + number))
            w.store(place, table, i64(first + number))
        return table

    def outputs(self, given: Any) -> Any:
        w, spec = self.w, self.abi.spec
        table = w.block(8 * (len(spec.outputs) or 1))
        self._copy(given, table, len(spec.fetched))
        for number, variable in self.abi.writes:
            place = w.load(self.rows, i64(number * WORDS + NEXT), PTR)
            w.store(place, table, i64(variable.output or 0))
        return table

    def give_back(self, table: Any, given: Any) -> None:
        """Outputs that the run allocated, in the caller's table."""
        self._copy(table, given, len(self.abi.spec.fetched))

    def keep(self) -> None:
        """What was written becomes the value."""
        w = self.w
        for number, _ in self.abi.writes:
            row = number * WORDS
            old = w.load(self.rows, i64(row + VALUE), PTR)
            w.store(w.load(self.rows, i64(row + NEXT), PTR), self.rows, i64(row + VALUE))
            w.store(old, self.rows, i64(row + NEXT))
            w.store(i64(1), self.rows, i64(row + IS_SET))

    def _copy(self, source: Any, target: Any, count: int) -> None:
        with self.w.count(i64(count)) as index:
            self.w.store(self.w.load(source, index, PTR), target, index)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
