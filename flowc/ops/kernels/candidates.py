"""Native kernels of candidate samplers: classes drawn, and where right classes are among them.

In: the key and counter of Philox, what describes the distribution, right classes. Out: classes, how
many draws they took; for accidental hits places. Invariant: words of random bits are taken one by
one from counter to counter, in TensorFlow's order, so that equal seeds give its classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.arrays.sets import clear, insert
from flowc.ops.kernels.random import philox_words
from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts, bit casts and functions by dtype.
    u32: Any = None
    u64: Any = None
    i64: Any = None
    f32: Any = None
    f64: Any = None
    bits_f32: Any = None
    exp_f64: Any = None
    log1p_f64: Any = None


def word_at(key: Any, counter: Any, place: int) -> Any:
    x0, x1, x2, x3 = philox_words(key, counter, u64(place // 4))
    left = x0 if place % 4 == 0 else x1
    right = x2 if place % 4 == 2 else x3
    return left if place % 4 < 2 else right


def below(key: Any, counter: Any, place: int, size: int) -> Any:
    """(a number below `size`, all alike, from words at `place` on; the place after them)"""
    at = place
    least = 0 if size & (size - 1) == 0 else i64(u64(0xFFFFFFFF) % u64(size)) + 1
    number = i64(-1)
    while number < least:
        word = word_at(key, counter, at)
        number = i64(word)
        at += 1
    return number % size, at


def place_in(sums: Any, size: int, sought: int) -> Any:
    """The first place whose running sum is above `sought`."""
    low = 0
    high = size - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > sought:
            high = middle
        else:
            low = middle + 1
    return low


def sample_candidates(
    right: Any, key: Any, counter: Any, table: Any, shares: Any,
    candidates: Any, draws: Any, scratch: Any, status: Any,
    wanted: int, kind: int, count: int, size: int, unique: int, least: int, begin: int, end: int,
) -> None:  # fmt: skip
    """`kind`: how a class is drawn, by the words in `candidates`. `least`: 64-bit numbers below it
    would make some classes more likely than others."""
    for i in range(wanted):
        if right[i] < 0 or right[i] >= size:
            fail(status, 1, right[i], size, 0)
            return
    places = 2 * count + 1
    clear(scratch, places)
    log_range = log1p_f64(f64(size))
    place = 0
    drawn = 0
    picked = 0
    while picked < count:
        if drawn == 2147483647:
            fail(status, 2, picked, count, 0)
            return
        drawn += 1
        value = 0
        if kind == 0:
            high = word_at(key, counter, place)
            low = word_at(key, counter, place + 1)
            place += 2
            bits = (u64(high & u32(0xFFFFF)) << u64(32)) | u64(low)
            share = f64(bits) * f64(2.220446049250313e-16)
            value = (i64(exp_f64(share * log_range)) - 1) % size
        elif kind == 1:
            number = u64(0)
            again = True
            while again:
                low = word_at(key, counter, place)
                high = word_at(key, counter, place + 1)
                place += 2
                number = (u64(high) << u64(32)) | u64(low)
                again = number < u64(least)
            value = i64(number % u64(size))
        elif kind == 2:
            sought, place = below(key, counter, place, i64(table[size - 1]))
            value = place_in(table, size, sought)
        else:
            word = word_at(key, counter, place)
            chance = bits_f32(u32((word & u32(0x7FFFFF)) | u32(0x3F800000))) - f32(1)
            value, place = below(key, counter, place + 1, size)
            value = value if chance < shares[value] else i64(table[value])
        at = picked
        if unique:
            at = insert(scratch, places, candidates, picked, value)
        if at == picked:
            candidates[picked] = value
            picked += 1
    draws[0] = drawn


def accidental_hits(
    right: Any, candidates: Any, indices: Any, places: Any, weights: Any, sizes: Any,
    rows: int, columns: int, count: int, begin: int, end: int,
) -> None:  # fmt: skip
    """For each right class that was drawn its row and the last place at which it was."""
    found = 0
    for i in range(rows * columns):
        place = count - 1
        while place >= 0 and candidates[place] != right[i]:
            place -= 1
        if place >= 0:
            indices[found] = i // columns
            places[found] = place
            weights[found] = f32(-3.4028234663852886e38)
            found += 1
    sizes[0] = found
