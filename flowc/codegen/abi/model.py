"""What the C ABI derives from a program's metadata.

In: metadata. Out: messages as printf takes them; the check that a library can bind its sizes.
"""

from __future__ import annotations

import math
import re

from flowc.codegen.compiled import ErrorRow, ProgramMetadata
from flowc.dataclass import dataclass
from flowc.errors import InternalError
from flowc.ir.dims import lone_symbol, symbols_of
from flowc.ir.program_spec import TensorSpec

_VALUE = re.compile(r"\{([abc])\}")


@dataclass(frozen=True, slots=True)
class Message:
    """A message that a run can end with: printf template, which of values a, b, c fill it, the
    class of the error. `has_text`: value a is the address of a text, which is freed then."""

    template: str
    values: tuple[int, ...]
    kind: str
    has_text: bool = False


def message_of(row: ErrorRow) -> Message:
    text = row.message
    has_text = "{text}" in text
    values = tuple("abc".index(m) for m in _VALUE.findall(text))
    pieces = [piece.replace("%", "%%") for piece in _VALUE.split(text)[::2]]
    template = "%lld".join(pieces)
    if row.node:
        template += f" (node '{row.node}')".replace("%", "%%")
    if has_text:
        template, values = template.replace("{text}", "%s"), (0,)
    return Message(template, values, row.kind, has_text)


def ports_of(metadata: ProgramMetadata, kind: str) -> tuple[TensorSpec, ...]:
    """The tensors of one kind that callers see."""
    spec = metadata.spec
    if kind == "variable":
        return tuple(v.tensor for v in spec.variables)
    return spec.fed if kind == "input" else spec.fetched


def dims_text(port: TensorSpec) -> str:
    return f"[{', '.join(str(d) for d in port.dims)}]"


def bytes_of(port: TensorSpec) -> int:
    """The bytes of a variable, whose shape is fixed."""
    return port.dtype.size * math.prod(port.static_dims or ())


def check_sizes(metadata: ProgramMetadata) -> None:
    """Raises `InternalError` where a size is not a whole dim of an input, or a variable has no
    fixed shape."""
    inputs = metadata.spec.fed
    bound = {lone_symbol(d) for port in inputs for d in port.dims}
    for port in inputs:
        for size in symbols_of(*port.dims):
            if size.name not in metadata.sizes or size not in bound:
                raise InternalError(
                    f"input {port.name!r}: its dims {dims_text(port)} need the size {size}, "
                    "which no input has as a dimension by itself"
                )
    for variable in metadata.spec.variables:
        if not variable.tensor.is_static:
            raise InternalError(f"variable {variable.tensor} has no fixed shape")
