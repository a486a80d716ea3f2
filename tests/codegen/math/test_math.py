"""The math functions against references in extended precision, bit by bit at special values."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from benchmarks import accuracy
from benchmarks.accuracy import CompiledLoops, compile_loops
from flowc import dtypes
from flowc.codegen.math import FUNCTIONS, intrinsic, math_module_text
from flowc.errors import UnknownNameError

RECORDED = Path(__file__).parents[2] / "recorded"
INF, NAN = np.inf, np.nan
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOAT_NAMES = [n for n in FUNCTIONS if n.endswith(("_f32", "_f64"))]
MEASURED = sorted(n for n in FLOAT_NAMES if accuracy.bound(n) is not None)


@pytest.fixture(scope="module")
def loops() -> CompiledLoops:
    return compile_loops(FUNCTIONS)


@pytest.fixture(scope="module")
def loops_without_fma() -> CompiledLoops:
    return compile_loops(MEASURED, "x86-64-v2")


def samples(dtype: Any, count: int, seed: int) -> np.ndarray:
    """All magnitudes by bit pattern, the usual ranges densely, and the special values."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    carrier = np.uint32 if info.bits == 32 else np.uint64
    special = [0.0, -0.0, INF, -INF, NAN, info.max, info.min, info.tiny, -info.tiny]
    special += [info.smallest_subnormal, -info.smallest_subnormal, 1, -1, 2, -2, 0.5, -0.5, 3, 10]
    edge = 88.7228 if info.bits == 32 else 709.78
    wide = 1.3 * edge
    parts = [
        rng.integers(0, 2**info.bits, count, dtype=carrier).view(dtype),
        rng.uniform(-1, 1, count),
        rng.uniform(-10, 10, count),
        rng.uniform(-wide, wide, count),
        1 + rng.normal(0, 0.01, count),
        special,
        [edge, 1.001 * edge, -edge, -1.1 * edge, -1.18 * edge],
    ]
    return np.concatenate([np.asarray(p).astype(dtype) for p in parts])


def check_accuracy(loops: CompiledLoops, name: str, count: int) -> None:
    entry = FUNCTIONS[name]
    args = [samples(a.numpy, count, 7 + i) for i, a in enumerate(entry.args)]
    if len(args) == 2:
        args[1] = np.random.default_rng(3).permutation(args[1])
    args = accuracy.in_domain(name, args)
    got = loops(name, *args)
    with np.errstate(all="ignore"):
        exact = accuracy.REFERENCES[name.rpartition("_")[0]](*(a.astype("g") for a in args))
        errors = accuracy.ulp_errors(got, exact)
    worst = int(np.argmax(errors))
    limit = accuracy.bound(name)
    assert limit is not None, f"{name} has no stated bound"
    assert errors[worst] <= limit, f"{name}{tuple(a[worst] for a in args)} = {got[worst]!r}"
    rounded = np.asarray(exact).astype(got.dtype)
    zeros = (rounded == 0) & (got == 0)
    wrong = np.flatnonzero(zeros & (np.signbit(rounded) != np.signbit(got)))
    assert not wrong.size, f"sign of zero: {name}{tuple(a[wrong[0]] for a in args)}"


@pytest.mark.parametrize("name", MEASURED)
def test_accuracy(loops: CompiledLoops, name: str) -> None:
    check_accuracy(loops, name, 5000)


@pytest.mark.parametrize("name", MEASURED)
def test_accuracy_without_fma(loops_without_fma: CompiledLoops, name: str) -> None:
    check_accuracy(loops_without_fma, name, 2000)


@pytest.mark.parametrize("name", ["sin_f32", "cos_f32", "tan_f32"])
def test_arguments_nearest_to_multiples_of_half_pi(loops: CompiledLoops, name: str) -> None:
    near = [1.5707964, 3.1415927, 6.2831855, 16367173 * 2.0**72, 1.7e38, 8.5e10, 2.0**127]
    x = np.array(near + [-v for v in near], np.float32)
    exact = accuracy.REFERENCES[name[:-4]](x.astype("g"))
    assert accuracy.ulp_errors(loops(name, x), exact).max() <= 2


def special_arguments(base: str) -> tuple[np.ndarray, ...]:
    """Arguments across the domain of a function of `accuracy.SIZE_BOUNDS`."""
    rng, n = np.random.default_rng(11), 400
    wide = np.exp(rng.uniform(-3, 4, n))
    match base:
        case "betainc":
            return wide, np.exp(rng.uniform(-3, 4, n)), rng.uniform(0, 1, n)
        case "igamma" | "igammac":
            return wide, wide * np.exp(rng.normal(0, 0.5, n))
        case "zeta":
            return 1 + np.exp(rng.uniform(-3, 3, n)), wide
        case "polygamma":
            return rng.integers(0, 9, n).astype(float), 0.2 + wide
    x = np.concatenate([rng.uniform(0, 1, n), rng.uniform(0, 10, n), rng.uniform(0, 60, n)])
    positive = ("digamma", "bessel_k", "bessel_y", "expint", "spence")
    return (x if base.startswith(positive) else x * rng.choice([-1, 1], x.size),)


@pytest.mark.parametrize("base", accuracy.SIZE_BOUNDS)
def test_special_functions(loops: CompiledLoops, base: str) -> None:
    args = special_arguments(base)
    exact = accuracy.REFERENCES[base](*args)
    error = np.abs(loops(f"{base}_f64", *args) - exact) / np.maximum(1, np.abs(exact))
    worst = int(np.argmax(error))
    assert error[worst] <= accuracy.SIZE_BOUNDS[base], [a[worst] for a in args]
    short = [a.astype(np.float32) for a in args]
    got, exact = loops(f"{base}_f32", *short), accuracy.REFERENCES[base](*short)
    away = np.abs(exact) > 1e-6
    assert accuracy.ulp_errors(got, exact)[away].max() <= 0.6


@pytest.mark.parametrize("cpu", [None, "x86-64-v2"])
def test_lgamma_near_its_roots(cpu: str | None) -> None:
    """At the doubles nearest to every root below 0 and around them, against exact values."""
    recorded = json.loads((RECORDED / "lgamma.json").read_text())
    x, exact = (np.array([float.fromhex(v) for v in vs]) for vs in (recorded, recorded.values()))
    errors = accuracy.ulp_errors(compile_loops(["lgamma_f64"], cpu)("lgamma_f64", x), exact)
    assert errors.max() <= accuracy.LGAMMA_BOUND, x[np.argmax(errors)]


# (arguments, value) as TensorFlow 2.21 has it.
SPECIAL_VALUES: dict[str, list[tuple[tuple[float, ...], float]]] = {
    "lgamma": [((0,), INF), ((-1,), INF), ((1,), 0), ((2,), 0), ((-INF,), INF), ((INF,), INF)],
    "digamma": [((0,), NAN), ((-1,), NAN), ((INF,), INF), ((-INF,), NAN)],
    "erfinv": [((1,), INF), ((-1,), -INF), ((2,), NAN), ((0,), 0)],
    "ndtri": [((0,), -INF), ((1,), INF), ((0.5,), 0), ((-1,), NAN), ((2,), NAN)],
    "igamma": [((0, 0), 0), ((NAN, 0), 0), ((-1, 1), NAN), ((2, INF), 1), ((INF, INF), 0)],
    "igammac": [((2, 0), 1), ((2, INF), 0), ((0, 1), NAN), ((INF, INF), 0), ((INF, 2), 1)],
    "zeta": [((1, NAN), INF), ((0.5, 2), NAN), ((2, 0), INF), ((3, 0), NAN), ((2, INF), 0)],
    "polygamma": [((0.5, 1), NAN), ((-1, 1), NAN), ((1, INF), 0), ((1, 0), INF)],
    "betainc": [((1, 2, 0), 0), ((1, 2, 1), 1), ((0, 2, 0.5), NAN), ((1, 2, 1.5), NAN)],
    "bessel_k0": [((0,), INF), ((-1,), INF), ((INF,), 0)],
    "bessel_y1": [((0,), -INF), ((-1,), -INF)],
    "bessel_j0": [((0,), 1)],
    "bessel_i0e": [((0,), 1), ((INF,), 0)],
    "expint": [((0,), -INF), ((-1,), NAN), ((800,), INF)],
    "fresnel_sin": [((INF,), 0.5), ((-INF,), -0.5)],
    "spence": [((1,), 0), ((-1,), NAN)],
    "dawsn": [((INF,), 0)],
    "nextafter": [((0, 1), 5e-324), ((1, 1), 1), ((1, NAN), NAN), ((-0.0, 0), 0)],
    "fma": [((2, 3, 4), 10)],
}


@pytest.mark.parametrize("base", SPECIAL_VALUES)
def test_special_values(loops: CompiledLoops, base: str) -> None:
    for args, expected in SPECIAL_VALUES[base]:
        got = loops(f"{base}_f64", *([a] for a in args))
        np.testing.assert_array_equal(got, [expected], str(args))


def test_nextafter(loops: CompiledLoops) -> None:
    for name, dtype in (("f32", np.float32), ("f64", np.float64)):
        x = samples(dtype, 500, 1)
        y = np.random.default_rng(2).permutation(x)
        with np.errstate(all="ignore"):
            expected = np.nextafter(x, y)
        np.testing.assert_array_equal(loops(f"nextafter_{name}", x, y), expected)


SPECIAL_PAIRS = {
    "xlogy": [((0, NAN), 0), ((-0.0, 0), -0.0), ((0, -1), 0), ((2, 0), -INF), ((1, -1), NAN)],
    "xlog1py": [((0, NAN), 0), ((-0.0, -1), -0.0), ((2, -1), -INF), ((1, -2), NAN)],
    "xdivy": [((0, 0), 0), ((0, NAN), 0), ((-0.0, 3), -0.0), ((1, 0), INF), ((6, 3), 2)],
    "floormod": [((5, 3), 2), ((-5, 3), 1), ((5, -3), -1), ((-5, -3), -2), ((5, INF), 5),
                 ((-5, INF), INF), ((-6, 3), -0.0), ((5, 0), NAN), ((INF, 3), NAN)],
    "floordiv": [((5, 3), 1), ((-5, 3), -2), ((5, 0), INF), ((0, 0), NAN)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("base", SPECIAL_PAIRS)
def test_special_pairs(loops: CompiledLoops, base: str, dtype: str) -> None:
    """Values recorded from TensorFlow 2.21."""
    pairs, expected = zip(*SPECIAL_PAIRS[base], strict=True)
    x, y = np.array(pairs, dtype=dtypes.as_dtype(dtype).numpy).T
    got = loops(f"{base}_{dtype}", x, y)
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(got)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected)[numbers])


def same_bits(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Equal bit for bit, or both NaN."""
    return (got.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(got) & np.isnan(expected))


@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_short_floats(loops: CompiledLoops, name: str, dtype: Any) -> None:
    every = np.arange(2**16, dtype=np.uint16)
    wide = loops(f"{name}_to_f32", every)
    assert same_bits(wide, every.view(dtype).astype(np.float32)).all()
    near = [np.nextafter(wide, np.float32(s)) for s in (-INF, INF)]
    x = np.concatenate([samples(np.float32, 5000, 1), wide, *near])
    middle = (wide[:-1] + wide[1:])[np.isfinite(wide[:-1] + wide[1:])] / 2
    x = np.concatenate([x, middle]).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = x.astype(dtype).astype(np.float32)
    assert same_bits(loops(f"f32_to_{name}", x).view(dtype).astype(np.float32), expected).all()


# x: what TensorFlow 2.21 gives for i8, i16, i32, i64, u8, u16, u32, u64 (arrays, on a CPU).
_I32, _I64, _U32, _U64 = -(2**31), -(2**63), 2**31, 2**63
CASTS: dict[float, tuple[int, ...]] = {
    NAN: (-128, -32768, _I32, _I64, 0, 0, _U32, _U64),
    INF: (-128, -32768, _I32, _I64, 0, 0, _U32, _U64),
    -INF: (-128, -32768, _I32, _I64, 0, 0, _U32, _U64),
    3e9: (-128, -32768, _I32, 3000000000, 0, 0, 3000000000, 3000000000),
    -3e9: (-128, -32768, _I32, -3000000000, 0, 0, _U32, 2**64 - 3000000000),
    300.0: (127, 300, 300, 300, 255, 300, 300, 300),
    -300.0: (-128, -300, -300, -300, 0, 0, 2**32 - 300, 2**64 - 300),
    -1.0: (-1, -1, -1, -1, 0, 0, 2**32 - 1, 2**64 - 1),
    -0.5: (0, 0, 0, 0, 0, 0, 0, 0),
    1.9: (1, 1, 1, 1, 1, 1, 1, 1),
    1e30: (-128, -32768, _I32, _I64, 0, 0, _U32, _U64),
}


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("target", INTEGERS)
def test_casts_to_integers(loops: CompiledLoops, source: str, target: str) -> None:
    column = INTEGERS.index(target)
    got = loops(f"{source}_to_{target}", list(CASTS))
    assert got.tolist() == [row[column] for row in CASTS.values()]
    inside = np.random.default_rng(0).uniform(0, 127, 500)
    x = inside.astype(dtypes.as_dtype(source).numpy)
    assert (loops(f"{source}_to_{target}", x) == x.astype(got.dtype)).all()


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_arithmetic(loops: CompiledLoops, name: str) -> None:
    dtype = dtypes.as_dtype(name).numpy
    info, rng = np.iinfo(dtype), np.random.default_rng(5)
    x = rng.integers(info.min, info.max, 3000, dtype=dtype, endpoint=True)
    y = rng.integers(info.min, info.max, 3000, dtype=dtype, endpoint=True)
    y[::2] = rng.integers(-9 if info.min else 0, 9, 1500).astype(dtype)
    x[:300], y[:100] = info.min, np.array(-1).astype(dtype)
    by_zero = y == 0
    assert by_zero.any()
    y1 = np.where(by_zero, 1, y).astype(dtype)
    modulus = 2**info.bits
    truncated = [
        abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y1)
    ]
    wrapped = [(q - info.min) % modulus + info.min for q in truncated]
    with np.errstate(all="ignore"):
        expected = {
            "floordiv": x // y1,
            "floormod": x % y1,
            "truncatediv": np.array(wrapped, dtype),
            "truncatemod": np.fmod(x, y1),
        }
    for operation, values in expected.items():
        got = loops(f"{operation}_{name}", x, y)
        np.testing.assert_array_equal(got[~by_zero], values[~by_zero], operation)
        assert not got[by_zero].any()
    exponent = rng.integers(0, 70, 3000).astype(dtype)
    np.testing.assert_array_equal(loops(f"pow_{name}", x, exponent), x**exponent)
    amount = rng.integers(-100 if info.min else 0, 127, 3000).astype(dtype)
    clamped = np.clip(amount, 0, info.bits - 1).astype(dtype)
    np.testing.assert_array_equal(loops(f"left_shift_{name}", x, amount), x << clamped)
    np.testing.assert_array_equal(loops(f"right_shift_{name}", x, amount), x >> clamped)
    ones = [bin(int(v) % modulus).count("1") for v in x]
    np.testing.assert_array_equal(loops(f"population_count_{name}", x), ones)


def test_branch_free_functions_vectorise(loops: CompiledLoops) -> None:
    scalar = [
        n
        for n, entry in FUNCTIONS.items()
        if not entry.loops
        and entry.dtype.kind == "float"
        and not re.search(r"<\d+ x (float|double|i\d+)>", loops.body(n))
    ]
    assert scalar == []


@pytest.mark.parametrize(("cpu", "width"), [("x86-64-v2", 4), ("x86-64-v3", 8)])
def test_hot_functions_use_the_whole_vector(cpu: str, width: int) -> None:
    hot = [f"{n}_f32" for n in ("exp", "tanh", "sigmoid", "log", "log1p", "expm1", "sqrt", "rsqrt")]
    compiled = compile_loops(hot, cpu)
    for name in hot:
        assert f"<{width} x float>" in compiled.body(name), name


def test_module_is_self_contained_and_repeatable() -> None:
    text = math_module_text(FUNCTIONS)
    declared = re.findall(r'^declare [^@]*@"?([^"(]+)', text, re.M)
    assert declared
    assert [d for d in declared if not d.startswith("llvm.")] == []
    assert "fast" not in re.findall(r"= f\w+ (\w+)", text)
    assert text == math_module_text(list(FUNCTIONS)[::-1])


def test_compiled_code_calls_nothing_outside(loops_without_fma: CompiledLoops) -> None:
    code = ELFFile(io.BytesIO(loops_without_fma.object()))
    table: Any = code.get_section_by_name(".symtab")
    symbols = table.iter_symbols()
    assert [s.name for s in symbols if s["st_shndx"] == "SHN_UNDEF"] == [""]


def test_unknown_name_is_reported_with_a_neighbour() -> None:
    with pytest.raises(UnknownNameError, match="exp_f32"):
        math_module_text(["exp_f23"])


def test_numba_compiles_an_intrinsic() -> None:
    from llvmlite import ir
    from numba.core import types

    typing = intrinsic("pow_f32")
    signature, generate = typing._defn(None, types.float32, types.float32)
    assert signature == types.float32(types.float32, types.float32)
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.FloatType(), [ir.FloatType()] * 2), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(generate(None, builder, signature, function.args))
    assert 'call float @"flowc_pow_f32"(float' in str(module)
