"""What a `with` block of the graph-building API adds to the operations made inside it.

In: control dependencies, devices, colocation, attrs. Out: what `Graph.add_operation` asks of them.
Invariant: leaving a block restores what was before, also after an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flowc.graph.device import DeviceSpec, merge_devices

if TYPE_CHECKING:
    from flowc.graph.operation import Operation
    from flowc.graph.tensor import Tensor

DeviceFunction = Callable[["Operation"], str]


class ControlScope:
    """One `control_dependencies` block: what it waits for, and what was made inside it."""

    def __init__(self, inputs: list[Operation]) -> None:
        self.inputs = inputs
        self.seen: set[Operation] = set()


class Scopes:
    """The blocks that a graph is in, innermost last."""

    def __init__(self) -> None:
        self.controls: list[ControlScope] = []
        self.devices: list[str | DeviceFunction | None] = []
        self.colocations: list[Operation] = []
        self.attrs: dict[str, Any] = {}
        self.gradient_overrides: dict[str, str] = {}
        self.container = ""

    @property
    def empty(self) -> bool:
        """Whether no block is open that takes new operations in."""
        return not (self.controls or self.devices or self.colocations)

    def control_inputs(self, inputs: Iterable[Tensor]) -> list[Operation]:
        """The control inputs of a new operation. A block whose own operations feed it is left out:
        they wait already."""
        made_of = {tensor.op for tensor in inputs}
        found: list[Operation] = []
        for scope in self.controls:
            if made_of.isdisjoint(scope.seen):
                found.extend(op for op in scope.inputs if op not in made_of)
        return found

    def created(self, op: Operation) -> None:
        for scope in self.controls:
            scope.seen.add(op)

    def device_of(self, op: Operation) -> str:
        """The device of a new operation: the innermost block's fields, completed by outer ones. A
        function sees what the blocks inside its own gave, and what it returns replaces that."""
        for entry in reversed(self.devices):
            if entry is None:
                break
            op.device = (entry(op) or "") if callable(entry) else merge_devices(entry, op.device)
        return op.device

    @contextmanager
    def _holding(self, **blocks: Any) -> Iterator[None]:
        before = {name: getattr(self, name) for name in blocks}
        for name, held in blocks.items():
            setattr(self, name, held)
        try:
            yield
        finally:
            for name, held in before.items():
                setattr(self, name, held)

    @contextmanager
    def controlled(self, inputs: list[Operation] | None) -> Iterator[ControlScope]:
        """None clears every outer block."""
        scope = ControlScope(inputs or [])
        outer = self.controls if inputs is not None else ()
        with self._holding(controls=[*outer, scope]):
            yield scope

    @contextmanager
    def placed(self, device: str | DeviceSpec | DeviceFunction | None) -> Iterator[None]:
        if isinstance(device, str | DeviceSpec):
            device = merge_devices("", str(device))
        with self._holding(devices=[*self.devices, device]):
            yield

    @contextmanager
    def colocated(self, op: Operation | None, ignore_existing: bool) -> Iterator[None]:
        """New operations go with `op`; None clears outer blocks. Inside, device blocks around it do
        not count."""
        outer = [] if op is None or ignore_existing else self.colocations
        devices = self.devices if op is None else []
        with self._holding(colocations=outer if op is None else [*outer, op], devices=devices):
            yield

    @contextmanager
    def with_attrs(self, attrs: Mapping[str, Any]) -> Iterator[None]:
        """Attrs that every new operation gets; None takes away what an outer block gives."""
        merged = {**self.attrs, **attrs}
        with self._holding(attrs={n: value for n, value in merged.items() if value is not None}):
            yield

    @contextmanager
    def overriding_gradients(self, overrides: Mapping[str, str]) -> Iterator[None]:
        with self._holding(gradient_overrides={**self.gradient_overrides, **overrides}):
            yield

    @contextmanager
    def in_container(self, name: str) -> Iterator[str]:
        with self._holding(container=name):
            yield name
