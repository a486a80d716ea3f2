"""Copying a Computation with changes: what passes are written with.

`rewrite_nodes(c, rule)` calls `rule(b, node)` for every node in order, with inputs already mapped
to the new Computation (`b.old` is the node as it was); the rule returns None (keep), a value, or a
list of values that take the place of the node's outputs. The same Computation comes back when no
rule fired. Sizes that a replaced node defined become what stands in the types of what replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowc.errors import FlowcError, as_raised
from flowc.ir.bodies import (
    bodies_of,
    replace_sizes,
    replace_sizes_in,
    size_definitions,
    sizes_used,
)
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Symbol, as_dim, expression, lone_symbol, substitute, symbols_of

Rule = Callable[["Rewriter", Node], Value | Sequence[Value] | None]


class Rewriter(Builder):
    """The Builder of a Computation that is copied with changes.

    `old`: the node of the original that a rule is asked about. `known_sizes`: what sizes of the
    original are in the copy, for all nodes after; a rule that replaces the node that defines one
    adds it where no type of an output says it.
    """

    old: Node

    def __init__(self, original: Computation) -> None:
        super().__init__()
        self.known_sizes: dict[Symbol, Dim] = {}
        self.constraints = list(original.constraints)

    def replace_bodies(
        self,
        node: Node,
        bodies: Mapping[str, Computation],
        inputs: Sequence[Value] | None = None,
        given: Sequence[Symbol] | None = None,
        **attrs: Any,
    ) -> Sequence[Value] | None:
        """The outputs of a loop or conditional emitted with other bodies, and with the inputs and
        attrs that these want; None where the bodies are its own. `given`: the sizes it defines."""
        own = bodies_of(node)
        if all(bodies[name] is own[name] for name in bodies):
            return None
        *_, last = (own | dict(bodies)).values()
        tout = tuple(v.type.dtype for v in last.results)
        inputs = node.inputs if inputs is None else inputs
        full = {**node.attrs, **bodies, "Tout": tout, **attrs}
        if given is None:
            return self.emit_again(node, inputs, full).outputs
        return self.emit(node.op, inputs, full, after=node.after, given=given).outputs

    def emit_again(self, node: Node, inputs: Sequence[Value], attrs: Mapping[str, Any]) -> Node:
        """One of the same op in place of a node; if it has the same types, it defines the same
        sizes."""
        before = len(self.constraints)
        given = [size for size, _ in node.sizes]
        made = self.emit(node.op, inputs, attrs, after=node.after, given=given)
        if made.types == node.types or not given:
            return made
        self.nodes.pop()
        del self.constraints[before:]
        return self.emit(node.op, inputs, attrs, after=node.after)


def rewrite_nodes(c: Computation, rule: Rule) -> Computation:
    """The Computation after one sweep of a rule; `c` itself when it never fired.

    A rule sees the node with its new inputs; what it builds is stamped with the node's origin, and
    `b.use_counts` says how often the values that existed before are read.
    """
    b = Rewriter(c)
    # Most sweeps change few nodes: what is not in these tables stands for itself.
    values: dict[Value, Value] = {}
    nodes: dict[Node, tuple[Node, ...]] = {}
    replaced: set[Node] = set()
    counts = b.use_counts = _use_counts(c)
    for old in c.nodes:
        node = _over_new(old, values, nodes)
        if b.known_sizes:
            node = replace_sizes(node, b.known_sizes)
        b.old, b.origin = old, old.origin
        start = len(b.nodes)
        mark = b.nodes[-1] if b.nodes else None
        try:
            replacement = rule(b, node)
        except FlowcError:
            raise
        except Exception as error:
            raise as_raised(error, f"{rule.__qualname__} of {node.op}", node.name) from error
        if replacement is None:
            _drop_tried(b, mark)
            if node.op.name == "read_sizes":
                replacement = _sizes_known(b, node)
            if replacement is None and _may_differ(old, node):
                replacement = refined(b, node)
        if replacement is not None:
            replaced.add(old)
            new = (replacement,) if isinstance(replacement, Value) else tuple(replacement)
            nodes[old] = _in_place_of(old, b.nodes[start:], new)
            _note_sizes(b.known_sizes, node, new)
        else:
            b.append(node)
            if node is old:
                continue
            new = node.outputs
            nodes[old] = (node,)
        for before, now in zip(old.outputs, new, strict=True):
            if now is not before:
                values[before] = now
                counts[now] = counts.get(now, 0) + counts[before]
    if not replaced:
        return c
    # Their order is that of the inputs of the node whose body this is, not that of the nodes.
    b.parameters = [nodes.get(p, (p,))[0] for p in c.parameters if p not in replaced]
    env = b.known_sizes
    b.constraints = [(substitute(x, env), substitute(y, env)) for x, y in b.constraints]
    return b.build([values.get(v, v) for v in c.results])


def _over_new(
    old: Node, values: Mapping[Value, Value], nodes: Mapping[Node, tuple[Node, ...]]
) -> Node:
    """The node over what took the place of what it reads and stands after; itself over the same."""
    inputs, after = old.inputs, old.after
    if values:
        inputs = tuple([values.get(v, v) for v in inputs])
    if nodes and after:
        after = tuple([n for a in after for n in nodes.get(a, (a,))])
    same = inputs == old.inputs and after == old.after
    return old if same else old.over(inputs, after)


def _sizes_known(b: Rewriter, node: Node) -> Sequence[Value] | None:
    """Nothing in place of a node that reads sizes which are known, or which an earlier node reads
    from the same value."""
    content = b.content(node.inputs[0])
    if content is None:
        return None
    below = node.attrs["below"]
    found = [as_dim(x) + below for x in content.reshape(-1)]
    if [expression(size) for size, _ in node.sizes] == found:
        return None
    b.known_sizes.update((size, x) for (size, _), x in zip(node.sizes, found))
    return ()


def _drop_tried(b: Rewriter, mark: Node | None) -> None:
    """Drops what a rule built that then did not fire; sizes that it read stand further up."""
    while b.nodes and b.nodes[-1] is not mark:
        b.nodes.pop()


def _in_place_of(old: Node, made: Sequence[Node], new: Sequence[Value]) -> tuple[Node, ...]:
    """What is ordered after a replaced node is ordered after these."""
    effects = tuple(n for n in made if n.has_effects) if old.has_effects else ()
    return effects or tuple(made[-1:]) or tuple(v.node for v in new[:1])


def _may_differ(old: Node, node: Node) -> bool:
    """Whether other types of inputs, or other bodies, may give a node other types."""
    if node is old or old.op.name in ("parameter", "cluster"):
        return False
    if node.attrs is old.attrs:
        return any(v.type != w.type for v, w in zip(old.inputs, node.inputs))
    return bodies_of(old) != bodies_of(node) or any(
        v.type != w.type for v, w in zip(old.inputs, node.inputs)
    )


def refined(b: Rewriter, node: Node) -> Sequence[Value] | None:
    """The outputs of a node emitted anew where inference knows more of its types now."""
    mark = b.nodes[-1] if b.nodes else None
    attrs = fitted_attrs(node)
    made = b.emit_again(node, node.inputs, attrs)
    if made.types != node.types or attrs is not node.attrs:
        return made.outputs
    _drop_tried(b, mark)
    return None


def fitted_attrs(node: Node) -> Mapping[str, Any]:
    """The attrs of a node with its bodies' sizes replaced by those that its inputs have now."""
    bodies = bodies_of(node)
    if not bodies:
        return node.attrs
    first = next(iter(bodies.values()))
    env: dict[Symbol, Dim] = {}
    given = node.inputs[len(node.inputs) - len(first.parameters) :]
    for parameter, value in zip(first.parameters, given):
        for mine, dim in zip(parameter.output.dims, value.dims):
            size = lone_symbol(mine)
            if size is not None and mine != dim and size not in node.attrs.get("varying", ()):
                env.setdefault(size, dim)
    if not env:
        return node.attrs
    return {**node.attrs, **{n: replace_sizes_in(body, env) for n, body in bodies.items()}}


def _note_sizes(known: dict[Symbol, Dim], node: Node, new: Sequence[Value]) -> None:
    """Sizes that a node defined, by what stands in their place in the types of the new values."""
    own = {size for size, _ in node.sizes}
    if not own:
        return
    for before, now in zip(node.outputs, new):
        for old_dim, dim in zip(before.dims, now.dims):
            size = lone_symbol(old_dim)
            if size in own and old_dim != dim:
                known.setdefault(size, dim)


def rewrite_bodies(c: Computation, rewrite: Callable[[Computation], Computation]) -> Computation:
    """The Computation with every body of its loops and branches rewritten, types inferred again.

    What a cluster holds is final.
    """
    if not any(map(bodies_of, c.nodes)):
        return c

    def rule(b: Rewriter, node: Node) -> Sequence[Value] | None:
        if node.op.name == "cluster":
            return None
        bodies = bodies_of(node)
        return b.replace_bodies(node, {name: rewrite(body) for name, body in bodies.items()})

    return rewrite_nodes(c, rule)


def inline(
    b: Rewriter, body: Computation, inputs: Sequence[Value], after: Sequence[Node] = ()
) -> list[Value]:
    """The results of a body whose nodes are appended here; its effects come after `after`."""
    values = dict(zip((p.output for p in body.parameters), inputs, strict=True))
    nodes: dict[Node, Node] = {}
    for old in body.nodes:
        if old.op.name == "parameter":
            continue
        order = (*(nodes[n] for n in old.after), *(after if old.has_effects else ()))
        taken = tuple(values[v] for v in old.inputs)
        nodes[old] = b.append(old.over(taken, order))
        values.update(zip(old.outputs, nodes[old].outputs))
    b.constraints += body.constraints
    return [values[v] for v in body.results]


def _use_counts(c: Computation) -> dict[Value, int]:
    counts = {v: 0 for n in c.nodes for v in n.outputs}
    for node in c.nodes:
        for v in node.inputs:
            counts[v] += 1
    for v in c.results:
        counts[v] += 1
    return counts


def prune_nodes(c: Computation) -> Computation:
    """Drops nodes that no result, effect or size needs; parameters stay, and sizes that a run
    reads of data to compare them: where a kernel reads the data, too, nothing else says that the
    sizes are needed."""
    needed = needed_nodes(c, {v.node for v in c.results} | _compared(c))
    needed.update(n for n in c.nodes if n.op.name == "parameter")
    if len(needed) == len(c.nodes):
        return c
    nodes = tuple(n for n in c.nodes if n in needed)
    gone = {size for n in c.nodes if n not in needed for size, _ in n.sizes}
    # What is not computed need not be equal either.
    constraints = tuple(p for p in c.constraints if gone.isdisjoint(symbols_of(*p)))
    return Computation(c.parameters, nodes, c.results, constraints)


def _compared(c: Computation) -> set[Node]:
    """The nodes that read sizes of data which must be equal to others."""
    sizes = symbols_of(*(d for pair in c.constraints for d in pair))
    reads = (n for n in c.nodes if n.op.name == "read_sizes") if sizes else ()
    return {n for n in reads if any(size in sizes for size, _ in n.sizes)}


def needed_nodes(c: Computation, roots: set[Node]) -> set[Node]:
    """The roots, the nodes with effects, and all that they need: inputs, order, sizes."""
    needed = set(roots)
    definitions = size_definitions(c)
    for node in reversed(c.nodes):
        if node.has_effects:
            needed.add(node)
        if node in needed:
            needed.update(v.node for v in node.inputs)
            needed.update(node.after)
            if definitions:
                needed.update(size_sources(node, definitions))
    return needed


def size_sources(node: Node, definitions: dict[Symbol, Node]) -> list[Node]:
    """The nodes that define the sizes that a node uses, its bodies' too."""
    return [definitions[s] for s in sorted(sizes_used(node)) if s in definitions]
