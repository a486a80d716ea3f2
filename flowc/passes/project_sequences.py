"""Products of a sequence's elements, one an iteration, become one product of the whole sequence.

In: a Computation of lowered nodes. Out: one in whose loops `element(sequence, i) @ weights` reads
`element(sequence @ weights, i)`, where neither the sequence nor the weights change in the loop:
the product then leaves the loop (hoist_invariants), and reads the weights once, not once an
iteration. A product of several things side by side, of which one is such an element, is first
written as a sum of products: what recurrent cells make of their input and their state. Products of
so many rows that reading weights costs them nothing stay.

The loop is taken to read most of the sequence. Sums are in another order than in the graph, as
they are in any blocked product.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowc.ir.bodies import bodies_of
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import MatMul
from flowc.ir.op import op_named
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.options import Options

ROWS = 32  # fill the tiles of a product of few rows, on every target
ELEMENTS = 1 << 26  # the most that the product of a sequence may hold, where that is known


def project_sequences(c: Computation, options: Options) -> Computation:
    if not any(n.op.name == "while" for n in c.nodes):
        return c
    return rewrite_nodes(c, _project_loop)


def _project_loop(b: Rewriter, node: Node) -> Sequence[Value] | None:
    if node.op.name != "while":
        return None
    body: Computation = bodies_of(node)["body"]
    changed = _split_products(body, node.attrs["carried"])
    changed = _project(changed, node.attrs["carried"])
    return b.replace_bodies(node, {"body": changed})


def _is_element(value: Value, carried: int, body: Computation) -> bool:
    """Whether a value is one element of a sequence that the loop does not change."""
    node = value.node
    if node.op.name != "list_get" or value.type.rank != 2 or node.inputs[1].type.rank:
        return False
    if _fills_tiles(value):
        return False
    return _is_fixed(node.inputs[0], carried, body)


def _fills_tiles(element: Value) -> bool:
    """Whether products of one element take no longer than their multiply-adds: reading the weights
    costs them nothing then, and the product of the sequence would only have to be kept."""
    rows = element.dims[0]
    return isinstance(rows, int) and rows % ROWS == 0


def _is_fixed(value: Value, carried: int, body: Computation) -> bool:
    if value.constant is not None:
        return True
    return value.node.op.name == "parameter" and body.parameters.index(value.node) >= carried


def _is_plain_product(node: Node) -> bool:
    return (
        node.op.name == "mat_mul"
        and isinstance(node.lowering, MatMul)
        and not node.lowering.transpose_a
    )


def _split_products(body: Computation, carried: int) -> Computation:
    """`concat(x, h) @ w` as `x @ w_x + h @ w_h`, where x is an element of a sequence."""

    def rule(b: Rewriter, node: Node) -> Value | None:
        if not _is_plain_product(node):
            return None
        joined, weights = b.old.inputs
        if joined.node.op.name != "concat" or weights.constant is None:
            return None
        *parts, axis = joined.node.inputs
        if axis.constant is None or int(axis.constant) % 2 != 1:
            return None
        widths = [v.dims[1] for v in parts]
        if not all(isinstance(w, int) for w in widths):
            return None
        if not any(_is_element(v, carried, body) for v in parts):
            return None
        return _sum_of_products(b, node, weights.constant)

    return rewrite_nodes(body, rule)


def _sum_of_products(b: Rewriter, node: Node, weights: np.ndarray) -> Value:
    *parts, _ = node.inputs[0].node.inputs
    total: Value | None = None
    start = 0
    rows = 1 if node.attrs["transpose_b"] else 0
    for part in parts:
        stop = start + int(part.dims[1])
        piece = np.ascontiguousarray(weights[:, start:stop] if rows else weights[start:stop])
        product = b.emit(node.op, (part, b.const(piece)), node.attrs).output
        total = product if total is None else b.add(total, product)
        start = stop
    assert total is not None
    return total


def _project(body: Computation, carried: int) -> Computation:
    def rule(b: Rewriter, node: Node) -> Value | None:
        if not _is_plain_product(node):
            return None
        element, weights = b.old.inputs
        if not _is_element(element, carried, body) or not _is_fixed(weights, carried, body):
            return None
        sequence = element.node.inputs[0]
        width = node.output.dims[1]
        size = sequence.dims[0] * element.dims[0] * width
        if isinstance(size, int) and size > ELEMENTS:
            return None
        return _projected(b, node, node.inputs[0].node)

    return rewrite_nodes(body, rule)


def _projected(b: Builder, product: Node, element: Node) -> Value:
    sequence, index = element.inputs
    rows, batch, depth = sequence.dims
    flat = b.reshape(sequence, (rows * batch, depth))
    made = b.emit(product.op, (flat, product.inputs[1]), product.attrs).output
    whole = b.reshape(made, (rows, batch, product.output.dims[1]))
    return b.emit(op_named("list_get"), (whole, index), element.attrs).output
