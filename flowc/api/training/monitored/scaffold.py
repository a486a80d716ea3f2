"""What a session needs before it trains: operations that initialise, that say whether all is ready,
and a Saver.

In: those that a program names; else those of the graph's collections; else new ones. Out: all of
them, in a graph that is finalized.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.api.framework.scopes import group, no_op
from flowc.api.saving.saver import Saver
from flowc.api.summaries.merging import merge_all
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.variable_ops import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from flowc.graph import Operation, Tensor, get_default_graph

_PARTS = (
    "init_op",
    "init_feed_dict",
    "ready_op",
    "ready_for_local_init_op",
    "local_init_op",
    "local_init_feed_dict",
    "summary_op",
    "saver",
)


class Scaffold:
    """The operations of a session, complete once it is finalized.

    `init_fn(scaffold, session)` is called behind `init_op`. `copy_from_scaffold`: another scaffold,
    for all that is not given. Raises `TypeError` where it is none."""

    init_op: Operation | Tensor | None
    init_feed_dict: Any
    ready_op: Tensor | None
    ready_for_local_init_op: Tensor | None
    local_init_op: Operation | Tensor | None
    local_init_feed_dict: Any
    summary_op: Any
    saver: Any

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Scaffold, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        given = locals()
        for name in _PARTS:
            value = given[name]
            if value is None and copy_from_scaffold is not None:
                value = getattr(copy_from_scaffold, name)
            setattr(self, name, value)
        if init_fn is None and copy_from_scaffold is not None:
            init_fn = copy_from_scaffold._user_init_fn
        self._user_init_fn = init_fn

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """A function of a session, None where there is none."""
        function = self._user_init_fn
        return None if function is None else lambda session: function(self, session)

    def finalize(self) -> Scaffold:
        """Makes what is missing, and finalizes the default graph. Raises `RuntimeError` where a
        collection has several of something."""
        self._complete("init_op", GraphKeys.INIT_OP, self.default_init_op)
        self._complete("ready_op", GraphKeys.READY_OP, report_uninitialized_variables)
        self._complete(
            "ready_for_local_init_op",
            GraphKeys.READY_FOR_LOCAL_INIT_OP,
            lambda: report_uninitialized_variables(global_variables()),
        )
        self._complete("local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op)
        self._complete("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        self._complete("saver", GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True))
        self.saver.build()
        get_default_graph().finalize()
        return self

    def _complete(self, name: str, collection: str, make: Callable[[], Any]) -> None:
        if getattr(self, name) is None:
            setattr(self, name, self.get_or_default(name, collection, make))

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """The one item of a collection; where it has none, a new one, which is added to it. Raises
        `RuntimeError` where it has several."""
        graph = get_default_graph()
        found = graph.get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which '
                f"one to use by passing it to the tf.Scaffold constructor as:  tf.Scaffold("
                f"{arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_init_op() -> Operation:
        """Initialises all global variables."""
        more = get_default_graph().get_collection("saved_model_initializers")
        return group(global_variables_initializer(), *more)

    @staticmethod
    def default_local_init_op() -> Operation:
        """Initialises all local variables and tables."""
        tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
        name = "init_all_tables"
        tables_ready = group(*tables, name=name) if tables else no_op(name)
        return group(local_variables_initializer(), tables_ready)
