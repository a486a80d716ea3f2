"""The table of math functions, and the LLVM text of any set of them.

In: definitions, registered by the family files with `define`. Out: `math_module_text(names)`.
Invariant: the text is a pure function of the names; every function in it is `linkonce_odr hidden`,
so that it may be linked into any number of kernel modules and leaves no symbol behind when all its
calls were inlined.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.llvm.quantity import Quantity, ir_type
from flowc.codegen.math.expression import Emitter
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import UnknownNameError, did_you_mean

SYMBOL_PREFIX = "flowc_"
FLOATS: tuple[DType, ...] = (dtypes.f32, dtypes.f64)

Definition = Callable[..., Quantity]


@dataclass(frozen=True, slots=True)
class MathFunction:
    """One scalar function. `loops`: it has branches or loops, so callers do not vectorise."""

    name: str
    args: tuple[DType, ...]
    result: DType
    dtype: DType
    definition: Definition
    loops: bool = False

    @property
    def symbol(self) -> str:
        """The name of the function in LLVM modules."""
        return SYMBOL_PREFIX + self.name


FUNCTIONS: dict[str, MathFunction] = {}


def define_one(
    name: str, args: Sequence[DType], result: DType, *, dtype: DType, loops: bool = False
) -> Callable[[Definition], Definition]:
    """Registers one function under its full name; `dtype` is the type it computes in."""

    def register(definition: Definition) -> Definition:
        assert name not in FUNCTIONS, name
        FUNCTIONS[name] = MathFunction(name, tuple(args), result, dtype, definition, loops)
        return definition

    return register


def define(
    name: str, arity: int = 1, dtypes_: Sequence[DType] = FLOATS, *, loops: bool = False
) -> Callable[[Definition], Definition]:
    """Registers `name_f32` and `name_f64` (or other dtypes): all arguments and the result alike."""

    def register(definition: Definition) -> Definition:
        for d in dtypes_:
            define_one(f"{name}_{d}", (d,) * arity, d, dtype=d, loops=loops)(definition)
        return definition

    return register


def define_through_f64(name: str, arity: int = 1, *, loops: bool = False) -> None:
    """Registers `name_f32` as `name_f64` computed wide and rounded once."""

    def wide(e: Emitter, *args: Quantity) -> Quantity:
        result = e.call(f"{name}_f64", *(e.convert(a, dtypes.f64) for a in args))
        return e.convert(result, dtypes.f32)

    define(name, arity, (dtypes.f32,), loops=loops)(wide)


def lookup(name: str) -> MathFunction:
    """The function called `name`. Raises `UnknownNameError`."""
    found = FUNCTIONS.get(name)
    if found is None:
        raise UnknownNameError(
            f"no math function is called {name!r}", hint=did_you_mean(name, FUNCTIONS)
        )
    return found


def math_module_text(names: Iterable[str]) -> str:
    """LLVM IR that defines the functions `names` and everything they call.

    Raises `UnknownNameError` for a name that is not in `FUNCTIONS`.
    """
    return _module_text(tuple(sorted(set(names))))


@functools.lru_cache(maxsize=256)
def _module_text(names: tuple[str, ...]) -> str:
    module = ir.Module(name="flowc_math")
    module.triple = ""
    pending: list[MathFunction] = []

    def declare(name: str) -> ir.Function:
        entry = lookup(name)
        known = module.globals.get(entry.symbol)
        if known is not None:
            return known
        kind = ir.FunctionType(ir_type(entry.result), [ir_type(a) for a in entry.args])
        function = ir.Function(module, kind, entry.symbol)
        function.linkage = "linkonce_odr hidden"
        function.attributes.add("nounwind")
        if not entry.loops:
            function.attributes.add("alwaysinline")
        pending.append(entry)
        return function

    for name in names:
        declare(name)
    while pending:
        entry = pending.pop(0)
        function = declare(entry.name)
        emitter = Emitter(function, entry.dtype, declare)
        emitter.builder.ret(
            entry.definition(emitter, *(Quantity(emitter.builder, a) for a in function.args)).value
        )
    return str(module)
