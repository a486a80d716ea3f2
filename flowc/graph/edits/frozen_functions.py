"""Functions of a GraphDef that are given values where they were given the handles of variables.

In: nodes that took such handles, with the dtypes of the variables. Out: the nodes changed in place
(reads are identities, calls are of other functions), and those functions as messages. Invariant:
the functions that were there are not changed; one is made for each set of arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flowc.errors import UnsupportedError

READ = "ReadVariableOp"
# What reads elements alone, and what reads them of a value.
GATHERS = {"ResourceGather": "GatherV2", "ResourceGatherNd": "GatherNd"}
INT32 = 3  # the number of the dtype
# What passes a handle on.
PASSING = frozenset({"Identity", "Enter", "Switch", "Merge", "Exit", "NextIteration", "RefEnter"})
# What calls functions: the attrs that name them, the one with the dtypes of arguments, and which
# input is the first argument.
CALLS = {
    "PartitionedCall": (("f",), "Tin", 0),
    "StatefulPartitionedCall": (("f",), "Tin", 0),
    "If": (("then_branch", "else_branch"), "Tin", 1),
    "StatelessIf": (("then_branch", "else_branch"), "Tin", 1),
    "Case": (("branches",), "Tin", 1),
    "StatelessCase": (("branches",), "Tin", 1),
    "While": (("cond", "body"), "T", 0),
    "StatelessWhile": (("cond", "body"), "T", 0),
}


def node_name(name: str) -> str:
    """The node of an input: without `^` and the number of the output."""
    return name.removeprefix("^").partition(":")[0]


def passed_handles(nodes: Sequence[Any], given: Mapping[str, str]) -> dict[str, str]:
    """Node, or argument, -> the variable whose handle it gives, also where nodes pass it on."""
    found = dict(given)
    is_new = bool(found)
    while is_new:
        is_new = False
        for node in nodes:
            source = found.get(node_name(node.input[0])) if node.input else None
            if source is not None and node.op in PASSING and node.name not in found:
                found[node.name] = source
                is_new = True
    return found


class FrozenFunctions:
    """`made`: the functions that the nodes call which were changed."""

    def __init__(self, graph_def: Any) -> None:
        self._there = {f.signature.name: f for f in graph_def.library.function}
        self._names: dict[tuple[str, tuple[int | None, ...]], str] = {}
        self.made: list[Any] = []

    def take_values(
        self, nodes: Any, handles: Mapping[str, str], kinds: Mapping[str, int], output: str = ""
    ) -> None:
        """Changes those of some nodes that take handles. `kinds`: variable -> the number of its
        dtype. `output`: what follows the name of a node where its first output is named. Raises
        `UnsupportedError` where one does something else than to read, pass on or call."""
        names = {node.name for node in nodes}
        for node in list(nodes):
            needs_axis = node.op == "ResourceGather"
            self._take_value(node, handles, kinds)
            if needs_axis and node.op != "ResourceGather":
                axis = _axis_of(node, names)
                node.input.insert(2, f"{axis.name}{output}")
                nodes.append(axis)

    def _take_value(self, node: Any, handles: Mapping[str, str], kinds: Mapping[str, int]) -> None:
        inputs = [i for i in node.input if not i.startswith("^")]
        variables = [handles.get(node_name(i)) for i in inputs]
        taken = [None if v is None else kinds[v] for v in variables]
        first = next((v for v in variables if v is not None), None)
        if first is None:
            return
        if node.op == READ:
            node.op = "Identity"
            for name in [n for n in node.attr if n != "_class"]:
                del node.attr[name]
            node.attr["T"].type = kinds[first]
        elif node.op in PASSING:
            node.attr["T"].type = kinds[first]
        elif node.op in GATHERS:
            _gather_from_value(node, kinds[first])
        elif node.op in CALLS:
            self._call(node, taken)
        else:
            raise UnsupportedError(
                f"node '{node.name}' ({node.op}) takes the handle of the variable '{first}', which "
                "has no place among constants",
                node=node.name,
                hint="freeze the graph that the outputs need, without training and saving",
            )

    def _call(self, node: Any, taken: Sequence[int | None]) -> None:
        attrs, types, first = CALLS[node.op]
        given = tuple(taken[first:])
        _set_types(node.attr[types].list.type, given)
        for attr in attrs:
            value = node.attr[attr]
            for function in value.list.func if value.HasField("list") else (value.func,):
                function.name = self._function(function.name, given)

    def _function(self, name: str, given: tuple[int | None, ...]) -> str:
        """The name of a function that does what `name` does, with values of these dtypes."""
        known = self._names.get((name, given))
        if known is not None or name not in self._there:
            return known or name
        new = f"{name}_frozen"
        while new in self._there:
            new += "_"
        original = self._there[name]
        made = self._there[new] = type(original)()
        self._names[name, given] = new
        made.CopyFrom(original)
        signature = made.signature
        signature.name = new
        kinds = {a.name: t for a, t in zip(signature.input_arg, given) if t is not None}
        for argument in signature.input_arg:
            argument.type = kinds.get(argument.name, argument.type)
        handles = passed_handles(made.node_def, {n: n for n in kinds})
        reads = {n.name for n in made.node_def if n.op == READ}
        self.take_values(made.node_def, handles, kinds, ":output:0")
        reads -= {n.name for n in made.node_def if n.op == READ}
        for node in made.node_def:
            node.input[:] = [_renamed(i, reads) for i in node.input]
        for result in signature.output_arg:
            source = made.ret[result.name] = _renamed(made.ret[result.name], reads)
            result.type = kinds.get(handles.get(node_name(source), ""), result.type)
        self.made.append(made)
        return new


def _gather_from_value(node: Any, kind: int) -> None:
    """Lets a node gather from a value that has this dtype."""
    node.op = GATHERS[node.op]
    batch_dims = node.attr["batch_dims"].i
    for name in [n for n in node.attr if n not in ("_class", "Tindices")]:
        del node.attr[name]
    node.attr["Tparams"].type = kind
    if node.op == "GatherV2":
        node.attr["Taxis"].type = INT32
        if batch_dims:
            node.attr["batch_dims"].i = batch_dims


def _axis_of(node: Any, names: set[str]) -> Any:
    """A constant for the axis along which a node gathers: the first behind those of the batch."""
    name = f"{node.name}/axis"
    while name in names:
        name += "_"
    names.add(name)
    found = type(node)(name=name, op="Const", device=node.device)
    found.attr["dtype"].type = INT32
    value = found.attr["value"].tensor
    value.dtype = INT32
    value.tensor_shape.SetInParent()
    value.int_val.append(node.attr["batch_dims"].i if "batch_dims" in node.attr else 0)
    return found


def _set_types(types: Any, given: Iterable[int | None]) -> None:
    for i, dtype in enumerate(given):
        if dtype is not None:
            types[i] = dtype


def _renamed(name: str, reads: set[str]) -> str:
    """The name of an input. `reads`: nodes of type ReadVariableOp that became Identity, the output
    of which is called `output` instead of `value`."""
    node, _, rest = name.partition(":")
    return f"{node}:output{rest.removeprefix('value')}" if rest and node in reads else name
