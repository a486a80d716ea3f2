"""Random graphs: compiled with fusion, compiled without, and NumPy's references agree.

`FLOWC_FUZZ=1000` runs that many graphs, and an eighth as many whose values are large;
`FLOWC_FUZZ_SEED` is the first one's seed. A failure names its seed and prints the smallest graph
found; to keep it, save the text in tests/fuzz_cases/.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from campaigns.random_graphs import RandomGraph, inputs_of, random_graph
from campaigns.random_large_graphs import LargeGraph
from campaigns.runnable_targets import TARGETS
from ir_reference import reference_results

from flowc.compiler import load_executable
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Expr
from flowc.ir.program_spec import spec_of
from flowc.ir.text.form import parse_computation
from flowc.options import Options

FIRST = int(os.environ.get("FLOWC_FUZZ_SEED", "0"))
COUNT = int(os.environ.get("FLOWC_FUZZ", "24"))
CASES = sorted((Path(__file__).resolve().parent / "fuzz_cases").glob("*.ir"))


def results_of(c: Computation, feeds: Sequence[Sequence[np.ndarray]], options: Options):
    names = [p.attrs["name"] for p in c.parameters], [f"y{i}" for i in range(len(c.results))]
    executable = load_executable(c, options, spec_of(c, *names), threads=2)
    return [executable.run(arrays) for arrays in feeds]


def fault(
    c: Computation,
    seed: int,
    exact: Collection[Value] = (),
    sizes: Sequence[int] = RandomGraph.open_sizes,
) -> str | None:
    """The first disagreement, in words. `exact`: values that must agree to the bit; `sizes`: what
    a symbolic size is. Seeds take turns with the targets that this machine runs."""
    symbolic = any(isinstance(d, Expr) for p in c.parameters for d in p.output.dims)
    feeds = [inputs_of(c, seed, n) for n in (sizes if symbolic else (1,))]
    expected = [reference_results(c, arrays) for arrays in feeds]
    target = TARGETS[seed % len(TARGETS)]
    for options in (Options(target=target), Options(target=target, fuse=False)):
        try:
            found = results_of(c, feeds, options)
        except Exception as error:
            return f"{options}: {type(error).__name__}: {error}"
        for wanted, given in zip(expected, found):
            for i, (x, y) in enumerate(zip(given, wanted)):
                if x.shape != y.shape or x.dtype != y.dtype:
                    return f"{options}: result {i} is {x.dtype}{x.shape}, not {y.dtype}{y.shape}"
                same = equal(x, y) if c.results[i] in exact else near(x, y)
                if not same:
                    return f"{options}: result {i} is {x}, not {y}"
    return None


def equal(x: np.ndarray, y: np.ndarray) -> bool:
    return np.array_equal(x, y, equal_nan=x.dtype.kind == "f")


def near(x: np.ndarray, y: np.ndarray) -> bool:
    if x.dtype.kind != "f":
        return np.array_equal(x, y)
    finite = np.isfinite(y)  # the mean of nothing is not
    largest = max(1.0, float(np.max(np.abs(y), initial=0, where=finite)))
    apart = np.abs(x[finite].astype(np.float64) - y[finite])
    return equal(x[~finite], y[~finite]) and bool(np.all(apart <= 2e-5 * largest))


def smaller(c: Computation, fails: Callable[[Computation], bool]) -> Computation:
    """Of the graphs that compute one value of a failing graph, the smallest that fails."""
    made = [n.output for n in c.nodes if len(n.outputs) == 1 and n.op.name != "parameter"]
    return next(filter(fails, (alone(c, value) for value in made)), c)


def alone(c: Computation, value: Value) -> Computation:
    """What computes one value."""
    needed = {value.node}
    for node in reversed(c.nodes):
        if node in needed:
            needed.update(v.node for v in node.inputs)
    kept = tuple(n for n in c.nodes if n in needed or n.op.name == "parameter")
    return Computation(c.parameters, kept, (value,), c.constraints)


def check(kind: type[RandomGraph], seed: int) -> None:
    c, exact = random_graph(seed, kind)
    fault_of = partial(fault, seed=seed, exact=exact, sizes=kind.open_sizes)
    found = fault_of(c)
    if found is not None:
        part = smaller(c, lambda part: fault_of(part) is not None)
        pytest.fail(f"seed {seed}: {fault_of(part) or found}\n{part}")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_graphs(seed: int) -> None:
    check(RandomGraph, seed)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT // 8))
def test_random_large_graphs(seed: int) -> None:
    check(LargeGraph, seed)


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_graphs_that_failed_once(path: Path) -> None:
    text = path.read_text()
    found = fault(parse_computation(text), zlib.crc32(path.stem.encode()))
    assert found is None, found
