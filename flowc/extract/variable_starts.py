"""What variables hold when the run starts.

In: the values that the model has (of a checkpoint), and the types of the variables whose value the
caller gives to every run. Out: a Value at the top level: a constant, or a parameter of the program.
Invariant: a variable that this fetch set assigns is no constant.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flowc import dtypes
from flowc.errors import FailedPreconditionError, did_you_mean
from flowc.graph.graph import Graph
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.extraction import Resource
from flowc.ir.types import Dims, TensorType
from flowc.ops import op_named


class VariableStarts:
    """`held`: types of the variables whose value the caller gives to every run; `assigned`: those
    that this fetch set is known to assign. Notes what was asked for: `read`, the parameters;
    `constants`; `made`, first values that flowc makes itself (None: chosen anew for every Session).
    """

    def __init__(self, graph: Graph, held: Mapping[str, TensorType], assigned: set[str]) -> None:
        self.graph = graph
        self.held = held
        self.assigned = assigned
        self.read: dict[str, Value] = {}
        self.constants: set[str] = set()
        self.made: dict[str, np.ndarray | None] = {}

    def is_known(self, name: str) -> bool:
        """Whether a variable has a value before the run."""
        return name in self.held or name in self.graph.variable_values

    def find(self, b: Builder, variable: Resource) -> Value | None:
        """The first value of a variable; None for one that has no value before the run."""
        return self.value(b, variable, variable.name) if self.is_known(variable.name) else None

    def value(self, b: Builder, variable: Resource, reader: str) -> Value:
        """The first value of a variable, built with `b`, the top level's. `reader`: the node that
        asks. Raises `FailedPreconditionError` for a variable that has none."""
        name = variable.name
        if "start" in variable.info:
            self.made[name] = variable.info["start"]
            return self._parameter(b, name, variable.info["dtype"], variable.info["dims"])
        array = self.graph.variable_values.get(name)
        if name in self.held:
            return self._parameter(b, name, self.held[name].dtype, self.held[name].dims)
        if array is None:
            raise self._uninitialized(name, reader)
        dtype = dtypes.as_dtype(array.dtype)
        if name in self.assigned:
            return self._parameter(b, name, dtype, array.shape)
        self.constants.add(name)
        attrs = {"value": array, "dtype": dtype}
        return b.emit(op_named("const"), (), attrs, origin=(name,)).output

    def _parameter(self, b: Builder, name: str, dtype: dtypes.DType, dims: Dims) -> Value:
        self.read[name] = b.parameter(f"variable {name}", TensorType(dtype, dims))
        return self.read[name]

    def _uninitialized(self, name: str, reader: str) -> FailedPreconditionError:
        known = [*self.graph.variable_values, *self.held]
        missing = getattr(self.graph.source, "missing_index", None)
        why = f"; there is no {missing}, where its checkpoint would be" if missing else ""
        return FailedPreconditionError(
            f"Attempting to use uninitialized value {name}: the model gives the variable "
            f"'{name}' no value{why}",
            node=reader,
            hint=(did_you_mean(name, known) if known else None)
            or "name the checkpoint that holds it (checkpoint=..., --checkpoint P), or run what "
            "initializes it: global_variables_initializer() in a session, --init OP",
        )
