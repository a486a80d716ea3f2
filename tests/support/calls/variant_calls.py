"""Calls of ops on maps and ragged tensors that variants hold: run by TensorFlow to be recorded, and
by flowc.

In: a module with TensorFlow's `raw_ops`, or its API. Out: `VARIANT_CALLS`, op -> functions that
give results, and `VARIANT_GRADIENTS`, functions that give gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[Any], Any]


def _insert(r: Any, held: Any, key: Any, value: Any) -> Any:
    return r.TensorMapInsert(input_handle=held, key=key, value=value)


def _made(r: Any, *items: tuple[Any, Any]) -> Any:
    held = r.EmptyTensorMap()
    for key, value in items:
        held = _insert(r, held, key, value)
    return held


def _found(r: Any, held: Any, key: Any, dtype: type = np.float32) -> Any:
    return r.TensorMapLookup(input_handle=held, key=key, value_dtype=dtype)


def _size(r: Any, held: Any) -> Any:
    return r.TensorMapSize(input_handle=held)


def _has(r: Any, held: Any, key: Any) -> Any:
    return r.TensorMapHasKey(input_handle=held, key=key)


ONE, TWO = np.float32(1), np.float32(2)
ROW = np.array([1.5, -2], np.float32)


def _numbers(r: Any) -> Any:
    return _made(r, (ONE, ROW), (TWO, np.int64(7)), (ROW, np.bool_(True)), (b"k", b"text"))


def _erased(r: Any) -> list[Any]:
    held = _numbers(r)
    left = r.TensorMapErase(input_handle=held, key=TWO, value_dtype=np.int64)
    return [_size(r, left), _size(r, held), _has(r, left, TWO), _has(r, left, ONE)]


SPLITS = np.array([0, 2, 2, 3], np.int64)
OUTER = np.array([0, 2, 3], np.int64)
VALUES = np.arange(6, dtype=np.float32).reshape(3, 2) - 2


def _encoded(r: Any, splits: list[Any], values: Any, batched: bool = True) -> Any:
    return r.RaggedTensorToVariant(
        rt_nested_splits=splits, rt_dense_values=values, batched_input=batched
    )


def _decoded(r: Any, held: Any, inner: int, outer: int, **more: Any) -> list[Any]:
    kinds = {"Tvalues": np.float32, "Tsplits": np.int64, **more}
    found = r.RaggedTensorFromVariant(
        encoded_ragged=held, input_ragged_rank=inner, output_ragged_rank=outer, **kinds
    )
    return [*found[0], found[1]]


_WAYS: list[Call] = [
    lambda r: _decoded(r, _encoded(r, [SPLITS], VALUES), 0, 1),
    lambda r: _decoded(r, _encoded(r, [SPLITS], VALUES), -1, 1, Tsplits=np.int32),
    lambda r: _decoded(r, _encoded(r, [SPLITS], VALUES, False), 1, 1),
    lambda r: _decoded(r, _encoded(r, [OUTER, SPLITS], VALUES), 1, 2),
    lambda r: _decoded(r, _encoded(r, [OUTER, SPLITS], VALUES, False), 2, 2),
    lambda r: _decoded(r, _encoded(r, [], VALUES), 0, 1),
    lambda r: _decoded(r, _encoded(r, [], VALUES)[1], 0, 0),
    lambda r: _decoded(r, _encoded(r, [SPLITS], VALUES)[:0], 0, 1),
    lambda r: _decoded(r, r.Reshape(tensor=_encoded(r, [SPLITS], VALUES), shape=[1, 3]), 0, 2),
    lambda r: _decoded(
        r, r.Pack(values=[_encoded(r, [SPLITS], v, False) for v in (VALUES, -VALUES)]), 1, 2
    ),
    lambda r: _decoded(r, r.AddN(inputs=[_encoded(r, [SPLITS], VALUES, False)] * 2), 1, 1),
    lambda r: _decoded(r, r.ZerosLike(x=_encoded(r, [SPLITS], VALUES, False)), 1, 1),
]


def _values_of(r: Any, held: Any, rows: Any) -> Any:
    return r.RaggedTensorToVariantGradient(
        encoded_ragged_grad=held, row_splits=rows, dense_values_shape=[3, 2], Tvalues=np.float32
    )


VARIANT_CALLS: dict[str, list[Call]] = {
    "EmptyTensorMap": [lambda r: [_size(r, r.EmptyTensorMap()), _has(r, r.EmptyTensorMap(), ONE)]],
    "TensorMapInsert": [
        lambda r: _size(r, _numbers(r)),
        lambda r: _found(r, _insert(r, _numbers(r), ONE, np.float32(9)), ONE),
        lambda r: _size(r, _found(r, _made(r, (ONE, _numbers(r))), ONE, r_variant(r))),
    ],
    "TensorMapLookup": [
        lambda r: [
            _found(r, _numbers(r), ONE),
            _found(r, _numbers(r), TWO, np.int64),
            _found(r, _numbers(r), ROW, np.bool_),
            _found(r, _numbers(r), b"k", np.object_),
        ],
        lambda r: _found(r, r.AddN(inputs=[_made(r, (ONE, ROW)), _made(r, (ONE, ROW))]), ONE),
    ],
    "TensorMapHasKey": [
        lambda r: [
            _has(r, _numbers(r), key)
            for key in (
                ONE,
                np.float64(1),
                np.ones(1, np.float32),
                np.float32("nan"),
                b"k",
                b"l",
                ROW,
            )
        ],
        lambda r: [
            _has(r, _made(r, (np.float32(0), ROW), (np.float32("nan"), ROW)), np.float32(key))
            for key in (0.0, -0.0, "nan")
        ],
    ],
    "TensorMapErase": [_erased],
    "TensorMapSize": [
        lambda r: _size(r, r.AddN(inputs=[_made(r, (ONE, ROW)), _made(r, (TWO, ROW))])),
        lambda r: _size(r, r.ZerosLike(x=_numbers(r))),
    ],
    "TensorMapStackKeys": [
        lambda r: r.TensorMapStackKeys(input_handle=_made(r, (ROW, ONE)), key_dtype=np.float32),
    ],
    "RaggedTensorToVariant": _WAYS[:7],
    "RaggedTensorFromVariant": _WAYS[7:],
    "RaggedTensorToVariantGradient": [
        lambda r: _values_of(r, _encoded(r, [SPLITS], VALUES), SPLITS),
        lambda r: _values_of(r, _encoded(r, [OUTER, SPLITS], VALUES), OUTER),
        lambda r: _values_of(r, _encoded(r, [SPLITS], VALUES, False), SPLITS),
    ],
}


def r_variant(r: Any) -> Any:
    """The dtype of variants, as the module with `raw_ops` has it."""
    return r.EmptyTensorMap().dtype


def _slope(tf: Any, function: Callable[[Any, Any], Any], value: Any) -> Any:
    given = tf.constant(value)
    found = function(tf.raw_ops, given)
    return tf.gradients(found, [given], tf.ones_like(found) * 2.0 + found)[0]


def _squares(r: Any, x: Any, splits: list[Any], inner: int, outer: int) -> Any:
    *_, values = _decoded(r, _encoded(r, splits, x * x, inner < outer), inner, outer)
    return values


VARIANT_GRADIENTS: dict[str, Call] = {
    "ragged_rows": lambda tf: _slope(tf, lambda r, x: _squares(r, x, [SPLITS], 0, 1), VALUES),
    "ragged_whole": lambda tf: _slope(tf, lambda r, x: _squares(r, x, [SPLITS], 1, 1), VALUES),
    "ragged_levels": lambda tf: _slope(
        tf, lambda r, x: _squares(r, x, [OUTER, SPLITS], 1, 2), VALUES
    ),
    "rows_of_a_matrix": lambda tf: _slope(tf, lambda r, x: _squares(r, x, [], 0, 1), VALUES),
    "map": lambda tf: _slope(
        tf, lambda r, x: _found(r, _made(r, (ONE, x * x), (TWO, x), (ONE, x * x * x)), ONE), ROW
    ),
    "map_read_twice": lambda tf: _slope(
        tf,
        lambda r, x: (lambda held: _found(r, held, ONE) + 3.0 * _found(r, held, TWO))(
            _made(r, (ONE, x * x), (TWO, x))
        ),
        ROW,
    ),
    "map_erased": lambda tf: _slope(
        tf,
        lambda r, x: _found(
            r,
            r.TensorMapErase(
                input_handle=_made(r, (ONE, x * x), (TWO, x)), key=TWO, value_dtype=np.float32
            ),
            ONE,
        ),
        ROW,
    ),
}
