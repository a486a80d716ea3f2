"""Host steps of a Plan: nodes that Python computes in the middle of a run.

In: a node, and the places of its inputs and outputs. Out: LLVM IR in the frame of the run, which
calls Python with an array of words.
"""

from __future__ import annotations

from llvmlite import ir

from flowc.codegen.driver.frame import RunFrame
from flowc.codegen.driver.memory import Memory
from flowc.codegen.driver.run_sizes import RunSizes
from flowc.codegen.driver.sizes import BYTES
from flowc.ir.computation import Node
from flowc.ir.dims import Dim, expression, symbols_of
from flowc.plan.plan import Region, bytes_of
from flowc_runtime.native.writer import I64, i64


def emit_host_call(
    number: int, node: Node, region: Region, frame: RunFrame, memory: Memory, sizes: RunSizes
) -> None:
    """The call of a node, the run's host step `number`.

    Python gets the addresses and dims of the inputs and the dims that it must return, -1 for
    one that it decides; it gives the addresses and dims of the outputs."""
    b = frame.b
    found = {size for size, _ in node.sizes}
    given: list[ir.Value] = []
    for value in node.inputs:
        given.append(b.ptrtoint(memory.pointer(region.place_of(value)), I64))
        given += [frame.dim(d) for d in value.dims]
    places: list[int] = []
    decided: dict[Dim, int] = {}
    for value in node.outputs:
        places.append(len(given))
        given.append(i64(0))
        for dim in value.dims:
            is_open = not found.isdisjoint(symbols_of(dim))
            if is_open:
                decided.setdefault(dim, len(given))
            given.append(i64(-1) if is_open else frame.dim(dim))
    words = frame.variable(I64, "call", max(1, len(given)))
    for i, word in enumerate(given):
        b.store(word, frame.element(words, i))
    frame.call_python(number, words)
    for size, _ in node.sizes:
        sizes.bind(size, b.load(frame.element(words, decided[expression(size)])))
    sizes.check()
    frame.poll()
    for value, at in zip(node.outputs, places):
        place = region.places[value]
        memory.make(place, bytes_of(value))
        source = b.inttoptr(b.load(frame.element(words, at)), BYTES)
        memory.copy(memory.pointer(place), source, frame.dim(bytes_of(value)))
