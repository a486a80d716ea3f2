"""Two sparse tensors of equal sizes become one: sums, maxima, minima.

In: places [n, rank], values [n] and sizes [rank] of both, which the run knows. Out: host steps:
the places that one of them has, in row-major order, and what stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.sparse.sparse_places import (
    NUMERIC,
    ORDERED,
    Array,
    check_sparse,
    found_in,
    need_as_many,
    numbered,
    results,
    taken,
)


def _together(inputs: Sequence[Any]) -> tuple[Array, Array, Array, Array]:
    """The places of both, in order and once each, and which of them each has: positions, or -1."""
    a, _, sizes, b, _, other = inputs[:6]
    if sizes.tolist() != other.tolist():
        raise InvalidArgumentError("Operands' shapes do not match: got "
                                   f"{sizes.tolist()} and {other.tolist()}")  # fmt: skip
    both = numbered(np.concatenate([a, b]), sizes.tolist())
    places, first, inverse = np.unique(both, return_index=True, return_inverse=True)
    at = np.full((2, len(places)), -1)
    at[0, inverse[: len(a)]] = np.arange(len(a))
    at[1, inverse[len(a) :]] = np.arange(len(b))
    return np.concatenate([a, b])[first], at[0], at[1], sizes


def _add(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    indices, a, b, sizes = _together(inputs)
    found = taken(inputs[1], a) + taken(inputs[4], b)
    kept = np.abs(found) >= inputs[6]
    return results(indices[kept], found[kept], sizes)


def _infer_two(c: Inference, sized: bool) -> list[Dims]:
    check_sparse(c, 0, 1, 2)
    check_sparse(c, 3, 4, 5)
    count = c.fresh("n")
    return [(count, c.dims(0)[1]), (count,), *[c.dims(2)] * sized]


def _add_gradient(b: Any, node: Any, _: Any, dy: Any, *rest: Any) -> Any:
    a, other = node.inputs[0], node.inputs[3]
    to_a, to_other = b.sparse_add_grad(dy, a, other, node.outputs[0])
    return None, to_a, None, None, to_other


host_op(
    "sparse_add",
    "SparseAdd(a_indices: i64, a_values: T, a_shape: i64, b_indices: i64, b_values: T, b_shape:"
    f" i64, thresh: Treal; T: {NUMERIC}, Treal: {ORDERED}) -> sum_indices: i64, sum_values: T,"
    " sum_shape: i64",
    _add,
    infer=lambda c: _infer_two(c, True),
    gradient=_add_gradient,
)


def _add_grad(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    dy, a, b, summed = inputs
    return results(*(taken(dy, found_in(places, summed)) for places in (a, b)))


def _infer_add_grad(c: Inference) -> list[Dims]:
    c.need_ranks(1, 2, 2, 2)
    need_as_many(c, 3, "sum_indices")
    return [c.dims(1)[:1], c.dims(2)[:1]]


host_op(
    "sparse_add_grad",
    "SparseAddGrad(backprop_val_grad: T, a_indices: i64, b_indices: i64, sum_indices: i64; T:"
    f" {NUMERIC}) -> a_val_grad: T, b_val_grad: T",
    _add_grad,
    infer=_infer_add_grad,
)


def _extremum(choose: Any) -> Any:
    def function(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
        indices, a, b, _sizes = _together(inputs)
        return results(indices, choose(taken(inputs[1], a), taken(inputs[4], b)))

    return function


for _word, _choose, _kinds in (("Maximum", np.maximum, ORDERED), ("Minimum", np.minimum, NUMERIC)):
    host_op(
        f"sparse_sparse_{_word.lower()}",
        f"SparseSparse{_word}(a_indices: i64, a_values: T, a_shape: i64, b_indices: i64, b_values:"
        f" T, b_shape: i64; T: {_kinds}) -> output_indices: i64, output_values: T",
        _extremum(_choose),
        infer=lambda c: _infer_two(c, False),
    )
