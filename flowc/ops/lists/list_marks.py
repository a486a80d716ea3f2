"""Lists that know what was written and read: the buffers and marks of TensorArrays.

In: a buffer `T[rows, *element]` and its marks `u8[rows]`: 0 not written, 1 written, 2 read and
cleared. Out: as dense_lists.py, after checks of the marks. Invariant: an element is written once
(unless elements add up) and, where reading clears it, read once; the run fails otherwise, with
TensorFlow's message.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.lowering import Native
from flowc.ir.op import Op, define
from flowc.ops.lists.dense_lists import (
    dims_with,
    outside_array,
    plain,
    room_for,
    set_arguments,
    unequal,
)

UNWRITTEN, WRITTEN, CLEARED = 0, 1, 2

# Globals that the compiler gives to the kernels: whether elements add up; whether what was never
# written reads as zeros.
ADD = 0
ZEROS = 1


# -- writing


def fault_of_write(marks, at, rows):
    """Why an element cannot be written: 1 outside, 2 read and cleared, 3 written before; or 0."""
    fault = 0
    if at < 0 or at >= rows:
        fault = 1
    elif marks[at] == 2:
        fault = 2
    elif marks[at] == 1 and ADD == 0:
        fault = 3
    return fault


def list_write_kernel(
    buffer, marks, index, value, out, status, rows, held, width, given, count, begin, end
):
    if count > 0 and (given != width or (rows * held > 0 and held != width)):
        status[1] = given
        status[2] = held
        status[3] = index[0]
        status[0] = 1
        return
    if held != width:
        for i in range(rows * width):
            out[i] = 0
    for i in range(count):
        at = index[i]
        fault = fault_of_write(marks, at, rows)
        if fault != 0:
            status[1] = at
            status[2] = rows
            status[0] = 1 + fault
            return
        for j in range(width):
            if ADD == 1:
                out[at * width + j] += value[i * width + j]
            else:
                out[at * width + j] = value[i * width + j]


def _write_faults(name: str, rank: int) -> tuple[str, ...]:
    return (
        outside_array(name, rank).replace("{value}", "{a}").replace("{extent}", "{b}"),
        f"TensorArray {name}: Could not write to TensorArray index {{a}} because it has already"
        " been read.",
        f"TensorArray {name}: Could not write to TensorArray index {{a}} because it has already"
        " been written to.",
    )


def _write(
    buffer: np.ndarray,
    marks: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    *,
    array: str,
    add: bool,
) -> np.ndarray:
    result = room_for(buffer, value.shape[index.ndim :])
    faults = _write_faults(array, index.ndim)
    for place in np.ndindex(index.shape):
        at = int(index[place])
        if not 0 <= at < len(buffer):
            raise InvalidArgumentError(faults[0].format(a=at, b=len(buffer)))
        if marks[at] == CLEARED or (marks[at] == WRITTEN and not add):
            raise InvalidArgumentError(faults[3 - marks[at]].format(a=at))
        result[at] = result[at] + value[place] if add else value[place]
    return result


def _all_write_faults(node: Node) -> tuple[str, ...]:
    name = plain(node.attrs["array"])
    return unequal(name), *_write_faults(name, node.inputs[2].type.rank)


list_write = define(
    Op(
        "list_write",
        "_ListWrite(buffer: T, marks: u8, index: Tindex, value: T; array: string,"
        " add: bool = False, T: type, Tindex: {i32, i64}) -> output: T",
        infer=lambda c: dims_with(c, c.dims(2), c.dims(3)),
        reference=_write,
        lowering=lambda node: Native(
            list_write_kernel,
            arguments=set_arguments(node, node.inputs[2].dims, node.inputs[3].dims),
            errors=_all_write_faults(node),
            constants={"ADD": int(node.attrs["add"])},
            updates=0,
            moves=not node.attrs["add"],
        ),
        examples=(
            'T[3,2] u8[3]=[1,0,1] i32[]=1 T[2]; array="ta"',
            'f32[4] u8[4]=[0,0,0,1] i64[]=3 f32[]; array="ta", add=True',
            'f32[5,2] u8[5]=[0,1,0,1,0] i32[3]=[4,0,2] f32[3,2]; array="ta"',
            'i32[3,2] u8[3]=[0,1,0] i32[3]=[0,1,0] i32[3,2]; array="ta", add=True',
        ),
    )
)


def list_writable_kernel(marks, index, place, status, rows, count, begin, end):
    for i in range(count):
        place[i] = 0
    for i in range(count):
        at = index[i]
        fault = fault_of_write(marks, at, rows)
        if fault != 0:
            status[1] = at
            status[2] = rows
            status[0] = fault
            return
        place[i] = at


def _writable(marks: np.ndarray, index: np.ndarray, *, array: str, add: bool) -> np.ndarray:
    faults = _write_faults(array, index.ndim)
    for at in index.reshape(-1):
        if not 0 <= at < len(marks):
            raise InvalidArgumentError(faults[0].format(a=at, b=len(marks)))
        if marks[at] == CLEARED or (marks[at] == WRITTEN and not add):
            raise InvalidArgumentError(faults[3 - marks[at]].format(a=at))
    return index.copy()


# The places of elements to write, checked, for lists that `list_write` does not write.
list_writable = define(
    Op(
        "list_writable",
        "_ListWritable(marks: u8, index: Tindex; array: string, add: bool = False,"
        " Tindex: {i32, i64}) -> place: Tindex",
        infer=lambda c: c.dims(1),
        reference=_writable,
        lowering=lambda node: Native(
            list_writable_kernel,
            arguments=(node.inputs[0].dims[0], node.inputs[1].type.size),
            errors=_write_faults(plain(node.attrs["array"]), node.inputs[1].type.rank),
            constants={"ADD": int(node.attrs["add"])},
        ),
        examples=(
            'u8[4]=[0,0,1,0] i32[]=1; array="ta"',
            'u8[4]=[0,1,1,0] i64[2]=[3,1]; array="ta", add=True',
        ),
    )
)


def list_mark_kernel(marks, index, out, status, rows, count, begin, end):
    for i in range(count):
        at = index[i]
        if at < 0 or at >= rows:
            return
        if out[at] == 1 and ADD == 0:
            status[1] = at
            status[0] = 1
            return
        out[at] = 1


def _mark(marks: np.ndarray, index: np.ndarray, *, array: str, add: bool) -> np.ndarray:
    result = marks.copy()
    for at in index.reshape(-1):
        if result[at] == WRITTEN and not add:
            raise InvalidArgumentError(_write_faults(array, 0)[2].format(a=at))
        result[at] = WRITTEN
    return result


# What `list_write` wrote is marked by a node of its own, after it: marks are checked before.
list_mark = define(
    Op(
        "list_mark",
        "_ListMark(marks: u8, index: Tindex; array: string, add: bool = False,"
        " Tindex: {i32, i64}) -> output: u8",
        infer=lambda c: c.dims(0),
        reference=_mark,
        lowering=lambda node: Native(
            list_mark_kernel,
            arguments=(node.output.dims[0], node.inputs[1].type.size),
            errors=_write_faults(plain(node.attrs["array"]), 0)[2:],
            constants={"ADD": int(node.attrs["add"])},
            updates=0,
        ),
        examples=(
            'u8[4]=[0,0,1,0] i32[]=1; array="ta"',
            'u8[4]=[0,0,1,0] i64[2]=[3,0]; array="ta"',
            'u8[4]=[0,0,1,0] i32[3]=[3,3,2]; array="ta", add=True',
        ),
    )
)


# -- reading


def _read_faults(name: str, shape: str) -> tuple[str, ...]:
    return (
        "Tried to read from index {a} but array size is: {b}",
        f"TensorArray {name}: Could not read index {{a}} twice because it was cleared after a"
        " previous read (perhaps try setting clear_after_read = false?).",
        f"TensorArray {name}: Could not read from TensorArray index {{a}}. Furthermore, the element"
        f" shape is not fully defined: {shape}. It is possible you are working with a resizeable"
        " TensorArray and stop_gradients is not allowing the gradients to be written. If you set"
        " the full element_shape property on the forward TensorArray, the proper all-zeros tensor"
        " will be returned instead of incurring this error.",
    )


def read_fault(name: str, shape: str, number: int, index: object) -> str:
    """TensorFlow's message for a read: 0 outside, 1 twice, 2 of what was never written."""
    return _read_faults(plain(name), shape)[number].format(a=index, b="")


def _node_read_faults(node: Node) -> tuple[str, ...]:
    return _read_faults(plain(node.attrs["array"]), node.attrs["shape"])


def _taken(
    marks: np.ndarray, index: np.ndarray, array: str, shape: str, zeros: bool, clear: bool
) -> np.ndarray:
    """The marks after reads that are checked one after another."""
    result = marks.copy()
    faults = _read_faults(plain(array), shape)
    for at in index.reshape(-1):
        if not 0 <= at < len(marks):
            raise InvalidArgumentError(faults[0].format(a=at, b=len(marks)))
        if result[at] == CLEARED or (result[at] == UNWRITTEN and not zeros):
            raise InvalidArgumentError(faults[2 - result[at] // CLEARED].format(a=at))
        if clear:
            result[at] = CLEARED
    return result


def fault_of_read(marks, at, rows):
    """Why an element cannot be read: 1 outside, 2 read and cleared, 3 never written; or 0."""
    fault = 0
    if at < 0 or at >= rows:
        fault = 1
    elif marks[at] == 2:
        fault = 2
    elif marks[at] == 0 and ZEROS == 0:
        fault = 3
    return fault


def list_take_kernel(marks, index, out, place, status, rows, count, begin, end):
    for i in range(count):
        place[i] = 0
    for i in range(count):
        at = index[i]
        fault = fault_of_read(out, at, rows)
        if fault != 0:
            status[1] = at
            status[2] = rows
            status[0] = fault
            return
        place[i] = at
        out[at] = 2


def list_check_kernel(marks, index, place, status, rows, count, begin, end):
    for i in range(count):
        place[i] = 0
    for i in range(count):
        at = index[i]
        fault = fault_of_read(marks, at, rows)
        if fault != 0:
            status[1] = at
            status[2] = rows
            status[0] = fault
            return
        place[i] = at


def _reading(kernel: Any, updates: int | None) -> Any:
    return lambda node: Native(
        kernel,
        arguments=(node.inputs[0].dims[0], node.inputs[1].type.size),
        errors=_node_read_faults(node),
        constants={"ZEROS": int(node.attrs["zeros"])},
        updates=updates,
    )


# The places of elements to read, checked, and the marks with these elements cleared.
list_take = define(
    Op(
        "list_take",
        "_ListTake(marks: u8, index: Tindex; array: string, shape: string, zeros: bool,"
        " Tindex: {i32, i64}) -> (output: u8, place: Tindex)",
        infer=lambda c: [c.dims(0), c.dims(1)],
        reference=lambda marks, index, *, array, shape, zeros: (
            _taken(marks, index, array, shape, zeros, True),
            index,
        ),
        lowering=_reading(list_take_kernel, 0),
        examples=(
            'u8[4]=[1,1,2,0] i32[]=1; array="ta", shape="[2]", zeros=False',
            'u8[4]=[1,1,2,0] i64[2]=[3,0]; array="ta", shape="[2]", zeros=True',
        ),
    )
)

# The places of elements to read, checked, where reading changes nothing.
list_check = define(
    Op(
        "list_check",
        "_ListCheck(marks: u8, index: Tindex; array: string, shape: string, zeros: bool,"
        " Tindex: {i32, i64}) -> place: Tindex",
        infer=lambda c: c.dims(1),
        reference=lambda marks, index, *, array, shape, zeros: (
            _taken(marks, index, array, shape, zeros, False),
            index,
        )[1],
        lowering=_reading(list_check_kernel, None),
        examples=(
            'u8[4]=[1,1,2,0] i32[]=1; array="ta", shape="[2]", zeros=False',
            'u8[4]=[1,1,2,0] i64[3]=[3,0,0]; array="ta", shape="[2]", zeros=True',
        ),
    )
)


def list_whole_kernel(buffer, marks, out, status, rows, begin, end):
    for at in range(rows):
        if marks[at] == 2:
            status[1] = at
            status[0] = 2
            return
        if marks[at] == 0 and ZEROS == 0:
            status[1] = at
            status[0] = 3
            return


def _whole(
    buffer: np.ndarray, marks: np.ndarray, *, array: str, shape: str, zeros: bool
) -> np.ndarray:
    _taken(marks, np.arange(len(buffer)), array, shape, zeros, False)
    return buffer.copy()


# All elements at once: the buffer, once its marks are checked.
list_whole = define(
    Op(
        "list_whole",
        "_ListWhole(buffer: T, marks: u8; array: string, shape: string, zeros: bool, T: type)"
        " -> output: T",
        infer=lambda c: c.dims(0),
        reference=_whole,
        lowering=lambda node: Native(
            list_whole_kernel,
            arguments=(node.output.dims[0],),
            errors=_node_read_faults(node),
            constants={"ZEROS": int(node.attrs["zeros"])},
            updates=0,
            moves=True,
        ),
        examples=(
            'T[3,2] u8[3]=[1,1,1]; array="ta", shape="[2]", zeros=False',
            'f32[3] u8[3]=[1,0,1]; array="ta", shape="[]", zeros=True',
            'f32[0,2] u8[0]=[]; array="ta", shape="[2]", zeros=False',
        ),
    )
)
