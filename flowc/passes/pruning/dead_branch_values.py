"""Dead results and inputs of conditionals: branches that give and read only what is needed.

In: an `if` and which of its outputs and sizes are read. Out: the values that take the place of its
outputs. An output that is not read stays, and is dead code.
"""

from __future__ import annotations

from flowc.ir.computation import Value
from flowc.ir.dims import Symbol, lone_symbol
from flowc.passes.pruning.body_parameters import BodyPruning, needed_by


class BranchPruning(BodyPruning):
    """An `if` that is changed step by step."""

    def step(self, used: set[int], sizes: set[Symbol]) -> bool:
        return any([self._drop_outputs(used, sizes), self.join_inputs(), self._drop_inputs()])

    def _drop_outputs(self, used: set[int], sizes: set[Symbol]) -> bool:
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
            elif i in used or any(lone_symbol(d) in sizes for d in dims):
                kept.setdefault(results[place], place)
                self.outputs[i] = list(kept).index(results[place])
            else:
                self.outputs[i] = self.node.outputs[i]
        if len(kept) == len(results):
            return False
        left = {name: [r[n] for r in kept] for n, name in enumerate(self.bodies)}
        self.choose(range(len(self.inputs)), left)
        return True

    def _input_of(self, results: tuple[Value, ...]) -> Value | None:
        places: set[int] = set()
        for body, value in zip(self.bodies.values(), results):
            if value.node.op.name != "parameter":
                return None
            places.add(body.parameters.index(value.node))
        return self.inputs[places.pop()] if len(places) == 1 else None

    def _drop_inputs(self) -> bool:
        needs = [needed_by(c, c.results, self.prune_body) for c in self.bodies.values()]
        read = sorted(needs[0][0] | needs[1][0])
        if len(read) == len(self.inputs):
            return False
        self.choose(read, {})
        return True
