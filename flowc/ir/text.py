"""The text form of a Computation: printed by `str`, read back by `parse_computation`.

    computation(%x: f32[batch,4]) {
      %w = const {value=weights<0>, dtype=f32} : f32[4,2]
      %0 = mat_mul(%x, %w) {transpose_a=False} : f32[batch,2]  # dense/MatMul
      return %0
    }

Constants of more than 16 elements stand as `weights<i>`; the parser takes them from a list.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Expr, parse_dim
from flowc.ir.op import op_named
from flowc.ir.types import TensorType, parse_type, split_dims

INLINE_LIMIT = 16


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
        parameters = []
        for node in c.parameters:
            self.names[node.output] = f"%{_clean(node.attrs['name'])}"
            parameters.append(f"{self.names[node.output]}: {node.output.type}")
        lines = [f"computation({', '.join(parameters)}) {{"]
        for a, b in c.constraints:
            lines.append(f"{indent}  require {a} == {b}")
        for node in c.nodes:
            if node.op.name != "parameter":
                lines += self.node(node, indent + "  ")
        lines.append(f"{indent}  return {', '.join(self.names[v] for v in c.results)}".rstrip())
        lines.append(f"{indent}}}")
        return lines

    def node(self, node: Node, indent: str) -> list[str]:
        for value in node.outputs:
            self.names[value] = f"%{self.counter}"
            self.counter += 1
        self.node_names[node] = f"@{len(self.node_names)}"
        targets = ", ".join(self.names[v] for v in node.outputs)
        text = f"{targets} = {node.op.name}" if targets else node.op.name
        if node.inputs:
            text += f"({', '.join(self.names[v] for v in node.inputs)})"
        attrs = [f"{name}={self.attr(value, indent)}" for name, value in sorted(node.attrs.items())]
        if attrs:
            text += f" {{{', '.join(attrs)}}}"
        if node.sizes:
            text += f" sizes({', '.join(f'{n} <= {b}' for n, b in node.sizes)})"
        if node.after:
            text += f" after({', '.join(self.names_of(n) for n in node.after)})"
        if node.outputs:
            text += f" : {', '.join(str(t) for t in node.types)}"
        if node.origin and self.origins:
            text += f"  # {' '.join(node.origin[:3])}"
        return (indent + text).split("\n")

    def names_of(self, node: Node) -> str:
        return self.names[node.outputs[0]] if node.outputs else self.node_names[node]

    def attr(self, value: Any, indent: str) -> str:
        match value:
            case Computation():
                return "\n".join(self.computation(value, indent + "  "))
            case np.ndarray():
                if value.size <= INLINE_LIMIT and value.dtype.kind in "biufc":
                    return f"dense<{value.tolist()}, {dtypes.as_dtype(value.dtype)}, {value.shape}>"
                return f"weights<{self.weight_name(value)}>"
            case DType():
                return str(value)
            case tuple() | list():
                inner = ", ".join(self.attr(v, indent) for v in value)
                return f"[{inner}]"
            case Expr():
                return f"size<{value}>"
            case str() | bytes() | bool() | int() | float() | None:
                return repr(value)
            case _:
                return f"<{value}>"


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_./]", "_", name)


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

    def collect(array: np.ndarray) -> str:
        found.append(array)
        return "0"

    print_computation(c, collect)
    return found


_LINE = re.compile(
    r"^(?:(?P<targets>%[^=]*?) = )?(?P<op>[a-z_0-9]+)(?:\((?P<inputs>[^)]*)\))?"
    r"(?: \{(?P<attrs>.*)\})?(?: sizes\((?P<sizes>.*?)\))?(?: after\((?P<after>[^)]*)\))?"
    r"(?: : (?P<types>.*))?$",
    re.DOTALL,
)


class _TextParser:
    def __init__(self, text: str, weights: Sequence[np.ndarray]) -> None:
        self.lines = text.strip().split("\n")
        self.at = 0
        self.weights = weights
        self.values: dict[str, Value] = {}
        self.nodes: dict[str, Node] = {}
        self.node_count = 0

    def fail(self, message: str) -> ValueError:
        return ValueError(f"line {self.at + 1}: {message}")

    def computation(self, first: str) -> Computation:
        """Reads from the line after `first` (the header) to the closing brace."""
        match = re.match(r"computation\((.*)\) \{$", first.strip())
        if match is None:
            raise self.fail(f"expected 'computation(...) {{', found {first.strip()!r}")
        parameters = []
        for item in split_dims(match[1].replace("[", "(").replace("]", ")")):
            name, _, type_text = item.partition(": ")
            open_at = type_text.index("(")
            type_ = parse_type(f"{type_text[:open_at]}[{type_text[open_at + 1 : -1]}]")
            parameters.append(self.parameter(name, type_))
        nodes = list(parameters)
        constraints = []
        while True:
            line = self.lines[self.at].strip()
            if line.startswith("require "):
                left, _, right = line[len("require ") :].partition(" == ")
                constraints.append((parse_dim(left), parse_dim(right)))
            elif line == "return" or line.startswith("return "):
                names = [n.strip() for n in line[len("return") :].split(",") if n.strip()]
                results = tuple(self.value(n) for n in names)
                self.at += 2
                return Computation(tuple(parameters), tuple(nodes), results, tuple(constraints))
            else:
                nodes.append(self.node())
                continue
            self.at += 1

    def parameter(self, name: str, type_: TensorType) -> Node:
        attrs = {"name": name[1:], "dtype": type_.dtype, "dims": type_.dims}
        node = Node(op_named("parameter"), (), MappingProxyType(attrs), (type_,))
        self.values[name] = node.output
        return node

    def value(self, name: str) -> Value:
        if name not in self.values:
            raise self.fail(f"{name} is not defined")
        return self.values[name]

    def node(self) -> Node:
        line = self.lines[self.at].strip()
        self.at += 1
        bodies: list[Computation] = []
        while line.count("computation(") > len(bodies):
            start = line.index("computation(", _body_end(line, len(bodies)))
            bodies.append(self.computation(line[start:]))
            rest = self.lines[self.at - 1].strip()
            line = f"{line[:start]}body<{len(bodies) - 1}>{rest[1:]}"
            if "computation(" not in line:
                break
        text, _, origin = line.partition("  # ")
        match = _LINE.match(text)
        if match is None:
            raise self.fail(f"cannot read {text!r}")
        return self.make(match, bodies, tuple(origin.split()))

    def make(
        self, match: re.Match[str], bodies: list[Computation], origin: tuple[str, ...]
    ) -> Node:
        op = op_named(match["op"])
        inputs = tuple(
            self.value(n.strip()) for n in (match["inputs"] or "").split(",") if n.strip()
        )
        attrs = {}
        for item in _split_attrs(match["attrs"] or ""):
            name, _, value = item.partition("=")
            attrs[name] = self.attr(value, bodies)
        sizes = []
        for item in split_dims(match["sizes"] or ""):
            name, _, bound = item.partition(" <= ")
            sizes.append((name, None if bound == "None" else parse_dim(bound)))
        after = []
        for name in (match["after"] or "").split(","):
            if name.strip():
                key = name.strip()
                after.append(self.values[key].node if key[0] == "%" else self.nodes[key])
        types = tuple(parse_type(t) for t in _split_types(match["types"] or ""))
        node = Node(op, inputs, MappingProxyType(attrs), types, tuple(after), origin, tuple(sizes))
        for name, value in zip((match["targets"] or "").split(","), node.outputs):
            self.values[name.strip()] = value
        self.nodes[f"@{self.node_count}"] = node
        self.node_count += 1
        return node

    def attr(self, text: str, bodies: list[Computation]) -> Any:
        if text.startswith("body<"):
            return bodies[int(text[5:-1])]
        if text.startswith("weights<"):
            return self.weights[int(text[8:-1])]
        if text.startswith("dense<"):
            values, dtype, shape = _split_attrs(text[6:-1])
            array = eval_literal(values)
            return np.array(array, dtypes.as_dtype(dtype).numpy).reshape(ast.literal_eval(shape))
        if text.startswith("size<"):
            return parse_dim(text[5:-1])
        if text.startswith("["):
            return tuple(self.attr(t, bodies) for t in _split_attrs(text[1:-1]))
        if re.fullmatch(r"[a-z]+\d*", text) and text not in ("inf", "nan"):
            return dtypes.as_dtype(text)
        return eval_literal(text)


def eval_literal(text: str) -> Any:
    """A Python literal, with `nan` and `inf` allowed."""
    spaced = re.sub(r"\bnan\b", "1e999j", text)
    value = ast.literal_eval(re.sub(r"\binf\b", "1e999", spaced))
    return _with_nan(value)


def _with_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_nan(v) for v in value]
    is_marker = isinstance(value, complex) and value.real == 0 and value.imag == float("inf")
    return float("nan") if is_marker else value


def _body_end(line: str, count: int) -> int:
    return 0 if count == 0 else line.index(f"body<{count - 1}>")


def _split_attrs(text: str) -> list[str]:
    """Splits at commas outside brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for i, ch in enumerate(text):
        if quote:
            if ch == quote and text[i - 1] != "\\":
                quote = ""
        elif ch in "'\"":
            quote = ch
        elif ch in "[(<":
            depth += 1
        elif ch in "])>":
            depth -= 1
        elif ch == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _split_types(text: str) -> list[str]:
    return [t for t in _split_attrs(text)]


def parse_computation(text: str, weights: Sequence[np.ndarray] = ()) -> Computation:
    """Reads what `print_computation` printed; `weights` are those of `weights_of`.

    Raises `ValueError` with the line that could not be read. Types are taken as written: run the
    verifier to check them.
    """
    parser = _TextParser(text, weights)
    first = parser.lines[0]
    parser.at = 1
    return parser.computation(first)
