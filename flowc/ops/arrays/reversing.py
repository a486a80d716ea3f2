"""Ops that turn dimensions round: reverse, reverse_sequence, roll.

In: a tensor, and which axes (by how much) to turn. Out: its elements in another order. Invariant:
the dims stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.dtypes import i64
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference, open_shape
from flowc.ir.lowering import Decompose, Lowering, View
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.shapes import constant_ints, known_dims


def _infer_reverse(c: Inference) -> Dims:
    c.need_rank(1, 1)
    rank = c.rank(0)
    axes = [
        a + rank if -rank <= a < 0 else a for a in c.need_ints(1, shapes=[open_shape(c.dims(0))])
    ]
    for i, axis in enumerate(axes):
        if not 0 <= axis < rank:
            raise c.fail(f"'axis'[{i}] = {axis} is out of valid range [0, {rank - 1}]")
        if axis in axes[:i]:
            raise c.fail(f"axis {axis} specified more than once.")
    return c.dims(0)


def _lower_reverse(node: Node) -> Lowering:
    dims = node.inputs[0].dims
    axes = {a % len(dims) for a in constant_ints(node, 1)}
    return View(
        lambda k, index: k.load(
            0, tuple(d - 1 - i if a in axes else i for a, (d, i) in enumerate(zip(dims, index)))
        )
    )


def _reverse(tensor: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return np.flip(tensor, tuple(int(a) for a in axis.reshape(-1)))


def _infer_reverse_v1(c: Inference) -> Dims:
    rank = c.rank(0)
    c.need_dims(1, (rank,), f"dims must be a vector of {rank} elements, one a dimension")
    c.need_ints(1, shapes=[open_shape(c.dims(0))])
    return c.dims(0)


def _lower_reverse_v1(b: Any, node: Node) -> Value:
    axes = [i for i, is_reversed in enumerate(constant_ints(node, 1)) if is_reversed]
    return b.reverse(node.inputs[0], np.array(axes, np.int32))


def _reverse_v1(tensor: np.ndarray, dims: np.ndarray) -> np.ndarray:
    return np.flip(tensor, tuple(int(i) for i in np.flatnonzero(dims)))


# -- reverse_sequence

SEQUENCE_LENGTH = "seq_lens[{place}] = {value} is not in [0, {extent})"


def _sequence_axes(c: Inference) -> tuple[int, int]:
    rank = c.rank(0)
    seq, batch = c.attrs["seq_dim"], c.attrs["batch_dim"]
    for name, axis in (("seq_dim", seq), ("batch_dim", batch)):
        if not 0 <= axis < rank:
            raise c.fail(f"{name} must be < input rank ({axis} vs. {rank})")
    if seq == batch:
        raise c.fail(f"batch_dim == seq_dim == {seq}")
    return seq, batch


def _infer_reverse_sequence(c: Inference) -> Dims:
    batch = _sequence_axes(c)[1]
    c.need_rank(1, 1, f"seq_lengths must be 1-dim, not {c.rank(1)}")
    dims = c.dims(0)
    if all(isinstance(d, int) for d in (dims[batch], c.dims(1)[0])) and dims[batch] != c.dims(1)[0]:
        raise c.fail(
            f"Length of seq_lengths != input.dims({batch}), ({c.dims(1)[0]} vs. {dims[batch]})"
        )
    c.equal(dims[batch], c.dims(1)[0])
    return dims


def _lower_reverse_sequence(node: Node) -> Lowering:
    dims = node.inputs[0].dims
    seq, batch = node.attrs["seq_dim"], node.attrs["batch_dim"]

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        at = (index[batch],)
        found = k.checked_index(k.load(1, at), dims[seq] + 1, SEQUENCE_LENGTH, at)
        length = k.index_value(found, i64)
        place = k.index_value(index[seq], i64)
        mirrored = k.sub(k.sub(length, 1), place)
        source = k.as_index(k.select(k.lt(place, length), mirrored, place), dims[seq])
        return k.load(0, (*index[:seq], source, *index[seq + 1 :]))

    return View(read)


def _reverse_sequence(
    x: np.ndarray, seq_lengths: np.ndarray, *, seq_dim: int, batch_dim: int
) -> np.ndarray:
    result = x.copy()
    for i, length in enumerate(seq_lengths):
        if not 0 <= length <= x.shape[seq_dim]:
            extent = x.shape[seq_dim] + 1
            raise InvalidArgumentError(SEQUENCE_LENGTH.format(place=i, value=length, extent=extent))
        box: list[Any] = [slice(None)] * x.ndim
        box[batch_dim] = i
        box[seq_dim] = slice(0, int(length))
        axis = seq_dim if seq_dim < batch_dim else seq_dim - 1
        result[tuple(box)] = np.flip(x[tuple(box)], axis)
    return result


# -- roll


def _infer_roll(c: Inference) -> Dims:
    if not c.rank(0):
        raise c.fail("input must be 1-D or higher")
    for i, name in ((1, "shift"), (2, "axis")):
        if c.rank(i) > 1:
            found = shown_dims(c.dims(i))
            raise c.fail(f"{name} must be a scalar or a 1-D vector. Found: {found}")
    c.match_dims(c.dims(1), c.dims(2), "shift and axis must have the same size")
    for axis in c.need_ints(2, shapes=[open_shape(c.dims(0))]):
        if not -c.rank(0) <= axis < c.rank(0):
            raise c.fail(f"axis {axis} is out of range")
    return c.dims(0)


def _lower_roll(node: Node) -> Lowering:
    dims = node.inputs[0].dims
    axes = [a % len(dims) for a in constant_ints(node, 2)]
    shifts = known_dims(node.inputs[1])

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        places = list(index)
        for i, axis in enumerate(axes):
            dim = dims[axis]
            if dim in (0, 1):
                continue
            if shifts is not None:
                shift = shifts[i] % dim if isinstance(dim, int) else shifts[i]
            else:
                found = k.cast(k.load(1, (i,) if node.inputs[1].type.rank else ()), i64)
                extent = k.index_value(dim, i64)
                shift = k.as_index(k.floormod(found, extent), dim)
            places[axis] = (places[axis] - shift) % dim
        return k.load(0, tuple(places))

    return View(read)


def _roll(x: np.ndarray, shift: np.ndarray, axis: np.ndarray) -> np.ndarray:
    shifts = tuple(int(s) for s in shift.reshape(-1))
    return np.roll(x, shifts, tuple(int(a) for a in axis.reshape(-1)))


reverse = define(
    "reverse",
    "ReverseV2(tensor: T, axis: Tidx; Tidx: {i32, i64} = i32, T: {u8, i8, u16, i16, i32, u32,"
    " i64, u64, bool, bf16, f16, f32, f64, c64, c128, string}) -> output: T",
    infer=_infer_reverse,
    reference=_reverse,
    lowering=_lower_reverse,
    gradient=lambda b, node, dy: b.reverse(dy, node.inputs[1]),
    examples=(
        "T[2,3] i32[1]=[1]",
        "f32[3,4,5] i64[2]=[-1,0]",
        "f32[3] i32[0]",
        "f32[0,1] i32[2]=[0,1]",
    ),
    content=True,
)

reverse_v1 = define(
    "reverse_v1",
    "Reverse(tensor: T, dims: bool; T: {u8, i8, u16, i16, u32, i32, u64, i64, bool, bf16, f16,"
    " f32, f64, c64, c128}) -> output: T",
    infer=_infer_reverse_v1,
    reference=_reverse_v1,
    lowering=Decompose(_lower_reverse_v1),
    gradient=lambda b, node, dy: b.reverse_v1(dy, node.inputs[1]),
    examples=("T[2,3] bool[2]=[False,True]", "f32[3] bool[1]=[False]"),
)

reverse_sequence = define(
    "reverse_sequence",
    "ReverseSequence(input: T, seq_lengths: Tlen; seq_dim: int, batch_dim: int = 0, T: type,"
    " Tlen: {i32, i64} = i64) -> output: T",
    infer=_infer_reverse_sequence,
    reference=_reverse_sequence,
    lowering=_lower_reverse_sequence,
    gradient=lambda b, node, dy: b.with_attrs_of(node, "reverse_sequence", dy, node.inputs[1]),
    examples=(
        "T[3,5] i64[3]=[0,3,5]; seq_dim=1",
        "f32[4,2,3] i32[3]=[1,2,4]; seq_dim=0, batch_dim=2",
    ),
)

roll = define(
    "roll",
    "Roll(input: T, shift: Tshift, axis: Taxis; T: type, Tshift: {i32, i64},"
    " Taxis: {i32, i64}) -> output: T",
    infer=_infer_roll,
    reference=_roll,
    lowering=_lower_roll,
    gradient=lambda b, node, dy: b.roll(dy, b.neg(node.inputs[1]), node.inputs[2]),
    examples=(
        "T[2,5] i32[]=2 i32[]=1",
        "f32[3,4] i64[3]=[1,-2,7] i32[3]=[0,1,-1]",
        "f32[0] i32[]=2 i32[]=0",
    ),
)
