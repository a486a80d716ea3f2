"""`init_from_checkpoint`: variables whose initial values are those of a checkpoint.

In: which tensor of the checkpoint is for which variable, by names, scopes or objects. Out: other
initializers. Invariant: every tensor that is named is in the checkpoint, and has the shape of its
variable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from flowc.api.framework.raw_ops import call
from flowc.api.saving.checkpoint_reader import NewCheckpointReader, load_checkpoint
from flowc.api.saving.checkpoint_state import latest_checkpoint
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.api.variables.variable_nodes import assign_to
from flowc.api.variables.variable_ops import global_variables
from flowc.api.variables.variables import Variable
from flowc.graph import get_default_graph


def init_from_checkpoint(
    ckpt_dir_or_file: str | os.PathLike[str], assignment_map: Mapping[str, Any]
) -> None:
    """Lets variables begin with values of a checkpoint (or the newest of a folder).

    `assignment_map`: names of tensors -> variables or their names; or scopes (`old/` -> `new/`,
    `/` for all) with variables of the same names within. Raises `ValueError` for a tensor that the
    checkpoint lacks or that has another shape, and for names without variables; `NotFoundError`.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    path = os.fspath(ckpt_dir_or_file)
    prefix = prefix_of(path)
    by_name = {variable.op.name: variable for variable in global_variables()}
    for key, target in assignment_map.items():
        for name, variable in _pairs(str(path), key, target, reader, by_name):
            _check_shape(name, variable, reader)
            _initialize(variable, prefix, name)


def prefix_of(path: str | os.PathLike[str]) -> str:
    """The prefix of a checkpoint, or of the newest of a folder."""
    path = os.fspath(path)
    return (latest_checkpoint(path) or path) if os.path.isdir(path) else path


def _pairs(
    path: str,
    key: str,
    target: Any,
    reader: NewCheckpointReader,
    by_name: Mapping[str, Variable],
) -> Iterator[tuple[str, Variable]]:
    """(tensor, variable) for one entry of the map."""
    shapes = reader.get_variable_to_shape_map()
    if not isinstance(target, str) or target in by_name:
        if key not in shapes:
            raise ValueError(f"Tensor {key} is not found in {path} checkpoint {shapes}")
        variable = by_name[target] if isinstance(target, str) else target
        parts = getattr(variable, "_get_variable_list", lambda: [variable])()
        yield from ((key, part) for part in parts)
        return
    if not key.endswith("/") or (target and not target.endswith("/")):
        raise ValueError(
            f"Assignment map with scope only name {target} should map to scope only {key}. Should "
            "be 'scope/': 'other_scope/'."
        )
    scope = "" if target == "/" else target
    inner = "" if key == "/" else key
    found = {name: v for name, v in by_name.items() if name.startswith(scope)}
    for name, variable in found.items():
        info = variable._get_save_slice_info()
        whole = name if info is None else info.full_name
        wanted = inner + whole.removeprefix(scope)
        if wanted not in shapes:
            raise ValueError(
                f"Tensor {wanted} ({whole.removeprefix(scope)} in {key}) is not found in {path} "
                "checkpoint"
            )
        yield wanted, variable


def _check_shape(name: str, variable: Variable, reader: NewCheckpointReader) -> None:
    info = variable._get_save_slice_info()
    shape = reader.get_variable_to_shape_map()[name]
    wanted = variable.shape if info is None else info.full_shape
    if list(wanted) != shape:
        raise ValueError(
            f"Shape of variable {variable.name} ({tuple(wanted)}) doesn't match with shape of "
            f"tensor {name} ({shape}) from checkpoint reader."
        )


def _initialize(variable: Variable, prefix: str, name: str) -> None:
    """Gives a variable another initializer, which reads the checkpoint when it runs."""
    info = variable._get_save_slice_info()
    part = "" if info is None else info.spec
    dtype = variable.dtype.base_dtype
    graph = get_default_graph()
    with graph.device(variable.device), graph.device("/cpu:0"):
        found = call(
            "RestoreV2", prefix, [name], [part], dtypes=[dtype], name="checkpoint_initializer"
        )[0]
        found.set_shape(variable.shape)
    if isinstance(variable, ResourceVariable):
        variable.initializer = call("AssignVariableOp", variable.handle, found)
    else:
        variable.initializer = assign_to(variable._ref(), found).op
    variable.initial_value = found
