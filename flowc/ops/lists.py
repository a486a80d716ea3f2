"""Dense lists: what TensorArrays, TensorLists and stacks are made of once a graph is extracted.

In: a buffer `T[rows, *element]` and, for TensorArrays, marks `u8[rows]` (0 not written, 1 written,
2 read and cleared). Out: elements, or the buffer with a change: ops that change one are `updates`
kernels, which write only what is new where nobody reads the old buffer again. Invariant: an index
outside the list ends the run with TensorFlow's message, before memory is touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.dims import Dim, as_dim, product
from flowc.ir.lowering import Lowering, Native, View
from flowc.ir.op import Inference, Op, define
from flowc.ir.types import Dims

UNWRITTEN, WRITTEN, CLEARED = 0, 1, 2

# Globals that the compiler gives to the kernels: whether elements add up; whether what was never
# written reads as zeros.
ADD = 0
ZEROS = 1


# -- new lists, of other lengths


def list_new_kernel(dims, out, value, begin, end):  # type: ignore[no-untyped-def]
    for i in range(begin, end):
        out[i] = value


def _infer_new(c: Inference) -> Dims:
    if c.rank(0) != 1:
        raise c.fail(f"the dims of a list must be a vector, found {c.inputs[0]}")
    dims = tuple(as_dim(d) for d in c.need(0))
    for dim in dims:
        if isinstance(dim, int) and dim < 0:
            raise c.fail(f"Size should be >= 0, found {dim}")
    return dims


def _new(dims: np.ndarray, *, value: int, T: DType) -> np.ndarray:
    return np.full(tuple(int(d) for d in dims), value, T.numpy)


def _lower_new(node: Node) -> Lowering:
    total = node.output.type.size
    return Native(list_new_kernel, arguments=(node.attrs["value"],), parallel=total)


list_new = define(
    Op(
        "list_new",
        "_ListNew(dims: Tdims; value: int = 0, T: type, Tdims: {i32, i64}) -> buffer: T",
        infer=_infer_new,
        reference=_new,
        lowering=_lower_new,
        traits=frozenset({"no_fold"}),
        examples=(
            "i32[2]=[3,4]; T=f32",
            "i64[3]=[2,0,3]; T=c64",
            "i32[1]=[5]; T=u8, value=1",
            "i32[3]=[2,2,2]; T=bool",
            "i32[2]=[3,2]; T=f16",
        ),
    )
)


def list_resize_kernel(buffer, size, out, old, new, begin, end):  # type: ignore[no-untyped-def]
    for i in range(old, new):
        out[i] = 0


def _infer_resize(c: Inference) -> Dims:
    rows = as_dim(c.need(1).reshape(-1)[0])
    if isinstance(rows, int) and rows < 0:
        raise c.fail(f"a list cannot have {rows} elements")
    return (rows, *c.dims(0)[1:])


def _resize(buffer: np.ndarray, size: np.ndarray) -> np.ndarray:
    rows = int(size.reshape(-1)[0])
    result = np.zeros((rows, *buffer.shape[1:]), buffer.dtype)
    kept = min(rows, len(buffer))
    result[:kept] = buffer[:kept]
    return result


list_resize = define(
    Op(
        "list_resize",
        "_ListResize(buffer: T, size: Tsize; T: type, Tsize: {i32, i64}) -> output: T",
        infer=_infer_resize,
        reference=_resize,
        lowering=lambda node: Native(
            list_resize_kernel,
            arguments=(node.inputs[0].type.size, node.output.type.size),
            updates=0,
        ),
        examples=(
            "T[2,3] i32[1]=[4]",
            "f32[4] i64[]=2",
            "f32[0,3] i32[]=2",
            "f32[3,2] i32[]=3",
            "f32[3,2] i32[]=0",
        ),
    )
)

# -- elements put in

# What a list held before, `held` numbers an element, need not be as wide as what it holds now: no
# element at all was written then, and only a run can tell.


def list_append_kernel(  # type: ignore[no-untyped-def]
    buffer, value, out, status, rows, held, width, given, begin, end
):
    if given != width or (rows > 0 and held != width):
        status[1] = given
        status[2] = held
        status[0] = 1
        return
    for j in range(width):
        out[rows * width + j] = value[j]


def _infer_append(c: Inference) -> Dims:
    rows, *element = c.dims(0)
    return (rows + 1, *_new_element(c, tuple(element), c.dims(1)))


def _new_element(c: Inference, held: Dims, given: Dims) -> Dims:
    """The dims of a list's elements with one of the dims `given` among them."""
    fault = f"a list of elements {_shown(held)} cannot hold one of shape {_shown(given)}"
    if len(held) != len(given):
        raise c.fail(fault)
    found: list[Dim] = []
    for ours, theirs in zip(held, given):
        if isinstance(ours, int) and isinstance(theirs, int) and ours != theirs:
            raise c.fail(fault)
        found.append(ours if isinstance(ours, int) else theirs)
    return tuple(found)


def _shown(dims: Dims) -> str:
    return f"[{','.join(str(d) for d in dims)}]"


def _width(dims: Dims) -> Dim:
    """The numbers in one element of a buffer."""
    return product(dims[1:])


UNEQUAL = (
    "an element of {a} numbers is put into a list whose elements have {b}: flowc keeps the elements"
    " of one list in one shape"
)


def _lower_append(node: Node) -> Lowering:
    held, value = (v.dims for v in node.inputs)
    return Native(
        list_append_kernel,
        arguments=(held[0], _width(held), _width(node.output.dims), product(value)),
        errors=(UNEQUAL,),
        updates=0,
    )


list_append = define(
    Op(
        "list_append",
        "_ListAppend(buffer: T, value: T; T: type) -> output: T",
        infer=_infer_append,
        reference=lambda buffer, value: np.concatenate(
            [buffer if len(buffer) else buffer.reshape(0, *value.shape), value[None]]
        ),
        lowering=_lower_append,
        examples=("T[2,3] T[3]", "f32[0] f32[]", "f32[3,0] f32[0]", "f32[1,2,2] f32[2,2]"),
    )
)


def list_set_kernel(  # type: ignore[no-untyped-def]
    buffer, index, value, out, status, rows, held, width, given, count, begin, end
):
    if count > 0 and (given != width or (rows * held > 0 and held != width)):
        status[1] = given
        status[2] = held
        status[0] = 1
        return
    if held != width:
        for i in range(rows * width):
            out[i] = 0
    for i in range(count):
        at = index[i]
        if at < 0 or at >= rows:
            status[1] = at
            status[2] = rows
            status[0] = 2
            return
        for j in range(width):
            out[at * width + j] = value[i * width + j]


def _infer_set(c: Inference) -> Dims:
    return _with_elements(c, c.dims(1), c.dims(2))


def _with_elements(c: Inference, index: Dims, value: Dims) -> Dims:
    """The dims of input 0 once it holds the elements of a value, one for each index."""
    fault = f"values of shape {_shown(value)} do not fit indices of shape {_shown(index)}"
    for ours, theirs in zip(index, value):
        if isinstance(ours, int) and isinstance(theirs, int) and ours != theirs:
            raise c.fail(fault)
        c.equal(ours, theirs)
    return (c.dims(0)[0], *_new_element(c, c.dims(0)[1:], value[len(index) :]))


def _set(buffer: np.ndarray, index: np.ndarray, value: np.ndarray, *, message: str) -> np.ndarray:
    _check_range(index, len(buffer), message)
    result = _roomy(buffer, value.shape[index.ndim :])
    for at in np.ndindex(index.shape):
        result[int(index[at])] = value[at]
    return result


def _roomy(buffer: np.ndarray, element: tuple[int, ...]) -> np.ndarray:
    """A copy of a list to change; zeros where its elements had no size before."""
    if buffer.shape[1:] != element and not buffer.size:
        return np.zeros((len(buffer), *element), buffer.dtype)
    return buffer.copy()


def _check_range(index: np.ndarray, rows: int, message: str) -> None:
    for at in index.reshape(-1):
        if not 0 <= at < rows:
            raise InvalidArgumentError(message.format(value=at, extent=rows))


def _numbered(message: str) -> str:
    """A message of an index and its limit as kernels have it."""
    return message.format(value="{a}", extent="{b}")


def _set_arguments(node: Node, index: Dims, value: Dims) -> tuple[Dim, ...]:
    """rows, held, width, given, count"""
    held, out = node.inputs[0].dims, node.output.dims
    return out[0], _width(held), _width(out), product(value[len(index) :]), product(index)


list_set = define(
    Op(
        "list_set",
        "_ListSet(buffer: T, index: Tindex, value: T; message: string, T: type,"
        " Tindex: {i32, i64}) -> output: T",
        infer=_infer_set,
        reference=_set,
        lowering=lambda node: Native(
            list_set_kernel,
            arguments=_set_arguments(node, node.inputs[1].dims, node.inputs[2].dims),
            errors=(UNEQUAL, _numbered(node.attrs["message"])),
            updates=0,
        ),
        examples=(
            'T[3,2] i32[]=1 T[2]; message="{value} of {extent}"',
            'f32[4] i64[]=3 f32[]; message="out"',
            'f32[5,2,2] i32[3]=[4,0,2] f32[3,2,2]; message="out"',
            'f32[2,0] i32[]=1 f32[0]; message="out"',
            'f32[0,3] i32[0]=[] f32[0,3]; message="out"',
        ),
    )
)


# -- elements put into TensorArrays, which know what was written


def list_write_kernel(  # type: ignore[no-untyped-def]
    buffer, marks, index, value, out, status, rows, held, width, given, count, begin, end
):
    if count > 0 and (given != width or (rows * held > 0 and held != width)):
        status[1] = given
        status[2] = held
        status[0] = 1
        return
    if held != width:
        for i in range(rows * width):
            out[i] = 0
    for i in range(count):
        at = index[i]
        fault = 0
        if at < 0 or at >= rows:
            fault = 2
        elif marks[at] == 2:
            fault = 3
        elif marks[at] == 1 and ADD == 0:
            fault = 4
        if fault != 0:
            status[1] = at
            status[2] = rows
            status[0] = fault
            return
        for j in range(width):
            if ADD == 1:
                out[at * width + j] += value[i * width + j]
            else:
                out[at * width + j] = value[i * width + j]


def _write_faults(name: str) -> tuple[str, ...]:
    return (
        f"TensorArray {name}: Tried to write to index {{a}} but array is not resizeable and size"
        " is: {b}",
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
    result = _roomy(buffer, value.shape[index.ndim :])
    faults = _write_faults(array)
    for place in np.ndindex(index.shape):
        at = int(index[place])
        if not 0 <= at < len(buffer):
            raise InvalidArgumentError(faults[0].format(a=at, b=len(buffer)))
        if marks[at] == CLEARED or (marks[at] == WRITTEN and not add):
            raise InvalidArgumentError(faults[3 - marks[at]].format(a=at))
        result[at] = result[at] + value[place] if add else value[place]
    return result


list_write = define(
    Op(
        "list_write",
        "_ListWrite(buffer: T, marks: u8, index: Tindex, value: T; array: string,"
        " add: bool = False, T: type, Tindex: {i32, i64}) -> output: T",
        infer=lambda c: _with_elements(c, c.dims(2), c.dims(3)),
        reference=_write,
        lowering=lambda node: Native(
            list_write_kernel,
            arguments=_set_arguments(node, node.inputs[2].dims, node.inputs[3].dims),
            errors=(UNEQUAL, *_write_faults(_plain(node.attrs["array"]))),
            constants={"ADD": int(node.attrs["add"])},
            updates=0,
        ),
        examples=(
            'T[3,2] u8[3]=[1,0,1] i32[]=1 T[2]; array="ta"',
            'f32[4] u8[4]=[0,0,0,1] i64[]=3 f32[]; array="ta", add=True',
            'f32[5,2] u8[5]=[0,1,0,1,0] i32[3]=[4,0,2] f32[3,2]; array="ta"',
            'i32[3,2] u8[3]=[0,1,0] i32[3]=[0,1,0] i32[3,2]; array="ta", add=True',
        ),
    )
)


def _plain(name: str) -> str:
    """A name as it stands in a message whose braces are places for numbers."""
    return name.replace("{", "{{").replace("}", "}}")


def list_mark_kernel(marks, index, out, status, rows, count, begin, end):  # type: ignore[no-untyped-def]
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
            raise InvalidArgumentError(_write_faults(array)[2].format(a=at))
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
            errors=_write_faults(_plain(node.attrs["array"]))[2:],
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


# -- elements taken out


def _infer_get(c: Inference) -> Dims:
    if c.rank(0) < 1:
        raise c.fail(f"a list is at least a vector, found {c.inputs[0]}")
    return (*c.dims(1), *c.dims(0)[1:])


def _lower_get(node: Node) -> Lowering:
    buffer, index = node.inputs
    rank, message = index.type.rank, node.attrs["message"]

    def read(k: Any, at: tuple[Dim, ...]) -> Any:
        place = k.checked_index(k.load(1, at[:rank]), buffer.dims[0], message)
        return k.load(0, (place, *at[rank:]))

    return View(read)


def _get(buffer: np.ndarray, index: np.ndarray, *, message: str) -> np.ndarray:
    _check_range(index, len(buffer), message)
    return np.asarray(buffer[index.astype(np.int64)])


list_get = define(
    Op(
        "list_get",
        "_ListGet(buffer: T, index: Tindex; message: string, T: type, Tindex: {i32, i64})"
        " -> output: T",
        infer=_infer_get,
        reference=_get,
        lowering=_lower_get,
        examples=(
            'T[3,2] i32[]=1; message="{value} of {extent}"',
            'f32[4] i64[]=3; message="out"',
            'f32[5,2,2] i32[4]=[4,0,2,4]; message="out"',
            'f32[0,3] i32[0]=[]; message="out"',
        ),
    )
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
    return _read_faults(_plain(name), shape)[number].format(a=index, b="")


def _node_read_faults(node: Node) -> tuple[str, ...]:
    return _read_faults(_plain(node.attrs["array"]), node.attrs["shape"])


def _taken(
    marks: np.ndarray, index: np.ndarray, array: str, shape: str, zeros: bool, clear: bool
) -> np.ndarray:
    """The marks after reads that are checked one after another."""
    result = marks.copy()
    faults = _read_faults(_plain(array), shape)
    for at in index.reshape(-1):
        if not 0 <= at < len(marks):
            raise InvalidArgumentError(faults[0].format(a=at, b=len(marks)))
        if result[at] == CLEARED or (result[at] == UNWRITTEN and not zeros):
            raise InvalidArgumentError(faults[2 - result[at] // CLEARED].format(a=at))
        if clear:
            result[at] = CLEARED
    return result


def list_take_kernel(  # type: ignore[no-untyped-def]
    marks, index, out, place, status, rows, count, begin, end
):
    for i in range(count):
        place[i] = 0
    for i in range(count):
        at = index[i]
        fault = 0
        if at < 0 or at >= rows:
            fault = 1
        elif out[at] == 2:
            fault = 2
        elif out[at] == 0 and ZEROS == 0:
            fault = 3
        if fault != 0:
            status[1] = at
            status[2] = rows
            status[0] = fault
            return
        place[i] = at
        out[at] = 2


def list_check_kernel(  # type: ignore[no-untyped-def]
    marks, index, place, status, rows, count, begin, end
):
    for i in range(count):
        place[i] = 0
    for i in range(count):
        at = index[i]
        fault = 0
        if at < 0 or at >= rows:
            fault = 1
        elif marks[at] == 2:
            fault = 2
        elif marks[at] == 0 and ZEROS == 0:
            fault = 3
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


def list_whole_kernel(buffer, marks, out, status, rows, begin, end):  # type: ignore[no-untyped-def]
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
        ),
        examples=(
            'T[3,2] u8[3]=[1,1,1]; array="ta", shape="[2]", zeros=False',
            'f32[3] u8[3]=[1,0,1]; array="ta", shape="[]", zeros=True',
            'f32[0,2] u8[0]=[]; array="ta", shape="[2]", zeros=False',
        ),
    )
)
