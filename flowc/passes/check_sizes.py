"""Refuses values that fit in no memory, before anything is computed with their sizes, and constants
that fit in no program.

In: any Computation. Out: the same object. Shapes of more elements than an i64 counts are an
InvalidArgumentError, as in TensorFlow, others that are too large a ResourceExhaustedError. Sizes
that only the run knows are checked by the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.ir.bodies import nodes_within
from flowc.ir.computation import Computation, Value
from flowc.ir.types import MOST_BYTES, is_repeated
from flowc.options import Options


def check_sizes(c: Computation, options: Options) -> Computation:
    for node in c.nodes:
        for value in node.outputs:
            if value.type.is_static and _most(value) > MOST_BYTES:
                text = f"a value of type {value.type} is too large for any memory"
                wrapping = _wrapping(value.type.static_dims)
                if wrapping:
                    raise InvalidArgumentError(f"{text}: {wrapping}", node=node.name)
                raise ResourceExhaustedError(text, node=node.name)
    return c


def check_constants(c: Computation, most: int) -> None:
    """Refuses constants of repeated values, which a model says in a few bytes and a program holds
    in full, where they are more than `most` bytes in all."""
    held: dict[int, tuple[int, str]] = {}
    for node in (inner for top in c.nodes for inner in nodes_within(top)):
        array = node.attrs.get("value") if node.op.name == "const" else None
        if array is not None and is_repeated(array):
            held[id(array)] = array.nbytes, node.name
    total = sum(size for size, _ in held.values())
    if total > most:
        size, name = max(held.values())
        raise ResourceExhaustedError(
            f"constants of repeated values are {total} bytes, the largest {size}, and a program "
            f"may hold {most} (max_memory)",
            node=name,
        )


def _wrapping(dims: Sequence[int]) -> str:
    """What is wrong with a shape that TensorFlow refuses before it looks for memory."""
    elements = 1
    for dim in dims:
        if elements * dim >= 1 << 63:
            return f"Encountered overflow when multiplying {elements} with {dim}"
        elements *= dim
    return ""


def _most(value: Value) -> int:
    """The larger of the bytes of a value, and of its sizes, which matter where one of them is 0."""
    dims = value.type.static_dims
    size = value.type.size
    assert isinstance(size, int)
    return max(size * value.type.dtype.held_size, *dims, 0)
