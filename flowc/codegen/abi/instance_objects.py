"""Objects of an instance: what code in C makes, and kernels in C are given.

In: an `AbiModule`. Out: the functions that make, end, save and restore them. Invariants: an
instance that was made has all of its objects, each its own; reset has new ones in their place
before it ends the old; what a Saver wrote is what `save` gives and `restore` takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir

from flowc.codegen.abi.instance_rows import objects_of
from flowc.codegen.abi.module import BAD_ARGUMENT, NO_MEMORY, OK, AbiModule
from flowc.codegen.attr_table import attr_table
from flowc.ir.program_spec import ObjectSpec
from flowc_runtime.native.writer import (
    I8,
    I32,
    I64,
    NULL,
    PTR,
    VOID,
    FunctionWriter,
    declare,
    i32,
    i64,
)

OBJECT_ACCESS = {
    "flowc_instance_save": "flowc_abi_save",
    "flowc_instance_restore": "flowc_abi_restore",
}
_CREATE = ir.FunctionType(PTR, [PTR, I32])
_DESTROY = ir.FunctionType(VOID, [PTR])
_SAVE = ir.FunctionType(I64, [PTR, PTR, I64])
_RESTORE = ir.FunctionType(VOID, [PTR, PTR, I64])


class InstanceObjects:
    def __init__(self, abi: AbiModule) -> None:
        self.abi = abi
        self.objects = abi.spec.objects

    def emit(self) -> None:
        """The functions that say what there is, save it and restore it."""
        w = self.abi.export("flowc_object_count")
        w.give(i32(len(self.objects)))
        w = self.abi.export("flowc_object_name")
        for number, known in enumerate(self.objects):
            with w.when(w.compare("==", w.args[0], i32(number))):
                w.give(w.text(known.name))
        w.give(NULL)
        self._save()
        self._restore()

    def destroy(self, w: FunctionWriter, instance: Any) -> None:
        table = objects_of(w, instance, len(self.abi.spec.variables))
        for number, known in enumerate(self.objects):
            self._end(w, known, w.load(table, i64(number), PTR))

    def reset(self, w: FunctionWriter, instance: Any, weights: Any) -> None:
        """New objects in the place of those that there are."""
        table = objects_of(w, instance, len(self.abi.spec.variables))
        for number, known in enumerate(self.objects):
            attrs = attr_table(self.abi.module, known.attrs)
            made = self._called(w, known.functions.create, _CREATE, attrs, i32(len(known.attrs)))
            with w.when(w.compare("==", made, NULL)):
                what = w.text(f"{known.op} ({known.name})")
                self.abi.fail(w, NO_MEMORY, "%s cannot be created", what)
            if known.first is not None and known.initial is not None:
                source = w.element(weights, i64(known.initial), I8)
                size = i64(known.first.nbytes)
                self._called(w, known.functions.restore, _RESTORE, made, source, size)
            before = w.load(table, i64(number), PTR)
            w.store(made, table, i64(number))
            self._end(w, known, before)

    def _end(self, w: FunctionWriter, known: ObjectSpec, place: Any) -> None:
        if known.functions.destroy:
            with w.when(w.compare("!=", place, NULL)):
                self._called(w, known.functions.destroy, _DESTROY, place)

    def _called(self, w: FunctionWriter, name: str, kind: ir.FunctionType, *args: Any) -> Any:
        return w.b.call(declare(self.abi.module, name, kind), args)

    def _save(self) -> None:
        args: dict[str, ir.Type] = {
            "instance": PTR, "object": I32, "bytes": PTR, "size": I64, "needed": PTR,
        }  # fmt: skip
        w = self.abi.function(OBJECT_ACCESS["flowc_instance_save"], I32, args)
        instance, number, data, size, needed = w.args
        with w.when(w.compare("==", needed, NULL)):
            self.abi.fail(w, BAD_ARGUMENT, "needed is NULL")
        for known, place in self._each(w, instance, number):
            if known.functions.save:
                found = self._called(w, known.functions.save, _SAVE, place, data, size)
                w.store(found, needed, i64(0))
                w.give(i32(OK))
        self._refuse(w, number)

    def _restore(self) -> None:
        args: dict[str, ir.Type] = {"instance": PTR, "object": I32, "bytes": PTR, "size": I64}
        w = self.abi.function(OBJECT_ACCESS["flowc_instance_restore"], I32, args)
        instance, number, data, size = w.args
        with w.when(w.b.and_(w.compare("==", data, NULL), w.compare("!=", size, i64(0)))):
            self.abi.fail(w, BAD_ARGUMENT, "bytes is NULL")
        for known, place in self._each(w, instance, number):
            if known.functions.restore:
                self._called(w, known.functions.restore, _RESTORE, place, data, size)
                w.give(i32(OK))
        self._refuse(w, number)

    def _each(
        self, w: FunctionWriter, instance: Any, number: Any
    ) -> Iterator[tuple[ObjectSpec, Any]]:
        """Each object and its address, where it is the one with that number."""
        table = objects_of(w, instance, len(self.abi.spec.variables))
        for own, known in enumerate(self.objects):
            with w.when(w.compare("==", number, i32(own))):
                yield known, w.load(table, i64(own), PTR)

    def _refuse(self, w: FunctionWriter, number: Any) -> None:
        template = "the model has no object %d, or none that is saved"
        self.abi.fail(w, BAD_ARGUMENT, template, number)
