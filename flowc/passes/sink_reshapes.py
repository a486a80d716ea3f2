"""What is done with each element of a product is done before the product is reshaped.

In: a Computation of ops that are not lowered yet. Out: one in which `reshape(x @ w) + bias`, as a
dense layer of an image or of a sequence computes it, is `reshape(x @ w + bias)`, as often as such
ops follow each other. A reshape takes no time, but nothing joins a product's kernel across it: a
bias and an activation would take a kernel of their own, which reads and writes all elements again.
Other operands have one element for each column, or are in memory, where a reshape is another view.
"""

from __future__ import annotations

from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Elementwise, MatMul, View
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.ir.types import Dims
from flowc.options import Options


def sink_reshapes(c: Computation, options: Options) -> Computation:
    if not [n for n in c.nodes if isinstance(n.lowering, MatMul)]:
        return c
    return rewrite_nodes(c, _Sinking().rule)


class _Sinking:
    """`products`: the results of products, and elementwise results of them. `shaped`: for a reshape
    of one of these that keeps the last dim, the value that it reshapes."""

    def __init__(self) -> None:
        self.products: set[Value] = set()
        self.shaped: dict[Value, Value] = {}

    def rule(self, b: Rewriter, node: Node) -> Value | None:
        match node.lowering:
            case MatMul():
                self.products.add(node.output)
            case View(reshape=True) if node.inputs[0] in self.products:
                self._note(node.output, node.inputs[0])
            case Elementwise() if len(node.outputs) == 1 and not node.after:
                return self._sunk(b, node)
            case _:
                pass
        return None

    def _note(self, value: Value, source: Value) -> None:
        if value.dims and source.dims and value.dims[-1] == source.dims[-1]:
            self.shaped[value] = source

    def _sunk(self, b: Rewriter, node: Node) -> Value | None:
        if not any(v in self.products or v in self.shaped for v in node.inputs):
            return None
        whole = [v for v in node.inputs if v.dims == node.output.dims]  # not each for several
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
        """An operand of what has the dims in place of one of what has the shape."""
        source = self.shaped.get(value)
        if source is not None and value.dims == shape:
            return source if source.dims == dims else None
        if all(size == 1 for size in value.dims[:-1]):
            return value if len(value.dims) <= len(dims) else b.reshape(value, value.dims[-1:])
        return b.reshape(value, dims) if value.dims == shape and _is_stored(b, value) else None


def _is_stored(b: Rewriter, value: Value) -> bool:
    """Whether a value is in memory, whoever reads it: what several read is taken to be."""
    lowering = value.node.lowering
    return b.use_counts.get(value, 0) > 1 or not isinstance(lowering, (Elementwise, View))
