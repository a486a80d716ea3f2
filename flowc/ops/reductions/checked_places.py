"""Ids of segments, and the rows that they take or give, before anything is computed with them.

In: a vector of integers, and how many places there are. Out: the same vector. Invariant: it is in
range, and in order where it must be, or the run has ended with the words that TensorFlow has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.lowering import Lowering, Native
from flowc.ir.op import define
from flowc.ops.kernels.segments import check_segment
from flowc.ops.kernels.status import fail

# Globals that the compiler gives to the kernel.
ORDERED = False
LAST = False


class _PlaceFaults(NamedTuple):
    """What is said of places of a kind. `few`: of a last one that is out of range, if that alone
    says something; `ordered`: whether they must be in order."""

    wrong: str  # {a} is a place, {b} the number of places, {c} where it stands
    few: str = ""  # the same
    ordered: bool = False


_WORDS = {
    "segments": _PlaceFaults(
        "Segment id {a} out of range [0, {b}), possibly because 'segment_ids' input is not sorted.",
        "segment ids must be < num_segments",
        ordered=True,
    ),
    "rows": _PlaceFaults("Bad: indices[{c}] == {a} out of range [0, {b})"),
    "segments of a gradient": _PlaceFaults(
        "Segment id {a} out of range [0, {b}).", "Invalid number of segments"
    ),
    "rows of a gradient": _PlaceFaults("Index {a} out of range [0, {b})."),
    "n": _PlaceFaults(
        "n must be non-negative but is {a}", "Input must have last dimension > n = {a}"
    ),
    **{
        f"{letter} of column {k}": _PlaceFaults(
            f"{letter} ({{a}}) from index[{{c}},{k}] out of bounds (>={{b}})"
        )
        for letter in "mk"
        for k in (0, 1)
    },
}
_NOT_INCREASING = "segment ids are not increasing"


def checked_places_kernel(places, count, out, status, n, begin, end):
    """Looks at all places in loops of vectors; only where one is wrong, for the first of them."""
    if LAST and begin < end and places[n - 1] >= count[0]:
        fail(status, 3, places[n - 1], count[0], n - 1)
        return
    limit = count[0]
    wrong = 0
    for i in range(begin, end):
        place = places[i]
        out[i] = place
        if place < 0 or place >= limit:
            wrong = 1
    if ORDERED:
        for i in range(begin if begin > 0 else 1, end):
            if places[i] < places[i - 1]:
                wrong = 1
    if wrong == 0:
        return
    for i in range(begin, end):
        if ORDERED:
            check_segment(places, i, n, limit, status)
        elif places[i] < 0 or places[i] >= limit:
            fail(status, 1, places[i], limit, i)
        if status[0]:
            return


def _lower(node: Node) -> Lowering:
    words = _WORDS[node.attrs["kind"]]
    size = node.inputs[0].dims[0]
    return Native(
        checked_places_kernel,
        arguments=(size,),
        parallel=size,
        errors=(words.wrong, _NOT_INCREASING, words.few),
        constants={"ORDERED": words.ordered, "LAST": bool(words.few)},
    )


def check_places(places: np.ndarray, count: int, kind: str) -> None:
    """What the kernel does, with arrays."""
    words = _WORDS[kind]
    if words.few and places.size and places[-1] >= count:
        raise InvalidArgumentError(words.few.format(a=places[-1], b=count, c=places.size - 1))
    wrong = np.flatnonzero((places < 0) | (places >= count))
    falls = np.flatnonzero(np.diff(places.astype(np.int64)) < 0)
    if words.ordered and falls.size and (not wrong.size or places[wrong[0]] == places[falls[0]]):
        raise InvalidArgumentError(_NOT_INCREASING)
    if wrong.size:
        text = words.wrong.format(a=places[wrong[0]], b=count, c=wrong[0])
        raise InvalidArgumentError(text)


def _reference(places: np.ndarray, count: np.ndarray, *, kind: str) -> Any:
    check_places(places, int(count), kind)
    return places


define(
    "checked_places",
    "_CheckedPlaces(places: Tidx, count: i64; Tidx: INDEX, kind: str) -> checked: Tidx",
    infer=lambda c: c.dims(0),
    reference=_reference,
    lowering=_lower,
    examples=(
        *(f"Tidx[4]=[0,0,1,3] i64[]=4; kind='{kind}'" for kind in _WORDS),
        "i32[0] i64[]=0; kind='segments'",
    ),
)
