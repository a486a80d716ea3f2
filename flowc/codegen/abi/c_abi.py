"""The exported C functions of a compiled model, emitted over its program function.

In: a program's metadata and where its weights are. Out: LLVM IR text of one module that exports
exactly the functions of `EXPORTS` (declared to users by the generated header) on top of
`flowc_program_run`, `flowc_program_output_dims` and `flowc_program_output_bounds`. Invariant: wrong
arguments (NULL, wrong dims, misaligned) give an error code and a message, and never reach the
program.

The module keeps four things between calls: the thread count, what a run may take, the key of the
per-thread message and, where weights come from a file, their mapping. Variables are kept in
instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llvmlite import ir

from flowc.codegen.abi.description import DescriptionEmitter
from flowc.codegen.abi.instance import InstanceEmitter, RunTables
from flowc.codegen.abi.module import (
    BAD_ARGUMENT,
    EXPORTS,
    INVALID,
    MESSAGE_BYTES,
    NO_DEVICE,
    NO_MEMORY,
    OK,
    RUN_ARGS,
    AbiModule,
)
from flowc.codegen.abi.sizes import UNBOUNDED, SizesEmitter
from flowc.codegen.compiled import ProgramMetadata
from flowc.codegen.link.weights_file import WeightsFile, emit_weights_mapping
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
    declare,
    i32,
    i64,
    new_global,
)

__all__ = ["EXPORTS", "c_abi_text"]

MOST_THREADS = 1024

_RUN = ir.FunctionType(I32, [PTR, PTR, PTR, PTR, I64, PTR, PTR])
_SIZES = ir.FunctionType(VOID, [PTR, PTR])


def c_abi_text(
    metadata: ProgramMetadata,
    triple: str,
    *,
    weights: WeightsFile | None = None,
    threads: int = 0,
    about: Mapping[str, Any] | None = None,
) -> str:
    """LLVM IR of the ABI module.

    `weights`: the side file, None when weights are linked in. `threads`: the thread count until
    `flowc_set_threads` is called; 0 means as many as the process has cores. `about`: what the
    library says of itself beside its metadata.
    """
    abi = AbiModule(metadata, triple, weights)
    started, ended = [abi.emit_message()], [abi.emit_close_messages()]
    if weights is not None:
        mapping = emit_weights_mapping(abi.module, weights)
        started.append(mapping.open)
        ended.append(mapping.close)
    DescriptionEmitter(abi, about or {}).emit()
    SizesEmitter(abi).emit()
    _CallEmitter(abi, threads).emit()
    InstanceEmitter(abi, (about or {}).get("prefix", "flowc")).emit()
    call_at_load(abi.module, started)
    call_at_unload(abi.module, ended)
    for function in abi.module.functions:
        if not function.is_declaration:  # each runs once a call: size and build time count
            function.attributes.add("noinline")
            function.attributes.add("optsize")
    return str(abi.module)


# What a run that ends with an error of a class returns; any other is FLOWC_INVALID.
_CODES = {"ResourceExhaustedError": NO_MEMORY, "UnavailableError": NO_DEVICE}


class _CallEmitter:
    """The functions that run the program, and those about how it runs."""

    def __init__(self, abi: AbiModule, threads: int) -> None:
        self.abi = abi
        count = i32(min(threads, MOST_THREADS))
        self.threads = as_pointer(new_global(abi.module, "flowc_abi_threads", count))
        self.most = as_pointer(new_global(abi.module, "flowc_abi_max_memory", i64(0)))

    def emit(self) -> None:
        self._threads()
        self._max_memory()
        self._check_weights()
        self._dims_for()
        self._check_port()
        self._fail_run()
        self._run()

    def _threads(self) -> None:
        w = self.abi.export("flowc_get_threads")
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

        w = self.abi.export("flowc_set_threads")
        (wanted,) = w.args
        with w.when(w.b.icmp_unsigned(">", wanted, i32(MOST_THREADS))):
            template = f"thread count %d: expected 1 to {MOST_THREADS}, or 0 for one per core"
            self.abi.fail(w, BAD_ARGUMENT, template, wanted)
        w.atomic_store(wanted, self.threads)
        w.give(i32(OK))

    def _max_memory(self) -> None:
        w = self.abi.export("flowc_get_max_memory")
        w.give(w.atomic_load(self.most, "monotonic"))
        w = self.abi.export("flowc_set_max_memory")
        (most,) = w.args
        with w.when(w.compare("<", most, i64(0))):
            template = "%lld bytes of memory: expected 1 or more, or 0 for no limit"
            self.abi.fail(w, BAD_ARGUMENT, template, most)
        w.atomic_store(most, self.most)
        w.give(i32(OK))

    def _check_weights(self) -> None:
        w = self.abi.export("flowc_check_weights")
        self.abi.weights_address(w)
        w.give(i32(OK))

    def _dim_words(self, kind: str) -> int:
        ports = self.abi.ports(kind)
        if kind == "output":  # the program's table goes on with the variables that it writes
            ports = self.abi.spec.outputs
        return max(1, sum(len(p.dims) for p in ports))

    def _output_sizes(self, w: FunctionWriter, which: str, sizes: Any, dims: Any) -> None:
        w.b.call(declare(self.abi.module, f"flowc_program_output_{which}", _SIZES), [sizes, dims])

    def _size_table(self, w: FunctionWriter) -> Any:
        sizes = w.block(8 * max(1, len(self.abi.metadata.sizes)))
        for index in range(len(self.abi.metadata.sizes)):
            w.store(i64(0), sizes, i64(index))
        return sizes

    def _output_starts(self) -> Any:
        """Where the dims of each output start among those of all outputs."""
        starts, total = [], 0
        for port in self.abi.spec.fetched:
            starts.append(i64(total))
            total += len(port.dims)
        return self.abi.table(I64, starts, "starts")

    def _copy_dims(self, w: FunctionWriter, output: Any, all_dims: Any, target: Any) -> None:
        start = w.load(self._output_starts(), w.b.sext(output, I64))
        rank = w.b.sext(w.call("flowc_output_rank", output), I64)
        with w.count(rank) as axis:
            w.store(w.load(all_dims, w.b.add(start, axis)), target, axis)

    def _dims_for(self) -> None:
        w = self.abi.export("flowc_output_dims_for")
        input_dims, output, dims = w.args
        rank = w.call("flowc_output_rank", output)
        with w.when(w.compare("<", rank, i32(0))):
            self.abi.fail(w, BAD_ARGUMENT, "the model has no output %d", output)
        with w.when(w.b.and_(w.compare("==", dims, NULL), w.compare("!=", rank, i32(0)))):
            self.abi.fail(w, BAD_ARGUMENT, "dims is NULL")
        sizes, bounds = self._size_table(w), w.block(8 * self._dim_words("output"))
        code = w.call("flowc_abi_bind", input_dims, sizes)
        with w.when(w.compare("!=", code, i32(OK))):
            w.give(code)
        self._output_sizes(w, "bounds", sizes, bounds)
        start = w.load(self._output_starts(), w.b.sext(output, I64))
        count = w.call("flowc_abi_count", w.element(bounds, start), w.b.sext(rank, I64))
        with w.when(w.compare("==", count, i64(-1))):
            template = "output %d would have more elements than any memory holds"
            self.abi.fail(w, NO_MEMORY, template, output)
        self._copy_dims(w, output, bounds, dims)
        w.give(i32(OK))

    def _check_port(self) -> None:
        """Whether a buffer can be used: there and aligned, or absent where the run makes it."""
        args = {"kind": PTR, "name": PTR, "address": PTR, "count": I64, "align": I64}
        w = self.abi.function("flowc_abi_check", I32, args)
        kind, name, address, count, align = w.args
        with w.when(w.compare("==", count, i64(-1))):
            template = "%s '%s' would have more elements than any memory holds"
            self.abi.fail(w, NO_MEMORY, template, kind, name)
        number = w.b.ptrtoint(address, I64)
        is_null = w.compare("==", number, i64(0))
        with w.when(w.compare("==", count, i64(UNBOUNDED))):
            with w.when(is_null):
                w.give(i32(OK))
            template = "%s '%s' has no bound on its size: pass NULL, and the run allocates it"
            self.abi.fail(w, BAD_ARGUMENT, template, kind, name)
        with w.when(w.b.and_(is_null, w.compare("!=", count, i64(0)))):
            self.abi.fail(w, BAD_ARGUMENT, "%s '%s' is NULL", kind, name)
        rest = w.b.and_(number, w.b.sub(align, i64(1)))
        with w.when(w.compare("!=", rest, i64(0))):
            template = "%s '%s' is at an address that is not a multiple of %lld bytes"
            self.abi.fail(w, BAD_ARGUMENT, template, kind, name, align)
        w.give(i32(OK))

    def _check(self, w: FunctionWriter, kind: str, index: int, pointers: Any, count: Any) -> None:
        port = self.abi.ports(kind)[index]
        address = w.load(pointers, i64(index), PTR)
        align = i64(min(port.dtype.size, 8))
        texts = (w.text(kind), w.text(port.name))
        code = w.call("flowc_abi_check", *texts, address, count, align)
        with w.when(w.compare("!=", code, i32(OK))):
            w.give(code)
        metadata = self.abi.metadata
        if metadata.has_device and index not in metadata.on_gpu(kind):
            is_there = w.compare("<", w.b.ptrtoint(address, I64), i64(0))  # FLOWC_ON_GPU
            with w.when(is_there):
                template = "%s '%s' is on the GPU, where the host computes with it"
                self.abi.fail(w, BAD_ARGUMENT, template, *texts)

    def _fail_run(self) -> None:
        """The message and the code of a run that the program itself ended."""
        w = self.abi.function("flowc_abi_fail_run", I32, {"status": PTR})
        (status,) = w.args
        row = w.load(status, i64(1))
        errors = self.abi.errors
        with w.when(w.b.not_(w.b.icmp_unsigned("<", row, i64(len(errors))))):
            self.abi.fail(w, INVALID, "the run ended with the unknown error %lld", row)
        values = [w.load(status, i64(2 + n)) for n in range(3)]
        unknown = w.b.append_basic_block("unknown")
        switch = w.b.switch(row, unknown)
        for number, error in enumerate(errors):
            block = w.b.append_basic_block(f"error{number}")
            switch.add_case(i64(number), block)
            w.b.position_at_end(block)
            if error.has_text:
                self._fail_with_text(w, error.template, w.b.inttoptr(values[0], PTR))
                continue
            picked = [values[v] for v in error.values]
            self.abi.fail(w, _CODES.get(error.kind, INVALID), error.template, *picked)
        w.b.position_at_end(unknown)
        w.b.unreachable()

    def _fail_with_text(self, w: FunctionWriter, template: str, text: Any) -> None:
        message = w.call("flowc_abi_message")
        has_text = w.compare("!=", text, NULL)
        with w.when(w.b.and_(w.compare("!=", message, NULL), has_text)):
            w.print_to(message, i64(MESSAGE_BYTES), template, text)
        w.call("free", text)
        w.give(i32(INVALID))

    def _run(self) -> None:
        """The run of `flowc_run` (without an instance) and of `flowc_instance_run`."""
        w = self.abi.function("flowc_abi_run", I32, {"instance": PTR, **RUN_ARGS})
        instance, inputs, input_dims, outputs, output_dims = w.args
        weights = self.abi.weights_address(w)
        for kind, pointers in (("input", inputs), ("output", outputs)):
            if self.abi.ports(kind):
                with w.when(w.compare("==", pointers, NULL)):
                    self.abi.fail(w, BAD_ARGUMENT, f"{kind}s is NULL")
        sizes, dims = self._size_table(w), w.block(8 * self._dim_words("output"))
        code = w.call("flowc_abi_bind", input_dims, sizes)
        with w.when(w.compare("!=", code, i32(OK))):
            w.give(code)
        for index, port in enumerate(self.abi.spec.fed):
            found = self.abi.static_dims(port)
            if not port.is_static:
                found = w.load(input_dims, i64(index), PTR)
            count = w.call("flowc_abi_count", found, i64(len(port.dims)))
            self._check(w, "input", index, inputs, count)
        self._output_sizes(w, "bounds", sizes, dims)
        start, counts = 0, []
        for index, port in enumerate(self.abi.spec.fetched):
            count = w.call("flowc_abi_count", w.element(dims, i64(start)), i64(len(port.dims)))
            self._check(w, "output", index, outputs, count)
            start += len(port.dims)
            counts.append(count)
        status = w.block(64)
        for index in range(8):
            w.store(i64(0), status, i64(index))
        w.store(w.call("flowc_get_max_memory"), status, i64(1))
        threads = w.b.sext(w.call("flowc_get_threads"), I64)
        program = declare(self.abi.module, "flowc_program_run", _RUN)
        rest = [sizes, weights, threads, status, NULL]
        if self.abi.spec.variables or self.abi.spec.objects:
            tables = RunTables(self.abi, w, instance)
            every_input, every_output = tables.inputs(inputs), tables.outputs(outputs)
            code = w.b.call(program, [every_input, every_output, *rest])
            tables.give_back(every_output, outputs)
            with w.when(w.compare("==", code, i32(OK))):
                tables.keep()
        else:
            code = w.b.call(program, [inputs, outputs, *rest])
        with w.when(w.compare("!=", code, i32(OK))):
            for index, port in enumerate(self.abi.spec.fetched):
                if not port.is_static:
                    with w.when(w.compare("==", counts[index], i64(UNBOUNDED))):
                        w.call("free", w.load(outputs, i64(index), PTR))
                        w.store(NULL, outputs, i64(index))
            w.give(w.call("flowc_abi_fail_run", status))
        with w.when(w.compare("==", output_dims, NULL)):
            w.give(i32(OK))
        self._output_sizes(w, "dims", sizes, dims)
        for index in range(len(self.abi.spec.fetched)):
            target = w.load(output_dims, i64(index), PTR)
            with w.when(w.compare("!=", target, NULL)):
                self._copy_dims(w, i32(index), dims, target)
        w.give(i32(OK))
