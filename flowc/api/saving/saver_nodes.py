"""The operations of a Saver: what writes variables to a file, and what gives them back.

In: the variables and the names that they are saved under. Out: names of the operations, as a
SaverDef holds them. Invariant: the nodes are TensorFlow's, so that either loads the other's graph.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowc.api.arrays.shaping import reshape
from flowc.api.framework.basics import identity, placeholder_with_default
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import group, name_scope, with_dependencies
from flowc.api.saving.saved_variables import Saved, SavedTable, SavedVariable
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.api.variables.variable_nodes import assign_to
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.device import DeviceSpec, parse_device

CPU = "/device:CPU:0"
V1, V2 = 1, 2  # of SaverDef's versions of the format


@dataclass(frozen=True, slots=True)
class SaverOps:
    """What a Saver feeds and runs."""

    filename: Tensor
    save: Tensor
    restore: Operation


@dataclass(frozen=True, slots=True)
class SaverNodes:
    """How a Saver's operations are made. `version`: V1 or V2."""

    variables: Sequence[Saved]
    reshape: bool
    sharded: bool
    version: int

    def build(self, name: str | None, filename: str | None) -> SaverOps:
        """Adds the operations to the default graph, in the scope `name` (`save`)."""
        with name_scope(name, "save", [_home(v) for v in self.variables]):
            default = placeholder_with_default(filename or "model", (), name="filename")
            path = placeholder_with_default(default, (), name="Const")
            if not self.sharded:
                save = self._save(path, self.variables)
                return SaverOps(path, save, self._restore(path, self.variables, "restore_all"))
            shards = _by_device(self.variables)
            save = self._save_shards(path, shards)
            return SaverOps(path, save, self._restore_shards(path, shards))

    # Saving

    def _save(self, path: Tensor, variables: Sequence[Saved]) -> Tensor:
        """The path, once the variables are saved there."""
        names, parts = _rows(variables)
        tensors = [t for v in variables for t in _tensors(v)]
        if self.version == V2:
            saved = call("SaveV2", path, names, parts, tensors)
        else:
            saved = call("SaveSlices", path, names, parts, tensors, name="save")
        return with_dependencies([saved], path)

    def _save_shards(self, path: Tensor, shards: Sequence[tuple[str, list[Saved]]]) -> Tensor:
        if self.version == V2:
            return self._save_and_merge(path, shards)
        graph = get_default_graph()
        count = as_tensor(len(shards), name="num_shards")
        saved: list[Tensor] = []
        for number, (where, variables) in enumerate(shards):
            with graph.device(where):
                shard = output("ShardedFilename", path, number, count)
                saved.append(self._save(shard, variables))
        with graph.control_dependencies([s.op for s in saved]):
            return output("ShardedFilespec", path, count)

    def _save_and_merge(self, path: Tensor, shards: Sequence[tuple[str, list[Saved]]]) -> Tensor:
        """Saves each shard as a checkpoint of its own, beside the place, and makes one of them."""
        graph = get_default_graph()
        with graph.device("/device:CPU:*"):
            is_bucket = output("StaticRegexFullMatch", path, pattern="^s3://.*")
            suffixes = as_tensor(".part"), as_tensor("_temp/part")
            suffix = output("Select", is_bucket, *suffixes)
            beside = output("StringJoin", [path, suffix])
        count = as_tensor(len(shards), name="num_shards")
        saved: list[Tensor] = []
        names: list[Tensor] = []
        where = ""
        for number, (device, variables) in enumerate(shards):
            where = _on_cpu(device)
            with graph.device(where):
                names.append(output("ShardedFilename", beside, number, count))
                saved.append(self._save(names[-1], variables))
        with graph.control_dependencies([s.op for s in saved]), graph.device(where):
            merged = call("MergeV2Checkpoints", names, path, delete_old_dirs=True)
            with graph.control_dependencies([merged]):
                return identity(path)

    # Restoring

    def _restore(self, path: Tensor, variables: Sequence[Saved], name: str) -> Operation:
        """Assigns the variables what the file has for them."""
        graph = get_default_graph()
        names, parts = _rows(variables)
        types = [t for v in variables for t in _dtypes(v)]
        with graph.device(CPU):
            found = iter(call("RestoreV2", path, names, parts, dtypes=types))
        done = [
            v.table.import_values(*(next(found) for _ in v.tensors))
            if isinstance(v, SavedTable)
            else self._assign(v, next(found))
            for v in variables
        ]
        return group(*done, name=name)

    def _assign(self, saved: SavedVariable, value: Tensor) -> Operation:
        variable = saved.variable
        if self.reshape:
            known = variable.shape.is_fully_defined()
            sizes = np.array(variable.shape.as_list(), np.int32) if known else None
            value = reshape(value, output("Shape", saved.tensor) if sizes is None else sizes)
        if isinstance(variable, ResourceVariable):
            with get_default_graph().device(variable.device):
                value = identity(value)
            variable.shape.assert_is_compatible_with(value.shape)
            return call("AssignVariableOp", variable.handle, value)
        exact = not self.reshape and variable.shape.is_fully_defined()
        return assign_to(variable._ref(), value, validate_shape=exact).op

    def _restore_shards(self, path: Tensor, shards: Sequence[tuple[str, list[Saved]]]) -> Operation:
        found: list[Operation] = []
        for where, variables in shards:
            with get_default_graph().device(where):
                found.append(self._restore(path, variables, "restore_shard"))
        return group(*found, name="restore_all")


def _home(saved: Saved) -> Operation:
    return saved.table.op if isinstance(saved, SavedTable) else saved.variable.op


def _rows(variables: Sequence[Saved]) -> tuple[list[str], list[str]]:
    """The names of tensors in the file, and which parts of them they are."""
    names: list[str] = []
    parts: list[str] = []
    for saved in variables:
        if isinstance(saved, SavedTable):
            names += saved.tensor_names
            parts += [""] * len(saved.tensors)
        else:
            names.append(saved.name)
            parts.append(saved.part)
    return names, parts


def _tensors(saved: Saved) -> Sequence[Tensor]:
    return saved.tensors if isinstance(saved, SavedTable) else [saved.tensor]


def _dtypes(saved: Saved) -> Sequence[DType]:
    if isinstance(saved, SavedTable):
        return [t.base_dtype for t in saved.tensors if t.base_dtype is not None]
    return [saved.variable.dtype.base_dtype]


def _by_device(variables: Sequence[Saved]) -> list[tuple[str, list[Saved]]]:
    """Variables by the devices that they are on, sorted by these."""
    found: dict[str, list[Saved]] = {}
    for variable in variables:
        found.setdefault(_home(variable).device, []).append(variable)
    return sorted(found.items(), key=lambda item: item[0])


def _on_cpu(device: str) -> str:
    """The first CPU of the machine that a device belongs to."""
    spec = parse_device(device)
    return str(DeviceSpec(spec.job, spec.replica, spec.task, "CPU", 0))
