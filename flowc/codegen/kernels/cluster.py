"""One cluster as code: which buffers it reads and writes, and its values element by element.

In: a cluster node, whose body holds elementwise ops, views and reductions. Out: statements of a
loop nest that compute one element of any value of the body at a given index. loops.py and
contractions/ put loops round them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from flowc import dtypes
from flowc.codegen.kernels.builder import LOCAL, NestBuilder, both
from flowc.codegen.kernels.check import check_nest
from flowc.codegen.kernels.kernel import INTERPRETER, SCRATCH, STATUS, Launch, Operand
from flowc.codegen.kernels.nest import BYTES, Apply, Index, Load, LoopNest, Name, Scalar
from flowc.codegen.kernels.scalars import KernelScalars
from flowc.codegen.target import Target
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, Symbol, is_nonnegative, substitute, symbol, symbols_of
from flowc.ir.lowering import Elementwise, View
from flowc.ir.types import Dims


def row_major(dims: Dims, index: Sequence[Dim]) -> Dim:
    """The position of an element in row-major order."""
    position: Dim = 0
    for size, i in zip(dims, index, strict=True):
        position = position * size + i
    return position


def unravel(position: Dim, dims: Dims) -> tuple[Dim, ...]:
    """The index of the element at a row-major position. In an empty tensor nothing is read, so that
    any index along a dim of size 0 will do."""
    found: list[Dim] = []
    for size in reversed(dims[1:]):
        size = 1 if size == 0 else size
        found.append(position % size)
        position = position // size
    return (position, *reversed(found)) if dims else ()


def broadcast_index(from_dims: Dims, to_dims: Dims, index: Sequence[Dim]) -> tuple[Dim, ...]:
    """Where an operand that broadcasts to `to_dims` is read for the element at `index`."""
    skip = len(to_dims) - len(from_dims)
    return tuple(
        0 if size == 1 and to_dims[skip + d] != 1 else index[skip + d]
        for d, size in enumerate(from_dims)
    )


@dataclass(frozen=True, slots=True)
class Read:
    """One element read from memory: the buffer's name, its dtype and the position."""

    name: str
    dtype: DType
    address: Dim


class ClusterLowering:
    """Builds elements of a cluster's values.

    `inputs` are the outer values behind the body's parameters. `rows` holds values that are known
    where the current statements stand (results of reductions, elements kept in scratch): each with
    the index at which it is known and its scalar. `addresses` records every address and `reads` the
    reads, for the choice of loops, `clamped` the indices that others stand for where conditions
    hold; `buffered` says where reads find their element instead of in their own buffer.
    `tells_places`: a fault says where the wrong index stands.
    """

    def __init__(
        self, body: Computation, inputs: Sequence[Value], tells_places: bool = True
    ) -> None:
        self.body = body
        self.inputs = tuple(inputs)
        self.nest = NestBuilder()
        self.k = KernelScalars(self.nest)
        self.k.tells_places = tells_places
        self.k.loader = self._load_operand
        self.k.guarded_loader = self._load_guarded
        self.names = {p.output: f"x{i}" for i, p in enumerate(body.parameters)}
        self.out_names = {v: f"y{i}" for i, v in enumerate(body.results)}
        self.rows: dict[Value, tuple[tuple[Dim, ...], Scalar]] = {}
        self.addresses: list[Dim] = []
        self.reads: list[Read] = []
        self.clamped: dict[Symbol, Dim] = {}
        self.buffered: dict[Read, tuple[str, Index]] = {}
        self.read_names: set[str] = set()
        self._node: Node | None = None

    def element(self, value: Value, index: tuple[Dim, ...]) -> Scalar:
        """The scalar of one element, in the open scope."""
        known = self.rows.get(value)
        if known is not None:
            if known[0] != index:
                raise InternalError(
                    f"a value kept for {known[0]} is read at {index}: {value!r}",
                    node=value.node.name,
                )
            return known[1]
        return self.nest.remember(("element", value, index), lambda: self._element(value, index))

    def _element(self, value: Value, index: tuple[Dim, ...]) -> Scalar:
        if value in self.names:
            address = row_major(value.dims, index)
            where = self._there(value, address)
            if where is not None:
                otherwise = self.k.const(0, value.type.dtype)
                return self._load_where(where, value, address, otherwise)
            return self.load(self.names[value], value.type.dtype, address)
        constant = value.constant
        if constant is not None:
            if constant.size != 1:
                raise InternalError(f"a constant of {constant.size} elements inside a cluster")
            return self.k.const(constant.reshape(-1)[0], value.type.dtype)
        node = value.node
        match node.lowering:
            case Elementwise(expr):
                operands = [
                    self.element(v, broadcast_index(v.dims, value.dims, index)) for v in node.inputs
                ]
                with self._named(node):
                    return self.as_type(expr(self.k, *operands), value.type.dtype)
            case View(read):
                return self.as_type(self._at_node(node, read, index), value.type.dtype)
            case other:
                raise InternalError(f"{type(other).__name__} inside a loop: {node!r}")

    def _at_node(self, node: Node, read: Callable[..., Scalar], index: tuple[Dim, ...]) -> Scalar:
        outer, outer_types = self._node, self.k.operand_types
        self._node = node
        self.k.operand_types = tuple(v.type.dtype for v in node.inputs)
        try:
            with self._named(node):
                return read(self.k, index)
        finally:
            self._node, self.k.operand_types = outer, outer_types

    @contextmanager
    def _named(self, node: Node) -> Iterator[None]:
        """Faults that are found meanwhile are the node's."""
        outer = self.nest.node
        self.nest.node = node.origin[0] if node.origin else outer
        yield
        self.nest.node = outer

    def as_type(self, x: Scalar, dtype: DType) -> Scalar:
        if x.dtype is not dtype:
            raise InternalError(f"a lowering gives {x.dtype} where the type says {dtype}")
        return x

    def _load_operand(self, operand: int, index: tuple[Dim, ...]) -> Scalar:
        assert self._node is not None
        return self.element(self._node.inputs[operand], index)

    def _load_guarded(
        self, condition: Name, operand: int, index: tuple[Dim, ...], otherwise: Scalar
    ) -> Scalar:
        """Reads memory only where the condition holds. What is computed from memory inside the
        cluster is computed at a safe element elsewhere."""
        assert self._node is not None
        value = self._node.inputs[operand]
        nest = self.nest
        if value in self.names:
            address = row_major(value.dims, index)
            where = self._there(value, address)
            if where is not None:
                condition = nest.let(both(condition, where))
            return self._load_where(condition, value, address, otherwise)
        safe = tuple(self._clamped(i, size, condition) for i, size in zip(index, value.dims))
        outer = self.k.guard
        if safe != index:  # else it is the element that others ask for without a condition
            self.k.guard = condition if outer is None else nest.let(both(outer, condition))
        inner = self.element(value, safe)
        self.k.guard = outer
        return nest.let(Apply("select", (condition, inner, otherwise), inner.dtype))

    def _there(self, value: Value, address: Dim) -> Name | None:
        """Where an address that follows from the numbers of a run is one of an element, if that is
        not everywhere: a value of no elements has none to stand in for others."""
        if all(is_nonnegative(d - 1) for d in value.dims):
            return None
        found = self._right_where(address)
        if self.k.guard is not None:
            found.append(self.k.guard)
        return self._all(found) if found else None

    def _right_where(self, index: Dim) -> list[Name]:
        right = self.nest.right_where
        return [right[s.name] for s in symbols_of(index) if s.name in right]

    def _all(self, conditions: Sequence[Name]) -> Name:
        first, *rest = conditions
        for other in rest:
            first = self.nest.let(both(first, other))
        return first

    def _load_where(self, condition: Name, value: Value, address: Dim, otherwise: Scalar) -> Scalar:
        """Reads memory where the condition holds."""
        self.addresses.append(address)
        self.read_names.add(self.names[value])
        place = self.nest.index(address)
        return self.nest.let(Load(self.names[value], place, value.type.dtype, condition, otherwise))

    def _clamped(self, index: Dim, size: Dim, condition: Name) -> Dim:
        """The index where the condition holds, else 0; the index itself where it is always one of
        an element, so that it stays what it is a part of."""
        if is_nonnegative(index) and is_nonnegative(size - 1 - index):
            return index
        value = Apply("index_if", (self.nest.index(index), condition), dtypes.i64)
        name = self.nest.remember(
            ("clamped", index, condition), lambda: self.nest.let(value, "j").name
        )
        right = self._right_where(index)
        if right:
            self.nest.right_where[LOCAL + name] = self._all(right)
        self.clamped[Symbol(LOCAL + name)] = substitute(index, self.clamped)
        return symbol(LOCAL + name, size)

    def load(self, name: str, dtype: DType, address: Dim) -> Scalar:
        read = Read(name, dtype, address)
        self.addresses.append(address)
        self.reads.append(read)
        self.read_names.add(name)

        def make() -> Scalar:
            buffer, index = self.buffered.get(read) or (name, self.nest.index(address))
            return self.nest.let(Load(buffer, index, dtype))

        return self.nest.remember(("load", name, address), make)

    def store(self, value: Value, index: tuple[Dim, ...], x: Scalar) -> None:
        """Writes one element of a result."""
        address = row_major(value.dims, index)
        self.addresses.append(address)
        self.nest.store(self.out_names[value], self.nest.index(address), x)

    def parameters(
        self, results: Sequence[Value]
    ) -> tuple[list[Operand], list[tuple[str, DType | str]]]:
        """What the kernel's first buffers are, and their names and dtypes: the inputs that it
        reads, and the results."""
        # What is read only where it can be proved not to be is an input that nothing reads.
        read = [
            (p, v)
            for p, v in zip(self.body.parameters, self.inputs)
            if self.names[p.output] in self.read_names
        ]
        buffers: list[tuple[str, DType | str]] = [
            *((self.names[p.output], p.output.type.dtype) for p, _ in read),
            *((self.out_names[v], v.type.dtype) for v in self.body.results),
        ]
        return [*(v for _, v in read), *results], buffers

    def launch(
        self,
        target: Target,
        results: Sequence[Value],
        total: Dim,
        grain: Dim,
        scratch: Dim,
        node: Node,
        tail: Sequence[str] = ("begin", "end"),
        polls: bool = False,
        lanes: int = 1,
    ) -> Launch:
        """The finished kernel and its use: a pointer an input and result, then scratch, status, and
        what it `polls` for signals."""
        nest = self.nest
        operands, buffers = self.parameters(results)
        for wanted, operand, kind in (
            (scratch != 0, SCRATCH, BYTES),
            (bool(nest.faults), STATUS, dtypes.i64),
            (polls, INTERPRETER, dtypes.i64),
        ):
            if wanted:
                operands.append(operand)
                buffers.append((operand, kind))
        ints = tuple(f"n{i}" for i in range(len(nest.ints)))
        made = LoopNest(tuple(buffers), ints, tuple(tail), tuple(nest.body))
        check_nest(made)
        return Launch(
            target.kernel(made),
            tuple(operands),
            tuple(nest.ints),
            total,
            grain,
            scratch=scratch,
            errors=tuple(nest.faults),
            nodes=node.origin,
            lanes=lanes,
        )


def known_product(dims: Sequence[Dim]) -> int | None:
    """The product of sizes where all are known."""
    total = 1
    for d in dims:
        if isinstance(d, Expr):
            return None
        total *= d
    return total
