"""Elementwise functions and operators of ragged tensors.

In: `RaggedTensor`s of the same rows, scalars, and columns of a number a row. Out: a `RaggedTensor`
of these rows. Invariant: a run checks that rows which are not the same tensors are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc import dtypes
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import reshape
from flowc.api.framework.basics import cast
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import with_dependencies
from flowc.api.math import elementwise
from flowc.api.math.reductions import reduce_all
from flowc.graph import Operation
from flowc.graph.building.conversion import as_tensor

Function = Callable[..., Any]


def over_rows(function: Function, *operands: Any, name: str | None = None) -> Any:
    """What `function` makes of the innermost values of the ragged ones among its operands, in their
    rows. Raises `ValueError` for other tensors than scalars beside them, and for another depth of
    rows; a run raises `InvalidArgumentError` where rows differ."""
    ragged = [x for x in operands if hasattr(x, "with_flat_values")]
    first = ragged[0]
    checks = [check for other in ragged[1:] for check in _same_rows(first, other)]
    plain = [_plain(x, first) for x in operands]
    values = function(*plain, name=name)
    return first.with_flat_values(with_dependencies(checks, values) if checks else values)


def _plain(operand: Any, ragged: Any) -> Any:
    if hasattr(operand, "with_flat_values"):
        return operand.flat_values
    tensor = as_tensor(operand, preferred=ragged.dtype)
    if tensor.shape.ndims == 0:
        return tensor
    if tensor.shape.ndims == 2 and tensor.shape[1] == 1 and ragged.ragged_rank == 1:
        return gather(reshape(tensor, [-1]), ragged.value_rowids())  # a number a row
    raise ValueError(
        f"{tensor} beside a RaggedTensor: expected a scalar, a number for each row, or a "
        "RaggedTensor of the same rows; to_tensor() makes a tensor of the rows"
    )


def _same_rows(first: Any, other: Any) -> list[Operation]:
    if first.ragged_rank != other.ragged_rank:
        raise ValueError(
            f"RaggedTensors of {first.ragged_rank} and of {other.ragged_rank} ragged axes"
        )
    pairs = [(x, y) for x, y in zip(first.nested_row_splits, other.nested_row_splits) if x is not y]
    text = "the rows of RaggedTensors must be the same: "
    wide = [[cast(splits, dtypes.i64) for splits in pair] for pair in pairs]
    return [Assert(reduce_all(elementwise.equal(x, y)), [text, x, y]) for x, y in wide]


def _operator(function: Function, reflected: bool = False) -> Function:
    def operator(self: Any, *others: Any) -> Any:
        operands = (self, *others)
        return over_rows(function, *(operands[::-1] if reflected else operands))

    return operator


def _both(function: Function) -> tuple[Function, Function]:
    """The operator, and its reflected form (`__radd__` and the like)."""
    return _operator(function), _operator(function, reflected=True)


class RaggedOperators:
    """The operators that Python has for numbers, elementwise; `==` asks whether two are one."""

    __add__, __radd__ = _both(elementwise.add)
    __sub__, __rsub__ = _both(elementwise.subtract)
    __mul__, __rmul__ = _both(elementwise.multiply)
    __truediv__, __rtruediv__ = _both(elementwise.truediv)
    __floordiv__, __rfloordiv__ = _both(elementwise.floordiv)
    __mod__, __rmod__ = _both(elementwise.floormod)
    __pow__, __rpow__ = _both(elementwise.pow)
    __and__, __rand__ = _both(elementwise.logical_and)
    __or__, __ror__ = _both(elementwise.logical_or)
    __xor__, __rxor__ = _both(elementwise.logical_xor)
    __lt__, __le__ = _operator(elementwise.less), _operator(elementwise.less_equal)
    __gt__, __ge__ = _operator(elementwise.greater), _operator(elementwise.greater_equal)
    __neg__, __abs__ = _operator(elementwise.negative), _operator(elementwise.abs)
    __invert__ = _operator(elementwise.logical_not)
