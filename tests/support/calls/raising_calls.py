"""Calls of public names that raise: read from `tests/data/raised_errors.txt`, and made.

In: lines `Error: call`, or `run Error: call` where a run of what the call gives raises it; below
each the public names whose docstrings say so, which take the place of `@`. Out: what came of a
call. `tf` may be flowc or TensorFlow's API for version 1, whose errors most of them are.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parents[2] / "data" / "raised_errors.txt"


@dataclass(frozen=True)
class RaisingCall:
    name: str
    error: str
    """The class's name."""
    call: str
    in_run: bool
    is_first: bool
    """Of the names below the call."""

    def __str__(self) -> str:
        return f"{'run ' * self.in_run}{self.error}: {self.call}"


def raising_calls() -> Iterator[RaisingCall]:
    error, call, is_first = "", "", True
    for line in FILE.read_text().splitlines():
        if line.startswith("    "):
            for name in line.split():
                made = call.replace("@", f"tf.{name}")
                yield RaisingCall(name, error.removeprefix("run "), made, "run " in error, is_first)
                is_first = False
        elif line and not line.startswith("#"):
            (error, _, call), is_first = line.partition(": "), True


class _Arguments:
    """What the calls name, for one call."""

    def __init__(self, tf: Any, folder: str) -> None:
        self.tf, self.folder, self.missing = tf, folder, f"{folder}/missing"
        self.feeds: dict[Any, Any] = {}
        self.before: list[Any] = []
        self._numbers = itertools.count()
        self._fed: Any = None

    def scope(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        return own | {"np": np, "ph": self.tf.placeholder}

    def f(self, *shape: int) -> Any:
        return self.tf.zeros(shape)

    def i(self, *shape: int) -> Any:
        return self.tf.zeros(shape, self.tf.int32)

    def b(self, *shape: int) -> Any:
        return self.tf.zeros(shape, self.tf.bool)

    def c(self, *shape: int) -> Any:
        return self.tf.zeros(shape, self.tf.complex64)

    def s(self, *shape: int) -> Any:
        return self.tf.fill(shape, "a") if shape else self.tf.constant("a")

    def ph0(self, value: Any, dtype: Any = None) -> Any:
        """A placeholder of unknown shape, which the run feeds."""
        array = np.asarray(value, dtype)
        narrow = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}
        if dtype is None:
            array = array.astype(narrow.get(array.dtype, array.dtype))
        made = self.tf.placeholder(self.tf.string if array.dtype == object else array.dtype)
        self.feeds[made] = array
        return made

    def x0(self) -> Any:
        """One placeholder, the same at each call."""
        if self._fed is None:
            self._fed = self.tf.placeholder(self.tf.float32, [2])
        return self._fed

    def without_gradient(self) -> Any:
        spectrogram = self.tf.reshape(self.x0(), [1, 1, 2])
        return self.tf.raw_ops.Mfcc(spectrogram=spectrogram, sample_rate=8000)

    def file(self, text: str, suffix: str = "") -> str:
        path = Path(self.folder, f"f{next(self._numbers)}{suffix}")
        path.write_text(text)
        return str(path)

    def torn(self) -> str:
        """A checkpoint whose index is damaged."""
        prefix = f"{self.folder}/torn"
        Path(f"{prefix}.index").write_bytes(bytes(100))
        Path(f"{prefix}.data-00000-of-00001").write_bytes(b"")
        return prefix

    def var(self) -> Any:
        return self.tf.Variable(self.tf.zeros([2]), name="w")

    def initialized(self, variable: Any) -> Any:
        self.before.append(variable.initializer)
        return variable

    def init_local(self, tensor: Any) -> Any:
        self.before.append(self.tf.local_variables_initializer())
        return tensor

    def reuse(self, function: Callable[[], Any]) -> Any:
        """Calls a function in a scope that is reused, and has the variable `a`."""
        with self.tf.variable_scope("s"):
            self.tf.get_variable("a", [2])
        with self.tf.variable_scope("s", reuse=True):
            return function()

    def graph_def(self) -> Any:
        graph = self.tf.Graph()
        with graph.as_default():
            self.tf.identity(self.tf.placeholder(self.tf.float32, [2], name="a"), name="b")
        return graph.as_graph_def()

    def finalized(self) -> None:
        self.tf.get_default_graph().finalize()

    def fail(self, kind: type[Exception]) -> Callable[..., Any]:
        def function() -> Any:
            raise kind("here")

        return function

    def proto(self, number: int) -> Any:
        """A TensorProto whose dtype has this number."""
        made = self.tf.make_tensor_proto([1.0])
        made.dtype = number
        return made

    def ds(self) -> Any:
        return self.tf.data.Dataset.from_tensor_slices(self.tf.constant([1, 2, 3], self.tf.int64))

    def table(self) -> Any:
        entries = self.tf.lookup.KeyValueTensorInitializer(["a"], [1])
        return self.tf.lookup.StaticHashTable(entries, -1)

    def sp(self, dtype: Any = None) -> Any:
        values = self.tf.ones([1], self.tf.float32 if dtype is None else dtype)
        return self.tf.SparseTensor([[0, 0]], values, [2, 2])

    def sp3(self) -> Any:
        return self.tf.SparseTensor([[0, 0]], [1.0], [3, 2])

    def rows(self) -> Any:
        return self.tf.RaggedTensor.from_row_lengths(self.tf.constant(["a"]), [1])

    def cell(self) -> Any:
        return self.tf.nn.rnn_cell.BasicRNNCell(2)

    def run(self, fetched: Any) -> Any:
        with self.tf.Session() as session:
            return session.run(fetched)


def outcome(tf: Any, call: RaisingCall) -> BaseException | None:
    """What a call raises, or else the run of what it gives."""
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        arguments = _Arguments(tf, folder)
        try:
            made = eval(call.call, arguments.scope())
            if call.in_run:
                with tf.Session(graph=graph) as session:
                    session.run(arguments.before)
                    session.run(getattr(made, "flat_values", made), arguments.feeds)
        except (Exception, SystemExit) as error:
            return error
    return None


def raises(error: BaseException | None, name: str) -> bool:
    return name in {kind.__name__ for kind in type(error).__mro__}
