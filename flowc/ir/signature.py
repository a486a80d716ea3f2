"""The signature of an op as TensorFlow's OpDef has it, read from one line of text.

    Pack(values: N*T; N: int >= 1, T: type, axis: int = 0) -> output: T
    Conv2D(input: T, filter: T; T: {f16, bf16, f32, f64, i32}, strides: list(int),
           padding: {"SAME", "VALID", "EXPLICIT"}, data_format: string = "NHWC") -> output: T
    Assign(ref: ref(T), value: T; T: type, use_locking: bool = True) -> output_ref: ref(T)

Inputs stand before `;`, attrs after it. The type of an input or output is a dtype, a type attr,
`N*type` (N an int attr), a `list(type)` attr, or `ref(type)`. Groups of dtypes have names: FLOAT
NUMBER REAL INT INDEX COMPLEX QUANTIZED. An attr that is `type` takes every dtype. What TensorFlow's
registry writes otherwise means the same here: `float` for f32, `numbertype`, `true`, 'text'.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.cached_property import cached_property

GROUPS: dict[str, tuple[DType, ...]] = {
    "FLOAT": dtypes.FLOATS,
    "COMPLEX": dtypes.COMPLEX,
    "INT": dtypes.INTS + dtypes.UINTS,
    "REAL": dtypes.FLOATS + dtypes.INTS + dtypes.UINTS,
    "NUMBER": dtypes.NUMBERS,
    "INDEX": (dtypes.i32, dtypes.i64),
    "QUANTIZED": dtypes.QUANTIZED,
    "FLOAT_COMPLEX": dtypes.FLOATS + dtypes.COMPLEX,
    "numbertype": dtypes.NUMBERS,
    "realnumbertype": dtypes.FLOATS + dtypes.INTS + dtypes.UINTS,
}


RESULT_KINDS = ("dims", "list(dims)", "sizes")  # of the output, of all, and that a node defines


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()


@dataclass(frozen=True, slots=True)
class Arg:
    """One input or output: `dtype` fixed, or `type_attr` names the attr that holds it (or, when
    `is_list`, them); `number_attr` names the attr that counts repeated tensors."""

    name: str
    dtype: DType | None = None
    type_attr: str | None = None
    number_attr: str | None = None
    is_list: bool = False
    is_ref: bool = False


@dataclass(frozen=True, slots=True)
class AttrDef:
    """One attr. `kind` is TF's: `int float bool string type shape tensor func` or `list(kind)`;
    core ops have others, such as RESULT_KINDS."""

    name: str
    kind: str
    default: Any = REQUIRED
    allowed: tuple[Any, ...] | None = None
    minimum: int | None = None


@dataclass(frozen=True)
class OpSignature:
    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: dict[str, AttrDef]

    @cached_property
    def inferred_attrs(self) -> frozenset[str]:
        """Attrs whose values follow from the inputs and so need not be stored. Of several lists of
        different lengths none tells where it ends."""
        counts = {a.number_attr or a.type_attr for a in self.inputs if a.number_attr or a.is_list}
        told = counts if len(counts) > 1 else set[str | None]()
        names = {a.type_attr for a in self.inputs} | {a.number_attr for a in self.inputs}
        return frozenset(n for n in names if n and n not in told)

    @cached_property
    def given_attrs(self) -> tuple[str, ...]:
        """The attrs that every node must have."""
        return tuple(
            name
            for name, attr in self.attrs.items()
            if attr.default is REQUIRED and name not in self.inferred_attrs
        )

    @cached_property
    def listed_inputs(self) -> tuple[int, ...]:
        """The places of inputs that are several tensors."""
        listed = (a.number_attr is not None or a.is_list for a in self.inputs)
        return tuple(i for i, is_listed in enumerate(listed) if is_listed)

    @cached_property
    def attr_defaults(self) -> dict[str, Any]:
        return {name: attr.default for name, attr in self.attrs.items()}

    @cached_property
    def default_attrs(self) -> dict[str, Any]:
        """The attrs that a node has where it does not say other values."""
        return {
            name: attr.default
            for name, attr in self.attrs.items()
            if attr.default is not REQUIRED and name not in self.inferred_attrs
        }

    @cached_property
    def result_attrs(self) -> dict[str, str]:
        """The attrs that say what the types and sizes of a node say too, with their kinds."""
        return {n: a.kind for n, a in self.attrs.items() if a.kind in RESULT_KINDS}


_TOKEN = re.compile(
    r'\s*(->|>=|"[^"]*"|\'[^\']*\'|-?\d+\.?\d*(?:[eE]-?\d+)?|[A-Za-z_][A-Za-z_0-9]*|[^\s])'
)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise ValueError(f"{self.text!r}: expected {expected or 'more'}, found {token!r}")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def signature(self) -> OpSignature:
        name = self.next()
        self.next("(")
        inputs = self.arguments({";", ")"})
        attrs: dict[str, AttrDef] = {}
        if self.accept(";"):
            while self.peek() != ")":
                attr = self.attr()
                attrs[attr.name] = attr
                self.accept(",")
        self.next(")")
        outputs: list[tuple[str, list[str]]] = []
        if self.accept("->"):
            if self.accept("("):
                outputs = self.arguments({")"})
                self.next(")")
            else:
                outputs = self.arguments({""})
        if self.peek():
            raise ValueError(f"{self.text!r}: unexpected {self.peek()!r}")

        def resolve(args: list[tuple[str, list[str]]]) -> tuple[Arg, ...]:
            return tuple(_resolve(n, t, attrs, self.text) for n, t in args)

        return OpSignature(name, resolve(inputs), resolve(outputs), attrs)

    def arguments(self, ends: set[str]) -> list[tuple[str, list[str]]]:
        found: list[tuple[str, list[str]]] = []
        while self.peek() not in ends:
            name = self.next()
            self.next(":")
            words = [self.next()]
            if words[0] == "ref":
                self.next("(")
                words.append(self.next())
                self.next(")")
            elif self.accept("*"):
                words.append(self.next())
                words.insert(1, "*")
            found.append((name, words))
            self.accept(",")
        return found

    def attr(self) -> AttrDef:
        name = self.next()
        self.next(":")
        kind, allowed = self.kind()
        minimum = int(self.next()) if self.accept(">=") else None
        default = self.value() if self.accept("=") else REQUIRED
        if kind == "float" and isinstance(default, int):
            default = float(default)
        if kind == "tensor" and isinstance(default, tuple):
            default = np.array(default, np.uint8)  # the only such default of an op holds bytes
        return AttrDef(name, kind, default, allowed, minimum)

    def kind(self) -> tuple[str, tuple[Any, ...] | None]:
        """The kind of an attr, and the values that it may have."""
        if self.peek() == "{":
            allowed = self.values("{", "}")
            return "string" if isinstance(allowed[0], str) else "type", allowed
        word = self.next()
        if word in GROUPS:
            return "type", GROUPS[word]
        if word != "list":
            return word, None
        self.next("(")
        inner, allowed = self.kind()
        self.next(")")
        return f"list({inner})", allowed

    def values(self, opening: str, closing: str) -> tuple[Any, ...]:
        self.next(opening)
        found: list[Any] = []
        while not self.accept(closing):
            found.append(self.value())
            self.accept(",")
        return tuple(found)

    def value(self) -> Any:
        if self.peek() == "[":
            return self.values("[", "]")
        word = self.next()
        if word[0] in "\"'":
            return word[1:-1]
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if re.match(r"-?\d", word):
            return float(word) if re.search(r"[.eE]", word) else int(word)
        if word in ("inf", "nan"):
            return float(word)
        return tensor_dtype(word)


_CONSTANTS = {"True": True, "true": True, "False": False, "false": False, "None": None}


def tensor_dtype(word: str) -> DType:
    """A dtype by a name; TensorFlow's `float` has 32 bits, and NumPy's 64."""
    return dtypes.f32 if word == "float" else dtypes.as_dtype(word)


def _resolve(name: str, words: list[str], attrs: dict[str, AttrDef], text: str) -> Arg:
    number = words[0] if len(words) == 3 else None
    is_ref = words[0] == "ref"
    word = words[-1]
    if word in attrs:
        is_list = attrs[word].kind == "list(type)"
        return Arg(name, None, word, number, is_list, is_ref)
    try:
        return Arg(name, tensor_dtype(word), None, number, False, is_ref)
    except TypeError as error:
        raise ValueError(f"{text!r}: {word!r} is neither a dtype nor an attr") from error


def parse_signature(text: str) -> OpSignature:
    """Reads one signature. Raises `ValueError` with the text and what was expected."""
    return _Parser(text).signature()
