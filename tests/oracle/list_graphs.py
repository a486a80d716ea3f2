"""Graphs of a few raw ops on TensorArrays, TensorLists and stacks, for record_list_graphs.py.

In: `x`, f32[n,3]. Out: by name, what builds a graph's fetches; and the objects and functions that
graphs of lists are written with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import tensorflow as tf

raw = tf.raw_ops
f32 = tf.float32
Build = Callable[[Any], Sequence[Any]]


# -- TensorArrays


class Array:
    """A TensorArrayV3 whose ops follow one another."""

    def __init__(self, size: Any = 3, handle: Any = None, flow: Any = None, **attrs: Any) -> None:
        self.handle, self.flow = handle, flow
        if handle is None:
            made = raw.TensorArrayV3(size=size, dtype=f32, name="ta", **attrs)
            self.handle, self.flow = made.handle, made.flow

    def write(self, index: Any, value: Any) -> Array:
        self.flow = raw.TensorArrayWriteV3(
            handle=self.handle, index=index, value=value, flow_in=self.flow
        )
        return self

    def scatter(self, indices: Any, value: Any) -> Array:
        self.flow = raw.TensorArrayScatterV3(
            handle=self.handle, indices=indices, value=value, flow_in=self.flow
        )
        return self

    def split(self, value: Any, lengths: Any) -> Array:
        self.flow = raw.TensorArraySplitV3(
            handle=self.handle, value=value, lengths=tf.constant(lengths, tf.int64),
            flow_in=self.flow,
        )  # fmt: skip
        return self

    def read(self, index: Any, dtype: Any = f32) -> Any:
        value = raw.TensorArrayReadV3(
            handle=self.handle, index=index, flow_in=self.flow, dtype=dtype
        )
        with tf.control_dependencies([value]):
            self.flow = tf.identity(self.flow)
        return value

    def gather(self, indices: Any, **attrs: Any) -> Any:
        value = raw.TensorArrayGatherV3(
            handle=self.handle, indices=tf.constant(indices, tf.int32), flow_in=self.flow,
            dtype=f32, **attrs,
        )  # fmt: skip
        with tf.control_dependencies([value]):
            self.flow = tf.identity(self.flow)
        return value

    def concat(self, **attrs: Any) -> Any:
        return raw.TensorArrayConcatV3(handle=self.handle, flow_in=self.flow, dtype=f32, **attrs)

    def size(self) -> Any:
        return raw.TensorArraySizeV3(handle=self.handle, flow_in=self.flow)

    def gradient(self) -> Array:
        made = raw.TensorArrayGradV3(handle=self.handle, flow_in=self.flow, source="s")
        return Array(handle=made.grad_handle, flow=made.flow_out)

    def larger_gradient(self, prepended: Any) -> Array:
        made = raw.TensorArrayGradWithShape(
            handle=self.handle, flow_in=self.flow, shape_to_prepend=prepended, source="s"
        )
        return Array(handle=made.grad_handle, flow=made.flow_out)


ROWS: list[Any] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
NOT_YET = {"clear_after_read": False}
KNOWN = {"element_shape": [2]}
ALIKE = {"identical_element_shapes": True}


def twice_read(array: Array) -> list[Any]:
    return [array.read(0), array.read(0)]


def written_after_read(array: Array) -> list[Any]:
    first = array.read(0)
    return [first, array.write(0, [8.0, 9.0]).read(0)]


def both_gradients(array: Array) -> list[Any]:
    return [array.gradient().write(0, [1.0, 1.0]).gather([0, 1, 2])]


ARRAYS: dict[str, Build] = {
    "write_read": lambda x: [Array().write(1, x[0]).read(1)],
    "write_past": lambda x: [Array().write(5, x[0]).flow],
    "write_before": lambda x: [Array().write(-1, x[0]).flow],
    "read_past": lambda x: [Array().write(0, x[0]).read(3)],
    "write_twice": lambda x: [Array().write(0, x[0]).write(0, x[1]).read(0)],
    "read_twice": lambda x: twice_read(Array().write(0, x[0])),
    "read_twice_kept": lambda x: twice_read(Array(**NOT_YET).write(0, x[0])),
    "write_after_read": lambda x: written_after_read(Array().write(0, x[0, :2])),
    "unwritten": lambda x: [Array().write(0, x[0]).read(1)],
    "unwritten_kept": lambda x: [Array(**NOT_YET).write(0, x[0]).read(1)],
    "unwritten_alike": lambda x: [Array(**ALIKE).write(0, x[0]).read(1)],
    "unwritten_known": lambda x: [Array(**KNOWN).read(1)],
    "unwritten_partial": lambda x: [Array(element_shape=[None, 2]).read(1)],
    "mismatch_partial": lambda x: [Array(element_shape=[None, 2]).write(0, x[0]).flow],
    "mismatch_alike": lambda x: [Array(**ALIKE).write(0, x[0]).write(1, x[0, :1]).flow],
    "write_dtype": lambda x: [Array().write(0, tf.cast(x, tf.int32)).flow],
    "read_dtype": lambda x: [Array().write(0, x).read(0, tf.int32)],
    "gather": lambda x: [Array(**KNOWN).scatter([0, 1, 2], ROWS).gather([2, 0])],
    "gather_all": lambda x: [Array().scatter([0, 1, 2], ROWS).gather([0, 1, 2])],
    "gather_unwritten": lambda x: [Array().write(0, x[0]).gather([0, 1, 2])],
    "gather_unwritten_stated": lambda x: [
        Array().write(0, x[0, :2]).gather([0, 1, 2], element_shape=[2])
    ],
    "gather_unwritten_alike": lambda x: [Array(**ALIKE).write(0, x[0]).gather([0, 1, 2])],
    "gather_past": lambda x: [Array(**KNOWN).gather([0, 4])],
    "gather_again": lambda x: [Array(**KNOWN).gather([0, 0])],
    "gather_none": lambda x: [Array().gather([])],
    "gather_none_stated": lambda x: [Array(0).gather([], element_shape=[2])],
    "gather_mismatch": lambda x: [
        Array(2, **KNOWN).write(0, x[0, :2]).gather([0, 1], element_shape=[3])
    ],
    "concat": lambda x: [*Array().scatter([2, 0, 1], ROWS).concat()],
    "concat_none": lambda x: [*Array(0).concat()],
    "concat_scalars": lambda x: [*Array(1).write(0, x[0, 0]).concat()],
    "concat_zeros": lambda x: [*Array(2, element_shape=[2, 3]).write(0, x[:2]).concat()],
    "concat_unwritten": lambda x: [*Array(2).write(0, x).concat()],
    "scatter_past": lambda x: [Array(2).scatter([0, 2], x[:2]).flow],
    "scatter_grows": lambda x: [Array(2, dynamic_size=True).scatter([0, 5], x[:2]).size()],
    "scatter_twice": lambda x: [Array().scatter([0, 0], x[:2]).read(0)],
    "split": lambda x: [Array().split(tf.reshape(x, [15]), [5, 5, 5]).read(2)],
    "split_lengths": lambda x: [
        Array(2).split(tf.reshape(x, [15]), [5, 5]).read(1)
    ],
    "write_grows": lambda x: [
        Array(2, dynamic_size=True, **KNOWN).write(4, x[0, :2]).gather([4, 3]),
        Array(2, dynamic_size=True).write(4, x).size(),
    ],
    "negative_size": lambda x: [Array(-1).size()],
    "size_of_run": lambda x: [Array(tf.shape(x)[0], **KNOWN).size()],
    "gradient_adds": lambda x: [
        Array(2).scatter([0, 1], x[:2]).gradient().write(0, x[1]).write(0, x[2]).gather([0, 1])
    ],
    "gradient_read_twice": lambda x: twice_read(
        Array(2).write(0, x[0]).gradient().write(0, x[1])
    ),
    "gradient_unwritten": lambda x: both_gradients(Array().scatter([0, 1, 2], ROWS)),
    "gradient_with_shape": lambda x: [
        Array(2).write(0, x[0, 0]).larger_gradient([3]).write(0, x[1]).read(0)
    ],
    "gradient_scatter_again": lambda x: [
        Array(2).scatter([0, 1], x[:2]).gradient().scatter([0, 0], x[:2]).gather([0, 1])
    ],
}  # fmt: skip


# -- TensorLists


def shape(dims: Any) -> Any:
    return tf.constant(dims, tf.int32)


def reserve(rows: Any, dims: Any = (2,)) -> Any:
    return raw.TensorListReserve(element_shape=shape(dims), num_elements=rows, element_dtype=f32)


def empty(dims: Any = (2,), dtype: Any = f32) -> Any:
    return raw.EmptyTensorList(element_shape=shape(dims), max_num_elements=-1, element_dtype=dtype)


def rows_of(tensor: Any, dims: Any = -1) -> Any:
    return raw.TensorListFromTensor(tensor=tensor, element_shape=shape(dims))


def item(held: Any, index: Any, dims: Any = (2,)) -> Any:
    return raw.TensorListGetItem(
        input_handle=held, index=index, element_shape=shape(dims), element_dtype=f32
    )


def put(held: Any, index: Any, value: Any, grow: bool = False) -> Any:
    return raw.TensorListSetItem(
        input_handle=held, index=index, item=value, resize_if_index_out_of_bounds=grow
    )


def stack(held: Any, dims: Any = (2,), count: int = -1) -> Any:
    return raw.TensorListStack(
        input_handle=held, element_shape=shape(dims), element_dtype=f32, num_elements=count
    )


def push(held: Any, *values: Any) -> Any:
    for value in values:
        held = raw.TensorListPushBack(input_handle=held, tensor=value)
    return held


def pop(held: Any, dims: Any = (2,), dtype: Any = f32) -> Any:
    return raw.TensorListPopBack(input_handle=held, element_shape=shape(dims), element_dtype=dtype)


def length(held: Any) -> Any:
    return raw.TensorListLength(input_handle=held)


def concat(held: Any, dims: Any = (-1,)) -> list[Any]:
    return [
        *raw.TensorListConcatV2(
            input_handle=held, element_shape=shape(dims),
            leading_dims=tf.constant([], tf.int64), element_dtype=f32,
        )
    ]  # fmt: skip


def scatter(tensor: Any, indices: Any, rows: int = -1) -> Any:
    return raw.TensorListScatterV2(
        tensor=tensor, indices=indices, element_shape=shape([2]), num_elements=rows
    )


def resize(held: Any, rows: Any) -> Any:
    return raw.TensorListResize(input_handle=held, size=rows)


def gather(held: Any, indices: Any, dims: Any = (2,)) -> Any:
    return raw.TensorListGather(
        input_handle=held, indices=tf.constant(indices, tf.int32), element_shape=shape(dims),
        element_dtype=f32,
    )  # fmt: skip


def split(tensor: Any, lengths: Any) -> Any:
    return raw.TensorListSplit(
        tensor=tensor, element_shape=shape(-1), lengths=tf.constant(lengths, tf.int64)
    )


def scatter_into(held: Any, tensor: Any, indices: Any) -> Any:
    return raw.TensorListScatterIntoExistingList(input_handle=held, tensor=tensor, indices=indices)


def element_shape(held: Any) -> Any:
    return raw.TensorListElementShape(input_handle=held, shape_type=tf.int32)


def nested(x: Any) -> list[Any]:
    inner = [push(empty([]), x[i, 0], x[i, 1]) for i in range(2)]
    rest, last = pop(push(empty([], tf.variant), *inner), [], tf.variant)
    return [stack(last, []), length(rest)]


LISTS: dict[str, Build] = {
    "set_get": lambda x: [item(put(reserve(3), 1, x[0, :2]), 1)],
    "get_past": lambda x: [item(reserve(3), 3)],
    "get_before": lambda x: [item(reserve(3), -1)],
    "get_unset": lambda x: [item(reserve(3), 1)],
    "get_unset_unknown": lambda x: [item(reserve(3, -1), 1, -1)],
    "get_unset_stated": lambda x: [item(reserve(3, -1), 1, [2])],
    "set_past": lambda x: [stack(put(reserve(3), 3, x[0, :2]))],
    "set_grows": lambda x: [stack(put(reserve(3), 4, x[0, :2], True))],
    "stack_unset": lambda x: [stack(put(reserve(3, -1), 1, x[0]), -1)],
    "stack_count": lambda x: [stack(reserve(3), [2], 4)],
    "stack_none_unknown": lambda x: [stack(reserve(0, -1), -1)],
    "stack_none": lambda x: [stack(reserve(0))],
    "reserve_negative": lambda x: [length(reserve(-2))],
    "push": lambda x: [stack(push(empty([3]), x[1], x[0]), [3])],
    "pop": lambda x: [pop(push(empty(), x[0, :2], x[1, :2]))[1], length(pop(reserve(2))[0])],
    "pop_none": lambda x: [pop(empty())[1]],
    "pop_unset_unknown": lambda x: [pop(reserve(2, -1), -1)[1]],
    "from_tensor": lambda x: [stack(rows_of(x), [3]), length(rows_of(x))],
    "element_shape": lambda x: [
        element_shape(rows_of(x, [3])),
        element_shape(rows_of(x)),
        element_shape(rows_of(x, [-1])),
    ],
    "concat": lambda x: concat(rows_of(x)),
    "concat_unset": lambda x: concat(reserve(3)),
    "concat_scalars": lambda x: concat(rows_of(x[0])),
    "concat_none": lambda x: concat(empty([2]), [2]),
    "concat_lists": lambda x: [
        stack(
            raw.TensorListConcatLists(input_a=rows_of(x), input_b=rows_of(-x), element_dtype=f32),
            [3],
        )
    ],
    "split": lambda x: [stack(split(tf.reshape(x, [15]), [5, 5, 5]), [5])],
    "split_rest": lambda x: [length(split(tf.reshape(x, [15]), [5, 5]))],
    "resize_up": lambda x: [stack(resize(rows_of(x), 7), [3])],
    "resize_down": lambda x: [stack(resize(rows_of(x), 2), [3])],
    "resize_negative": lambda x: [stack(resize(rows_of(x), -1), [3])],
    "gather": lambda x: [gather(rows_of(x), [1, 0, 1], [3])],
    "gather_past": lambda x: [gather(rows_of(x), [1, 5], [3])],
    "gather_unset": lambda x: [gather(reserve(3), [1, 2])],
    "gather_none_unknown": lambda x: [gather(reserve(3, -1), [], -1)],
    "scatter": lambda x: [stack(scatter(x[:2, :2], [2, 0]))],
    "scatter_rows": lambda x: [stack(scatter(x[:2, :2], [2, 0], 5))],
    "scatter_past": lambda x: [stack(scatter(x[:2, :2], [2, 0], 2))],
    "scatter_again": lambda x: [stack(scatter(x[:2, :2], [0, 0]))],
    "scatter_into": lambda x: [stack(scatter_into(rows_of(x), x[:1], [1]), [3])],
    "scatter_into_past": lambda x: [stack(scatter_into(rows_of(x), x[:1], [5]), [3])],
    "zeros_like": lambda x: [stack(tf.zeros_like(rows_of(x)), [3])],
    "add_n": lambda x: [stack(tf.add_n([rows_of(x), rows_of(x * 2)]), [3])],
    "nested": nested,
}


# -- stacks


class Stack:
    def __init__(self, elem_type: Any = f32) -> None:
        self.elem_type = elem_type
        self.handle = raw.StackV2(max_size=-1, elem_type=elem_type, stack_name="s")
        self.last: list[Any] = []

    def push(self, value: Any) -> Stack:
        with tf.control_dependencies(self.last):
            self.last = [raw.StackPushV2(handle=self.handle, elem=value)]
        return self

    def pop(self) -> Any:
        with tf.control_dependencies(self.last):
            self.last = [raw.StackPopV2(handle=self.handle, elem_type=self.elem_type)]
        return self.last[0]


def popped(stack: Stack, count: int) -> list[Any]:
    return [stack.pop() for _ in range(count)]


STACKS: dict[str, Build] = {
    "stack_pop": lambda x: popped(Stack().push(x[0]).push(x[1]).push(x[2]), 2),
    "stack_pop_none": lambda x: popped(Stack().push(x[0]), 2),
    "stack_of_shapes": lambda x: [
        tf.reshape(tf.range(15), Stack(tf.int32).push(tf.shape(x)).pop())
    ],
    "stack_push_gives": lambda x: Stack().push(x).last,
}
