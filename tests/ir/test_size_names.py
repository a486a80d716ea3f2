"""Names of sizes: printed apart, and the same whatever else the process has compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from program_keys import program_key
from tensor_types import tensor_type

from flowc.codegen.program import launches_of
from flowc.codegen.targets import target_named
from flowc.ir.bodies import size_definitions
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.dims import Symbol, expression, fresh_symbol
from flowc.ir.op import op_named
from flowc.ir.program_spec import ProgramSpec, spec_of
from flowc.ir.text.form import parse_computation, print_computation, weights_of
from flowc.ir.text.value_names import name_sizes
from flowc.ir.verifier import verify
from flowc.options import Options
from flowc.passes.merge_duplicates import merge_duplicates
from flowc.passes.pipeline import run_passes


def found_twice(others: int = 0) -> Computation:
    """Two sizes that the run finds, a loop that one grows in, a branch; `others`: sizes that are
    made meanwhile for other programs."""

    def interrupted() -> None:
        for _ in range(others):
            fresh_symbol("n")

    b = Builder()
    dims = b.parameter("dims", tensor_type("i32", (2,)))
    more = b.parameter("more", tensor_type("i32", (2,)))
    x = b.parameter("x", tensor_type("f32", (expression(Symbol("n")), 3)))
    first = b.fill(dims, b.const(np.float32(2)))
    interrupted()
    again = b.fill(more, b.const(np.float32(3)))
    interrupted()
    (rows, _), _ = first.dims, again.dims
    growing = fresh_symbol("n")
    test, body = Builder(), Builder()
    types = tensor_type("i32", ()), tensor_type("f32", (expression(growing), 3))
    i, v = (test.parameter(name, t) for name, t in zip("iv", types))
    condition = test.build([test.less(i, test.const(np.int32(3)))])
    i, v = (body.parameter(name, t) for name, t in zip("iv", types))
    results = [body.add(i, body.const(np.int32(1))), body.concat(v, v, body.const(np.int32(0)))]
    attrs = {
        "condition": condition,
        "body": body.build(results),
        "carried": 2,
        "varying": (growing,),
        "Tout": tuple(t.dtype for t in types),
    }
    interrupted()
    node = b.emit(op_named("while"), (b.const(np.int32(0)), x), attrs)
    flat = b.reshape(b.add(first, first), (-1,))
    return b.build([node.outputs[1], flat, again, b.sizes((rows * flat.dims[0], *again.dims))])


def spec_for(c: Computation) -> ProgramSpec:
    return spec_of(c, [p.attrs["name"] for p in c.parameters], [f"y{i}" for i in range(4)])


def digest(c: Computation) -> tuple[str, ...]:
    """All that a cache knows a program by."""
    options = Options()
    spec = spec_for(c)
    fused = run_passes(c, options)
    kernels = [
        launch.kernel.key
        for launches in launches_of(fused, target_named(options.target)).values()
        for launch in launches
    ]
    return (str(c), str(fused), program_key(c, options, spec), *map(str, spec.outputs), *kernels)


def test_sizes_are_printed_apart() -> None:
    c = found_twice()
    verify(c, "test")
    text = print_computation(c, exact=True)
    assert "sizes(n_2, n_3)" in text and "sizes(n_4, n_5)" in text  # n is what x has
    assert "varying=['n_6']" in text and "sizes(n_7)" in text
    assert [str(t.type) for t in spec_for(c).outputs[:2]] == ["f32[n_7,3]", "f32[n_2*n_3]"]
    again = parse_computation(text, weights_of(c))
    verify(again, "test")
    assert print_computation(again, exact=True) == text


def test_named_sizes_stay_and_others_get_the_printed_names() -> None:
    c = found_twice()
    named = name_sizes(c)
    verify(named, "test")
    assert str(named) == str(c)
    assert [s.name for s in size_definitions(named)] == [f"n_{i}" for i in (2, 3, 4, 5, 7)]
    assert not any(s.serial for s in size_definitions(named))
    assert name_sizes(named) is named


def test_equal_programs_are_equal_whatever_was_compiled_between() -> None:
    first = digest(found_twice())
    for others in (0, 1, 7, 1000):
        assert digest(found_twice(others)) == first


def test_another_process_gives_the_same() -> None:
    """One whose sets have another order, and that made other sizes before."""
    program = (
        "from test_size_names import *\n"
        "[fresh_symbol('n') for _ in range(95)]\n"
        "print('\\n'.join(digest(found_twice(3))))"
    )
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "12345"}
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.rstrip() == "\n".join(digest(found_twice())).rstrip()


def test_the_fused_text_gives_the_same_kernels() -> None:
    fused = run_passes(found_twice(), Options())
    again = parse_computation(str(fused), weights_of(fused))
    target = target_named(Options().target)
    keys = [
        [x.kernel.key for launches in launches_of(c, target).values() for x in launches]
        for c in (fused, again)
    ]
    assert keys[0] == keys[1] and keys[0]


def test_nodes_of_equal_text_and_different_sizes_stay_two() -> None:
    b = Builder()
    given = [b.parameter(name, tensor_type("i32", (1,))) for name in ("dims", "more")]
    sizes = [b.fill(x, b.const(np.float32(1))).dims for x in given]
    made = [b.sizes(d) for d in sizes]
    assert str(sizes[0]) == str(sizes[1])
    c = b.build(made)
    one, other = merge_duplicates(c, Options()).results
    assert one is not other
