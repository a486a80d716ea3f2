"""What TensorLists refuse, in TensorFlow's words, and what they give where elements were never
set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flowc as tf

r: Any = tf.raw_ops
F32, NO_SHAPE = tf.float32, np.array(-1, np.int32)


def _ints(*values: int) -> Any:
    return np.array(values, np.int32)


def _reserved(rows: int, shape: Any = NO_SHAPE) -> Any:
    return r.TensorListReserve(element_shape=shape, num_elements=rows, element_dtype=F32)


def _filled() -> Any:
    return r.TensorListFromTensor(
        tensor=tf.constant([[1.0, 2.0], [3.0, 4.0]]), element_shape=_ints(2)
    )


def _set(held: Any, index: int, item: Any = 1.0) -> Any:
    return r.TensorListSetItem(input_handle=held, index=index, item=item)


def _length(held: Any) -> Any:
    return r.TensorListLength(input_handle=held)


def _item(held: Any, index: int, shape: Any = NO_SHAPE) -> Any:
    return r.TensorListGetItem(
        input_handle=held, index=index, element_shape=shape, element_dtype=F32
    )


def _gathered(held: Any, *indices: int) -> Any:
    return r.TensorListGather(
        input_handle=held, indices=_ints(*indices), element_shape=NO_SHAPE, element_dtype=F32
    )


def _stacked(held: Any) -> Any:
    return r.TensorListStack(input_handle=held, element_shape=NO_SHAPE, element_dtype=F32)


def _joined(held: Any, shape: Any, *lengths: int) -> Any:
    return r.TensorListConcatV2(
        input_handle=held,
        element_shape=shape,
        leading_dims=np.array(lengths, np.int64),
        element_dtype=F32,
    )


def _scattered(values: Any, indices: Any, count: int = -1) -> Any:
    return r.TensorListScatterV2(
        tensor=values, indices=indices, element_shape=_ints(), num_elements=count
    )


def _split(value: Any, shape: Any, *lengths: int) -> Any:
    return r.TensorListSplit(tensor=value, element_shape=shape, lengths=np.array(lengths, np.int64))


def _empty(limit: int) -> Any:
    return r.EmptyTensorList(
        element_shape=_ints(), max_num_elements=np.int32(limit), element_dtype=F32
    )


def _pushed(held: Any, *items: Any) -> Any:
    for item in items:
        held = r.TensorListPushBack(input_handle=held, tensor=item)
    return held


def _push_counted(i: Any, held: Any) -> Any:
    return i + 1, _pushed(held, tf.cast(i, F32))


def _partly_set(*lengths: int) -> Any:
    """A list of four elements `[length, 3]`, of which the first ones are set: 1, 2, ..."""
    held = _reserved(4)
    for i, length in enumerate(lengths):
        held = _set(held, i, np.full((length, 3), 1.0 + i, np.float32))
    return held


def _open(value: Any) -> Any:
    return tf.placeholder_with_default(value, None)


THREE = np.array([1, 2, 3], np.float32)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "set beyond": (
        lambda: _length(_set(_reserved(2, _ints()), 2)),
        "Trying to modify element 2 in a list with 2 elements",
    ),
    "set fetched": (
        lambda: _set(_reserved(0, _ints()), 0),
        "Trying to modify element 0 in a list with 0 elements",
    ),
    "set shape": (
        lambda: _length(_set(_reserved(2, _ints()), 0, _open(np.ones(1, np.float32)))),
        r"at a list index. Item element shape: \[1\] list shape: \[\]",
    ),
    "get negative": (
        lambda: _item(_filled(), -1),
        "Trying to access element -1 in a list with 2 elements",
    ),
    "gather unset": (
        lambda: _gathered(_reserved(3), 0),
        "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape",
    ),
    "gather beyond": (
        lambda: _gathered(_reserved(3), 1, 3),
        "Trying to gather element 3 in a list with 3 elements",
    ),
    "stack unset": (
        lambda: _stacked(_reserved(3)),
        "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined",
    ),
    "concat unset": (
        lambda: _joined(_reserved(3), _ints(-1, 3), 2)[0],
        "uninitialized tensor at index 1 but leading_dims has only 1 elements",
    ),
    "push to a full list": (
        lambda: _length(_pushed(_empty(1), 1.0, 2.0)),
        "Tried to push item into a full list list size: 1 max_num_elements: 1",
    ),
    "push to a list that a loop fills": (
        lambda: _stacked(
            tf.while_loop(lambda i, _: i < 5, _push_counted, [tf.constant(0), _empty(3)])[1]
        ),
        "Tried to push item into a full list list size: 3 max_num_elements: 3",
    ),
    "concat partly set": (
        lambda: _joined(_partly_set(2, 4), NO_SHAPE, 1, 1, 1)[0],
        "List contains uninitialized tensor at index 3 but leading_dims has only 3 elements",
    ),
    "concat of another length": (
        lambda: _joined(_partly_set(2, 4), _ints(2, 3), 1, 1, 1, 1)[0],
        "First entry of element_shape input .* index: 1 Expected: 2 Actual: 4",
    ),
    "concat negative": (
        lambda: _joined(_partly_set(2, 2), NO_SHAPE, 1, 1, -1, 1)[0],
        "leading_dims must not be negative, found -1 at index 2",
    ),
    "concat of what a branch set": (
        lambda: _joined(
            tf.cond(tf.random.uniform([]) < 2, lambda: _partly_set(2, 2), lambda: _reserved(4)),
            NO_SHAPE,
            *(2, 2, 5, 2),
        )[0],
        "leading_dims has 5 at index 2 of a list whose elements are 2 long",
    ),
    "concat unset of no shape": (
        lambda: _joined(_reserved(3), NO_SHAPE)[0],
        "only uninitialized tensors but element_shape_except_first_dim is not .*: <unknown>",
    ),
    "add lengths": (
        lambda: _stacked(tf.add_n([_reserved(2, _ints()), _reserved(3, _ints())])),
        "lists of tensors with different lengths. One is 2 and the other is 3",
    ),
    "scatter beyond": (
        lambda: _length(_scattered([1.0, 2.0], _ints(1, 3), 3)),
        "TensorListScatter: Trying to scatter at index 3 in list with size 3",
    ),
    "scatter negative": (
        lambda: _length(_scattered([1.0, 2.0], _ints(-1, -2))),
        "Indices in TensorListScatter must all be non-negative",
    ),
    "scatter rows": (
        lambda: _length(_scattered(_open(np.ones(2, np.float32)), _ints(1, 0, 2))),
        "Invalid number of rows in input tensor. Expected: 3 Actual: 2",
    ),
    "scatter a scalar": (
        lambda: _length(_scattered(_open(np.float32(1)), _ints(1))),
        r"Tensor must be at least a vector, but saw shape: \[\]",
    ),
    "split too few": (
        lambda: _length(_split(THREE, NO_SHAPE, 1, 1)),
        "Unused values in tensor. Length of tensor: 3 Values used: 2",
    ),
    "split too many": (
        lambda: _length(_split(THREE, NO_SHAPE, 1, 5)),
        r"Attempting to slice \[1, 6\] from tensor with length 3",
    ),
    "split negative": (
        lambda: _length(_split(THREE, NO_SHAPE, -1, 4)),
        "Invalid value in lengths: -1",
    ),
    "split shape": (
        lambda: _length(_split(THREE[:, None], _open(_ints(1)), 1, 2)),
        r"tensor shape \[3,1\] is not compatible with element_shape \[1\]",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    make, words = REFUSED[case]
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=words),
    ):
        session.run(make())


def test_only_the_branch_that_runs_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        is_wrong = tf.placeholder(tf.bool, [])
        held = _reserved(2, _ints())
        found = tf.cond(is_wrong, lambda: _stacked(_set(held, 5)), lambda: tf.zeros([2]))
        assert session.run(found, {is_wrong: False}).tolist() == [0, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="modify element 5"):
            session.run(found, {is_wrong: True})


def test_unset_elements_are_as_long_as_stated() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tensor, lengths = session.run(_joined(_reserved(3), _ints(-1, 3), 2, 3, 5))
        assert (tensor.shape, tensor.any(), lengths.tolist()) == ((10, 3), False, [2, 3, 5])


@pytest.mark.parametrize(
    ("set_ones", "stated", "leading", "found"),
    [  # as TensorFlow joins them
        ((2, 2), -1, (), [2, 2, 2, 2]),
        ((2, 2), -1, (1, 1, 3), [2, 2, 3, 2]),
        ((2, 2), (2, 3), (9, 9, 1, 0), [2, 2, 1, 0]),
        ((2, 4), -1, (1, 1, 3, 1), [2, 4, 3, 1]),
        ((2, 4), (-1, 3), (1, 1, 3, 1, 7), [2, 4, 3, 1]),
        ((2, 4, 1, 1), -1, (9,), [2, 4, 1, 1]),
    ],
)
@pytest.mark.parametrize("fed", [False, True])
def test_leading_dims_are_those_of_unset_elements(
    set_ones: tuple[int, ...], stated: Any, leading: tuple[int, ...], found: list[int], fed: bool
) -> None:
    dims = np.array(leading, np.int64)
    with tf.Graph().as_default(), tf.Session() as session:
        tensor, lengths = session.run(
            r.TensorListConcatV2(
                input_handle=_partly_set(*set_ones),
                element_shape=np.array(stated, np.int32),
                leading_dims=_open(dims) if fed else dims,
                element_dtype=F32,
            )
        )
    assert lengths.tolist() == found
    numbers = [1.0 + i if i < len(set_ones) else 0.0 for i in range(4)]
    assert np.array_equal(tensor, np.repeat(numbers, found)[:, None] * np.ones(3))


def test_a_list_takes_as_many_elements_as_it_may_have() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        full = _pushed(_empty(2), 1.0, 2.0)
        rest, last = r.TensorListPopBack(
            input_handle=full, element_shape=_ints(), element_dtype=F32
        )
        assert session.run([last, _stacked(_pushed(rest, 3.0))])[1].tolist() == [1, 3]
        zeros = tf.zeros_like(full)
        assert zeros.op.type == "ZerosLike"
        assert session.run(_stacked(zeros)).tolist() == [0, 0]


def test_the_shape_that_a_reader_states_tells_only_what_is_not_set() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        held = r.TensorListPushBack(
            input_handle=r.EmptyTensorList(
                element_shape=NO_SHAPE, max_num_elements=-1, element_dtype=F32
            ),
            tensor=tf.constant([1.0, 2.0]),
        )
        last = r.TensorListPopBack(input_handle=held, element_shape=_ints(3), element_dtype=F32)
        assert session.run(_item(held, 0, _ints(3))).tolist() == [1, 2]
        assert session.run(last[1]).tolist() == [1, 2]
