"""Which variables a Saver saves, and under which names.

In: a list or a dict of variables, as a program gives it. Out: what is saved, sorted by name.
Invariant: a name stands for one variable, or for the parts of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flowc.api.lookup.mutable_tables import DenseHashTable, MutableHashTable
from flowc.api.saving.saved_resources import SaveableIterator, SaveableResource
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.api.variables.variable_ops import global_variables
from flowc.api.variables.variables import Variable
from flowc.dataclass import dataclass
from flowc.graph import Tensor, get_default_graph


@dataclass(frozen=True, slots=True)
class SavedVariable:
    """One row of a checkpoint: `part` is TensorFlow's text for a part of the tensor `name`, or
    empty."""

    name: str
    variable: Variable
    part: str = ""

    @property
    def tensor(self) -> Tensor:
        """What is saved: the reference, or what reads the variable."""
        variable = self.variable
        if self.part or isinstance(variable, ResourceVariable):
            return variable._snapshot
        return variable._ref()


@dataclass(frozen=True, slots=True)
class SavedTable:
    """A lookup table, which a checkpoint holds as `name-keys` and `name-values`, or an iterator or
    the resource of a registered op, which say what their tensors are called."""

    name: str
    table: MutableHashTable | DenseHashTable | SaveableResource | SaveableIterator
    tensors: tuple[Tensor, ...]

    @property
    def tensor_names(self) -> list[str]:
        """The names of the tensors in a checkpoint."""
        if isinstance(self.table, MutableHashTable | DenseHashTable):
            return [f"{self.name}-{part}" for part in ("keys", "values")]
        return self.table.tensor_names(self.name)


_TABLES = (MutableHashTable, DenseHashTable, SaveableResource, SaveableIterator)
Saved = SavedVariable | SavedTable


def saved_variables(given: Any = None) -> list[Saved]:
    """What a Saver of these variables saves: all that can be, for None.

    Raises `TypeError` for what holds no variables, and `ValueError` for a name that stands for
    more than one."""
    if given is None:
        graph = get_default_graph()
        given = [
            *global_variables(),
            *graph.get_collection(GraphKeys.SAVEABLE_OBJECTS),
        ]
    if isinstance(given, Mapping):
        by_name: Mapping[str, Sequence[Saved]] = {
            _checked_name(name): _named(name, given[name]) for name in given
        }
    elif isinstance(given, (list, tuple, set, frozenset)):
        by_name = _by_own_names(given)
    else:
        raise TypeError(f"Variables to save should be passed in a dict or a list. Got {given}")
    found: list[Saved] = []
    seen: set[int] = set()
    for name in sorted(by_name):
        for row in by_name[name]:
            home = id(row.table.op if isinstance(row, SavedTable) else row.variable.op)
            if home in seen:
                raise ValueError(
                    "The same saveable will be restored with two names: "
                    f"{name}. Each variable can be saved under one name by a Saver."
                )
            seen.add(home)
            found.append(row)
    return found


def _checked_name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to trackable operations. Name "
            f"is not a string: {name}"
        )
    return name


def _named(name: str, value: Any) -> Sequence[Saved]:
    """The rows of one name of a dict: a variable, the parts of a partitioned one, or a table."""
    if isinstance(value, _TABLES):
        return [SavedTable(name, value, value.export())]
    parts = _parts(value)
    if parts is None:
        if not isinstance(value, Variable):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not "
                f"a variable: {value}"
            )
        return [SavedVariable(name, value)]
    found: list[SavedVariable] = []
    for part in parts:
        info = _slice_info(part)
        if info is None:
            raise ValueError(f"Slices must all be slices: {part}")
        found.append(SavedVariable(name, part, info.spec))
    return found


def _by_own_names(variables: Iterable[Any]) -> dict[str, list[Saved]]:
    found: dict[str, list[Saved]] = {}
    sliced: set[str] = set()
    for variable in _flat(variables):
        if isinstance(variable, _TABLES):
            name = variable.op.name
            found.setdefault(name, []).append(SavedTable(name, variable, variable.export()))
            continue
        if not isinstance(variable, Variable):
            raise TypeError(f"Variable to save is not a Variable: {variable}")
        info = _slice_info(variable)
        name = variable.op.name if info is None else info.full_name
        if name in found and (info is None) == (name in sliced):
            raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
        if info is None and name in found:
            raise ValueError(f"At least two variables have the same name: {name}")
        if info is not None:
            sliced.add(name)
        part = "" if info is None else info.spec
        found.setdefault(name, []).append(SavedVariable(name, variable, part))
    return found


def _flat(variables: Iterable[Any]) -> Iterable[Any]:
    for variable in variables:
        yield from (_parts(variable) or [variable])


def _parts(value: Any) -> Sequence[Any] | None:
    """The parts of a partitioned variable, or a list of them; None for a variable."""
    if isinstance(value, (list, tuple)):
        return value
    get_parts = getattr(value, "_get_variable_list", None)
    return None if get_parts is None else get_parts()


def _slice_info(variable: Any) -> Any:
    """Which part of a whole a variable holds; None for one that is whole."""
    get_info = getattr(variable, "_get_save_slice_info", None)
    return None if get_info is None else get_info()
