"""Native kernels of random numbers: Philox4x32-10, and what is made of its bits in loops.

In: keys, counters and bits. Out: bits, normal numbers, integers of a range, permutations.
Invariant: an element depends on the key, the counter and its place alone, so results do not depend
on how the range is shared out. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
(2011); the order in which words become numbers is TensorFlow's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts, bit casts and functions by dtype.
    u32: Any = None
    u64: Any = None
    i64: Any = None
    f32: Any = None
    f64: Any = None
    bits_f32: Any = None
    bits_f64: Any = None
    normal_radius_f32: Any = None
    normal_radius_f64: Any = None
    normal_sin_f32: Any = None
    normal_sin_f64: Any = None
    normal_cos_f32: Any = None
    normal_cos_f64: Any = None

# Each worker takes this many elements at a time (`Native.constants`).
UNIT = 1024
# Whether numbers are of 64 bits, each made of two words (`Native.constants`).
WIDE = False
# Counters from one group of truncated normal numbers to the next (`Native.constants`).
STRIDE = 256


# -- functions that kernels inline


def philox_words(key: Any, counter: Any, step: Any) -> Any:
    """The four words of the counter that is so many steps on."""
    low = u64(counter[0] + step)
    high = u64(counter[1] + (u64(1) if low < counter[0] else u64(0)))
    k0 = u32(key[0])
    k1 = u32(key[0] >> u64(32))
    x0 = u32(low)
    x1 = u32(low >> u64(32))
    x2 = u32(high)
    x3 = u32(high >> u64(32))
    for _ in range(10):
        a = u64(x0) * u64(0xD2511F53)
        b = u64(x2) * u64(0xCD9E8D57)
        x0 = u32(u32(b >> u64(32)) ^ x1 ^ k0)
        x2 = u32(u32(a >> u64(32)) ^ x3 ^ k1)
        x1 = u32(b)
        x3 = u32(a)
        k0 = u32(k0 + u32(0x9E3779B9))
        k1 = u32(k1 + u32(0xBB67AE85))
    return x0, x1, x2, x3


def normal_pair_f32(w0: Any, w1: Any) -> Any:
    """Two normal numbers of two words."""
    u = bits_f32(u32((w0 & u32(0x7FFFFF)) | u32(0x3F800000))) - f32(1)
    v = bits_f32(u32((w1 & u32(0x7FFFFF)) | u32(0x3F800000))) - f32(1)
    r = normal_radius_f32(u)
    return normal_sin_f32(v) * r, normal_cos_f32(v) * r


def normal_pair_f64(w0: Any, w1: Any, w2: Any, w3: Any) -> Any:
    """Two normal numbers of four words."""
    a = (u64(w0 & u32(0xFFFFF)) << u64(32)) | u64(w1)
    b = (u64(w2 & u32(0xFFFFF)) << u64(32)) | u64(w3)
    u = bits_f64(u64(a | u64(0x3FF0000000000000))) - f64(1)
    v = bits_f64(u64(b | u64(0x3FF0000000000000))) - f64(1)
    r = normal_radius_f64(u)
    return normal_sin_f64(v) * r, normal_cos_f64(v) * r


def keep_near(normals: Any, at: int, kept: int, size: int, x: Any) -> int:
    """Appends a number to the `kept` ones of a group where it is nearer to 0 than 2."""
    count = kept
    if count < size and x < 2 and x > -2:
        normals[at + count] = x
        count += 1
    return count


def threefry_mixed(x: Any, y: Any, a: int, b: int, c: int, d: int) -> Any:
    """Two words after four rounds, each of which turns the second one."""
    for turn in (a, b, c, d):
        x = u32(x + y)
        y = u32(u32(y << u32(turn)) | u32(y >> u32(32 - turn))) ^ x
    return x, y


# -- kernels


def threefry(
    key: Any, counter: Any, _count: Any, bits: Any, count: int, begin: int, end: int
) -> None:
    """Two words for each of `count` counters, one behind the other."""
    last = end * UNIT if end * UNIT < count else count
    k0 = u32(key[0])
    k1 = u32(key[0] >> u64(32))
    k2 = u32(k0 ^ k1 ^ u32(0x1BD11BDA))
    for i in range(begin * UNIT, last):
        at = u64(counter[0] + u64(i))
        x, y = u32(u32(at) + k0), u32(u32(at >> u64(32)) + k1)
        x, y = threefry_mixed(x, y, 13, 15, 26, 6)
        x, y = u32(x + k1), u32(y + k2 + u32(1))
        x, y = threefry_mixed(x, y, 17, 29, 16, 24)
        x, y = u32(x + k2), u32(y + k0 + u32(2))
        x, y = threefry_mixed(x, y, 13, 15, 26, 6)
        x, y = u32(x + k0), u32(y + k1 + u32(3))
        x, y = threefry_mixed(x, y, 17, 29, 16, 24)
        x, y = u32(x + k1), u32(y + k2 + u32(4))
        x, y = threefry_mixed(x, y, 13, 15, 26, 6)
        x, y = u32(x + k2), u32(y + k0 + u32(5))
        bits[2 * i] = x
        bits[2 * i + 1] = y


def philox(
    key: Any, counter: Any, _blocks: Any, bits: Any, blocks: int, stride: int, begin: int, end: int
) -> None:
    """Four words for each of `blocks` counters, `stride` apart."""
    last = end * UNIT if end * UNIT < blocks else blocks
    for i in range(begin * UNIT, last):
        x0, x1, x2, x3 = philox_words(key, counter, u64(i) * u64(stride))
        bits[4 * i] = x0
        bits[4 * i + 1] = x1
        bits[4 * i + 2] = x2
        bits[4 * i + 3] = x3


def normals(bits: Any, normals: Any, pairs: int, begin: int, end: int) -> None:
    last = end * UNIT if end * UNIT < pairs else pairs
    for i in range(begin * UNIT, last):
        if WIDE:
            x, y = normal_pair_f64(bits[4 * i], bits[4 * i + 1], bits[4 * i + 2], bits[4 * i + 3])
        else:
            x, y = normal_pair_f32(bits[2 * i], bits[2 * i + 1])
        normals[2 * i] = x
        normals[2 * i + 1] = y


def truncate(
    key: Any, counter: Any, _first: Any, normals: Any, groups: int, begin: int, end: int
) -> None:
    """Truncated normals. A group is what four random words give: four f32 numbers, or two f64. Of
    each group, kernel `normals` made the first draws: those that are nearer to 0 than 2 move to the
    front, and draws with later counters fill up the rest."""
    size = 2 if WIDE else 4
    last = end * UNIT if end * UNIT < groups else groups
    for group in range(begin * UNIT, last):
        at = size * group
        kept = 0
        for j in range(size):
            kept = keep_near(normals, at, kept, size, normals[at + j])
        step = 1
        while kept < size:
            x0, x1, x2, x3 = philox_words(key, counter, u64(group * STRIDE + step))
            step += 1
            for pair in range(size // 2):
                if WIDE:
                    x, y = normal_pair_f64(x0, x1, x2, x3)
                else:
                    x, y = normal_pair_f32(x2 if pair else x0, x3 if pair else x1)
                kept = keep_near(normals, at, kept, size, x)
                kept = keep_near(normals, at, kept, size, y)


def integers_in_range(
    bits: Any, low: Any, high: Any, _count: Any, out: Any, status: Any,
    count: int, begin: int, end: int,
) -> None:  # fmt: skip
    """low + bits % (high - low), modulo 2**32 of one word each, or modulo 2**64 of two words each,
    the lower one first."""
    if low[0] >= high[0]:
        if count > 0:
            fail(status, 1, i64(low[0]), i64(high[0]), 0)
        return
    size = u64(u64(high[0]) - u64(low[0]))
    last = end * UNIT if end * UNIT < count else count
    for i in range(begin * UNIT, last):
        if WIDE:
            word = u64(bits[2 * i]) | (u64(bits[2 * i + 1]) << u64(32))
            out[i] = u64(u64(low[0]) + u64(word % size))
        else:
            out[i] = u32(u32(low[0]) + u32(bits[i] % u32(size)))


def permutation(bits: Any, _count: Any, order: Any, count: int, begin: int, end: int) -> None:
    """Every place in turn is exchanged with one that is not before it."""
    for i in range(count):
        order[i] = i
    for i in range(count - 1):
        j = i + i64(bits[i] % u32(count - i))
        first = order[i]
        order[i] = order[j]
        order[j] = first


def mixed_half(x: Any, half: Any, mask: Any) -> Any:
    """Inlined: the round function of the block cipher Simon, of one half of a block."""
    by_one = u64(u64(x << u64(1)) | u64(x >> u64(half - u64(1))))
    by_two = u64(u64(x << u64(2)) | u64(x >> u64(half - u64(2))))
    by_eight = u64(u64(x << u64(8)) | u64(x >> u64(half - u64(8))))
    return u64(u64(u64(by_one & by_eight) ^ by_two) & mask)


def shuffled_indices(
    index: Any, seed: Any, most: Any, out: Any, status: Any,
    rounds: int, count: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Each index encrypted in a block that holds the greatest one, until it is no greater."""
    last = end * UNIT if end * UNIT < count else count
    for i in range(begin * UNIT, last):
        if index[i] < 0:
            fail(status, 1, i64(index[i]), 0, 0)
            return
        if most[i] < index[i]:
            fail(status, 2, i64(index[i]), i64(most[i]), 0)
            return
        greatest = u64(most[i])
        half = u64(8)
        while half < u64(32) and u64(u64(1) << u64(half + half)) < greatest:
            half = u64(half + u64(1))
        mask = u64(u64(u64(1) << half) - u64(1))
        found = u64(index[i])
        walking = True
        while walking:
            left = u64(u64(found >> half) & mask)
            right = u64(found & mask)
            key = u64(u64(seed[3 * i]) & mask)
            second = u64(u64(seed[3 * i + 1]) & mask)
            third = u64(u64(seed[3 * i + 2]) & mask)
            sequence = u64(u64(0x7369F885192C0EF5) & mask)
            for _turn in range(rounds):
                mixed = mixed_half(right, half, mask)
                both = u64(u64(left ^ mixed) ^ key)
                # The halves change places in every turn.
                left = right
                right = both
                rotated = u64(u64(third >> u64(3)) | u64(third << u64(half - u64(3))))
                more = u64(u64(third >> u64(4)) | u64(third << u64(half - u64(4))))
                next_key = u64(u64(rotated ^ more) ^ u64(key ^ u64(sequence & u64(1))))
                next_key = u64(u64(next_key ^ u64(0xFFFFFFFC)) & mask)
                sequence = u64(sequence >> u64(1))
                key = second
                second = third
                third = next_key
            found = u64(u64(left << half) | right)
            walking = found > greatest
        out[i] = found
