"""The text form of a Computation: printed by `str`, read back by `parse_computation`.

    computation(%x: f32[batch,4]) {
      %w = const {value=weights<0>} : f32[4,2]
      %0 = mat_mul(%x, %w) : f32[batch,2]  # dense/MatMul
      return %0
    }

Bodies stand below their node, each with the name of its attr:

      %i, %v = while(%0, %x, %limit) {carried=2, varying=[]} : i32[], f32[4]
        condition(%i: i32[], %v: f32[4], %limit: i32[]) {
          %1 = less(%i, %limit) : bool[]
          return %1
        }
        body(%i: i32[], %v: f32[4], %limit: i32[]) {
          ...
          return %i.next, %v.next
        }

What a loop gives has the names of what it carries, and in its body what the next iteration takes is
called so. A body has names of its own; `@i` names a node without outputs that others are ordered
after. Attrs leave out defaults and what the types of the outputs say: their dtypes, the type of a
constant.

Constants of more than 16 elements, and those whose decimals do not give the same bits back, stand
as `weights<i>`; the parser takes them from a list. Equal text and equal weights mean equal
Computations: the cache relies on it.
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
from flowc.ir.bodies import bodies_of
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, parse_dim
from flowc.ir.op import Op, op_named
from flowc.ir.signature import REQUIRED
from flowc.ir.types import TensorType, parse_type, split_dims

INLINE_LIMIT = 16
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_HEADER = re.compile(r"(?P<name>[a-z_]\w*)\((?P<parameters>.*)\) \{")


class _Printer:
    def __init__(self, weight_name: Callable[[np.ndarray], str] | None, origins: bool) -> None:
        self.names: dict[Value, str] = {}
        self.node_names: dict[Node, str] = {}
        self.weights = 0
        self.weight_name = weight_name or self._numbered
        self.origins = origins
        self.counter = 0
        self.taken: set[str] = set()  # names in the Computation that is printed
        self.hints: dict[Value, str] = {}

    def _numbered(self, array: np.ndarray) -> str:
        self.weights += 1
        return str(self.weights - 1)

    def computation(
        self, c: Computation, indent: str, header: str, hints: Sequence[str] = ()
    ) -> list[str]:
        """`hints`: names for the results, where they are computed here."""
        outer, self.taken = self.taken, set()
        parameters: list[str] = []
        for node in c.parameters:
            self.names[node.output] = f"%{_name_apart(node.attrs['name'], self.taken)}"
            parameters.append(f"{self.names[node.output]}: {node.output.type}")
        for value, hint in zip(c.results, hints):
            if value.node.op.name != "parameter":
                self.hints.setdefault(value, hint)
        lines = [f"{indent}{header}({', '.join(parameters)}) {{"]
        for a, b in c.constraints:
            lines.append(f"{indent}  require {a} == {b}")
        for node in (a for n in c.nodes for a in n.after if not a.outputs):
            self.node_names.setdefault(node, f"@{len(self.node_names)}")
        for node in c.nodes:
            if node.op.name != "parameter":
                lines += self.node(node, indent + "  ")
        lines.append(f"{indent}  return {', '.join(self.name_of(v) for v in c.results)}".rstrip())
        lines.append(f"{indent}}}")
        self.taken = outer
        return lines

    def node(self, node: Node, indent: str) -> list[str]:
        bodies = bodies_of(node)
        carried = _carried_names(node)
        self.hints.update(zip(node.outputs, carried))
        for value in node.outputs:
            self.names[value] = f"%{self.new_name(value)}"
        targets = ", ".join(self.names[v] for v in node.outputs) or self.node_names.get(node)
        text = f"{targets} = {node.op.name}" if targets else node.op.name
        if node.inputs:
            text += f"({', '.join(self.name_of(v) for v in node.inputs)})"
        told = _defaults(node.op) | _told_by_types(node.op, node.types)
        attrs = [
            f"{name}={_like(value, node.types) or self.attr(value)}"
            for name, value in sorted(node.attrs.items())
            if name not in bodies and not (name in told and _equal(value, told[name]))
        ]
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
        lines = [indent + text]
        for name, body in bodies.items():
            hints = [f"{n}.next" for n in carried] if name == "body" else ()
            lines += self.computation(body, indent + "  ", name, hints)
        return lines

    def new_name(self, value: Value) -> str:
        hint = self.hints.get(value)
        if hint is not None:
            return _name_apart(hint, self.taken)
        self.counter += 1
        return str(self.counter - 1)

    def name_of(self, value: Value) -> str:
        """A value's name; a broken Computation, which may lack it, prints too."""
        return self.names.get(value, "%undefined")

    def node_name_of(self, node: Node) -> str:
        return self.name_of(node.outputs[0]) if node.outputs else self.node_names[node]

    def attr(self, value: Any) -> str:
        match value:
            case np.ndarray():
                array = cast(np.ndarray, value)
                return _inline(array) or f"weights<{self.weight_name(array)}>"
            case DType():
                return str(value)
            case tuple() | list():
                inner = ", ".join(self.attr(v) for v in cast(Sequence[Any], value))
                return f"[{inner}]"
            case Expr():
                return f"size<{value}>"
            case np.generic():
                return repr(cast(Any, value).item())
            case str() | bytes() | bool() | int() | float() | None:
                return repr(value)
            case _:
                return f"<{value}>"


def _carried_names(node: Node) -> list[str]:
    """What a loop's body calls the values that it carries."""
    body, carried = node.attrs.get("body"), node.attrs.get("carried")
    if body is None or carried is None:
        return []
    taken: set[str] = set()
    return [_name_apart(p.attrs["name"], taken) for p in body.parameters][:carried]


def _told_by_types(op: Op, types: Sequence[TensorType]) -> dict[str, Any]:
    """The attr that gives the dtype of an op's outputs, or lists them, and no inputs'."""
    outputs = op.signature.outputs
    name = outputs[0].type_attr if len(outputs) == 1 else None
    if name is None or name in op.signature.inferred_attrs or outputs[0].number_attr is not None:
        return {}
    if outputs[0].is_list:
        return {name: tuple(t.dtype for t in types)}
    return {name: types[0].dtype} if types else {}


def _defaults(op: Op) -> dict[str, Any]:
    """The attrs that a node has where it does not say other values."""
    signature = op.signature
    return {
        name: attr.default
        for name, attr in signature.attrs.items()
        if attr.default is not REQUIRED and name not in signature.inferred_attrs
    }


def _equal(x: Any, y: Any) -> bool:
    return type(x) is type(y) and not isinstance(x, np.ndarray) and bool(x == y)


def _like(value: Any, types: Sequence[TensorType]) -> str | None:
    """An array of the type of the node's output as text that leaves that type out."""
    if not isinstance(value, np.ndarray) or len(types) != 1 or not types[0].is_static:
        return None
    array = cast(np.ndarray, value)
    text = _values(array)
    same = text and dtypes.as_dtype(array.dtype) is types[0].dtype
    return f"dense<{text}>" if same and array.shape == types[0].static_dims else None


def _inline(array: np.ndarray) -> str | None:
    """A small constant as text, when reading it back gives the same bits."""
    values = _values(array)
    return values and f"dense<{values}, {dtypes.as_dtype(array.dtype)}, {array.shape}>"


def _values(array: np.ndarray) -> str | None:
    if array.size > INLINE_LIMIT or array.dtype.kind not in "biufc":
        return None
    if array.dtype.kind == "c" and not np.isfinite(array).all():
        return None
    values = str(array.tolist())
    if np.array(eval_literal(values), array.dtype).tobytes() != array.tobytes():
        return None
    return values


def _name_apart(name: str, taken: set[str]) -> str:
    """A parameter's name with what the text cannot hold replaced, apart from the others' and from
    the numbers of values."""
    clean = re.sub(r"[^A-Za-z0-9_./]", "_", name.removesuffix(":0"))
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
    return "\n".join(_Printer(weight_name, origins).computation(c, "", "computation"))


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
            header = self.lines[self.at - 1].strip()
            match = _HEADER.fullmatch(header)
            if match is None or match["name"] != "computation":
                raise ValueError(f"expected 'computation(...) {{', found {header!r}")
            found = self.computation(match["parameters"])
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

    def computation(self, text: str) -> Computation:
        """Reads parameters from a header, and the lines after it up to the closing brace."""
        outer, self.scope = self.scope, _Scope()
        parameters = self.parameters(text)
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
        if self.next_line() != "}":
            raise ValueError("expected '}' after the results")
        self.scope = outer
        return Computation(tuple(parameters), tuple(nodes), results, tuple(constraints))

    def parameters(self, text: str) -> list[Node]:
        found: list[Node] = []
        for item in _split_outside(text):
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
        at = _masked(line).find("  # ")
        text, origin = (line, "") if at < 0 else (line[:at], line[at + 4 :])
        match = _LINE.fullmatch(_masked(text))
        if match is None:
            raise ValueError(f"cannot read {text!r}")
        return self.make(_Fields(text, match), tuple(origin.split()))

    def bodies(self) -> dict[str, Computation]:
        """Reads the bodies that stand below a node."""
        found: dict[str, Computation] = {}
        while self.at < len(self.lines):
            match = _HEADER.fullmatch(self.lines[self.at].strip())
            if match is None:
                break
            self.at += 1
            found[match["name"]] = self.computation(match["parameters"])
        return found

    def make(self, fields: _Fields, origin: tuple[str, ...]) -> Node:
        try:
            op = op_named(fields["op"])
        except KeyError:
            raise ValueError(f"no op is named {fields['op']!r}") from None
        inputs = tuple(self.value(n) for n in fields.names("inputs"))
        types = tuple(parse_type(t) for t in _split_outside(fields["types"]))
        attrs: dict[str, Any] = {}
        for item in _split_outside(fields["attrs"]):
            name, equals, value = item.partition("=")
            if not equals:
                raise ValueError(f"expected attr=value, found {item!r}")
            attrs[name] = self.attr(value, types)
        sizes: list[tuple[str, Dim | None]] = []
        for item in split_dims(fields["sizes"]):
            name, _, bound = item.partition(" <= ")
            sizes.append((name, None if bound == "None" else parse_dim(bound)))
        after = tuple(
            self.value(n).node if n[0] == "%" else self.effect(n) for n in fields.names("after")
        )
        attrs = {**_defaults(op), **_told_by_types(op, types), **attrs, **self.bodies()}
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

    def attr(self, text: str, types: Sequence[TensorType]) -> Any:
        if text.startswith("weights<"):
            return self.weight(text[8:-1])
        if text.startswith("dense<"):
            values, *type_ = _split_outside(text[6:-1])
            if not type_ and not types:
                raise ValueError(f"{text} has no type")
            dtype = dtypes.as_dtype(type_[0]) if type_ else types[0].dtype
            shape = ast.literal_eval(type_[1]) if type_ else types[0].static_dims
            return np.array(eval_literal(values), dtype.numpy).reshape(shape)
        if text.startswith("size<"):
            return parse_dim(text[5:-1])
        if text.startswith("["):
            return tuple(self.attr(t, types) for t in _split_outside(text[1:-1]))
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
