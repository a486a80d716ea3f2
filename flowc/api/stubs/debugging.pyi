# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "check_numerics",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.framework.assertions import assert_all_finite as assert_all_finite
from flowc.api.framework.assertions import assert_integer as assert_integer
from flowc.api.framework.assertions import assert_near as assert_near
from flowc.api.framework.assertions import assert_proper_iterable as assert_proper_iterable
from flowc.api.framework.assertions import assert_same_float_dtype as assert_same_float_dtype
from flowc.api.framework.assertions import assert_scalar as assert_scalar
from flowc.api.framework.assertions import assert_type as assert_type
from flowc.api.framework.assertions import is_non_decreasing as is_non_decreasing
from flowc.api.framework.assertions import is_numeric_tensor as is_numeric_tensor
from flowc.api.framework.assertions import is_strictly_increasing as is_strictly_increasing
from flowc.api.framework.basics import check_numerics as check_numerics
from flowc.api.framework.checks import Assert as Assert
from flowc.api.framework.shape_assertions import assert_shapes as assert_shapes
from flowc.api.stubs.math import is_finite as is_finite
from flowc.api.stubs.math import is_inf as is_inf
from flowc.api.stubs.math import is_nan as is_nan

def assert_equal(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x == y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_greater(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x > y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_greater_equal(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x >= y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_less(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x < y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_less_equal(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x <= y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_negative(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x < 0` does not hold in every element. Raises
    `InvalidArgumentError` where x is a constant of which it does not hold."""
def assert_non_negative(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x >= 0` does not hold in every element. Raises
    `InvalidArgumentError` where x is a constant of which it does not hold."""
def assert_non_positive(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x <= 0` does not hold in every element. Raises
    `InvalidArgumentError` where x is a constant of which it does not hold."""
def assert_none_equal(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x != y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_positive(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x > 0` does not hold in every element. Raises
    `InvalidArgumentError` where x is a constant of which it does not hold."""
def assert_rank(x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where the rank of `x` is not equal to `rank`.
    Raises `ValueError` where the rank is known and another one."""
def assert_rank_at_least(x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where the rank of `x` is not at least `rank`.
    Raises `ValueError` where the rank is known and another one."""
def assert_rank_in(x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where the rank of `x` is not in `rank`.
    Raises `ValueError` where the rank is known and another one."""
