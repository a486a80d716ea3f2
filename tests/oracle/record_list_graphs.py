#!/usr/bin/env python3
"""Records graphs with TensorArrays, TensorLists and stacks, and what TensorFlow makes of them.

    V/bin/python tests/oracle/record_list_graphs.py    # V has tensorflow-cpu==2.21.0

Out: tests/data/lists/graphs.npz. For each case its GraphDef, what `x` is fed with, and either the
fetched arrays `y0`, `y1`... or the message of the error that the run ends in. `calls` are graphs of
a few raw ops; `programs` are loops as users write them, with gradients, each with frames (v1) and
with functions (v2).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np
import tensorflow as tf

FOLDER = Path(__file__).resolve().parents[1] / "data" / "lists"
v1 = tf.compat.v1
raw = tf.raw_ops
f32 = tf.float32
X = np.random.RandomState(7).normal(size=(5, 3)).astype(np.float32)
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


# -- programs


def summed_gradient(y: Any, x: Any) -> Any:
    return tf.convert_to_tensor(tf.gradients(y, x)[0])


def recurrent(x: Any) -> list[Any]:
    n = tf.shape(x)[0]
    xs = tf.TensorArray(f32, n).unstack(x)

    def body(i: Any, h: Any, ys: Any) -> Any:
        h = tf.tanh(h * 0.5 + xs.read(i))
        return i + 1, h, ys.write(i, h)

    start = [0, tf.zeros([3]), tf.TensorArray(f32, n)]
    _, h, ys = tf.while_loop(lambda i, *_: i < n, body, start)
    y = ys.stack()
    return [y, h, summed_gradient(tf.reduce_sum(y * y) + tf.reduce_sum(h), x)]


def growing(x: Any) -> list[Any]:
    def body(i: Any, s: Any, ys: Any) -> Any:
        return i + 1, s + tf.reduce_sum(x * x), ys.write(i, s * x[0])

    start = [0, tf.constant(0.0), tf.TensorArray(f32, 0, dynamic_size=True)]
    _, _, ys = tf.while_loop(lambda i, s, _: tf.logical_and(i < 20, s < 70.0), body, start)
    return [ys.size(), ys.stack()]


def concatenated(x: Any) -> list[Any]:
    n = tf.shape(x)[0]

    def body(i: Any, ys: Any) -> Any:
        return i + 1, ys.write(i, tf.tile(tf.gather(x, [i]), [2, 1]))

    _, ys = tf.while_loop(lambda i, _: i < n, body, [0, tf.TensorArray(f32, n)])
    y = ys.concat()
    return [y, summed_gradient(tf.reduce_sum(y**3), x)]


def gathered(x: Any) -> list[Any]:
    xs = tf.TensorArray(f32, tf.shape(x)[0], clear_after_read=False).unstack(x)
    y, z = xs.gather([1, 0, 1]), xs.read(2)
    return [y, z, summed_gradient([tf.reduce_sum(y * y), tf.reduce_sum(z**3)], x)]


def array_of_arrays(x: Any) -> list[Any]:
    n = tf.shape(x)[0]

    def outer(i: Any, ys: Any) -> Any:
        def body(j: Any, inner: Any) -> Any:
            return j + 1, inner.write(j, x[i, j] * tf.cast(j + 1, f32))

        _, inner = tf.while_loop(lambda j, _: j < 3, body, [0, tf.TensorArray(f32, 3)])
        return i + 1, ys.write(i, inner.stack())

    _, ys = tf.while_loop(lambda i, _: i < n, outer, [0, tf.TensorArray(f32, n)])
    return [ys.stack()]


def product_gradient(x: Any) -> list[Any]:
    n = tf.shape(x)[0]

    def body(i: Any, y: Any) -> Any:
        return i + 1, y * tf.sin(y + tf.gather(x, i))

    _, y = tf.while_loop(lambda i, _: i < n, body, [0, tf.ones([3])])
    return [y, summed_gradient(y, x)]


def nested_gradient(x: Any) -> list[Any]:
    def outer(i: Any, s: Any) -> Any:
        def body(j: Any, t: Any) -> Any:
            return j + 1, t * tf.cos(s + tf.gather(x, j))

        _, t = tf.while_loop(lambda j, _: j < 3, body, [0, s])
        return i + 1, t + s

    _, s = tf.while_loop(lambda i, _: i < 4, outer, [0, tf.ones([3])])
    return [s, summed_gradient(s, x)]


def conditional_writes(x: Any) -> list[Any]:
    n = tf.shape(x)[0]

    def body(i: Any, ys: Any) -> Any:
        row = tf.gather(x, i)
        positive = tf.reduce_sum(row) > 0
        return i + 1, tf.cond(positive, lambda: ys.write(i, row), lambda: ys.write(i, row * -2.0))

    _, ys = tf.while_loop(lambda i, _: i < n, body, [0, tf.TensorArray(f32, n)])
    return [ys.stack()]


def mapped(x: Any) -> list[Any]:
    y = tf.map_fn(lambda row: tf.nn.softmax(row) * 2, x)
    z = tf.scan(lambda a, row: a + row, x)
    return [y, z, summed_gradient([tf.reduce_sum(y**2), tf.reduce_sum(z**2)], x)]


def written_twice(x: Any) -> list[Any]:
    def body(i: Any, ys: Any) -> Any:
        return i + 1, ys.write(tf.maximum(i, 1), x[0])

    _, ys = tf.while_loop(lambda i, _: i < 3, body, [0, tf.TensorArray(f32, 3)])
    return [ys.stack()]


PROGRAMS: dict[str, Build] = {
    f.__name__: f
    for f in (
        recurrent, growing, concatenated, gathered, array_of_arrays, product_gradient,
        nested_gradient, conditional_writes, mapped, written_twice,
    )
}  # fmt: skip


# -- TensorArrays of the versions before, which TensorFlow takes in graphs of their time


def old_node(name: str, op: str, inputs: Sequence[str], **attrs: Any) -> Any:
    node = v1.NodeDef(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        if isinstance(value, str):
            node.attr[key].s = value.encode()
        elif isinstance(value, np.ndarray):
            node.attr[key].tensor.CopyFrom(tf.make_tensor_proto(value))
        else:
            node.attr[key].type = value.as_datatype_enum
    return node


def old_const(name: str, value: Any) -> Any:
    array = np.asarray(value)
    return old_node(name, "Const", [], dtype=tf.as_dtype(array.dtype), value=array)


def old_graph(version: str, producer: int, put: Any, take: Any) -> Any:
    """All rows put in and taken out, a gradient written and read, and the size."""
    nodes = [
        old_node("x", "Placeholder", [], dtype=f32),
        old_const("n", np.int32(5)),
        old_const("i", np.int32(1)),
        old_const("places", np.arange(5, dtype=np.int32)),
        old_const("row", np.ones(3, np.float32)),
        old_const("flow", np.float32(0)),
        old_node("ta", f"TensorArray{version}", ["n"], dtype=f32),
        put,
        take,
        old_node("g", f"TensorArrayGrad{version}", ["ta", "put"], source="s"),
        old_node("gw", f"TensorArrayWrite{version}", ["g", "i", "row", "put"], T=f32),
        old_node("y1", f"TensorArrayRead{version}", ["g", "i", "gw"], dtype=f32),
        old_node("y2", f"TensorArraySize{version}", ["ta", "put"]),
    ]
    definition = v1.GraphDef(node=nodes)
    definition.versions.producer = producer
    return definition


OLD = {
    "v1": old_graph(
        "", 8,
        old_node("put", "TensorArrayUnpack", ["ta", "x", "flow"], T=f32),
        old_node("y0", "TensorArrayPack", ["ta", "put"], dtype=f32),
    ),
    "v2": old_graph(
        "V2", 20,
        old_node("put", "TensorArrayScatterV2", ["ta", "places", "x", "flow"], T=f32),
        old_node("y0", "TensorArrayGatherV2", ["ta", "places", "put"], dtype=f32),
    ),
}  # fmt: skip


def recorded_old(definition: Any) -> tuple[bytes, list[np.ndarray]]:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        with v1.Session(graph=graph) as session:
            found = session.run(["y0:0", "y1:0", "y2:0"], {"x:0": X})
    return definition.SerializeToString(deterministic=True), found


def recorded(build: Build) -> tuple[bytes, list[np.ndarray] | str]:
    """A graph, and the arrays or the message that a run of it ends in."""
    config = v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(f32, [None, 3], name="x")
        fetches = [tf.identity(y, f"y{i}") for i, y in enumerate(build(x))]
        definition = graph.as_graph_def().SerializeToString(deterministic=True)
        with v1.Session(graph=graph, config=config) as session:
            try:
                return definition, session.run(fetches, {x: X})
            except tf.errors.OpError as error:
                text = re.search(r"^Node: .*\n(.*)$", error.message, re.MULTILINE)
                message = text[1] if text is not None else error.message
                return definition, re.sub(r"\s*\[\[.*", "", message.strip())


def of_both_versions(programs: Mapping[str, Build]) -> dict[str, Any]:
    """Each program recorded with frames and with functions."""
    found: dict[str, Any] = {}
    for version, switch in (
        ("v1", v1.disable_control_flow_v2),
        ("v2", v1.enable_control_flow_v2),
    ):
        switch()
        found |= {f"program/{n}_{version}": recorded(f) for n, f in programs.items()}
    return found


def write(found: Mapping[str, Any], path: Path) -> None:
    arrays: dict[str, np.ndarray] = {"x": X}
    errors: dict[str, str] = {}
    for name, (definition, result) in sorted(found.items()):
        arrays[f"{name}/graph"] = np.frombuffer(definition, np.uint8)
        if isinstance(result, str):
            errors[name] = result
        else:
            arrays |= {f"{name}/y{i}": np.asarray(y) for i, y in enumerate(result)}
    arrays["errors"] = np.frombuffer(json.dumps(errors, indent=1).encode(), np.uint8)
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, **arrays)
    print(f"{len(found)} graphs, {len(errors)} of them fail")
    print(json.dumps(errors, indent=1))


def main() -> None:
    cases = {**{f"array/{n}": f for n, f in ARRAYS.items()},
             **{f"list/{n}": f for n, f in LISTS.items()},
             **{f"stack/{n}": f for n, f in STACKS.items()}}  # fmt: skip
    found: dict[str, Any] = {name: recorded(build) for name, build in cases.items()}
    found |= {f"old/{version}": recorded_old(graph) for version, graph in OLD.items()}
    write(found | of_both_versions(PROGRAMS), FOLDER / "graphs.npz")


if __name__ == "__main__":
    main()
