"""Refuses values that fit in no memory, before anything is computed with their sizes.

In: any Computation. Out: the same object. Sizes that only the run knows are checked by the run.
"""

from __future__ import annotations

from flowc.errors import ResourceExhaustedError
from flowc.ir.computation import Computation, Value
from flowc.ir.types import MOST_BYTES
from flowc.options import Options


def check_sizes(c: Computation, options: Options) -> Computation:
    for node in c.nodes:
        for value in node.outputs:
            if value.type.is_static and _most(value) > MOST_BYTES:
                text = f"a value of type {value.type} is too large for any memory"
                raise ResourceExhaustedError(text, node=node.name)
    return c


def _most(value: Value) -> int:
    """The larger of the bytes of a value, and of its sizes, which matter where one of them is 0."""
    dims = value.type.static_dims
    size = value.type.size
    assert isinstance(size, int)
    return max(size * value.type.dtype.held_size, *dims, 0)
