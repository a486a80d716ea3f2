"""Which clusters run on the GPU.

In: a fused Computation, and a target that says why a cluster cannot run on the GPU. Out: the
clusters that do, also those in the bodies of loops and branches. Invariant: what the host needs to
go on, as the counter of a loop or a size, is computed there wherever its inputs are.

A value is followed from where it is made. A cluster of a few elements whose inputs are all the
host's stays there: its copies would take longer than it does, and TensorFlow keeps small integers
there as well. A kernel that a program registered for the GPU runs there however few they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from flowc.ir.computation import Computation, Node, Value
from flowc.ir.core_ops import devices_of
from flowc.passes.analysis.aliasing import root_of

FEW = 64  # elements that are not worth a launch


class _Choosing(Protocol):
    def host_reason(self, node: Node) -> str | None: ...


def on_device(c: Computation, target: _Choosing) -> frozenset[Node]:
    """The clusters that run on the GPU."""
    placement = _Placement(target)
    placement.region(c)
    return frozenset(placement.chosen)


class _Placement:
    """`there`: values that the device makes."""

    def __init__(self, target: _Choosing) -> None:
        self.target = target
        self.there: set[Value] = set()
        self.chosen: set[Node] = set()

    def region(self, c: Computation) -> None:
        for node in c.nodes:
            match node.op.name:
                case "cluster":
                    if self._runs_there(node):
                        self.chosen.add(node)
                        self.there.update(node.outputs)
                case "while":
                    self._loop(node)
                case "if":
                    self._branch(node)
                case _:
                    pass

    def _is_there(self, value: Value) -> bool:
        return root_of(value) in self.there

    def _runs_there(self, node: Node) -> bool:
        if self.target.host_reason(node) is not None:
            return False
        if "on_gpu" in devices_of(node):
            return True
        return any(map(self._is_there, node.inputs)) or not _is_small((*node.inputs, *node.outputs))

    def _enter(self, values: Iterable[Value], body: Computation) -> bool:
        """The parameters of a body are where what they stand for is. Whether one is new there."""
        found = {
            parameter.output
            for value, parameter in zip(values, body.parameters)
            if self._is_there(value)
        }
        new = found - self.there
        self.there |= new
        return bool(new)

    def _loop(self, node: Node) -> None:
        condition: Computation = node.attrs["condition"]
        body: Computation = node.attrs["body"]
        count: int = node.attrs["carried"]
        for inner in (condition, body):
            self._enter(node.inputs, inner)
        changed = True
        while changed:  # what an iteration leaves there, the next one finds there
            self.region(condition)
            self.region(body)
            results = body.results[:count]
            changed = self._enter(results, body) | self._enter(results, condition)
        for output, result in zip(node.outputs, body.results):
            if self._is_there(result):
                self.there.add(output)

    def _branch(self, node: Node) -> None:
        for name in ("then", "otherwise"):
            inner: Computation = node.attrs[name]
            self._enter(node.inputs[1:], inner)
            self.region(inner)
            for output, result in zip(node.outputs, inner.results):
                if self._is_there(result):
                    self.there.add(output)


def _is_small(values: Iterable[Value]) -> bool:
    return all(isinstance(v.type.size, int) and v.type.size <= FEW for v in values)
