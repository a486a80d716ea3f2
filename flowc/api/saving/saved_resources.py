"""What a Saver saves of a resource of a registered op, or of an iterator: tensors that one op of it
gives, and another takes.

In: a handle, and the names of the ops. Out: tensors, and the operation that restores them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from flowc.api.framework.raw_ops import call
from flowc.dataclass import dataclass
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.creation import record_of
from flowc.graph.default import name_scope


@dataclass(frozen=True, slots=True, eq=False)
class SaveableIterator:
    """Where an iterator is. `state`: the variant that says it; `name`: what checkpoints call the
    iterator, whatever a Saver calls it."""

    handle: Tensor
    name: str
    state: Tensor

    @property
    def op(self) -> Operation:
        """The operation that makes the handle."""
        return self.handle.op

    def export(self) -> tuple[Tensor, ...]:
        """The tensor to save."""
        return (self.state,)

    def import_values(self, state: Tensor) -> Operation:
        """Lets the iterator go on from there."""
        with get_default_graph().colocate_with(self.handle):
            return call("DeserializeIterator", self.handle, state)

    def tensor_names(self, name: str) -> list[str]:
        """The name of the tensor in a checkpoint."""
        return [f"{self.name}_STATE"]


@dataclass(frozen=True, slots=True, eq=False)
class SaveableResource:
    """A resource: `export_type` is the op that gives what a checkpoint holds of it, `import_type`
    the one that takes it."""

    handle: Tensor
    export_type: str
    import_type: str

    @property
    def op(self) -> Operation:
        """The operation that makes the resource."""
        return self.handle.op

    @property
    def parts(self) -> Sequence[str]:
        """The names of the tensors."""
        return [arg.name for arg in record_of(self.export_type).signature.outputs]

    def export(self) -> tuple[Tensor, ...]:
        """The tensors to save."""
        with self._named("export"), get_default_graph().colocate_with(self.handle):
            found = call(self.export_type, self.handle)
        return (found,) if isinstance(found, Tensor) else tuple(found)

    def import_values(self, *tensors: Tensor) -> Operation:
        """Replaces what the resource holds."""
        with self._named("restore"), get_default_graph().colocate_with(self.handle):
            return call(self.import_type, self.handle, *tensors)

    def tensor_names(self, name: str) -> list[str]:
        """The names of the tensors in a checkpoint that has the resource by this name."""
        return [f"{name}-{part}" for part in self.parts]

    def _named(self, what: str) -> AbstractContextManager[str]:
        return name_scope(f"{self.op.name.rpartition('/')[2]}_{what}", "", [self.handle])
