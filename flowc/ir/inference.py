"""What a record's `infer` sees of a node, and the errors that it raises.

In: types of a node's inputs, its attrs, and what is known of inputs' elements. Out: the dims of its
outputs. Invariant: a rule states that sizes are equal, or at least so large, and does not compare
them, since some are known only when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import (
    ResourceExhaustedError,
    ShapeError,
    UnimplementedError,
    UnsupportedError,
)
from flowc.ir.dims import Dim, Expr, as_dim, maximum
from flowc.ir.op import Attrs, Op
from flowc.ir.types import MAX_RANK, Dims, TensorType

OpenShapes = Sequence[tuple[int | None, ...] | None]  # of outputs, as far as they are known
MOST_INTS = 1 << 22  # that sizes, axes and positions of a node are made of


class NeedsContent(UnimplementedError):
    """Inference needs the elements of an input (a shape, an axis) that are not known yet: a limit
    of flowc, no fault of the graph. `input`: its number, where one is wanted. `shapes`: what is
    known of the outputs without them, None for one of unknown rank."""

    def __init__(
        self,
        message: str,
        *,
        node: str | None = None,
        hint: str | None = None,
        input: int | None = None,
        shapes: OpenShapes | None = None,
    ) -> None:
        super().__init__(message, node=node, hint=hint)
        self.input = input
        self.shapes = shapes


class Inference:
    """What `infer` sees of a node: input types, attrs, and what is known of inputs' elements.

    `fresh(hint, bound)` makes (or, when types are re-inferred, gives again) a data-dependent size.
    `builds`: a program is building the node, of which TensorFlow's shape functions say in general
    words what its kernels say in others: a fault has both.
    """

    def __init__(
        self,
        op: Op,
        inputs: Sequence[TensorType],
        attrs: Attrs,
        content: Callable[[int], np.ndarray | None] = lambda _: None,
        fresh: Callable[[str, Dim | None], Dim] | None = None,
        require: Callable[[Dim, Dim], None] | None = None,
        read: Callable[[int, int], np.ndarray | None] | None = None,
        node_name: str | None = None,
        builds: bool = False,
    ) -> None:
        self.op = op
        self.inputs = tuple(inputs)
        self.attrs = attrs
        self.node_name = node_name
        self.builds = builds
        self._content = content
        self._fresh = fresh
        self._require = require
        self._read = read

    def dims(self, i: int) -> Dims:
        return self.inputs[i].dims

    def rank(self, i: int) -> int:
        return self.inputs[i].rank

    def need_rank(self, i: int, rank: int, fault: str = "") -> None:
        """Fails where input i is of another rank: with `fault`, or as TensorFlow's shape functions
        say it."""
        if self.rank(i) != rank:
            built = self._other_rank(i, rank)
            raise self.fail(fault, built=built) if fault else self.fail(built)

    def need_ranks(self, *ranks: int) -> None:
        """Fails where one of the first inputs is of another rank."""
        for i, rank in enumerate(ranks):
            self.need_rank(i, rank)

    def _other_rank(self, i: int, rank: int) -> str:
        return f"Shape must be rank {rank} but is rank {self.rank(i)}"

    def content(self, i: int) -> np.ndarray | None:
        """The elements of input i: an int array, or an object array of ints and sizes; or None."""
        return self._content(i)

    def need(self, i: int, below: int = 0, shapes: OpenShapes | None = None) -> np.ndarray:
        """The elements of input i as ints and sizes; those that the run computes become sizes that
        it reads, which may be as far below 0 as `below` says. `shapes`: what is known of the
        outputs without them. Raises `NeedsContent` where that cannot be."""
        found = self._content(i)
        if found is None and self._read is not None:
            found = self._read(i, below)
        if found is None:
            raise NeedsContent(
                f"{self.op.tf_name} needs the elements of its input {i} "
                f"({self.inputs[i]}) when it is compiled, and they are computed at run time",
                node=self.node_name,
                input=i,
                shapes=shapes,
            )
        return found

    def need_size(self, i: int, fault: str = "") -> Dim:
        """The element of input i, a scalar, as a size. Raises `ShapeError` where it is none, with
        `fault` (see `need_sizes`) where it is negative, and `NeedsContent`."""
        self._check_rank(i, 0, "scalar")
        return self._sizes([self.need(i)[()]], fault)[0]

    def need_sizes(
        self, i: int, fault: str = "", below: int = 0, shapes: OpenShapes | None = None
    ) -> Dims:
        """The elements of input i, a vector with one for each dimension of a tensor, as sizes;
        `below` and `shapes` as for `need`. Raises `ShapeError` where it is none, with `fault`, if
        given, where one is negative: it may mention the {size} and its {place}; and
        `NeedsContent`."""
        self._check_rank(i, 1, "vector")
        count = self.dims(i)[0]
        if isinstance(count, int) and count > MAX_RANK:
            raise self.fail(f"input {i} has {count} sizes, expected at most {MAX_RANK} dimensions")
        return self._sizes(self.need(i, below, shapes), fault)

    def _sizes(self, found: Iterable[Any], fault: str) -> Dims:
        sizes = tuple(as_dim(d) for d in found)
        for place, size in enumerate(sizes):
            if fault and isinstance(size, int) and size < 0:
                raise self.fail(fault.format(place=place, size=size))
        return sizes

    def _check_rank(self, i: int, rank: int, kind: str) -> None:
        if self.rank(i) != rank:
            fault = f"input {i} must be a {kind}, not {self.inputs[i]}"
            raise self.fail(fault, built=self._other_rank(i, rank))

    def need_ints(self, i: int, shapes: OpenShapes | None = None) -> tuple[int, ...]:
        """The elements of input i as ints, flattened. `shapes`: what is known of the outputs
        without them. Raises `NeedsContent` for sizes."""
        found = self._content(i)
        if found is not None and found.size > MOST_INTS:
            raise ResourceExhaustedError(
                f"{self.op.tf_name}: {found.size} numbers are its input {i} ({self.inputs[i]}); "
                f"expected at most {MOST_INTS}",
                node=self.node_name,
            )
        if found is None or any(isinstance(x, Expr) for x in found.reshape(-1)):
            raise NeedsContent(
                f"{self.op.tf_name} needs constants as its input {i} ({self.inputs[i]}), "
                f"found {'values computed at run time' if found is None else list(found.flat)}",
                node=self.node_name,
                input=i,
                shapes=shapes,
            )
        return tuple(int(x) for x in found.reshape(-1))

    def need_int_vector(self, i: int) -> tuple[int, ...]:
        """The elements of input i, a vector, as ints. Raises as `need_sizes` and `need_ints` do."""
        self._check_rank(i, 1, "vector")
        return self.need_ints(i)

    def need_int(self, i: int, shapes: OpenShapes | None = None) -> int:
        """The element of input i, a scalar, as an int; `shapes` as for `need_ints`. Raises as
        `need_size` does."""
        self._check_rank(i, 0, "scalar")
        return self.need_ints(i, shapes)[0]

    def fresh(self, hint: str, bound: Dim | None = None) -> Dim:
        """A size known only at run time, at most `bound`."""
        if self._fresh is None:
            raise NeedsContent(f"{self.op.tf_name} has a data-dependent size", node=self.node_name)
        return self._fresh(hint, bound)

    def stated(self, shape: Sequence[int | None]) -> Dims:
        """The dims of a shape, in which what is None is a size of its own."""
        return tuple(self.fresh("n") if size is None else size for size in shape)

    def fail(self, message: str, hint: str | None = None, built: str = "") -> ShapeError:
        """The error to raise for inputs that the op does not take. `built`: what comes before the
        message where a program builds the node."""
        if built and self.builds:
            message = f"{built}: {message}" if message else built
        return ShapeError(self._located(message), node=self.node_name, hint=hint)

    def unimplemented(self, message: str) -> UnimplementedError:
        """The error to raise for what TensorFlow has no kernel for."""
        return UnimplementedError(self._located(message), node=self.node_name)

    def _located(self, message: str) -> str:
        where = f" at node '{self.node_name}'" if self.node_name else ""
        return f"{self.op.tf_name}{where}: {message} ({self._types()})"

    def _types(self) -> str:
        return f"inputs: {', '.join(str(t) for t in self.inputs) or 'none'}"

    def refuse(self, i: int, *without_kernel: DType) -> None:
        """Raises `UnsupportedError` where input i is of a dtype for which there is no kernel."""
        if self.inputs[i].dtype in without_kernel:
            text = self._located(f"there is no kernel for {self.inputs[i].dtype}")
            raise UnsupportedError(text, node=self.node_name)

    def broadcast(self, *operands: int) -> Dims:
        """The dims that the given inputs (all, if none is given) broadcast to."""
        which = operands or tuple(range(len(self.inputs)))
        result: Dims = self.inputs[which[0]].dims
        for i in which[1:]:
            result = self.broadcast_dims(result, self.inputs[i].dims)
        return result

    def broadcast_dims(self, left: Dims, right: Dims) -> Dims:
        rank = max(len(left), len(right))
        a = (1,) * (rank - len(left)) + left
        b = (1,) * (rank - len(right)) + right
        return tuple(self._broadcast_dim(x, y, left, right) for x, y in zip(a, b))

    def _broadcast_dim(self, x: Dim, y: Dim, left: Dims, right: Dims) -> Dim:
        if x == y or y == 1:
            return x
        if x == 1:
            return y
        if isinstance(x, int) and isinstance(y, int):
            shown = [f"[{','.join(map(str, d))}]" for d in (left, right)]
            fault = f"Incompatible shapes: {shown[0]} vs. {shown[1]}"
            raise self.fail(fault, built=unequal(x, y))
        # A size not known yet could be 1 and broadcast, but graphs mean it to be equal.
        return self.equal(x, y)

    def equal(self, x: Dim, y: Dim, fault: str = "") -> Dim:
        """One of two sizes that must be the same, else fails with `fault`; where that cannot be
        seen, the run checks it."""
        if isinstance(x, int) and isinstance(y, int) and x != y:
            if self.builds:
                raise self.fail(fault, built=unequal(x, y))
            raise self.fail(fault or f"sizes {x} and {y} must be equal")
        if x != y and self._require is not None:
            self._require(x, y)
        return x if isinstance(x, int) else y

    def at_least(self, size: Dim, least: int, fault: str) -> None:
        """A size must not be less than a number, as `equal` has it of two sizes."""
        if isinstance(size, int) and size < least:
            raise self.fail(fault)
        self.equal(size, maximum(least, size))

    def match_dims(self, wanted: Dims, given: Dims, fault: str) -> None:
        """Two shapes must be the same, as `equal` has it of sizes. `fault`: what a run says; where
        a program builds the node, TensorFlow's shape functions have words of their own."""
        if len(wanted) != len(given):
            built = f"Shapes must be equal rank, but are {len(wanted)} and {len(given)}"
            raise self.fail(built if self.builds else fault)
        for axis, (x, y) in enumerate(zip(wanted, given)):
            if self.builds and isinstance(x, int) and isinstance(y, int) and x != y:
                raise self.fail(
                    f"Dimension {axis} in both shapes must be equal, but are {x} and {y}. "
                    f"Shapes are {_static(wanted)} and {_static(given)}."
                )
            self.equal(x, y, fault)

    def need_dims(self, i: int, dims: Dims, fault: str) -> None:
        """Fails where input i is of other dims; sizes that are not known yet, the run checks."""
        found = self.dims(i)
        if len(found) != len(dims) or any(
            isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(dims, found)
        ):
            raise self.fail(fault)
        for x, y in zip(dims, found):
            self.equal(x, y, fault)

    def need_number(self, size: Dim, what: str, shapes: Sequence[Dims | None] = ()) -> int:
        """A size that decides a rank, or what is computed. `what`: its name in the message.
        `shapes`: the dims of the outputs, as far as they are known without it. Raises
        `NeedsContent` where the run finds it."""
        if isinstance(size, int):
            return size
        known = [None if d is None else open_shape(d) for d in shapes]
        raise NeedsContent(
            f"{self.op.tf_name} needs {what} when it is compiled ({self._types()})",
            node=self.node_name,
            hint="give the placeholder that size",
            shapes=known or None,
        )

    def axis(self, value: int, rank: int) -> int:
        """A possibly negative axis as one in [0, rank)."""
        if not -rank <= value < rank:
            raise self.fail(f"axis {value} is not in [{-rank}, {rank})")
        return value % rank if rank else 0


def open_shape(dims: Dims) -> tuple[int | None, ...]:
    """Dims as static shapes are: None for what is not known."""
    return tuple(d if isinstance(d, int) else None for d in dims)


def _static(dims: Dims) -> str:
    """As graphs show shapes: `[2,?]`."""
    return f"[{','.join(str(dim) if isinstance(dim, int) else '?' for dim in dims)}]"


def unequal(x: int, y: int) -> str:
    """What TensorFlow's shape functions say of sizes that differ."""
    return f"Dimensions must be equal, but are {x} and {y}"


def indivisible(by: int, size: int) -> str:
    """What TensorFlow's shape functions say of a size that is no multiple of another one."""
    return f"Dimension size must be evenly divisible by {by} but is {size}"
