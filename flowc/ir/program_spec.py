"""What a program takes, gives and keeps: its contract with whoever runs it.

In: a Computation, what callers call its feeds and fetches, and the variables behind the rest. Out:
frozen records that compiler, caches, executables and libraries carry, with a form in JSON.
Invariants: inputs are what is fed, then the value of each variable that is read, then the address
of each object; outputs are what is fetched, then the next value of each variable that is written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.dims import Dim, parse_dim
from flowc.ir.types import TensorType

if TYPE_CHECKING:
    from flowc.ir.computation import Computation
    from flowc.ir.lowering import ObjectFunctions

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output: what callers call it, and its type."""

    name: str
    dtype: DType
    dims: tuple[Dim, ...]

    @classmethod
    def of(cls, name: str, type_: TensorType) -> TensorSpec:
        return cls(name, type_.dtype, type_.dims)

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, self.dims)

    @property
    def static_dims(self) -> tuple[int, ...] | None:
        """The dims where all are numbers."""
        sizes = tuple(d for d in self.dims if isinstance(d, int))
        return sizes if len(sizes) == len(self.dims) else None

    @property
    def is_static(self) -> bool:
        return self.static_dims is not None

    @property
    def held(self) -> np.dtype[Any]:
        """What native code has for an element: of a string its number."""
        return np.dtype(np.int64) if self.dtype is dtypes.string else self.dtype.numpy

    def __str__(self) -> str:
        return f"{self.name}={self.dtype}[{','.join(map(str, self.dims))}]"

    def to_json(self) -> dict[str, Any]:
        dims = [d if isinstance(d, int) else str(d) for d in self.dims]
        return {"name": self.name, "dtype": self.dtype.short, "dims": dims}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> TensorSpec:
        dims = tuple(d if isinstance(d, int) else parse_dim(d) for d in row["dims"])
        return cls(row["name"], dtypes.as_dtype(row["dtype"]), dims)


@dataclass(frozen=True, slots=True)
class VariableSpec:
    """A variable that a program reads or writes. `tensor`: its type, before the run if it is read.
    `input`: where its value is among all inputs, None if it is not read; `output`: where its next
    value is among all outputs, None if it is not written.

    `is_random`: the state of a random node, which flowc made: it always has a value. `first`: its
    value before the first run, where the program says one; `initial`: where a library has that
    value among its weights. A random state without it is chosen for each session or instance.
    `on_device`: runs are given its memory on a device."""

    tensor: TensorSpec
    input: int | None
    output: int | None
    is_random: bool = False
    initial: int | None = None
    first: Array | None = field(default=None, compare=False, repr=False)
    on_device: bool = False

    @property
    def name(self) -> str:
        return self.tensor.name


@dataclass(frozen=True, slots=True)
class ObjectSpec:
    """An object that code in C makes for each instance of a library, for its kernels in C.

    `op`: that of the handle; `attrs`: what it is made with; `first`: the bytes that it is restored
    from when an instance is made, where there are any, and `initial`: where a library has them
    among its weights."""

    name: str
    op: str
    functions: ObjectFunctions
    attrs: Mapping[str, Any]
    initial: int | None = None
    first: Array | None = field(default=None, compare=False, repr=False)


class Alias(NamedTuple):
    """An input whose memory may hold the output that replaces it."""

    input: int
    output: int


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """`inputs` and `outputs`: all of them. `aliases`: inputs that a run may overwrite; of a
    compiled program, those that it does overwrite."""

    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    variables: tuple[VariableSpec, ...] = ()
    aliases: tuple[Alias, ...] = ()
    objects: tuple[ObjectSpec, ...] = ()

    @property
    def fed(self) -> tuple[TensorSpec, ...]:
        """What callers give."""
        return self.inputs[: len(self.inputs) - len(self.reads) - len(self.objects)]

    @property
    def fetched(self) -> tuple[TensorSpec, ...]:
        """What callers get."""
        return self.outputs[: len(self.outputs) - len(self.writes)]

    @property
    def reads(self) -> tuple[VariableSpec, ...]:
        """The variables behind the last inputs."""
        found = [(v.input, v) for v in self.variables if v.input is not None]
        return tuple(v for _, v in sorted(found, key=lambda x: x[0]))

    @property
    def writes(self) -> tuple[VariableSpec, ...]:
        """The variables behind the last outputs."""
        found = [(v.output, v) for v in self.variables if v.output is not None]
        return tuple(v for _, v in sorted(found, key=lambda x: x[0]))

    def in_place(self, variable: VariableSpec) -> bool:
        """Whether runs change the variable's value where it is."""
        return (variable.input, variable.output) in self.aliases

    def renamed(self, fed: Sequence[str], fetched: Sequence[str]) -> ProgramSpec:
        """With other names for what callers give and get."""
        ins = [replace(t, name=n) for t, n in zip(self.fed, fed, strict=True)]
        outs = [replace(t, name=n) for t, n in zip(self.fetched, fetched, strict=True)]
        inputs = (*ins, *self.inputs[len(ins) :])
        return replace(self, inputs=inputs, outputs=(*outs, *self.outputs[len(outs) :]))

    def without_variables(self, names: Collection[str]) -> ProgramSpec:
        """Without the inputs and outputs of some variables."""
        gone = [v for v in self.variables if v.name in names]
        ins = _places_after(len(self.inputs), {v.input for v in gone})
        outs = _places_after(len(self.outputs), {v.output for v in gone})
        kept = [v for v in self.variables if v.name not in names]
        return replace(
            self,
            inputs=tuple(t for i, t in enumerate(self.inputs) if i in ins),
            outputs=tuple(t for i, t in enumerate(self.outputs) if i in outs),
            variables=tuple(
                replace(
                    v,
                    input=None if v.input is None else ins[v.input],
                    output=None if v.output is None else outs[v.output],
                )
                for v in kept
            ),
            aliases=tuple(
                Alias(ins[a.input], outs[a.output])
                for a in self.aliases
                if a.input in ins and a.output in outs
            ),
        )

    def with_memory_of(self, compiled: ProgramSpec) -> ProgramSpec:
        """With the memory decisions that the compiler made for its variables."""
        there = {v.name: v.on_device for v in compiled.variables}
        variables = tuple(replace(v, on_device=there[v.name]) for v in self.variables)
        return replace(self, variables=variables, aliases=compiled.aliases)

    def to_json(self) -> dict[str, Any]:
        return {
            "inputs": [t.to_json() for t in self.fed],
            "outputs": [t.to_json() for t in self.fetched],
            "variables": [self._row(v) for v in self.variables],
            "in_place": [list(alias) for alias in self.aliases],
            **({"objects": [o.name for o in self.objects]} if self.objects else {}),
        }

    def _row(self, v: VariableSpec) -> dict[str, Any]:
        row = v.tensor.to_json()
        row |= {"input": v.input, "output": v.output, "initial": v.initial}
        row |= {"in_place": self.in_place(v), "random": v.is_random}
        row |= {"on_device": True} if v.on_device else {}
        after = None if v.output is None else self.outputs[v.output]
        return row if after in (None, v.tensor) else {**row, "after": after.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ProgramSpec:
        inputs = {i: TensorSpec.from_json(row) for i, row in enumerate(data["inputs"])}
        outputs = {i: TensorSpec.from_json(row) for i, row in enumerate(data["outputs"])}
        variables: list[VariableSpec] = []
        for row in data.get("variables", ()):
            tensor = TensorSpec.from_json(row)
            places = row["input"], row["output"], row.get("random", False), row["initial"]
            on_device = row.get("on_device", False)
            variables.append(VariableSpec(tensor, *places, on_device=on_device))
            if row["input"] is not None:
                inputs[row["input"]] = tensor
            if row["output"] is not None:
                outputs[row["output"]] = TensorSpec.from_json(row.get("after", row))
        return cls(
            tuple(inputs[i] for i in range(len(inputs))),
            tuple(outputs[i] for i in range(len(outputs))),
            tuple(variables),
            tuple(Alias(*pair) for pair in data.get("in_place", ())),
        )


def _places_after(count: int, gone: Collection[int | None]) -> dict[int, int]:
    """The new positions of those of `count` positions that are not removed."""
    kept = [i for i in range(count) if i not in gone]
    return {i: n for n, i in enumerate(kept)}


def spec_of(
    c: Computation,
    fed: Sequence[str],
    fetched: Sequence[str],
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    first: Mapping[str, Array | None] | None = None,
) -> ProgramSpec:
    """The spec of a Computation whose last parameters are the values of the variables `reads`, and
    whose last results those of `writes`. `first`: the first values of random states."""
    # Late: a program from the cache comes with its spec, and needs no Computation.
    from flowc.ir.bodies import with_sizes
    from flowc.ir.text.value_names import names_of_sizes

    made = first or {}
    names = names_of_sizes(c)
    inputs = [TensorSpec.of(n, p.output.type) for n, p in zip((*fed, *reads), c.parameters)]
    results = (with_sizes(v.type, names) for v in c.results)
    outputs = [TensorSpec.of(n, t) for n, t in zip((*fetched, *writes), results)]
    variables: list[VariableSpec] = []
    places_read = {name: i for i, name in enumerate(reads, len(fed))}
    places_written = {name: i for i, name in enumerate(writes, len(fetched))}
    for name in dict.fromkeys((*reads, *writes)):
        read, written = places_read.get(name), places_written.get(name)
        tensor = inputs[read] if read is not None else outputs[written or 0]
        start = made.get(name)
        variables.append(VariableSpec(tensor, read, written, name in made, first=start))
    aliases = tuple(
        Alias(v.input, v.output) for v in variables if v.input is not None and v.output is not None
    )
    return ProgramSpec(tuple(inputs), tuple(outputs), tuple(variables), aliases)
