"""Rewrites that make a Computation smaller without changing what it computes.

In: any Computation. Out: one with fewer or cheaper nodes. Rewrites of floats hold for NaN,
infinities and signed zeros; only folding a factor into weights rounds differently, as TensorFlow's
own graph rewrites do.
"""

from __future__ import annotations

import numpy as np

from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Convolution, MatMul
from flowc.ir.pattern import Match, Rewrite, apply_rewrites, const, keeps_type, op
from flowc.options import Options

WEIGHT_LIMIT = 1 << 30  # bytes of weights that a factor may be folded into


def simplify(c: Computation, options: Options) -> Computation:
    return apply_rewrites(c, RULES)


# -- what changes nothing


def _keeps_elements(m: Match) -> bool:
    return keeps_type(m) and m.node.output.type.is_static


def _is_repeat(m: Match) -> bool:
    """Whether an op is applied to what it gave, in the same way."""
    inner = m["inner"].node
    same = inner.op is m.node.op and dict(inner.attrs) == dict(m.node.attrs)
    return same and len(m.node.inputs) == 1


_NEUTRAL = {"mul": 1, "real_div": 1, "sub": 0, "add": 0, "logical_and": True, "logical_or": False}


def _is_neutral(m: Match) -> bool:
    """Whether a constant leaves x as it is: x + 0.0 turns -0.0 into 0.0, and x - -0.0 does too."""
    array, name = m.array("neutral"), m.node.op.name
    if array.size != 1 or not keeps_type(m) or array.reshape(-1)[0] != _NEUTRAL[name]:
        return False
    if name not in ("add", "sub") or array.dtype.kind in "iu":
        return True
    if m.node.output.type.dtype.is_complex:
        return False
    negative = bool(np.signbit(np.float64(array.reshape(-1)[0])))
    return negative == (name == "add")


def _is_power(m: Match, exponent: int) -> bool:
    floats = m.node.output.type.dtype.is_floating
    return floats and keeps_type(m) and bool((m.array("exponent") == exponent).all())


def _folds_only_ones(m: Match) -> bool:
    """Whether each element of the result is folded from one element: none is added to -0.0, as
    TensorFlow adds none."""
    dims = m["x"].dims
    return all(dims[int(axis)] == 1 for axis in m.array("axes").reshape(-1))


# -- dropout that keeps everything


def _is_drawn(value: Value) -> bool:
    """Whether all elements are uniform random numbers of [0, 1)."""
    while value.node.op.name in ("reshape", "add", "mul"):
        first, second = value.node.inputs[:2]
        if value.node.op.name != "reshape":
            neutral = _NEUTRAL[value.node.op.name]
            if second.constant is None or not (second.constant == neutral).all():
                return False
        value = first
    return value.node.op.name == "uniform_of_words"


def _keeps_all(m: Match) -> bool:
    """Whether numbers of [0, 1) are compared with a rate of 0 (or less)."""
    return keeps_type(m) and _is_drawn(m["drawn"]) and bool((m.array("rate") <= 0).all())


def _keeps_all_of_sum(m: Match) -> bool:
    """Whether floor(keep + numbers of [0, 1)) is 1, as `keep` is: they have no more digits than
    fit behind it."""
    return keeps_type(m) and _is_drawn(m["drawn"]) and bool((m.array("keep") == 1).all())


# -- exponentials of rows that are shifted


def _is_largest_of_group(m: Match) -> bool:
    """Whether x less the largest of its elements along some axes is what is raised to e."""
    most = m["most"].node
    return m["x"] is most.inputs[0] and most.attrs["keep_dims"]


# -- transposes


def _order(m: Match, name: str = "order") -> list[int]:
    """The axes of a permutation."""
    order = m.array(name)
    return [int(p) % max(1, len(order)) for p in order]


def _moves_only_ones(m: Match) -> bool:
    moved = [p for p in _order(m) if m["x"].dims[p] != 1]
    return moved == sorted(moved)


def _reshaped(m: Match) -> Value:
    return m["x"] if keeps_type(m) else m.b.reshape(m["x"], m.node.output.dims)


def _transposed_once(m: Match) -> Value:
    inner = _order(m, "inner")
    both = [inner[p] for p in _order(m)]
    return m["x"] if both == sorted(both) else m.b.transpose(m["x"], np.array(both, np.int32))


_FLAGS = {"mat_mul": ("transpose_a", "transpose_b"), "batch_mat_mul": ("adj_x", "adj_y")}


def _swaps_last_axes(m: Match) -> bool:
    rank = m["x"].type.rank
    is_complex = m.node.output.type.dtype.is_complex
    return not is_complex and _order(m) == [*range(rank - 2), rank - 1, rank - 2]


def _with_flag_flipped(m: Match) -> Value:
    side = m.node.inputs.index(m["transposed"])
    inputs = [m["x"] if i == side else v for i, v in enumerate(m.node.inputs)]
    flag = _FLAGS[m.node.op.name][side]
    return m.b.emit(m.node.op, inputs, {**m.node.attrs, flag: not m.node.attrs[flag]}).output


# -- convolutions and matrix products


def _pads_pixels(m: Match) -> bool:
    """Whether zeros are put round the spatial axes only, as many as are known."""
    amounts, lowering = m.array("amounts"), m.node.lowering
    if amounts[0].any() or amounts[-1].any() or (amounts < 0).any():
        return False
    if not isinstance(lowering, Convolution):
        return False  # of channels first: `decompose` comes first
    return all(isinstance(p, int) for pair in lowering.pad for p in pair)


def _padded_convolution(m: Match) -> Value:
    """Also of a padded image that others read: it costs nothing to see its zeros instead."""
    lowering = m.node.lowering
    assert isinstance(lowering, Convolution)
    total = m.array("amounts").astype(np.int64)
    total[1:-1] += np.array(lowering.pad)
    attrs = {"padding": "EXPLICIT", "explicit_paddings": tuple(total.reshape(-1).tolist())}
    origin = _both(m["padded"].node, m.node)
    inputs = (m["x"], m["weights"])
    return m.b.emit(m.node.op, inputs, {**m.node.attrs, **attrs}, origin=origin).output


def _may_scale(m: Match) -> bool:
    """Whether the weights can take in a factor."""
    inner, weights = m["product"].node, m.array("weights")
    if isinstance(inner.lowering, Convolution) and inner.lowering.transposed:
        return False
    few = len(inner.inputs) == 2 and weights.nbytes <= WEIGHT_LIMIT
    return few and weights.dtype.kind == "f" and _per_channel(m, "factor") is not None


def _per_channel(m: Match, name: str) -> np.ndarray | None:
    """A constant that broadcasts along the last axis only, as a vector of its size."""
    array, dims = m.array(name), m["product"].dims
    last = dims[-1] if dims else 1
    if not isinstance(last, int) or array.dtype.kind != "f" or array.size not in (1, last):
        return None
    if array.ndim > len(dims) or any(d != 1 for d in array.shape[:-1]):
        return None
    return np.broadcast_to(array.reshape(-1), (last,))


def _with_scaled_weights(m: Match) -> Value | None:
    inner, weights, channels = m["product"].node, m.array("weights"), _per_channel(m, "factor")
    assert channels is not None
    if isinstance(inner.lowering, MatMul) and inner.lowering.transpose_b:
        channels = channels[:, None]
    with np.errstate(all="ignore"):
        scaled = (weights * channels).astype(weights.dtype, copy=False)
        if _are_finite(scaled) != _are_finite(weights):
            return None  # a product of weights that overflows, where that of the sum need not
    inputs = (m["x"], m.b.const(scaled, m["product"].type.dtype))
    return m.b.emit(inner.op, inputs, inner.attrs, origin=_both(inner, m.node)).output


def _are_finite(array: np.ndarray) -> bool:
    """Whether all elements are numbers: a NaN is its array's largest element. Nothing is made that
    has as many."""
    return array.size == 0 or bool(np.isfinite(array.max()) and np.isfinite(array.min()))


def _is_sum_by_channel(m: Match) -> bool:
    if m["sum"].node.attrs.get("data_format", "NHWC") != "NHWC" or not _may_scale(m):
        return False
    return _per_channel(m, "term") is not None and m["product"].dims == m.node.output.dims


def _sum_of_scaled(m: Match) -> Value:
    term, factor = _per_channel(m, "term"), _per_channel(m, "factor")
    assert term is not None and factor is not None
    scaled = m.b.mul(m["product"], m["factor"])
    moved = (term * factor).astype(term.dtype)
    return m.b.add(scaled, m.b.const(moved, m["product"].type.dtype))


def _both(first: Node, second: Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first.origin, *second.origin)))


POWER = op("pow", "x", const("exponent"))
KEPT = op("greater_equal", "drawn", const("rate"))
TRANSPOSE = op("transpose", "x", const("order"), name="transposed")
PAD = op("pad", "x", const("amounts"), name="padded")
PRODUCT = op("", "x", const("weights"), lowerings=(MatMul, Convolution), name="product", alone=True)
SUM = op("add|bias_add", PRODUCT, const("term"), name="sum", alone=True)

RULES = (
    # f(f(x)) -> x, and f(f(x)) -> f(x)
    Rewrite(
        "cancel_involution", op("", op("", "x", name="inner"), trait="involution"), "x", _is_repeat
    ),
    Rewrite("drop_repeat", op("", "inner", trait="idempotent"), "inner", _is_repeat),
    Rewrite("drop_reshape", op("reshape", "x"), "x", keeps_type),
    Rewrite("merge_reshapes", op("reshape", op("reshape", "x")), _reshaped),
    # x * 1, x / 1, x - 0, x + -0.0 (and + 0 for integers), x and True, x or False -> x
    Rewrite("drop_neutral", op("|".join(_NEUTRAL), "x", const("neutral")), "x", _is_neutral),
    Rewrite("drop_cast", op("cast", "x"), "x", keeps_type),
    # x ** 2 -> x * x, and x ** 3 -> x * x * x, as TensorFlow rewrites them
    Rewrite("power_to_square", POWER, lambda m: m.b.square(m["x"]), lambda m: _is_power(m, 2)),
    Rewrite(
        "power_to_cube",
        POWER,
        lambda m: m.b.mul(m.b.square(m["x"]), m["x"]),
        lambda m: _is_power(m, 3),
    ),
    # the three forms in which TensorFlow's versions wrote a dropout
    Rewrite("keep_all_selected", op("select_v2|select", KEPT, "x"), "x", _keeps_all),
    Rewrite("keep_all_of_mask", op("mul", "x", op("cast", KEPT), commutes=True), "x", _keeps_all),
    Rewrite(
        "keep_all_of_floor",
        op(
            "mul", "x", op("floor", op("add", "drawn", const("keep"), commutes=True)), commutes=True
        ),
        "x",
        _keeps_all_of_sum,
    ),
    # exp(x - max(x)), as in softmax, is of nothing above 0
    Rewrite(
        "exp_of_shifted",
        op("exp", op("sub", "x", op("max", "", const("axes"), name="most"))),
        lambda m: m.b.exp_of_negative(m.node.inputs[0]),
        _is_largest_of_group,
    ),
    Rewrite("drop_whole_slice", op("slice|tile|broadcast_to", "x"), "x", _keeps_elements),
    Rewrite(
        "drop_reduction",
        op("sum|mean|prod|max|min|all|any", "x", const("axes")),
        _reshaped,
        _folds_only_ones,
    ),
    Rewrite("drop_transpose", TRANSPOSE, "x", lambda m: _order(m) == sorted(_order(m))),
    Rewrite(
        "merge_transposes",
        op("transpose", op("transpose", "x", const("inner")), const("order")),
        _transposed_once,
    ),
    Rewrite("transpose_to_reshape", TRANSPOSE, _reshaped, _moves_only_ones),
    Rewrite(
        "fold_pad_into_convolution", op("conv2d", PAD, "weights"), _padded_convolution, _pads_pixels
    ),
    # a matrix transposed in its last two axes -> the flag of the product flipped
    Rewrite(
        "fold_transpose_into_product",
        op("|".join(_FLAGS), TRANSPOSE, "other", commutes=True),
        _with_flag_flipped,
        _swaps_last_axes,
    ),
    # (x @ w) * c -> x @ (w * c), for a constant factor for each output channel
    Rewrite(
        "fold_factor_into_weights",
        op("mul", PRODUCT, const("factor")),
        _with_scaled_weights,
        _may_scale,
    ),
    # (x @ w + d) * c -> (x @ w) * c + d * c, so that the factor reaches the weights
    Rewrite(
        "distribute_factor", op("mul", SUM, const("factor")), _sum_of_scaled, _is_sum_by_channel
    ),
)
