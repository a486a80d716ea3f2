"""Examples of op records as concrete calls: what tests of every op are generated from.

In: an Op, whose `examples` are texts such as

    T[2,3] i32[2]=[0,1] f32[4]~positive; axis=1, padding="SAME", out_type=i64

Out: Cases with input arrays and attrs. A type attr's name in place of a dtype stands for each dtype
that the signature allows; `=` gives the elements, `~` their domain. Invariant: a case is a pure
function of the op's name, the text and the dtypes, on every machine.

Domains: `finite` (without `~`), `positive`, `unit` (-1 to 1), `prob` (0 to 1), `nonzero`,
`distinct`, `small` (whole numbers 0 to 6), `index7` (0 to 6), `true`, `false`, `any` (every bit
pattern), `regular` (square matrices far from singular), `definite` (the same, positive definite).
Elementwise ops also see infinities, NaN, zeros of both signs, subnormal and extreme numbers.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, cast

import ml_dtypes
import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.lowering import Elementwise
from flowc.ir.op import Op
from flowc.ir.signature import AttrDef

_INPUT = re.compile(r"(?P<kind>\w+)\[(?P<dims>[\d,]*)\](?:=(?P<values>.+)|~(?P<domain>\w+))?$")
COMPUTED: tuple[DType, ...] = (*dtypes.NUMBERS, dtypes.bool_)  # dtypes that kernels compute with


@dataclass(frozen=True, slots=True)
class Operand:
    """One input as the text has it: `kind` is a dtype's name or a type attr's."""

    kind: str
    dims: tuple[int, ...]
    values: Any = None
    domain: str = "finite"

    @property
    def given(self) -> bool:
        """Whether the text says what the elements are (there may be none)."""
        return self.values is not None or 0 in self.dims


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One call of an op. `bound`: the dtypes that type attrs of the text stand for."""

    op: Op
    number: int
    text: str
    bound: Mapping[str, DType]
    operands: tuple[Operand, ...]
    inputs: tuple[np.ndarray, ...]
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        """Unique among all cases: `sum-0-f32`."""
        return "-".join([self.op.name, str(self.number), *(d.short for d in self.bound.values())])

    @property
    def dtypes(self) -> tuple[DType, ...]:
        return tuple(self.bound.get(x.kind) or dtypes.as_dtype(x.kind) for x in self.operands)


def cases_of(op: Op) -> Iterator[Case]:
    """Every example of an op with every dtype. Raises `ValueError` with the text at fault."""
    for number, text in enumerate(op.examples):
        operands, attrs = parse_example(op, text)
        named = dict.fromkeys(x.kind for x in operands if x.kind in op.signature.attrs)
        for chosen in product(*(allowed_dtypes(op.signature.attrs[n]) for n in named)):
            bound = dict(zip(named, chosen))
            kinds = [bound.get(x.kind) or dtypes.as_dtype(x.kind) for x in operands]
            inputs = tuple(
                _elements(op, x, kind, f"{op.name}|{text}|{i}", i)
                for i, (x, kind) in enumerate(zip(operands, kinds))
            )
            yield Case(op, number, text, bound, operands, inputs, attrs)


def allowed_dtypes(attr: AttrDef) -> tuple[DType, ...]:
    """The dtypes that examples try for a type attr: those that kernels compute with, and quantised
    ones where it names them. (Narrow ones: `test_narrow_types.py`.)"""
    allowed = COMPUTED if attr.allowed is None else attr.allowed
    return tuple(d for d in allowed if d.carrier in COMPUTED and not d.is_narrow)


def parse_example(op: Op, text: str) -> tuple[tuple[Operand, ...], dict[str, Any]]:
    """The inputs and attrs of one example. Raises `ValueError`."""
    head, *tail = _split(text, ";") or [""]
    operands = tuple(_operand(op, text, word) for word in _split(head, " \t\n"))
    attrs: dict[str, Any] = {}
    for word in (w for part in tail for w in _split(part, ",")):
        name, equals, value = word.partition("=")
        definition = op.signature.attrs.get(name.strip())
        if not equals or definition is None:
            raise ValueError(f"{op.name}: example {text!r}: no such attr: {word!r}")
        attrs[definition.name] = _attr_value(definition, value.strip())
    return operands, attrs


def _split(text: str, separators: str) -> list[str]:
    """The parts between separators that stand outside brackets and quotes; empty parts dropped."""
    parts, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == '"'
        depth += (character in "([") - (character in ")]")
        if character in separators and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return [p.strip() for p in parts if p.strip()]


def _operand(op: Op, text: str, word: str) -> Operand:
    found = _INPUT.match(word)
    if found is None:
        raise ValueError(f"{op.name}: example {text!r}: not an input: {word!r}")
    if found["kind"] not in op.signature.attrs:
        dtypes.as_dtype(found["kind"])
    dims = tuple(int(d) for d in found["dims"].split(",") if d)
    values = None if found["values"] is None else ast.literal_eval(found["values"])
    return Operand(found["kind"], dims, values, found["domain"] or "finite")


def _attr_value(definition: AttrDef, text: str) -> Any:
    if definition.kind == "type":
        return dtypes.as_dtype(text)
    if definition.kind == "list(type)":
        return tuple(dtypes.as_dtype(t) for t in _split(text.strip("[]()"), ","))
    return _frozen(ast.literal_eval(text), definition.kind.endswith("float)"))


def _frozen(value: Any, floats: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(v, floats) for v in cast(Sequence[Any], value))
    return float(value) if floats else value


# -- elements


def _elements(op: Op, operand: Operand, dtype: DType, seed: str, position: int) -> np.ndarray:
    if operand.values is not None:
        array = np.array(operand.values)
        return array.astype(dtype.numpy).reshape(operand.dims)
    count = int(np.prod(operand.dims))
    random = np.random.Generator(np.random.PCG64(zlib.crc32(f"{seed}|{dtype}".encode())))
    matrices = operand.domain in ("regular", "definite")
    array = _drawn("unit" if matrices else operand.domain, dtype, count, random)
    if matrices:
        return _far_from_singular(array.reshape(operand.dims), operand.domain == "definite")
    if isinstance(op.lowering, Elementwise):
        _add_extremes(array, dtype, operand.domain, position)
    return array.reshape(operand.dims)


def _far_from_singular(array: np.ndarray, definite: bool) -> np.ndarray:
    n = array.shape[-1]
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if definite:
        # In sixteenths: products and their sums are exact, in whatever order a processor adds them.
        wide = np.round(wide * 16) / 16
    own = wide @ np.conj(np.swapaxes(wide, -1, -2)) if definite else wide
    return (own + n * np.eye(n)).astype(array.dtype)


def _drawn(
    domain: str, dtype: DType, count: int, random: np.random.Generator
) -> np.ndarray[Any, Any]:
    if domain == "any" and dtype is not dtypes.bool_:
        raw = random.integers(0, 256, count * dtype.size, np.uint8)
        return raw.view(dtype.numpy)
    if domain in ("true", "false"):
        return np.full(count, domain == "true").astype(dtype.numpy)
    if domain.startswith("index"):
        return random.integers(0, int(domain.removeprefix("index")), count).astype(dtype.numpy)
    if domain == "small":
        return random.integers(0, 7, count).astype(dtype.numpy)
    if domain == "distinct":
        return (random.permutation(count) - count // 3).astype(dtype.numpy)
    if dtype is dtypes.bool_:
        return random.integers(0, 2, count).astype(np.bool_)
    if dtype.carrier.is_integer:
        return _integers(domain, dtype.carrier, count, random)
    if dtype.is_complex:
        parts = _reals(domain, count, random) + 1j * _reals(domain, count, random)
        return parts.astype(dtype.numpy)
    return _reals(domain, count, random).astype(dtype.numpy)


def _integers(
    domain: str, dtype: DType, count: int, random: np.random.Generator
) -> np.ndarray[Any, Any]:
    low, high = {
        "positive": (1, 10),
        "nonzero": (-7, 10),
        "prob": (0, 2),
        "unit": (-1, 2),
    }.get(domain, (-9, 10))
    if dtype.kind == "uint":
        low = max(low, 0)
    values = random.integers(low, high, count)
    if domain == "nonzero":
        values[values == 0] = 3
    return values.astype(dtype.numpy)


def _reals(domain: str, count: int, random: np.random.Generator) -> np.ndarray[Any, Any]:
    drawn = random.random(count)
    match domain:
        case "finite":
            return drawn * 8 - 4
        case "positive":
            return drawn * 5 + 0.125
        case "negative":
            return -drawn * 5
        case "unit":
            return drawn * 2 - 1
        case "prob":
            return drawn
        case "nonzero":
            return np.where(drawn < 0.5, -0.25, 0.25) + drawn * 8 - 4
        case _:
            raise ValueError(f"no domain is named {domain!r}")


def _add_extremes(array: np.ndarray, dtype: DType, domain: str, position: int) -> None:
    """Overwrites elements from the end of a vector that is long enough, later inputs by other
    numbers at the same place, so that pairs of extremes meet."""
    found = _extremes(dtype, domain)
    if array.size < 5 or not found:
        return
    shifted = found[position % len(found) :] + found[: position % len(found)]
    for place, value in zip(range(array.size - 1, 1, -1), shifted):
        array[place] = value


def _extremes(dtype: DType, domain: str) -> list[Any]:
    if dtype.is_integer:
        if domain != "finite" and domain != "nonzero":
            return []
        limits = np.iinfo(dtype.numpy)
        return [limits.min or limits.max - 1, limits.max, limits.max if domain == "nonzero" else 0]
    if dtype.is_floating:
        found = [np.nan, np.inf, -np.inf, -0.0, 0.0, _smallest(dtype), _largest(dtype)]
        return found if domain != "negative" else [-abs(x) for x in found]
    return []


def _smallest(dtype: DType) -> Any:
    """A subnormal number."""
    return np.array(3, np.dtype(f"u{dtype.size}")).view(dtype.numpy)[()]


def _largest(dtype: DType) -> Any:
    return np.array(cast(Any, ml_dtypes.finfo(dtype.numpy)).max, dtype.numpy)[()]
