"""Variables that a file's collections speak of.

In: VariableDef messages. Out: variables of the graph. Invariant: one that stands in several
collections is the same object in all.
"""

from __future__ import annotations

from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.variables import Variable
from flowc.graph import Graph

VARIABLE_COLLECTIONS = frozenset(
    {
        GraphKeys.GLOBAL_VARIABLES,
        GraphKeys.LOCAL_VARIABLES,
        GraphKeys.METRIC_VARIABLES,
        GraphKeys.MODEL_VARIABLES,
        GraphKeys.TRAINABLE_VARIABLES,
        GraphKeys.MOVING_AVERAGE_VARIABLES,
        GraphKeys.GLOBAL_STEP,
    }
)


class SavedCollections:
    """Makes variables of the messages of one file, whose nodes got `prefix` before their names:
    `scope` is the prefix without its slash, or None."""

    def __init__(self, graph: Graph, prefix: str = "") -> None:
        self.graph = graph
        self.scope = prefix.removesuffix("/") or None
        self._made: dict[str, Variable] = {}

    def variable(self, message: bytes) -> Variable:
        from flowc.graph.encode import variable_def

        definition = variable_def().FromString(message)
        found = self._made.get(definition.variable_name)
        if found is None:
            with self.graph.as_default():
                found = Variable.from_proto(definition, self.scope)
            self._made[definition.variable_name] = found
        return found


def variables_of(graph: Graph, key: str, scope: str | None = None) -> list[Variable]:
    """The variables of a collection; those that are still messages become variables first."""
    found = graph.collections.get(key, ())
    if any(isinstance(item, bytes) for item in found):
        saved = SavedCollections(graph)
        for name in VARIABLE_COLLECTIONS & graph.collections.keys():
            items = graph.get_collection_ref(name)
            items[:] = [saved.variable(v) if isinstance(v, bytes) else v for v in items]
    return graph.get_collection(key, scope)
