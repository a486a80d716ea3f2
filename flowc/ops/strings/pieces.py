"""Strings cut into pieces, and pieces put together: splits, n-grams, joins over axes and segments.

In: strings. Out: host steps: strings, with where they belong. Invariant: how blanks, separators and
paddings count is TensorFlow's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.strings.string_values import check_count, strings_of

Array = np.ndarray[Any, Any]
_BYTES = np.array([bytes([byte]) for byte in range(256)], object)
MOST_LISTS = 1 << 25  # lists or strings of Python that a number in a graph may ask for


def _sparse(rows: Sequence[Sequence[bytes]]) -> list[Array]:
    """The pieces of each row as a sparse matrix: indices, values, sizes."""
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    total = int(counts.sum())
    owners = np.repeat(np.arange(len(rows)), counts)
    places = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    sizes = np.array([len(rows), counts.max(initial=0)], np.int64)
    indices = np.ascontiguousarray(np.stack([owners, places], 1))
    return [indices, strings_of(list(chain.from_iterable(rows)), (total,)), sizes]


def _split(inputs: Sequence[Any], _: Sequence[DType], *, skip_empty: bool) -> list[Array]:
    """At each character of the delimiter; without one, between all bytes."""
    texts, delimiter = np.asarray(inputs[0], object), np.asarray(inputs[1], object)
    if delimiter.size != 1:
        raise InvalidArgumentError(f"delimiter must scalar, got {delimiter.size} elements")
    characters = delimiter.reshape(-1)[0]
    cut = re.compile(b"[" + re.escape(characters) + b"]") if len(characters) > 1 else None
    rows: list[Sequence[bytes]] = []
    for text in texts.reshape(-1).tolist():
        if not text:
            rows.append([])
        elif not characters:
            rows.append(_BYTES[np.frombuffer(text, np.uint8)].tolist())
        else:
            found: list[Any] = text.split(characters) if cut is None else cut.split(text)
            rows.append([piece for piece in found if piece] if skip_empty else found)
    return _sparse(rows)


def _split_v2(inputs: Sequence[Any], _: Sequence[DType], *, maxsplit: int) -> list[Array]:
    """At the separator; without one, at blanks, as Python's `split`."""
    texts, separator = np.asarray(inputs[0], object), np.asarray(inputs[1], object).item()
    most = maxsplit if maxsplit > 0 else -1
    return _sparse([t.split(separator or None, most) for t in texts.reshape(-1).tolist()])


def _infer_split(c: Inference) -> list[Dims]:
    c.need_ranks(1, 0)
    count = c.fresh("pieces")
    return [(count, 2), (count,), (2,)]


host_op(
    "string_split",
    "StringSplit(input: string, delimiter: string; skip_empty: bool = True) -> indices: i64,"
    " values: string, shape: i64",
    _split,
    infer=_infer_split,
)
host_op(
    "string_split_v2",
    "StringSplitV2(input: string, sep: string; maxsplit: int = -1) -> indices: i64, values:"
    " string, shape: i64",
    _split_v2,
    infer=_infer_split,
)


# -- n-grams


def _check_splits(splits: list[int], count: int) -> None:
    if splits and splits[0]:
        raise InvalidArgumentError(f"First split value must be 0, got {splits[0]}")
    for before, split in zip([0, *splits], splits):
        if not before <= split <= count:
            raise InvalidArgumentError(
                f"Invalid split value {split}, must be in [{before}, {count}]"
            )
    if splits and splits[-1] != count:
        raise InvalidArgumentError(
            f"Last split value must be data size. Expected {count}, got {splits[-1]}"
        )


def _grams(
    row: list[bytes], width: int, padding: int, pads: tuple[bytes, bytes], between: bytes
) -> list[bytes]:
    """The n-grams of one width of a row that is padded on both sides."""
    pad = width - 1 if padding < 0 else min(padding, width - 1)
    check_count(2 * pad + len(row), "strings in a padded row", MOST_LISTS)
    whole = [pads[0]] * pad + row + [pads[1]] * pad
    if width > len(whole):
        return []
    return list(map(between.join, zip(*(islice(whole, k, None) for k in range(width)))))


def _ngrams(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    separator: str,
    ngram_widths: Sequence[int],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> list[Array]:
    data = np.asarray(inputs[0], object).tolist()
    splits = np.asarray(inputs[1]).tolist()
    if any(width <= 0 for width in ngram_widths):
        raise InvalidArgumentError("ngram_widths must contain positive values")
    _check_splits(splits, len(data))
    between, *pads = (
        t.encode("utf-8", "surrogateescape") for t in (separator, left_pad, right_pad)
    )
    found: list[bytes] = []
    ends = [0] if splits else []
    for start, end in pairwise(splits):
        row, before = data[start:end], len(found)
        for width in ngram_widths:
            found += _grams(row, width, pad_width, (pads[0], pads[1]), between)
        if preserve_short_sequences and row and len(found) == before:
            if pad_width < 0:  # of each width its own, and there is no width
                raise InvalidArgumentError(
                    "Pad width should be >= 0 when preserve_short_sequences is True and "
                    f"ngram_widths are not provided, got {pad_width}"
                )
            check_count(2 * pad_width, "strings of padding", MOST_LISTS)
            found.append(between.join([pads[0]] * pad_width + row + [pads[1]] * pad_width))
        ends.append(len(found))
    return [strings_of(found, (len(found),)), np.array(ends, types[1].numpy)]


def _infer_ngrams(c: Inference) -> list[Dims]:
    for i in (0, 1):
        c.need_rank(i, 1)
    return [(c.fresh("ngrams"),), c.dims(1)]


host_op(
    "string_n_grams",
    "StringNGrams(data: string, data_splits: Tsplits; separator: string, ngram_widths: list(int),"
    " left_pad: string, right_pad: string, pad_width: int, preserve_short_sequences: bool,"
    " Tsplits: {i32, i64} = i64) -> ngrams: string, ngrams_splits: Tsplits",
    _ngrams,
    infer=_infer_ngrams,
)


# -- joins


def _joined(
    inputs: Sequence[Any], _: Sequence[DType], *, keep_dims: bool, separator: str
) -> list[Array]:
    """Over axes, of which the first one that is named goes fastest."""
    array = np.asarray(inputs[0], object)
    axes = [int(a) % max(array.ndim, 1) for a in np.asarray(inputs[1]).reshape(-1)]
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    shape = [array.shape[axis] for axis in kept]
    size = int(np.prod([array.shape[axis] for axis in axes]))
    rows = array.transpose([*kept, *reversed(axes)]).reshape(-1, size) if size else None
    between = separator.encode("utf-8", "surrogateescape")
    count = int(np.prod(shape))
    items = [b""] * count if rows is None else [between.join(row) for row in rows.tolist()]
    if keep_dims:
        shape = [1 if axis in axes else n for axis, n in enumerate(array.shape)]
    return [strings_of(items, tuple(shape))]


def _infer_joined(c: Inference) -> Dims:
    rank, found = c.rank(0), c.need_ints(1)
    for axis in found:
        if not -rank <= axis < rank:
            raise c.fail(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
    axes = [axis % rank for axis in found]
    for k, axis in enumerate(axes):
        if axis in axes[:k]:
            raise InvalidArgumentError(f"Duplicate reduction dimension {found[k]}")
    if c.attrs["keep_dims"]:
        return tuple(1 if axis in axes else d for axis, d in enumerate(c.dims(0)))
    return tuple(d for axis, d in enumerate(c.dims(0)) if axis not in axes)


host_op(
    "reduce_join",
    "ReduceJoin(inputs: string, reduction_indices: i32; keep_dims: bool = False, separator: string"
    ' = "") -> output: string',
    _joined,
    infer=_infer_joined,
)


def _segments(inputs: Sequence[Any], _: Sequence[DType], *, separator: str) -> list[Array]:
    array, ids = np.asarray(inputs[0], object), np.asarray(inputs[1])
    count = int(inputs[2])
    if count < 0:
        raise InvalidArgumentError("Number of segments cannot be negative")
    if ((ids < 0) | (ids >= count)).any():
        raise InvalidArgumentError(
            "segment_ids are not allowed to exceed num_segments or to have negative values."
        )
    rest = array.shape[ids.ndim :]
    size = int(np.prod(rest))
    check_count(count * size, "joined strings", MOST_LISTS)
    found: list[list[bytes]] = [[] for _ in range(count * size)]
    rows = array.reshape(ids.size, size).tolist() if array.size else []
    for segment, row in zip(ids.reshape(-1).tolist(), rows):
        for k, text in enumerate(row):
            found[segment * size + k].append(text)
    between = separator.encode("utf-8", "surrogateescape")
    return [strings_of([between.join(texts) for texts in found], (count, *rest))]


def _infer_segments(c: Inference) -> Dims:
    c.need_rank(2, 0)
    ids, dims = c.dims(1), c.dims(0)
    if len(ids) > len(dims):
        raise c.fail(f"Shape must be at most rank {len(dims)} but is rank {len(ids)}")
    for x, y in zip(dims, ids):
        c.equal(x, y, f"Dimensions must be equal, but are {x} and {y}")
    known = c.content(2)
    count = known[()] if known is not None else None
    segments = int(count) if isinstance(count, int | np.integer) else c.fresh("segments")
    return (segments, *dims[len(ids) :])


host_op(
    "unsorted_segment_join",
    "UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments;"
    ' separator: string = "", Tindices: {i32, i64}, Tnumsegments: {i32, i64} = i32) -> output:'
    " string",
    _segments,
    infer=_infer_segments,
)
