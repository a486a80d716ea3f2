"""Vector IR: the small vocabulary that register tiles and block moves are written in.

In: llvmlite builders. Out: instructions, and functions that kernel source and IR call (`Routine`),
which are built once per kernel module, or once for all kernels (`shared_routines.py`), so many call
sites cost one body.
Loops that every kernel shares are written here rather than in its generated source because they
then cost no Numba time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import cache, lru_cache
from typing import Any

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.llvm.kernel_functions import KernelFunction
from flowc.codegen.llvm.loop_metadata import unroll
from flowc.codegen.llvm.quantity import Quantity, ir_type
from flowc.codegen.llvm.shared_routines import KernelModule, SharedRoutine, shared_routine
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc_runtime.native.writer import I8, I32, I64, VOID, declare, i64

# llvmlite does not declare its values' attributes, nor what its builder returns.
Value = Any
Values = Sequence[Any]


def element_type(dtype: DType) -> ir.Type:
    """LLVM's type of one element. Raises `TypeError` for dtypes without vector arithmetic."""
    if not dtype.is_integer and dtype not in (dtypes.f32, dtypes.f64):
        raise TypeError(f"no vector arithmetic for {dtype}")
    return ir_type(dtype)


class Index(Quantity):
    """An int64 in IR."""

    __slots__ = ()

    def __floordiv__(self, other: Index | int) -> Index:
        """Truncating: for values that are not negative."""
        return self.divide_signed(other)

    def __mod__(self, other: Index | int) -> Index:
        """Truncating: for values that are not negative."""
        return self._with("srem", other)

    def ceil_div(self, other: Index | int) -> Index:
        return (self + other - 1) // other

    def compare(self, operator: str, other: Index | int) -> Value:
        return self.b.icmp_signed(operator, self.value, self.like(other))

    def least(self, other: Index | int) -> Index:
        return self._chosen("<", other)

    def most(self, other: Index | int) -> Index:
        return self._chosen(">", other)

    def _chosen(self, operator: str, other: Index | int) -> Index:
        value = self.b.select(self.compare(operator, other), self.value, self.like(other))
        return Index(self.b, value)


class Counter:
    """An int64 variable in IR: a stack slot that later passes turn into a register."""

    def __init__(self, b: ir.IRBuilder, value: Index | int) -> None:
        self.b = b
        with b.goto_entry_block():
            self.slot = b.alloca(I64)
        self.set(value)

    def get(self) -> Index:
        return Index(self.b, self.b.load(self.slot))

    def set(self, value: Index | int) -> None:
        self.b.store(value.value if isinstance(value, Index) else i64(value), self.slot)

    def add(self, value: Index | int) -> None:
        self.set(self.get() + value)


def indices(b: ir.IRBuilder, values: Values) -> list[Index]:
    return [Index(b, value) for value in values]


def offset(pointer: Value, elements: Index | int) -> Value:
    """The address `elements` elements behind a pointer, emitted with the builder of the index."""
    assert isinstance(elements, Index)
    return elements.b.gep(pointer, [elements.value])


def byte_offset(pointer: Value, count: Index) -> Value:
    """The address `count` bytes behind a pointer, emitted with the builder of the index."""
    b = count.b
    return b.bitcast(b.gep(b.bitcast(pointer, I8.as_pointer()), [count.value]), pointer.type)


@contextmanager
def counted_loop(
    b: ir.IRBuilder,
    count: Index,
    step: int = 1,
    *,
    unrolled: int = 1,
    carried: Sequence[list[Value]] = (),
) -> Iterator[Index]:
    """`for index in range(0, count, step)`: the body is emitted inside the `with`."""
    zero = Index(b, i64(0))
    with index_range(b, zero, count, step, unrolled=unrolled, carried=carried) as index:
        yield index


@contextmanager
def index_range(
    b: ir.IRBuilder,
    begin: Index,
    end: Index,
    step: Index | int = 1,
    *,
    unrolled: int = 1,
    carried: Sequence[list[Value]] = (),
) -> Iterator[Index]:
    """`for index in range(begin, end, step)`: the body is emitted inside the `with`. `unrolled`:
    how many of them LLVM writes one after another. `carried`: lists of values that the body
    replaces by those of the next iteration; behind the loop they hold the last ones."""
    head, body, done = (b.append_basic_block(n) for n in ("head", "body", "done"))
    before = b.block
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(I64)
    index.add_incoming(begin.value, before)
    kept = [[b.phi(value.type) for value in values] for values in carried]
    for values, phis in zip(carried, kept):
        for value, phi in zip(values, phis):
            phi.add_incoming(value, before)
        values[:] = phis
    b.cbranch(b.icmp_signed("<", index, end.value), body, done)
    b.position_at_end(body)
    yield Index(b, index)
    following = Index(b, index) + step
    index.add_incoming(following.value, b.block)
    for values, phis in zip(carried, kept):
        for value, phi in zip(values, phis):
            phi.add_incoming(value, b.block)
        values[:] = phis
    back = b.branch(head)
    unroll(back, unrolled)
    b.position_at_end(done)


@contextmanager
def while_positive(b: ir.IRBuilder, counter: Counter) -> Iterator[None]:
    """`while counter > 0`: the body, which lowers the counter, is emitted inside the `with`."""
    head, body, done = (b.append_basic_block(n) for n in ("while", "body", "done"))
    b.branch(head)
    b.position_at_end(head)
    b.cbranch(counter.get().compare(">", 0), body, done)
    b.position_at_end(body)
    yield
    unroll(b.branch(head), 1)
    b.position_at_end(done)


def load_vector(b: ir.IRBuilder, pointer: Value, lanes: int, align: int) -> Value:
    vector = ir.VectorType(pointer.type.pointee, lanes)
    return b.load(b.bitcast(pointer, vector.as_pointer()), align=align)


def store_vector(b: ir.IRBuilder, value: Value, pointer: Value, align: int) -> None:
    b.store(value, b.bitcast(pointer, value.type.as_pointer()), align=align)


def vector_mask(b: ir.IRBuilder, count: Index, lanes: int) -> Value:
    """The first `count` of so many lanes."""
    numbers = ir.Constant(ir.VectorType(I32, lanes), list(range(lanes)))
    wide = broadcast(b, b.trunc(count.value, I32), lanes)
    return b.icmp_signed("<", numbers, wide)


def masked_load(b: ir.IRBuilder, pointer: Value, mask: Value, align: int) -> Value:
    """The lanes of the mask, and 0 in the others, which are not read."""
    vector = ir.VectorType(pointer.type.pointee, mask.type.count)
    place: Value = b.bitcast(pointer, vector.as_pointer())
    kind = ir.FunctionType(vector, [place.type, I32, mask.type, vector])
    function = declare(b.module, f"llvm.masked.load.{_name(vector)}.p0{_name(vector)}", kind)
    return b.call(function, [place, I32(align), mask, ir.Constant(vector, None)])


def masked_store(b: ir.IRBuilder, value: Value, pointer: Value, mask: Value, align: int) -> None:
    """Stores the lanes of the mask."""
    place: Value = b.bitcast(pointer, value.type.as_pointer())
    kind = ir.FunctionType(VOID, [value.type, place.type, I32, mask.type])
    name = _name(value.type)
    function = declare(b.module, f"llvm.masked.store.{name}.p0{name}", kind)
    b.call(function, [value, place, I32(align), mask])


def _name(vector: ir.VectorType) -> str:
    """What LLVM calls a vector, in names of functions."""
    kind = vector.element
    if isinstance(kind, ir.IntType):
        return f"v{vector.count}i{kind.width}"
    return f"v{vector.count}{'f32' if isinstance(kind, ir.FloatType) else 'f64'}"


def opaque(b: ir.IRBuilder, number: Value) -> Value:
    """`number`, hidden from LLVM's optimisations: they do not know where it comes from."""
    return b.asm(ir.FunctionType(number.type, [number.type]), "", "=r,0", [number], False)


def broadcast(b: ir.IRBuilder, scalar: Value, lanes: int) -> Value:
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    first = b.insert_element(undefined, scalar, ir.Constant(I32, 0))
    return b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, lanes), None))


def multiply_add(b: ir.IRBuilder, x: Value, y: Value, z: Value) -> Value:
    """x * y + z: fused where the target has it, two instructions where not."""
    element = x.type.element
    if isinstance(element, ir.IntType):
        return b.add(b.mul(x, y), z)
    name = f"llvm.fmuladd.{_name(x.type)}"
    function = declare(b.module, name, ir.FunctionType(x.type, [x.type] * 3))
    return b.call(function, [x, y, z])


def prefetch(b: ir.IRBuilder, pointer: Value, *, write: bool = False, level: int = 1) -> None:
    """Fetch a cache line into a `level` of the cache, to `write` it; any address is allowed."""
    kind = ir.FunctionType(VOID, [I8.as_pointer(), I32, I32, I32])
    function = declare(b.module, "llvm.prefetch.p0i8", kind)
    how, keep, data = (ir.Constant(I32, n) for n in (int(write), 4 - level, 1))
    b.call(function, [b.bitcast(pointer, I8.as_pointer()), how, keep, data])


def module_function(
    module: ir.Module,
    name: str,
    arguments: Sequence[ir.Type],
    emit: Callable[[ir.IRBuilder, Values], None],
    *,
    linkage: str = "internal",
) -> ir.Function:
    """The function `name` of the module, built by `emit` when it is first wanted."""
    function = module.globals.get(name)
    if function is not None:
        return function
    function = ir.Function(module, ir.FunctionType(VOID, arguments), name)
    function.linkage = linkage
    function.attributes.add("nounwind")
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    emit(b, function.args)
    b.ret_void()
    return function


def llvm_arguments(dtype: DType, kinds: str) -> list[ir.Type]:
    """Argument types from letters: `p` a pointer to elements of `dtype`, `f` the address of a
    routine, `i` an int64."""
    found = {"p": element_type(dtype).as_pointer(), "f": I8.as_pointer(), "i": I64}
    return [found[kind] for kind in kinds]


@dataclass(frozen=True, slots=True)
class Routine:
    """A function, returning nothing, that IR and kernel source can both call. `name` says all that
    its code depends on beside the dtype. `shared`: one object for all kernels that call it, which
    pays where compiling it takes longer than a module of its own."""

    name: str
    dtype: DType
    kinds: str
    emit: Callable[[ir.IRBuilder, Values], None] = field(compare=False)
    shared: bool = False

    def call(self, b: ir.IRBuilder, *values: Value | Index | int) -> None:
        arguments = llvm_arguments(self.dtype, self.kinds)
        if self.shared and isinstance(b.module, KernelModule):
            function = b.module.declared(_shared(self), arguments)
        else:
            function = module_function(b.module, f"flowc.{self.name}", arguments, self.emit)
        b.call(function, [_plain(value) for value in values])

    @property
    def function(self) -> KernelFunction:
        """What kernel source calls."""
        return KernelFunction(
            "routine",
            lambda types: types.void(*_numba_arguments(types, self.dtype, self.kinds)),
            lambda b, values: self.call(b, *values),
            f"{self.name} {self.dtype}",
        )

    @property
    def code(self) -> SharedRoutine:
        """The routine, for kernels that are given its address."""
        return _shared(self)


def _numba_arguments(types: Any, dtype: DType, kinds: str) -> list[Any]:
    pointer = types.CPointer(getattr(types, dtype.name))
    found = {"p": pointer, "f": types.CPointer(types.uint8), "i": types.int64}
    return [found[kind] for kind in kinds]


@cache
def routine_call(dtype: DType, kinds: str) -> KernelFunction:
    """A function of the address of a routine, and of its arguments."""
    return KernelFunction(
        "routine_at",
        lambda types: types.void(*_numba_arguments(types, dtype, f"f{kinds}")),
        lambda b, values: call_at(b, values[0], dtype, kinds, *values[1:]),
    )


def call_at(
    b: ir.IRBuilder, address: Value, dtype: DType, kinds: str, *values: Value | Index | int
) -> None:
    """Calls the routine at an address."""
    kind = ir.FunctionType(VOID, llvm_arguments(dtype, kinds)).as_pointer()
    b.call(b.bitcast(address, kind), [_plain(value) for value in values])


@lru_cache(maxsize=256)
def _shared(routine: Routine) -> SharedRoutine:
    arguments = llvm_arguments(routine.dtype, routine.kinds)
    return shared_routine(
        f"{routine.name} {routine.dtype} {routine.kinds}",
        lambda module, symbol: (
            module_function(module, symbol, arguments, routine.emit, linkage="") and None
        ),
    )


def _plain(value: Value | Index | int) -> Value:
    if isinstance(value, Index):
        return value.value
    return i64(value) if isinstance(value, int) else value


# pointer + count, in elements.
advance = KernelFunction(
    "advance",
    lambda types: lambda pointer, count: pointer(pointer, types.int64),
    lambda b, v: b.gep(v[0], v[1:]),
)


def index_function(name: str, emit: Callable[[ir.IRBuilder, Values], Value]) -> KernelFunction:
    """A function of two indices that gives one."""
    return KernelFunction(name, lambda types: types.int64(types.int64, types.int64), emit)


# The smaller of two indices.
least = index_function(
    "least", lambda b, values: Index(b, values[0]).least(Index(b, values[1])).value
)

# How many parts of size y hold x, for indices that are not negative; y = 0 counts as 1.
ceil_div = index_function(
    "ceil_div",
    lambda b, values: Index(b, values[0]).ceil_div(Index(b, values[1]).most(1)).value,
)
