"""What is done with each element of a product is done before the product is reshaped.

In: a Computation of ops that are not lowered yet. Out: one in which `reshape(x @ w) + bias`, as a
dense layer of an image or of a sequence computes it, is `reshape(x @ w + bias)`, as often as such
ops follow each other. A reshape takes no time, but nothing joins a product's kernel across it: a
bias and an activation would take a kernel of their own, which reads and writes all elements again.
Other operands have one element for each column, or are in memory, where a reshape is another view.

It is likewise done before the pixels of a convolution are spread, which is how a transposed one is
computed (`decompose.py`): channels of several pixels are channels of one until then. What is left
behind it moves runs of elements, and computes none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flowc.dataclass import dataclass
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.core_ops import recorded
from flowc.ir.dims import is_nonnegative, product
from flowc.ir.lowering import Convolution, Elementwise, MatMul, View
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.ir.scalar_body import Instruction, ScalarBody, index_symbols
from flowc.ir.types import Dims
from flowc.options import Options


def sink_reshapes(c: Computation, options: Options) -> Computation:
    if not [n for n in c.nodes if isinstance(n.lowering, MatMul | Convolution)]:
        return c
    return rewrite_nodes(c, _Sinking().rule)


@dataclass(frozen=True, slots=True)
class _Spread:
    """Elements of what a convolution makes, moved by views. Element `c` of the last dim is one of
    the channels that are `c` modulo the size of the last dim."""

    made: Value
    moves: tuple[Node, ...]


class _Sinking:
    """`products`: the results of products, and elementwise results of them. `shaped`: for a reshape
    of one of these that keeps the last dim, the value that it reshapes. `spread`: the same for the
    results of convolutions, and values whose elements have other places."""

    def __init__(self) -> None:
        self.products: set[Value] = set()
        self.shaped: dict[Value, Value] = {}
        self.spread: dict[Value, _Spread] = {}

    def rule(self, b: Rewriter, node: Node) -> Value | None:
        match node.lowering:
            case MatMul():
                self.products.add(node.output)
            case Convolution():
                self.spread[node.output] = _Spread(node.output, ())
            case View(reshape=True) if node.inputs[0] in self.products:
                self._note(node.output, node.inputs[0])
            case View() if node.inputs[0] in self.spread:
                self._note_move(node)
            case Elementwise() if len(node.outputs) == 1 and not node.after:
                return self._before_spread(b, node) or self._sunk(b, node)
            case _:
                pass
        return None

    def _note_move(self, node: Node) -> None:
        if _keeps_channels(node):
            found = self.spread[node.inputs[0]]
            self.spread[node.output] = replace(found, moves=(*found.moves, node))

    def _before_spread(self, b: Rewriter, node: Node) -> Value | None:
        """What is done with each of the elements, done before they are moved."""
        dims = node.output.dims
        spread = [self.spread[v] for v in node.inputs if v in self.spread and v.dims == dims]
        moves = spread[0].moves if spread else ()
        if not any(map(_permutes, moves)):
            return None
        if not is_nonnegative(2 * product(dims) - product(spread[0].made.dims)):
            return None  # most are cut away
        inputs: list[Value] = []
        for value in node.inputs:
            found = self.spread.get(value)
            if found is not None and value.dims == dims and found.moves == moves:
                inputs.append(found.made)
                continue
            repeated = _repeated(b, value, spread[0].made.dims[-1])
            if repeated is None:
                return None
            inputs.append(repeated)
        made = result = b.emit(node.op, inputs, node.attrs).output
        for move in moves:
            result = b.emit(move.op, [result, *move.inputs[1:]], move.attrs).output
        self.spread[result] = _Spread(made, moves)
        return result

    def _note(self, value: Value, source: Value) -> None:
        if value.dims and source.dims and value.dims[-1] == source.dims[-1]:
            self.shaped[value] = source

    def _sunk(self, b: Rewriter, node: Node) -> Value | None:
        if not any(v in self.products or v in self.shaped for v in node.inputs):
            return None
        whole = [v for v in node.inputs if v.dims == node.output.dims]  # others are broadcast
        source = next((self.shaped[v] for v in whole if v in self.shaped), None)
        if source is None:
            # Of products that are not reshaped as yet: what is made of them may be.
            if any(v in self.products for v in whole):
                self.products.add(node.output)
            return None
        dims = source.dims
        inputs = [self._operand(b, v, node.output.dims, dims) for v in node.inputs]
        if any(v is None for v in inputs):
            return None
        made = b.emit(node.op, [v for v in inputs if v is not None], node.attrs).output
        self.products.add(made)
        result = b.reshape(made, node.output.dims)
        self.shaped[result] = made
        return result

    def _operand(self, b: Rewriter, value: Value, shape: Dims, dims: Dims) -> Value | None:
        """An operand of what has the dims in place of one of what has the shape. One that has all
        elements gets the dims themselves: not every op broadcasts (`select`)."""
        source = self.shaped.get(value)
        is_whole = value.dims == shape
        if source is not None and is_whole:
            return source if source.dims == dims else None
        is_row = all(size == 1 for size in value.dims[:-1])
        if is_whole:
            return b.reshape(value, dims) if is_row or _is_stored(b, value) else None
        if not is_row:
            return None
        return value if len(value.dims) <= len(dims) else b.reshape(value, value.dims[-1:])


def _keeps_channels(view: Node) -> bool:
    """Whether each element of a view is one of input 0, of a channel that is the element's own
    modulo the size of the last dim."""
    lowering, read = recorded(view)
    body = lowering.body if isinstance(lowering, View) else None
    channels = view.output.dims[-1] if view.output.dims else 0
    if read != (0,) or not isinstance(body, ScalarBody) or not isinstance(channels, int):
        return False
    match body.instructions:
        case (Instruction("load", dims=(*_, channel)),):
            return channels > 0 and channel % channels == index_symbols(view.output.dims)[-1]
        case _:
            return False


def _permutes(view: Node) -> bool:
    """Whether a view has all elements of its input, in another order."""
    is_reshape = isinstance(view.lowering, View) and view.lowering.reshape
    return not is_reshape and product(view.output.dims) == product(view.inputs[0].dims)


def _repeated(b: Rewriter, value: Value, channels: object) -> Value | None:
    """A constant of one element, or of one a channel, for channels of several pixels."""
    known = value.constant
    if known is None or known.size == 1:
        return value if product(value.dims) == 1 and len(value.dims) <= 1 else None
    if known.size != value.dims[-1] or not isinstance(channels, int):
        return None
    return b.const(np.tile(known.reshape(-1), channels // known.size))


def _is_stored(b: Rewriter, value: Value) -> bool:
    """Whether a value is in memory, whoever reads it: what several read is taken to be."""
    lowering = value.node.lowering
    return b.use_counts.get(value, 0) > 1 or not isinstance(lowering, (Elementwise, View))
