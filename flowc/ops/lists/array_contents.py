"""What a TensorArray's handle stands for while a graph is extracted.

In: Bounds of handles. Out: the Resource and its contents, a ListValue with marks; what gives the
flow tensors, which only order nodes: each is a constant 0.
"""

from __future__ import annotations

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor, ListValue, Resource

KIND = "tensor_array"


def array_of(x: Extractor, bound: Bound) -> tuple[Resource, ListValue]:
    """The array that a handle names, and what it holds."""
    if isinstance(bound, Resource) and bound.kind == KIND:
        contents = x.contents(bound)
        assert isinstance(contents, ListValue)
        return bound, contents
    raise InvalidArgumentError(f"the handle given to '{x.name}' is no TensorArray's", node=x.name)


def flow(x: Extractor) -> Value:
    return x.b.const(np.float32(0))


def marks_of(contents: ListValue) -> Value:
    assert contents.marks is not None
    return contents.marks
