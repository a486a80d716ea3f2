"""Public names: found where the tables of `exports` say, imported when they are asked for.

In: tables of names, and what TensorFlow has (`tensorflow_names.txt`). Out: the objects. Invariant:
nothing is imported before it is asked for; a name that flowc does not have says "not provided".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from flowc.errors import did_you_mean
from flowc.ir.cached_property import cached_property

TYPO = 0.75  # how like a public name one has to be to be taken for a slip


def entries(tables: Iterable[Mapping[str, str]]) -> dict[str, tuple[str, str]]:
    """name -> (module, name there)"""
    found: dict[str, tuple[str, str]] = {}
    for table in tables:
        for module, text in table.items():
            for word in text.split():
                name, _, inner = word.partition("=")
                found[name] = (module, inner or name)
    return found


# What to write in place of what is not there, by names without `tf.`.
INSTEAD = {
    "audio": "`flowc.raw_ops` for the ops that `flowc ops` lists",
    "autograph": "`tf.while_loop` and `tf.cond`, which is what it writes",
    "contrib": "the core function where there is one: `tf.layers`, `tf.losses`, `tf.nn.rnn_cell`",
    "contrib.crf": "its sums by `tf.scan` and `tf.reduce_logsumexp`; models that have it run",
    "contrib.cudnn_rnn": "`tf.nn.dynamic_rnn` of `tf.nn.rnn_cell.LSTMCell`",
    "contrib.data": "`tf.data.Dataset`, `tf.data.experimental`",
    "contrib.framework": "`tf.train.list_variables`, `tf.train.load_variable`, "
    "`tf.train.init_from_checkpoint`, `tf.train.get_or_create_global_step`, `tf.nest`",
    "contrib.image": "`tf.image`",
    "contrib.layers": "`tf.layers` (fully_connected: `tf.layers.dense`; batch_norm: "
    "`tf.layers.batch_normalization`); xavier_initializer: `tf.glorot_uniform_initializer`; "
    "l2_regularizer(s): lambda w: s * `tf.nn.l2_loss`(w)",
    "contrib.losses": "`tf.losses`",
    "contrib.metrics": "`tf.metrics`",
    "contrib.rnn": "cells are in `tf.nn.rnn_cell` (`tf.nn.rnn_cell.LSTMCell`); `tf.nn.static_rnn`",
    "contrib.seq2seq": "`tf.while_loop` over a cell of `tf.nn.rnn_cell`; models that have it run",
    "contrib.signal": "`tf.signal`",
    "contrib.slim": "`tf.layers` in a `tf.variable_scope`; models that were made with it run",
    "contrib.summary": "`tf.summary`",
    "contrib.training": "`tf.train`; HParams: a class of Python's, types.SimpleNamespace",
    "distribute": "one process; a step uses all cores",
    "estimator": "`tf.train.MonitoredTrainingSession`",
    "enable_eager_execution": "graphs and Sessions",
    "enable_v2_behavior": "graphs and Sessions",
    "feature_column": "`tf.io.parse_example` and `tf.nn.embedding_lookup`",
    "function": "graphs and Sessions; `flowc.compile` makes a function of a graph",
    "GradientTape": "`tf.gradients`",
    "keras": "`tf.layers`; models of Keras run as SavedModels",
    "lite": "`flowc compile`",
    "profiler": "`flowc bench`",
    "tpu": "the CPU",
    "get_session_handle": "a `tf.Variable`, which keeps a tensor from run to run",
    "get_session_tensor": "a `tf.Variable`, which keeps a tensor from run to run",
    "test.Benchmark": "`flowc bench`",
    "train.Checkpoint": "`tf.train.Saver`",
    "train.CheckpointManager": "`tf.train.Saver(max_to_keep=...)`, `tf.train.latest_checkpoint`",
    "train.Server": "one process: `tf.Session()`; a step uses all cores",
    "train.SyncReplicasOptimizer": "the optimizer that it wraps: one process waits for no replicas",
    "xla": "`flowc.compile`",
}


class Namespace:
    """A named group of public names, such as `flowc.nn`. Names are imported when first used.

    `tables`: what `entries` reads; `inner`: the namespaces inside, such as `rnn_cell`."""

    def __init__(
        self,
        path: str,
        tables: Iterable[Mapping[str, str]],
        inner: Mapping[str, Namespace] | None = None,
    ) -> None:
        self.__name__ = path
        self._tables = tables
        self._inner = dict(inner or {})

    @cached_property
    def _names(self) -> dict[str, tuple[str, str]]:
        return entries(self._tables)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self._inner.get(name) or find(self._names, name, self.__name__)
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return sorted({*self._names, *self._inner})

    def __repr__(self) -> str:
        return f"<namespace {self.__name__}>"


def namespaces(tables: Mapping[str, Iterable[Mapping[str, str]]]) -> dict[str, Namespace]:
    """The namespaces at the top; the tables of a dotted name stand inside another one."""
    made: dict[str, Namespace] = {}
    for path in sorted(tables, key=lambda path: -path.count(".")):
        inner = {
            name.removeprefix(f"{path}."): space
            for name, space in made.items()
            if name.startswith(f"{path}.") and name.count(".") == path.count(".") + 1
        }
        made[path] = Namespace(f"flowc.{path}", tables[path], inner)
    return {path: made[path] for path in tables if "." not in path}


def find(names: Mapping[str, tuple[str, str]], name: str, owner: str) -> Any:
    """The object behind a public name. Raises `AttributeError`."""
    if name in names:
        module, inner = names[name]
        import_module("flowc.api")  # gives tensors their operators
        return getattr(import_module(module), inner)
    error = AttributeError(not_provided(names, name, owner))
    path = f"{owner}.{name}".removeprefix("flowc.")
    instead = INSTEAD.get(path, INSTEAD.get(path.rpartition(".")[0]))
    if instead is not None:
        error.add_note(f"instead: {instead}")
    raise error


def not_provided(names: Mapping[str, Any], name: str, owner: str) -> str:
    """What is said of a name that `owner` (`flowc.nn`) does not have, with the nearest that it has
    where TensorFlow has none of that name either."""
    text = f"{owner}.{name} is not provided"
    if name in tensorflow_names().get(owner.replace("flowc", "tf", 1), ()):
        return text
    near = did_you_mean(name, names, least=TYPO)
    return text + (f": {near}" if near else "")


@cache
def tensorflow_names() -> dict[str, frozenset[str]]:
    """The public names of each namespace of TensorFlow 1: `tf`, `tf.nn`, ..."""
    from pathlib import Path  # late: its own imports take longer than all of this module

    text = Path(__file__).with_name("tensorflow_names.txt").read_text()
    found: dict[str, frozenset[str]] = {}
    for paragraph in text.replace("\n  ", " ").splitlines():
        path, _, names = paragraph.partition(": ")
        found[path] = frozenset(names.split())
    return found
