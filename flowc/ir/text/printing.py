"""Prints Computations (`flowc.ir.text.form` has the form).

In: a Computation, also a broken one. Out: its text: for reading, or exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from flowc.dtypes import DType, as_dtype
from flowc.ir.bodies import bodies_of, with_sizes
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, Symbol
from flowc.ir.op import Op
from flowc.ir.scalar_body import ScalarBody
from flowc.ir.text.literals import constant_operand, inline, like, sizes_operand
from flowc.ir.text.scalar_text import body_text
from flowc.ir.text.value_names import carried_names, name_apart, names_by_origin
from flowc.ir.types import TensorType


class Printer:
    """`sizes`: named ones for those without a name. `exact`: values are numbered, and constants and
    parameters of bodies have lines."""

    def __init__(
        self, weight_name: Callable[[np.ndarray], str], sizes: Mapping[Symbol, Dim], exact: bool
    ) -> None:
        self.names: dict[Value, str] = {}  # of what can be read: %name, or an operand
        self.node_names: dict[Node, str] = {}
        self.weight_name = weight_name
        self.sizes = sizes
        self.exact = exact
        self.counter = 0
        self.taken: set[str] = set()  # names in the Computation that is printed
        self.hints: dict[Value, str] = {}

    # -- computations

    def computation(
        self, c: Computation, indent: str, header: str, hints: Sequence[str] = ()
    ) -> list[str]:
        """One that names its parameters. `hints`: names for the results."""
        outer, self.taken = self.taken, set()
        parameters: list[str] = []
        for node in c.parameters:
            self.names[node.output] = f"%{name_apart(node.attrs['name'], self.taken)}"
            parameters.append(f"{self.names[node.output]}: {self.named(node.output.type)}")
        left = self.prepared(c, hints, None)
        lines = [f"{indent}{header}({', '.join(parameters)}) {{", *self.inside(c, left, indent)]
        self.taken = outer
        return lines

    def body(
        self,
        c: Computation,
        indent: str,
        header: str,
        names: Sequence[str],
        hints: Sequence[str],
        around: str | None,
    ) -> list[str]:
        """A body whose parameters are named by the line above it."""
        outer, self.taken = self.taken, set(names)
        for node, name in zip(c.parameters, names):
            self.names[node.output] = f"%{name}"
        left = self.prepared(c, hints, around)
        if not left and not c.constraints:
            lines = [f"{indent}{header}: {self.all_names(c.results) or 'return'}"]
        elif not c.constraints and _is_expression(c, left):
            lines = [f"{indent}{header}: {self.node_text(left[0], left[0].inputs)}"]
        else:
            lines = [f"{indent}{header} {{", *self.inside(c, left, indent)]
        self.taken = outer
        return lines

    def prepared(self, c: Computation, hints: Sequence[str], around: str | None) -> list[Node]:
        """The nodes that have lines of their own; notes what values are called."""
        for value, hint in zip(c.results, hints):
            if value.node.op.name != "parameter":
                self.hints.setdefault(value, hint)
        for node in (a for n in c.nodes for a in n.after if not a.outputs):
            self.node_names.setdefault(node, f"@{len(self.node_names)}")
        nodes = [n for n in c.nodes if n.op.name != "parameter"]
        if self.exact:
            return nodes
        operands = self.operands(c, nodes)
        self.names.update(operands)
        left = [n for n in nodes if not n.outputs or n.outputs[0] not in operands]
        for value, name in names_by_origin(left, c.results, around).items():
            self.hints.setdefault(value, name)
        return left

    def operands(self, c: Computation, nodes: Sequence[Node]) -> dict[Value, str]:
        """The values that are written where they are read."""
        read = {v for n in nodes for v in n.inputs} | set(c.results)
        waited_for = {n for node in nodes for n in node.after}
        found: dict[Value, str] = {}
        for node in nodes:
            if len(node.outputs) != 1 or node in waited_for or node.after:
                continue
            text = self.operand(node.outputs[0]) if node.outputs[0] in read else None
            if text is not None:
                found[node.outputs[0]] = text
        return found

    def operand(self, value: Value) -> str | None:
        """A constant, sizes, or one size as a scalar, as it is written where it is read."""
        node, dtype = value.node, value.type.dtype
        if value.constant is not None:
            return constant_operand(value.constant)
        if node.op.name == "sizes":
            return sizes_operand(self.named(node.attrs["dims"]), dtype, True)
        if node.op.name != "reshape" or node.inputs[0].node.op.name != "sizes" or value.type.rank:
            return None
        return sizes_operand(self.named(node.inputs[0].node.attrs["dims"]), dtype, False)

    def inside(self, c: Computation, nodes: Sequence[Node], indent: str) -> list[str]:
        lines = [f"{indent}  require {a} == {b}" for a, b in self.named(c.constraints)]
        for node in nodes:
            lines += self.node(node, indent + "  ")
        lines.append(f"{indent}  return {self.all_names(c.results)}".rstrip())
        lines.append(f"{indent}}}")
        return lines

    # -- nodes

    def node(self, node: Node, indent: str) -> list[str]:
        bodies = bodies_of(node)
        body, count = node.attrs.get("body"), node.attrs.get("carried")
        carried = carried_names(body.parameters, count) if body is not None and count else []
        inputs, names = self.entering(node, bodies, carried)
        self.hints.update(zip(node.outputs, carried))
        for value in node.outputs:
            self.names[value] = f"%{self.new_name(value)}"
        targets = self.all_names(node.outputs) or self.node_names.get(node)
        text = self.node_text(node, inputs, is_told=names is not None)
        lines = [f"{indent}{targets} = {text}" if targets else indent + text]
        for name, inner in bodies.items():
            hints = [f"{n}.next" for n in carried] if name == "body" else ()
            if names is None:
                lines += self.computation(inner, indent + "  ", name, hints)
            else:
                around = node.origin[0] if node.origin else None
                lines += self.body(inner, indent + "  ", name, names, hints, around)
        return lines

    def entering(
        self, node: Node, bodies: dict[str, Computation], carried: Sequence[str]
    ) -> tuple[Sequence[Value | str], list[str] | None]:
        """The operands of a node whose bodies see them, as text, and what the bodies call them;
        None where that would not say all of the bodies' parameters."""
        first = _first_seen(node)
        if self.exact or first is None or (not first and not carried):
            return node.inputs, None
        types = [v.type for v in node.inputs[first:]]
        for body in bodies.values():
            found = [p.output.type for p in body.parameters]
            if found[len(carried) :] != types[len(carried) :] or len(found) != len(types):
                return node.inputs, None
        parameters = next(iter(bodies.values())).parameters
        if any(
            [p.output.type for p in b.parameters] != _types(parameters) for b in bodies.values()
        ):
            return node.inputs, None
        taken = set(carried)
        texts: list[Value | str] = [*node.inputs[:first]]
        names: list[str] = []
        for i, (value, p) in enumerate(zip(node.inputs[first:], parameters)):
            outer = self.name_of(value)
            told = outer[1:] if outer.startswith("%") else p.attrs["name"]
            if i < len(carried):
                names.append(carried[i])
            elif told.isdigit() and outer[1:] == told and told not in taken:
                names.append(told)  # no other value has this number
                taken.add(told)
            else:
                names.append(name_apart(told, taken))
            type_ = "" if p.output.type == value.type else f": {self.named(p.output.type)}"
            same = not type_ and i >= len(carried) and outer == f"%{names[-1]}"
            texts.append(outer if same else f"%{names[-1]}{type_} = {outer}")
        if carried:
            texts[len(carried) - 1 : len(carried) + 1] = [
                "; ".join(cast(list[str], texts[len(carried) - 1 : len(carried) + 1]))
            ]
        return texts, names

    def node_text(self, node: Node, inputs: Sequence[Value | str], is_told: bool = False) -> str:
        """A node's line without its targets. `is_told`: what its bodies are given stands in it."""
        text = node.op.name
        if node.attrs.get("label"):
            text += f".{node.attrs['label']}"
        if inputs:
            text += f"({', '.join(x if isinstance(x, str) else self.name_of(x) for x in inputs)})"
        told = attrs_left_out(node.op, node.types, node.sizes)
        told["label"] = node.attrs.get("label")
        known = tuple(v.type.dtype for v in node.inputs)
        if is_told and "carried" in node.attrs:
            told |= {"carried": node.attrs["carried"], "varying": ()}
        attrs = [
            f"{name}={like(value, node.types) or self.attr(self.named(value), known)}"
            for name, value in sorted(node.attrs.items())
            if not isinstance(value, Computation)
            and not (name in told and _equal(value, told[name]))
        ]
        if attrs:
            text += f" {{{', '.join(attrs)}}}"
        if node.sizes:
            bounds = (str(s) if b is None else f"{s} <= {b}" for s, b in self.named(node.sizes))
            text += f" sizes({', '.join(bounds)})"
        if node.after:
            text += f" after({', '.join(self.node_name_of(n) for n in node.after)})"
        if node.outputs:
            text += f" : {', '.join(map(str, self.named(node.types)))}"
        if node.origin:
            text += f"  # {' '.join(node.origin[:3])}"
        return text

    # -- names and attrs

    def named(self, value: Any) -> Any:
        """A type, attr or sizes, with those sizes named that have no name."""
        return with_sizes(value, self.sizes) if self.sizes else value

    def new_name(self, value: Value) -> str:
        hint = self.hints.get(value)
        if hint is not None:
            return name_apart(hint, self.taken)
        self.counter += 1
        return str(self.counter - 1)

    def name_of(self, value: Value) -> str:
        """A value's name; a broken Computation, which may lack it, prints too."""
        return self.names.get(value, "%undefined")

    def all_names(self, values: Sequence[Value]) -> str:
        return ", ".join(self.name_of(v) for v in values)

    def node_name_of(self, node: Node) -> str:
        return self.name_of(node.outputs[0]) if node.outputs else self.node_names[node]

    def attr(self, value: Any, known: tuple[DType, ...] = ()) -> str:
        """An attr of a node whose inputs have the dtypes `known`."""
        match value:
            case ScalarBody():
                inputs = "" if value.inputs == known else f"{self.attr(value.inputs)} "
                return f"scalar<{inputs}{body_text(value)}>"
            case np.ndarray():
                array = cast(np.ndarray, value)
                return inline(array) or f"weights<{self.weight_name(array)}>"
            case DType():
                return value.short
            case tuple() | list():
                inner = ", ".join(self.attr(v) for v in cast(Sequence[Any], value))
                return f"[{inner}]"
            case Expr():
                return f"size<{value}>"
            case Symbol():
                return repr(str(value))
            case np.generic():
                return f"{cast(Any, value).item()!r}:{as_dtype(value)}"
            case str() | bytes() | bool() | int() | float() | None:
                return repr(value)
            case _:
                return f"<{value}>"


def _first_seen(node: Node) -> int | None:
    """The first of the inputs that the bodies of a loop or conditional are given."""
    return {"while": 0, "if": 1}.get(node.op.name)


def _types(parameters: Sequence[Node]) -> list[TensorType]:
    return [p.output.type for p in parameters]


def _is_expression(c: Computation, left: Sequence[Node]) -> bool:
    """Whether a body is one node and gives what that gives."""
    node = left[0]
    alone = len(left) == 1 and bool(node.outputs) and c.results == node.outputs
    return alone and not any(isinstance(a, Computation) for a in node.attrs.values())


def attrs_left_out(
    op: Op, types: Sequence[TensorType], sizes: tuple[tuple[Symbol, Dim | None], ...]
) -> dict[str, Any]:
    """What a node's attrs are where its line does not say them."""
    found = dict(op.signature.default_attrs)
    told = _dtype_attr(op)
    if told is not None and op.signature.outputs[0].is_list:
        found[told] = tuple(t.dtype for t in types)
    elif told is not None and types:
        found[told] = types[0].dtype
    for name, kind in op.signature.result_attrs.items():
        if kind == "dims":
            found[name] = types[0].dims if types else ()
        else:
            found[name] = sizes if kind == "sizes" else tuple(t.dims for t in types)
    return found


@cache
def _dtype_attr(op: Op) -> str | None:
    """The attr that gives the dtype of an op's outputs, or lists them, and no inputs'."""
    outputs = op.signature.outputs
    name = outputs[0].type_attr if len(outputs) == 1 else None
    inferred = name in op.signature.inferred_attrs
    return None if inferred or (outputs and outputs[0].number_attr is not None) else name


def _equal(x: Any, y: Any) -> bool:
    return type(x) is type(y) and not isinstance(x, np.ndarray) and bool(x == y)


def numbered(weights: Sequence[np.ndarray]) -> Callable[[np.ndarray], str]:
    """Names of large constants: their places among all."""
    places = {id(array): str(i) for i, array in reversed(list(enumerate(weights)))}
    return lambda array: places[id(array)]


def weights_of(c: Computation) -> list[np.ndarray]:
    """The large constants, in the order in which `print_computation` numbers them."""
    found: list[np.ndarray] = []
    stack: list[Any] = [c]
    while stack:
        item = stack.pop()
        if isinstance(item, Computation):
            for node in reversed(item.nodes):
                bodies = bodies_of(node)
                stack += reversed(bodies.values())
                stack += [
                    node.attrs[a] for a in sorted(node.attrs, reverse=True) if a not in bodies
                ]
        elif isinstance(item, (tuple, list)):
            stack += reversed(cast(Sequence[Any], item))
        elif isinstance(item, np.ndarray):
            array = cast(np.ndarray, item)
            if inline(array) is None:
                found.append(array)
    return found
