"""TensorFlow's own API with flowc behind the session: a Session whose graphs TensorFlow builds,
whose fetches and feeds TensorFlow checks, and whose runs are flowc's.

In: a TensorFlow graph, which may grow between runs. Out: values, or the exception of
`tf.errors` that has the code of flowc's.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.framework import errors_impl

import flowc

tf1 = tf.compat.v1


class FlowcSession(tf1.Session):
    """Runs what TensorFlow's `Session.run` would, one level below its handling of fetches."""

    def __init__(self, graph: Any = None, **options: Any) -> None:
        super().__init__(graph=graph, **options)
        self._copy = flowc.Graph()
        self._behind = flowc.Session(graph=self._copy)
        self._imported: set[str] = set()

    def close(self) -> None:
        self._behind.close()
        super().close()

    def _do_run(
        self,
        handle: Any,
        target_list: Any,
        fetch_list: Any,
        feed_dict: Any,
        options: Any,
        run_metadata: Any,
    ) -> list[Any]:
        """What `BaseSession.run` calls with tensors that it has checked and arrays of feeds."""
        if handle is not None:
            raise NotImplementedError("partial runs")
        names = [_name(t) for t in fetch_list]
        targets = [_name(t) for t in target_list]
        feeds = {_name(t): value for t, value in feed_dict.items()}
        try:
            self._import_new_nodes()
            values = self._behind.run([*names, *targets], feeds)
        except flowc.errors.OpError as error:
            kind = errors_impl.exception_type_from_error_code(error.error_code)
            raise kind(None, None, str(error)) from error
        return values[: len(names)]

    def _import_new_nodes(self) -> None:
        whole = self.graph.as_graph_def(add_shapes=False)
        new = [node for node in whole.node if node.name not in self._imported]
        if not new:
            return
        part = tf1.GraphDef(versions=whole.versions, library=whole.library)
        part.node.extend(new)
        names = {node.name for node in new}
        outside = {
            given: given.removeprefix("^")
            for node in new
            for given in node.input
            if given.removeprefix("^").partition(":")[0] not in names
        }
        with self._copy.as_default():
            known = {key: self._known(name, key) for key, name in outside.items()}
            flowc.import_graph_def(part.SerializeToString(), input_map=known, name="")
        self._imported |= names

    def _known(self, name: str, key: str) -> Any:
        if key.startswith("^"):
            return self._copy.get_operation_by_name(name)
        return self._copy.get_tensor_by_name(name if ":" in name else name + ":0")


def _name(element: Any) -> str:
    """The name of a tensor or operation, or of what a reference to one stands for."""
    return element.deref().name if hasattr(element, "deref") else element.name
