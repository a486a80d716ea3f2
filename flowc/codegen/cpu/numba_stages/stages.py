"""Numba's stages from a Python function to an LLVM module, without what kernels have no use for.

In: a function, and the Numba types of its arguments. Out: a Lowered: the module's text before any
optimisation, and the function's name in it. Numba's own pipeline runs some thirty passes (closures,
array expressions, parallel loops, lifetimes of objects) around the stages below. Kernels are scalar
code on pointers: for them the other passes change nothing that reaches an object file. Invariant:
the text is a pure function of the source, the globals that it names and the types.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from typing import Any, cast

from llvmlite import ir
from numba.core import compiler, funcdesc, types
from numba.core import ir as numba_ir
from numba.core.codegen import CodeLibrary, CPUCodeLibrary
from numba.core.cpu import CPUContext
from numba.core.datamodel.models import OpaqueModel
from numba.core.ir_utils import build_definitions
from numba.core.ssa import reconstruct_ssa
from numba.core.target_extension import CPU, dispatcher_registry, target_override, target_registry
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import PreLowerStripPhis
from numba.core.typing import npydecl, templates
from numba.core.typing.context import Context
from numba.extending import register_model

from flowc.codegen.cpu.numba_stages.inference import infer_types
from flowc.codegen.cpu.numba_stages.lowering import LOWERINGS, KernelLower, parts_of
from flowc.codegen.cpu.numba_stages.reader import read_definition
from flowc.codegen.cpu.vector_interleave import mark_loops
from flowc.codegen.llvm.shared_routines import KernelModule, SharedRoutine
from flowc.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Lowered:
    """`shared`: the routines that the text declares."""

    text: str
    name: str
    shared: tuple[SharedRoutine, ...]


_RULES_OF_OTHERS = {templates._OverloadFunctionTemplate, npydecl.NumpyRulesArrayOperator}


class _Function(types.Function):
    """A function that remembers how its calls resolve. Rules that stand for Python code, which
    Numba would compile by itself, are left out: nothing would link what comes of it; and those of
    operators on arrays, which take long to find out that there are none."""

    def __init__(self, rules: tuple[Any, ...]) -> None:
        self.calls: dict[Any, Any] = {}
        # `issubclass` asks all that the class is registered with, for each of thousands.
        own = [x for x in rules if not _RULES_OF_OTHERS.intersection(x.__mro__)]
        super().__init__(tuple(own or rules))

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


@register_model(_Function)
class _FunctionModel(OpaqueModel):
    """A function has no value in memory."""


class _KernelTyping(Context):
    """Typing rules for scalars and pointers only: without those of NumPy and the containers, calls
    resolve several times as fast. What a call resolves to is remembered for all kernels."""

    def __init__(self) -> None:
        self.resolved: dict[Any, Any] = {}
        super().__init__()

    def _load_builtins(self) -> None:
        from numba.core.typing import builtins  # noqa: F401  its rules enter the registry

        self.install_registry(templates.builtin_registry)

    def _insert_global(self, gv: Any, gty: Any) -> None:
        if type(gty) is types.Function:
            gty = _Function(gty.templates)
        super()._insert_global(gv, gty)

    def resolve_value_type(self, val: Any) -> Any:
        # Numba compares classes, such as `range`, with those of its containers, and imports them.
        known = self._get_global_type(val) if isinstance(val, type) else None
        return super().resolve_value_type(val) if known is None else known

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
    """Implementations for scalars, ranges and pointers only: to import those of NumPy and the
    containers takes longer than to compile ten kernels. What Numba looks up for every instruction
    is remembered for all kernels."""

    def init(self) -> None:
        super().init()
        self.implementations: dict[Any, Any] = {}
        self.sizes: dict[str, int] = {}

    def load_additional_registries(self) -> None:
        from numba.cpython import builtins, numbers, rangeobj, tupleobj  # noqa: F401

    def pair_first(self, builder: ir.IRBuilder, val: ir.Value, ty: Any) -> ir.Value:
        return parts_of(builder, val)[0]

    def pair_second(self, builder: ir.IRBuilder, val: ir.Value, ty: Any) -> ir.Value:
        return parts_of(builder, val)[1]

    def post_lowering(self, mod: ir.Module, library: Any) -> None:
        """Nothing of Numba's runtime is called."""

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        key = (fn, sig)
        found = self.implementations.get(key)
        if found is None:
            if not _firstcall:  # nothing was found: powers and floors of floats are in `math`
                from numba.cpython import mathimpl

                self.install_registry(mathimpl.registry)
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
    shared: tuple[SharedRoutine, ...] = ()

    def __init__(self, codegen: Any, name: str) -> None:
        CodeLibrary.__init__(self, codegen, name)

    def create_ir_module(self, name: str) -> KernelModule:
        return KernelModule(name)

    def add_ir_module(self, ir_module: KernelModule) -> None:
        mark_loops(ir_module)
        self.captured = str(ir_module)
        self.shared = tuple(ir_module.shared.values())


class _Target(CPU):
    """Numba's name for code that our contexts compile: intrinsics look for them by it."""


class _Dispatcher:
    """Where Numba finds the context of a target."""

    targetdescr: Any = None

    def __init__(self, context: CPUContext) -> None:
        self.target_context = context


TARGET = "flowc"
target_registry[TARGET] = _Target


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
    context = _KernelContext(typing_context, TARGET)
    dispatcher_registry[_Target] = _Dispatcher
    _Dispatcher.targetdescr = _Dispatcher(context)
    with target_override(TARGET):
        context.refresh()
    context.install_registry(LOWERINGS)  # last: they take the place of Numba's own
    return typing_context, compiler._make_subtarget(context, _flags())


def lower(
    function: Any, arguments: tuple[Any, ...], name: str, definition: ast.FunctionDef
) -> Lowered:
    """The module of one function that returns nothing, whose source is `definition`. Raises Numba's
    errors.

    The caller holds Numba's lock: what is remembered for all kernels has none of its own.
    """
    typing_context, context = contexts()
    library = _CaptureLibrary(context.codegen(), name)
    with ConfigStack().enter(_flags().copy()), target_override(TARGET):
        typing_context.refresh()  # intrinsics that are new since the last function
        kernel, typemap, calltypes = _typed(function, arguments, definition)
        described = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            kernel, typemap, types.void, calltypes, mangler=context.mangler, inline=False,
            noalias=True, abi_tags=[],
        )  # fmt: skip
        with context.push_code_library(library):
            KernelLower(context, library, described, kernel).lower()
    return Lowered(library.captured, described.llvm_func_name, library.shared)


def _typed(
    function: Any, arguments: tuple[Any, ...], definition: ast.FunctionDef
) -> tuple[Any, Any, Any]:
    """Numba's IR of a function with the types of its variables and calls.

    A variable is typed as a whole where each of its values has the same type by itself. Where they
    differ, the values become variables of their own first, and keep their types. Branches that
    constants decide are not there: what is written for other types need not fit.
    """
    kernel = read_definition(function, definition)
    typemap, calltypes = _types(kernel, arguments)
    if not _all_alike(kernel, typemap, calltypes):
        kernel = reconstruct_ssa(kernel)
        typemap, calltypes = _types(kernel, arguments)
        kernel = PreLowerStripPhis()._strip_phi_nodes(kernel)
    kernel.generator_info = None
    return kernel, typemap, calltypes


def _types(kernel: Any, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    kernel._definitions = build_definitions(kernel.blocks)
    return infer_types(*contexts(), kernel, arguments)


def _all_alike(kernel: Any, typemap: Any, calltypes: Any) -> bool:
    """Whether every variable that is assigned more than once gets values of its own type only."""
    values: dict[str, list[Any]] = defaultdict(list)
    for block in kernel.blocks.values():
        for assign in block.find_insts(numba_ir.Assign):
            values[assign.target.name].append(assign.value)
    return all(
        _value_type(value, typemap, calltypes) == typemap[name]
        for name, found in values.items()
        if len(found) > 1
        for value in found
    )


def _value_type(value: Any, typemap: Any, calltypes: Any) -> Any:
    """The type of the right side of an assignment, or None where it is not known by itself."""
    match value:
        case numba_ir.Var():
            return types.unliteral(typemap[value.name])
        case numba_ir.Const():
            return contexts()[0].resolve_value_type(value.value)
        case numba_ir.Expr() if value in calltypes:
            return types.unliteral(calltypes[value].return_type)
        case _:
            return None
