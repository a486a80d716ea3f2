"""`tf.assert_*`: what a graph takes for granted, checked when it is built or when it runs.

In: tensors or values. Out: an operation that fails a run with `InvalidArgumentError`; it runs where
something waits for it (`tf.control_dependencies`). Invariant: what is known while the graph is
built is checked then, and its fault raised at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.api.arrays.shaping import rank as rank_of
from flowc.api.arrays.shaping import reshape
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import check_numerics
from flowc.api.framework.checks import Assert
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope, no_op, with_dependencies
from flowc.api.math import elementwise
from flowc.api.math.reductions import reduce_all, reduce_any
from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError
from flowc.graph import Operation, Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements

Check = Callable[..., Operation]


def _comparison(name: str, sign: str, compare: Callable[[Any, Any], Tensor], holds: Any) -> Check:
    """The assertion that two tensors, broadcast, compare so in every element."""

    def check(
        x: Any,
        y: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, check.__name__, [x, y, data]):
            x, y = as_tensor(x, name="x"), as_tensor(y, name="y")
            what = f"Condition x {sign} y did not hold element-wise:"
            shown = data
            if shown is None:
                told = [] if message is None else [message]
                shown = [*told, what, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            return _checked(compare(x, y), shown, summarize, holds, what, message, x=x, y=y)

    doc = (
        f"An operation that fails where `x {sign} y` does not hold in every element (x and y\n"
        "    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`\n"
        "    where both are constants of which it does not hold."
    )
    return named(check, name, doc)


def _checked(
    condition: Tensor,
    data: Sequence[Any],
    summarize: int | None,
    holds: Callable[..., Any],
    what: str,
    message: str | None,
    **tensors: Tensor,
) -> Operation:
    """Asserts a condition of which `holds` says in NumPy whether it holds."""
    known = {name: constant_elements(t) for name, t in tensors.items()}
    values = [v for v in known.values() if v is not None]
    if len(values) == len(known) and not np.all(holds(*values)):
        raise _not_held(what, message, condition.op.name, **tensors)
    return Assert(reduce_all(condition), data, summarize)


def _not_held(
    what: str, message: str | None, node: str | None = None, **tensors: Tensor
) -> InvalidArgumentError:
    lines = [message or "", what]
    for name, t in tensors.items():
        lines += [f"{name} ({t.name}) = ", str(constant_elements(t))]
    return InvalidArgumentError("\n".join(line for line in lines if line), node=node)


assert_equal = _comparison("assert_equal", "==", elementwise.equal, np.equal)
assert_none_equal = _comparison("assert_none_equal", "!=", elementwise.not_equal, np.not_equal)
assert_less = _comparison("assert_less", "<", elementwise.less, np.less)
assert_less_equal = _comparison("assert_less_equal", "<=", elementwise.less_equal, np.less_equal)
assert_greater = _comparison("assert_greater", ">", elementwise.greater, np.greater)
assert_greater_equal = _comparison(
    "assert_greater_equal", ">=", elementwise.greater_equal, np.greater_equal
)


def _sign(name: str, sign: str, compare: Check, holds: Any, zero_first: bool) -> Check:
    """The assertion that a tensor compares so to 0 in every element."""

    def check(
        x: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, check.__name__, [x, data]):
            x = as_tensor(x, name="x")
            shown = data
            what = f"Condition x {sign} 0 did not hold element-wise:"
            if shown is None:
                shown = [message or "", what, f"x ({x.name}) = ", x]
            zero = as_tensor(0, x.dtype)
            pair = (zero, x) if zero_first else (x, zero)
            known = constant_elements(x)
            if known is not None and not np.all(holds(*((0, known) if zero_first else (known, 0)))):
                raise _not_held(what, message, x=x)
            return compare(*pair, data=shown, summarize=summarize, message=message)

    doc = (
        f"An operation that fails where `x {sign} 0` does not hold in every element. Raises\n"
        "    `InvalidArgumentError` where x is a constant of which it does not hold."
    )
    return named(check, name, doc)


assert_positive = _sign("assert_positive", ">", assert_less, np.less, True)
assert_negative = _sign("assert_negative", "<", assert_less, np.less, False)
assert_non_negative = _sign("assert_non_negative", ">=", assert_less_equal, np.less_equal, True)
assert_non_positive = _sign("assert_non_positive", "<=", assert_less_equal, np.less_equal, False)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails where `|x - y| <= atol + rtol * |y|` does not hold in every element;
    both bounds are 10 times the precision of the dtype where they are not given.

    Floats or complex numbers of shapes that broadcast. A run raises `InvalidArgumentError` where it
    fails; building it does where that is known.
    """
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = as_tensor(x, name="x")
        y = as_tensor(y, x.dtype, "y")
        assert x.dtype is not None
        loose = 10 * np.finfo(x.dtype.numpy).eps if x.dtype.is_floating else 0
        rtol = as_tensor(loose if rtol is None else rtol, x.dtype, "rtol")
        atol = as_tensor(loose if atol is None else atol, x.dtype, "atol")
        bound = elementwise.add(atol, elementwise.multiply(rtol, elementwise.abs(y)))
        near = elementwise.less_equal(elementwise.abs(elementwise.subtract(x, y)), bound)
        what = f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}"
        shown = [
            f"{message}.  " if message else "",
            what,
            f"x ({x.name}) = ",
            x,
            f"y ({y.name}) = ",
            y,
        ]
        return Assert(reduce_all(near), shown if data is None else data, summarize)


def _rank_check(
    name: str, words: str, holds: Callable[[int, Sequence[int]], bool], compare: Any
) -> Check:
    """The assertion that a tensor is of such a rank."""

    def check(
        x: Any,
        rank: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, check.__name__, [x, data]):
            x = as_tensor(x, name="x")
            ranks = [int(r) for r in rank] if isinstance(rank, Sequence) else [int(rank)]
            found = x.shape.ndims
            if found is not None:
                if holds(found, ranks):
                    return no_op(name="static_checks_determined_all_ok")
                wanted = tuple(ranks) if isinstance(rank, Sequence) else ranks[0]
                raise ValueError(
                    f"{message or ''}Tensor {x.name} must have rank {words}{wanted}.  Received "
                    f"rank {found}, shape {x.shape}"
                )
            text = f"Tensor {x.name} must have rank {words}".rstrip()
            shown = [message or "", text, *ranks, "Received shape: ", shape_of(x)]
            condition = reduce_any(compare(rank_of(x), as_tensor(ranks)))
            return Assert(condition, shown if data is None else data, summarize)

    doc = (
        f"An operation that fails where the rank of `x` is not {words or 'equal to '}`rank`.\n"
        "    Raises `ValueError` where the rank is known and another one."
    )
    return named(check, name, doc)


assert_rank = _rank_check("assert_rank", "", lambda r, wanted: r in wanted, elementwise.equal)
assert_rank_in = _rank_check(
    "assert_rank_in", "in ", lambda r, wanted: r in wanted, elementwise.equal
)
assert_rank_at_least = _rank_check(
    "assert_rank_at_least",
    "at least ",
    lambda r, wanted: r >= wanted[0],
    elementwise.greater_equal,
)


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """Raises `TypeError` where `x` is not of an integer dtype; else an operation without effect."""
    with name_scope(name, "assert_integer", [x]):
        x = as_tensor(x, name="x")
        if x.dtype is None or not x.dtype.is_integer:
            raise TypeError(
                f'{message or ""}Expected "x" to be integer type.  Found: {x.name} of dtype '
                f"{x.dtype!r}"
            )
        return no_op(name="statically_determined_was_integer")


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Operation:
    """Raises `TypeError` where a tensor is of another dtype; else an operation without effect."""
    with name_scope(name, "assert_type", [tensor]):
        tensor, wanted = as_tensor(tensor, name="tensor"), as_dtype(tf_type)
        if tensor.base_dtype is not wanted:
            raise TypeError(
                f"{message or ''}{tensor.name} must be of type {wanted!r}; got {tensor.dtype!r}"
            )
        return no_op(name="statically_determined_correct_type")


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """The tensor. Raises `ValueError` where its shape is known and not that of a scalar."""
    with name_scope(name, "assert_scalar", [tensor]):
        tensor = as_tensor(tensor)
        if tensor.shape.ndims not in (None, 0):
            raise ValueError(
                f"{message or ''}Expected scalar shape for {tensor.name}, saw shape: "
                f"{tensor.shape}."
            )
        return tensor


def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: Any = None) -> DType:
    """The one floating dtype of tensors, or `dtype` (default: float32) without any. Raises
    `ValueError` where they differ or are no floats."""
    expected = None if dtype is None else as_dtype(dtype)
    first: Tensor | None = None
    for tensor in tensors or ():
        if tensor is None or tensor.dtype is None:
            continue
        if expected is None:
            expected, first = tensor.dtype, tensor
        if tensor.base_dtype is not expected:
            beside = f" as {first.name}" if first is not None else ""
            raise ValueError(
                f"{tensor.name}, type={tensor.dtype!r}, must be of the same type ({expected!r})"
                f"{beside}."
            )
    found = expected if expected is not None else as_dtype("float32")
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found!r}.")
    return found


def assert_proper_iterable(values: Any) -> None:
    """Raises `TypeError` for what is one value though it could be iterated over: a tensor, an
    array, text."""
    if isinstance(values, Tensor | np.ndarray | bytes | str) or not hasattr(values, "__iter__"):
        kind = type(values)
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {kind}')


def assert_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: Any = None,
) -> Tensor:
    """`t` again; a run fails with `InvalidArgumentError` and `msg` where it has an Inf or NaN. `t`:
    floats of any shape. Raises `TypeError` for other dtypes."""
    tensor, text = (t if t is not None else x), (msg if msg is not None else message)
    with name_scope(name, "VerifyFinite", [tensor]):
        tensor = as_tensor(tensor, name="t")
        return with_dependencies([check_numerics(tensor, text or "")], tensor)


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether something is a tensor of numbers. A Python bool. Raises nothing."""
    dtype = tensor.dtype if isinstance(tensor, Tensor) else None
    return dtype is not None and (dtype.is_integer or dtype.is_floating or dtype.is_complex)


def is_tensor(x: Any) -> bool:
    """Whether something stands for a tensor: one, a variable, or what is made of several. A Python
    bool. Raises nothing."""
    return isinstance(x, Tensor) or hasattr(x, "_as_graph_element") or hasattr(x, "components")


def _steps_compare(
    x: Any, name: str | None, default: str, compare: Callable[[Any, Any], Tensor]
) -> Tensor:
    with name_scope(name, default, [x]):
        flat = reshape(as_tensor(x, name="x"), [-1])
        return reduce_all(compare(flat[:-1], flat[1:]))


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """A bool scalar: whether no element of `x`, row by row, is below the one before it. Raises
    `TypeError` for dtypes without an order."""
    return _steps_compare(x, name, "is_non_decreasing", elementwise.less_equal)


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """A bool scalar: whether every element of `x`, row by row, is above the one before it. Raises
    `TypeError` for dtypes without an order."""
    return _steps_compare(x, name, "is_strictly_increasing", elementwise.less)
