"""Dense lists: what TensorArrays, TensorLists and stacks are made of once a graph is extracted.

In: a buffer `T[rows, *element]`. Out: elements, or the buffer with a change: ops that change one
are `updates` kernels, which write only what is new where nobody reads the old buffer again.
Invariant: an index outside the list ends the run with TensorFlow's message, before memory is
touched. What TensorArrays check beside that is in list_marks.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.dims import Dim, ceildiv, maximum, product
from flowc.ir.inference import Inference
from flowc.ir.lowering import ByColumns, ByOneThread, ByThreads, Lowering, Native, View, on_gpu
from flowc.ir.mark_access import UNWRITTEN, MarkAccess
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.kernels.status import fail
from flowc.ops.lists.list_faults import (
    FULL,
    escaped,
    get_fault,
    numbered,
    set_fault,
    unequal_sizes,
)

# -- new lists, of other lengths


CHUNK = 1 << 18  # numbers that one worker sets at a time


def list_new_kernel(dims, out, value, total, begin, end):
    last = end * CHUNK
    if last > total:
        last = total
    for i in range(begin * CHUNK, last):
        out[i] = value


def _infer_new(c: Inference) -> Dims:
    c.need_rank(0, 1, f"the dims of a list must be a vector, found {c.inputs[0]}")
    return c.need_sizes(0, "Size should be >= 0, found {size}")


ANYTHING = 77  # in a list that is not filled: none reads it


def _new(dims: np.ndarray, *, value: int, filled: bool, T: DType) -> np.ndarray:
    return np.full(tuple(int(d) for d in dims), value if filled else ANYTHING, T.numpy)


def _lower_new(node: Node) -> Lowering:
    total: Dim = node.output.type.size if node.attrs["filled"] else 0
    return Native(
        list_new_kernel,
        arguments=(node.attrs["value"], total),
        parallel=ceildiv(total, CHUNK),
        constants={"CHUNK": CHUNK},
        moves=node.attrs["value"] == 0,
    )


list_new = define(
    "list_new",
    "_ListNew(dims: Tdims; value: int = 0, filled: bool = True, T: type, Tdims: {i32, i64})"
    " -> buffer: T",
    infer=_infer_new,
    reference=_new,
    lowering=_lower_new,
    traits=frozenset({"no_fold"}),
    marks=MarkAccess(None, leaves=lambda attrs: attrs["value"]),
    examples=(
        "i32[2]=[3,4]; T=f32",
        "i64[3]=[2,0,3]; T=c64",
        "i32[1]=[5]; T=u8, value=1",
        "i32[3]=[2,2,2]; T=bool",
        "i32[2]=[3,2]; T=f16",
    ),
)


def list_fill_kernel(buffer, size, out, old, new, begin, end):
    for i in range(begin, end):
        if i >= old:
            out[i] = 0


def _fills(native: Native) -> Native:
    return replace(native, kernel=list_fill_kernel, parallel=native.arguments[1])


@on_gpu(ByThreads(_fills))
def list_resize_kernel(buffer, size, out, old, new, begin, end):
    for i in range(old, new):
        out[i] = 0


def _infer_resize(c: Inference) -> Dims:
    fault = "a list cannot have {size} elements"
    size = c.need_size(1, fault) if c.rank(1) == 0 else c.need_sizes(1, fault)[0]
    return (size, *c.dims(0)[1:])


def _resize(buffer: np.ndarray, size: np.ndarray) -> np.ndarray:
    rows = int(size.reshape(-1)[0])
    result = np.zeros((rows, *buffer.shape[1:]), buffer.dtype)
    kept = min(rows, len(buffer))
    result[:kept] = buffer[:kept]
    return result


list_resize = define(
    "list_resize",
    "_ListResize(buffer: T, size: Tsize; T: type, Tsize: {i32, i64}) -> output: T",
    infer=_infer_resize,
    reference=_resize,
    lowering=lambda node: Native(
        list_resize_kernel,
        arguments=(node.inputs[0].type.size, node.output.type.size),
        updates=0,
        moves=True,
    ),
    marks=MarkAccess(0, leaves=lambda _: UNWRITTEN),
    examples=(
        "T[2,3] i32[1]=[4]",
        "f32[4] i64[]=2",
        "f32[0,3] i32[]=2",
        "f32[3,2] i32[]=3",
        "f32[3,2] i32[]=0",
    ),
)

# -- elements put in

# What a list held before, `held` numbers an element, need not be as wide as what it holds now: no
# element at all was written then, and only a run can tell.


LIMIT = -1  # how many elements a list may have, -1 for any number: the compiler gives it


@on_gpu(ByColumns("width"))
def list_append_kernel(buffer, value, out, status, rows, held, width, given, begin, end):
    if LIMIT >= 0 and rows >= LIMIT:
        fail(status, 2, rows, LIMIT, 0)
        return
    if given != width or (rows > 0 and held != width):
        fail(status, 1, given, held, 0)
        return
    for j in range(width):
        out[rows * width + j] = value[j]


def _infer_append(c: Inference) -> Dims:
    rows, *element = c.dims(0)
    return (rows + 1, *_new_element(c, tuple(element), c.dims(1)))


def _new_element(c: Inference, held: Dims, given: Dims) -> Dims:
    """The dims of a list's elements with one of the dims `given` among them."""
    fault = f"a list of elements {shown_dims(held)} cannot hold one of shape {shown_dims(given)}"
    if len(held) != len(given):
        raise c.fail(fault)
    found: list[Dim] = []
    for ours, theirs in zip(held, given):
        if isinstance(ours, int) and isinstance(theirs, int) and ours != theirs:
            raise c.fail(fault)
        found.append(ours if isinstance(ours, int) else theirs)
    return tuple(found)


def _width(dims: Dims) -> Dim:
    """The numbers in one element of a buffer."""
    return product(dims[1:])


def _lower_append(node: Node) -> Lowering:
    held, value = (v.dims for v in node.inputs)
    return Native(
        list_append_kernel,
        arguments=(held[0], _width(held), _width(node.output.dims), product(value)),
        errors=(unequal_sizes(), FULL),
        constants={"LIMIT": node.attrs["limit"]},
        updates=0,
        moves=True,
    )


def _append(buffer: np.ndarray, value: np.ndarray, *, limit: int) -> np.ndarray:
    if 0 <= limit <= len(buffer):
        raise InvalidArgumentError(FULL.format(a=len(buffer), b=limit))
    held = buffer if len(buffer) else buffer.reshape(0, *value.shape)
    return np.concatenate([held, value[None]])


list_append = define(
    "list_append",
    "_ListAppend(buffer: T, value: T; limit: int = -1, T: type) -> output: T",
    infer=_infer_append,
    reference=_append,
    lowering=_lower_append,
    examples=(
        *("T[2,3] T[3]", "f32[0] f32[]", "f32[3,0] f32[0]", "f32[1,2,2] f32[2,2]"),
        "f32[2] f32[]; limit=3",
    ),
)


ADD = 0  # whether elements add up: the compiler gives it to the kernel


@on_gpu(ByColumns("width"))
def list_set_kernel(buffer, index, value, out, status, rows, held, width, given, count, begin, end):
    if count > 0 and (given != width or (rows * held > 0 and held != width)):
        fail(status, 1, given, held, index[0])
        return
    if held != width:
        for row in range(rows):
            for j in range(width):
                out[row * width + j] = 0
    for i in range(count):
        at = index[i]
        if at < 0 or at >= rows:
            fail(status, 2, at, rows, 0)
            return
        for j in range(width):
            if ADD == 1:
                out[at * width + j] += value[i * width + j]
            else:
                out[at * width + j] = value[i * width + j]


def _infer_set(c: Inference) -> Dims:
    return _dims_with(c, c.dims(1), c.dims(2))


def _dims_with(c: Inference, index: Dims, value: Dims) -> Dims:
    """The dims of input 0 once it holds the elements of a value, one for each index."""
    fault = f"values of shape {shown_dims(value)} do not fit indices of shape {shown_dims(index)}"
    for ours, theirs in zip(index, value):
        c.equal(ours, theirs, fault)
    return (c.dims(0)[0], *_new_element(c, c.dims(0)[1:], value[len(index) :]))


def _set(
    buffer: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    *,
    message: str,
    array: str,
    add: bool,
) -> np.ndarray:
    _check_range(index, len(buffer), set_fault(message, escaped(array), index.ndim))
    result = _room_for(buffer, value.shape[index.ndim :])
    for at in np.ndindex(index.shape):
        place = int(index[at])
        result[place] = result[place] + value[at] if add else value[at]
    return result


def _room_for(buffer: np.ndarray, element: tuple[int, ...]) -> np.ndarray:
    """A copy of a list to change; zeros where its elements had no size before."""
    if buffer.shape[1:] != element and not buffer.size:
        return np.zeros((len(buffer), *element), buffer.dtype)
    return buffer.copy()


def _check_range(index: np.ndarray, rows: int, message: str) -> None:
    for at in index.reshape(-1):
        if not 0 <= at < rows:
            raise InvalidArgumentError(message.format(value=at, extent=rows))


def _set_arguments(node: Node, index: Dims, value: Dims) -> tuple[Dim, ...]:
    """rows, held, width, given, count"""
    held, out = node.inputs[0].dims, node.output.dims
    return out[0], _width(held), _width(out), product(value[len(index) :]), product(index)


def _set_message(node: Node) -> str:
    array = escaped(escaped(node.attrs["array"]))
    return set_fault(node.attrs["message"], array, node.inputs[1].type.rank)


list_set = define(
    "list_set",
    '_ListSet(buffer: T, index: Tindex, value: T; message: string = "", array: string = "",'
    " add: bool = False, T: type, Tindex: {i32, i64}) -> output: T",
    infer=_infer_set,
    reference=_set,
    lowering=lambda node: Native(
        list_set_kernel,
        arguments=_set_arguments(node, node.inputs[1].dims, node.inputs[2].dims),
        errors=(unequal_sizes(escaped(node.attrs["array"])), numbered(_set_message(node))),
        constants={"ADD": int(node.attrs["add"])},
        updates=0,
        moves=not node.attrs["add"],
    ),
    traits=frozenset({"sets_elements"}),
    examples=(
        'T[3,2] i32[]=1 T[2]; message="{value} of {extent}"',
        'f32[4] i64[]=3 f32[]; message="out"',
        'f32[5,2,2] i32[3]=[4,0,2] f32[3,2,2]; message="out"',
        'f32[2,0] i32[]=1 f32[0]; array="ta"',
        'i32[3,2] i32[3]=[0,1,0] i32[3,2]; array="ta", add=True',
        'f32[4] i64[]=3 f32[]; array="ta", add=True',
        "f32[0,3] i32[0]=[] f32[0,3]",
    ),
)


# -- elements taken out


def _infer_get(c: Inference) -> Dims:
    if c.rank(0) < 1:
        raise c.fail(f"a list is at least a vector, found {c.inputs[0]}")
    return (*c.dims(1), *c.dims(0)[1:])


def _lower_get(node: Node) -> Lowering:
    buffer, index = node.inputs
    rank = index.type.rank
    message = get_fault(node.attrs["message"], node.attrs["array"])

    def read(k: Any, at: tuple[Dim, ...]) -> Any:
        place = k.checked_index(k.load(1, at[:rank]), buffer.dims[0], message)
        return k.load(0, (place, *at[rank:]))

    return View(read)


def _get(buffer: np.ndarray, index: np.ndarray, *, message: str, array: str) -> np.ndarray:
    _check_range(index, len(buffer), get_fault(message, array))
    return np.asarray(buffer[index.astype(np.int64)])


list_get = define(
    "list_get",
    '_ListGet(buffer: T, index: Tindex; message: string = "", array: string = "", T: type,'
    " Tindex: {i32, i64}) -> output: T",
    infer=_infer_get,
    reference=_get,
    lowering=_lower_get,
    examples=(
        'T[3,2] i32[]=1; message="{value} of {extent}"',
        'f32[4] i64[]=3; message="out"',
        'f32[5,2,2] i32[4]=[4,0,2,4]; array="ta"',
        "f32[0,3] i32[0]=[]",
    ),
)


# -- a tensor cut into the elements of a list


@on_gpu(ByOneThread())
def list_pieces_kernel(value, lengths, out, status, count, piece, total, begin, end):
    used = 0
    for i in range(count):
        used += lengths[i]
    status[1] = used
    status[2] = total
    if used != total:
        status[0] = 1
        return
    for i in range(count):
        if lengths[i] != piece:
            fail(status, 2, lengths[i], piece, 0)
            return


DIFFER = "pieces of lengths {a} and {b}, which the list takes in one shape only"


def _infer_pieces(c: Inference) -> Dims:
    if c.rank(0) < 1 or c.rank(1) != 1:
        raise c.fail("Expected value to be at least a vector and lengths to be one")
    (total, *rest), (count,) = c.dims(0), c.dims(1)
    return (count, total // maximum(count, 1), *rest)


def _pieces(value: np.ndarray, lengths: np.ndarray, *, message: str) -> np.ndarray:
    used, total = int(lengths.sum()), len(value)
    piece = total // max(len(lengths), 1)
    if used != total:
        raise InvalidArgumentError(message.format(value=used, extent=total))
    for found in lengths[lengths != piece]:
        raise InvalidArgumentError(DIFFER.format(a=found, b=piece))
    return value.reshape(len(lengths), piece, *value.shape[1:]).copy()


list_pieces = define(
    "list_pieces",
    "_ListPieces(value: T, lengths: i64; message: string, T: type) -> output: T",
    infer=_infer_pieces,
    reference=_pieces,
    lowering=lambda node: Native(
        list_pieces_kernel,
        arguments=(*node.output.dims[:2], node.inputs[0].dims[0]),
        errors=(numbered(node.attrs["message"]), DIFFER),
        updates=0,
        moves=True,
    ),
    examples=(
        'T[6,2] i64[3]=[2,2,2]; message="{value} of {extent}"',
        'f32[0] i64[0]=[]; message="out"',
        'f32[4] i64[1]=[4]; message="out"',
    ),
)
