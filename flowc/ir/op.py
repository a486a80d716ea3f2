"""One record an op: everything that the program knows of it.

In: `define(...)`, once for each op, in a file of `flowc/ops/`. Out: `op_named` and `tf_op`.
Invariant: names are unique, and nothing about an op stands outside its record.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ParamSpec, cast

import numpy as np

from flowc.dtypes import DType
from flowc.errors import (
    InvalidModelError,
    ResourceExhaustedError,
    ShapeError,
    UnimplementedError,
    UnsupportedError,
)
from flowc.ir.cached_property import cached_property
from flowc.ir.capability import Capability
from flowc.ir.dims import Dim, Expr, as_dim, maximum
from flowc.ir.lowering import Lowering
from flowc.ir.mark_access import MarkAccess
from flowc.ir.signature import REQUIRED, Arg, OpSignature, parse_signature
from flowc.ir.types import MAX_RANK, Dims, TensorType

if TYPE_CHECKING:
    from flowc.ir.computation import Node

Attrs = Mapping[str, Any]
P = ParamSpec("P")
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


@dataclass(frozen=True, eq=False)
class Op:
    """`name`: what IR text prints. `tf`: TensorFlow's signature (signature.py has the grammar).

    `infer(c)` returns the output's dims as a tuple, or a list of such tuples for several outputs;
    dtypes follow from the signature. `reference(*inputs, **attrs)` computes the outputs in NumPy:
    an input that is a list in the signature comes as a list; keyword-only parameters name the attrs
    that it wants (type attrs as `DType`). `lowering`: a Lowering, or a function of the node.
    `gradient(b, node, *dys)` returns the gradients of the inputs (None where there is none), those
    at the end left out if nothing flows to them; it is written against a `GradientBuilder`
    (`ops/gradients.py`), or is None where the op has no gradient yet. `traits`: see TRAITS.
    `examples`: each a text of input types and attrs such as `"f32[2,3] i32[]=1; axis=0"`, from
    which tests are made (`op_examples.py`). `content`: True if `reference` also works on object
    arrays of sizes, so that shape arithmetic passes through; or a function to use in its place.
    `aliases`: other TF op names with the same signature and meaning. `on_lists`: emits the op, as
    `Extracted` does, where inputs are TensorLists, or what takes no part in arithmetic else
    (`ir/extraction.py`); `on_data`: where inputs have elements that only the run knows, or sizes
    that loops find, and `infer` may want more of them than sizes that it can read; `on_variants`:
    where T is a variant, and what it holds only Python knows. `marks`: how the
    op reads and changes the marks of a list (`ir/mark_access.py`). `capability`: what it touches
    beyond tensors, which an imported node may only where it is allowed to (`ir/capability.py`).
    `stamp`: a text of all code behind an op that is not flowc's own, for keys of caches.
    `on_gpu`: the op that takes a node's place in programs for a GPU, None where there is no other.
    """

    name: str
    tf: str
    infer: Callable[[Inference], Dims | list[Dims]]
    lowering: Lowering | Callable[[Node], Lowering]
    reference: Callable[..., Any] | None = None
    gradient: Callable[..., Any] | None = None
    traits: frozenset[str] = frozenset()
    examples: tuple[str, ...] = ()
    content: bool | Callable[..., Any] = False
    aliases: tuple[str, ...] = ()
    on_lists: Callable[..., Any] | None = None
    on_data: Callable[..., Any] | None = None
    on_variants: Callable[..., Any] | None = None
    marks: MarkAccess | None = None
    capability: Capability | None = None
    stamp: Callable[[], str] | None = None
    on_gpu: Callable[[Node], Op | None] | None = None

    @cached_property
    def signature(self) -> OpSignature:
        return parse_signature(self.tf)

    @cached_property
    def tf_name(self) -> str:
        return self.tf.partition("(")[0].strip()

    @property
    def is_internal(self) -> bool:
        """Whether only flowc makes such nodes. TensorFlow writes `_Fused...` into optimised graphs;
        every other name that begins so is flowc's."""
        return self.tf_name.startswith("_") and not self.tf_name.startswith("_Fused")

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __str__(self) -> str:
        return self.name


TRAITS = {
    "commutative",  # f(x, y) == f(y, x)
    "associative",
    "aggregate",  # of any number of inputs in any order
    "idempotent",  # f(f(x)) == f(x)
    "involution",  # f(f(x)) == x
    "identity",  # the output is input 0 (Identity, StopGradient, Snapshot...)
    "by_element",  # of each element of input 0 alone; other inputs are the same for all
    "moves",  # every element of its output is an element of its inputs (Pack, Reshape...)
    "chooses",  # as "moves", of inputs 1 and 2; input 0 says which
    "begins_with",  # its text is that of the first input with texts, and ends behind it
    "of_sizes",  # its outputs follow from the sizes of its inputs, not from an element of them
    "sets_elements",  # the output is input 0, a list, with the elements at input 1 set
    "stateful",  # never merged, folded or dropped as unused: has an effect or reads one
    "random",  # draws from a stream: never merged or folded
    "may_block",  # waits for what others do: a run holds no lock meanwhile
    "variable",  # its output is a variable: its handle, or a reference to it
    "saved_bytes",  # its output is the handle of an object that a checkpoint has as bytes
    "assign",  # input 0, a variable, becomes input 1
    "fed",  # what callers give may stand in its place
    "placeholder",  # fed, or an error
    "call",  # its outputs are those of its function `f` of its inputs
    "on_cpu",  # its kernel is for the CPU, also where there is a GPU
    "on_gpu",  # its kernel is for the GPU
    "always_runs",  # also where what it waits for does not run
    "no_fold",  # too large or meaningless to evaluate at compile time (Placeholder, Range of sizes)
}

_BY_NAME: dict[str, Op] = {}
_BY_TF_NAME: dict[str, Op] = {}


def _register(op: Op) -> Op:
    """Registers a record. Raises `ValueError` for a name already taken or an unknown trait."""
    unknown = op.traits - TRAITS
    if unknown:
        raise ValueError(f"{op.name}: unknown traits {sorted(unknown)}")
    if op.name in _BY_NAME:
        raise ValueError(f"op {op.name!r} is defined twice")
    tf_names = (op.tf_name, *op.aliases)
    for tf_name in tf_names:
        if tf_name in _BY_TF_NAME:
            raise ValueError(f"TensorFlow op {tf_name!r} is defined twice")
    _BY_NAME[op.name] = op
    _BY_TF_NAME.update(dict.fromkeys(tf_names, op))
    return op


@contextmanager
def all_or_none() -> Generator[None]:
    """Within it, what fails has registered nothing."""
    before = set(_BY_NAME), set(_BY_TF_NAME)
    try:
        yield
    except BaseException:
        for table, names in zip((_BY_NAME, _BY_TF_NAME), before):
            for name in set(table) - names:
                del table[name]
        raise


def _registering(make: Callable[P, Op]) -> Callable[P, Op]:
    return lambda *fields, **named: _register(make(*fields, **named))


# Takes the fields of a record and registers it.
define = _registering(Op)


def op_named(name: str) -> Op:
    """The record with this IR name. Raises `KeyError`."""
    return _BY_NAME[name]


def tf_op(tf_name: str) -> Op | None:
    """The record of a TensorFlow op type, or None where flowc has none."""
    return _BY_TF_NAME.get(tf_name)


def all_ops() -> tuple[Op, ...]:
    """Every record, in order of definition."""
    return tuple(_BY_NAME.values())


def tf_names() -> tuple[str, ...]:
    """Every TensorFlow op type that has a record, aliases too."""
    return tuple(_BY_TF_NAME)


def stamp_of_others() -> str:
    """A text of the code behind all ops that are not flowc's own; empty where there are none."""
    others = (op for op in tuple(_BY_NAME.values()) if op.stamp is not None)
    return "\n".join(sorted(f"{op.tf} {op.stamp()}" for op in others if op.stamp is not None))


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

    def need_rank(self, i: int, rank: int, fault: str) -> None:
        """Fails with `fault` where input i is of another rank."""
        if self.rank(i) != rank:
            raise self.fail(fault, built=self._other_rank(i, rank))

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

    def need_sizes(self, i: int, fault: str = "", below: int = 0) -> Dims:
        """The elements of input i, a vector with one for each dimension of a tensor, as sizes;
        `below` as for `need`. Raises `ShapeError` where it is none, with `fault`, if given, where
        one is negative: it may mention the {size} and its {place}; and `NeedsContent`."""
        self._check_rank(i, 1, "vector")
        count = self.dims(i)[0]
        if isinstance(count, int) and count > MAX_RANK:
            raise self.fail(f"input {i} has {count} sizes, expected at most {MAX_RANK} dimensions")
        return self._sizes(self.need(i, below), fault)

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

    def fail(self, message: str, hint: str | None = None, built: str = "") -> ShapeError:
        """The error to raise for inputs that the op does not take. `built`: what comes before the
        message where a program builds the node."""
        if built and self.builds:
            message = f"{built}: {message}" if message else built
        return ShapeError(self._told(message), node=self.node_name, hint=hint)

    def unimplemented(self, message: str) -> UnimplementedError:
        """The error to raise for what TensorFlow has no kernel for."""
        return UnimplementedError(self._told(message), node=self.node_name)

    def _told(self, message: str) -> str:
        types = ", ".join(str(t) for t in self.inputs)
        where = f" at node '{self.node_name}'" if self.node_name else ""
        return f"{self.op.tf_name}{where}: {message} (inputs: {types or 'none'})"

    def refuse(self, i: int, *without_kernel: DType) -> None:
        """Raises `UnsupportedError` where input i is of a dtype for which there is no kernel."""
        if self.inputs[i].dtype in without_kernel:
            text = self._told(f"there is no kernel for {self.inputs[i].dtype}")
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

    def axis(self, value: int, rank: int) -> int:
        """A possibly negative axis as one in [0, rank)."""
        if not -rank <= value < rank:
            raise self.fail(f"axis {value} is not in [{-rank}, {rank})")
        return value % rank if rank else 0


def _static(dims: Dims) -> str:
    """As graphs show shapes: `[2,?]`."""
    return f"[{','.join(str(dim) if isinstance(dim, int) else '?' for dim in dims)}]"


def unequal(x: int, y: int) -> str:
    """What TensorFlow's shape functions say of sizes that differ."""
    return f"Dimensions must be equal, but are {x} and {y}"


def indivisible(by: int, size: int) -> str:
    """What TensorFlow's shape functions say of a size that is no multiple of another one."""
    return f"Dimension size must be evenly divisible by {by} but is {size}"


def output_dtypes(op: Op, inputs: Sequence[TensorType], attrs: Attrs) -> tuple[DType, ...]:
    """The dtypes of a node's outputs, from its signature.

    Raises `InvalidModelError` where input dtypes contradict the signature.
    """
    bound = bind_types(op, [t.dtype for t in inputs], attrs)
    found: list[DType] = []
    for arg in op.signature.outputs:
        kind = cast(Any, arg.dtype if arg.type_attr is None else bound[arg.type_attr])
        if arg.is_list:
            found.extend(kind)
        elif arg.number_attr is not None:
            found += [kind] * bound[arg.number_attr]
        else:
            found.append(kind)
    return tuple(found)


def bind_types(op: Op, inputs: Sequence[DType], attrs: Attrs) -> dict[str, Any]:
    """Type and number attrs by name: those given, those that follow from inputs, and defaults."""
    signature = op.signature
    bound: dict[str, Any] = {**signature.attr_defaults, **attrs}
    known: dict[str, Any] = dict(attrs)
    spans = input_spans(op, len(inputs), attrs)
    for arg, (start, stop) in zip(signature.inputs, spans):
        given = tuple(inputs[start:stop])
        if arg.number_attr is not None:
            bound[arg.number_attr] = stop - start
        if arg.is_list:
            bound[arg.type_attr or ""] = given
            continue
        if arg.type_attr is None:
            wanted = arg.dtype
        else:
            wanted = known.setdefault(arg.type_attr, given[0] if given else None)
            bound[arg.type_attr] = wanted
        for dtype in given:
            if dtype is not wanted:
                raise InvalidModelError(
                    f"{op.tf_name}: input '{arg.name}' has dtype {dtype}, expected {wanted}"
                )
    return bound


def input_spans(op: Op, count: int, attrs: Attrs) -> list[tuple[int, int]]:
    """For each input of the signature, where its tensors stand among the node's `count` inputs."""
    args = op.signature.inputs
    listed = op.signature.listed_inputs
    widths = [_stated_width(arg, attrs) if i in listed else 1 for i, arg in enumerate(args)]
    # One list takes what the others leave; several lists of one number share it.
    left = count - sum(width for width in widths if width is not None)
    open_lists = widths.count(None)
    spans: list[tuple[int, int]] = []
    at = 0
    for stated in widths:
        width = left // open_lists if stated is None else stated
        spans.append((at, at + width))
        at += width
    if at != count:
        raise InvalidModelError(f"{op.tf_name}: takes {at} inputs, found {count}")
    return spans


def _stated_width(arg: Arg, attrs: Attrs) -> int | None:
    """How many tensors an input is, where attrs say it."""
    if not arg.is_list:
        return attrs.get(arg.number_attr or "")
    stated = attrs.get(arg.type_attr or "")
    return None if stated is None else len(stated)


@cache
def _wanted_attrs(op: Op, function: Callable[..., Any]) -> tuple[str, ...]:
    if isinstance(inspect.unwrap(function), np.ufunc):
        return ()  # its keyword-only parameters (out, where...) are NumPy's own
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return tuple(op.signature.attrs)
    return tuple(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)


def call_reference(
    op: Op,
    function: Callable[..., Any],
    arrays: Sequence[Any],
    attrs: Attrs,
    dtypes: Sequence[DType],
) -> list[np.ndarray]:
    """Runs a NumPy reference: groups list inputs and passes the attrs that it asks for by name, or
    all of them to one with `**attrs`."""
    bound = bind_types(op, dtypes, attrs)
    spans = input_spans(op, len(arrays), attrs)
    grouped: list[Any] = []
    for arg, (start, stop) in zip(op.signature.inputs, spans):
        many = arg.number_attr is not None or arg.is_list
        grouped.append(list(arrays[start:stop]) if many else arrays[start])
    wanted = _wanted_attrs(op, function)
    missing = [n for n in wanted if bound.get(n, REQUIRED) is REQUIRED]
    if missing:
        raise InvalidModelError(f"{op.tf_name}: attr {missing[0]!r} is missing")
    result = function(*grouped, **{n: bound[n] for n in wanted})
    return list(cast(Sequence[Any], result)) if isinstance(result, (tuple, list)) else [result]
