"""Strings that the run computes: AsString, StringFormat, StringJoin, sums, and the text of strings.

In: tensors of numbers and strings. Out: host steps. Invariant: the text is TensorFlow's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import ResourceExhaustedError
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import binary_gradient
from flowc.ops.state.variables import value_of
from flowc.ops.strings.printing import element_text, escaped, summarized

Array = np.ndarray[Any, Any]


def strings_of(items: Sequence[bytes], shape: tuple[int, ...]) -> Array:
    """An array of strings as NumPy holds them: objects, each of bytes."""
    found = np.empty(shape, object)
    found.reshape(-1)[:] = list(items)
    return found


def as_array(value: Any) -> Array:
    """What a host step is given as an array: a scalar string comes as bytes, of which NumPy would
    drop the zeros at the end."""
    return strings_of([value], ()) if isinstance(value, bytes) else np.asarray(value)


MOST_MADE = 1 << 28  # elements, or bytes, that a number in a graph may ask for


def check_count(count: int, what: str, most: int = MOST_MADE) -> None:
    """Raises `ResourceExhaustedError` for absurdly large counts."""
    if count > most:
        raise ResourceExhaustedError(f"{count} {what}: expected at most {most}")


def host_step(reference: Callable[..., Array], shown: str, *settings: str) -> Host:
    """A host step that computes what the reference does of arrays."""

    def function(inputs: Sequence[Any], _: Sequence[DType], **given: Any) -> list[Array]:
        return [reference(*map(as_array, inputs), **given)]

    return Host(function, shown, settings)


# -- AsString


def _infer_as_string(c: Inference) -> Dims:
    attrs, dtype = c.attrs, c.inputs[0].dtype
    real = dtype.is_floating or dtype.is_complex
    if len(attrs["fill"]) > 1:
        raise c.fail("Fill string must be one or fewer characters")
    if attrs["fill"] and attrs["fill"] not in " +-0#":
        raise c.fail(f'Fill argument not supported: "{attrs["fill"]}"')
    if attrs["scientific"] and attrs["shortest"]:
        raise c.fail("Cannot select both scientific and shortest notation")
    if (attrs["scientific"] or attrs["shortest"]) and not real:
        raise c.fail(f"scientific and shortest format not supported for datatype {dtype.name}")
    if attrs["precision"] >= 0 and not real:
        raise c.fail(f"precision not supported for datatype {dtype.name}")
    return c.dims(0)


def _printed(x: Any, form: str) -> str:
    """As C's printf prints a number: what is no number is filled with blanks."""
    if isinstance(x, float) and not math.isfinite(x):
        word = form[:-1].partition(".")[0].replace("%0", "%") + "s"
        sign = "-" if math.copysign(1, x) < 0 else "+" if "+" in form else ""
        return word.replace("+", "").replace("#", "") % (sign + ("nan" if x != x else "inf"))
    return form % x


LONG_TEXT = 1 << 12  # characters; shorter ones are as many as the input has elements
MOST_PADDED = 1 << 28


def _as_string(
    array: Array, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> Array:
    padded = max(width, precision)
    if padded > LONG_TEXT and padded * array.size > MOST_PADDED:
        raise ResourceExhaustedError(
            f"{array.size} texts of {padded} characters: expected at most {MOST_PADDED} in all",
            hint="give a smaller width and precision",
        )
    flags = f"%{fill}{width if width >= 0 else ''}"
    whole = flags.replace("+", "") if array.dtype.kind == "u" else flags
    kind = "e" if scientific else "g" if shortest else "f"
    real = f"{flags}{f'.{precision}' if precision >= 0 else ''}{kind}"

    def text(x: Any) -> bytes:
        if isinstance(x, (bool, np.bool_)):
            return b"true" if x else b"false"
        if isinstance(x, bytes):
            return x.ljust(width) if fill == "-" else x.rjust(width)
        if isinstance(x, int):
            return (f"{whole}d" % x).encode()
        if isinstance(x, complex):
            return f"({_printed(x.real, real)},{_printed(x.imag, real)})".encode()
        return _printed(float(x), real).encode()

    return strings_of([text(x) for x in array.reshape(-1).tolist()], array.shape)


as_string = define(
    "as_string",
    "AsString(input: T; T: {f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64, c64,"
    " c128, bool, string}, precision: int = -1, scientific: bool = False, shortest: bool ="
    ' False, width: int = -1, fill: string = "") -> output: string',
    infer=_infer_as_string,
    reference=_as_string,
    lowering=host_step(
        _as_string, "AsString", "precision", "scientific", "shortest", "width", "fill"
    ),
)


# -- StringJoin


def _infer_join(c: Inference) -> Dims:
    found: Dims = ()
    for type_ in c.inputs:
        if not type_.dims:
            continue
        found = found or type_.dims
        if len(found) != len(type_.dims):
            ranks = f"{len(found)} and {len(type_.dims)}"
            raise c.fail(f"Shapes must be equal rank, but are {ranks}")
        for axis, (x, y) in enumerate(zip(found, type_.dims)):
            if isinstance(x, int) and isinstance(y, int) and x != y:
                raise c.fail(
                    f"Dimension {axis} in both shapes must be equal, but are {x} and {y}. "
                    f"Shapes are {shown_dims(found)} and {shown_dims(type_.dims)}."
                )
        found = tuple(c.equal(x, y) for x, y in zip(found, type_.dims))
    return found


def _join(*inputs: Array, separator: str) -> Array:
    if not inputs:
        return strings_of([b""], ())
    whole = max(inputs, key=lambda x: x.ndim)  # NumPy broadcasts arrays of 32 dims at most
    columns = [x.reshape(-1).tolist() if x.ndim else [x.item()] * whole.size for x in inputs]
    between = separator.encode("utf-8", "surrogateescape")
    return strings_of([between.join(row) for row in zip(*columns)], whole.shape)


string_join = define(
    "string_join",
    'StringJoin(inputs: N*string; N: int >= 0, separator: string = "") -> output: string',
    infer=_infer_join,
    reference=lambda inputs, *, separator: _join(*inputs, separator=separator),
    lowering=host_step(_join, "StringJoin", "separator"),
    traits=frozenset({"begins_with"}),
)


# -- StringFormat


def _in_brackets(array: Array, limit: int) -> str:
    """The elements at the ends of each axis, as TensorFlow's newer messages show them."""
    ends = array.size if limit < 0 else min(limit, array.size)

    def rows(axis: int, part: Any) -> str:
        if axis == array.ndim:
            item = part.item() if array.dtype.hasobject else part[()]
            return f'"{escaped(item)}"' if isinstance(item, bytes) else element_text(item)
        last = axis == array.ndim - 1
        between = " " if last else "\n" * (array.ndim - axis - 1) + " " * (axis + 1)
        count = array.shape[axis]
        first = min(ends, count)
        after = max(count - ends, first)
        found = between.join(rows(axis + 1, part[i, ...]) for i in range(first))
        if after > first:
            found += between + "..."
        for i in range(after, count):
            found += between + rows(axis + 1, part[i, ...])
        return f"[{found}]"

    if not array.ndim and not ends:
        return "..."
    return rows(0, array)


def _infer_format(c: Inference) -> Dims:
    found = c.attrs["template"].count(c.attrs["placeholder"])
    if found != len(c.inputs):
        raise c.fail(
            f"num placeholders in template and num inputs must match: {found} vs. {len(c.inputs)}"
        )
    return ()


def _format(*inputs: Array, template: str, placeholder: str, summarize: int) -> Array:
    pieces = template.split(placeholder)
    text = pieces[0]
    for array, piece in zip(inputs, pieces[1:]):
        text += _in_brackets(array, summarize) + piece
    return strings_of([text.encode("utf-8", "surrogateescape")], ())


string_format = define(
    "string_format",
    'StringFormat(inputs: T; T: list(type), template: string = "%s", placeholder: string ='
    ' "%s", summarize: int = 3) -> output: string',
    infer=_infer_format,
    reference=lambda inputs, *, template, placeholder, summarize: _format(
        *inputs, template=template, placeholder=placeholder, summarize=summarize
    ),
    lowering=host_step(_format, "StringFormat", "template", "placeholder", "summarize"),
)


# -- comparison


def _equal(*strings: Array, negated: bool) -> Array:
    x, y = (np.asarray(v, object) for v in strings)
    return np.asarray(np.not_equal(x, y) if negated else np.equal(x, y), np.bool_)


string_equal = define(
    "string_equal",
    "_StringEqual(x: string, y: string; negated: bool) -> z: bool",
    infer=lambda c: c.broadcast(),
    reference=_equal,
    lowering=host_step(_equal, "Equal of strings", "negated"),
)


# -- sums


def _sum(*strings: Array) -> Array:
    x, y = (np.asarray(v, object) for v in strings)
    return np.asarray(np.add(x, y), object)


string_sum = define(
    "string_sum",
    "_StringSum(x: string, y: string) -> z: string",
    infer=lambda c: c.broadcast(),
    reference=_sum,
    lowering=host_step(_sum, "Add of strings"),
)


def _emit_sum(x: Extractor, inputs: Sequence[Bound], _: Attrs) -> Sequence[Bound]:
    left, right = (value_of(x, bound) for bound in inputs)
    adds = x.b.string_sum if left.type.dtype is dtypes.string else x.b.add
    return [adds(left, right)]


define(
    "sum_of_any",
    "Add(x: T, y: T; T: {f16, bf16, f32, f64, u8, i8, i16, i32, i64, c64, c128, string}) -> z: T",
    infer=lambda c: c.broadcast(),
    reference=np.add,
    lowering=Extracted(_emit_sum),
    gradient=binary_gradient(lambda b, x, y, z, dy: (dy, dy)),
    content=True,
)


# -- strings in messages


def _text(array: Array, *, limit: int) -> Array:
    text = summarized(array, limit).encode("utf-8", "surrogateescape")
    return np.frombuffer(text, np.uint8)


def _raw(data: Array) -> Array:
    return np.frombuffer(data.item(), np.uint8)


text_of_strings = define(
    "text_of_strings",
    "_TextOfStrings(data: string; limit: int = 3) -> text: u8",
    infer=lambda c: (c.fresh("text"),),
    reference=_text,
    lowering=host_step(_text, "Print of strings", "limit"),
)
raw_text = define(
    "raw_text",
    "_RawText(data: string) -> text: u8",
    infer=lambda c: (c.fresh("text"),),
    reference=_raw,
    lowering=host_step(_raw, "PrintV2"),
)
