"""The accuracy contract of the math functions, and how it is measured.

In: function names. Out: loops over NumPy arrays compiled with LLVM's vectoriser (`compile_loops`),
references in extended precision (`REFERENCES`), errors in units in the last place (`ulp_errors`).
Invariant: `BOUNDS` holds for every finite argument, on targets with and without fused multiply-add;
NaN, infinities and signed zeros agree exactly.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir

from flowc.codegen.math.expression import ir_type
from flowc.codegen.math.table import lookup, math_module_text
from flowc.dtypes import DType, bf16, bool_, f16

# Greatest error in ulp, alike for f32 and f64 where no dtype is given.
BOUNDS: dict[str, float] = {
    "exp": 1.1,
    "expm1": 2.0,
    "log": 1.0,
    "log1p": 1.6,
    "sigmoid": 2.4,
    "tanh": 2.7,
    "sinh": 2.5,
    "cosh": 1.7,
    "asinh": 2.5,
    "acosh": 2.5,
    "atanh": 2.5,
    "sin": 1.7,
    "cos": 1.7,
    "tan_f32": 0.6,
    "asin": 2.5,
    "acos": 1.5,
    "atan": 2.7,
    "atan2": 3.0,
    "pow_f32": 0.6,
    "sqrt": 0.5,
    "rsqrt": 1.6,
    "floor": 0.0,
    "ceil": 0.0,
    "trunc": 0.0,
    "rint": 0.0,
    "truncatemod": 0.0,
}

Reference = Callable[..., Any]


def _sigmoid(x: Any) -> Any:
    t = np.exp(-np.abs(x))
    return np.where(x < 0, t, 1) / (1 + t)


def _scipy(name: str) -> Reference:
    def reference(*args: Any) -> Any:
        from scipy import special

        return getattr(special, name)(*(np.asarray(a, np.float64) for a in args))

    return reference


# Extended-precision (80-bit) NumPy where it has the function, SciPy's f64 elsewhere.
REFERENCES: dict[str, Reference] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "pow": np.power,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "truncatemod": np.fmod,
}


def bound(name: str) -> float | None:
    """The stated bound of a function such as `exp_f32`, in ulp."""
    return BOUNDS.get(name, BOUNDS.get(name.rpartition("_")[0]))


def reference(name: str) -> Reference | None:
    return REFERENCES.get(name.rpartition("_")[0])


def carrier(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype in which the functions take and give `dtype`."""
    if dtype in (f16, bf16):
        return np.dtype(np.uint16)
    return np.dtype(np.uint8) if dtype is bool_ else dtype.numpy


def ulp_errors(got: np.ndarray, exact: Any) -> np.ndarray:
    """|got - exact| in ulp of `exact`; infinite where NaN or infinity disagree."""
    info = np.finfo(got.dtype)
    exact = np.asarray(exact, np.longdouble)
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        magnitude = np.maximum(np.abs(exact), np.longdouble(info.smallest_normal))
        exponent = np.where(np.isfinite(magnitude), np.frexp(magnitude)[1] - 1, 0)
        ulp = np.ldexp(np.longdouble(1), exponent - info.nmant)
        errors = np.abs(got.astype(np.longdouble) - exact) / ulp
        special = ~np.isfinite(rounded) | ~np.isfinite(got)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        # Next to the overflow threshold the largest number and infinity are neighbours.
        same |= np.isinf(rounded) & (got == np.copysign(info.max, rounded))
        same |= np.isinf(got) & (rounded == np.copysign(info.max, got))
    errors[special] = np.where(same[special], 0.0, np.inf)
    return errors


def loop_text(names: Iterable[str]) -> str:
    """LLVM IR with one function `loop_NAME(out, args..., count)` for each name."""
    module = ir.Module("loops")
    module.triple = llvm.get_process_triple()
    i64 = ir.IntType(64)
    for name in names:
        entry = lookup(name)
        kinds, result = [ir_type(a) for a in entry.args], ir_type(entry.result)
        callee = ir.Function(module, ir.FunctionType(result, kinds), entry.symbol)
        pointers = [ir.PointerType(k) for k in (result, *kinds)]
        kind = ir.FunctionType(ir.VoidType(), [*pointers, i64])
        function = ir.Function(module, kind, f"loop_{name}")
        *arrays, count = function.args
        for a in arrays:
            a.add_attribute("noalias")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        body, done = builder.append_basic_block("body"), builder.append_basic_block("done")
        entry_block = builder.block
        builder.branch(body)
        builder.position_at_end(body)
        i = builder.phi(i64)
        i.add_incoming(ir.Constant(i64, 0), entry_block)
        value = builder.call(callee, [builder.load(builder.gep(a, [i])) for a in arrays[1:]])
        builder.store(value, builder.gep(arrays[0], [i]))
        after = builder.add(i, ir.Constant(i64, 1))
        i.add_incoming(after, body)
        builder.cbranch(builder.icmp_signed("<", after, count), body, done)
        builder.position_at_end(done)
        builder.ret_void()
    return str(module)


class CompiledLoops:
    """Optimised loops over a set of functions: `loops(name, *arrays)` gives a new array.

    `text` is the optimised LLVM IR. Counts must be positive.
    """

    def __init__(self, names: Sequence[str], cpu: str | None) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = "" if cpu else llvm.get_host_cpu_features().flatten()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=cpu or llvm.get_host_cpu_name(), features=features, opt=3
        )
        module = llvm.parse_assembly(loop_text(names))
        module.link_in(llvm.parse_assembly(math_module_text(names)))
        module.data_layout = str(machine.target_data)
        module.verify()
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization = True
        passes = llvm.create_pass_builder(machine, tuning)
        passes.getModulePassManager().run(module, passes)
        self.text = str(module)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()

    def body(self, name: str) -> str:
        """The optimised IR of one loop."""
        found = re.search(rf"define [^\n]*@loop_{name}\(.*?\n}}", self.text, re.S)
        assert found is not None, name
        return found.group()

    def __call__(self, name: str, *arrays: Any) -> np.ndarray:
        entry = lookup(name)
        inputs = [
            np.ascontiguousarray(a, dtype=carrier(t))
            for a, t in zip(arrays, entry.args, strict=True)
        ]
        out = np.empty(inputs[0].shape, carrier(entry.result))
        assert out.size and all(a.size == out.size for a in inputs)
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (1 + len(inputs)), ctypes.c_int64)
        run = kind(self._engine.get_function_address(f"loop_{name}"))
        run(out.ctypes.data, *(a.ctypes.data for a in inputs), out.size)
        return out


def compile_loops(names: Iterable[str], cpu: str | None = None) -> CompiledLoops:
    """Loops over `names` for this machine, or for an LLVM `cpu` name such as `x86-64-v2`."""
    return CompiledLoops(sorted(set(names)), cpu)
