"""The variable scopes that a graph is in, and what makes its variables.

In: the blocks of `variable_scope` and `variable_creator_scope`. Out: what a new variable asks of
them. Invariant: the state belongs to the graph, in collections that no file holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from flowc import dtypes
from flowc.api.variables.graph_keys import GraphKeys
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph import get_default_graph

_SCOPE = ("flowc", "variable scope")
_CREATORS = ("flowc", "variable creators")


class VariableSynchronization(Enum):
    """When the copies of a variable on several machines are made equal; flowc has one copy. Raises
    nothing."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(Enum):
    """How changes of several copies of a variable are made one; flowc has one copy. Raises
    nothing."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3


class _AutoReuse:
    def __repr__(self) -> str:
        return "AUTO_REUSE"


AUTO_REUSE = _AutoReuse()


@dataclass(slots=True)
class VariableScope:
    """What `get_variable` does inside a `variable_scope` block. `get_variable` raises `ValueError`
    where a variable exists and is not reused, or the other way round."""

    name: str = ""
    reuse: Any = False
    initializer: Any = None
    regularizer: Any = None
    caching_device: Any = None
    partitioner: Any = None
    custom_getter: Any = None
    dtype: DType = dtypes.f32
    use_resource: bool | None = None
    constraint: Any = None
    original_name_scope: str = ""

    def reuse_variables(self) -> None:
        """From now on, `get_variable` in this scope returns variables that exist."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: Any) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        self.use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """The items of a collection that were made in this scope."""
        return get_default_graph().get_collection(name, f"{self.name}/" if self.name else None)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)


def scopes_of_default_graph() -> list[VariableScope]:
    """The open scopes, innermost last; the outermost has no name."""
    held = get_default_graph().get_collection_ref(_SCOPE)
    if not held:
        held.append(VariableScope())
    return held


def get_variable_scope() -> VariableScope:
    """The innermost scope of this graph. Raises nothing."""
    return scopes_of_default_graph()[-1]


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Inside, `variable_creator(next_creator, **arguments)` makes the variables: it returns one,
    which `next_creator(**arguments)` makes, with the arguments as they came or changed. Raises what
    `variable_creator` does."""
    held = creators()
    held.append(variable_creator)
    try:
        yield
    finally:
        held.pop()


def creators() -> list[Callable[..., Any]]:
    """The functions of the open blocks of `variable_creator_scope`, innermost last."""
    return get_default_graph().get_collection_ref(_CREATORS)
