"""Cells of recurrent networks in one node: LSTMBlockCell, BlockLSTM, GRUBlockCell.

In: the input of a step (of all steps: BlockLSTM), the state before it, weights of the input above
those of the state. Out: the gates and the state after it. Invariant: BlockLSTM gives zeros for the
steps from `seq_len_max` on (TensorFlow: for `cs` and `h`, and anything for the gates); what the
input adds to the gates of all steps is one product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Extracted
from flowc.ir.op import Attrs, define
from flowc.ir.types import Dims
from flowc.ops.nn.block_cell_gradients import block_gradient
from flowc.ops.state.variables import value_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node

Array = np.ndarray[Any, Any]
FLOAT = "T: {f16, f32}"
STATE = "cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
GATES = "(i: T, cs: T, f: T, o: T, ci: T, co: T, h: T)"
# Where the gates stand among the columns of the weights.
ICFO, IFCO = ("i", "ci", "f", "o"), ("i", "f", "ci", "o")


def _infer_lstm(c: Inference, x: int, rank: int) -> Dims:
    """The dims of one gate; `x`: the position of the input."""
    ranks = (rank, 2, 2, 2, 1, 1, 1, 1)
    for i, expected in enumerate(ranks, x):
        if c.rank(i) != expected:
            raise c.fail(f"input {i} must be of rank {expected}, got {c.inputs[i]}")
    batch, cells = c.dims(x + 1)
    c.equal(c.dims(x)[-2], batch)
    c.match_dims((batch, cells), c.dims(x + 2), f"input {x + 2} must be {c.inputs[x + 1]}")
    c.equal(c.dims(x + 7)[0], cells * 4)
    for i in (x + 4, x + 5, x + 6):
        c.equal(c.dims(i)[0], cells)
    c.equal(c.dims(x + 3)[0], c.dims(x)[-1] + cells)
    c.equal(c.dims(x + 3)[1], cells * 4)
    return (*c.dims(x)[:-1], cells)


def _lstm_step(
    b: Builder, added: Value, state: Sequence[Value], peep: Sequence[Value], attrs: Attrs,
    order: Sequence[str],
) -> list[Value]:  # fmt: skip
    """What a step gives. `added`: all gates, before anything is applied to them."""
    cs_prev, dtype = state[0], added.type.dtype
    batch, cells = cs_prev.dims

    def number(x: float) -> Value:
        return b.const(np.asarray(x, dtype.numpy), dtype)

    parts = {name: b.slice(added, (0, cells * k), (batch, cells)) for k, name in enumerate(order)}
    if attrs["use_peephole"]:
        parts["i"] = b.add(parts["i"], b.mul(cs_prev, peep[0]))
        parts["f"] = b.add(parts["f"], b.mul(cs_prev, peep[1]))
    i, ci = b.sigmoid(parts["i"]), b.tanh(parts["ci"])
    f = b.sigmoid(b.add(parts["f"], number(attrs.get("forget_bias", 0.0))))
    cs = b.add(b.mul(ci, i), b.mul(cs_prev, f))
    clip = attrs["cell_clip"]
    if clip > 0:
        cs = b.minimum(b.maximum(cs, number(-clip)), number(clip))
    if attrs["use_peephole"]:
        parts["o"] = b.add(parts["o"], b.mul(cs, peep[2]))
    o, co = b.sigmoid(parts["o"]), b.tanh(cs)
    return [i, cs, f, o, ci, co, b.mul(o, co)]


def _build_cell(b: Builder, node: Node) -> list[Value]:
    x, cs_prev, h_prev, w, wci, wcf, wco, bias = node.inputs
    both = b.concat(x, h_prev, b.const(np.int32(1)))
    added = b.add(b.mat_mul(both, w), bias)
    return _lstm_step(b, added, (cs_prev,), (wci, wcf, wco), node.attrs, ICFO)


def _sigmoid(x: Array) -> Array:
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


def _cell_reference(
    x: Array, cs_prev: Array, h_prev: Array, w: Array, wci: Array, wcf: Array, wco: Array,
    b: Array, *, forget_bias: float, cell_clip: float, use_peephole: bool,
) -> list[Array]:  # fmt: skip
    kind = x.dtype.type
    added = np.concatenate([x, h_prev], 1) @ w + b
    i, ci, f, o = np.split(added, 4, 1)
    peep = kind(use_peephole)
    i = _sigmoid(i + peep * cs_prev * wci)
    f = _sigmoid(f + kind(forget_bias) + peep * cs_prev * wcf)
    ci = np.tanh(ci)
    cs = ci * i + cs_prev * f
    if cell_clip > 0:
        cs = np.clip(cs, kind(-cell_clip), kind(cell_clip))
    o = _sigmoid(o + peep * cs * wco)
    co = np.tanh(cs)
    return [i, cs, f, o, ci, co, o * co]


_LSTM_ATTRS = "forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False"
_WEIGHTS = "{0}[3,4] {0}[3,4] {0}[9,16] {0}[4] {0}[4] {0}[4] {0}[16]"

lstm_block_cell = define(
    "lstm_block_cell",
    f"LSTMBlockCell(x: T, {STATE}; {_LSTM_ATTRS}, {FLOAT}) -> {GATES}",
    infer=lambda c: [_infer_lstm(c, 0, 2)] * 7,
    lowering=Decompose(_build_cell),
    reference=_cell_reference,
    examples=(
        f"f32[3,5] {_WEIGHTS.format('f32')}",
        f"f32[3,5] {_WEIGHTS.format('f32')}; use_peephole=True, cell_clip=0.25",
        f"f32[3,5] {_WEIGHTS.format('f32')}; forget_bias=0.0, cell_clip=-1.0",
    ),
)


# -- all steps of a sequence


def _emit_block(order: Sequence[str]) -> Callable[..., Sequence[Bound]]:
    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        b = x.b
        limit, xs, cs, h, w, *peep, bias = (value_of(x, bound) for bound in inputs)
        steps, batch, width = xs.dims
        cells = cs.dims[1]
        flat = b.mat_mul(
            b.reshape(xs, (steps * batch, width)), b.slice(w, (0, 0), (width, cells * 4))
        )
        added = b.reshape(b.add(flat, bias), (steps, batch, cells * 4))
        below = b.slice(w, (width, 0), (cells, cells * 4))
        dtype = xs.type.dtype
        series = [b.list_new(b.sizes((steps, batch, cells)), T=dtype) for _ in range(7)]
        stop = b.minimum(limit, b.scalar_size(steps, dtypes.i64))

        def condition(inner: Extractor, state: Sequence[Any]) -> Sequence[Bound]:
            return [inner.b.less(state[0], state[1])]

        def body(inner: Extractor, state: Sequence[Any]) -> Sequence[Bound]:
            t, stop, cs, h, added, below, *rest = state
            peep, series = rest[:3], rest[3:]
            k = inner.b
            gates = k.add(k.list_get(added, t), k.mat_mul(h, below))
            found = _lstm_step(k, gates, (cs,), peep, attrs, order)
            written = [k.list_set(s, t, v) for s, v in zip(series, found)]
            following = k.add(t, k.const(np.int64(1)))
            return [following, stop, found[1], found[6], added, below, *peep, *written]

        start = [b.const(np.int64(0)), stop, cs, h, added, below, *peep, *series]
        return x.loop(condition, body, start)[-7:]

    return emit


for _name, _tf, _attrs, _order in (
    ("block_lstm", "BlockLSTM", _LSTM_ATTRS, ICFO),
    ("block_lstm_v2", "BlockLSTMV2", "cell_clip: float = 0.0, use_peephole: bool = False", IFCO),
):
    define(
        _name,
        f"{_tf}(seq_len_max: i64, x: T, {STATE}; {_attrs}, {FLOAT}) -> {GATES}",
        infer=lambda c: [_infer_lstm(c, 1, 3)] * 7,
        lowering=Extracted(_emit_block(_order)),
        gradient=block_gradient,
    )


# -- GRU


def _infer_gru(c: Inference) -> list[Dims]:
    for i, expected in ((0, 2), (1, 2), (2, 2), (3, 2), (4, 1), (5, 1)):
        if c.rank(i) != expected:
            raise c.fail(f"input {i} must be of rank {expected}, got {c.inputs[i]}")
    batch, cells = c.dims(1)
    c.equal(c.dims(0)[0], batch)
    for i, width in ((2, cells * 2), (3, cells)):
        c.equal(c.dims(i)[0], c.dims(0)[1] + cells)
        c.equal(c.dims(i)[1], width)
        c.equal(c.dims(i + 2)[0], width)
    return [(batch, cells)] * 4


def _build_gru(b: Builder, node: Node) -> list[Value]:
    x, h_prev, w_ru, w_c, b_ru, b_c = node.inputs
    batch, cells = h_prev.dims
    axis = b.const(np.int32(1))
    both = b.add(b.mat_mul(b.concat(x, h_prev, axis), w_ru), b_ru)
    r = b.sigmoid(b.slice(both, (0, 0), (batch, cells)))
    u = b.sigmoid(b.slice(both, (0, cells), (batch, cells)))
    c = b.tanh(b.add(b.mat_mul(b.concat(x, b.mul(h_prev, r), axis), w_c), b_c))
    one = b.const(np.ones((), np.float32))
    return [r, u, c, b.add(b.mul(u, h_prev), b.mul(b.sub(one, u), c))]


def _gru_reference(
    x: Array, h_prev: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array
) -> list[Array]:
    r, u = np.split(_sigmoid(np.concatenate([x, h_prev], 1) @ w_ru + b_ru), 2, 1)
    c = np.tanh(np.concatenate([x, h_prev * r], 1) @ w_c + b_c)
    return [r, u, c, u * h_prev + (1 - u) * c]


gru_block_cell = define(
    "gru_block_cell",
    "GRUBlockCell(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T; T: {f32})"
    " -> (r: T, u: T, c: T, h: T)",
    infer=_infer_gru,
    lowering=Decompose(_build_gru),
    reference=_gru_reference,
    examples=("f32[3,5] f32[3,4] f32[9,8] f32[9,4] f32[8] f32[4]",),
)
