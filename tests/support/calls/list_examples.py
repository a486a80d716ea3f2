"""A call of each op of stacks, TensorArrays and lists that no recorded graph has.

In: nothing. Out: `LIST_EXAMPLES`, an `ExampleTable`. Old forms of stacks and arrays have a string
or a reference for a handle.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from calls.example_table import ExampleTable, X

import flowc as tf

r: Any = tf.raw_ops
LIST_EXAMPLES = ExampleTable()
example = LIST_EXAMPLES.shows


def _stack(version: str) -> list[tuple[Any, Any]]:
    sized = {"max_size": 2} if version == "V2" else {}
    handle = getattr(r, f"Stack{version}")(elem_type=tf.float32, **sized)
    pushed = getattr(r, f"StackPush{version}")(handle=handle, elem=X)
    with tf.control_dependencies([pushed]):
        popped = getattr(r, f"StackPop{version}")(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([popped]):
        closed = getattr(r, f"StackClose{version}")(handle=handle)
    return [(popped, X), (closed, None)]


def _array(version: str) -> list[tuple[Any, Any]]:
    def call(name: str, **arguments: Any) -> Any:
        return getattr(r, f"TensorArray{name}{version}")(**arguments)

    def made() -> tuple[Any, Any]:
        """The handle and the flow, which old versions do not give."""
        found = call("", size=3, dtype=tf.float32)
        return (found.handle, found.flow) if version == "V3" else (found, tf.constant(0.0))

    first, flow = made()
    lengths = np.array([1, 0, 2], np.int64)
    flow = call("Split", handle=first, value=X, lengths=lengths, flow_in=flow)
    joined, found = call("Concat", handle=first, flow_in=flow, dtype=tf.float32)
    second, flow = made()
    places = np.array([2, 0, 1], np.int32)
    flow = call("Scatter", handle=second, indices=places, value=X, flow_in=flow)
    taken = call("Gather", handle=second, indices=places[:2], flow_in=flow, dtype=tf.float32)
    with tf.control_dependencies([joined, taken]):
        closed = call("Close", handle=first)
    return [(joined, X), (found, lengths), (taken, X[:2]), (closed, None)]


for _version in ("", "V2"):
    for _name in ("Stack", "StackPush", "StackPop", "StackClose"):
        LIST_EXAMPLES[_name + _version] = partial(_stack, _version)
for _version in ("", "V2", "V3"):
    for _name in ("Split", "Concat", "Scatter", "Gather", "Close"):
        LIST_EXAMPLES[f"TensorArray{_name}{_version}"] = partial(_array, _version)


@example("TensorListScatter")
def _list_scatter() -> list[tuple[Any, Any]]:
    places = np.array([1, 0, 2], np.int32)
    made = r.TensorListScatter(tensor=X, indices=places, element_shape=np.array([2], np.int32))
    stacked = r.TensorListStack(
        input_handle=made, element_shape=np.array([2], np.int32), element_dtype=tf.float32
    )
    return [(stacked, X[[1, 0, 2]])]


@example("TensorListConcat")
def _list_concat() -> list[tuple[Any, Any]]:
    made = r.TensorListSplit(
        tensor=X,
        element_shape=np.array([-1, 2], np.int32),
        lengths=np.array([2, 1], np.int64),
    )
    joined = r.TensorListConcat(input_handle=made, element_dtype=tf.float32)
    return [(joined[0], X), (joined[1], [2, 1])]
