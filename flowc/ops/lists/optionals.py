"""Optionals: above all what the branches of a version 2 conditional keep for its gradient.

In: a value that one branch computed, or nothing. Out: the value, where the branch was taken.
TensorFlow gives the branches one place each for as many values as the longer of them keeps, so
that the two in one place may differ in type: an OptionalValue has a case for each type. A reader
takes the one that its branch is known to have made, or else the one that has the type it asks for.
The others, of several components or of an iterator, are found by the run
(`ops/datasets/optionals.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.extraction import (
    Bound,
    Extractor,
    ListValue,
    OptionalCase,
    OptionalValue,
)
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.datasets import optionals
from flowc.ops.datasets.optionals import EMPTY, GET_VALUE, HAS_VALUE
from flowc.ops.lists.list_gradients import made_optional, taken_optional
from flowc.ops.lists.list_values import Partial, complete, fits, scalar
from flowc.ops.state.variables import Emit, value_of


def _from_value(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    if len(inputs) != 1:
        return [optionals.made_of(x, [value_of(x, bound) for bound in inputs])]
    (held,) = inputs
    if isinstance(held, OptionalValue):
        return [held]  # who asks for its value as an optional finds it
    if not isinstance(held, ListValue):
        held = value_of(x, held)
    return [OptionalValue((OptionalCase(held),))]


def _none(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [OptionalValue()]


def _get_value(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    optional = inputs[0]
    if isinstance(optional, ListValue):
        return [optional]  # found already by who asked for the optional around it
    if isinstance(optional, Value):
        return optionals.components_of(x, optional, attrs)
    if not isinstance(optional, OptionalValue) or len(attrs["output_types"]) != 1:
        raise UnsupportedError(f"'{x.name}' reads no optional of one component")
    dtype, shape = attrs["output_types"][0], attrs["output_shapes"][0]
    living = [c for c in optional.cases if _known(c) is not False]
    certain = [c for c in living if _known(c)]
    cases = [c for c in certain or living if _has_type(c, dtype, shape)]
    if dtype is dtypes.variant:
        # An optional in an optional is the one inside. Of several lists who reads them takes one.
        return [cases[0].held if len(cases) == len(living) == 1 else optional]
    if not cases:
        return [_nothing(x, dtype, shape)]
    return [_one_of(x, cases, shape)]


def _has_value(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    optional = inputs[0]
    if isinstance(optional, Value):
        return [optionals.has_value(x, optional)]
    if not isinstance(optional, OptionalValue):
        raise UnsupportedError(f"'{x.name}' is asked of what is no optional")
    found = x.b.const(np.bool_(False))
    for case in optional.cases:
        if case.holds is None:
            return [x.b.const(np.bool_(True))]
        found = x.b.logical_or(found, case.holds)
    return [found]


def _known(case: OptionalCase) -> bool | None:
    """Whether a case holds, where that is known: in one of the branches that made it."""
    if case.holds is None:
        return True
    known = case.holds.constant
    return None if known is None else bool(known)


def _has_type(case: OptionalCase, dtype: dtypes.DType, shape: Partial) -> bool:
    if not isinstance(case.held, Value):
        return dtype is dtypes.variant
    return case.held.type.dtype is dtype and fits(shape, case.held.dims)


def _nothing(x: Extractor, dtype: dtypes.DType, shape: Partial) -> Value:
    """What a run finds that reads a value which no branch has made: an error."""
    dims = complete(shape)
    if dims is None:
        raise InvalidArgumentError(EMPTY)
    x.b.check(x.b.const(np.bool_(False)), message=EMPTY)
    x.effect(x.b.nodes[-1])
    return x.b.broadcast_to(x.b.const(np.zeros((), dtype.numpy), dtype), dims)


def _one_of(x: Extractor, cases: Sequence[OptionalCase], shape: Partial) -> Value:
    """The value of the case that holds: the run knows which one."""
    values = [c.held for c in cases if isinstance(c.held, Value)]
    if len({v.type.rank for v in values}) > 1:
        shown = ", ".join(shown_dims(v.dims) for v in values)
        raise UnsupportedError(
            f"'{x.name}' reads an optional whose value may be of several ranks ({shown}), and "
            "nothing says which when it is compiled",
            hint="give the tensor that the branches compute a static shape",
        )
    found = values[-1]
    for case, value in zip(reversed(cases[:-1]), reversed(values[:-1])):
        assert case.holds is not None
        (joined,) = x.branch(
            case.holds, lambda _, given: [given[0]], lambda _, given: [given[1]], [value, found]
        )
        assert isinstance(joined, Value)
        found = joined
    if shape is not None and any(d is not None for d in shape) and len(values) > 1:
        found = x.b.ensure_shape(found, shape=shape)
    return found


def _known_when_extracted(c: Inference) -> list[Dims]:
    raise NeedsContent("optionals have values when a graph is extracted", node=c.node_name)


def _define(
    name: str,
    signature: str,
    emit: Emit,
    infer: Any,
    gradient: Any = None,
    host: Host | None = None,
) -> None:
    define(name, signature, infer=infer, lowering=Extracted(emit, host), gradient=gradient)


_define(
    "optional_from_value",
    "OptionalFromValue(components: Toutput_types; Toutput_types: list(type) >= 1)"
    " -> optional: variant",
    _from_value,
    scalar,
    made_optional,
)
_define("optional_none", "OptionalNone() -> optional: variant", _none, scalar)
_define(
    "optional_get_value",
    "OptionalGetValue(optional: variant; output_types: list(type) >= 1,"
    " output_shapes: list(shape) >= 1) -> components: output_types",
    _get_value,
    _known_when_extracted,
    taken_optional,
    GET_VALUE,
)
_define(
    "optional_has_value",
    "OptionalHasValue(optional: variant) -> has_value: bool",
    _has_value,
    scalar,
    host=HAS_VALUE,
)
