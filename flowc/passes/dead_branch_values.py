"""Dead results and inputs of conditionals: branches that give and read only what is needed.

In: an `if` and which of its outputs and sizes are read. Out: the values that take the place of its
outputs. An output that is not read is replaced by itself, as nobody will miss it.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Symbol, lone_symbol
from flowc.ir.rewrite import Rewriter
from flowc.passes.body_parameters import (
    PruneBody,
    joined_parameters,
    needed_by,
    repeated,
    with_parameters,
)


class BranchPruning:
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
        for n, (name, body) in enumerate(self.bodies.items()):
            order = range(len(self.inputs))
            self.bodies[name] = with_parameters(body, order, [r[n] for r in kept], self.prune_body)
        return True

    def _input_of(self, results: tuple[Value, ...]) -> Value | None:
        places: set[int] = set()
        for body, value in zip(self.bodies.values(), results):
            if value.node.op.name != "parameter":
                return None
            places.add(body.parameters.index(value.node))
        return self.inputs[places.pop()] if len(places) == 1 else None

    def _join_inputs(self) -> bool:
        same = repeated(self.inputs, 0)
        if not same:
            return False
        self.bodies = {name: joined_parameters(body, same) for name, body in self.bodies.items()}
        self.inputs = [v for i, v in enumerate(self.inputs) if i not in same]
        return True

    def _drop_inputs(self) -> bool:
        needs = [needed_by(c, c.results, self.prune_body) for c in self.bodies.values()]
        read = sorted(needs[0][0] | needs[1][0])
        if len(read) == len(self.inputs):
            return False
        for name, body in self.bodies.items():
            self.bodies[name] = with_parameters(body, read, body.results, self.prune_body)
        self.inputs = [self.inputs[i] for i in read]
        return True
