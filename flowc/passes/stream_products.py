"""Chains of a product, loops over its rows and a product of these, and of a depthwise convolution
and one of its single pixels, as one cluster.

In: a Computation of clusters. Out: one in which such a chain, as of attention (QK^T, softmax, times
V) or of an inverted residual block, is a cluster of kind `stream`, whose body holds the clusters,
where the values that they hand on are large and read by nobody else. A block of rows goes through
the whole chain before the next, so that these values stay in caches, and the run has no room for
all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value, parameter_node
from flowc.ir.core_ops import devices_of
from flowc.ir.dims import Dim, evaluate, symbols_of
from flowc.ir.lowering import Convolution, Elementwise, MatMul, Reduction
from flowc.ir.op import op_named
from flowc.options import Options
from flowc.passes.analysis.failures import may_fail
from flowc.passes.analysis.pixel_chains import is_pixel_chain
from flowc.passes.analysis.products import entries_and_rows

LARGE = 1 << 19  # bytes of a value: of less, a chain takes as long as its clusters
LONGEST = 1 << 15  # elements of a row: of longer ones, no block stays in a cache
FEWEST_ROWS = 32  # of a batch entry: fewer share a right operand too rarely


def stream_products(c: Computation, options: Options) -> Computation:
    """The Computation itself where there is no such chain."""
    if options.has_gpu or not options.fuse:
        return c
    clusters = [n for n in c.nodes if n.op.name == "cluster"]
    if not any(n.attrs["kind"] in ("matmul", "convolution") for n in clusters):
        return c
    users = c.users()
    awaited = {n for node in c.nodes for n in node.after}
    kept = {v for v, readers in users.items() if len(readers) != 1 or v.node in awaited}
    kept.update(c.results)
    chains: dict[Node, tuple[Node, ...]] = {}
    for node in clusters:
        chain = _chain_to(node, kept)
        if chain and chain[0] not in chains:  # its product may end a chain itself
            chains[node] = chain
    return _with_streams(c, chains) if chains else c


def _chain_to(last: Node, kept: set[Value]) -> tuple[Node, ...]:
    """The clusters of the chain that ends with a product; none where there is no chain."""
    product = _product(last)
    if product is None:
        return _pixels_to(last, kept)
    rows = _given(last, product.inputs[0]).node
    if not _is_plain(rows, "loop") or any(v in kept for v in rows.outputs):
        return ()
    for value in rows.inputs:
        first = value.node
        if value not in kept and _product(first) is not None and _streams(first, rows, last):
            return first, rows, last
    return ()


def _pixels_to(last: Node, kept: set[Value]) -> tuple[Node, ...]:
    """The same for a chain that ends with a convolution of single pixels."""
    pixels = _convolution(last)
    if pixels is None or not _reads_left_once(last, pixels):
        return ()
    value = _given(last, pixels.inputs[0])
    first = value.node
    depthwise = _convolution(first)
    if depthwise is None or len(first.outputs) != 1 or value in kept:
        return ()
    return (first, last) if _is_large(value) and is_pixel_chain(depthwise, pixels) else ()


def _convolution(node: Node) -> Node | None:
    """The convolution of a cluster, where its weights are known."""
    if not _is_plain(node, "convolution"):
        return None
    found = next(n for n in node.attrs["body"].nodes if isinstance(n.lowering, Convolution))
    return found if _given(node, found.inputs[1]).constant is not None else None


def _is_plain(node: Node, kind: str) -> bool:
    """Whether a node is a cluster of a kind which can be computed in parts."""
    if node.op.name != "cluster" or node.attrs["kind"] != kind:
        return False
    if node.after or node.sizes or node.has_effects:
        return False
    inner = [n for n in node.attrs["body"].nodes if n.op.name not in ("parameter", "const")]
    return devices_of(node) == frozenset({""}) and not any(map(may_fail, inner))


def _product(node: Node) -> Node | None:
    """The product of a cluster which multiplies rows, each with what the run computes."""
    if not _is_plain(node, "matmul"):
        return None
    found = next(n for n in node.attrs["body"].nodes if isinstance(n.lowering, MatMul))
    lowering = found.lowering
    assert isinstance(lowering, MatMul)
    has_known_right = _given(node, found.inputs[1]).constant is not None
    if lowering.pieces > 1 or lowering.transpose_a or has_known_right:
        return None
    return found


def _given(node: Node, inner: Value) -> Value:
    """What a parameter of a cluster's body stands for."""
    parameters = [p.output for p in node.attrs["body"].parameters]
    return node.inputs[parameters.index(inner)]


def _streams(first: Node, rows: Node, last: Node) -> bool:
    """Whether rows of a product go through a loop to a product of the same rows, and all of them
    are large. How many batch entries there are need not be known."""
    if len(first.outputs) != 1 or len(rows.outputs) != 1:
        return False
    value = first.output
    if any(v.type.dtype is not dtypes.f32 for v in (value, *last.outputs)):
        return False
    columns = value.dims[-1]
    if rows.output.type != value.type or not isinstance(columns, int) or columns > LONGEST:
        return False
    if not _is_large(value):
        return False
    own, other = _rows_of(first), _rows_of(last)
    if own != other or not isinstance(own[1], int) or own[1] < FEWEST_ROWS:
        return False
    product = _product(last)
    assert product is not None
    return _is_by_rows(rows, value) and _reads_left_once(last, product)


def _is_large(value: Value) -> bool:
    size = value.type.size * value.type.dtype.size
    return evaluate(size, dict.fromkeys(symbols_of(size), 1)) > LARGE


def _rows_of(node: Node) -> tuple[Dim, Dim]:
    """Batch entries and rows of a product."""
    product = _product(node)
    assert product is not None and isinstance(product.lowering, MatMul)
    left, right = product.inputs
    return entries_and_rows(product.lowering, left, right, product.output)


def _is_by_rows(node: Node, value: Value) -> bool:
    """Whether each row of a loop's result is made of the same row of `value`, and folds them."""
    body: Computation = node.attrs["body"]
    own = body.parameters[node.inputs.index(value)].output
    folds = [n.lowering for n in body.nodes if isinstance(n.lowering, Reduction)]
    if not folds or any(x.axes != (len(value.dims) - 1,) for x in folds):
        return False
    made = {own}
    for inner in body.nodes:
        if made.isdisjoint(inner.inputs):
            continue
        if not isinstance(inner.lowering, (Elementwise, Reduction)):
            return False
        made.update(inner.outputs)
    return body.results[0] in made


def _reads_left_once(node: Node, product: Node) -> bool:
    """Whether nothing but the product of a cluster reads its left operand."""
    return len(node.attrs["body"].users()[product.inputs[0]]) == 1


def _with_streams(c: Computation, chains: Mapping[Node, Sequence[Node]]) -> Computation:
    """The Computation with a cluster in place of the last member of each chain."""
    inside = {n for chain in chains.values() for n in chain}
    b = Builder()
    b.constraints = list(c.constraints)
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    for node in c.nodes:
        if node in chains:
            made = _stream(chains[node], values)
        elif node in inside:
            continue
        else:
            made = node.over((values[v] for v in node.inputs), tuple(nodes[n] for n in node.after))
        nodes[node] = b.append(made)
        values.update(zip(node.outputs, made.outputs, strict=True))
    b.parameters = [nodes[p] for p in c.parameters]
    return b.build([values[v] for v in c.results])


def _stream(chain: Sequence[Node], values: Mapping[Value, Value]) -> Node:
    """One cluster of a chain. `values`: what its inputs are now."""
    body = Builder()
    inner: dict[Value, Value] = {}
    inputs: list[Value] = []
    for member in chain:
        for v in member.inputs:
            if v not in inner:
                parameter = body.append(parameter_node(f"p{len(inputs)}", v.type))
                body.parameters.append(parameter)
                inner[v] = parameter.output
                inputs.append(values[v])
        copy = body.append(member.over(inner[v] for v in member.inputs))
        inner.update(zip(member.outputs, copy.outputs))
    last = chain[-1]
    attrs = {
        "kind": "stream",
        "body": body.build([inner[v] for v in last.outputs]),
        "Tout": tuple(v.type.dtype for v in last.outputs),
    }
    origin = tuple(dict.fromkeys(name for n in chain for name in n.origin))
    return Node(op_named("cluster"), tuple(inputs), MappingProxyType(attrs), last.types, (), origin)
