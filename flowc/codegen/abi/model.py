"""What the C ABI has to know of a compiled program, checked and in typed form.

In: the metadata of a compiled program (plain data). Out: a `Model` of tensors, variables, sizes and
errors. The program's own inputs are the model's, then the variables that it reads; its outputs the
model's, then the variables that it writes.
Invariant: every size symbol that an input's dims mention is bound by a plain dim of some input.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flowc import dtypes
from flowc.errors import InternalError
from flowc.ir import dims as sizes_of
from flowc.ir.dims import Dim, Expr

_VALUE = re.compile(r"\{([abc])\}")


@dataclass(frozen=True, slots=True)
class TensorPort:
    """One input or output: dims are numbers, or sizes in the text that users read."""

    name: str
    dtype: dtypes.DType
    dims: tuple[Dim, ...]

    @property
    def is_static(self) -> bool:
        return all(isinstance(d, int) for d in self.dims)

    def dims_text(self) -> str:
        return f"[{', '.join(str(d) for d in self.dims)}]"


@dataclass(frozen=True, slots=True)
class VariablePort:
    """A variable. `input` and `output`: its places among the program's own inputs and outputs, None
    where it is not read or not written; `initial`: where its value stands among the weights.
    `is_random`: the state of a random node, chosen for each instance where it has no `initial`.
    `in_place`: a run changes the value where it is."""

    port: TensorPort
    input: int | None
    output: int | None
    initial: int | None
    is_random: bool = False
    in_place: bool = False

    @property
    def bytes(self) -> int:
        return self.port.dtype.size * math.prod(d for d in self.port.dims if isinstance(d, int))


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """A message that a run can end with: printf template, which of values a, b, c fill it.
    `has_text`: value a is the address of a text, which is freed then."""

    template: str
    values: tuple[int, ...]
    no_memory: bool
    has_text: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    version: str
    inputs: tuple[TensorPort, ...]
    outputs: tuple[TensorPort, ...]
    sizes: tuple[str, ...]
    errors: tuple[ErrorRow, ...]
    weights_bytes: int
    variables: tuple[VariablePort, ...] = ()

    def ports(self, kind: str) -> tuple[TensorPort, ...]:
        if kind == "variable":
            return tuple(v.port for v in self.variables)
        return self.inputs if kind == "input" else self.outputs

    @property
    def reads(self) -> list[tuple[int, VariablePort]]:
        """The variables behind the program's last inputs, with their numbers."""
        return [(i, v) for i, v in enumerate(self.variables) if v.input is not None]

    @property
    def writes(self) -> list[tuple[int, VariablePort]]:
        return [(i, v) for i, v in enumerate(self.variables) if v.output is not None]


def read_model(metadata: Mapping[str, Any]) -> Model:
    """The typed form of a program's metadata. Raises `InternalError` when it is inconsistent."""
    if metadata.get("format") != 1:
        raise InternalError(f"program metadata of format {metadata.get('format')!r}: expected 1")
    model = Model(
        name=metadata["name"],
        version=metadata["flowc"],
        inputs=tuple(map(_port, metadata["inputs"])),
        outputs=tuple(map(_port, metadata["outputs"])),
        sizes=tuple(metadata["sizes"]),
        errors=tuple(map(_error, metadata["errors"])),
        weights_bytes=int(metadata["weights_bytes"]),
        variables=tuple(map(_variable, metadata.get("variables", ()))),
    )
    _check_sizes(model)
    return model


def _port(row: Mapping[str, Any]) -> TensorPort:
    dims = tuple(d if isinstance(d, int) else sizes_of.parse_dim(d) for d in row["dims"])
    return TensorPort(row["name"], dtypes.as_dtype(row["dtype"]), dims)


def _variable(row: Mapping[str, Any]) -> VariablePort:
    places = row["input"], row["output"], row["initial"]
    flags = row.get("random", False), row.get("in_place", False)
    found = VariablePort(_port(row), *places, *flags)
    if not found.port.is_static:
        raise InternalError(f"variable {row['name']!r} has no fixed shape: {row['dims']}")
    return found


def _error(row: Mapping[str, Any]) -> ErrorRow:
    text = row["message"]
    has_text = "{text}" in text
    values = tuple("abc".index(m) for m in _VALUE.findall(text))
    pieces = [piece.replace("%", "%%") for piece in _VALUE.split(text)[::2]]
    template = "%lld".join(pieces)
    if row.get("node"):
        template += f" (node '{row['node']}')".replace("%", "%%")
    if has_text:
        template, values = template.replace("{text}", "%s"), (0,)
    return ErrorRow(template, values, row.get("class") == "ResourceExhaustedError", has_text)


def plain_symbol(dim: Dim) -> str | None:
    """The name, when the dim is one size by itself."""
    if isinstance(dim, Expr):
        names = sizes_of.symbols_of(dim)
        if len(names) == 1 and str(dim) in names:
            return str(dim)
    return None


def _check_sizes(model: Model) -> None:
    bound = {plain_symbol(d) for port in model.inputs for d in port.dims}
    for port in model.inputs:
        for dim in port.dims:
            for name in sizes_of.symbols_of(dim):
                if name not in model.sizes or name not in bound:
                    raise InternalError(
                        f"input {port.name!r}: its dims {port.dims_text()} need the size {name}, "
                        "which no input has as a dimension by itself"
                    )
