"""Lists that know what was written and read: checks and changes of the marks of TensorArrays.

In: marks `u8[rows]` (`flowc/ir/mark_access.py`) and the indices of elements. Out: the marks as they
are after an access, and the indices, checked, at which `dense_lists.py` sets and gets elements.
Invariant: an element is written once (unless elements add up) and, where reading clears it, read
once; the run fails otherwise, with TensorFlow's message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.lowering import ByOneThread, Native, on_gpu
from flowc.ir.mark_access import CLEARED, UNWRITTEN, WRITTEN, MarkAccess, Marks
from flowc.ir.op import Attrs, define
from flowc.ops.kernels.status import fail
from flowc.ops.lists.list_faults import escaped, outside_array

# Globals that the compiler gives to the kernels: whether an element must have been written, or must
# not; the mark that it gets, if any (WRITTEN or CLEARED).
NEEDS_WRITTEN = 0
NEEDS_UNWRITTEN = 0
MARK = 0


def fault_at(marks, at, rows):
    """Why an element cannot be accessed: 1 outside, 2 read and cleared, 3 as it was; or 0."""
    fault = 0
    if at < 0 or at >= rows:
        fault = 1
    elif marks[at] == 2:
        fault = 2
    elif (marks[at] == 0 and NEEDS_WRITTEN == 1) or (marks[at] == 1 and NEEDS_UNWRITTEN == 1):
        fault = 3
    return fault


def mark_elements(marks, index, place, status, rows, count):
    """Inlined: checks elements one after another, and marks them."""
    for i in range(count):
        place[i] = 0
    for i in range(count):
        at = index[i]
        fault = fault_at(marks, at, rows)
        if fault != 0:
            fail(status, fault, at, rows, 0)
            break
        place[i] = at
        if MARK > 0:
            marks[at] = MARK


@on_gpu(ByOneThread())
def list_mark_kernel(marks, index, out, place, status, rows, count, begin, end):
    mark_elements(out, index, place, status, rows, count)


@on_gpu(ByOneThread())
def list_check_kernel(marks, index, place, status, rows, count, begin, end):
    mark_elements(marks, index, place, status, rows, count)


@on_gpu(ByOneThread())
def list_whole_kernel(buffer, marks, out, status, rows, begin, end):
    for at in range(rows):
        fault = fault_at(marks, at, rows)
        if fault != 0:
            fail(status, fault, at, 0, 0)
            return


def _write_needs(attrs: Attrs) -> Marks:
    return frozenset({UNWRITTEN, WRITTEN} if attrs["add"] else {UNWRITTEN})


def _read_needs(attrs: Attrs) -> Marks:
    return frozenset({UNWRITTEN, WRITTEN} if attrs["zeros"] else {WRITTEN})


def _write_faults(name: str, rank: int) -> tuple[str, ...]:
    return (
        outside_array(name, rank).replace("{value}", "{a}").replace("{extent}", "{b}"),
        f"TensorArray {name}: Could not write to TensorArray index {{a}} because it has already"
        " been read.",
        f"TensorArray {name}: Could not write to TensorArray index {{a}} because it has already"
        " been written to.",
    )


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
    return _read_faults(escaped(name), shape)[number].format(a=index, b="")


def _faults(attrs: Attrs, rank: int) -> tuple[str, ...]:
    """What a run ends with: outside, cleared, not as needed. `rank`: of the index."""
    name = escaped(attrs["array"])
    return _write_faults(name, rank) if "add" in attrs else _read_faults(name, attrs["shape"])


def _native(node: Node, kernel: Any, updates: int | None, moves: bool = False) -> Native:
    access = node.op.marks
    assert access is not None and access.needs is not None and access.marks is not None
    needs = access.needs(node.attrs)
    constants = {
        "NEEDS_WRITTEN": int(UNWRITTEN not in needs),
        "NEEDS_UNWRITTEN": int(WRITTEN not in needs),
        "MARK": access.leaves(node.attrs) if access.leaves is not None else 0,
    }
    sizes = (node.inputs[access.marks].dims[0],)
    if access.index is not None:
        sizes = (*sizes, node.inputs[access.index].type.size)
    return Native(
        kernel,
        arguments=sizes,
        errors=_faults(node.attrs, node.inputs[1].type.rank),
        constants=constants,
        updates=updates,
        moves=moves,
    )


def _accessed(
    marks: np.ndarray, index: np.ndarray, attrs: Attrs, needs: Marks, mark: int | None
) -> np.ndarray:
    """The marks after accesses that are checked one after another."""
    result, faults = marks.copy(), _faults(attrs, index.ndim)
    for at in index.reshape(-1):
        if not 0 <= at < len(marks):
            raise InvalidArgumentError(faults[0].format(a=at, b=len(marks)))
        if result[at] not in needs:
            raise InvalidArgumentError(faults[1 if result[at] == CLEARED else 2].format(a=at))
        if mark is not None:
            result[at] = mark
    return result


def _marking(needs: Callable[[Attrs], Marks], mark: int) -> Callable[..., Any]:
    """The reference of an op that marks elements: the marks then, and the places, checked."""
    return lambda marks, index, **attrs: (
        _accessed(marks, index, attrs, needs(attrs), mark),
        index.copy(),
    )


def _checked(marks: np.ndarray, index: np.ndarray, **attrs: Any) -> np.ndarray:
    _accessed(marks, index, attrs, _read_needs(attrs), None)
    return index.copy()


def _whole(buffer: np.ndarray, marks: np.ndarray, **attrs: Any) -> np.ndarray:
    _checked(marks, np.arange(len(buffer)), **attrs)
    return buffer.copy()


# The marks with elements marked as written, and the places of these, checked.
list_mark = define(
    "list_mark",
    "_ListMark(marks: u8, index: Tindex; array: string, add: bool = False,"
    " Tindex: {i32, i64}) -> (output: u8, place: Tindex)",
    infer=lambda c: [c.dims(0), c.dims(1)],
    reference=_marking(_write_needs, WRITTEN),
    lowering=lambda node: _native(node, list_mark_kernel, 0),
    marks=MarkAccess(0, 1, needs=_write_needs, leaves=lambda _: WRITTEN, checked=(1, 1)),
    examples=(
        'u8[4]=[0,0,1,0] i32[]=1; array="ta"',
        'u8[4]=[0,0,1,0] i64[2]=[3,0]; array="ta"',
        'u8[4]=[0,0,1,0] i32[3]=[3,3,2]; array="ta", add=True',
    ),
)

# The marks with elements cleared, and the places of these, checked.
list_take = define(
    "list_take",
    "_ListTake(marks: u8, index: Tindex; array: string, shape: string, zeros: bool,"
    " Tindex: {i32, i64}) -> (output: u8, place: Tindex)",
    infer=lambda c: [c.dims(0), c.dims(1)],
    reference=_marking(_read_needs, CLEARED),
    lowering=lambda node: _native(node, list_mark_kernel, 0),
    marks=MarkAccess(0, 1, needs=_read_needs, leaves=lambda _: CLEARED, checked=(1, 1)),
    examples=(
        'u8[4]=[1,1,2,0] i32[]=1; array="ta", shape="[2]", zeros=False',
        'u8[4]=[1,1,2,0] i64[2]=[3,0]; array="ta", shape="[2]", zeros=True',
    ),
)

# The places of elements to read, checked, where reading changes nothing.
list_check = define(
    "list_check",
    "_ListCheck(marks: u8, index: Tindex; array: string, shape: string, zeros: bool,"
    " Tindex: {i32, i64}) -> place: Tindex",
    infer=lambda c: c.dims(1),
    reference=_checked,
    lowering=lambda node: _native(node, list_check_kernel, None),
    marks=MarkAccess(0, 1, needs=_read_needs, checked=(0, 1)),
    examples=(
        'u8[4]=[1,1,2,0] i32[]=1; array="ta", shape="[2]", zeros=False',
        'u8[4]=[1,1,2,0] i64[3]=[3,0,0]; array="ta", shape="[2]", zeros=True',
    ),
)

# All elements at once: the buffer, once its marks are checked.
list_whole = define(
    "list_whole",
    "_ListWhole(buffer: T, marks: u8; array: string, shape: string, zeros: bool, T: type)"
    " -> output: T",
    infer=lambda c: c.dims(0),
    reference=_whole,
    lowering=lambda node: _native(node, list_whole_kernel, 0, moves=True),
    marks=MarkAccess(1, needs=_read_needs),
    examples=(
        'T[3,2] u8[3]=[1,1,1]; array="ta", shape="[2]", zeros=False',
        'f32[3] u8[3]=[1,0,1]; array="ta", shape="[]", zeros=True',
        'f32[0,2] u8[0]=[]; array="ta", shape="[2]", zeros=False',
    ),
)
