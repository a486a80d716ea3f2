"""The exported C functions of a compiled model, emitted over its program function.

In: a program's metadata and where its weights are. Out: LLVM IR text of one module that exports
exactly the functions of `EXPORTS` (declared to users by the generated header) on top of
`flowc_program_run`, `flowc_program_output_dims` and `flowc_program_output_bounds`. Invariant: wrong
arguments (NULL, wrong dims, misaligned) give an error code and a message, and never reach the
program.

The module keeps three things between calls: the thread count, the key of the per-thread message
and, where weights come from a file, their mapping.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.abi_model import Model, TensorPort, plain_symbol, read_model
from flowc.codegen.weights_file import WeightsFile, emit_weights_mapping
from flowc.ir.dims import Dim, Extremum, FloorDiv, Symbol
from flowc_runtime.native import data_layout
from flowc_runtime.native.writer import (
    I32,
    I64,
    NULL,
    PTR,
    VOID,
    FunctionWriter,
    as_pointer,
    call_at_load,
    call_at_unload,
    data_constant,
    declare,
    i32,
    i64,
    new_global,
)

ABI_VERSION = 1
OK, BAD_ARGUMENT, INVALID, BAD_FILE, NO_MEMORY = 0, 2, 3, 4, 5
MESSAGE_BYTES = 1024
MOST_ELEMENTS = 1 << 47
MOST_THREADS = 1024
UNBOUNDED = -2

_RUN = ir.FunctionType(I32, [PTR, PTR, PTR, PTR, I64, PTR])
_SIZES = ir.FunctionType(VOID, [PTR, PTR])


def _port_exports(kind: str) -> dict[str, tuple[ir.Type, dict[str, ir.Type]]]:
    return {
        f"flowc_{kind}_count": (I32, {}),
        f"flowc_{kind}_name": (PTR, {kind: I32}),
        f"flowc_{kind}_dtype": (I32, {kind: I32}),
        f"flowc_{kind}_rank": (I32, {kind: I32}),
        f"flowc_{kind}_dims": (I32, {kind: I32, "dims": PTR}),
        f"flowc_{kind}_dim_name": (PTR, {kind: I32, "axis": I32}),
    }


EXPORTS: dict[str, tuple[ir.Type, dict[str, ir.Type]]] = {
    "flowc_abi_version": (I32, {}),
    "flowc_version": (PTR, {}),
    "flowc_model_name": (PTR, {}),
    "flowc_metadata": (PTR, {}),
    **_port_exports("input"),
    **_port_exports("output"),
    "flowc_output_dims_for": (I32, {"input_dims": PTR, "output": I32, "dims": PTR}),
    "flowc_run": (I32, {"inputs": PTR, "input_dims": PTR, "outputs": PTR, "output_dims": PTR}),
    "flowc_set_threads": (I32, {"threads": I32}),
    "flowc_get_threads": (I32, {}),
    "flowc_free": (VOID, {"memory": PTR}),
    "flowc_last_error": (PTR, {}),
}


def c_abi_text(
    metadata: Mapping[str, Any],
    triple: str,
    *,
    weights: WeightsFile | None = None,
    threads: int = 0,
) -> str:
    """LLVM IR of the ABI module.

    `weights`: the side file, None when weights are linked in. `threads`: the thread count until
    `flowc_set_threads` is called; 0 means as many as the process has cores.
    """
    emitter = _AbiEmitter(metadata, triple, weights, threads)
    return emitter.emit()


class _AbiEmitter:
    def __init__(
        self, metadata: Mapping[str, Any], triple: str, weights: WeightsFile | None, threads: int
    ) -> None:
        self.model: Model = read_model(metadata)
        self.metadata = json.dumps(metadata, ensure_ascii=True, separators=(",", ":"))
        self.weights = weights
        self.module = ir.Module("flowc_c_abi")
        self.module.triple = triple
        self.module.data_layout = data_layout(triple)
        self.threads = as_pointer(new_global(self.module, "flowc_abi_threads", i32(threads)))
        self.message_key = as_pointer(new_global(self.module, "flowc_abi_message_key", i32(-1)))

    def emit(self) -> str:
        opened, closed = self._message(), self._close_messages()
        started, ended = [opened], [closed]
        if self.weights is not None:
            mapping = emit_weights_mapping(self.module, self.weights)
            started.append(mapping.open)
            ended.append(mapping.close)
        self._constants()
        for kind in ("input", "output"):
            self._describe(kind)
        self._count_elements()
        self._fail_dims()
        self._bind()
        self._threads()
        self._dims_for()
        self._check_port()
        self._fail_run()
        self._run()
        call_at_load(self.module, started)
        call_at_unload(self.module, ended)
        for function in self.module.functions:
            if not function.is_declaration:  # each runs once a call: size and build time count
                function.attributes.add("noinline")
                function.attributes.add("optsize")
        return str(self.module)

    def _export(self, name: str) -> FunctionWriter:
        result, args = EXPORTS[name]
        return FunctionWriter(self.module, name, result, args, linkage="")

    # -- messages ----------------------------------------------------------------------------

    def _message(self) -> ir.Function:
        """The per-thread message: its key is made when the library is loaded."""
        w = FunctionWriter(self.module, "flowc_abi_open_messages", VOID, {})
        free = declare(self.module, "free", ir.FunctionType(VOID, [PTR]))
        failed = w.call("pthread_key_create", self.message_key, as_pointer(free))
        with w.when(w.compare("!=", failed, i32(0))):
            w.b.store(i32(-1), self.message_key)
        w.give()
        opened = w.function

        w = FunctionWriter(self.module, "flowc_abi_message", PTR, {})
        key = w.b.load(self.message_key, typ=I32)
        with w.when(w.compare("<", key, i32(0))):
            w.give(NULL)
        found = w.call("pthread_getspecific", key)
        with w.when(w.compare("!=", found, NULL)):
            w.give(found)
        made = w.call("malloc", i64(MESSAGE_BYTES))
        with w.when(w.compare("!=", made, NULL)):
            w.call("pthread_setspecific", key, made)
        w.give(made)

        w = self._export("flowc_last_error")
        key = w.b.load(self.message_key, typ=I32)
        with w.when(w.compare("<", key, i32(0))):
            w.give(w.text("no memory for error messages"))
        found = w.call("pthread_getspecific", key)
        w.give(w.b.select(w.compare("!=", found, NULL), found, w.text("")))

        w = self._export("flowc_free")
        w.call("free", w.args[0])
        w.give()
        return opened

    def _close_messages(self) -> ir.Function:
        w = FunctionWriter(self.module, "flowc_abi_close_messages", VOID, {})
        key = w.b.load(self.message_key, typ=I32)
        with w.when(w.compare(">=", key, i32(0))):
            w.call("free", w.call("pthread_getspecific", key))
            w.call("pthread_key_delete", key)
        w.give()
        return w.function

    def _fail(self, w: FunctionWriter, code: int, template: str, *args: Any) -> None:
        """Writes the message and returns the code."""
        message = w.call("flowc_abi_message")
        with w.when(w.compare("!=", message, NULL)):
            w.print_to(message, i64(MESSAGE_BYTES), template, *args)
        w.give(i32(code))

    # -- description -------------------------------------------------------------------------

    def _constants(self) -> None:
        w = self._export("flowc_abi_version")
        w.give(i32(ABI_VERSION))
        texts = {"version": self.model.version, "model_name": self.model.name}
        for name, text in {**texts, "metadata": self.metadata}.items():
            w = self._export(f"flowc_{name}")
            w.give(w.text(text))

    def _table(self, kind: ir.Type, rows: Sequence[Any], name: str) -> Any:
        """A constant array; one unused row stands in an empty one."""
        value = ir.Constant(ir.ArrayType(kind, max(len(rows), 1)), list(rows) or None)
        return as_pointer(data_constant(self.module, value, name))

    def _static_dims(self, port: TensorPort) -> Any:
        """The dims as numbers, -1 where they are not."""
        return self._table(I64, [i64(d if isinstance(d, int) else -1) for d in port.dims], "dims")

    def _describe(self, kind: str) -> None:
        """The functions that tell of inputs or outputs, by table."""
        ports = self.model.ports(kind)
        w = self._export(f"flowc_{kind}_count")
        w.give(i32(len(ports)))

        def text(value: str) -> Any:
            return w.text(value)

        self._lookup(f"flowc_{kind}_name", PTR, [text(p.name) for p in ports], NULL)
        self._lookup(f"flowc_{kind}_dtype", I32, [i32(p.dtype.enum) for p in ports], i32(0))
        ranks = [i32(len(p.dims)) for p in ports]
        self._lookup(f"flowc_{kind}_rank", I32, ranks, i32(-1))
        rows = [self._static_dims(p) for p in ports]
        w = self._export(f"flowc_{kind}_dims")
        port, dims = w.args
        rank = w.call(f"flowc_{kind}_rank", port)
        with w.when(w.compare("<", rank, i32(0))):
            self._fail(w, BAD_ARGUMENT, f"the model has no {kind} %d", port)
        with w.when(w.b.and_(w.compare("==", dims, NULL), w.compare("!=", rank, i32(0)))):
            self._fail(w, BAD_ARGUMENT, "dims is NULL")
        source = w.load(self._table(PTR, rows, "rows"), w.b.sext(port, I64), PTR)
        with w.count(w.b.sext(rank, I64)) as axis:
            w.store(w.load(source, axis), dims, axis)
        w.give(i32(OK))

        names = [
            self._table(
                PTR, [NULL if isinstance(d, int) else text(str(d)) for d in p.dims], "names"
            )
            for p in ports
        ]
        w = self._export(f"flowc_{kind}_dim_name")
        port, axis = w.args
        rank = w.call(f"flowc_{kind}_rank", port)
        with w.when(w.b.not_(w.b.icmp_unsigned("<", axis, w.maximum(rank, i32(0))))):
            w.give(NULL)
        row = w.load(self._table(PTR, names, "rows"), w.b.sext(port, I64), PTR)
        w.give(w.load(row, w.b.sext(axis, I64), PTR))

    def _lookup(self, name: str, kind: ir.Type, rows: Sequence[Any], otherwise: Any) -> None:
        w = self._export(name)
        (index,) = w.args
        with w.when(w.b.not_(w.b.icmp_unsigned("<", index, i32(len(rows))))):
            w.give(otherwise)
        w.give(w.load(self._table(kind, rows, "rows"), w.b.sext(index, I64), kind))

    # -- sizes -------------------------------------------------------------------------------

    def _count_elements(self) -> None:
        """Elements of a dense tensor; -1 when they are more than any machine holds, UNBOUNDED when
        a dim is negative, which stands for one that only the run will know."""
        args = {"dims": PTR, "rank": I64}
        w = FunctionWriter(self.module, "flowc_abi_count", I64, args)
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
        w = FunctionWriter(self.module, "flowc_abi_fail_dims", I32, args)
        name, expected, dims, rank, axis, right = w.args
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
        append(": dimension %d is %lld, ", axis, w.load(dims, w.b.sext(axis, I64)))
        with w.when(w.compare("<", right, i64(0))):
            append("expected a size of 0 or more")
            w.give(i32(BAD_ARGUMENT))
        append("expected %lld", right)
        w.give(i32(BAD_ARGUMENT))

    def _bind(self) -> None:
        """Checks the dims of all inputs and fills the table of sizes from them."""
        args = {"input_dims": PTR, "sizes": PTR}
        w = FunctionWriter(self.module, "flowc_abi_bind", I32, args)
        input_dims, sizes = w.args
        bound: set[str] = set()
        derived: list[tuple[int, int]] = []
        for index, port in enumerate(self.model.inputs):
            given = w.variable(NULL)
            with w.when(w.compare("!=", input_dims, NULL)):
                given.set(w.load(input_dims, i64(index), PTR))
            dims, is_missing = given.get(), w.compare("==", given.get(), NULL)
            if port.is_static:
                dims = w.b.select(is_missing, self._static_dims(port), dims)
            else:
                with w.when(is_missing):
                    template = "input '%s' of dims %s needs its dims: input_dims gives none"
                    texts = (w.text(port.name), w.text(port.dims_text()))
                    self._fail(w, BAD_ARGUMENT, template, *texts)
            for axis, dim in enumerate(port.dims):
                value = w.load(dims, i64(axis))
                name = plain_symbol(dim)
                if isinstance(dim, int):
                    self._expect(w, port, dims, axis, i64(dim))
                elif name is None:
                    derived.append((index, axis))
                elif name in bound:
                    right = w.load(sizes, i64(self.model.sizes.index(name)))
                    self._expect(w, port, dims, axis, right)
                else:
                    bound.add(name)
                    with w.when(w.compare("<", value, i64(0))):
                        w.give(self._wrong(w, port, dims, i32(axis), i64(-1)))
                    w.store(value, sizes, i64(self.model.sizes.index(name)))
            count = w.call("flowc_abi_count", dims, i64(len(port.dims)))
            with w.when(w.compare("<", count, i64(0))):
                w.give(self._wrong(w, port, dims, i32(-1), i64(0)))
        for index, axis in derived:
            port = self.model.inputs[index]
            dims = w.load(input_dims, i64(index), PTR)
            right = self._size(w, port.dims[axis], sizes)
            self._expect(w, port, dims, axis, right)
        w.give(i32(OK))

    def _expect(
        self, w: FunctionWriter, port: TensorPort, dims: Any, axis: int, right: Any
    ) -> None:
        with w.when(w.compare("!=", w.load(dims, i64(axis)), right)):
            w.give(self._wrong(w, port, dims, i32(axis), right))

    def _wrong(self, w: FunctionWriter, port: TensorPort, dims: Any, axis: Any, right: Any) -> Any:
        texts = (w.text(port.name), w.text(port.dims_text()))
        rank = i64(len(port.dims))
        return w.call("flowc_abi_fail_dims", *texts, dims, rank, axis, right)

    def _size(self, w: FunctionWriter, dim: Dim, sizes: Any) -> Any:
        """The value of a size expression over the table of sizes."""
        if isinstance(dim, int):
            return i64(dim)
        total: Any = i64(0)
        for monomial, coefficient in dim.terms:
            term: Any = i64(coefficient)
            for atom in monomial:
                match atom:
                    case Symbol(name=name):
                        value = w.load(sizes, i64(self.model.sizes.index(name)))
                    case FloorDiv(numerator=top, denominator=bottom):
                        value = _floor_divide(
                            w, self._size(w, top, sizes), self._size(w, bottom, sizes)
                        )
                    case Extremum(kind=kind, left=left, right=right):
                        choose: Callable[..., Any] = w.maximum if kind == "max" else w.minimum
                        value = choose(self._size(w, left, sizes), self._size(w, right, sizes))
                term = w.b.mul(term, value)
            total = w.b.add(total, term)
        return total

    # -- calls -------------------------------------------------------------------------------

    def _threads(self) -> None:
        w = self._export("flowc_get_threads")
        known = w.atomic_load(self.threads, "monotonic", I32)
        with w.when(w.compare(">", known, i32(0))):
            w.give(known)
        cores = w.block(128)
        with w.count(i64(16)) as index:
            w.store(i64(0), cores, index)
        w.call("sched_getaffinity", i32(0), i64(128), cores)
        total = w.variable(i64(0))
        with w.count(i64(16)) as index:
            total.set(w.b.add(total.get(), w.b.ctpop(w.load(cores, index))))
        found = w.b.trunc(w.maximum(total.get(), i64(1)), I32)
        w.swap_if(self.threads, i32(0), found)
        w.give(found)

        w = self._export("flowc_set_threads")
        (wanted,) = w.args
        with w.when(w.b.icmp_unsigned(">", wanted, i32(MOST_THREADS))):
            template = f"thread count %d: expected 1 to {MOST_THREADS}, or 0 for one per core"
            self._fail(w, BAD_ARGUMENT, template, wanted)
        w.atomic_store(wanted, self.threads)
        w.give(i32(OK))

    def _dim_words(self, kind: str) -> int:
        return max(1, sum(len(p.dims) for p in self.model.ports(kind)))

    def _output_sizes(self, w: FunctionWriter, which: str, sizes: Any, dims: Any) -> None:
        w.b.call(declare(self.module, f"flowc_program_output_{which}", _SIZES), [sizes, dims])

    def _size_table(self, w: FunctionWriter) -> Any:
        sizes = w.block(8 * max(1, len(self.model.sizes)))
        for index in range(len(self.model.sizes)):
            w.store(i64(0), sizes, i64(index))
        return sizes

    def _output_starts(self) -> Any:
        """Where the dims of each output start among those of all outputs."""
        starts, total = [], 0
        for port in self.model.outputs:
            starts.append(i64(total))
            total += len(port.dims)
        return self._table(I64, starts, "starts")

    def _copy_dims(self, w: FunctionWriter, output: Any, all_dims: Any, target: Any) -> None:
        start = w.load(self._output_starts(), w.b.sext(output, I64))
        rank = w.b.sext(w.call("flowc_output_rank", output), I64)
        with w.count(rank) as axis:
            w.store(w.load(all_dims, w.b.add(start, axis)), target, axis)

    def _dims_for(self) -> None:
        w = self._export("flowc_output_dims_for")
        input_dims, output, dims = w.args
        rank = w.call("flowc_output_rank", output)
        with w.when(w.compare("<", rank, i32(0))):
            self._fail(w, BAD_ARGUMENT, "the model has no output %d", output)
        with w.when(w.b.and_(w.compare("==", dims, NULL), w.compare("!=", rank, i32(0)))):
            self._fail(w, BAD_ARGUMENT, "dims is NULL")
        sizes, bounds = self._size_table(w), w.block(8 * self._dim_words("output"))
        code = w.call("flowc_abi_bind", input_dims, sizes)
        with w.when(w.compare("!=", code, i32(OK))):
            w.give(code)
        self._output_sizes(w, "bounds", sizes, bounds)
        self._copy_dims(w, output, bounds, dims)
        w.give(i32(OK))

    def _check_port(self) -> None:
        """Whether a buffer can be used: there and aligned, or absent where the run makes it."""
        args = {"kind": PTR, "name": PTR, "address": PTR, "count": I64, "align": I64}
        w = FunctionWriter(self.module, "flowc_abi_check", I32, args)
        kind, name, address, count, align = w.args
        with w.when(w.compare("==", count, i64(-1))):
            template = "%s '%s' would have more elements than any memory holds"
            self._fail(w, BAD_ARGUMENT, template, kind, name)
        number = w.b.ptrtoint(address, I64)
        is_null = w.compare("==", number, i64(0))
        with w.when(w.compare("==", count, i64(UNBOUNDED))):
            with w.when(is_null):
                w.give(i32(OK))
            template = "%s '%s' has no bound on its size: pass NULL, and the run allocates it"
            self._fail(w, BAD_ARGUMENT, template, kind, name)
        with w.when(w.b.and_(is_null, w.compare("!=", count, i64(0)))):
            self._fail(w, BAD_ARGUMENT, "%s '%s' is NULL", kind, name)
        rest = w.b.and_(number, w.b.sub(align, i64(1)))
        with w.when(w.compare("!=", rest, i64(0))):
            template = "%s '%s' is at an address that is not a multiple of %lld bytes"
            self._fail(w, BAD_ARGUMENT, template, kind, name, align)
        w.give(i32(OK))

    def _check(self, w: FunctionWriter, kind: str, index: int, pointers: Any, count: Any) -> None:
        port = self.model.ports(kind)[index]
        address = w.load(pointers, i64(index), PTR)
        align = i64(min(port.dtype.size, 8))
        texts = (w.text(kind), w.text(port.name))
        code = w.call("flowc_abi_check", *texts, address, count, align)
        with w.when(w.compare("!=", code, i32(OK))):
            w.give(code)

    def _fail_run(self) -> None:
        """The message and code of a run that the program itself ended."""
        w = FunctionWriter(self.module, "flowc_abi_fail_run", I32, {"code": I32, "status": PTR})
        code, status = w.args
        row = w.load(status, i64(1))
        errors = self.model.errors
        with w.when(w.b.not_(w.b.icmp_unsigned("<", row, i64(len(errors))))):
            with w.when(w.compare("==", code, i32(NO_MEMORY))):
                template = "no memory for this run: %lld bytes could not be had"
                self._fail(w, NO_MEMORY, template, w.load(status, i64(2)))
            self._fail(w, INVALID, "the run ended with the unknown error %lld", row)
        values = [w.load(status, i64(2 + n)) for n in range(3)]
        unknown = w.b.append_basic_block("unknown")
        switch = w.b.switch(row, unknown)
        for number, error in enumerate(errors):
            block = w.b.append_basic_block(f"error{number}")
            switch.add_case(i64(number), block)
            w.b.position_at_end(block)
            picked = [values[v] for v in error.values]
            self._fail(w, NO_MEMORY if error.no_memory else INVALID, error.template, *picked)
        w.b.position_at_end(unknown)
        w.b.unreachable()

    def _run(self) -> None:
        w = self._export("flowc_run")
        inputs, input_dims, outputs, output_dims = w.args
        weights = self._weights(w)
        for kind, pointers in (("input", inputs), ("output", outputs)):
            if self.model.ports(kind):
                with w.when(w.compare("==", pointers, NULL)):
                    self._fail(w, BAD_ARGUMENT, f"{kind}s is NULL")
        sizes, dims = self._size_table(w), w.block(8 * self._dim_words("output"))
        code = w.call("flowc_abi_bind", input_dims, sizes)
        with w.when(w.compare("!=", code, i32(OK))):
            w.give(code)
        for index, port in enumerate(self.model.inputs):
            found = self._static_dims(port)
            if not port.is_static:
                found = w.load(input_dims, i64(index), PTR)
            count = w.call("flowc_abi_count", found, i64(len(port.dims)))
            self._check(w, "input", index, inputs, count)
        self._output_sizes(w, "bounds", sizes, dims)
        start, counts = 0, []
        for index, port in enumerate(self.model.outputs):
            count = w.call("flowc_abi_count", w.element(dims, i64(start)), i64(len(port.dims)))
            self._check(w, "output", index, outputs, count)
            start += len(port.dims)
            counts.append(count)
        status = w.block(64)
        for index in range(8):
            w.store(i64(0), status, i64(index))
        threads = w.b.sext(w.call("flowc_get_threads"), I64)
        program = declare(self.module, "flowc_program_run", _RUN)
        code = w.b.call(program, [inputs, outputs, sizes, weights, threads, status])
        with w.when(w.compare("!=", code, i32(OK))):
            for index, port in enumerate(self.model.outputs):
                if not port.is_static:
                    with w.when(w.compare("==", counts[index], i64(UNBOUNDED))):
                        w.call("free", w.load(outputs, i64(index), PTR))
                        w.store(NULL, outputs, i64(index))
            w.give(w.call("flowc_abi_fail_run", code, status))
        with w.when(w.compare("==", output_dims, NULL)):
            w.give(i32(OK))
        self._output_sizes(w, "dims", sizes, dims)
        for index in range(len(self.model.outputs)):
            target = w.load(output_dims, i64(index), PTR)
            with w.when(w.compare("!=", target, NULL)):
                self._copy_dims(w, i32(index), dims, target)
        w.give(i32(OK))

    def _weights(self, w: FunctionWriter) -> Any:
        """The address of the weights; returns from the function when they cannot be had."""
        if not self.model.weights_bytes:
            return NULL
        if self.weights is None:
            blob: Any = ir.GlobalVariable(self.module, ir.ArrayType(I64, 0), "flowc_weights")
            blob.linkage = "external"
            blob.storage_class = "hidden"
            blob.global_constant = True
            blob.align = 64
            return as_pointer(blob)
        address = w.b.load(as_pointer(self.module.globals["flowc_weights_address"]), typ=PTR)
        with w.when(w.compare("==", address, NULL)):
            path = as_pointer(self.module.globals["flowc_weights_path"])
            reason = w.b.load(as_pointer(self.module.globals["flowc_weights_reason"]), typ=PTR)
            self._fail(w, BAD_FILE, "the weights file %s %s", path, reason)
        return address


def _floor_divide(w: FunctionWriter, top: Any, bottom: Any) -> Any:
    """Floor division for a divisor that ought to be positive; 0 counts as 1, and never traps."""
    divisor = w.maximum(bottom, i64(1))
    quotient = w.b.sdiv(top, divisor)
    is_negative = w.compare("<", w.b.srem(top, divisor), i64(0))
    return w.b.sub(quotient, w.b.zext(is_negative, I64))
