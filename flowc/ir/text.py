"""The text form of a Computation: printed by `str`, read back by `parse_computation`.

    computation(%x: f32[batch,4]) {
      %w = const {value=weights<0>, dtype=f32} : f32[4,2]
      %0 = mat_mul(%x, %w) {transpose_a=False} : f32[batch,2]  # dense/MatMul
      return %0
    }

Constants of more than 16 elements, and those whose decimals do not give the same bits back, stand
as `weights<i>`; the parser takes them from a list. Equal text and equal weights mean equal
Computations: the cache relies on it. A body has names of its own; `@i` names a node without outputs
that others are ordered after.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, parse_dim
from flowc.ir.op import op_named
from flowc.ir.types import parse_type, split_dims

INLINE_LIMIT = 16
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_BODY = "computation("


class _Printer:
    def __init__(self, weight_name: Callable[[np.ndarray], str] | None, origins: bool) -> None:
        self.names: dict[Value, str] = {}
        self.node_names: dict[Node, str] = {}
        self.weights = 0
        self.weight_name = weight_name or self._numbered
        self.origins = origins
        self.counter = 0

    def _numbered(self, array: np.ndarray) -> str:
        self.weights += 1
        return str(self.weights - 1)

    def computation(self, c: Computation, indent: str) -> list[str]:
        parameters: list[str] = []
        taken: set[str] = set()
        for node in c.parameters:
            self.names[node.output] = f"%{_name_apart(node.attrs['name'], taken)}"
            parameters.append(f"{self.names[node.output]}: {node.output.type}")
        lines = [f"computation({', '.join(parameters)}) {{"]
        for a, b in c.constraints:
            lines.append(f"{indent}  require {a} == {b}")
        for node in (a for n in c.nodes for a in n.after if not a.outputs):
            self.node_names.setdefault(node, f"@{len(self.node_names)}")
        for node in c.nodes:
            if node.op.name != "parameter":
                lines += self.node(node, indent + "  ")
        lines.append(f"{indent}  return {', '.join(self.name_of(v) for v in c.results)}".rstrip())
        lines.append(f"{indent}}}")
        return lines

    def node(self, node: Node, indent: str) -> list[str]:
        for value in node.outputs:
            self.names[value] = f"%{self.counter}"
            self.counter += 1
        targets = ", ".join(self.names[v] for v in node.outputs) or self.node_names.get(node)
        text = f"{targets} = {node.op.name}" if targets else node.op.name
        if node.inputs:
            text += f"({', '.join(self.name_of(v) for v in node.inputs)})"
        attrs = [f"{name}={self.attr(value, indent)}" for name, value in sorted(node.attrs.items())]
        if attrs:
            text += f" {{{', '.join(attrs)}}}"
        if node.sizes:
            text += f" sizes({', '.join(f'{n} <= {b}' for n, b in node.sizes)})"
        if node.after:
            text += f" after({', '.join(self.node_name_of(n) for n in node.after)})"
        if node.outputs:
            text += f" : {', '.join(str(t) for t in node.types)}"
        if node.origin and self.origins:
            text += f"  # {' '.join(node.origin[:3])}"
        return (indent + text).split("\n")

    def name_of(self, value: Value) -> str:
        """A value's name; a broken Computation, which may lack it, prints too."""
        return self.names.get(value, "%undefined")

    def node_name_of(self, node: Node) -> str:
        return self.name_of(node.outputs[0]) if node.outputs else self.node_names[node]

    def attr(self, value: Any, indent: str) -> str:
        match value:
            case Computation():
                return "\n".join(self.computation(value, indent + "  "))
            case np.ndarray():
                array = cast(np.ndarray, value)
                return _inline(array) or f"weights<{self.weight_name(array)}>"
            case DType():
                return str(value)
            case tuple() | list():
                inner = ", ".join(self.attr(v, indent) for v in cast(Sequence[Any], value))
                return f"[{inner}]"
            case Expr():
                return f"size<{value}>"
            case np.generic():
                return repr(cast(Any, value).item())
            case str() | bytes() | bool() | int() | float() | None:
                return repr(value)
            case _:
                return f"<{value}>"


def _inline(array: np.ndarray) -> str | None:
    """A small constant as text, when reading it back gives the same bits."""
    if array.size > INLINE_LIMIT or array.dtype.kind not in "biufc":
        return None
    if array.dtype.kind == "c" and not np.isfinite(array).all():
        return None
    values = str(array.tolist())
    if np.array(eval_literal(values), array.dtype).tobytes() != array.tobytes():
        return None
    return f"dense<{values}, {dtypes.as_dtype(array.dtype)}, {array.shape}>"


def _name_apart(name: str, taken: set[str]) -> str:
    """A parameter's name with what the text cannot hold replaced, apart from the others' and from
    the numbers of values."""
    clean = re.sub(r"[^A-Za-z0-9_./]", "_", name)
    chosen, number = clean, 1
    while chosen in taken or chosen.isdigit() or not chosen:
        chosen, number = f"{clean}_{number}", number + 1
    taken.add(chosen)
    return chosen


def print_computation(
    c: Computation,
    weight_name: Callable[[np.ndarray], str] | None = None,
    origins: bool = True,
) -> str:
    """The text of a Computation. `weight_name` names large constants (default: numbered)."""
    return "\n".join(_Printer(weight_name, origins).computation(c, ""))


def weights_of(c: Computation) -> list[np.ndarray]:
    """The large constants, in the order in which `print_computation` numbers them."""
    found: list[np.ndarray] = []
    stack: list[Any] = [c]
    while stack:
        item = stack.pop()
        if isinstance(item, Computation):
            stack += [
                n.attrs[a] for n in reversed(item.nodes) for a in sorted(n.attrs, reverse=True)
            ]
        elif isinstance(item, (tuple, list)):
            stack += reversed(cast(Sequence[Any], item))
        elif isinstance(item, np.ndarray):
            array = cast(np.ndarray, item)
            if _inline(array) is None:
                found.append(array)
    return found


_LINE = re.compile(
    r"(?:(?P<targets>[%@][^=]*?) = )?(?P<op>[a-z_0-9]+)(?:\((?P<inputs>[^)]*)\))?"
    r"(?: \{(?P<attrs>.*)\})?(?: sizes\((?P<sizes>.*?)\))?(?: after\((?P<after>[^)]*)\))?"
    r"(?: : (?P<types>.*))?",
    re.DOTALL,
)


def _masked(text: str) -> str:
    """The text with quoted strings blanked out, every other character where it was."""
    return _QUOTED.sub(lambda m: "_" * len(m[0]), text)


class _Fields:
    """The parts of a node's line by name; '' for those that are not there."""

    def __init__(self, text: str, match: re.Match[str]) -> None:
        self.parts = {n: text[slice(*match.span(n))] for n in match.groupdict() if match[n]}

    def __getitem__(self, name: str) -> str:
        return self.parts.get(name, "")

    def names(self, name: str) -> list[str]:
        return [n.strip() for n in self[name].split(",") if n.strip()]


class _Scope:
    """What names mean inside one pair of braces."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.nodes: dict[str, Node] = {}


class _TextParser:
    def __init__(self, text: str, weights: Sequence[np.ndarray]) -> None:
        self.lines = text.rstrip().split("\n")
        self.at = 0  # the line that is read next
        self.weights = weights
        self.scope = _Scope()

    def run(self) -> Computation:
        """The whole text as one Computation. Raises `ValueError` that names the line."""
        try:
            while not self.next_line():
                pass
            found = self.computation(self.lines[self.at - 1].strip())
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

    def computation(self, header: str) -> Computation:
        """Reads from the line after `header` to the closing brace, which is left as the last line
        read: text may stand behind it."""
        outer, self.scope = self.scope, _Scope()
        parameters = self.parameters(header)
        nodes = list(parameters)
        constraints: list[tuple[Dim, Dim]] = []
        while True:
            line = self.next_line()
            if line.startswith("require "):
                left, _, right = line[len("require ") :].partition(" == ")
                constraints.append((parse_dim(left), parse_dim(right)))
            elif line == "return" or line.startswith("return "):
                names = [n.strip() for n in line[len("return") :].split(",") if n.strip()]
                results = tuple(self.value(n) for n in names)
                break
            else:
                nodes.append(self.node(line))
        if not self.next_line().startswith("}"):
            raise ValueError("expected '}' after the results")
        self.scope = outer
        return Computation(tuple(parameters), tuple(nodes), results, tuple(constraints))

    def parameters(self, header: str) -> list[Node]:
        match = re.fullmatch(r"computation\((.*)\) \{", header)
        if match is None:
            raise ValueError(f"expected 'computation(...) {{', found {header!r}")
        found: list[Node] = []
        for item in _split_outside(match[1]):
            name, colon, type_text = item.partition(": ")
            if not colon or name in self.scope.values:
                raise ValueError(f"expected a new '%name: type', found {item!r}")
            type_ = parse_type(type_text)
            attrs = {"name": name[1:], "dtype": type_.dtype, "dims": type_.dims}
            node = Node(op_named("parameter"), (), MappingProxyType(attrs), (type_,))
            self.scope.values[name] = node.output
            found.append(node)
        return found

    def value(self, name: str) -> Value:
        if name not in self.scope.values:
            raise ValueError(f"{name} is not defined")
        return self.scope.values[name]

    def effect(self, name: str) -> Node:
        if name not in self.scope.nodes:
            raise ValueError(f"{name} is not defined")
        return self.scope.nodes[name]

    def node(self, line: str) -> Node:
        bodies: list[Computation] = []
        while (start := _masked(line).find(_BODY)) >= 0:
            bodies.append(self.computation(line[start:]))
            rest = self.lines[self.at - 1].strip()
            line = f"{line[:start]}body<{len(bodies) - 1}>{rest[1:]}"
        at = _masked(line).find("  # ")
        text, origin = (line, "") if at < 0 else (line[:at], line[at + 4 :])
        match = _LINE.fullmatch(_masked(text))
        if match is None:
            raise ValueError(f"cannot read {text!r}")
        return self.make(_Fields(text, match), bodies, tuple(origin.split()))

    def make(self, fields: _Fields, bodies: list[Computation], origin: tuple[str, ...]) -> Node:
        try:
            op = op_named(fields["op"])
        except KeyError:
            raise ValueError(f"no op is named {fields['op']!r}") from None
        inputs = tuple(self.value(n) for n in fields.names("inputs"))
        attrs: dict[str, Any] = {}
        for item in _split_outside(fields["attrs"]):
            name, equals, value = item.partition("=")
            if not equals:
                raise ValueError(f"expected attr=value, found {item!r}")
            attrs[name] = self.attr(value, bodies)
        sizes: list[tuple[str, Dim | None]] = []
        for item in split_dims(fields["sizes"]):
            name, _, bound = item.partition(" <= ")
            sizes.append((name, None if bound == "None" else parse_dim(bound)))
        after = tuple(
            self.value(n).node if n[0] == "%" else self.effect(n) for n in fields.names("after")
        )
        types = tuple(parse_type(t) for t in _split_outside(fields["types"]))
        node = Node(op, inputs, MappingProxyType(attrs), types, after, origin, tuple(sizes))
        self.define(node, fields.names("targets"))
        return node

    def define(self, node: Node, targets: list[str]) -> None:
        if not node.outputs and targets and targets[0][0] == "@":
            self.scope.nodes[targets[0]] = node
        elif len(targets) != len(node.outputs):
            raise ValueError(f"{len(targets)} names for {len(node.outputs)} types")
        for name, value in zip(targets, node.outputs):
            if name in self.scope.values:
                raise ValueError(f"{name} is defined twice")
            self.scope.values[name] = value

    def attr(self, text: str, bodies: list[Computation]) -> Any:
        if text.startswith("body<"):
            return bodies[int(text[5:-1])]
        if text.startswith("weights<"):
            return self.weight(text[8:-1])
        if text.startswith("dense<"):
            values, dtype, shape = _split_outside(text[6:-1])
            array = eval_literal(values)
            return np.array(array, dtypes.as_dtype(dtype).numpy).reshape(ast.literal_eval(shape))
        if text.startswith("size<"):
            return parse_dim(text[5:-1])
        if text.startswith("["):
            return tuple(self.attr(t, bodies) for t in _split_outside(text[1:-1]))
        if re.fullmatch(r"[a-z]\w*", text) and text not in ("inf", "nan"):
            return dtypes.as_dtype(text)
        return eval_literal(text)

    def weight(self, number: str) -> np.ndarray:
        if not number.isdigit() or int(number) >= len(self.weights):
            raise ValueError(f"weights<{number}> is not among the {len(self.weights)} given")
        return self.weights[int(number)]


def eval_literal(text: str) -> Any:
    """A Python literal, with `nan` and `inf` allowed."""
    if text[:1] in ("'", '"') or text[:2] in ("b'", 'b"'):
        return ast.literal_eval(text)
    spaced = re.sub(r"\bnan\b", "1e999j", text)
    value = ast.literal_eval(re.sub(r"\binf\b", "1e999", spaced))
    return _with_nan(value)


def _with_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_nan(v) for v in cast(list[Any], value)]
    is_marker = isinstance(value, complex) and value.real == 0 and value.imag == float("inf")
    return float("nan") if is_marker else value


def _split_outside(text: str) -> list[str]:
    """Splits at commas outside brackets and quotes."""
    parts: list[str] = []
    depth = start = 0
    for i, ch in enumerate(_masked(text)):
        if ch in "[(<":
            depth += 1
        elif ch in "])>":
            depth -= 1
        elif ch == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def parse_computation(text: str, weights: Sequence[np.ndarray] = ()) -> Computation:
    """Reads what `print_computation` printed; `weights` are those of `weights_of`.

    Raises `ValueError` with the line that could not be read. Types are taken as written: run the
    verifier to check them.
    """
    return _TextParser(text, weights).run()
