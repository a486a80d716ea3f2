"""Dead-carry and duplicate-carry elimination: loops that carry only what they need.

In: a `while` and which of its outputs and sizes are read. Out: the values that take the place of
its outputs. An output that is not read stays, and is dead code.

Liveness runs backwards over the iterations to a fixed point: a carried value is live where a read
output, the condition, an effect or another live value needs it. A value that the body gives back as
it came is loop-invariant: both bodies only read it. Carried values that are always equal are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from flowc.ir.bodies import bind_varying, replace_sizes_in
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Dim, Symbol, expression, lone_symbol, symbols_of
from flowc.ir.text.value_names import is_added_counter
from flowc.passes.analysis.equal_carries import equal_carries
from flowc.passes.pruning.body_parameters import BodyPruning, joined_parameters, needed_by


class LoopPruning(BodyPruning):
    """A `while` that is changed step by step."""

    @property
    def body(self) -> Computation:
        return self.bodies["body"]

    def step(self, used: set[int], sizes: set[Symbol]) -> bool:
        return any(
            [
                self._fix_sizes(),
                self._stop_carrying(),
                self.join_inputs(),
                self._join_carried(),
                self._drop(used, sizes),
            ]
        )

    def changed_attrs(self) -> dict[str, Any]:
        return {"carried": self.carried, "varying": self.varying}

    def sizes_left(self) -> Sequence[Symbol]:
        final = dict(zip(self.node.attrs["varying"], self.node.sizes))
        return [final[size][0] for size in self.varying]

    def _fix_sizes(self) -> bool:
        """Varying sizes that iterations leave as they are become the sizes of the start."""
        parameters = [p.output.type for p in self.body.parameters[: self.carried]]
        start = [v.type for v in self.inputs[: self.carried]]
        first = bind_varying(parameters, start, self.varying)
        later = bind_varying(parameters, [v.type for v in self.body.results], self.varying)
        fixed = {s: first[s] for s in self.varying if later[s] in (expression(s), first[s])}
        if not fixed:
            return False
        self.bodies = {name: replace_sizes_in(body, fixed) for name, body in self.bodies.items()}
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
        self._carry(kept, [*still, *range(self.carried, len(self.inputs))])
        return True

    def _stays(self, k: int) -> bool:
        node = self.body.results[k].node
        if node.op.name != "parameter" or self.body.parameters[k].types != (self.inputs[k].type,):
            return False
        j = self.body.parameters.index(node)
        return j == k or (j >= self.carried and self.inputs[j] is self.inputs[k])

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
        self._carry(order, range(self.carried, len(self.inputs)))
        kept = [k for k in range(self.carried) if k not in same]
        places = {k: i for i, k in enumerate(kept)}
        self.outputs = [places[same.get(o, o)] if isinstance(o, int) else o for o in self.outputs]
        self.bodies = {name: joined_parameters(body, same) for name, body in self.bodies.items()}
        results = tuple(self.body.results[k] for k in kept)
        self.bodies["body"] = self.prune_body(replace(self.body, results=results))
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
        self._carry(kept, read)
        return True

    def _live(self, wanted: set[int | Value], sizes: set[Symbol]) -> set[int]:
        """The inputs that the wanted outputs and sizes need, over any number of iterations."""
        condition = self.bodies["condition"]
        read, used = needed_by(condition, condition.results, self.prune_body)
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

    def _carry(self, kept: Sequence[int], read: Sequence[int]) -> None:
        """Carries the values of `kept` and reads those of `read`, in this order."""
        places = {k: i for i, k in enumerate(kept)}
        self.outputs = [places[o] if isinstance(o, int) else o for o in self.outputs]
        self.choose([*kept, *read], {"body": [self.body.results[k] for k in kept]})
        self.carried = len(kept)
        left = symbols_of(*self._dims(range(self.carried)))
        self.varying = tuple(s for s in self.varying if s in left)
