"""The functions of the C ABI that tell what a model is: its names, types and dims.

In: an `AbiModule`. Out: those functions in it. Invariant: a number that names no input or output
gives NULL, -1 or an error code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.abi.module import BAD_ARGUMENT, OK, AbiModule
from flowc_runtime.native.writer import I32, I64, NULL, PTR, i32

ABI_VERSION = 3


class DescriptionEmitter:
    def __init__(self, abi: AbiModule, about: Mapping[str, Any]) -> None:
        self.abi = abi
        self.about = about

    def emit(self) -> None:
        self._constants()
        for kind in ("input", "output", "variable"):
            self._describe(kind)
        for kind in ("input", "output"):
            self._name_dims(kind)

    def _constants(self) -> None:
        w = self.abi.export("flowc_abi_version")
        w.give(i32(ABI_VERSION))
        known = self.abi.metadata
        texts = {"version": known.version, "model_name": known.name}
        every = {**known.to_json(), **self.about}
        described = json.dumps(every, ensure_ascii=True, separators=(",", ":"))
        for name, text in {**texts, "metadata": described}.items():
            w = self.abi.export(f"flowc_{name}")
            w.give(w.text(text))

    def _describe(self, kind: str) -> None:
        """The functions that describe inputs or outputs, from tables."""
        ports = self.abi.ports(kind)
        w = self.abi.export(f"flowc_{kind}_count")
        w.give(i32(len(ports)))

        def text(value: str) -> Any:
            return w.text(value)

        self._lookup(f"flowc_{kind}_name", PTR, [text(p.name) for p in ports], NULL)
        self._lookup(f"flowc_{kind}_dtype", I32, [i32(p.dtype.enum) for p in ports], i32(0))
        ranks = [i32(len(p.dims)) for p in ports]
        self._lookup(f"flowc_{kind}_rank", I32, ranks, i32(-1))
        rows = [self.abi.static_dims(p) for p in ports]
        w = self.abi.export(f"flowc_{kind}_dims")
        port, dims = w.args
        rank = w.call(f"flowc_{kind}_rank", port)
        with w.when(w.compare("<", rank, i32(0))):
            self.abi.fail(w, BAD_ARGUMENT, f"the model has no {kind} %d", port)
        with w.when(w.b.and_(w.compare("==", dims, NULL), w.compare("!=", rank, i32(0)))):
            self.abi.fail(w, BAD_ARGUMENT, "dims is NULL")
        source = w.load(self.abi.table(PTR, rows, "rows"), w.b.sext(port, I64), PTR)
        with w.count(w.b.sext(rank, I64)) as axis:
            w.store(w.load(source, axis), dims, axis)
        w.give(i32(OK))

    def _name_dims(self, kind: str) -> None:
        w = self.abi.export(f"flowc_{kind}_dim_name")
        names = [
            self.abi.table(
                PTR, [NULL if isinstance(d, int) else w.text(str(d)) for d in p.dims], "names"
            )
            for p in self.abi.ports(kind)
        ]
        port, axis = w.args
        rank = w.call(f"flowc_{kind}_rank", port)
        with w.when(w.b.not_(w.b.icmp_unsigned("<", axis, w.maximum(rank, i32(0))))):
            w.give(NULL)
        row = w.load(self.abi.table(PTR, names, "rows"), w.b.sext(port, I64), PTR)
        w.give(w.load(row, w.b.sext(axis, I64), PTR))

    def _lookup(self, name: str, kind: ir.Type, rows: Sequence[Any], otherwise: Any) -> None:
        w = self.abi.export(name)
        (index,) = w.args
        with w.when(w.b.not_(w.b.icmp_unsigned("<", index, i32(len(rows))))):
            w.give(otherwise)
        w.give(w.load(self.abi.table(kind, rows, "rows"), w.b.sext(index, I64), kind))
