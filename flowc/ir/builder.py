"""Builds Computations: infers types, follows shape arithmetic, stamps origins.

In: ops, values, attrs. Out: nodes with checked types, then a Computation. Invariant: what a Builder
makes passes the verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import (
    FlowcError,
    InvalidArgumentError,
    InvalidModelError,
    ResourceExhaustedError,
    as_raised,
)
from flowc.ir.computation import Computation, Node, Value, parameter_node
from flowc.ir.dims import Dim, Expr, Symbol, expression, fresh_symbol, symbols_of
from flowc.ir.inference import Inference
from flowc.ir.lowering import Elementwise, Extracted, Structural
from flowc.ir.op import Op, call_reference, op_named, output_dtypes
from flowc.ir.scalar_body import rounds_halves
from flowc.ir.signature import REQUIRED
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import MAX_RANK, TensorType

Content = np.ndarray | None
CONTENT_LIMIT = 1024  # elements; larger integer tensors are data, not shapes
NEVER_FOLDED = frozenset({"stateful", "random", "no_fold"})
MAX_I32, MAX_SIZE = (1 << 31) - 1, (1 << 63) - 1
SIZES_LIMIT = 32  # elements of a tensor that the run may read sizes from


class Builder:
    """Appends nodes to a Computation under construction.

    `origin` is stamped on every node made; set it (or pass it) per TensorFlow node. Names of ops
    are methods: `b.add(x, y)`, `b.transpose(x, perm)`; NumPy arrays and Python numbers among the
    inputs become constants of the dtype of the first Value input (ints for shapes: i32).
    """

    builds = False  # whether nodes are those that a program is building (`Inference.builds`)

    def __init__(self, origin: tuple[str, ...] = ()) -> None:
        self.origin = origin
        self.nodes: list[Node] = []
        self.parameters: list[Node] = []
        self.constraints: list[tuple[Dim, Dim]] = []
        self.met: list[tuple[Dim, Dim]] | None = None  # if given, sizes that must be equal, too
        self.use_counts: dict[Value, int] = {}
        self._content: dict[Value, Content] = {}
        self._defined: set[Symbol] = set()  # sizes that nodes and parameters of this builder define

    # -- making nodes

    def emit(
        self,
        op: Op,
        inputs: Sequence[Value],
        attrs: Mapping[str, Any] | None = None,
        *,
        after: Iterable[Node] = (),
        origin: tuple[str, ...] | None = None,
        given: Sequence[Symbol] = (),
    ) -> Node:
        """Appends one node; `given` is that of `infer`. Raises `ShapeError` or `InvalidModelError`
        naming the origin."""
        origin = self.origin if origin is None else origin
        full = self._full_attrs(op, attrs or {}, origin)
        types, sizes = self.infer(op, inputs, full, origin, given)
        if sizes:
            self._defined.update(size for size, _ in sizes)
        node = Node(op, tuple(inputs), MappingProxyType(full), types, tuple(after), origin, sizes)
        node.types_checked = True  # they were inferred from what never changes
        self.nodes.append(node)
        return node

    def infer(
        self,
        op: Op,
        inputs: Sequence[Value],
        attrs: Mapping[str, Any],
        origin: tuple[str, ...],
        given: Sequence[Symbol] = (),
    ) -> tuple[tuple[TensorType, ...], tuple[tuple[Symbol, Dim | None], ...]]:
        """The output types of a node, and the data-dependent sizes in them: those `given` first."""
        sizes: list[tuple[Symbol, Dim | None]] = []

        def fresh(hint: str, bound: Dim | None) -> Dim:
            size = given[len(sizes)] if len(sizes) < len(given) else fresh_symbol(hint)
            sizes.append((size, bound))
            return expression(size)

        inference = Inference(
            op,
            [v.type for v in inputs],
            attrs,
            lambda i: self.content(inputs[i]),
            fresh,
            self.require_equal,
            lambda i, below: self._read_sizes(inputs[i], below),
            origin[0] if origin else None,
            self.builds,
        )
        try:
            dims = op.infer(inference)
            dtype_list = output_dtypes(op, inference.inputs, attrs)
        except FlowcError as error:
            if error.node is None and origin:
                error.node = origin[0]
            raise
        except Exception as error:
            node = origin[0] if origin else None
            raise as_raised(error, f"inferring the types of {op.tf_name}", node) from error
        many = dims if isinstance(dims, list) else [dims] if dtype_list else []
        if len(many) != len(dtype_list):
            raise InvalidModelError(
                f"{op.tf_name}: {len(dtype_list)} outputs are declared, {len(many)} inferred",
                node=origin[0] if origin else None,
            )
        for found in many:
            _check_dims(inference, found)
        return tuple(TensorType(t, tuple(d)) for t, d in zip(dtype_list, many)), tuple(sizes)

    def require_equal(self, one: Dim, other: Dim) -> None:
        """Has the run check that two sizes are equal."""
        self.constraints.append((one, other))
        if self.met is not None:
            self.met.append((one, other))

    def _read_sizes(self, value: Value, below: int = 0) -> Content:
        """Sizes that the run reads from the elements of a small integer value."""
        if not (value.type.dtype.is_integer and value.type.is_static and value.type.rank <= 2):
            return None
        if int(value.type.size) > SIZES_LIMIT:
            return None
        if "moves" in value.node.op.traits:
            # Sizes and constants among its elements stay what they are (the -1 of a reshape too).
            for operand in value.node.inputs:
                if self.content(operand) is None:
                    self._read_sizes(operand, below)
            self._content[value] = content_of(value, self.content)
            if self._content[value] is not None:
                return self._content[value]
        read = self.emit(op_named("read_sizes"), (value,), {"below": below})
        self.note_sizes(read)
        for place in range(len(self.nodes) - 2, -1, -1):  # mostly among the last ones
            if self.nodes[place] is value.node:
                # Right after its operand, so that whoever goes through the nodes in order meets the
                # sizes before what is made of them.
                self.nodes.insert(place + 1, self.nodes.pop())
                break
        return self._content[value]

    def note_sizes(self, node: Node) -> None:
        """Remembers that a read_sizes node knows the elements of its input as sizes."""
        (value,) = node.inputs
        below = node.attrs["below"]
        symbols = np.array([expression(s) - below for s, _ in node.sizes], dtype=object)
        self._content[value] = symbols.reshape(value.type.static_dims)

    def _full_attrs(
        self, op: Op, attrs: Mapping[str, Any], origin: tuple[str, ...]
    ) -> dict[str, Any]:
        inferred = op.signature.inferred_attrs
        full: dict[str, Any] = {}
        for name, definition in op.signature.attrs.items():
            if name in inferred and name not in attrs:
                continue
            value = attrs.get(name, definition.default)
            if value is REQUIRED:
                raise InvalidModelError(
                    f"{op.tf_name}: attr {name!r} is missing", node=origin[0] if origin else None
                )
            if (
                definition.allowed
                and definition.kind in ("string", "type")
                and (value not in definition.allowed)
            ):
                allowed = ", ".join(f"{a}" for a in definition.allowed)
                raise InvalidModelError(
                    f"{op.tf_name}: attr {name!r} is {value}, allowed: {allowed}",
                    node=origin[0] if origin else None,
                )
            full[name] = value
        return full

    def defines_size(self, size: Symbol) -> bool:
        return size in self._defined

    def append(self, node: Node) -> Node:
        """Appends a node that was built elsewhere with inputs of this builder (see rewrite.py)."""
        self.nodes.append(node)
        if node.sizes:
            self._defined.update(size for size, _ in node.sizes)
        if node.op.name == "read_sizes":
            self.note_sizes(node)
        return node

    def parameter(self, name: str, type: TensorType) -> Value:
        """A new parameter; symbols in its dims are defined by it."""
        node = parameter_node(name, type, (name.partition(":")[0],))
        self.parameters.append(node)
        self.nodes.append(node)
        self._defined.update(symbols_of(*type.dims))
        return node.output

    def const(self, value: Any, dtype: DType | None = None) -> Value:
        """A constant from anything NumPy takes; the array must not be changed afterwards."""
        array = np.asarray(value, dtype=dtype.numpy if dtype is not None else None)
        if dtype is None:
            if not isinstance(value, (np.ndarray, np.generic)) and array.dtype == np.float64:
                array = array.astype(np.float32)
            if not isinstance(value, (np.ndarray, np.generic)) and array.dtype == np.int64:
                array = array.astype(np.int32)
            dtype = dtypes.as_dtype(array.dtype)
        return self.emit(op_named("const"), (), {"value": array, "dtype": dtype}).output

    def sizes(self, dims: Sequence[Dim], dtype: DType | None = None) -> Value:
        """A vector holding sizes: a constant where all are known, else computed by the run. Without
        a dtype it is i32, or i64 where one of them is known to need it."""
        if dtype is None:
            wide = any(isinstance(d, int) and abs(d) > MAX_I32 for d in dims)
            dtype = dtypes.i64 if wide else dtypes.i32
        if not any(isinstance(d, Expr) for d in dims):
            try:
                return self.const(np.array(dims, dtype.numpy), dtype)
            except OverflowError:
                text = f"the sizes {shown_dims(dims)} do not fit into {dtype}"
                raise ResourceExhaustedError(text, node=next(iter(self.origin), None)) from None
        return self.emit(op_named("sizes"), (), {"dims": tuple(dims), "dtype": dtype}).output

    def scalar_size(self, dim: Dim, dtype: DType = dtypes.i32) -> Value:
        """A size as a scalar."""
        if isinstance(dim, Expr):
            return self.reshape(self.sizes((dim,), dtype), ())
        return self.const(np.asarray(dim, dtype.numpy), dtype)

    def holding(self, elements: np.ndarray, type: TensorType) -> Value:
        """A scalar or a vector whose elements are numbers and sizes."""
        found = elements.reshape(-1)
        if type.rank == 0:
            return self.scalar_size(found[0], type.dtype)
        return self.sizes(tuple(found), type.dtype)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            op = op_named(name)
        except KeyError:
            raise AttributeError(f"no op is named {name!r}") from None

        def call(*inputs: Any, **attrs: Any) -> Any:
            node = self.emit(op, self._values(inputs), attrs)
            return node.output if len(node.outputs) == 1 else node.outputs

        return call

    def _values(self, inputs: Sequence[Any]) -> list[Value]:
        first = next((x for x in inputs if isinstance(x, Value)), None)
        found: list[Value] = []
        for x in inputs:
            if isinstance(x, Value):
                found.append(x)
            elif isinstance(x, (np.ndarray, np.generic)):
                found.append(self.const(x))
            elif isinstance(x, (tuple, list)):
                found.append(self.sizes(cast(Sequence[Any], x)))
            else:
                found.append(self.const(x, first.type.dtype if first is not None else None))
        return found

    def build(self, results: Sequence[Value]) -> Computation:
        return Computation(
            tuple(self.parameters), tuple(self.nodes), tuple(results), tuple(self.constraints)
        )

    # -- what is known of elements

    def content(self, value: Value) -> Content:
        """The elements of an integer (or small constant) value: numbers and sizes, or None."""
        waiting = [value]
        while waiting:
            # What is asked for on the way is found first, without recursion over the graph's depth.
            asked = waiting[-1]
            missing: list[Value] = []

            def known(operand: Value, missing: list[Value] = missing) -> Content:
                if operand not in self._content:
                    missing.append(operand)
                return self._content.get(operand)

            found = content_of(asked, known)
            if missing:
                waiting += missing[:1]
                continue
            self._content.setdefault(asked, found)
            waiting.pop()
        return self._content[value]


def _check_dims(c: Inference, dims: Sequence[Dim]) -> None:
    """What no tensor can have is said before anyone makes one."""
    if len(dims) > MAX_RANK:
        raise c.fail(f"gives a tensor of {len(dims)} dimensions, expected at most {MAX_RANK}")
    for axis, dim in enumerate(dims):
        if isinstance(dim, int) and not 0 <= dim <= MAX_SIZE:
            raise c.fail(f"gives the size {dim} along axis {axis}, expected one from 0 to 2^63-1")


def content_of(value: Value, known: Callable[[Value], Content]) -> Content:
    """The elements of one value, given those of its node's inputs; None where they are data."""
    node = value.node
    constant = value.constant
    if constant is not None:
        return constant
    if node.op.name == "sizes":
        return np.array(node.attrs["dims"], dtype=object)
    if not value.type.is_static or int(value.type.size) > CONTENT_LIMIT:
        return None
    if value.type.size == 0 and value.type.dtype.is_integer:
        return np.empty([int(d) for d in value.type.dims], value.type.dtype.numpy)
    if not node.op.content or not value.type.dtype.is_integer:
        return _evaluated(value, known)
    function = node.op.reference if node.op.content is True else node.op.content
    arrays: list[Any] = []
    for operand in node.inputs:
        array = known(operand)
        if array is None:
            if not getattr(function, "types_suffice", False):
                return None
            array = operand.type
        arrays.append(_as_objects(array) if isinstance(array, np.ndarray) else array)
    assert function is not None
    dtype_list = [v.type.dtype for v in node.inputs]
    try:
        results = call_reference(node.op, function, arrays, node.attrs, dtype_list)
    except TypeError:
        if not any(holds_sizes(a) for a in arrays):
            raise
        return None  # it wanted the number behind a size, as an index or to compare
    except ValueError:
        if any(holds_sizes(a) for a in arrays):
            raise
        return _evaluated(value, known)  # an extremum of nothing: its dtype says which
    result = np.asarray(results[value.index], dtype=object)
    if not any(isinstance(x, Expr) for x in result.reshape(-1)):
        return _wrapped(result, value.type.dtype)
    return result


def _evaluated(value: Value, known: Callable[[Value], Content]) -> Content:
    """The elements of a value that follows from numbers alone, by the reference of its op."""
    node = value.node
    reference = node.op.reference
    if reference is None or not node.inputs or node.op.traits & NEVER_FOLDED:
        return None
    if isinstance(node.op.lowering, (Structural, Extracted)) or rounds_otherwise(node):
        return None
    arrays: list[np.ndarray] = []
    for operand in node.inputs:
        array = known(operand)
        if array is None or array.size > CONTENT_LIMIT or holds_sizes(array):
            return None
        arrays.append(array.astype(operand.type.dtype.numpy, copy=False))
    dtype_list = [v.type.dtype for v in node.inputs]
    try:
        with np.errstate(all="ignore"):
            results = call_reference(node.op, reference, arrays, node.attrs, dtype_list)
    except (InvalidArgumentError, ResourceExhaustedError):
        return None  # elements at fault fail the run that reaches them
    return np.asarray(results[value.index])


def rounds_otherwise(node: Node) -> bool:
    """Whether the reference of a node rounds halves less often than the run does."""
    kinds = [v.type.dtype for v in node.inputs]
    if not any(d in (dtypes.f16, dtypes.bf16) for d in kinds):
        return False
    if callable(node.op.lowering) and any(v.constant is None for v in node.inputs):
        return True  # it may not be known yet how it is computed
    lowering = node.lowering
    return isinstance(lowering, Elementwise) and rounds_halves(lowering.body, kinds)


def _wrapped(elements: np.ndarray, dtype: DType) -> np.ndarray:
    """Ints in an integer dtype, whose range they may leave: arithmetic wraps round, as casts do."""
    info = np.iinfo(dtype.numpy)
    low, period = int(info.min), int(info.max) - int(info.min) + 1
    kept = [(int(x) - low) % period + low for x in elements.reshape(-1)]
    return np.array(kept, dtype.numpy).reshape(elements.shape)


def holds_sizes(array: Any) -> bool:
    """Whether there are sizes among elements, which are objects then."""
    if not isinstance(array, np.ndarray):
        return False
    elements = cast(np.ndarray, array)
    return elements.dtype.hasobject and any(isinstance(x, Expr) for x in elements.reshape(-1))


def _as_objects(array: np.ndarray) -> np.ndarray:
    """Ints as Python objects, so that they mix with sizes and do not overflow."""
    return array.astype(object) if array.dtype.kind in "iu" else array


def types_suffice(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a `content` function that takes a TensorType in place of unknown elements (Shape)."""
    function.__dict__["types_suffice"] = True
    return function
