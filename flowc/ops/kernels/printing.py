"""Native kernels of messages: elements as text, text to a stream, text as the error of a run.

In: elements or bytes. Out: bytes, written once. Invariant: the text is TensorFlow's
(`Tensor::SummarizeValue`): floats have 6 digits where these give the number back, else 9 (f64: 15,
else 17).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts, and calls of the C library.
    u64: Any = None
    i64: Any = None
    f32: Any = None
    f64: Any = None
    offset: Any = None
    format_float: Any = None
    parse_f32: Any = None
    parse_f64: Any = None
    write_text: Any = None
    keep_text: Any = None

# Set through `Native.constants`: what the elements are (integers, floats, nothing that can be
# shown), and the digits that are tried first and last.
KIND = 0
FEW_DIGITS = 6
ALL_DIGITS = 9
INTEGER, FLOAT, WIDE_FLOAT = 0, 1, 2


def summarize(
    data: Any, text: Any, sizes: Any,
    limit: int, count: int, rank: int,
    s0: int, s1: int, s2: int, s3: int, s4: int, s5: int, s6: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """The first `limit` of `count` elements (all, if negative), rows in brackets.

    s0...: elements in one row of each axis but the first, outermost first, 0 where there is none;
    the last of them that is not 0 is the innermost row.
    """
    shown = count if limit < 0 or limit > count else limit
    last = s6 if s6 else s5 if s5 else s4 if s4 else s3 if s3 else s2 if s2 else s1 if s1 else s0
    at = 0
    for e in range(shown):
        if (last > 0 and e % last != 0) or (last == 0 and e > 0):
            text[at] = 32
            at += 1
        else:
            for axis in range(7):
                size = (
                    s0 if axis == 0 else s1 if axis == 1 else s2 if axis == 2 else s3 if axis == 3
                    else s4 if axis == 4 else s5 if axis == 5 else s6
                )  # fmt: skip
                if size > 0 and e % size == 0:
                    text[at] = 91
                    at += 1
        if KIND == 0:
            negative = data[e] < 0
            rest = u64(data[e])
            if negative:
                rest = u64(u64(0) - rest)
                text[at] = 45
                at += 1
            digits = 1
            power = u64(1)
            while digits < 20 and rest // power >= u64(10):
                power = u64(power * u64(10))
                digits += 1
            for _ in range(digits):
                digit = rest // power
                text[at] = 48 + i64(digit)
                at += 1
                rest = u64(rest - digit * power)
                power = u64(power // u64(10))
        else:
            value = f64(data[e])
            place = offset(text, at)
            length = format_float(place, FEW_DIGITS, value)
            same = parse_f64(place) == value
            if KIND == 1:
                same = f64(parse_f32(place)) == value
            if not same:
                length = format_float(place, ALL_DIGITS, value)
            at += length
        if e + 1 < shown:
            for axis in range(7):
                size = (
                    s0 if axis == 0 else s1 if axis == 1 else s2 if axis == 2 else s3 if axis == 3
                    else s4 if axis == 4 else s5 if axis == 5 else s6
                )  # fmt: skip
                if size > 0 and (e + 1) % size == 0:
                    text[at] = 93
                    at += 1
    if shown > 0:
        if last > 0 and shown % last != 0:
            for _ in range(3):
                text[at] = 46
                at += 1
        for _ in range(rank - 1):
            text[at] = 93
            at += 1
    if shown < count:
        for _ in range(3):
            text[at] = 46
            at += 1
    sizes[0] = at


def join(a: Any, b: Any, text: Any, first: int, second: int, begin: int, end: int) -> None:
    for i in range(first):
        text[i] = a[i]
    for i in range(second):
        text[first + i] = b[i]


def write(text: Any, length: int, stream: int, begin: int, end: int) -> None:
    """To the stream with this number, at once."""
    write_text(stream, text, length)


def fail(text: Any, status: Any, length: int, begin: int, end: int) -> None:
    """Ends the run with the text, which whoever reports the error frees."""
    status[0] = 1
    status[1] = keep_text(text, length)
