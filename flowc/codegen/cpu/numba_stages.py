"""Numba's stages from a Python function to an LLVM module, without what kernels have no use for.

In: a function, and the Numba types of its arguments. Out: a Lowered: the module's text before any
optimisation, and the function's name in it. Numba's own pipeline runs some thirty passes (closures,
array expressions, parallel loops, lifetimes of objects) around the stages below. Kernels are scalar
code on pointers: for them the other passes change nothing that reaches an object file. Invariant:
the text is a pure function of the bytecode, the globals that it names and the types.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from llvmlite import ir
from numba.core import bytecode, compiler, errors, funcdesc, interpreter, lowering, types
from numba.core import ir as numba_ir
from numba.core.analysis import dead_branch_prune
from numba.core.codegen import CodeLibrary, CPUCodeLibrary
from numba.core.cpu import CPUContext
from numba.core.datamodel.models import OpaqueModel
from numba.core.imputils import Registry
from numba.core.ir_utils import build_definitions
from numba.core.ssa import reconstruct_ssa
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import PreLowerStripPhis, type_inference_stage
from numba.core.typing.context import Context
from numba.extending import register_model

from flowc.codegen.kernels.vector_interleave import mark_loops


@dataclass(frozen=True, slots=True)
class Lowered:
    text: str
    name: str


class _Function(types.Function):
    """A function that remembers how its calls resolve."""

    def __init__(self, template: Any) -> None:
        self.calls: dict[Any, Any] = {}
        super().__init__(template)

    def augment(self, other: Any) -> Any:
        if isinstance(other, types.Function) and other.typing_key == self.typing_key:
            return _Function(self.templates + other.templates)
        return None

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return super().get_call_type(context, args, kws)
        found = self.calls.get(args)
        if found is None:
            found = self.calls[args] = super().get_call_type(context, args, kws)
        return found


register_model(_Function)(OpaqueModel)


class _KernelTyping(Context):
    """Typing rules for scalars and pointers only: without those of NumPy and the containers, calls
    resolve several times as fast. What a call resolves to is remembered for all kernels."""

    def __init__(self) -> None:
        self.resolved: dict[Any, Any] = {}
        super().__init__()

    def load_additional_registries(self) -> None:
        return

    def _insert_global(self, gv: Any, gty: Any) -> None:
        if type(gty) is types.Function:
            gty = _Function(gty.templates)
        super()._insert_global(gv, gty)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if kws:
            return super().resolve_function_type(func, args, kws)
        key = (func, tuple(args))
        found = self.resolved.get(key)
        if found is None:
            found = super().resolve_function_type(func, args, kws)
            if found is not None:
                self.resolved[key] = found
        return found


class _KernelContext(CPUContext):
    """Remembers, for all kernels, what Numba looks up for every instruction."""

    def init(self) -> None:
        super().init()
        self.implementations: dict[Any, Any] = {}
        self.sizes: dict[str, int] = {}

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        key = (fn, sig)
        found = self.implementations.get(key)
        if found is None:
            found = super().get_function(fn, sig, _firstcall)
            self.implementations[key] = found
        return found

    def get_abi_sizeof(self, ty: ir.Type) -> int:
        key = str(ty)
        if key not in self.sizes:
            self.sizes[key] = super().get_abi_sizeof(ty)
        return self.sizes[key]


class _CaptureLibrary(CPUCodeLibrary):
    """Keeps the text of the module that Numba lowers, instead of optimising it. It has no LLVM
    module: making one would wait for what another thread has LLVM compile."""

    captured: str = ""

    def __init__(self, codegen: Any, name: str) -> None:
        CodeLibrary.__init__(self, codegen, name)

    def create_ir_module(self, name: str) -> ir.Module:
        return ir.Module(name)

    def add_linking_library(self, library: Any) -> None:
        """Nothing of Numba's runtime is called."""

    def add_ir_module(self, ir_module: ir.Module) -> None:
        mark_loops(ir_module)
        self.captured = str(ir_module)


class _Interpreter(interpreter.Interpreter):
    """Without the rewriting of `with`, `try` and displays of containers, which kernels have not."""

    def post_process(self, peepholes: Any, func_ir: Any) -> Any:
        return func_ir


_LOWERINGS = Registry("kernels")


def _complex_product(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
    """By parts: Numba's own is Python that needs the typing of NumPy's and Python's functions."""
    a, b, c, d = (builder.extract_value(z, part) for z in args for part in (0, 1))
    real = builder.fsub(builder.fmul(a, c), builder.fmul(b, d))
    imag = builder.fadd(builder.fmul(a, d), builder.fmul(b, c))
    return builder.insert_value(builder.insert_value(args[0], real, 0), imag, 1)


for _kind in (types.complex64, types.complex128):
    for _operator in (operator.mul, operator.imul):
        _LOWERINGS.lower(_operator, _kind, _kind)(_complex_product)


@cache
def _flags() -> Any:
    flags = cast(Any, compiler.Flags())  # its options are made when Numba runs
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.no_compile = True
    flags.nrt = False
    flags.error_model = "numpy"
    flags.noalias = True
    return flags


@cache
def contexts() -> tuple[Context, CPUContext]:
    """The typing and the target context of all kernels."""
    typing_context = _KernelTyping()
    context = _KernelContext(typing_context, "cpu")
    context.refresh()
    context.install_registry(_LOWERINGS)
    return typing_context, compiler._make_subtarget(context, _flags())


def lower(function: Any, arguments: tuple[Any, ...], name: str) -> Lowered:
    """The module of one function that returns nothing. Raises Numba's errors.

    The caller holds Numba's lock: what is remembered for all kernels has none of its own.
    """
    typing_context, context = contexts()
    library = _CaptureLibrary(context.codegen(), name)
    with ConfigStack().enter(_flags().copy()):
        typing_context.refresh()  # intrinsics that are new since the last function
        kernel, typemap, calltypes = _typed(function, arguments)
        described = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            kernel, typemap, types.void, calltypes, mangler=context.mangler, inline=False,
            noalias=True, abi_tags=[],
        )  # fmt: skip
        with context.push_code_library(library):
            lowering.Lower(context, library, described, kernel).lower()
    return Lowered(library.captured, described.llvm_func_name)


def _typed(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Numba's IR of a function with the types of its variables and calls.

    A variable is typed as a whole where each of its values has the same type by itself. Where they
    differ, the values become variables of their own first, and keep their types. Where types do not
    fit, branches that constants decide are dropped: what is written for other types need not fit.
    """
    try:
        return _typed_variables(_read(function), arguments)
    except errors.TypingError:
        kernel = _read(function)
        kernel._definitions = build_definitions(kernel.blocks)
        dead_branch_prune(kernel, arguments)
        return _typed_variables(kernel, arguments)


def _read(function: Any) -> Any:
    identity = bytecode.FunctionIdentity.from_function(function)
    kernel = _Interpreter(identity).interpret(bytecode.ByteCode(identity))
    kernel.blocks = canonicalize_cfg(kernel.blocks)
    return kernel


def _typed_variables(kernel: Any, arguments: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    typed = _types(kernel, arguments)
    if not _all_alike(kernel, typed):
        kernel = reconstruct_ssa(kernel)
        typed = _types(kernel, arguments)
        kernel = PreLowerStripPhis()._strip_phi_nodes(kernel)
    kernel.generator_info = None
    return kernel, typed.typemap, typed.calltypes


def _types(kernel: Any, arguments: tuple[Any, ...]) -> Any:
    kernel._definitions = build_definitions(kernel.blocks)
    return type_inference_stage(*contexts(), kernel, arguments, types.void, {})


def _all_alike(kernel: Any, typed: Any) -> bool:
    """Whether every variable that is assigned more than once gets values of its own type only."""
    values: dict[str, list[Any]] = defaultdict(list)
    for block in kernel.blocks.values():
        for assign in block.find_insts(numba_ir.Assign):
            values[assign.target.name].append(assign.value)
    return all(
        _value_type(value, typed) == typed.typemap[name]
        for name, found in values.items()
        if len(found) > 1
        for value in found
    )


def _value_type(value: Any, typed: Any) -> Any:
    """The type of the right side of an assignment, or None where it is not known by itself."""
    match value:
        case numba_ir.Var():
            return types.unliteral(typed.typemap[value.name])
        case numba_ir.Const():
            return contexts()[0].resolve_value_type(value.value)
        case numba_ir.Expr() if value in typed.calltypes:
            return types.unliteral(typed.calltypes[value].return_type)
        case _:
            return None
