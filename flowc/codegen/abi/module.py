"""The module that the C ABI is emitted into, with what all its parts use.

In: a program's metadata, the target, where the weights are. Out: an `AbiModule`: exports, constant
tables, the per-thread error message. Invariant: an exported function is one of `EXPORTS`, with its
types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.abi.model import check_sizes, message_of, ports_of
from flowc.codegen.compiled import ProgramMetadata
from flowc.codegen.link.weights_file import WeightsFile
from flowc.ir.program_spec import TensorSpec
from flowc_runtime.native import data_layout
from flowc_runtime.native.writer import (
    I32,
    I64,
    NULL,
    PTR,
    VOID,
    FunctionWriter,
    as_pointer,
    data_constant,
    i32,
    i64,
    new_global,
)

OK, BAD_ARGUMENT, INVALID, BAD_FILE, NO_MEMORY, NO_DEVICE = 0, 2, 3, 4, 5, 6
MESSAGE_BYTES = 1024
NO_MESSAGE = "no memory for error messages"


def _port_exports(kind: str) -> dict[str, tuple[ir.Type, dict[str, ir.Type]]]:
    return {
        f"flowc_{kind}_count": (I32, {}),
        f"flowc_{kind}_name": (PTR, {kind: I32}),
        f"flowc_{kind}_dtype": (I32, {kind: I32}),
        f"flowc_{kind}_rank": (I32, {kind: I32}),
        f"flowc_{kind}_dims": (I32, {kind: I32, "dims": PTR}),
        f"flowc_{kind}_dim_name": (PTR, {kind: I32, "axis": I32}),
    }


def _instance(**more: ir.Type) -> tuple[ir.Type, dict[str, ir.Type]]:
    return I32, {"instance": PTR, **more}


RUN_ARGS: dict[str, ir.Type] = {
    "inputs": PTR, "input_dims": PTR, "outputs": PTR, "output_dims": PTR,
}  # fmt: skip

EXPORTS: dict[str, tuple[ir.Type, dict[str, ir.Type]]] = {
    "flowc_abi_version": (I32, {}),
    "flowc_version": (PTR, {}),
    "flowc_model_name": (PTR, {}),
    "flowc_metadata": (PTR, {}),
    **_port_exports("input"),
    **_port_exports("output"),
    "flowc_output_dims_for": (I32, {"input_dims": PTR, "output": I32, "dims": PTR}),
    "flowc_run": (I32, RUN_ARGS),
    **{n: d for n, d in _port_exports("variable").items() if not n.endswith("_dim_name")},
    "flowc_instance_create": _instance(),
    "flowc_instance_destroy": (VOID, {"instance": PTR}),
    "flowc_instance_reset": _instance(),
    "flowc_instance_run": _instance(**RUN_ARGS),
    "flowc_instance_read": _instance(variable=I32, value=PTR),
    "flowc_instance_write": _instance(variable=I32, value=PTR),
    "flowc_object_count": (I32, {}),
    "flowc_object_name": (PTR, {"object": I32}),
    "flowc_instance_save": _instance(object=I32, bytes=PTR, size=I64, needed=PTR),
    "flowc_instance_restore": _instance(object=I32, bytes=PTR, size=I64),
    "flowc_set_threads": (I32, {"threads": I32}),
    "flowc_get_threads": (I32, {}),
    "flowc_set_max_memory": (I32, {"bytes": I64}),
    "flowc_get_max_memory": (I64, {}),
    "flowc_check_weights": (I32, {}),
    "flowc_free": (VOID, {"memory": PTR}),
    "flowc_last_error": (PTR, {}),
}


class AbiModule:
    """The LLVM module of one model's C ABI."""

    def __init__(
        self, metadata: ProgramMetadata, triple: str, weights_file: WeightsFile | None = None
    ) -> None:
        check_sizes(metadata)
        self.metadata = metadata
        self.spec = metadata.spec
        self.errors = [message_of(row) for row in metadata.errors]
        numbers = {v.name: number for number, v in enumerate(self.spec.variables)}
        # With their numbers among the variables.
        self.reads = [(numbers[v.name], v) for v in self.spec.reads]
        self.writes = [(numbers[v.name], v) for v in self.spec.writes]
        self.weights_file = weights_file
        self.module = ir.Module("flowc_c_abi")
        self.module.triple = triple
        self.module.data_layout = data_layout(triple)
        self.message_key = as_pointer(new_global(self.module, "flowc_abi_message_key", i32(-1)))

    def ports(self, kind: str) -> tuple[TensorSpec, ...]:
        """The inputs, outputs or variables that callers see."""
        return ports_of(self.metadata, kind)

    def export(self, name: str) -> FunctionWriter:
        """Begins the body of an exported function."""
        result, args = EXPORTS[name]
        return FunctionWriter(self.module, name, result, args, linkage="")

    def function(self, name: str, result: ir.Type, args: Mapping[str, ir.Type]) -> FunctionWriter:
        """Begins the body of a function that only the other functions here call."""
        return FunctionWriter(self.module, name, result, args)

    def table(self, kind: ir.Type, rows: Sequence[Any], name: str) -> Any:
        """A constant array; one unused row stands in an empty one."""
        value = ir.Constant(ir.ArrayType(kind, max(len(rows), 1)), list(rows) or None)
        return as_pointer(data_constant(self.module, value, name))

    def static_dims(self, port: TensorSpec) -> Any:
        """The dims as numbers, -1 where they are not."""
        return self.table(I64, [i64(d if isinstance(d, int) else -1) for d in port.dims], "dims")

    def weights_address(self, w: FunctionWriter) -> Any:
        """The address of the weights; returns from the function when they cannot be had."""
        if not self.metadata.weights_bytes:
            return NULL
        if self.weights_file is None:
            blob: Any = self.module.globals.get("flowc_weights")
            if blob is None:
                blob = ir.GlobalVariable(self.module, ir.ArrayType(I64, 0), "flowc_weights")
            blob.linkage = "external"
            blob.storage_class = "hidden"
            blob.global_constant = True
            blob.align = 64
            return as_pointer(blob)
        path = as_pointer(self.module.globals["flowc_weights_path"])
        address = w.b.load(as_pointer(self.module.globals["flowc_weights_address"]), typ=PTR)
        with w.when(w.compare("==", address, NULL)):
            reason = w.b.load(as_pointer(self.module.globals["flowc_weights_reason"]), typ=PTR)
            self.fail(w, BAD_FILE, "the weights file %s %s", path, reason)
        if self.weights_file.is_mapped:
            descriptor = as_pointer(self.module.globals["flowc_weights_descriptor"])
            found = w.call("flowc_weights_is_right", w.b.load(descriptor, typ=I32))
            with w.when(w.compare("==", found, i32(0))):
                changed = w.text("was changed after the library was loaded")
                self.fail(w, BAD_FILE, "the weights file %s %s", path, changed)
        return address

    # -- messages ----------------------------------------------------------------------------

    def emit_message(self) -> ir.Function:
        """The per-thread message: its key is made when the library is loaded. Where there is no
        memory for one, the thread has a text that says so, which nobody frees."""
        w = FunctionWriter(self.module, "flowc_abi_drop_message", VOID, {"message": PTR})
        with w.when(w.compare("!=", w.args[0], w.text(NO_MESSAGE))):
            w.call("free", w.args[0])
        w.give()
        drop = as_pointer(w.function)

        w = FunctionWriter(self.module, "flowc_abi_open_messages", VOID, {})
        failed = w.call("pthread_key_create", self.message_key, drop)
        with w.when(w.compare("!=", failed, i32(0))):
            w.b.store(i32(-1), self.message_key)
        w.give()
        opened = w.function

        w = FunctionWriter(self.module, "flowc_abi_message", PTR, {})
        key = w.b.load(self.message_key, typ=I32)
        with w.when(w.compare("<", key, i32(0))):
            w.give(NULL)
        found, none = w.call("pthread_getspecific", key), w.text(NO_MESSAGE)
        with w.when(w.b.and_(w.compare("!=", found, NULL), w.compare("!=", found, none))):
            w.give(found)
        made = w.call("malloc", i64(MESSAGE_BYTES))
        is_made = w.compare("!=", made, NULL)
        w.call("pthread_setspecific", key, w.b.select(is_made, made, none))
        w.give(made)

        w = self.export("flowc_last_error")
        key = w.b.load(self.message_key, typ=I32)
        with w.when(w.compare("<", key, i32(0))):
            w.give(w.text(NO_MESSAGE))
        found = w.call("pthread_getspecific", key)
        w.give(w.b.select(w.compare("!=", found, NULL), found, w.text("")))

        w = self.export("flowc_free")
        w.call("free", w.args[0])
        w.give()
        return opened

    def emit_close_messages(self) -> ir.Function:
        w = FunctionWriter(self.module, "flowc_abi_close_messages", VOID, {})
        key = w.b.load(self.message_key, typ=I32)
        with w.when(w.compare(">=", key, i32(0))):
            w.call("flowc_abi_drop_message", w.call("pthread_getspecific", key))
            w.call("pthread_key_delete", key)
        w.give()
        return w.function

    def fail(self, w: FunctionWriter, code: int, template: str, *args: Any) -> None:
        """Writes the message and returns the code."""
        message = w.call("flowc_abi_message")
        with w.when(w.compare("!=", message, NULL)):
            w.print_to(message, i64(MESSAGE_BYTES), template, *args)
        w.give(i32(code))
