"""Dead-carry and duplicate-carry elimination: loops that carry only what they need.

In: a `while` and which of its outputs and sizes are read. Out: the values that take the place of
its outputs. An output that is not read is replaced by itself, as nobody will miss it.

Liveness runs backwards over the iterations to a fixed point: a carried value is live where a read
output, the condition, an effect or another live value needs it. A value that the body gives back as
it came is loop-invariant: both bodies only read it. Carried values that are always equal are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flowc.ir.bodies import bind_varying, replace_sizes_in
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Symbol, expression, lone_symbol, symbols_of
from flowc.ir.rewrite import Rewriter
from flowc.ir.text.value_names import is_added_counter
from flowc.passes.analysis.equal_carries import equal_carries
from flowc.passes.body_parameters import (
    PruneBody,
    joined_parameters,
    needed_by,
    repeated,
    with_parameters,
)


class LoopPruning:
    """A `while` that is changed step by step; `outputs`: the place of each original output among
    the carried values, or the value that it is."""

    def __init__(self, node: Node, prune_body: PruneBody) -> None:
        self.node = node
        self.prune_body = prune_body
        self.inputs = list(node.inputs)
        self.carried: int = node.attrs["carried"]
        self.varying: tuple[Symbol, ...] = node.attrs["varying"]
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
        final = dict(zip(self.node.attrs["varying"], self.node.sizes))
        kept = [final[size][0] for size in self.varying]
        new = b.emit(self.node.op, self.inputs, attrs, after=self.node.after, given=kept)
        return [new.outputs[o] if isinstance(o, int) else o for o in self.outputs]

    def _fix_sizes(self) -> bool:
        """Varying sizes that iterations leave as they are become the sizes of the start."""
        parameters = [p.output.type for p in self.body.parameters[: self.carried]]
        start = [v.type for v in self.inputs[: self.carried]]
        first = bind_varying(parameters, start, self.varying)
        later = bind_varying(parameters, [v.type for v in self.body.results], self.varying)
        fixed = {s: first[s] for s in self.varying if later[s] in (expression(s), first[s])}
        if not fixed:
            return False
        self.condition = replace_sizes_in(self.condition, fixed)
        self.body = replace_sizes_in(self.body, fixed)
        self.varying = tuple(s for s in self.varying if s not in fixed)
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
        same = repeated(self.inputs, self.carried)
        if not same:
            return False
        self.condition = joined_parameters(self.condition, same)
        self.body = joined_parameters(self.body, same)
        self.inputs = [v for i, v in enumerate(self.inputs) if i not in same]
        return True

    def _join_carried(self) -> bool:
        """Carried values that start equal and stay so, such as several counters, become one."""
        same = equal_carries(self.body, self.inputs[: self.carried])
        if not same:
            return False
        order = list(range(self.carried))
        for first in dict.fromkeys(same.values()):
            group = [first, *(k for k, i in same.items() if i == first)]
            named = min(
                group, key=lambda k: is_added_counter(self.body.parameters[k].attrs["name"])
            )
            order[first], order[named] = named, first
        self._choose(order, range(self.carried, len(self.inputs)))
        kept = [k for k in range(self.carried) if k not in same]
        places = {k: i for i, k in enumerate(kept)}
        self.outputs = [places[same.get(o, o)] if isinstance(o, int) else o for o in self.outputs]
        self.condition = joined_parameters(self.condition, same)
        body = joined_parameters(self.body, same)
        results = tuple(body.results[k] for k in kept)
        self.body = self.prune_body(
            Computation(body.parameters, body.nodes, results, body.constraints)
        )
        self.inputs = [v for k, v in enumerate(self.inputs) if k not in same]
        self.carried = len(kept)
        return True

    def _drop(self, used: set[int], sizes: set[Symbol]) -> bool:
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

    def _live(self, wanted: set[int | Value], sizes: set[Symbol]) -> set[int]:
        """The inputs that the wanted outputs and sizes need, over any number of iterations."""
        read, used = needed_by(self.condition, self.condition.results, self.prune_body)
        live = {k for k in wanted if isinstance(k, int)} | read
        sizes = sizes | used
        while True:
            results = [self.body.results[k] for k in range(self.carried) if k in live]
            read, used = needed_by(self.body, results, self.prune_body)
            found = live | read
            sizes |= used.union(symbols_of(*self._dims(found)))
            sizes.intersection_update(self.varying)
            found |= self._binders(sizes, found)
            if found == live:
                return live
            live = found

    def _binders(self, sizes: set[Symbol], live: set[int]) -> set[int]:
        """Carried values that say what varying sizes are, where no live one does."""
        having: dict[Symbol | None, list[int]] = {}
        if sizes:
            for k, p in enumerate(self.body.parameters[: self.carried]):
                for d in p.output.dims:
                    having.setdefault(lone_symbol(d), []).append(k)
        return {having[s][0] for s in sizes if live.isdisjoint(having[s])}

    def _dims(self, inputs: Iterable[int]) -> list[Dim]:
        return [d for k in inputs for d in self.body.parameters[k].output.dims]

    def _choose(self, kept: Sequence[int], read: Sequence[int]) -> None:
        """Carries the values of `kept` and reads those of `read`, in this order."""
        order = [*kept, *read]
        places = {k: i for i, k in enumerate(kept)}
        self.outputs = [places[o] if isinstance(o, int) else o for o in self.outputs]
        results = [self.body.results[k] for k in kept]
        self.condition = with_parameters(
            self.condition, order, self.condition.results, self.prune_body
        )
        self.body = with_parameters(self.body, order, results, self.prune_body)
        self.inputs = [self.inputs[k] for k in order]
        self.carried = len(kept)
        left = symbols_of(*self._dims(range(self.carried)))
        self.varying = tuple(s for s in self.varying if s in left)
