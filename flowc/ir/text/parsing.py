"""Reads the text of Computations (`flowc.ir.text.form` has the form).

In: text, and the large constants that it numbers. Out: a Computation with the types that the text
says. What cannot be read raises a `ValueError` that names the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Computation, Node, Value, parameter_node
from flowc.ir.dims import Dim, Symbol
from flowc.ir.op import Op, op_named
from flowc.ir.scalar_body import ScalarBody
from flowc.ir.text.dim_parsing import parse_dim
from flowc.ir.text.literals import (
    eval_literal,
    masked,
    read_constant,
    read_dense,
    read_sizes,
    split_outside,
)
from flowc.ir.text.printing import attrs_left_out
from flowc.ir.text.scalar_text import parse_body
from flowc.ir.types import TensorType, parse_type, split_dims

_HEADER = re.compile(r"(?P<name>[a-z_]\w*)(?:\((?P<parameters>.*)\))? \{")
_EXPRESSION = re.compile(r"(?P<name>[a-z_]\w*): (?P<text>.*)")
_OP = re.compile(r"([a-z_0-9]+)(?:\.([a-z_0-9]+))?")
_NUMBER = re.compile(r"(?P<value>-?(\d|inf|nan|True|False)[^:]*):(?P<dtype>[a-z]\w*)")
_PARTS = (
    ("inputs", "(", ")"),
    ("attrs", " {", "}"),
    ("sizes", " sizes(", ")"),
    ("after", " after(", ")"),
)
Given = Sequence[tuple[str, TensorType]]


class _Fields:
    """The parts of a node's line by name; '' for those that are not there."""

    def __init__(self, text: str) -> None:
        self.parts: dict[str, str] = {}
        blank = masked(text)
        at = 0
        if text[:1] in ("%", "@") and " = " in blank:
            at = blank.index(" = ") + 3
            self.parts["targets"] = text[: at - 3]
        match = _OP.match(blank, at)
        if match is None:
            raise ValueError(f"cannot read {text!r}")
        self.parts["op"], self.parts["label"] = match[1], match[2] or ""
        at = match.end()
        for name, start, end in _PARTS:
            if blank.startswith(start, at):
                close = _closing(blank, at + len(start), start[-1], end)
                self.parts[name] = text[at + len(start) : close]
                at = close + 1
        if blank.startswith(" : ", at):
            self.parts["types"] = text[at + 3 :]
        elif at != len(text):
            raise ValueError(f"cannot read {text!r}")

    def __getitem__(self, name: str) -> str:
        return self.parts.get(name, "")

    def names(self, name: str) -> list[str]:
        return [n.strip() for n in self[name].split(",") if n.strip()]


def _closing(text: str, at: int, start: str, end: str) -> int:
    """Where the bracket closes that was opened before `at`."""
    depth = 1
    for i in range(at, len(text)):
        depth += (text[i] == start) - (text[i] == end)
        if not depth:
            return i
    raise ValueError(f"expected {end!r} after {text[at:]!r}")


class _NameScope:
    """What names mean inside one pair of braces, and the nodes read there so far."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.effects: dict[str, Node] = {}
        self.parameters: list[Node] = []
        self.nodes: list[Node] = []


class TextParser:
    def __init__(self, text: str, weights: Sequence[np.ndarray]) -> None:
        self.lines = text.rstrip().split("\n")
        self.at = 0  # the line that is read next
        self.weights = weights
        self.scope = _NameScope()

    def run(self) -> Computation:
        """The whole text as one Computation. Raises `ValueError` that names the line."""
        try:
            while not self.next_line():
                pass
            header = self.lines[self.at - 1].strip()
            match = _HEADER.fullmatch(header)
            if match is None or match["name"] != "computation" or match["parameters"] is None:
                raise ValueError(f"expected 'computation(...) {{', found {header!r}")
            found = self.computation(_parameters(match["parameters"]))
            if self.at != len(self.lines) or self.lines[-1].strip() != "}":
                raise ValueError("expected '}' and nothing after it")
        except (ValueError, SyntaxError, TypeError) as error:
            raise ValueError(f"line {self.at}: {error}") from error
        return found

    def next_line(self) -> str:
        if self.at == len(self.lines):
            raise ValueError("the text ends inside a computation")
        self.at += 1
        return self.lines[self.at - 1].strip()

    # -- computations

    def computation(self, given: Given, line: str | None = None) -> Computation:
        """One with the given parameters: what `line` says, else the lines up to the brace."""
        outer, self.scope = self.scope, _NameScope()
        for name, type_ in given:
            self.parameter(name, type_)
        constraints: list[tuple[Dim, Dim]] = []
        if line is not None:
            results = self.expression(line)
        else:
            results = self.lines_of_body(constraints)
        scope, self.scope = self.scope, outer
        return Computation(
            tuple(scope.parameters), tuple(scope.nodes), tuple(results), tuple(constraints)
        )

    def expression(self, line: str) -> Sequence[Value]:
        """The results of a body that stands in one line."""
        if line == "return":
            return ()
        if " : " in masked(line):
            return self.node(line, has_bodies=False).outputs
        return [self.value(text) for text in split_outside(line)]

    def lines_of_body(self, constraints: list[tuple[Dim, Dim]]) -> Sequence[Value]:
        while True:
            line = self.next_line()
            if line.startswith("require "):
                left, _, right = line[len("require ") :].partition(" == ")
                constraints.append((parse_dim(left), parse_dim(right)))
            elif line == "return" or line.startswith("return "):
                results = [self.value(text) for text in split_outside(line[len("return") :])]
                break
            else:
                self.node(line)
        if self.next_line() != "}":
            raise ValueError("expected '}' after the results")
        return results

    def parameter(self, name: str, type_: TensorType) -> None:
        node = parameter_node(name[1:], type_)
        self.scope.parameters.append(node)
        self.scope.nodes.append(node)
        self.scope.values[name] = node.output

    def bodies(self, given: Given | None) -> dict[str, Computation]:
        """Reads the bodies that stand below a node, which gives them what they see."""
        found: dict[str, Computation] = {}
        while self.at < len(self.lines):
            line = self.lines[self.at].strip()
            match = _HEADER.fullmatch(line)
            short = _EXPRESSION.fullmatch(line)
            if match is None and (short is None or given is None):
                break
            self.at += 1
            if match is None:
                assert short is not None and given is not None
                found[short["name"]] = self.computation(given, short["text"])
            elif match["parameters"] is not None:
                found[match["name"]] = self.computation(_parameters(match["parameters"]))
            elif given is not None:
                found[match["name"]] = self.computation(given)
            else:
                raise ValueError(f"expected '{match['name']}(...) {{'")
        return found

    # -- values

    def value(self, text: str) -> Value:
        """The value of a name, or of a constant or size that stands in its place: one for all
        places of a body in which it stands."""
        text = text.strip()
        if text not in self.scope.values:
            if text.startswith("%"):
                raise ValueError(f"{text} is not defined")
            self.scope.values[text] = self.operand(text)
        return self.scope.values[text]

    def operand(self, text: str) -> Value:
        array = read_constant(text)
        if array is not None:
            return self.constant(array)
        dims, dtype, is_vector = read_sizes(text)
        type_ = TensorType(dtype, (len(dims),))
        sizes = self.made(op_named("sizes"), (), {"dims": dims}, (type_,)).output
        if is_vector:
            return sizes
        shape = self.constant(np.zeros(0, np.int32))
        return self.made(op_named("reshape"), (sizes, shape), {}, (TensorType(dtype, ()),)).output

    def constant(self, array: np.ndarray) -> Value:
        type_ = TensorType(dtypes.as_dtype(array.dtype), array.shape)
        return self.made(op_named("const"), (), {"value": array}, (type_,)).output

    def effect(self, name: str) -> Node:
        if name not in self.scope.effects:
            raise ValueError(f"{name} is not defined")
        return self.scope.effects[name]

    # -- nodes

    def node(self, line: str, has_bodies: bool = True) -> Node:
        at = masked(line).find("  # ")
        text, origin = (line, "") if at < 0 else (line[:at], line[at + 4 :])
        fields = _Fields(text)
        try:
            op = _op_named(fields["op"])
        except KeyError:
            raise ValueError(f"no op is named {fields['op']!r}") from None
        inputs, given, carried = self.inputs(op, fields["inputs"])
        types = tuple(parse_type(t) for t in split_outside(fields["types"]))
        attrs: dict[str, Any] = {"label": fields["label"]} if fields["label"] else {}
        for item in split_outside(fields["attrs"]):
            name, equals, value = item.partition("=")
            if not equals:
                raise ValueError(f"expected attr=value, found {item!r}")
            if value.startswith("scalar<"):
                attrs[name] = _scalar_body(value[7:-1], op, inputs, types)
            else:
                attrs[name] = self.attr(value, types)
        if "varying" in attrs:
            attrs["varying"] = tuple(map(Symbol, attrs["varying"]))
        if carried is not None:
            attrs = {"carried": carried, "varying": (), **attrs}
        sizes: list[tuple[Symbol, Dim | None]] = []
        for item in split_dims(fields["sizes"]):
            name, _, bound = item.partition(" <= ")
            sizes.append((Symbol(name), None if bound in ("", "None") else parse_dim(bound)))
        after = tuple(
            self.value(n).node if n[0] == "%" else self.effect(n) for n in fields.names("after")
        )
        if has_bodies:
            attrs |= self.bodies(given)
        node = self.made(op, inputs, attrs, types, after, tuple(origin.split()), tuple(sizes))
        self.define(node, fields.names("targets"))
        return node

    def inputs(self, op: Op, text: str) -> tuple[tuple[Value, ...], Given | None, int | None]:
        """The inputs of a node, what its bodies are given, and how many of that a loop carries."""
        parts = split_outside(text, ";")
        carried = split_outside(parts[0]) if parts else []
        items = [item for part in parts for item in split_outside(part)]
        first = {"while": 0, "if": 1}.get(op.name)
        values: list[Value] = []
        given: list[tuple[str, TensorType]] = []
        for i, item in enumerate(items):
            name, equals, start = item.partition(" = ")
            name, colon, type_ = name.partition(": ")
            values.append(self.value(start if equals else item))
            if first is not None and i >= first:
                told = name if name.startswith("%") else f"%{i}"
                given.append((told, parse_type(type_) if colon else values[-1].type))
        is_loop = op.name == "while" and any(" = " in item for item in items)
        return (
            tuple(values),
            given if first is not None else None,
            len(carried) if is_loop else None,
        )

    def made(
        self,
        op: Op,
        inputs: tuple[Value, ...],
        attrs: Mapping[str, Any],
        types: tuple[TensorType, ...],
        after: tuple[Node, ...] = (),
        origin: tuple[str, ...] = (),
        sizes: tuple[tuple[Symbol, Dim | None], ...] = (),
    ) -> Node:
        full = MappingProxyType({**attrs_left_out(op, types, sizes), **attrs})
        node = Node(op, inputs, full, types, after, origin, sizes)
        self.scope.nodes.append(node)
        return node

    def define(self, node: Node, targets: list[str]) -> None:
        if not node.outputs and targets and targets[0][0] == "@":
            self.scope.effects[targets[0]] = node
        elif targets and len(targets) != len(node.outputs):
            raise ValueError(f"{len(targets)} names for {len(node.outputs)} types")
        for name, value in zip(targets, node.outputs):
            if name in self.scope.values:
                raise ValueError(f"{name} is defined twice")
            self.scope.values[name] = value

    def attr(self, text: str, types: Sequence[TensorType]) -> Any:
        if text.startswith("weights<"):
            return self.weight(text[8:-1])
        if text.startswith("dense<"):
            return read_dense(text[6:-1], types)
        if text.startswith("size<"):
            return parse_dim(text[5:-1])
        if text.startswith("["):
            return tuple(self.attr(t, types) for t in split_outside(text[1:-1]))
        number = _NUMBER.fullmatch(text)
        if number is not None:
            return dtypes.as_dtype(number["dtype"]).numpy.type(eval_literal(number["value"]))
        if re.fullmatch(r"[a-z]\w*", text) and text not in ("inf", "nan"):
            return dtypes.as_dtype(text)
        return eval_literal(text)

    def weight(self, number: str) -> np.ndarray:
        if not number.isdigit() or int(number) >= len(self.weights):
            raise ValueError(f"weights<{number}> is not among the {len(self.weights)} given")
        return self.weights[int(number)]


def _scalar_body(
    text: str, op: Op, inputs: Sequence[Value], types: Sequence[TensorType]
) -> ScalarBody:
    """A body over the inputs of its node where it does not say others."""
    known = [v.type.dtype for v in inputs]
    if text.startswith("["):
        listed, _, text = text[1:].partition("] ")
        known = [dtypes.as_dtype(t) for t in split_outside(listed)]
    return parse_body(text, known, types[0].dims if op is op_named("view") and types else None)


def _parameters(text: str) -> Given:
    found: dict[str, TensorType] = {}
    for item in split_outside(text):
        name, colon, type_text = item.partition(": ")
        if not colon or name in found:
            raise ValueError(f"expected a new '%name: type', found {item!r}")
        found[name] = parse_type(type_text)
    return list(found.items())


def _op_named(name: str) -> Op:
    """The record that a text names. Raises `KeyError`."""
    try:
        return op_named(name)
    except KeyError:
        from flowc.ir.core_ops import core_op_named  # most texts are not lowered

        return core_op_named(name)
