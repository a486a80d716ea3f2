"""Messages: Print and PrintV2 write to a stream, Assert ends a run.

In: tensors, and strings that are known when compiling. Out: effects, in the order of the graph.
Elements become text where they are (`text_of`), texts are joined, and one call writes the message.
Invariant: the text is TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import FAILED_ASSERTION, ShapeError, UnsupportedError
from flowc.ir.capability import PRINT
from flowc.ir.computation import Node, Value
from flowc.ir.dims import minimum, product
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted, Native
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import same_gradient
from flowc.ops.kernels import printing as kernels
from flowc.ops.state.variables import STATE, value_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder

STDERR, STDOUT = 2, 1
_LOGS = ("log(info)", "log(warning)", "log(error)")
_STREAMS = {"stdout": STDOUT, **dict.fromkeys(("stderr", *_LOGS), STDERR)}
MOST_AXES = 8
LONGEST = 26  # bytes of an element and what stands around it, without brackets


# -- elements as text


def _infer_text(c: Inference) -> Dims:
    rank = c.rank(0)
    if rank > MOST_AXES:
        raise c.fail(f"tensors of up to {MOST_AXES} dimensions can be printed, found {rank}")
    count, limit = c.inputs[0].size, c.attrs["limit"]
    shown = count if limit < 0 else minimum(limit, count)
    return (c.fresh("text", shown * (LONGEST + 2 * rank) + rank + 8),)


def _lower_text(node: Node) -> Native:
    type_ = node.inputs[0].type
    dims = type_.dims
    rows = [product(dims[axis:]) for axis in range(1, len(dims))]
    kind, few, most = kernels.INTEGER, 0, 0
    if type_.dtype.is_floating:
        wide = type_.dtype is dtypes.f64
        kind = kernels.WIDE_FLOAT if wide else kernels.FLOAT
        few, most = (15, 17) if wide else (6, 9)
    return Native(
        kernels.summarize,
        arguments=(
            node.attrs["limit"],
            type_.size,
            len(dims),
            *rows,
            *[0] * (MOST_AXES - 1 - len(rows)),
        ),
        constants={"KIND": kind, "FEW_DIGITS": few, "ALL_DIGITS": most},
    )


def summarized(array: np.ndarray[Any, Any], limit: int) -> str:
    """The first elements of an array, as TensorFlow shows them."""
    shown = array.size if limit < 0 else min(limit, array.size)
    flat, left = array.reshape(-1), [shown]

    def rows(axis: int, start: int) -> str:
        size = int(np.prod(array.shape[axis:]))
        if axis == array.ndim - 1:
            taken = min(size, left[0])
            left[0] -= taken
            words = [element_text(x) for x in flat[start : start + taken]]
            return " ".join(words) + ("..." if taken < size and axis else "")
        step, found = size // max(array.shape[axis], 1), ""
        for i in range(array.shape[axis]):
            if left[0] > 0:
                found += f"[{rows(axis + 1, start + i * step)}]"
        return found

    text = rows(0, 0) if array.ndim else " ".join(element_text(x) for x in flat[:shown])
    return text + ("..." if shown < array.size else "")


_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def escaped(text: bytes) -> str:
    """A string as TensorFlow's messages show it: as a literal of C, letters beyond ASCII kept."""
    words = [
        _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        if byte < 128
        else bytes([byte]).decode("ascii", "surrogateescape")
        for byte in text
    ]
    return "".join(words).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def element_text(x: Any) -> str:
    """One element: bytes escaped, bools as 0 and 1, of complex numbers nothing."""
    if isinstance(x, (bytes, str)):
        return escaped(x if isinstance(x, bytes) else x.encode())
    dtype = dtypes.as_dtype(np.asarray(x).dtype)
    if dtype.is_complex:
        return "?"
    if not dtype.is_floating:
        return str(int(x))
    value = float(x)
    if np.isnan(value):
        return "-nan" if np.signbit(value) else "nan"
    few, most = (15, 17) if dtype is dtypes.f64 else (6, 9)
    short = f"{value:.{few}g}"
    back = np.float64(short) if dtype is dtypes.f64 else np.float32(short)
    return short if float(back) == value else f"{value:.{most}g}"


def _text_reference(data: np.ndarray[Any, Any], *, limit: int) -> np.ndarray[Any, Any]:
    return np.frombuffer(summarized(data, limit).encode(), np.uint8)


text_of = define(
    "text_of",
    "_TextOf(data: T; limit: int = 3, T: {f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32,"
    " u64, bool}) -> text: u8",
    infer=_infer_text,
    lowering=_lower_text,
    reference=_text_reference,
    examples=(
        "T[5]",
        "T[]",
        "f32[2,3,4]; limit=9",
        "i32[2,3,4]; limit=12",
        "f64[3,4]; limit=-1",
        "i64[3,4]; limit=0",
        "i8[1,1,2,1]; limit=5",
        "f32[7]=[0.1,1e20,1e-7,1e999,-1e999,-0.0,123456789]; limit=7",
        "i64[3]=[-9223372036854775808,9223372036854775807,0]",
        "u64[2]=[18446744073709551615,10]",
        "f32[0,3]",
        "f32[2,0]",
    ),
)
# Its own kernel, and not a concat: the same one for messages of any form.
join_texts = define(
    "join_texts",
    "_JoinTexts(a: u8, b: u8) -> text: u8",
    infer=lambda c: (c.dims(0)[0] + c.dims(1)[0],),
    lowering=lambda node: Native(
        kernels.join, arguments=(node.inputs[0].dims[0], node.inputs[1].dims[0])
    ),
    reference=lambda a, b: np.concatenate([a, b]),
    examples=("u8[3] u8[5]", "u8[0] u8[1]"),
)
write_message = define(
    "write_message",
    "_WriteMessage(text: u8; stream: int = 2)",
    infer=lambda c: [],
    lowering=lambda node: Native(
        kernels.write, arguments=(node.inputs[0].dims[0], node.attrs["stream"])
    ),
    traits=STATE,
)
fail_with = define(
    "fail_with",
    "_FailWith(text: u8)",
    infer=lambda c: [],
    lowering=lambda node: Native(
        kernels.fail, arguments=(node.inputs[0].dims[0],), errors=("{text}",)
    ),
    traits=STATE,
)


# -- messages


def _bytes(b: Builder, text: str) -> Value:
    return b.const(np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8))


def _piece(x: Extractor, value: Value, limit: int) -> Value | str:
    """One tensor as text: at once, where it is known."""
    if value.constant is not None:
        return summarized(value.constant, limit)
    if value.type.dtype is dtypes.string:
        return x.b.text_of_strings(value, limit=limit)
    if not _can_show(value.type.dtype):
        return "?"
    if value.type.dtype is dtypes.bool_:
        value = x.b.cast(value, DstT=dtypes.u8)  # what is fed may be true as any byte but 0
    return x.b.text_of(value, limit=limit)


def _can_show(dtype: DType) -> bool:
    return dtype is dtypes.bool_ or dtype.is_integer or dtype.is_floating


def _joined(b: Builder, pieces: Sequence[Value | str]) -> Value:
    """Pieces in a row; known ones next to one another become one."""
    found: list[Value | str] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    values = [_bytes(b, p) if isinstance(p, str) else p for p in found]
    joined = values[0]
    for value in values[1:]:
        joined = b.join_texts(joined, value)
    return joined


def _emit_print(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    values = [value_of(x, bound) for bound in inputs[1:]]
    limit, first_n = int(attrs["summarize"]), int(attrs["first_n"])

    def write(inner: Extractor, given: Sequence[Bound]) -> Sequence[Bound]:
        pieces: list[Value | str] = [attrs["message"]]
        for bound in given:
            pieces += ["[", _piece(inner, value_of(inner, bound), limit), "]"]
        inner.effect(inner.b.emit(write_message, (_joined(inner.b, [*pieces, "\n"]),)))
        return []

    if first_n < 0:
        write(x, values)
    else:
        start = {"start": np.zeros((), np.int64)}
        counter = x.variable(f"{x.name}:times_printed", dtypes.i64, (), start)
        times = value_of(x, counter)
        x.replace(counter, x.b.add(times, np.int64(1)))
        x.branch(x.b.less(times, np.int64(first_n)), write, lambda inner, given: [], values)
    return [inputs[0]]


def _emit_print_text(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    value = value_of(x, inputs[0])
    known = value.constant
    text: Value | str
    if known is not None:
        text = known.item().decode("utf-8", "surrogateescape")
    else:
        text = x.b.raw_text(value)
    stream = _STREAMS.get(attrs["output_stream"])
    if stream is None:
        raise UnsupportedError(
            f"node '{x.name}' writes to {attrs['output_stream']!r}",
            hint="stderr and stdout can be written to",
        )
    line = _joined(x.b, [text, attrs["end"]])
    x.effect(x.b.emit(write_message, (line,), {"stream": stream}))
    return []


def _emit_assert(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    condition, *data = (value_of(x, bound) for bound in inputs)
    if condition.type.rank:
        raise ShapeError(
            f"In[0] should be a scalar: {shown_dims(condition.type.dims)}",
            node=x.name,
            hint="a condition is one bool: reduce it with tf.reduce_all or tf.reduce_any",
        )
    known = condition.constant
    if known is not None and bool(known.reshape(-1)[0]):
        return []

    def fail(inner: Extractor, given: Sequence[Bound]) -> Sequence[Bound]:
        pieces: list[Value | str] = [FAILED_ASSERTION]
        for bound in given:
            pieces += [" [", _piece(inner, value_of(inner, bound), int(attrs["summarize"])), "]"]
        inner.effect(inner.b.emit(fail_with, (_joined(inner.b, pieces),)))
        return []

    if all(v.constant is not None for v in data):
        shown = " ".join(f"[{_piece(x, v, int(attrs['summarize']))}]" for v in data)
        message = {"message": f"{FAILED_ASSERTION} {shown}"}
        x.effect(x.b.emit(op_named("check"), (condition,), message))
    else:
        x.branch(condition, lambda inner, given: [], fail, data)
    return []


def _infer_condition(c: Inference) -> list[Dims]:
    c.need_rank(0, 0, f"In[0] should be a scalar: {shown_dims(c.dims(0))}")
    return []


def _infer_print_text(c: Inference) -> list[Dims]:
    c.need_rank(0, 0, f"input must be a scalar, but has rank: {c.rank(0)}")
    return []


print_ = define(
    "print",
    'Print(input: T, data: U; T: type, U: list(type), message: string = "",'
    " first_n: int = -1, summarize: int = 3) -> output: T",
    infer=lambda c: c.dims(0),
    lowering=Extracted(_emit_print),
    gradient=same_gradient,
    traits=STATE,
    capability=PRINT,
)
print_v2 = define(
    "print_v2",
    'PrintV2(input: string; output_stream: string = "stderr", end: string = "\n")',
    infer=_infer_print_text,
    lowering=Extracted(_emit_print_text),
    traits=STATE,
    capability=PRINT,
)
assert_ = define(
    "assert",
    "Assert(condition: bool, data: T; T: list(type) >= 1, summarize: int = 3)",
    infer=_infer_condition,
    lowering=Extracted(_emit_assert),
    traits=STATE,
)
