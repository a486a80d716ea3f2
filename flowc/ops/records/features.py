"""The features of serialized examples as arrays: dense, sparse and ragged ones.

In: for each example the bytes of one feature, or None where it has none. Out: arrays, of all
examples at once. Invariant: what an example has is of the dtype and as large as was asked for, or
TensorFlow's error names the example, the key and what was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.encoding.example_parts import (
    BYTES_LIST,
    FLOAT_LIST,
    INT64_LIST,
    OtherKindError,
    byte_strings,
    floats,
    ints,
    kind_of,
)
from flowc.errors import InvalidArgumentError
from flowc.ops.strings.string_values import strings_of

Array = np.ndarray[Any, Any]
Column = Sequence[bytes | None]
Fault = Callable[[int, str], InvalidArgumentError]  # from the number of a feature, and what it is

KINDS = {dtypes.string: BYTES_LIST, dtypes.f32: FLOAT_LIST, dtypes.i64: INT64_LIST}
_SHOWN = {BYTES_LIST: "string", FLOAT_LIST: "float", INT64_LIST: "int64", 0: "unknown"}
_READ: dict[int, Callable[[Sequence[bytes]], tuple[Any, Array]]] = {
    BYTES_LIST: byte_strings,
    FLOAT_LIST: floats,
    INT64_LIST: ints,
}


def shown(dtype: DType) -> str:
    """What TensorFlow's messages call the dtype of a feature."""
    return _SHOWN[KINDS[dtype]]


Shape = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is taken from examples: (key, dtype) of sparse features; of ragged ones also the dtype
    of their splits; of dense ones their shape and default."""

    sparse: Sequence[tuple[str, DType]] = ()
    dense: Sequence[tuple[str, DType, Shape, Array]] = ()
    ragged: Sequence[tuple[str, DType, DType]] = ()


@dataclass(slots=True)
class Parsed:
    """Arrays in the order of an op's outputs."""

    indices: list[Array] = field(default_factory=list[Array])
    values: list[Array] = field(default_factory=list[Array])
    shapes: list[Array] = field(default_factory=list[Array])
    dense: list[Array] = field(default_factory=list[Array])
    ragged_values: list[Array] = field(default_factory=list[Array])
    ragged_splits: list[Array] = field(default_factory=list[Array])

    def outputs(self) -> list[Array]:
        found = (self.indices, self.values, self.shapes, self.dense)
        return [a for part in (*found, self.ragged_values, self.ragged_splits) for a in part]


@dataclass(frozen=True, slots=True)
class Values:
    """`flat`: the values of features, one behind the other. `counts`: how many each has."""

    flat: Array
    counts: Array

    @property
    def longest(self) -> int:
        return int(self.counts.max(initial=0))

    def splits(self, dtype: DType) -> Array:
        """Where each feature's values begin, and where the last ones end."""
        found = np.zeros(len(self.counts) + 1, dtype.numpy)
        np.cumsum(self.counts, out=found[1:])
        return found

    def positions(self) -> tuple[Array, Array]:
        """For each value the number of its feature, and its position in the feature."""
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        starts = np.cumsum(self.counts) - self.counts
        return rows, np.arange(len(self.flat)) - np.repeat(starts, self.counts)


def read_values(column: Column, dtype: DType, fault: Fault, wrong_type: str) -> Values:
    """The values of a column; none of features that are not there. `wrong_type`: how a message
    about features of another dtype goes on, with the {found} and the {wanted} one."""
    kind = KINDS.get(dtype)
    if kind is None:
        raise InvalidArgumentError(f"a feature is a float, an int64 or a string, not {dtype.name}")
    present = [feature for feature in column if feature]
    try:
        flat, counts = _READ[kind](present)
    except OtherKindError:
        kinds = ((i, kind_of(feature)) for i, feature in enumerate(column) if feature)
        i, found = next((i, found) for i, found in kinds if found not in (0, kind))
        text = wrong_type.format(found=_SHOWN[found], wanted=_SHOWN[kind])
        raise fault(i, f"Data types don't match. {text}") from None
    except ValueError as error:
        raise InvalidArgumentError(f"Could not parse example input: {error}") from None
    if len(present) < len(column):
        all_counts = np.zeros(len(column), np.int64)
        all_counts[[i for i, feature in enumerate(column) if feature]] = counts
        counts = all_counts
    if kind == BYTES_LIST:
        flat = strings_of(flat, (len(flat),))
    return Values(flat, counts)


def is_there(column: Column) -> list[bool]:
    """Which features have a list of some kind."""
    return [bool(feature) and kind_of(feature) != 0 for feature in column]


def fixed(
    values: Values,
    shape: Sequence[int],
    missing: Sequence[int],
    default: Array,
    fault: Fault,
) -> Array:
    """Features of one shape, side by side: [features, *shape]; the default where one is missing."""
    size, count = math.prod(shape), len(values.counts)
    wrong = np.flatnonzero(values.counts != size)
    if len(wrong):
        absent = set(missing)
        for i in wrong.tolist():
            if i not in absent:
                name = {"f": "float", "i": "int64", "O": "bytes"}[values.flat.dtype.kind]
                raise fault(
                    i,
                    f"Number of {name} values != expected.  Values size: {values.counts[i]} but "
                    f"output shape: [{','.join(map(str, shape))}]",
                )
    if not len(missing):
        return values.flat.reshape(count, *shape)
    found = np.empty((count, size), values.flat.dtype)
    found[:] = default.reshape(-1)
    present = np.ones(count, bool)
    present[list(missing)] = False
    found[present] = values.flat.reshape(-1, size)
    return found.reshape(count, *shape)


def padded(values: Values, shape: Sequence[int], default: Array, fault: Fault) -> Array:
    """Features of several lengths, each a number of elements of `shape`: [features, longest,
    *shape], filled up with the default, one element."""
    size = math.prod(shape)
    uneven = np.flatnonzero(values.counts % size) if size else np.zeros(0, np.int64)
    if len(uneven):
        name = {"f": "float", "i": "int64", "O": "bytes"}[values.flat.dtype.kind]
        sizes = ",".join(["?", *map(str, shape)])
        raise fault(
            int(uneven[0]),
            f"Number of {name} values is not a multiple of stride length. Saw "
            f"{values.counts[uneven[0]]} values but output shape is: [{sizes}]",
        )
    return filled_up(values, shape, default)


def filled_up(values: Values, shape: Sequence[int], default: Array) -> Array:
    """The features as one tensor [features, elements, *shape], filled up with the default. The
    values of each feature are a whole number of elements."""
    size, count, longest = math.prod(shape), len(values.counts), values.longest
    found = np.empty((count, longest // size if size else 0, *shape), values.flat.dtype)
    if default.size:
        found[:] = default.reshape(-1)[0]
    else:
        found[:] = b"" if found.dtype.hasobject else 0
    if size:
        found.reshape(count, longest)[np.arange(longest) < values.counts[:, None]] = values.flat
    return found
