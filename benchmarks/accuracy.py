"""The accuracy contract of the math functions, and how it is measured.

In: function names. Out: loops over NumPy arrays compiled with LLVM's vectoriser (`compile_loops`),
references in extended precision (`REFERENCES`), errors in units in the last place (`ulp_errors`).
Invariant: `BOUNDS` holds for every finite argument, on targets with and without fused multiply-add;
NaN, infinities and signed zeros agree exactly. `SIZE_BOUNDS` are the f64 errors of functions whose
error near a zero is small against the function's size nearby only: against max(1, |value|).
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
    "exp": 1.3,
    "exp_negative": 1.3,
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
    "tan_f64": 2.5,
    "asin": 2.5,
    "acos": 1.5,
    "atan": 2.7,
    "atan2": 3.0,
    "pow_f32": 0.6,
    "pow_f64": 2.4,
    "erf_f32": 1.4,
    "erf_f64": 3.5,
    "erfc_f32": 5.0,
    "erfc_f64": 8.0,  # 3.7 against exact values; the rest is the reference's own error
    "erfinv_f32": 0.6,
    "erfinv_f64": 6.0,
    "ndtri_f32": 0.6,
    "ndtri_f64": 7.0,
    "sqrt": 0.5,
    "rsqrt": 1.6,
    "floor": 0.0,
    "ceil": 0.0,
    "trunc": 0.0,
    "rint": 0.0,
    "truncatemod": 0.0,
}

# f64, against max(1, |value|). The f32 versions are these, rounded: 0.6 ulp away from zeros.
SIZE_BOUNDS: dict[str, float] = {
    "lgamma": 4e-15,
    "digamma": 4e-15,
    "igamma": 1e-12,
    "igammac": 1e-12,
    "betainc": 1e-12,
    "zeta": 4e-15,
    "polygamma": 1e-13,
    "bessel_i0": 2e-15,
    "bessel_i0e": 2e-15,
    "bessel_i1": 4e-15,
    "bessel_i1e": 2e-15,
    "bessel_j0": 2e-15,
    "bessel_j1": 2e-15,
    "bessel_k0": 4e-15,
    "bessel_k0e": 4e-15,
    "bessel_k1": 2e-15,
    "bessel_k1e": 2e-15,
    "bessel_y0": 4e-15,
    "bessel_y1": 4e-15,
    "dawsn": 1e-15,
    "expint": 5e-14,
    "fresnel_cos": 1e-14,
    "fresnel_sin": 1e-14,
    "spence": 5e-15,
}

# f64, in ulp, next to the roots too, where no reference in `REFERENCES` is exact.
LGAMMA_BOUND = 4.0

Reference = Callable[..., Any]


def _sigmoid(x: Any) -> Any:
    t = np.exp(-np.abs(x))
    return np.where(x < 0, t, 1) / (1 + t)


def _scipy(name: str) -> Reference:
    def reference(*args: Any) -> Any:
        from scipy import special

        return getattr(special, name)(*(np.asarray(a, np.float64) for a in args))

    return reference


def _erfc(x: Any) -> Any:
    """SciPy's erfc gives 0 where the result is subnormal; its erfcx goes on."""
    from scipy import special

    wide = np.asarray(x, np.longdouble)
    tail = special.erfcx(np.asarray(x, np.float64)) * np.exp(-wide * wide)
    return np.where((wide > 0.3) & (wide < 100), tail, special.erfc(np.asarray(x, np.float64)))


def _polygamma(n: Any, x: Any) -> Any:
    from scipy import special

    return special.polygamma(np.asarray(n, np.int64), np.asarray(x, np.float64))


# Extended-precision (80-bit) NumPy where it has the function, SciPy's f64 elsewhere.
REFERENCES: dict[str, Reference] = {
    "exp": np.exp,
    "exp_negative": np.exp,
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
    "erf": _scipy("erf"),
    "erfc": _erfc,
    "erfinv": _scipy("erfinv"),
    "ndtri": _scipy("ndtri"),
    "lgamma": _scipy("gammaln"),
    "digamma": _scipy("digamma"),
    "igamma": _scipy("gammainc"),
    "igammac": _scipy("gammaincc"),
    "betainc": _scipy("betainc"),
    "zeta": _scipy("zeta"),
    "polygamma": _polygamma,
    **{f"bessel_{n}": _scipy(n) for n in ("i0", "i0e", "i1", "i1e", "j0", "j1", "y0", "y1")},
    **{f"bessel_{n}": _scipy(n) for n in ("k0", "k0e", "k1", "k1e")},
    "dawsn": _scipy("dawsn"),
    "expint": _scipy("expi"),
    "fresnel_cos": lambda x: _scipy("fresnel")(x)[1],
    "fresnel_sin": lambda x: _scipy("fresnel")(x)[0],
    "spence": _scipy("spence"),
}


def bound(name: str) -> float | None:
    """The stated bound of a function such as `exp_f32`, in ulp."""
    return BOUNDS.get(name, BOUNDS.get(name.rpartition("_")[0]))


def reference(name: str) -> Reference | None:
    return REFERENCES.get(name.rpartition("_")[0])


def in_domain(name: str, args: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Arguments, those for which `name` is not defined moved to the edge of those for which it
    is."""
    return [np.minimum(a, 0) if name.startswith("exp_negative") else a for a in args]


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
        tuning.loop_unrolling = False
        passes = llvm.create_pass_builder(machine, tuning)
        passes.getModulePassManager().run(module, passes)
        self.text = str(module)
        self._module, self._machine = module, machine
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()

    def object(self) -> bytes:
        """The object code of the whole module."""
        return self._machine.emit_object(self._module)

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
