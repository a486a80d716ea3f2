"""A program as machine code, weights and typed metadata: what caches and libraries hold.

In: program.py makes it. Out: jit.py loads it, aot.py links it. Imports neither Numba nor LLVM.
Invariant: metadata comes back from JSON as it went there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

import numpy as np

from flowc.codegen.packed import Packed
from flowc.dataclass import dataclass
from flowc.errors import InternalError
from flowc.ir.dims import Dim, parse_dim
from flowc.ir.program_spec import ProgramSpec, TensorSpec
from flowc.version import FLOWC_VERSION

WEIGHT_ALIGNMENT = 64
FORMAT = 1  # of the metadata in JSON
LOG_WORD = 7  # of the status of a traced run: the address of its log
MOST_NOTES = 1 << 16  # of one log
COPY = "copy"  # the kind of a step that only moves what another has made


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """A way in which a run ends: the class of the error, the node at fault, and a message in which
    `{a}`, `{b}` and `{c}` stand for numbers that the run leaves, `{text}` for a text."""

    message: str
    node: str = ""
    kind: str = "InvalidArgumentError"


@dataclass(frozen=True, slots=True)
class HostCall:
    """A node that Python computes: the name of its record, what its function is told beside its
    inputs, and the dtypes and ranks of inputs and outputs."""

    op: str
    node: str
    settings: Mapping[str, Any]
    inputs: list[tuple[str, int]]
    outputs: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Work:
    """`operations`: of the arithmetic, of which a multiply-add is two; what kernels in Python do is
    not known. `bytes`: of the operands and results together."""

    operations: Dim = 0
    bytes: Dim = 0


@dataclass(frozen=True, slots=True)
class TracedStep:
    """A step whose times a run notes. `kind`: what the plan calls it; `nodes`: the nodes that it
    computes, what it gives by the last; `outputs`: their types; `kernels`: what it runs, for
    readers."""

    kind: str
    nodes: tuple[str, ...]
    outputs: tuple[TensorSpec, ...]
    kernels: tuple[str, ...] = ()
    work: Work = Work()

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "nodes": list(self.nodes),
            "outputs": [o.to_json() for o in self.outputs],
            "kernels": list(self.kernels),
            "work": [str(self.work.operations), str(self.work.bytes)],
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> TracedStep:
        outputs = tuple(map(TensorSpec.from_json, row["outputs"]))
        work = Work(*map(parse_dim, row["work"]))
        return cls(row["kind"], tuple(row["nodes"]), outputs, tuple(row["kernels"]), work)


@dataclass(frozen=True, slots=True)
class ProgramMetadata:
    """What a program says of itself. `sizes`: all sizes in the order of the run's table, of which
    the first `input_sizes` are those of the inputs; `constraints`: pairs of sizes that the run
    checks to be equal. `calls`: what Python computes, by number; `strings`: the first strings of a
    run's table, None where a run holds none. `steps`: those whose times a run notes, by number.
    `name`: that of a library. `has_device`: a GPU runs some of it; `crossing`: the inputs and the
    outputs that the caller may have in the GPU's memory; `on_device`: the nodes of which the GPU
    computes something, and the variables that stay there."""

    spec: ProgramSpec = field(default_factory=ProgramSpec)
    sizes: tuple[str, ...] = ()
    input_sizes: int = 0
    constraints: tuple[tuple[str, str], ...] = ()
    errors: tuple[ErrorRow, ...] = ()
    weights_bytes: int = 0
    calls: tuple[HostCall, ...] = ()
    strings: tuple[str, ...] | None = None
    steps: tuple[TracedStep, ...] = ()
    version: str = FLOWC_VERSION
    name: str = ""
    has_device: bool = False
    crossing: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    on_device: tuple[str, ...] = ()

    def on_gpu(self, kind: str) -> tuple[int, ...]:
        """The inputs, or the outputs, that the caller may have in the GPU's memory."""
        taken, given = self.crossing
        return {"input": taken, "output": given}.get(kind, ())

    def to_json(self) -> dict[str, Any]:
        """Plain data. What is empty in a library, which neither calls Python nor holds strings, is
        not in it."""
        found: dict[str, Any] = {"name": self.name} if self.name else {}
        found |= {"format": FORMAT, "flowc": self.version, **self.spec.to_json()}
        found |= {"sizes": list(self.sizes), "input_sizes": self.input_sizes}
        found["constraints"] = [list(pair) for pair in self.constraints]
        found["errors"] = [
            {"message": e.message, "node": e.node, "class": e.kind} for e in self.errors
        ]
        found["weights_bytes"] = self.weights_bytes
        if self.has_device:
            found["device"] = "cuda"
            found["crossing"] = [list(places) for places in self.crossing]
            found["on_device"] = list(self.on_device)
        if self.calls:
            found["calls"] = [asdict(call) for call in self.calls]
        if self.strings is not None:
            found["strings"] = list(self.strings)
        if self.steps:
            found["steps"] = [step.to_json() for step in self.steps]
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ProgramMetadata:
        """Raises `InternalError` for another format."""
        if data["format"] != FORMAT:
            raise InternalError(f"program metadata of format {data['format']}: expected {FORMAT}")
        strings = data.get("strings")
        taken, given = data.get("crossing", ((), ()))
        return cls(
            spec=ProgramSpec.from_json(data),
            sizes=tuple(data["sizes"]),
            input_sizes=data["input_sizes"],
            constraints=tuple((a, b) for a, b in data["constraints"]),
            errors=tuple(ErrorRow(e["message"], e["node"], e["class"]) for e in data["errors"]),
            weights_bytes=data["weights_bytes"],
            calls=tuple(HostCall(**row) for row in data.get("calls", ())),
            strings=None if strings is None else tuple(strings),
            steps=tuple(map(TracedStep.from_json, data.get("steps", ()))),
            version=data["flowc"],
            name=data.get("name", ""),
            has_device="device" in data,
            crossing=(tuple(taken), tuple(given)),
            on_device=tuple(data.get("on_device", ())),
        )


@dataclass(slots=True)
class CompiledProgram:
    """`objects`: relocatable ELF files (kernels, driver). `weights`: (offset, array) pieces of the
    weights, 64-byte aligned. `runtime`: the object with the thread pool and the arena, which a
    library links and a process loads once. `symbols`: those of kernels in C, which a library links
    with the archives that they are in."""

    objects: tuple[bytes, ...]
    weights: ArrayPieces
    metadata: ProgramMetadata
    runtime: bytes = b""
    symbols: tuple[str, ...] = ()

    def weights_image(self) -> np.ndarray:
        """All weights as one 64-byte aligned array of bytes; the piece itself where it is one."""
        return weights_image(self.weights, self.metadata.weights_bytes)


ArrayPieces = list[tuple[int, np.ndarray]]
Pieces = Sequence[tuple[int, np.ndarray | Packed]]


def packed(pieces: Pieces) -> ArrayPieces:
    """As arrays."""
    return [(at, x.array() if isinstance(x, Packed) else x) for at, x in pieces]


def joined(pieces: Pieces, size: int) -> ArrayPieces:
    """As one piece, which is what runs read; none stays none."""
    return [(0, weights_image(pieces, size))] if pieces else []


def weights_image(pieces: Pieces, size: int) -> np.ndarray:
    """The pieces at their offsets in an aligned array of `size` bytes, zeros between them; the
    piece itself where it is one."""
    if len(pieces) == 1 and isinstance(pieces[0][1], np.ndarray):
        only = pieces[0][1]
        is_whole = only.nbytes == size and only.dtype == np.uint8
        if is_whole and only.ctypes.data % WEIGHT_ALIGNMENT == 0:
            return only
    raw = np.zeros(size + WEIGHT_ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % WEIGHT_ALIGNMENT
    image = raw[start : start + size]
    for offset, piece in pieces:
        place = image[offset : offset + piece.nbytes]
        if isinstance(piece, Packed):
            piece.write(place)
        else:
            place[:] = piece.ravel().view(np.uint8)
    return image
