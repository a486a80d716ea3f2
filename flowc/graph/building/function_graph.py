"""A graph that is to become a function of another one.

In: a Python function that builds, and what it takes. Out: a `Function` of the outer graph, and the
tensors of the outer graph that it captures. Invariant: what is built inside and needs a tensor of
outside gets an argument for it, one for each tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.dtypes import DType
from flowc.graph.attrs import FunctionRef
from flowc.graph.function import Function
from flowc.graph.gradients.function_bodies import function_from
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.traversal import inputs_first

# Collections of variables, which belong to the graph around a function. What else a function adds
# to a collection, such as the initializer of a table that is made at each call, is its own.
_SHARED = ("variables", "local_variables", "trainable_variables")
_NO_EFFECT = ("random", "variable", "identity", "placeholder")


class FunctionGraph(Graph):
    """`args`: the function's own arguments; `captured`: tensors of outside, and what stands for
    them here."""

    def __init__(self, outer: Graph) -> None:
        super().__init__()
        self.outer = outer
        self.functions = outer.functions
        self.host_functions = outer.host_functions
        self.collections = {
            name: items if _is_shared(name) else list(items)
            for name, items in outer.collections.items()
        }
        self.seed = outer.seed
        self.args: list[Tensor] = []
        self.captured: dict[Tensor, Tensor] = {}

    def get_collection_ref(self, name: Any) -> list[Any]:
        outer = self.outer
        if outer is not None and name not in self.collections and _is_shared(name):
            self.collections[name] = outer.get_collection_ref(name)
        return super().get_collection_ref(name)

    def argument(self, dtype: DType, shape: Any) -> Tensor:
        """A new argument."""
        found = self._placeholder(f"args_{len(self.args)}", dtype, shape)
        self.args.append(found)
        return found

    def _placeholder(self, name: str, dtype: DType, shape: Any) -> Tensor:
        attrs = {"dtype": dtype, "shape": shape}
        with self.control_dependencies(None):
            op = self.add_operation("Placeholder", (), attrs, name, output_types=[(dtype, shape)])
        return op.outputs[0]

    def capture(self, tensor: Tensor) -> Tensor:
        found = self.captured.get(tensor)
        if found is not None:
            return found
        outer = self.outer
        assert outer is not None
        if tensor.graph is not outer:
            tensor = outer.capture(tensor)  # of a graph further outside
        dtype = tensor.dtype
        assert dtype is not None
        name = f"captured_{tensor.op.name}".replace("/", "_")
        with self.name_scope(None):
            found = self._placeholder(name, dtype.base_dtype, tensor.shape.sizes)
        self.captured[tensor] = found
        return found

    def function(self, name: str, results: Sequence[Tensor]) -> Function:
        """The function of what stands in the graph now, with the captured tensors as its last
        arguments."""
        args = [*self.args, *self.captured.values()]
        places = {t.op for t in args}
        body = [op for op in self.get_operations() if op not in places]
        needed = set(inputs_first([t.op for t in results], _before))
        effects = [op for op in body if op not in needed and _has_effect(op)]
        names = [t.op.name for t in args]
        return function_from(name, args, results, body, effects, names, is_imported=False)


def _is_shared(name: Any) -> bool:
    """flowc's own collections, whose keys are no strings, hold scopes and variables by name."""
    return name in _SHARED or not isinstance(name, str)


def _before(op: Operation) -> list[Operation]:
    return [*(t.op for t in op.inputs), *op.control_inputs]


def _has_effect(op: Operation) -> bool:
    return has_trait(op.type, "stateful") and not any(has_trait(op.type, t) for t in _NO_EFFECT)


# What a function that makes a dataset may not copy: it would be another one there.
_OUTSIDE = ("variable", "placeholder", "fed")


def factory_of(tensor: Tensor) -> FunctionRef:
    """A new function without arguments that computes a dataset anew. Raises `ValueError` where that
    needs a feed, or a state of the graph."""
    graph = tensor.graph
    body = list(inputs_first([tensor.op], _before))
    for op in body:
        if any(has_trait(op.type, trait) for trait in _OUTSIDE):
            what = "placeholder" if has_trait(op.type, "placeholder") else "stateful node"
            raise ValueError(
                f"Cannot capture a {what} (name:{op.name}, type:{op.type}) by value: a one-shot "
                "iterator takes nothing from outside that a run may change. Use "
                "`make_initializable_iterator()` instead."
            )
    number = len(graph.functions)
    while f"_make_dataset_{number}" in graph.functions:
        number += 1
    name = f"_make_dataset_{number}"
    graph.functions[name] = function_from(name, (), [tensor], body, (), is_imported=False)
    return FunctionRef(name)
