"""Run by tests in a process of its own, with the address sanitizer preloaded. Prints a line of JSON
for each thing that it tried: its name and the reports.

`plants`: faults of one element or one bit, each of which must be reported. `memory:OP`: the cases
of an op, with checks of every access; `values:OP`: of operations on numbers as well. `sizes:OP`: an
op for every size, given sizes of 0 and others. `graphs:SEED`, `large:SEED`, `loops:SEED`,
`contractions:SEED`: random ones; `moves:SEED`: transposes, padded and joined;
`contraction-values:SEED` with checks of operations on numbers as well.
`convolution:PIXELS`: one with weights that are known, 3 x 3, over a square of so many pixels;
`convolution:PIXELS.HEIGHT.WIDTH`: with another window.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from unittest import mock

import numpy as np
import partitions
from calls.op_examples import Case
from campaigns.random_contractions import random_contraction
from campaigns.random_control_flow import inputs_of, random_control_flow
from campaigns.random_graphs import inputs_of as inputs_of_graph
from campaigns.random_graphs import random_graph
from campaigns.random_large_graphs import LargeGraph
from campaigns.random_moves import random_moves
from campaigns.registry_graphs import registry_graph
from campaigns.runnable_targets import TARGETS
from instrumented_ir import with_memory_checks, with_value_checks
from llvmlite import binding as llvm
from op_cases import chosen_cases, placed, plain_cases
from open_sizes import Axis, fed, open_axes, refusal, with_open_sizes
from partitions import PartitionedProgram
from sanitized import Sanitizer
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.link.jit import engine_of
from flowc.codegen.targets import target_named
from flowc.errors import FlowcError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Dim, symbols_of
from flowc.ir.op import op_named
from flowc.options import Options

Row = tuple[str, list[str]]
COUNT = 37


def of_cases(sanitizer: Sanitizer, op_name: str, values: bool = False) -> list[str]:
    b = Builder()
    feeds: dict[Value, np.ndarray] = {}
    nodes = [placed(b, case, feeds) for case in chosen_cases(op_named(op_name))]
    c = b.build([v for n in nodes for v in n.outputs])
    return _of(sanitizer, c, list(feeds.values()), values)


def of_sizes(sanitizer: Sanitizer, op_name: str) -> list[str]:
    """A case of an op for every size, given none of something, or one less than it should have.
    What internal ops take has the sizes that decompositions give it."""
    if op_named(op_name).is_internal:
        return []
    cases = [c for c in plain_cases(op_named(op_name)) if refusal(c, ()) is None]
    case = max(cases, key=lambda c: len(open_axes(c)), default=None)
    if case is None or not (axes := open_axes(case)):
        return []
    found: list[str] = []
    with sanitizer.instrumenting():
        program = PartitionedProgram(with_open_sizes(case, axes), Options())
        for arrays in other_sizes(case, axes):
            try:
                reports = sanitizer.run(program, fed(case, arrays))
            except FlowcError:
                reports = sanitizer.reports()
            shapes = " ".join(str(list(a.shape)) for a in arrays)
            found += [f"{shapes}: {report}" for report in reports]
    return found


def other_sizes(case: Case, axes: Sequence[Axis]) -> Iterator[list[np.ndarray]]:
    """The inputs of a case with less along one axis, or along all axes of one size."""
    sizes = {axis: case.inputs[axis[0]].shape[axis[1]] for axis in axes}
    groups = [{axis} for axis in axes]
    groups += [{a for a in axes if sizes[a] == n} for n in sorted(set(sizes.values()))]
    for group in groups:
        for less in (lambda n: 0, lambda n: n - 1):
            arrays = list(case.inputs)
            for i, d in group:
                arrays[i] = np.take(arrays[i], range(less(arrays[i].shape[d])), axis=d)
            yield arrays


def of_graph(sanitizer: Sanitizer, seed: str) -> list[str]:
    """A random graph of all ops."""
    graph = registry_graph(int(seed))
    return _of(sanitizer, graph.few()[0], [graph.arrays[p.output] for p in graph.b.parameters])


def of_large_graph(sanitizer: Sanitizer, seed: str) -> list[str]:
    """A random graph of large values, of all of its sizes that the run may choose."""
    c, _ = random_graph(int(seed), LargeGraph)
    found: list[str] = []
    with sanitizer.instrumenting():
        program = PartitionedProgram(c, Options(target=TARGETS[int(seed) % len(TARGETS)]))
        for n in LargeGraph.open_sizes if symbols_of(*_dims_of_parameters(c)) else (1,):
            reports = sanitizer.run(program, inputs_of_graph(c, int(seed), n))
            found += [f"n = {n}: {report}" for report in reports]
    return found


def _dims_of_parameters(c: Computation) -> list[Dim]:
    return [d for p in c.parameters for d in p.output.dims]


def of_loops(sanitizer: Sanitizer, seed: str) -> list[str]:
    """A random graph of loops, branches and lists."""
    return _of(sanitizer, random_control_flow(int(seed)), inputs_of(int(seed), 7))


def of_contraction(sanitizer: Sanitizer, seed: str, values: bool = False) -> list[str]:
    """A random product or convolution, of sizes that register tiles are made for."""
    target = TARGETS[int(seed) % len(TARGETS)]
    return _of(sanitizer, *random_contraction(int(seed)), values, target)


def of_moves(sanitizer: Sanitizer, seed: str) -> list[str]:
    """Random transposes that are padded and joined."""
    c, given, _ = random_moves(int(seed))
    return _of(sanitizer, c, given)


def of_convolution(sanitizer: Sanitizer, sizes: str) -> list[str]:
    """A convolution whose weights are packed when it is compiled, by whatever algorithm."""
    b = Builder()
    pixels, *window = map(int, sizes.split("."))
    x, w = (
        np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
        for shape in ((2, pixels, pixels, 32), (*(window or (3, 3)), 32, 48))
    )
    given = b.parameter("x", tensor_type(dtypes.f32, x.shape))
    attrs = {"strides": (1, 1, 1, 1), "padding": "SAME"}
    y = b.emit(op_named("conv2d"), [given, b.const(w)], attrs).output
    return _of(sanitizer, b.build([b.emit(op_named("relu"), [y], {}).output]), [x], values=True)


def _of(
    sanitizer: Sanitizer,
    c: Computation,
    arrays: Sequence[np.ndarray],
    values: bool = False,
    target: str = "native",
) -> list[str]:
    with sanitizer.instrumenting(values):
        return sanitizer.run(PartitionedProgram(c, Options(target=target)), arrays)


KINDS: dict[str, Callable[[Sanitizer, str], list[str]]] = {
    "memory": of_cases,
    "values": partial(of_cases, values=True),
    "sizes": of_sizes,
    "graphs": of_graph,
    "large": of_large_graph,
    "loops": of_loops,
    "contractions": of_contraction,
    "contraction-values": partial(of_contraction, values=True),
    "convolution": of_convolution,
    "moves": of_moves,
}


def plants(sanitizer: Sanitizer) -> Iterator[Row]:
    """A cumulative sum and what is added to it, which are two kernels, with arrays that are not
    what they are said to be."""
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (COUNT,)))
    constant = b.const(np.arange(COUNT, dtype=np.float32))
    total = b.emit(op_named("cumsum"), [x, b.const(np.int32(0))], {}).output
    y = b.emit(op_named("add"), [total, constant], {}).output
    with sanitizer.instrumenting():
        program = PartitionedProgram(b.build([y]), Options())
        given, short = (np.ones(n, np.float32) for n in (COUNT, COUNT - 1))
        yield "nothing", sanitizer.run(program, [given])

        way = program.alone
        layout = way.layout_of([given])
        way.run_laid_out(layout, [short], [np.empty(COUNT, np.float32)])
        yield "a read beside an input", sanitizer.reports()
        way.run_laid_out(layout, [given], [np.empty(COUNT - 1, np.float32)])
        yield "a write beside an output", sanitizer.reports()

        sanitizer.library.flowc_sanitizer_shorten(1)
        way.run([given])
        sanitizer.library.flowc_sanitizer_shorten(0)
        yield "a byte beside a value", sanitizer.reports()

        whole = program.program
        (place,) = [i for i, (_, a) in enumerate(whole.weights) if a.size == COUNT]
        pieces = list(whole.weights)
        pieces[place] = (pieces[place][0], pieces[place][1][:-1])
        program.program = replace(whole, weights=pieces)
        yield "a read beside a constant", sanitizer.run(program, [given])
        program.program = whole

        pieces_of = partitions.pieces
        with mock.patch.object(partitions, "pieces", lambda total: pieces_of(total)[1:]):
            yield "an output that is not all written", sanitizer.run(program, [given])


# A function of two numbers, numbers that are right, and numbers that are wrong.
VALUES = {
    "a sum": ("%r = add nsw i64 %a, %b", (2**63 - 2, 1), (2**63 - 1, 1)),
    "an unsigned sum": ("%r = add nuw i64 %a, %b", (2**63 - 1, 1), (-1, 1)),
    "a product": ("%r = mul nsw i64 %a, %b", (2**31, 2**31), (2**32, 2**31)),
    "a shift": ("%r = shl i64 %a, %b", (1, 63), (1, 64)),
    "a quotient": ("%r = sdiv i64 %a, %b", (4, 2), (4, 0)),
    "the least number by -1": ("%r = srem i64 %a, %b", (-(2**63) + 1, -1), (-(2**63), -1)),
    "a cast": (
        "%f = sitofp i64 %a to double\n  %n = fptosi double %f to i32\n  %r = sext i32 %n to i64",
        (-(2**31), 0),
        (2**31, 0),
    ),
    "an assumption": (
        "%c = icmp slt i64 %a, %b\n  call void @llvm.assume(i1 %c)\n  %r = add i64 %a, 0",
        (1, 2),
        (2, 2),
    ),
}
# A function of the address of 5 floats and a number, which may be 5 and not 6.
ACCESSES = {
    "load": "%p = getelementptr float, ptr %a, i64 %b\n"
    "  %q = getelementptr i8, ptr %p, i64 -4\n  %r = load float, ptr %q, align 4",
    "store": "%p = getelementptr float, ptr %a, i64 %b\n"
    "  %q = getelementptr i8, ptr %p, i64 -16\n"
    "  store <4 x float> zeroinitializer, ptr %q, align 4",
    "copy": "%n = mul i64 %b, 4\n"
    "  call void @llvm.memset.p0.i64(ptr align 4 %a, i8 0, i64 %n, i1 false)",
    "masked load": "%m = call <8 x i1> @llvm.get.active.lane.mask.v8i1.i64(i64 0, i64 %b)\n  %r = "
    "call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %a, <8 x i1> %m, <8 x float> poison)",
    "gather": "%m = call <8 x i1> @llvm.get.active.lane.mask.v8i1.i64(i64 0, i64 %b)\n"
    "  %p = getelementptr float, ptr %a, <8 x i64> "
    "<i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>\n"
    "  call void @llvm.masked.scatter.v8f32.v8p0("
    "<8 x float> zeroinitializer, <8 x ptr> align 4 %p, <8 x i1> %m)",
    "atomic": "%p = getelementptr i8, ptr %a, i64 %b\n  %q = getelementptr i8, ptr %p, i64 11\n"
    "  %r = atomicrmw add ptr %q, i32 1 monotonic, align 4",
}
DECLARED = """
declare void @llvm.assume(i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare <8 x i1> @llvm.get.active.lane.mask.v8i1.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.scatter.v8f32.v8p0(<8 x float>, <8 x ptr>, <8 x i1>)
"""


def instructions(sanitizer: Sanitizer) -> Iterator[Row]:
    """Single instructions with operands that are right, and with some that are not."""
    for name, (body, *both) in VALUES.items():
        text = f"define i64 @planted(i64 %a, i64 %b) {{\n  {body}\n  ret i64 %r\n}}{DECLARED}"
        # A division that is wrong would end the process: what is checked is not done.
        checked = re.sub("%r = [su](div|rem)", "%r = add", with_value_checks(text))
        planted = _function(checked, ctypes.c_int64)
        for kind, numbers in zip(("right", "wrong"), both):
            planted(*numbers)
            yield f"{name}, {kind}", sanitizer.reports()
    for name, body in ACCESSES.items():
        text = f"define void @planted(ptr %a, i64 %b) {{\n  {body}\n  ret void\n}}{DECLARED}"
        planted = _function(with_memory_checks(text), ctypes.c_void_p)
        for kind, count in (("right", 5), ("wrong", 6)):
            array = np.ones(5, np.float32)
            planted(array.ctypes.data, count)
            yield f"{name}, {kind}", sanitizer.reports()


def _function(text: str, first: type) -> Callable[..., None]:
    machine = target_named("native").processor.target_machine()
    engine = engine_of([machine.emit_object(llvm.parse_assembly(text, llvm.create_context()))])
    call = ctypes.CFUNCTYPE(None, first, ctypes.c_int64)(engine.get_function_address("planted"))

    def planted(*numbers: int) -> None:
        assert engine
        call(*numbers)

    return planted


def main(*names: str) -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sanitizer = Sanitizer()
    for name in names:
        kind, _, what = name.partition(":")
        if kind == "plants":
            for row in (*plants(sanitizer), *instructions(sanitizer)):
                print(json.dumps(row), flush=True)
        else:
            print(json.dumps([name, KINDS[kind](sanitizer, what)]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
