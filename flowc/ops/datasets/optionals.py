"""Optionals of the run: the next element of an iterator, or that there is none.

In: iterators, elements. Out: an optional, which is a host value as a dataset is. Those of a version
2 conditional are known when a graph is extracted: `ops/lists/optionals.py`, which asks for these
where a value is none of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, OutOfRangeError
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor
from flowc.ir.host_run import HostRun, HostValue, held
from flowc.ir.lowering import Host
from flowc.ir.op import Attrs, define
from flowc.ops.datasets.dataset import Array, Element
from flowc.ops.datasets.iterators import (
    blocking_host,
    define_iterator_step,
    emit_step,
    iterator_state,
    results_of,
)
from flowc.ops.datasets.records import STATED, scalar
from flowc.ops.host_ops import host_op, infer_shapes

EMPTY = "The given optional does not have a value."


@dataclass(frozen=True, slots=True, eq=False)
class HostOptional:
    """`element`: None where there is none."""

    element: Element | None


def _of(element: Element | None) -> list[Array]:
    return [held(HostValue.of(HostOptional(element)))]


def _element(value: Any) -> Element | None:
    """Raises `InvalidArgumentError` for a variant that is no optional."""
    found = getattr(value[()] if isinstance(value, np.ndarray) else value, "value", None)
    if not isinstance(found, HostOptional):
        raise InvalidArgumentError("a variant is no optional, where one is expected")
    return found.element


def _next(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    run.check()
    try:
        return _of(iterator_state(inputs[0], run).next(run))
    except OutOfRangeError:
        return _of(None)


def _from_components(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    return _of(tuple(held(value) for value in inputs))


def _has_value(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    return [np.array(_element(inputs[0]) is not None)]


def _components(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    element = _element(inputs[0])
    if element is None:
        raise InvalidArgumentError(EMPTY)
    return results_of(element, types)


define_iterator_step(
    "IteratorGetNextAsOptional",
    f"(iterator: resource; {STATED}) -> optional: variant",
    blocking_host(_next, "IteratorGetNextAsOptional"),
    ("IteratorGetNextAsOptional",),
    ((dtypes.variant, ()),),
)
HAS_VALUE = Host(_has_value, "OptionalHasValue", only_reads=True)
GET_VALUE = Host(_components, "OptionalGetValue", only_reads=True)
_made = host_op(
    "optional_of_components",
    "_OptionalOf(components: T; T: list(type) >= 0) -> optional: string",
    _from_components,
    infer=scalar,
    shown="OptionalFromValue",
)
_asked = define(
    "optional_is_there",
    "_OptionalIsThere(optional: string) -> has_value: bool",
    infer=scalar,
    lowering=HAS_VALUE,
)
_taken = define(
    "optional_components",
    "_OptionalComponents(inputs: T; T: list(type), Tout: list(type), shapes: list(shape))"
    " -> outputs: Tout",
    infer=infer_shapes,
    lowering=GET_VALUE,
)


def made_of(x: Extractor, components: Sequence[Value]) -> Value:
    """The optional of an element."""
    types = tuple(value.type.dtype for value in components)
    return x.b.emit(_made, components, {"T": types}).output


def has_value(x: Extractor, optional: Value) -> Value:
    return x.b.emit(_asked, [optional], {}).output


def components_of(x: Extractor, optional: Value, attrs: Attrs) -> Sequence[Value]:
    """The element of an optional that has one; else the run raises `InvalidArgumentError`."""
    return emit_step(x, [optional], attrs, step=_taken)
