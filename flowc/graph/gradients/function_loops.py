"""Gradients of loops whose conditions and bodies are functions.

In: a While, and the gradients of its outputs. Out: those of its inputs, by two more loops: the
forward one again, which keeps what its variables are in every iteration in lists, and one that goes
back over the lists. Invariant: the loop itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph.attrs import FunctionRef
from flowc.graph.building.conversion import as_tensor, constant_tensor
from flowc.graph.building.creation import output
from flowc.graph.function import Function
from flowc.graph.gradients.function_bodies import (
    added_function,
    argument,
    differentiated,
    function_of,
    given_back,
    opened,
)
from flowc.graph.gradients.handles import held_dtype
from flowc.graph.gradients.operation import is_trainable
from flowc.graph.gradients.registry import GradientRegistry
from flowc.graph.gradients.zeros import zeros_of_value
from flowc.graph.graph import Graph
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.traversal import inputs_first


def while_gradient(registry: GradientRegistry, op: Operation, *dys: Any) -> list[Tensor | None]:
    """The gradients of a loop's inputs."""
    flowing = [i for i, t in enumerate(op.inputs) if is_trainable(t)]
    starts: dict[int, Tensor] = {}
    for i in flowing:
        start = zeros_of_value(op.outputs[i]) if dys[i] is None else as_tensor(dys[i])
        if start is not None:
            starts[i] = start
    loop = _DifferentiatedLoop(registry, op, starts)
    count, lists = loop.recorded()
    gradients = loop.gone_back(count, lists, starts)
    return [gradients.get(i) for i in range(len(op.inputs))]


class _DifferentiatedLoop:
    """A While that is differentiated. `needed`: the variables that the gradient of its body reads;
    `kept`: those of them that change, and so are in lists; `fixed`: the others."""

    def __init__(
        self, registry: GradientRegistry, op: Operation, starts: dict[int, Tensor]
    ) -> None:
        self.op = op
        self.graph = op.graph
        self.inputs = op.inputs
        function: Function = op.graph.functions[op.attrs["body"].name]
        body = opened(function, op, self.inputs)
        found = differentiated(registry, body, [starts.get(i) for i in range(len(self.inputs))])
        self.flowing = found.flowing
        self.step_results = given_back(found, list(starts))
        behind = inputs_first(
            {t.op: None for t in self.step_results}, lambda op: [t.op for t in op.inputs]
        )
        self.needed = [i for i, arg in enumerate(body.args) if arg.op in behind]
        self.args = [body.args[i] for i in self.needed]
        results = function.body.results
        self.kept = [i for i in self.needed if results[i] != ("arg", i)]
        self.fixed = [i for i in self.needed if results[i] == ("arg", i)]

    def recorded(self) -> tuple[Tensor, list[Tensor]]:
        """(the number of iterations, for each variable of `kept` the list of what it was)"""
        lists = [self._empty_list(self.inputs[i]) for i in self.kept]
        start = constant_tensor(np.array(0, np.int32), "Const")
        given = [start, *self.inputs, *lists]
        condition = added_function(self.op, "record_cond", lambda n: self._condition(n, given))
        body = added_function(self.op, "record_body", lambda n: self._recording_body(n, given))
        found = self._while(given, condition, body)
        return found[0], found[1 + len(self.inputs) :]

    def _condition(self, name: str, given: Sequence[Tensor]) -> Function:
        graph, args = self._inside(given)
        with graph.as_default():
            values = args[1 : 1 + len(self.inputs)]
            found = self._call(graph, self.op.attrs["cond"], values, [(dtypes.bool_, None)])
            return function_of(name, args, found, self.op)

    def _recording_body(self, name: str, given: Sequence[Tensor]) -> Function:
        graph, args = self._inside(given)
        width = len(self.inputs)
        count, values, lists = args[0], args[1 : 1 + width], args[1 + width :]
        with graph.as_default():
            types = [(t.base_dtype, None) for t in self.inputs]
            following = self._call(graph, self.op.attrs["body"], values, types)
            longer = [
                graph.add_operation(
                    "TensorListPushBack",
                    [held, values[i]],
                    {"element_dtype": values[i].base_dtype},
                    "TensorListPushBack",
                    output_types=[(dtypes.variant, ())],
                ).outputs[0]
                for i, held in zip(self.kept, lists)
            ]
            results = [output("AddV2", count, 1), *following, *longer]
            return function_of(name, args, results, self.op)

    def gone_back(
        self, count: Tensor, lists: Sequence[Tensor], starts: dict[int, Tensor]
    ) -> dict[int, Tensor]:
        """The gradients of the inputs that `starts` has those of the outputs of."""
        given = [count, *(self.inputs[i] for i in self.fixed), *lists, *starts.values()]
        args = [*self.args, *self.flowing]
        step = added_function(
            self.op, "loop_backward", lambda n: function_of(n, args, self.step_results, self.op)
        )
        back = _Back(self, given, step, list(starts))
        condition = added_function(self.op, "back_cond", back.condition)
        taken = self._while(given, condition, added_function(self.op, "back_body", back.body))
        return dict(zip(starts, taken[-len(starts) :])) if starts else {}

    def _while(
        self, given: Sequence[Tensor], condition: FunctionRef, body: FunctionRef
    ) -> list[Tensor]:
        attrs = {
            "T": [t.base_dtype for t in given],
            "cond": condition,
            "body": body,
            "output_shapes": [],
            "parallel_iterations": self.op.attrs.get("parallel_iterations", 10),
        }
        types: Any = [(t.base_dtype, None) for t in given]
        op = self.graph.add_operation(self.op.type, given, attrs, self.op.type, output_types=types)
        return op.outputs

    def _empty_list(self, like: Tensor) -> Tensor:
        unknown = constant_tensor(np.array(-1, np.int32), "Const")
        attrs = {"element_dtype": like.base_dtype, "shape_type": dtypes.i32}
        op = self.graph.add_operation(
            "EmptyTensorList",
            [unknown, unknown],
            attrs,
            "EmptyTensorList",
            output_types=[(dtypes.variant, ())],
        )
        return op.outputs[0]

    def _inside(self, given: Sequence[Tensor]) -> tuple[Graph, list[Tensor]]:
        """A graph for a function that is given such tensors, and its placeholders."""
        graph = Graph()
        graph.functions = self.graph.functions
        return graph, [argument(graph, f"arg{i}", t.base_dtype, t) for i, t in enumerate(given)]

    @staticmethod
    def _call(
        graph: Graph, function: FunctionRef, given: Sequence[Tensor], types: Sequence[Any]
    ) -> list[Tensor]:
        attrs = {
            "f": function,
            "Tin": [t.base_dtype for t in given],
            "Tout": [dtype for dtype, _ in types],
            "config": b"",
            "config_proto": b"",
            "executor_type": b"",
        }
        name = "StatefulPartitionedCall"
        return graph.add_operation(name, given, attrs, name, output_types=types).outputs


@dataclass(frozen=True)
class _Back:
    """The functions of the loop that goes back. `step`: the gradient of the forward body, for the
    variables `flowing`."""

    loop: _DifferentiatedLoop
    given: list[Tensor]
    step: FunctionRef
    flowing: list[int]

    def condition(self, name: str) -> Function:
        graph, args = self.loop._inside(self.given)
        with graph.as_default():
            return function_of(name, args, [output("Greater", args[0], 0)], self.loop.op)

    def body(self, name: str) -> Function:
        loop = self.loop
        graph, args = loop._inside(self.given)
        first = 1 + len(loop.fixed)
        lists = args[first : first + len(loop.kept)]
        flowing = args[first + len(loop.kept) :]
        values: dict[int, Tensor] = dict(zip(loop.fixed, args[1:first]))
        shorter: list[Tensor] = []
        with graph.as_default():
            for i, held in zip(loop.kept, lists):
                rest, values[i] = self._popped(graph, held, loop.inputs[i].base_dtype)
                shorter.append(rest)
            inputs = [*(values[i] for i in loop.needed), *flowing]
            types = [(held_dtype(loop.inputs[i]), None) for i in self.flowing]
            found = loop._call(graph, self.step, inputs, types)
            results = [output("Sub", args[0], 1), *args[1:first], *shorter, *found]
            return function_of(name, args, results, loop.op)

    @staticmethod
    def _popped(graph: Graph, held: Tensor, dtype: DType | None) -> tuple[Tensor, Tensor]:
        unknown = constant_tensor(np.array(-1, np.int32), "Const")
        types: Any = [(dtypes.variant, ()), (dtype, None)]
        name = "TensorListPopBack"
        op = graph.add_operation(
            name, [held, unknown], {"element_dtype": dtype}, name, output_types=types
        )
        return op.outputs[0], op.outputs[1]
