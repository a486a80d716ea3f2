"""Greatest error of the math functions in ulp: a table of function, error, bound, argument, ns.

    python benchmarks/math_accuracy.py [--all] [--cpu x86-64-v2] [--samples N] [NAME...]

Unary f32 functions are tried at `--samples` bit patterns, spread evenly over all 2**32, or with
`--all` at every one (about twenty minutes a function: the references are slow). Others get random
bit patterns. Ends with status 1 if a bound is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

import accuracy
import numpy as np
from accuracy import CompiledLoops, compile_loops

from flowc.codegen.math import FUNCTIONS

CHUNK = 1 << 20


def chunks(name: str, samples: int, every: bool) -> Iterator[tuple[np.ndarray, ...]]:
    """Arguments of `name`, a chunk at a time."""
    dtypes = [a.numpy for a in FUNCTIONS[name].args]
    rng = np.random.default_rng(0)
    total = 1 << 32 if every else samples
    for start in range(0, total, CHUNK):
        count = min(CHUNK, total - start)
        if len(dtypes) == 1 and dtypes[0] == np.float32:
            step = 1 if every else (1 << 32) // total
            patterns = np.arange(start, start + count, dtype=np.uint64) * np.uint64(step)
            yield (patterns.astype(np.uint32).view(np.float32),)
        else:
            yield tuple(random_floats(rng, d, count) for d in dtypes)


def random_floats(rng: np.random.Generator, dtype: np.dtype, count: int) -> np.ndarray:
    """Half random bit patterns, half numbers of everyday size."""
    patterns = rng.integers(0, 256, count // 2 * dtype.itemsize, dtype=np.uint8).view(dtype)
    everyday = rng.normal(0, 1, count - patterns.size) * np.exp(rng.uniform(-6, 6))
    return np.concatenate([patterns, everyday.astype(dtype)])


def measure(
    loops: CompiledLoops, name: str, samples: int, every: bool
) -> tuple[float, tuple[float, ...], float]:
    """Greatest error in ulp, where, and nanoseconds a call."""
    reference = accuracy.reference(name)
    assert reference is not None
    worst, where, seconds, calls = -1.0, (), 0.0, 0
    for chunk in chunks(name, samples, every):
        args = accuracy.in_domain(name, chunk)
        begin = time.perf_counter()
        got = loops(name, *args)
        seconds, calls = seconds + time.perf_counter() - begin, calls + got.size
        with np.errstate(all="ignore"):
            errors = accuracy.ulp_errors(got, reference(*(a.astype(np.longdouble) for a in args)))
        i = int(np.argmax(errors))
        if errors[i] > worst:
            worst, where = float(errors[i]), tuple(float(a[i]) for a in args)
    return worst, where, seconds / calls * 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="functions such as exp_f32; all by default")
    parser.add_argument("--all", action="store_true", help="every f32 bit pattern")
    parser.add_argument("--cpu", help="an LLVM processor name; this machine's by default")
    parser.add_argument("--samples", type=int, default=1 << 20)
    options = parser.parse_args()
    floats = [n for n in FUNCTIONS if n.endswith(("_f32", "_f64"))]
    names = options.names or [n for n in floats if accuracy.bound(n) is not None]
    loops = compile_loops(names, options.cpu)
    broken = 0
    print(f"{'function':16} {'max ulp':>8} {'bound':>6} {'ns':>7}  at")
    for name in names:
        worst, where, ns = measure(loops, name, options.samples, options.all)
        limit = accuracy.bound(name)
        bad = limit is not None and not worst <= limit
        broken += bad
        stated = "-" if limit is None else f"{limit:.1f}"
        place = ", ".join(f"{w:.9g}" for w in where)
        print(f"{name:16} {worst:8.3f} {stated:>6} {ns:7.2f}  {place}{'  BROKEN' if bad else ''}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
