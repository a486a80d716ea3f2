"""Strings into numbers: StringToHashBucket, its fast and its strong form, Fingerprint.

In: strings. Out: host steps: the number of a bucket each. Invariant: the hashes are TensorFlow's:
MurmurHash64A, FarmHash's Fingerprint64 and SipHash-2-4. All strings of a call are hashed at once,
as arrays of 64-bit words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import text_of
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op

Array = np.ndarray[Any, Any]

_K0 = np.uint64(0xC3A5C85C97CB3127)
_K1 = np.uint64(0xB492B66FBE98F273)
_K2 = np.uint64(0x9AE16A3B2F90404F)
_MURMUR = np.uint64(0xC6A4A7935BD1E995)
_MURMUR_SEED = np.uint64(0xDECAFCAFFE)


class Words:
    """The bytes of strings, read as words. `starts`, `lengths`: of each string."""

    def __init__(self, strings: Sequence[bytes]) -> None:
        count = len(strings)
        self.lengths = np.fromiter(map(len, strings), np.int64, count)
        self.starts = np.cumsum(self.lengths) - self.lengths
        data = b"".join((*strings, bytes(8)))
        self._bytes = np.frombuffer(data, np.uint8)
        self._windows = sliding_window_view(self._bytes, 8)

    def at(self, places: Array) -> Array:
        """The eight bytes at each place, as a little-endian word."""
        return np.ascontiguousarray(self._windows[places]).view("<u8")[:, 0]

    def half_at(self, places: Array) -> Array:
        """The four bytes at each place."""
        return self.at(places) & np.uint64(0xFFFFFFFF)

    def byte_at(self, places: Array) -> Array:
        return self._bytes[places].astype(np.uint64)

    def tail(self, places: Array, counts: Array) -> Array:
        """The `counts` bytes, less than eight, at each place."""
        kept = (np.uint64(1) << (counts * 8).astype(np.uint64)) - np.uint64(1)
        return self.at(places) & kept


def _rotate(x: Array, right: int) -> Array:
    return (x >> np.uint64(right)) | (x << np.uint64(64 - right))


def _mixed(x: Array) -> Array:
    return x ^ (x >> np.uint64(47))


def _pair(u: Array, v: Array, mul: Array) -> Array:
    """One word of two."""
    a = _mixed((u ^ v) * mul)
    return _mixed((v ^ a) * mul) * mul


# -- FarmHash


def fingerprints(strings: Sequence[bytes]) -> Array:
    """FarmHash's Fingerprint64 of each string."""
    words = Words(strings)
    found = np.full(len(strings), _K2)
    limits = ((1, 3, _up_to_3), (4, 7, _up_to_7), (8, 16, _up_to_16), (17, 32, _up_to_32),
              (33, 64, _up_to_64), (65, None, _longer))  # fmt: skip
    for least, most, function in limits:
        chosen = words.lengths >= least
        if most is not None:
            chosen &= words.lengths <= most
        if chosen.any():
            found[chosen] = function(words, words.starts[chosen], words.lengths[chosen])
    return found


def _up_to_3(words: Words, s: Array, n: Array) -> Array:
    a, b, c = words.byte_at(s), words.byte_at(s + (n >> 1)), words.byte_at(s + n - 1)
    y = a + (b << np.uint64(8))
    z = n.astype(np.uint64) + (c << np.uint64(2))
    return _mixed(y * _K2 ^ z * _K0) * _K2


def _multiplier(n: Array) -> Array:
    return _K2 + n.astype(np.uint64) * np.uint64(2)


def _up_to_7(words: Words, s: Array, n: Array) -> Array:
    first = n.astype(np.uint64) + (words.half_at(s) << np.uint64(3))
    return _pair(first, words.half_at(s + n - 4), _multiplier(n))


def _up_to_16(words: Words, s: Array, n: Array) -> Array:
    mul = _multiplier(n)
    a, b = words.at(s) + _K2, words.at(s + n - 8)
    return _pair(_rotate(b, 37) * mul + a, (_rotate(a, 25) + b) * mul, mul)


def _up_to_32(words: Words, s: Array, n: Array) -> Array:
    mul = _multiplier(n)
    a, b = words.at(s) * _K1, words.at(s + 8)
    c, d = words.at(s + n - 8) * mul, words.at(s + n - 16) * _K2
    return _pair(_rotate(a + b, 43) + _rotate(c, 30) + d, a + _rotate(b + _K2, 18) + c, mul)


def _up_to_64(words: Words, s: Array, n: Array) -> Array:
    mul = _multiplier(n)
    a, b = words.at(s) * _K2, words.at(s + 8)
    c, d = words.at(s + n - 8) * mul, words.at(s + n - 16) * _K2
    y = _rotate(a + b, 43) + _rotate(c, 30) + d
    z = _pair(y, a + _rotate(b + _K2, 18) + c, mul)
    e, f = words.at(s + 16) * mul, words.at(s + 24)
    g, h = (y + words.at(s + n - 32)) * mul, (z + words.at(s + n - 24)) * mul
    return _pair(_rotate(e + f, 43) + _rotate(g, 30) + h, e + _rotate(f + a, 18) + g, mul)


def _weak(words: Words, s: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """Two words of the 32 bytes at each place, and of two seeds."""
    last = words.at(s + 24)
    a = a + words.at(s)
    b = _rotate(b + a + last, 21)
    c = a
    a = a + words.at(s + 8) + words.at(s + 16)
    return a + last, b + _rotate(a, 44) + c


def _longer(words: Words, s: Array, n: Array) -> Array:
    """In blocks of 64 bytes; strings of fewer blocks wait for those of more."""
    seed = np.full(len(s), 81, np.uint64)
    y = seed * _K1 + np.uint64(113)
    z = _mixed(y * _K2 + np.uint64(113)) * _K2
    state = [seed * _K2 + words.at(s), y, z, *np.zeros((4, len(s)), np.uint64)]
    blocks = (n - 1) // 64
    for k in range(int(blocks.max())):
        active = np.flatnonzero(blocks > k)
        changed = _block(words, s[active] + 64 * k, [part[active] for part in state], _K1, 1)
        for part, new in zip(state, changed):
            part[active] = new
    x, y, z, v1, v2, w1, w2 = state
    mul = _K1 + ((z & np.uint64(0xFF)) << np.uint64(1))
    w1 = w1 + ((n - 1) & 63).astype(np.uint64)
    v1 = v1 + w1
    w1 = w1 + v1
    x, y, z, v1, v2, w1, w2 = _block(words, s + n - 64, [x, y, z, v1, v2, w1, w2], mul, 9)
    first = _pair(v1, w1, mul) + _mixed(y) * _K0 + z
    return _pair(first, _pair(v2, w2, mul) + x, mul)


def _block(words: Words, s: Array, state: list[Array], mul: Any, times: int) -> list[Array]:
    x, y, z, v1, v2, w1, w2 = state
    factor = np.uint64(times)
    x = _rotate(x + y + v1 + words.at(s + 8), 37) * mul
    y = _rotate(y + v2 + words.at(s + 48), 42) * mul
    x = x ^ (w2 * factor)
    y = y + v1 * factor + words.at(s + 40)
    z = _rotate(z + w1, 33) * mul
    v1, v2 = _weak(words, s, v2 * mul, x + w1)
    w1, w2 = _weak(words, s + 32, z + w2, y + words.at(s + 16))
    return [z, y, x, v1, v2, w1, w2]


# -- MurmurHash and SipHash


def murmur_hashes(strings: Sequence[bytes]) -> Array:
    """MurmurHash64A of each string, from TensorFlow's seed."""
    words = Words(strings)
    lengths = words.lengths
    h = _MURMUR_SEED ^ (lengths.astype(np.uint64) * _MURMUR)
    for k in range(int(lengths.max(initial=0)) // 8):
        active = np.flatnonzero(lengths >= 8 * (k + 1))
        part = _mixed(words.at(words.starts[active] + 8 * k) * _MURMUR) * _MURMUR
        h[active] = (h[active] ^ part) * _MURMUR
    left = np.flatnonzero(lengths % 8)
    if len(left):
        rest = lengths[left] % 8
        tail = words.tail(words.starts[left] + lengths[left] - rest, rest)
        h[left] = (h[left] ^ tail) * _MURMUR
    return _mixed(_mixed(h) * _MURMUR)


def sip_hashes(strings: Sequence[bytes], key: Sequence[int]) -> Array:
    """SipHash-2-4 of each string under a key of two words."""
    words = Words(strings)
    lengths, count = words.lengths, len(strings)
    k0, k1 = (np.full(count, np.uint64(k & 0xFFFFFFFFFFFFFFFF)) for k in key)
    begin = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    state = [k ^ np.uint64(b) for k, b in zip((k0, k1, k0, k1), begin)]
    for k in range(int(lengths.max(initial=0)) // 8):
        active = np.flatnonzero(lengths >= 8 * (k + 1))
        part = words.at(words.starts[active] + 8 * k)
        changed = _absorbed([v[active] for v in state], part)
        for v, new in zip(state, changed):
            v[active] = new
    rest = lengths % 8
    last = words.tail(words.starts + lengths - rest, rest)
    state = _absorbed(state, last | ((lengths & 0xFF).astype(np.uint64) << np.uint64(56)))
    state[2] = state[2] ^ np.uint64(0xFF)
    for _ in range(4):
        state = _sip_round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _absorbed(state: list[Array], word: Array) -> list[Array]:
    v0, v1, v2, v3 = _sip_round(_sip_round([*state[:3], state[3] ^ word]))
    return [v0 ^ word, v1, v2, v3]


def _sip_round(state: list[Array]) -> list[Array]:
    v0, v1, v2, v3 = state
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = _rotate(v1, 64 - 13) ^ v0, _rotate(v3, 64 - 16) ^ v2
    v0 = _rotate(v0, 32)
    v2, v0 = v2 + v1, v0 + v3
    v1, v3 = _rotate(v1, 64 - 17) ^ v2, _rotate(v3, 64 - 21) ^ v0
    return [v0, v1, _rotate(v2, 32), v3]


# -- records


def _buckets(hashes: Callable[[Sequence[bytes]], Array], texts: Any, count: int) -> Array:
    strings = np.asarray(texts, object)
    found = hashes(strings.reshape(-1).tolist()) % np.uint64(count)
    return found.astype(np.int64).reshape(strings.shape)


def _bucket(inputs: Sequence[Any], _: Sequence[DType], *, num_buckets: int) -> list[Array]:
    return [_buckets(murmur_hashes, inputs[0], num_buckets)]


def _bucket_fast(inputs: Sequence[Any], _: Sequence[DType], *, num_buckets: int) -> list[Array]:
    return [_buckets(fingerprints, inputs[0], num_buckets)]


def _bucket_strong(
    inputs: Sequence[Any], _: Sequence[DType], *, num_buckets: int, key: Sequence[int]
) -> list[Array]:
    if len(key) != 2:
        raise InvalidArgumentError("Key must have 2 elements")
    return [_buckets(lambda strings: sip_hashes(strings, key), inputs[0], num_buckets)]


host_op(
    "string_to_hash_bucket",
    "StringToHashBucket(string_tensor: string; num_buckets: int >= 1) -> output: i64",
    _bucket,
    infer=lambda c: c.dims(0),
    traits=frozenset({"by_element"}),
)
host_op(
    "string_to_hash_bucket_fast",
    "StringToHashBucketFast(input: string; num_buckets: int >= 1) -> output: i64",
    _bucket_fast,
    infer=lambda c: c.dims(0),
    traits=frozenset({"by_element"}),
)
host_op(
    "string_to_hash_bucket_strong",
    "StringToHashBucketStrong(input: string; num_buckets: int >= 1, key: list(int)) -> output: i64",
    _bucket_strong,
    infer=lambda c: c.dims(0),
)


def _fingerprint(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    data, method = np.asarray(inputs[0]), text_of(inputs[1], "method")
    if method != "farmhash64":
        raise InvalidArgumentError(f"Unsupported fingerprint algorithm: {method}")
    rows: list[bytes] = []
    if not data.dtype.hasobject:
        rows = [row.tobytes() for row in data]
    elif data.ndim == 1:
        rows = data.tolist()
    else:  # of several strings, that of their fingerprints
        for row in data.reshape(len(data), -1):
            rows.append(fingerprints(row.tolist()).astype("<u8").tobytes())
    return [fingerprints(rows).astype("<u8").view(np.uint8).reshape(len(rows), 8)]


def _infer_fingerprint(c: Inference) -> Dims:
    if not c.rank(0):
        raise c.fail("`data` should have at least one dimension")
    return (c.dims(0)[0], 8)


host_op(
    "fingerprint",
    "Fingerprint(data: T, method: string; T: type) -> fingerprint: u8",
    _fingerprint,
    infer=_infer_fingerprint,
)
