"""`tf.assert_equal` and its kin: operations that fail a run where tensors are not as they must be.

In: tensors. Out: an operation to wait for. What is known when the graph is built is checked then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.framework.checks import Assert
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope, no_op
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import reduce_all
from flowc.errors import InvalidArgumentError
from flowc.graph import Operation, Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.shape_inference import constant_elements


def _comparison(
    name: str, holds: Callable[[Any, Any], Tensor], known: Callable[[Any, Any], Any], sign: str
) -> Callable[..., Operation]:
    default = name

    def function(
        x: Any,
        y: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, default, [x, y]):
            left = as_tensor(x, name="x")
            right = as_tensor(y, name="y", preferred=left.dtype)
            given = constant_elements(left), constant_elements(right)
            text = f"Condition x {sign} y did not hold."
            if given[0] is not None and given[1] is not None:
                if np.all(known(*given)):
                    return no_op("static_checks_determined_all_ok")
                raise _fault(message, text, left, right)
            shown = data or [
                *([message] if message else []),
                f"Condition x {sign} y did not hold element-wise:",
                f"x ({left.name}) = ",
                left,
                f"y ({right.name}) = ",
                right,
            ]
            return Assert(reduce_all(holds(left, right)), shown, summarize=summarize)

    doc = (
        f"Fails a run with `InvalidArgumentError` unless `x {sign} y` for all elements; fails at "
        "once where both are constants."
    )
    return named(function, default, doc)


def _fault(message: str | None, text: str, *tensors: Tensor) -> InvalidArgumentError:
    shown = "\n".join(f"{t.name}: {constant_elements(t)}" for t in tensors)
    return InvalidArgumentError(f"{message or ''}\n{text}\n{shown}".lstrip())


assert_equal = _comparison("assert_equal", m.equal, np.equal, "==")
assert_none_equal = _comparison("assert_none_equal", m.not_equal, np.not_equal, "!=")
assert_less = _comparison("assert_less", m.less, np.less, "<")
assert_less_equal = _comparison("assert_less_equal", m.less_equal, np.less_equal, "<=")
assert_greater = _comparison("assert_greater", m.greater, np.greater, ">")
assert_greater_equal = _comparison("assert_greater_equal", m.greater_equal, np.greater_equal, ">=")


def _with_zero(name: str, compare: Callable[..., Operation], sign: str) -> Callable[..., Operation]:
    default = name

    def function(
        x: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, default, [x]):
            value = as_tensor(x, name="x")
            kind = dtypes.as_dtype(value.dtype)
            zero = as_tensor(np.zeros((), kind.numpy))
            return compare(value, zero, data, summarize, message)

    return named(function, default, f"Fails a run unless `x {sign} 0` for all elements.")


assert_positive = _with_zero("assert_positive", assert_greater, ">")
assert_negative = _with_zero("assert_negative", assert_less, "<")
assert_non_negative = _with_zero("assert_non_negative", assert_greater_equal, ">=")
assert_non_positive = _with_zero("assert_non_positive", assert_less_equal, "<=")


def _of_rank(
    name: str, fits: Callable[[int, Any], bool], op_type: str, wanted: str
) -> Callable[..., Operation]:
    default = name

    def function(
        x: Any,
        rank: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, default, [x]):
            value = as_tensor(x, name="x")
            found = value.shape.ndims
            if found is not None:
                if fits(found, rank):
                    return no_op("static_checks_determined_all_ok")
                raise ValueError(
                    f"{message or ''}.  Tensor {value.name} must have rank {wanted}{rank}.  "
                    f"Received rank {found}, shape {value.shape}"
                )
            holds = output(op_type, output("Rank", value), as_tensor(rank, dtypes.i32))
            shown = data or [f"Tensor {value.name} must have rank {wanted}", rank]
            return Assert(holds, shown, summarize=summarize)

    return named(function, default, f"Fails unless the rank of `x` is {wanted}`rank`.")


assert_rank = _of_rank("assert_rank", lambda found, rank: found == rank, "Equal", "")
assert_rank_at_least = _of_rank(
    "assert_rank_at_least", lambda found, rank: found >= rank, "GreaterEqual", "at least "
)


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """The tensor again. Raises `ValueError` for one of another rank than 0."""
    with name_scope(name, "assert_scalar", [tensor]):
        value = as_tensor(tensor)
        if value.shape.ndims not in (0, None):
            raise ValueError(
                f"{message or ''}Expected scalar shape for {value.name}, saw shape: {value.shape}."
            )
        return value


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Operation:
    """Raises `TypeError` for a tensor of another dtype."""
    wanted = dtypes.as_dtype(tf_type)
    with name_scope(name, "assert_type", [tensor]):
        value = as_tensor(tensor)
        if value.dtype is not wanted:
            raise TypeError(f"{message or ''}{value.name} must be of type {wanted!r}; got "
                            f"{value.dtype!r}")  # fmt: skip
        return no_op("statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """Raises `TypeError` for a tensor that is not of integers."""
    with name_scope(name, "assert_integer", [x]):
        value = as_tensor(x, name="x")
        if value.dtype is None or not value.dtype.is_integer:
            raise TypeError(
                f'{message or ""}Expected "x" to be integer type.  Found: {value.dtype!r}'
            )
        return no_op("statically_determined_was_integer")
