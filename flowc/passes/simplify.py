"""Rewrites that make a Computation smaller without changing what it computes.

In: any Computation. Out: one with fewer or cheaper nodes. Rules are driven by traits and lowerings
where they can be; those about one op name it. Rules about floats hold for NaN, infinities and
signed zeros; only folding a factor into weights rounds differently, as TensorFlow's own graph
rewrites do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim
from flowc.ir.lowering import Convolution, MatMul, View
from flowc.ir.rewrite import prune_nodes, rewrite_nodes
from flowc.options import Options

Rule = Callable[[Builder, Node], Value | None]
ROUND_LIMIT = 64
WEIGHT_LIMIT = 1 << 30  # bytes of weights that a factor may be folded into


def simplify(c: Computation, options: Options) -> Computation:
    return apply_rules(c, RULES)


def apply_rules(
    c: Computation, rules: Sequence[Rule], fired: Counter[str] | None = None
) -> Computation:
    """Sweeps the rules until none fires. `fired` counts by the rules' names how often each did.

    What a sweep leaves without a reader is dropped before the next: rules ask how often values are
    read.
    """

    def apply(b: Builder, node: Node) -> Value | None:
        if len(node.outputs) != 1 or node.after:
            return None
        for rule in rules:
            found = rule(b, node)
            if found is not None and found is not node.output:
                if fired is not None:
                    fired[rule.__name__] += 1
                return found
        return None

    for _ in range(ROUND_LIMIT):
        changed = rewrite_nodes(c, apply)
        if changed is c:
            return c
        c = prune_nodes(changed)
    raise InternalError(f"rules still fire after {ROUND_LIMIT} sweeps")


# -- rules by trait and lowering


def drop_identity(b: Builder, node: Node) -> Value | None:
    """identity(x) -> x"""
    if "identity" in node.op.traits and node.inputs[0].type == node.output.type:
        return node.inputs[0]
    return None


def cancel_involution(b: Builder, node: Node) -> Value | None:
    """f(f(x)) -> x, for ops that undo themselves"""
    if "involution" not in node.op.traits:
        return None
    inner = node.inputs[0].node
    same = inner.op is node.op and dict(inner.attrs) == dict(node.attrs)
    return inner.inputs[0] if same and len(node.inputs) == 1 else None


def drop_repeat(b: Builder, node: Node) -> Value | None:
    """f(f(x)) -> f(x), for ops that change nothing the second time"""
    if "idempotent" not in node.op.traits or len(node.inputs) != 1:
        return None
    inner = node.inputs[0].node
    same = inner.op is node.op and dict(inner.attrs) == dict(node.attrs)
    return node.inputs[0] if same else None


def merge_reshapes(b: Builder, node: Node) -> Value | None:
    """reshape(reshape(x)) -> reshape(x); a reshape to the same dims -> x"""
    if not _is_reshape(node):
        return None
    source = node.inputs[0]
    while _is_reshape(source.node):
        source = source.node.inputs[0]
    if source.dims == node.output.dims and source.type == node.output.type:
        return source
    if source is node.inputs[0]:
        return None
    return b.reshape(source, node.output.dims)


def _is_reshape(node: Node) -> bool:
    return isinstance(node.lowering, View) and node.lowering.reshape


# -- rules about arithmetic with constants


def drop_neutral(b: Builder, node: Node) -> Value | None:
    """x * 1, x / 1, x - 0, x + -0.0 (and + 0 for integers), x and True, x or False -> x"""
    neutral = _NEUTRAL.get(node.op.name)
    if neutral is None:
        return None
    x, y = node.inputs
    both = ((x, y), (y, x)) if "commutative" in node.op.traits else ((x, y),)
    for kept, other in both:
        array = other.constant
        if array is None or kept.type != node.output.type or array.size != 1:
            continue
        value = array.reshape(-1)[0]
        if value == neutral and not _is_wrong_zero(node, value):
            return kept
    return None


_NEUTRAL = {"mul": 1, "real_div": 1, "sub": 0, "add": 0, "logical_and": True, "logical_or": False}


def _is_wrong_zero(node: Node, value: np.generic) -> bool:
    """x + 0.0 turns -0.0 into 0.0, and x - -0.0 does too."""
    if node.op.name not in ("add", "sub") or value.dtype.kind in "iu":
        return False
    if node.output.type.dtype.is_complex:
        return True
    negative = bool(np.signbit(np.float64(value)))
    return not negative if node.op.name == "add" else negative


def fold_factor_into_weights(b: Builder, node: Node) -> Value | None:
    """conv(x, w) * c -> conv(x, w * c), for a constant factor for each output channel"""
    if node.op.name != "mul":
        return None
    for product, factor in (node.inputs, node.inputs[::-1]):
        weights = _weights_of(product, b)
        channels = _per_channel(factor, product)
        if weights is None or channels is None:
            continue
        inner = product.node
        lowering = inner.lowering
        if isinstance(lowering, MatMul) and lowering.transpose_b:
            channels = channels[:, None]
        with np.errstate(all="ignore"):
            scaled = (weights * channels).astype(weights.dtype)
        if np.isfinite(scaled).all() != np.isfinite(weights).all():
            continue  # a product of weights that overflows, where that of the sum need not
        inputs = (inner.inputs[0], b.const(scaled, product.type.dtype))
        return b.emit(inner.op, inputs, inner.attrs, origin=_both(inner, node)).output
    return None


def distribute_factor(b: Builder, node: Node) -> Value | None:
    """(conv(x, w) + d) * c -> conv(x, w) * c + d * c, so that the factor reaches the weights"""
    if node.op.name != "mul":
        return None
    for total, factor in (node.inputs, node.inputs[::-1]):
        if total.node.op.name not in ("add", "bias_add") or b.use_counts.get(total, 0) != 1:
            continue
        if total.node.op.name == "bias_add" and total.node.attrs["data_format"] != "NHWC":
            continue
        product, shift = total.node.inputs
        if product.constant is not None:
            product, shift = shift, product
        if _weights_of(product, b) is None or _per_channel(factor, product) is None:
            continue
        moved = _per_channel(shift, product)
        if moved is None or product.dims != node.output.dims:
            continue
        channels = _per_channel(factor, product)
        assert channels is not None
        scaled = b.mul(product, factor)
        return b.add(scaled, b.const((moved * channels).astype(moved.dtype), product.type.dtype))
    return None


def _weights_of(product: Value, b: Builder) -> np.ndarray | None:
    """The constant weights of a product or convolution that nothing else reads."""
    node = product.node
    lowering = node.lowering
    plain = isinstance(lowering, MatMul) or (
        isinstance(lowering, Convolution) and not lowering.transposed
    )
    if not plain or b.use_counts.get(product, 0) != 1 or len(node.inputs) != 2:
        return None
    weights = node.inputs[1].constant
    if weights is None or weights.dtype.kind != "f" or weights.nbytes > WEIGHT_LIMIT:
        return None
    return weights


def _per_channel(value: Value, product: Value) -> np.ndarray | None:
    """A constant that broadcasts along the last axis only, as a vector of its size."""
    array = value.constant
    last: Dim = product.dims[-1] if product.dims else 1
    if array is None or not isinstance(last, int) or array.dtype.kind != "f":
        return None
    if array.ndim > len(product.dims) or any(d != 1 for d in array.shape[:-1]):
        return None
    if array.size not in (1, last):
        return None
    return np.broadcast_to(array.reshape(-1), (last,))


# -- rules about transposes, casts and paddings


def merge_transposes(b: Builder, node: Node) -> Value | None:
    """transpose(transpose(x)) -> transpose(x); one that moves only sizes of 1 -> reshape"""
    if node.op.name != "transpose":
        return None
    perm = node.inputs[1].constant
    if perm is None:
        return None
    source = node.inputs[0]
    order = [int(p) % max(1, len(perm)) for p in perm]
    if order == list(range(len(order))):
        return source
    if source.node.op.name == "transpose" and source.node.inputs[1].constant is not None:
        inner = [int(p) % len(order) for p in source.node.inputs[1].constant]
        combined = np.array([inner[p] for p in order], np.int32)
        return b.transpose(source.node.inputs[0], combined)
    moved = [p for p in order if source.dims[p] != 1]
    if moved == sorted(moved):
        return b.reshape(source, node.output.dims)
    return None


def drop_cast(b: Builder, node: Node) -> Value | None:
    """cast to the same dtype -> x"""
    if node.op.name == "cast" and node.inputs[0].type == node.output.type:
        return node.inputs[0]
    return None


def drop_whole_slice(b: Builder, node: Node) -> Value | None:
    """slice, tile or broadcast that keeps every element -> x"""
    if node.op.name not in ("slice", "tile", "broadcast_to"):
        return None
    same = node.inputs[0].type == node.output.type
    return node.inputs[0] if same and node.output.type.is_static else None


def fold_pad_into_convolution(b: Builder, node: Node) -> Value | None:
    """conv(pad(x)) -> conv(x), when zeros are put round the spatial axes"""
    lowering = node.lowering
    if node.op.name != "conv2d" or not isinstance(lowering, Convolution):
        return None
    pad = node.inputs[0].node
    if pad.op.name != "pad" or b.use_counts.get(pad.output, 0) != 1:
        return None
    amounts = pad.inputs[1].constant
    if amounts is None or amounts[0].any() or amounts[-1].any() or (amounts < 0).any():
        return None
    if not all(isinstance(p, int) for pair in lowering.pad for p in pair):
        return None
    total = [(0, 0)]
    for (before, after), (more, most) in zip(lowering.pad, amounts[1:-1].tolist()):
        total.append((int(before) + more, int(after) + most))
    total.append((0, 0))
    attrs = dict(node.attrs) | {
        "padding": "EXPLICIT",
        "explicit_paddings": tuple(p for pair in total for p in pair),
    }
    inputs = (pad.inputs[0], node.inputs[1])
    return b.emit(node.op, inputs, attrs, origin=_both(pad, node)).output


def fold_transpose_into_product(b: Builder, node: Node) -> Value | None:
    """matmul of a matrix transposed in its last two axes -> matmul with the flag turned"""
    flags = _PRODUCT_FLAGS.get(node.op.name)
    if flags is None or node.output.type.dtype.is_complex:
        return None
    for i, flag in enumerate(flags):
        inner = node.inputs[i].node
        if inner.op.name != "transpose" or inner.inputs[1].constant is None:
            continue
        rank = node.inputs[i].type.rank
        perm = [int(p) % rank for p in inner.inputs[1].constant]
        if perm != [*range(rank - 2), rank - 1, rank - 2]:
            continue
        inputs = list(node.inputs)
        inputs[i] = inner.inputs[0]
        attrs = dict(node.attrs) | {flag: not node.attrs[flag]}
        return b.emit(node.op, inputs, attrs).output
    return None


_PRODUCT_FLAGS = {
    "mat_mul": ("transpose_a", "transpose_b"),
    "batch_mat_mul": ("adj_x", "adj_y"),
}


def _both(first: Node, second: Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first.origin, *second.origin)))


RULES: tuple[Rule, ...] = (
    drop_identity,
    cancel_involution,
    drop_repeat,
    merge_reshapes,
    drop_neutral,
    drop_cast,
    drop_whole_slice,
    merge_transposes,
    fold_pad_into_convolution,
    fold_transpose_into_product,
    fold_factor_into_weights,
    distribute_factor,
)
