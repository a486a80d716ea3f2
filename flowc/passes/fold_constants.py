"""Evaluates what is known when compiling.

In: any Computation. Out: nodes whose inputs are all constants become constants, by the NumPy
reference of their record; values whose elements are known sizes become constants or `sizes` nodes.
Sizes that such a node defines are those of its results.
Not folded are results that would be much larger than their inputs, those beyond the memory budget
of a sweep, and ops on halves that TensorFlow rounds several times, since references round once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.ir.builder import NEVER_FOLDED, Builder, holds_sizes, rounds_otherwise
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import lone_symbol
from flowc.ir.lowering import Structural
from flowc.ir.op import call_reference
from flowc.ir.rewrite import Rewriter, refined, rewrite_nodes
from flowc.ir.types import TensorType, is_repeated
from flowc.options import Options

# A folded result may have so many times the bytes of its inputs, and so many more: weights that are
# filled up with zeros stay known.
GROWTH, GROWTH_LIMIT = 2, 1 << 16
SHARE = 4  # of the memory that there is, the part that the results of a sweep may take


def fold_constants(c: Computation, options: Options) -> Computation:
    return fold_from(c, {}, options)


def fold_from(
    c: Computation, given: Mapping[Node, Callable[[Rewriter], Value]], options: Options
) -> Computation:
    """Folds what is known, where `given` says how some parameters are made now.

    What follows from elements that became known (sizes above all) is inferred again.
    """
    known: set[Value] = set()
    room = None if options.max_memory is None else _Room(c, options.max_memory // SHARE)

    def rule(b: Rewriter, node: Node) -> Value | Sequence[Value] | None:
        make = given.get(b.old)
        if make is not None:
            new = make(b)
            known.add(new)
            return new
        new = _fold(b, node, room)
        if new is not None:
            known.update((new,) if isinstance(new, Value) else new)
        elif not known.isdisjoint(node.inputs):
            # The outputs may be known in part: sizes in a shape, say.
            new = refined(b, node)
            known.update(v for v in new or node.outputs if b.content(v) is not None)
        return new

    return rewrite_nodes(c, rule)


class _Room:
    """Bytes that results may still take: as many as the constants have that are there before, and
    `more`."""

    def __init__(self, c: Computation, more: int) -> None:
        arrays = (node.attrs["value"] for node in c.nodes if node.op.name == "const")
        self.left = more + sum(a.nbytes for a in arrays if not is_repeated(a))

    def take(self, size: int) -> bool:
        """Whether there is room for so many more, which are taken then."""
        if size > self.left:
            return False
        self.left -= size
        return True


def _fold(b: Rewriter, node: Node, room: _Room | None) -> Value | Sequence[Value] | None:
    if node.op.name == "read_sizes":
        return None  # `rewrite_nodes` looks after those
    if (
        isinstance(node.op.lowering, Structural)
        or node.op.traits & NEVER_FOLDED
        or not node.outputs
    ):
        return None
    known = _known_sizes(b, node)
    if known is not None:
        return known
    arrays = [v.constant for v in node.inputs if v.constant is not None]
    if node.op.reference is None or node.after or len(arrays) < len(node.inputs):
        return None
    if not _sizes_follow(node) or rounds_otherwise(node):
        return None
    grown = sum(int(t.size) * t.dtype.size for t in node.types if t.is_static)
    if grown > GROWTH_LIMIT + GROWTH * sum(a.nbytes for a in arrays):
        return None
    filled = sum(a.nbytes for a in arrays if is_repeated(a))  # references may hold these in full
    if room is not None and not room.take(grown + filled):
        return None
    kinds = [v.type.dtype for v in node.inputs]
    try:
        with np.errstate(all="ignore"):
            results = call_reference(node.op, node.op.reference, arrays, node.attrs, kinds)
    except (InvalidArgumentError, ResourceExhaustedError):
        return None  # elements at fault (an index out of range) fail the run that reaches them
    if room is not None and not room.take(sum(map(_text_bytes, results))):
        return None
    return [
        b.const(np.asarray(r, t.dtype.numpy).reshape(_dims_of(r, t)), t.dtype)
        for r, t in zip(results, node.types)
    ]


def _sizes_follow(node: Node) -> bool:
    """Whether the results say all sizes that are not known: those that the node defines, each
    of which is a dim of an output."""
    own = {size for size, _ in node.sizes}
    open_dims = {d for t in node.types for d in t.dims if not isinstance(d, int)}
    return {lone_symbol(d) for d in open_dims} == own


def _dims_of(result: Any, type: TensorType) -> tuple[int, ...]:
    return type.static_dims if type.is_static else np.shape(result)


def _text_bytes(result: Any) -> int:
    """What the texts of a result take, whose number alone says little."""
    array = np.asarray(result)
    return sum(len(text) for text in array.reshape(-1)) if array.dtype.hasobject else 0


def _known_sizes(b: Builder, node: Node) -> list[Value] | None:
    """The outputs from the sizes that they hold, when shape arithmetic has found them all. What has
    no elements is known of any op, but only the run may tell that its inputs are at fault."""
    if any(v.type.rank > 1 for v in node.outputs):
        return None
    if not node.op.content and all(v.type.size == 0 for v in node.outputs):
        return None
    contents = [b.content(v) for v in node.outputs]
    known = [c for c in contents if c is not None]
    if len(known) != len(contents):
        return None
    if any(
        v.type.dtype not in (dtypes.i32, dtypes.i64) and holds_sizes(c)
        for v, c in zip(node.outputs, known)
    ):
        return None  # what only the run knows is computed as i32 or i64, and cast
    return [b.holding(elements, v.type) for v, elements in zip(node.outputs, known)]
