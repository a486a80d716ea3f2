"""Gradients of cells in one node: LSTMBlockCellGrad, BlockLSTMGrad, GRUBlockCellGrad.

In: what the forward op was given and gave, the gradients of the state after it. Out: those of what
it was given, or of the gates before anything was applied to them. Invariant: clipping a cell
changes no gradient, as in TensorFlow; steps from `seq_len_max` on give zeros, and what comes from
the gates of all steps is one product.
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
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.state.variables import value_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node

Array = np.ndarray[Any, Any]
FLOAT = "T: {f16, f32}"
GIVEN = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T"


def _less_square(b: Builder, x: Value) -> Value:
    """1 - x*x"""
    return b.sub(b.const(np.ones((), x.type.dtype.numpy), x.type.dtype), b.square(x))


def _less_itself(b: Builder, x: Value) -> Value:
    """x*(1 - x)"""
    return b.sub(x, b.square(x))


def _step_back(
    b: Builder, gates: Sequence[Value], cs_prev: Value, cs_grad: Value, h_grad: Value,
    peep: Sequence[Value] | None,
) -> tuple[dict[str, Value], Value]:  # fmt: skip
    """(the gradients of the gates before anything was applied to them, that of `cs_prev`)"""
    i, _, f, o, ci, co = gates
    d_o = b.mul(_less_itself(b, o), b.mul(h_grad, co))
    dcs = b.add(b.mul(_less_square(b, co), b.mul(h_grad, o)), cs_grad)
    if peep is not None:
        dcs = b.add(dcs, b.mul(d_o, peep[2]))
    found = {
        "i": b.mul(_less_itself(b, i), b.mul(dcs, ci)),
        "ci": b.mul(_less_square(b, ci), b.mul(dcs, i)),
        "f": b.mul(_less_itself(b, f), b.mul(dcs, cs_prev)),
        "o": d_o,
    }
    before = b.mul(dcs, f)
    if peep is not None:
        before = b.add(before, b.add(b.mul(found["i"], peep[0]), b.mul(found["f"], peep[1])))
    return found, before


def _side_by_side(b: Builder, parts: Sequence[Value], axis: int) -> Value:
    return b.concat(*parts, b.const(np.int32(axis)))


def _build_cell(b: Builder, node: Node) -> list[Value]:
    _, cs_prev, _, _, *weights = node.inputs[:8]
    gates, (cs_grad, h_grad) = node.inputs[8:14], node.inputs[14:]
    peep = weights[:3] if node.attrs["use_peephole"] else None
    found, before = _step_back(b, gates, cs_prev, cs_grad, h_grad, peep)
    all_gates = _side_by_side(b, [found[name] for name in ("i", "ci", "f", "o")], 1)
    if peep is None:
        return [before, all_gates, *(b.zeros_like(w) for w in weights[:3])]
    rows = np.zeros(1, np.int32)
    met = (("i", cs_prev), ("f", cs_prev), ("o", gates[1]))
    return [before, all_gates, *(b.sum(b.mul(found[name], cs), rows) for name, cs in met)]


def _cell_reference(*arrays: Array, use_peephole: bool) -> list[Array]:
    _, cs_prev, _, _, wci, wcf, wco, _, i, cs, f, o, ci, co, cs_grad, h_grad = arrays
    one = i.dtype.type(1)
    d_o = o * (one - o) * h_grad * co
    dcs = (one - co * co) * h_grad * o + cs_grad + (d_o * wco if use_peephole else 0)
    d_i, d_ci = i * (one - i) * dcs * ci, (one - ci * ci) * dcs * i
    d_f = f * (one - f) * dcs * cs_prev
    before = dcs * f + (d_i * wci + d_f * wcf if use_peephole else 0)
    of_peep = [(g * s).sum(0) for g, s in ((d_i, cs_prev), (d_f, cs_prev), (d_o, cs))]
    if not use_peephole:
        of_peep = [np.zeros_like(w) for w in of_peep]
    return [before, np.concatenate([d_i, d_ci, d_f, d_o], 1), *of_peep]


def _infer_cell(c: Inference) -> list[Dims]:
    for i in (1, *range(8, 16)):
        c.need_rank(i, 2, f"input {i} must be of rank 2, got {c.inputs[i]}")
        c.match_dims(c.dims(1), c.dims(i), f"input {i} must be {c.inputs[1]}")
    batch, cells = c.dims(1)
    for i in (4, 5, 6):
        c.match_dims((cells,), c.dims(i), f"input {i} must have {cells} elements")
    return [(batch, cells), (batch, cells * 4), (cells,), (cells,), (cells,)]


_CELL = "{0}[3,5] {0}[3,4] {0}[3,4] {0}[9,16] {0}[4] {0}[4] {0}[4] {0}[16] " + "{0}[3,4] " * 8
define(
    "lstm_block_cell_grad",
    f"LSTMBlockCellGrad({GIVEN}, {GATES}, cs_grad: T, h_grad: T; use_peephole: bool, {FLOAT})"
    " -> (cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T)",
    infer=_infer_cell,
    lowering=Decompose(_build_cell),
    reference=_cell_reference,
    examples=(
        f"{_CELL.format('f32').strip()}; use_peephole=False",
        f"{_CELL.format('f32').strip()}; use_peephole=True",
    ),
)


# -- all steps of a sequence


def _before(b: Builder, first: Value, series: Value) -> Value:
    """What a state was before each step."""
    steps, *dims = series.dims
    return _side_by_side(
        b, [b.expand_dims(first, np.int32(0)), b.slice(series, (0, 0, 0), (steps - 1, *dims))], 0
    )


def _emit_block(order: Sequence[str]) -> Callable[..., Sequence[Bound]]:
    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        b = x.b
        limit, xs, cs_prev, h_prev, w, *rest = (value_of(x, bound) for bound in inputs)
        peep, series, h = rest[:3], rest[4:10], rest[10]
        given = [*series, _before(b, cs_prev, series[1]), *rest[11:]]
        steps, batch, width = xs.dims
        cells = cs_prev.dims[1]
        below = b.slice(w, (width, 0), (cells, cells * 4))
        of_gates = b.list_new(b.sizes((steps, batch, cells * 4)), T=xs.type.dtype)
        count = b.minimum(limit, b.scalar_size(steps, dtypes.i64))
        uses_peep = attrs["use_peephole"]

        def condition(inner: Extractor, state: Sequence[Any]) -> Sequence[Bound]:
            return [inner.b.greater(state[0], inner.b.const(np.int64(0)))]

        def body(inner: Extractor, state: Sequence[Any]) -> Sequence[Bound]:
            t, of_cs, of_h, below, of_gates, *fixed = state
            weights, lists = fixed[:3], fixed[3:]
            k = inner.b
            t = k.sub(t, k.const(np.int64(1)))
            *gates, before, cs_grad, h_grad = (k.list_get(held, t) for held in lists)
            flowing = k.add(of_cs, cs_grad), k.add(of_h, h_grad)
            found, of_cs = _step_back(k, gates, before, *flowing, weights if uses_peep else None)
            joined = _side_by_side(k, [found[name] for name in order], 1)
            of_h = k.mat_mul(joined, below, transpose_b=True)
            return [t, of_cs, of_h, below, k.list_set(of_gates, t, joined), *fixed]

        nothing = b.zeros_like(cs_prev)
        start = [count, nothing, nothing, below, of_gates, *peep, *given]
        _, of_cs, of_h, _, of_gates, *_ = (value_of(x, v) for v in x.loop(condition, body, start))
        flat = b.reshape(of_gates, (steps * batch, cells * 4))
        met = _side_by_side(b, [xs, _before(b, h_prev, h)], 2)
        of_w = b.mat_mul(b.reshape(met, (steps * batch, width + cells)), flat, transpose_a=True)
        of_x = b.mat_mul(flat, b.slice(w, (0, 0), (width, cells * 4)), transpose_b=True)
        of_peep = [b.zeros_like(p) for p in peep]
        if uses_peep:
            states = {"i": given[6], "f": given[6], "o": series[1]}
            of_peep = [_of_peephole(b, of_gates, order.index(g), s) for g, s in states.items()]
        of_bias = b.sum(flat, np.zeros(1, np.int32))
        return [b.reshape(of_x, xs.dims), of_cs, of_h, of_w, *of_peep, of_bias]

    return emit


def _of_peephole(b: Builder, of_gates: Value, place: int, states: Value) -> Value:
    """The gradient of the peephole weights by which states were added to the gate at `place`."""
    part = b.slice(of_gates, (0, 0, states.dims[2] * place), states.dims)
    return b.sum(b.mul(part, states), np.arange(2, dtype=np.int32))


# What is of all steps: x, the values of gates and states, and gradients.
_SERIES = (1, *range(9, 18))


def _infer_block(c: Inference) -> list[Dims]:
    for i in _SERIES:
        c.need_rank(i, 3)
    return [c.dims(i) for i in range(1, 9)]


for _name, _tf, _order in (
    ("block_lstm_grad", "BlockLSTMGrad", ("i", "ci", "f", "o")),
    ("block_lstm_grad_v2", "BlockLSTMGradV2", ("i", "f", "ci", "o")),
):
    define(
        _name,
        f"{_tf}(seq_len_max: i64, {GIVEN}, {GATES}, h: T, cs_grad: T, h_grad: T;"
        f" use_peephole: bool, {FLOAT}) -> (x_grad: T, cs_prev_grad: T, h_prev_grad: T,"
        " w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T)",
        infer=_infer_block,
        lowering=Extracted(_emit_block(_order)),
    )


def block_gradient(b: GradientBuilder, node: Forward, *dys: Any) -> Any:
    """The gradient of both versions of BlockLSTM, as TensorFlow has it: by the op for the first
    one, though the second one has its gates in another order, so that this is not its slope."""
    found = b.with_attrs_of(node, "block_lstm_grad", *node.inputs, *node.outputs, dys[1], dys[6])
    return None, *found


# -- GRU


def _build_gru(b: Builder, node: Node) -> list[Value]:
    x, h_prev, w_ru, w_c, _, _, r, u, c, d_h = node.inputs
    width, cells = x.dims[1], h_prev.dims[1]
    keep = b.sub(b.const(np.ones((), np.float32)), u)
    of_c = b.mul(b.mul(d_h, keep), _less_square(b, c))
    of_reset = b.mat_mul(of_c, b.slice(w_c, (width, 0), (cells, cells)), transpose_b=True)
    of_r = b.mul(b.mul(of_reset, h_prev), _less_itself(b, r))
    of_u = b.mul(b.mul(d_h, b.sub(h_prev, c)), _less_itself(b, u))
    of_ru = _side_by_side(b, [of_r, of_u], 1)
    through = b.mat_mul(of_ru, w_ru, transpose_b=True)
    rows = x.dims[0]
    of_x = b.mat_mul(of_c, b.slice(w_c, (0, 0), (width, cells)), transpose_b=True)
    of_h = b.add(b.mul(of_reset, r), b.mul(d_h, u))
    return [
        b.add(of_x, b.slice(through, (0, 0), (rows, width))),
        b.add(of_h, b.slice(through, (0, width), (rows, cells))),
        of_c,
        of_ru,
    ]


def _gru_reference(*arrays: Array) -> list[Array]:
    x, h_prev, w_ru, w_c, _, _, r, u, c, d_h = arrays
    width = x.shape[1]
    of_c = d_h * (1 - u) * (1 - c * c)
    of_reset = of_c @ w_c[width:].T
    of_ru = np.concatenate([of_reset * h_prev * r * (1 - r), d_h * (h_prev - c) * u * (1 - u)], 1)
    through = of_ru @ w_ru.T
    of_h = of_reset * r + d_h * u + through[:, width:]
    return [through[:, :width] + of_c @ w_c[:width].T, of_h, of_c, of_ru]


def _infer_gru(c: Inference) -> list[Dims]:
    for i in (0, 1, 2, 3, *range(6, 10)):
        c.need_rank(i, 2, f"input {i} must be of rank 2, got {c.inputs[i]}")
    state = c.dims(1)
    for i in range(6, 10):
        c.match_dims(state, c.dims(i), f"input {i} must be {c.inputs[1]}")
    batch, cells = state
    width = c.dims(0)[1]
    c.equal(batch, c.dims(0)[0])
    c.match_dims((width + cells, cells * 2), c.dims(2), "w_ru does not fit x and h_prev")
    c.match_dims((width + cells, cells), c.dims(3), "w_c does not fit x and h_prev")
    return [c.dims(0), state, state, (batch, cells * 2)]


define(
    "gru_block_cell_grad",
    "GRUBlockCellGrad(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T, r: T, u: T, c: T, d_h: T;"
    " T: {f32}) -> (d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T)",
    infer=_infer_gru,
    lowering=Decompose(_build_gru),
    reference=_gru_reference,
    examples=("f32[3,5] f32[3,4] f32[9,8] f32[9,4] f32[8] f32[4]" + " f32[3,4]" * 4,),
)
