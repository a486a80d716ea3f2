"""Loops and branches of a Plan as basic blocks of the run.

In: a step with its regions, and the emitter of the driver, which emits the steps in them. Out: LLVM
IR in the frame of the run. Sizes that differ between iterations, or between the sides of a branch,
stand in variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir

from flowc.errors import InternalError
from flowc.ir.computation import Value
from flowc.ir.dims import Symbol, lone_symbol
from flowc.plan.plan import DEVICE, HOST, Branch, Loop, Region, bytes_of
from flowc_runtime.native.writer import I8, I64

if TYPE_CHECKING:
    from flowc.codegen.driver.driver import DriverEmitter


def emit_loop(emitter: DriverEmitter, loop: Loop) -> None:
    """A loop: its head tests the condition, its body ends with a jump to the head."""
    frame, b, node = emitter.frame, emitter.b, loop.node
    parameters = loop.body.computation.parameters[: node.attrs["carried"]]
    varying = node.attrs["varying"]
    axes = [_axis_of(size, [p.output for p in parameters]) for size in varying]
    variables = [frame.variable(I64, size.name) for size in varying]
    for variable, (i, axis) in zip(variables, axes):
        b.store(frame.dim(node.inputs[i].dims[axis]), variable)
    head, body, end = (frame.function.append_basic_block(n) for n in ("loop", "body", "end"))
    b.branch(head)
    b.position_at_end(head)
    frame.loops += 1
    with frame.scope():
        for variable, size in zip(variables, varying):
            frame.bind(size, b.load(variable))
        (tested,) = loop.condition.computation.results
        emitter.nested(
            node,
            loop.condition,
            lambda: b.cbranch(_holds(emitter, loop.condition, tested), body, end),
        )
        b.position_at_end(body)
        results = loop.body.computation.results

        def advance() -> None:
            if emitter.device is not None and emitter.launcher.sees_earlier():
                emitter.synchronize()  # before the next iteration looks at what this one made
            following = [frame.dim(results[i].dims[axis]) for i, axis in axes]
            _hand_on(emitter, loop)
            for variable, size in zip(variables, following):
                b.store(size, variable)
            frame.poll_sometimes()
            b.branch(head)

        emitter.nested(node, loop.body, advance)
    frame.loops -= 1
    b.position_at_end(end)
    for (size, _), variable in zip(node.sizes, variables):
        emitter.sizes.bind(size, b.load(variable))
    emitter.sizes.check()


def _hand_on(emitter: DriverEmitter, loop: Loop) -> None:
    """Gives the next iteration what this one computed, all at once."""
    memory = emitter.memory
    on_host = [(place, value) for place, value, side in loop.assigned if side == HOST]
    scalars = [
        memory.load_scalar(loop.body.place_of(value), _static_bytes(value)) for _, value in on_host
    ]
    if emitter.device is not None:
        emitter.device.assign(
            [
                (place, loop.body.place_of(value), _static_bytes(value))
                for place, value, side in loop.assigned
                if side == DEVICE
            ]
        )
    memory.exchange(loop.exchanged)
    for (place, _), scalar in zip(on_host, scalars):
        memory.store_scalar(place, scalar)


def emit_branch(emitter: DriverEmitter, step: Branch) -> None:
    """A branch: two blocks, one of which runs, and the block in which they join."""
    frame, b, node = emitter.frame, emitter.b, step.node
    axes = [_axis_of(size, node.outputs) for size, _ in node.sizes]
    variables = [frame.variable(I64, size.name) for size, _ in node.sizes]
    names = ("then", "otherwise", "joined")
    then, otherwise, end = (frame.function.append_basic_block(n) for n in names)
    b.cbranch(_holds(emitter, emitter.region, node.inputs[0]), then, otherwise)
    for block, region in ((then, step.then), (otherwise, step.otherwise)):
        b.position_at_end(block)

        def leave(results: tuple[Value, ...] = region.computation.results) -> None:
            for variable, (k, axis) in zip(variables, axes):
                b.store(frame.dim(results[k].dims[axis]), variable)
            b.branch(end)

        emitter.nested(node, region, leave)
    b.position_at_end(end)
    for (size, _), variable in zip(node.sizes, variables):
        emitter.sizes.bind(size, b.load(variable))
    emitter.sizes.check()


def _holds(emitter: DriverEmitter, region: Region, value: Value) -> ir.Value:
    """Whether a bool scalar is true."""
    byte = emitter.memory.load_scalar(region.place_of(value), 1)
    return emitter.b.icmp_unsigned("!=", byte, ir.Constant(I8, 0))


def _static_bytes(value: Value) -> int:
    size = bytes_of(value)
    assert isinstance(size, int)
    return size


def _axis_of(size: Symbol, values: Sequence[Value]) -> tuple[int, int]:
    """The index of a value, and the axis, whose dim is the size."""
    for i, value in enumerate(values):
        for axis, dim in enumerate(value.dims):
            if lone_symbol(dim) == size:
                return i, axis
    raise InternalError(f"no dim of {values} tells the size {size}")
