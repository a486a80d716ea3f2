"""One cluster as code: which buffers it reads and writes, and its values element by element.

In: a cluster node, whose body holds elementwise ops, views and reductions. Out: lines that compute
one element of any value of the body at a given index. loops.py and contraction_kernels.py put loops
round them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flowc import dtypes
from flowc.codegen.kernels.kernel import INTERPRETER, SCRATCH, STATUS, Kernel, Launch, Operand
from flowc.codegen.kernels.scalars import KernelScalars, Scalar
from flowc.codegen.kernels.source_writer import LOCAL, SourceWriter
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, symbol
from flowc.ir.lowering import Elementwise, View
from flowc.ir.types import Dims

_HALVES = (dtypes.f16, dtypes.bf16)


def row_major(dims: Dims, index: Sequence[Dim]) -> Dim:
    """The position of an element in row-major order."""
    position: Dim = 0
    for size, i in zip(dims, index, strict=True):
        position = position * size + i
    return position


def unravel(position: Dim, dims: Dims) -> tuple[Dim, ...]:
    """The index of the element at a row-major position. Where there are none, none is asked for:
    what stands for a place along a dim of size 0 is as good as any."""
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
class Load:
    """One element read from memory: the pointer's name, its dtype and the position."""

    name: str
    dtype: DType
    address: Dim


class ClusterLowering:
    """Writes elements of a cluster's values.

    `inputs` are the outer values behind the body's parameters. `rows` holds values that are known
    where the current lines stand (results of reductions, elements kept in scratch): each with the
    index at which it is known and its scalar. `addresses` records every address and `loads` the
    reads, for the choice of loops; `read` the names of the inputs that lines read. `buffered` says
    where loads find their element instead of in memory; `globals` are intrinsics of the kernel.
    """

    def __init__(self, body: Computation, inputs: Sequence[Value]) -> None:
        self.body = body
        self.inputs = tuple(inputs)
        self.writer = SourceWriter()
        self.k = KernelScalars(self.writer)
        self.k.loader = self._load_operand
        self.k.guarded_loader = self._load_guarded
        self.names = {p.output: f"x{i}" for i, p in enumerate(body.parameters)}
        self.out_names = {v: f"y{i}" for i, v in enumerate(body.results)}
        self.rows: dict[Value, tuple[tuple[Dim, ...], Scalar]] = {}
        self.addresses: list[Dim] = []
        self.loads: list[Load] = []
        self.buffered: dict[Load, str] = {}
        self.globals: dict[str, Callable[..., Any]] = {}
        self.read: set[str] = set()
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
        return self.writer.remember(("element", value, index), lambda: self._element(value, index))

    def _element(self, value: Value, index: tuple[Dim, ...]) -> Scalar:
        if value in self.names:
            return self.load(self.names[value], value.type.dtype, row_major(value.dims, index))
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
        outer = self.writer.node
        self.writer.node = node.origin[0] if node.origin else outer
        yield
        self.writer.node = outer

    def as_type(self, x: Scalar, dtype: DType) -> Scalar:
        if x.dtype is not dtype:
            raise InternalError(f"a lowering gives {x.dtype} where the type says {dtype}")
        return x

    def _load_operand(self, operand: int, index: tuple[Dim, ...]) -> Scalar:
        assert self._node is not None
        return self.element(self._node.inputs[operand], index)

    def _load_guarded(
        self, condition: str, operand: int, index: tuple[Dim, ...], otherwise: Scalar
    ) -> Scalar:
        """Reads memory only where the condition holds. What is computed from memory inside the
        cluster is computed at a safe element elsewhere."""
        assert self._node is not None
        value = self._node.inputs[operand]
        if value in self.names:
            address = row_major(value.dims, index)
            self.addresses.append(address)
            self.read.add(self.names[value])
            text = self._loaded(f"{self.names[value]}[{self.writer.index(address)}]", value)
            local = self.writer.local(f"{text} if {condition} else {otherwise.text}")
            return Scalar(local, value.type.dtype)
        safe = tuple(self._clamped(i, size, condition) for i, size in zip(index, value.dims))
        outer = self.k.guard
        if safe != index:  # else it is the element that others ask for without a condition
            both = f"{outer} & {condition}"
            self.k.guard = condition if outer is None else self.writer.local(both)
        inner = self.element(value, safe)
        self.k.guard = outer
        return Scalar(
            self.writer.local(f"{inner.text} if {condition} else {otherwise.text}"), inner.dtype
        )

    def _clamped(self, index: Dim, size: Dim, condition: str) -> Dim:
        """The index where the condition holds, else 0."""
        if isinstance(index, int) and index == 0:
            return 0
        key = ("clamped", index, condition)
        text = self.writer.index(index)
        name = self.writer.remember(
            key, lambda: self.writer.local(f"({text}) if {condition} else 0", "j")
        )
        return symbol(LOCAL + name, size)

    def load(self, name: str, dtype: DType, address: Dim) -> Scalar:
        load = Load(name, dtype, address)
        self.addresses.append(address)
        self.loads.append(load)
        self.read.add(name)

        def make() -> Scalar:
            place = self.buffered.get(load) or f"{name}[{self.writer.index(address)}]"
            return Scalar(self.writer.local(loaded(self.writer, place, dtype)), dtype)

        return self.writer.remember(("load", name, address), make)

    def _loaded(self, text: str, value: Value) -> str:
        return loaded(self.writer, text, value.type.dtype)

    def store(self, value: Value, index: tuple[Dim, ...], x: Scalar) -> None:
        """Writes one element of a result."""
        address = row_major(value.dims, index)
        self.addresses.append(address)
        text = stored(self.writer, x)
        self.writer.line(f"{self.out_names[value]}[{self.writer.index(address)}] = {text}")

    def launch(
        self,
        results: Sequence[Value],
        total: Dim,
        grain: Dim,
        scratch: Dim,
        node: Node,
        tail: Sequence[str] = ("begin", "end"),
        polls: bool = False,
    ) -> Launch:
        """The finished kernel and its use: a pointer an input and result, then scratch, status, and
        what it `polls` for signals."""
        w = self.writer
        # Axes, permutations and the like are inputs that no line reads.
        read = [
            (p, v)
            for p, v in zip(self.body.parameters, self.inputs)
            if self.names[p.output] in self.read
        ]
        operands: list[Operand] = [*(v for _, v in read), *results]
        parameters = [self.names[p.output] for p, _ in read]
        buffers: list[DType | str] = [p.output.type.dtype for p, _ in read]
        parameters += [self.out_names[v] for v in self.body.results]
        buffers += [v.type.dtype for v in self.body.results]
        if scratch != 0:
            operands.append(SCRATCH)
            parameters.append("scratch")
            buffers.append("bytes")
        if w.faults:
            operands.append(STATUS)
            parameters.append("status")
            buffers.append("i64")
        if polls:
            operands.append(INTERPRETER)
            parameters.append("interpreter")
            buffers.append("i64")
        parameters += [f"n{i}" for i in range(len(w.ints))]
        header = f"def kernel({', '.join([*parameters, *tail])}):"
        kernel = Kernel(
            "\n".join([header, *w.lines, ""]),
            tuple(buffers),
            len(w.ints),
            tuple(w.functions),
            globals=self.globals,
            ranges=len(tail) // 2,
        )
        return Launch(
            kernel,
            tuple(operands),
            tuple(w.ints),
            total,
            grain,
            scratch=scratch,
            errors=tuple(w.faults),
            nodes=node.origin,
        )


def loaded(writer: SourceWriter, text: str, dtype: DType) -> str:
    """Memory's form of an element as the kernel holds it."""
    if dtype is dtypes.bool_:
        return f"{text} != 0"
    if dtype in _HALVES:
        return writer.call(f"{dtype}_to_f32", text)
    return text


def stored(writer: SourceWriter, x: Scalar) -> str:
    """A scalar in memory's form."""
    if x.dtype is dtypes.bool_:
        return f"u8({x.text})"
    if x.dtype in _HALVES:
        return writer.call(f"f32_to_{x.dtype}", x.text)
    return x.text


def known_product(dims: Sequence[Dim]) -> int | None:
    """The product of sizes where all are known."""
    total = 1
    for d in dims:
        if isinstance(d, Expr):
            return None
        total *= d
    return total
