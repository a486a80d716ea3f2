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


def write_times(text: Any, at: int, character: int, count: int) -> int:
    """Inlined: a character so many times; where the text goes on."""
    for _ in range(count):
        text[at] = character
        at += 1
    return at


def rows_at(e: int, s0: int, s1: int, s2: int, s3: int, s4: int, s5: int, s6: int) -> int:
    """Inlined: how many rows begin, and as many end, before element e."""
    count = 0
    for axis in range(7):
        size = (
            s0 if axis == 0 else s1 if axis == 1 else s2 if axis == 2 else s3 if axis == 3
            else s4 if axis == 4 else s5 if axis == 5 else s6
        )  # fmt: skip
        if size > 0 and e % size == 0:
            count += 1
    return count


def write_integer(text: Any, at: int, value: Any) -> int:
    """Inlined: writes an integer in decimals at `at`; where the text goes on."""
    rest = u64(value)
    if value < 0:
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
    return at


def write_float(text: Any, at: int, element: Any) -> int:
    """Inlined: writes a float with as few digits as read back; where the text goes on."""
    value = f64(element)
    place = offset(text, at)
    length = format_float(place, FEW_DIGITS, value)
    same = parse_f64(place) == value
    if KIND == 1:
        same = f64(parse_f32(place)) == value
    if not same:
        length = format_float(place, ALL_DIGITS, value)
    return at + length


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
            rows = rows_at(e, s0, s1, s2, s3, s4, s5, s6)
            at = write_times(text, at, 91, rows)
        if KIND == 0:
            at = write_integer(text, at, data[e])
        else:
            at = write_float(text, at, data[e])
        if e + 1 < shown:
            rows = rows_at(e + 1, s0, s1, s2, s3, s4, s5, s6)
            at = write_times(text, at, 93, rows)
    if shown > 0:
        if last > 0 and shown % last != 0:
            at = write_times(text, at, 46, 3)
        at = write_times(text, at, 93, rank - 1)
    if shown < count:
        at = write_times(text, at, 46, 3)
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
