"""Loops and branches with fewer inputs and outputs: what prune makes of one node.

In: a `while` or `if` and which of its outputs and sizes are read. Out: the values that take the
place of its outputs. An output that is not read is replaced by itself, as nobody will miss it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from flowc.extract.trace.loop_names import is_own_counter
from flowc.ir.bodies import (
    bind_varying,
    bodies_of,
    free_sizes,
    local_sizes,
    name_alone,
    replace_sizes_in,
)
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import symbol, symbols_of
from flowc.ir.rewrite import Rewriter, needed_nodes, rewrite_nodes
from flowc.passes.merge_duplicates import work_of

PruneBody = Callable[[Computation], Computation]


class Loop:
    """A `while` that is changed step by step; `outputs`: the place of each original output among
    the carried values, or the value that it is."""

    def __init__(self, node: Node, prune_body: PruneBody) -> None:
        self.node = node
        self.prune_body = prune_body
        self.inputs = list(node.inputs)
        self.carried: int = node.attrs["carried"]
        self.varying: tuple[str, ...] = node.attrs["varying"]
        self.condition: Computation = node.attrs["condition"]
        self.body: Computation = node.attrs["body"]
        self.outputs: list[int | Value] = list(range(self.carried))

    def run(self, b: Rewriter, used: set[int], sizes: Sequence[int]) -> Sequence[Value] | None:
        """`used`: the outputs that are read; `sizes`: which of the node's sizes are."""
        read = {self.varying[i] for i in sizes}
        changed = False
        while any(
            [
                self._fix_sizes(),
                self._stop_carrying(),
                self._join_inputs(),
                self._join_carried(),
                self._drop(used, read),
            ]
        ):
            changed = True
        if not changed:
            return None
        attrs: dict[str, Any] = {
            "condition": self.condition,
            "body": self.body,
            "carried": self.carried,
            "varying": self.varying,
            "Tout": tuple(v.type.dtype for v in self.body.results),
        }
        new = b.emit(self.node.op, self.inputs, attrs, after=self.node.after)
        return [new.outputs[o] if isinstance(o, int) else o for o in self.outputs]

    def _fix_sizes(self) -> bool:
        """Varying sizes that iterations leave as they are become the sizes of the start."""
        parameters = [p.output.type for p in self.body.parameters[: self.carried]]
        start = [v.type for v in self.inputs[: self.carried]]
        first = bind_varying(parameters, start, self.varying)
        later = bind_varying(parameters, [v.type for v in self.body.results], self.varying)
        local = local_sizes(self.body)
        fixed = {
            n: first[n]
            for n in self.varying
            if later[n] == symbol(n)
            or (later[n] == first[n] and local.isdisjoint(symbols_of(first[n])))
        }
        if not fixed:
            return False
        self.condition = replace_sizes_in(self.condition, fixed)
        self.body = replace_sizes_in(self.body, fixed)
        self.varying = tuple(n for n in self.varying if n not in fixed)
        return True

    def _stop_carrying(self) -> bool:
        """Values that the body gives back as they came become inputs that both bodies only read."""
        still = [k for k in range(self.carried) if self._stays(k)]
        if not still:
            return False
        for i, place in enumerate(self.outputs):
            if isinstance(place, int) and place in still:
                self.outputs[i] = self.inputs[place]
        kept = [k for k in range(self.carried) if k not in still]
        self._choose(kept, [*still, *range(self.carried, len(self.inputs))])
        return True

    def _stays(self, k: int) -> bool:
        node = self.body.results[k].node
        if node.op.name != "parameter" or self.body.parameters[k].types != (self.inputs[k].type,):
            return False
        j = self.body.parameters.index(node)
        return j == k or (j >= self.carried and self.inputs[j] is self.inputs[k])

    def _join_inputs(self) -> bool:
        same = _repeated(self.inputs, self.carried)
        if not same:
            return False
        self.condition = _joined(self.condition, same)
        self.body = _joined(self.body, same)
        self.inputs = [v for i, v in enumerate(self.inputs) if i not in same]
        return True

    def _join_carried(self) -> bool:
        """Carried values that start equal and stay so, such as several counters, become one."""
        same = _equal_carried(self.body, self.inputs[: self.carried])
        if not same:
            return False
        order = list(range(self.carried))
        for first in dict.fromkeys(same.values()):
            group = [first, *(k for k, i in same.items() if i == first)]
            named = min(group, key=lambda k: is_own_counter(self.body.parameters[k].attrs["name"]))
            order[first], order[named] = named, first
        self._choose(order, range(self.carried, len(self.inputs)))
        kept = [k for k in range(self.carried) if k not in same]
        places = {k: i for i, k in enumerate(kept)}
        self.outputs = [places[same.get(o, o)] if isinstance(o, int) else o for o in self.outputs]
        self.condition = _joined(self.condition, same)
        body = _joined(self.body, same)
        results = tuple(body.results[k] for k in kept)
        self.body = self.prune_body(
            Computation(body.parameters, body.nodes, results, body.constraints)
        )
        self.inputs = [v for k, v in enumerate(self.inputs) if k not in same]
        self.carried = len(kept)
        return True

    def _drop(self, used: set[int], sizes: set[str]) -> bool:
        """Drops carried values that reach no used output, condition or effect."""
        live = self._live({o for i, o in enumerate(self.outputs) if i in used}, set(sizes))
        kept = [k for k in range(self.carried) if k in live]
        read = [k for k in range(self.carried, len(self.inputs)) if k in live]
        if len(kept) + len(read) == len(self.inputs):
            return False
        for i, place in enumerate(self.outputs):
            if isinstance(place, int) and place not in live:
                self.outputs[i] = self.node.outputs[i]
        self._choose(kept, read)
        return True

    def _live(self, wanted: set[int | Value], sizes: set[str]) -> set[int]:
        """The inputs that the wanted outputs and sizes need, over any number of iterations."""
        read, used = _needs(self.condition, self.condition.results, self.prune_body)
        live = {k for k in wanted if isinstance(k, int)} | read
        sizes = sizes | used
        while True:
            results = [self.body.results[k] for k in range(self.carried) if k in live]
            read, used = _needs(self.body, results, self.prune_body)
            found = live | read
            sizes |= used.union(*(_symbols(self.body.parameters[k].output) for k in found))
            sizes.intersection_update(self.varying)
            found |= self._binders(sizes, found)
            if found == live:
                return live
            live = found

    def _binders(self, sizes: set[str], live: set[int]) -> set[int]:
        """Carried values that say what varying sizes are, where no live one does."""
        having: dict[str | None, list[int]] = {}
        if sizes:
            for k, p in enumerate(self.body.parameters[: self.carried]):
                for d in p.output.dims:
                    having.setdefault(name_alone(d), []).append(k)
        return {having[n][0] for n in sizes if live.isdisjoint(having[n])}

    def _choose(self, kept: Sequence[int], read: Sequence[int]) -> None:
        """Carries the values of `kept` and reads those of `read`, in this order."""
        order = [*kept, *read]
        places = {k: i for i, k in enumerate(kept)}
        self.outputs = [places[o] if isinstance(o, int) else o for o in self.outputs]
        results = [self.body.results[k] for k in kept]
        self.condition = _chosen(self.condition, order, self.condition.results, self.prune_body)
        self.body = _chosen(self.body, order, results, self.prune_body)
        self.inputs = [self.inputs[k] for k in order]
        self.carried = len(kept)
        names = {name for p in self.body.parameters[: self.carried] for name in _symbols(p.output)}
        self.varying = tuple(n for n in self.varying if n in names)


class Branch:
    """An `if` that is changed step by step."""

    def __init__(self, node: Node, prune_body: PruneBody) -> None:
        self.node = node
        self.prune_body = prune_body
        self.inputs = list(node.inputs[1:])
        self.bodies: dict[str, Computation] = {n: node.attrs[n] for n in ("then", "otherwise")}
        self.outputs: list[int | Value] = list(range(len(node.outputs)))

    def run(self, b: Rewriter, used: set[int], sizes: Sequence[int]) -> Sequence[Value] | None:
        """`used`: the outputs that are read; `sizes`: which of the node's sizes are."""
        read = {self.node.sizes[i][0] for i in sizes}
        changed = False
        while any([self._drop_outputs(used, read), self._join_inputs(), self._drop_inputs()]):
            changed = True
        if not changed:
            return None
        tout = tuple(v.type.dtype for v in self.bodies["then"].results)
        inputs = (self.node.inputs[0], *self.inputs)
        new = b.emit(self.node.op, inputs, {**self.bodies, "Tout": tout}, after=self.node.after)
        return [new.outputs[o] if isinstance(o, int) else o for o in self.outputs]

    def _drop_outputs(self, used: set[int], sizes: set[str]) -> bool:
        """Outputs that both branches take from one input are that; equal ones become one."""
        results = list(zip(*(body.results for body in self.bodies.values())))
        kept: dict[tuple[Value, ...], int] = {}
        for i, place in enumerate(self.outputs):
            if not isinstance(place, int):
                continue
            found = self._input_of(results[place])
            dims = self.node.outputs[i].dims
            if found is not None:
                self.outputs[i] = found
            elif i in used or any(name_alone(d) in sizes for d in dims):
                kept.setdefault(results[place], place)
                self.outputs[i] = list(kept).index(results[place])
            else:
                self.outputs[i] = self.node.outputs[i]
        if len(kept) == len(results):
            return False
        for n, (name, body) in enumerate(self.bodies.items()):
            order = range(len(self.inputs))
            self.bodies[name] = _chosen(body, order, [r[n] for r in kept], self.prune_body)
        return True

    def _input_of(self, results: tuple[Value, ...]) -> Value | None:
        places: set[int] = set()
        for body, value in zip(self.bodies.values(), results):
            if value.node.op.name != "parameter":
                return None
            places.add(body.parameters.index(value.node))
        return self.inputs[places.pop()] if len(places) == 1 else None

    def _join_inputs(self) -> bool:
        same = _repeated(self.inputs, 0)
        if not same:
            return False
        self.bodies = {name: _joined(body, same) for name, body in self.bodies.items()}
        self.inputs = [v for i, v in enumerate(self.inputs) if i not in same]
        return True

    def _drop_inputs(self) -> bool:
        needs = [_needs(c, c.results, self.prune_body) for c in self.bodies.values()]
        read = sorted(needs[0][0] | needs[1][0])
        if len(read) == len(self.inputs):
            return False
        for name, body in self.bodies.items():
            self.bodies[name] = _chosen(body, read, body.results, self.prune_body)
        self.inputs = [self.inputs[i] for i in read]
        return True


# -- one body


def _needs(
    body: Computation, roots: Sequence[Value], prune_body: PruneBody
) -> tuple[set[int], set[str]]:
    """Which parameters, and which sizes from outside, some of the results and the effects need."""
    c = Computation(body.parameters, body.nodes, tuple(roots), body.constraints)
    if any(bodies_of(n) for n in body.nodes):
        c = prune_body(c)  # a loop inside needs less when less of it is read
    needed = needed_nodes(c, {v.node for v in c.results})
    nodes = tuple(n for n in c.nodes if n in needed)
    read = {i for i, p in enumerate(c.parameters) if p in needed}
    return read, free_sizes(Computation((), nodes, (), c.constraints))


def _symbols(value: Value) -> set[str]:
    return {name for d in value.dims for name in symbols_of(d)}


def _chosen(
    body: Computation, order: Sequence[int], results: Sequence[Value], prune_body: PruneBody
) -> Computation:
    """The body with some of its parameters, in another order, and some of its results."""
    c = prune_body(Computation(body.parameters, body.nodes, tuple(results), body.constraints))
    chosen = tuple(c.parameters[i] for i in order)
    gone = set(c.parameters).difference(chosen)
    nodes = tuple(n for n in c.nodes if n not in gone)
    return Computation(chosen, nodes, c.results, c.constraints)


def _repeated(inputs: Sequence[Value], start: int) -> dict[int, int]:
    """Of the inputs from `start` on, those that are the same value as an earlier one."""
    first: dict[Value, int] = {}
    places = {i: first.setdefault(v, i) for i, v in enumerate(inputs[start:], start)}
    return {i: j for i, j in places.items() if i != j}


def _joined(body: Computation, same: dict[int, int]) -> Computation:
    """The body with the parameters of `same` read as those that they repeat."""
    places = {p: i for i, p in enumerate(body.parameters)}
    nodes = body.parameters + tuple(n for n in body.nodes if n not in places)
    order = iter(nodes)
    found: dict[int, Value] = {}

    def rule(b: Rewriter, node: Node) -> Value | None:
        i = places.get(next(order))
        if i in same:
            return found[same[i]]
        if i is not None:
            found[i] = node.output
        return None

    return rewrite_nodes(Computation(body.parameters, nodes, body.results, body.constraints), rule)


def _equal_carried(body: Computation, start: Sequence[Value]) -> dict[int, int]:
    """Of the carried values those that always equal an earlier one.

    Values that start equal are taken to stay equal until the body computes them otherwise.
    """
    first = _first_of([(_made(v), p.output.type) for v, p in zip(start, body.parameters)])
    while any(k != i for i, k in enumerate(first)):
        numbers = _numbered(body, first)
        refined = _first_of([(first[k], numbers[r]) for k, r in enumerate(body.results)])
        if refined == first:
            return {k: i for k, i in enumerate(first) if k != i}
        first = refined
    return {}


def _made(value: Value) -> Hashable:
    """Equal for equal values: the same one, or constants that are the same."""
    work = None if value.node.inputs else work_of(value.node)
    return value if work is None else work


def _first_of(keys: Sequence[Hashable]) -> list[int]:
    """For each key the place where it stands first."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(key, i) for i, key in enumerate(keys)]


def _numbered(body: Computation, first: Sequence[int]) -> dict[Value, int]:
    """A number for each value of a body, equal for those that are equal where the parameters are
    that `first` says so of."""
    known: dict[Hashable, int] = {}
    numbers: dict[Value, int] = {}
    for i, parameter in enumerate(body.parameters):
        same = first[i] if i < len(first) else i
        numbers[parameter.output] = known.setdefault(("parameter", same), len(known))
    for node in body.nodes:
        if node.op.name == "parameter":
            continue
        work = work_of(node)
        key = id(node) if work is None else (work, tuple(numbers[v] for v in node.inputs))
        for v in node.outputs:
            numbers[v] = known.setdefault((key, v.index), len(known))
    return numbers
