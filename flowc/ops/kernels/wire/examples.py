"""The native kernel of many `Example` messages: the features that are wanted, out of their bytes.

In: messages one behind the other, and keys with the kinds of list that they should have. Out: for
each key how many values each message has, and the values, those of one key side by side. Invariant:
messages that are not encoded as flowc and TensorFlow encode them (other orders, missing or repeated
fields) are not parsed: the status says so, and the caller parses them with protobuf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype.
    i64: Any = None
    u64: Any = None


# -- functions that kernels inline


def read_varint(data: Any, at: int, stop: int) -> Any:
    """A number, and where the next thing begins: -1 where it does not end, or has more than ten
    bytes."""
    value = u64(0)
    shift = u64(0)
    goes_on = True
    while goes_on:
        if at >= stop or shift > u64(63):
            at = -1
            goes_on = False
        else:
            byte = u64(data[at])
            value = value | ((byte & u64(127)) << shift)
            shift += u64(7)
            at += 1
            goes_on = byte > u64(127)
    return value, at


def read_length(data: Any, tag: int, at: int, stop: int) -> Any:
    """Where the bytes of a field begin, and where they end; a begin of -1 where the field is
    another one, or reaches beyond `stop`."""
    begin = -1
    end = -1
    if at < stop and i64(data[at]) == tag:
        value, begin = read_varint(data, at + 1, stop)
        if begin >= 0 and value > u64(stop - begin):
            begin = -1
        end = begin + i64(value)
    return begin, end


def key_number(data: Any, begin: int, end: int, keys: Any, key_ends: Any, wanted: int) -> Any:
    """Which of the keys the bytes are; `wanted` for another one, -1 for what is not ASCII."""
    found = wanted
    bits = u64(0)
    for i in range(begin, end):
        bits = bits | u64(data[i])
    first = 0
    for k in range(wanted):
        if key_ends[k] - first == end - begin:
            i = 0
            while i < end - begin and data[begin + i] == keys[first + i]:
                i += 1
            if i == end - begin:
                found = k
        first = key_ends[k]
    if bits > u64(127):
        found = -1
    return found


def find_lists(
    data: Any, keys: Any, key_ends: Any, kinds: Any, places: Any,
    e: int, at: int, stop: int, examples: int, wanted: int,
) -> tuple[int, bool]:  # fmt: skip
    """Where the lists of a message's features begin and end; the end of the message, and whether it
    is as flowc and TensorFlow write it."""
    fine = True
    if at < stop:
        at, features_end = read_length(data, 10, at, stop)
        fine = at >= 0 and features_end == stop
    while fine and at < stop:
        fine = False
        entry, entry_end = read_length(data, 10, at, stop)
        if entry < 0:
            break
        key, key_end = read_length(data, 10, entry, entry_end)
        if key < 0:
            break
        feature, feature_end = read_length(data, 18, key_end, entry_end)
        if feature < 0 or feature_end != entry_end:
            break
        k = key_number(data, key, key_end, keys, key_ends, wanted)
        if k < 0:
            break
        if k < wanted:
            place = 2 * (k * examples + e)
            if places[place] >= 0:
                break
            values, values_end = read_length(data, kinds[k], feature, feature_end)
            if values < 0 or values_end != feature_end:
                break
            if kinds[k] != 10 and values < values_end:
                values, values_end = read_length(data, 10, values, values_end)
                if values < 0 or values_end != feature_end:
                    break
            places[place] = values
            places[place + 1] = values_end
        at = entry_end
        fine = True
    return at, fine


def write_zeros(
    kind: int, count: int, ints: Any, floats: Any, spans: Any,
    int_count: int, byte_count: int, span_count: int,
) -> None:  # fmt: skip
    """The values of a list that a message lacks."""
    if kind == 18:
        for i in range(4 * count):
            floats[byte_count + i] = 0
    elif kind == 10:
        for i in range(2 * count):
            spans[2 * span_count + i] = 0
    else:
        for i in range(count):
            ints[int_count + i] = 0


def write_list(
    data: Any, kind: int, at: int, stop: int, ints: Any, floats: Any, spans: Any,
    int_count: int, byte_count: int, span_count: int,
) -> int:  # fmt: skip
    """The values of a list; how many they are, -1 where they don't end where the list does."""
    count = 0
    if kind == 18:
        count = -1 if (stop - at) % 4 else (stop - at) // 4
        for i in range(4 * count):
            floats[byte_count + i] = data[at + i]
    elif kind == 10:
        while 0 <= at < stop:
            at, last = read_length(data, 10, at, stop)
            if at >= 0:
                spans[2 * (span_count + count)] = at
                spans[2 * (span_count + count) + 1] = last
                count += 1
                at = last
    else:
        while 0 <= at < stop:
            value, at = read_varint(data, at, stop)
            if at >= 0:
                ints[int_count + count] = i64(value)
                count += 1
    if at < 0:
        count = -1
    return count


# -- kernels


def scan_examples(
    data: Any, lengths: Any, keys: Any, key_ends: Any, kinds: Any, sizes: Any, places: Any,
    counts: Any, totals: Any, ints: Any, floats: Any, spans: Any, indices: Any, status: Any,
    examples: int, wanted: int, sparse: int, begin: int, end: int,
) -> None:  # fmt: skip
    """`lengths`: of the messages. `sizes`: how many values a key has in each message, -1 for any
    number. `places`: scratch, [wanted, examples, 2]. `counts`: [wanted, examples], -1 where a
    message lacks a key of a known size, for which zeros stand then. `totals`: for each key how many
    values, the most of a message, and how many messages lack it. Each of `ints`, `floats` (bytes)
    and `spans` (begin and end of strings in `data`) has room for as many as `data` has bytes, and
    those that stand for others; `indices` for the message and the place of each value of the first
    `sparse` keys. `status[0]` is 0, or 1 where protobuf is to do it."""
    status[0] = 1
    at = 0
    stop = 0
    for e in range(examples):
        stop += lengths[e]
        for k in range(wanted):
            places[2 * (k * examples + e)] = -1
        at, fine = find_lists(data, keys, key_ends, kinds, places, e, at, stop, examples, wanted)
        if not fine:
            return
    int_count = 0
    byte_count = 0
    span_count = 0
    index_count = 0
    for k in range(wanted):
        total = 0
        longest = 0
        missing = 0
        for e in range(examples):
            place = 2 * (k * examples + e)
            lacks = places[place] < 0 and sizes[k] >= 0
            count = 0
            if lacks:
                missing += 1
                count = sizes[k]
                write_zeros(kinds[k], count, ints, floats, spans, int_count, byte_count, span_count)
            elif places[place] >= 0:
                count = write_list(
                    data, kinds[k], places[place], places[place + 1], ints, floats, spans,
                    int_count, byte_count, span_count,
                )  # fmt: skip
            if count < 0:
                return
            if sizes[k] >= 0 and count != sizes[k]:
                return
            if kinds[k] == 18:
                byte_count += 4 * count
            elif kinds[k] == 10:
                span_count += count
            else:
                int_count += count
            if k < sparse:
                for i in range(count):
                    indices[2 * (index_count + i)] = e
                    indices[2 * (index_count + i) + 1] = i
                index_count += count
            counts[k * examples + e] = -1 if lacks else count
            longest = count if count > longest else longest
            total += count
        totals[3 * k] = total
        totals[3 * k + 1] = longest
        totals[3 * k + 2] = missing
    status[0] = 0
