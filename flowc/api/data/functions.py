"""Functions of elements: Python functions that build, as functions of the graph.

In: a Python function, the structure of what it is given. Out: the name of a `Function`, what it
captures, the structure of what it returns. A function is traced once, when a dataset is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from flowc.api.data.structure import held_tensors, held_types, normalized, spec_of, value_from
from flowc.dataclass import dataclass
from flowc.graph import Tensor, get_default_graph
from flowc.graph.attrs import FunctionRef
from flowc.graph.building.function_graph import FunctionGraph


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """`captured`: the tensors of the graph around that it takes besides."""

    reference: FunctionRef
    captured: Sequence[Tensor]
    structure: Any


def traced(function: Callable[..., Any], given: Any, label: str) -> TracedFunction:
    """The function of elements of a structure; a tuple is given as several arguments. Raises what
    the Python function raises, and `ValueError` for what is no function, or returns nothing."""
    if not callable(function):
        raise ValueError(
            f"Argument `func` must be a callable. Received func={function!r} (of type "
            f"{type(function)})."
        )
    outer = get_default_graph()
    graph = FunctionGraph(outer)
    with graph.as_default():
        held = held_types(given)
        tensors = [
            graph.argument(dtype, shape.sizes)
            for dtype, shape in zip(held["output_types"], held["output_shapes"])
        ]
        value = value_from(given, tensors)
        returned = function(*value) if type(value) is tuple else function(value)
        if returned is None:
            raise ValueError(f"{label}: the function returned None, where an element is expected.")
        result = normalized(tuple(returned) if isinstance(returned, list) else returned)
        structure = spec_of(result)
        results = held_tensors(structure, result)
    name = _name(outer, f"{label}_{getattr(function, '__name__', type(function).__name__)}")
    outer.functions[name] = graph.function(name, results)
    reference = FunctionRef(name, {"_tf_data_function": True})
    return TracedFunction(reference, list(graph.captured), structure)


def _name(graph: Any, label: str) -> str:
    base = "__inference_" + re.sub(r"[^A-Za-z0-9_]", "", label)
    number = len(graph.functions)
    while f"{base}_{number}" in graph.functions:
        number += 1
    return f"{base}_{number}"
