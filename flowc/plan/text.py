"""A Plan as text, for people: what `--emit plan` shows.

In: a Plan. Out: lines. Invariant: equal Plans print alike.
"""

from __future__ import annotations

from flowc.ir.computation import Node, Value
from flowc.ir.core_ops import devices_of
from flowc.ir.dims import symbols_of
from flowc.passes.analysis.aliasing import updated_input
from flowc.plan.arena_layout import lay_out, measured
from flowc.plan.plan import (
    DEVICE,
    Arena,
    Branch,
    CallHost,
    Cell,
    ConstantPlace,
    Copy,
    Heap,
    Input,
    Local,
    Loop,
    Output,
    Place,
    Plan,
    ReadSizes,
    Region,
    Run,
    Step,
    Transfer,
    WriteSizes,
)


def plan_text(plan: Plan) -> str:
    """The steps in order, what each reads and writes and where, and the memory behind them."""
    lines = ["steps"]
    lines += _region(plan, plan.top, "  ")
    lines.append("arena")
    below = lay_out(plan.slots).below
    for i, slot in enumerate(plan.slots):
        behind = f", behind {', '.join(map(str, below[i]))}" if below[i] else ""
        lines.append(f"  slot {i}: {slot.size} bytes{behind}")
    lines += [f"  cell {i}: {size} bytes" for i, size in enumerate(plan.cells)]
    lines.append(f"  in all: {arena_text(plan)}, and {plan.scratch} for each worker")
    if plan.blocks:
        lines.append(f"blocks of sizes that the run finds: {plan.blocks}")
    if plan.top.bounds:
        lines.append("sizes found by the run")
        lines += [
            f"  {name} <= {bound if bound is not None else 'unbounded'}"
            for name, bound in plan.top.bounds.items()
        ]
    return "\n".join(lines) + "\n"


def arena_text(plan: Plan) -> str:
    """The bytes of the arena; where they grow with the inputs, with every named size 1."""
    named = symbols_of(*(slot.size for slot in plan.slots), *plan.cells)
    found, least = measured(plan, dict.fromkeys(named, 1))
    text = f"{found:,} bytes, {least:,} of them in use at once"
    if named:
        text += f", where {', '.join(map(str, named))} {'is' if len(named) == 1 else 'are'} 1"
    return text


def _region(plan: Plan, region: Region, indent: str) -> list[str]:
    lines: list[str] = []
    for number, step in enumerate(region.steps):
        device = isinstance(step, Run) and step.node in plan.on_device
        on_device = device or (isinstance(step, Copy) and step.side == DEVICE)
        where = "on the device: " if on_device else ""
        if isinstance(step, Run) and "on_cpu" in devices_of(step.node):
            where = "on the CPU: "
        lines.append(f"{indent}{number:4}  {where}{_step(region, step)}")
        inner = indent + " " * 6
        match step:
            case Loop():
                lines += [f"{inner}while", *_body(plan, step.condition, inner)]
                lines += [f"{inner}do", *_body(plan, step.body, inner)]
                moves = [f"{_place(to)} <- {_place(source)}" for to, source in step.exchanged]
                moves += [f"{_place(to)} <- {_value(step.body, v)}" for to, v, _ in step.assigned]
                lines += [f"{inner}next {', '.join(moves)}"] if moves else []
            case Branch():
                lines += [f"{inner}then", *_body(plan, step.then, inner)]
                lines += [f"{inner}else", *_body(plan, step.otherwise, inner)]
            case Run() | CallHost() | ReadSizes() | WriteSizes() | Copy() | Transfer():
                pass
    return lines


def _body(plan: Plan, region: Region, indent: str) -> list[str]:
    results = ", ".join(_value(region, v) for v in region.computation.results)
    return [*_region(plan, region, indent + "  "), f"{indent}  giving ({results})"]


def _step(region: Region, step: Step) -> str:
    match step:
        case Run(node):
            changed = updated_input(node)
            verb = "run"
            if changed is not None:
                in_place = region.place_of(changed) == region.places[node.outputs[0]]
                verb = "update" if in_place else "copy and update"
            return f"{verb} {node.attrs['kind']} {_node(region, node)}"
        case CallHost(node):
            return f"call {node.op.name} {_node(region, node)}"
        case ReadSizes(node):
            return f"read sizes {_node(region, node)}"
        case WriteSizes(node):
            return f"write sizes {_node(region, node)}"
        case Copy(value, target):
            return f"copy {_value(region, value)} -> {_place(target)}"
        case Transfer(value, source, target, side):
            moved = f"{value.type} in {_place(source)} -> {_place(target)}"
            return f"{'upload' if side == DEVICE else 'download'} {moved}"
        case Loop(node):
            return f"repeat {_node(region, node)}"
        case Branch(node):
            return f"if {_node(region, node)}"


def _node(region: Region, node: Node) -> str:
    inputs = ", ".join(_value(region, v) for v in node.inputs)
    outputs = ", ".join(_value(region, v) for v in node.outputs)
    origin = f"  # {', '.join(node.origin)}" if node.origin else ""
    return f"({inputs}) -> ({outputs}){origin}"


def _value(region: Region, value: Value) -> str:
    place = region.places.get(value)
    return f"{value.type}" if place is None else f"{value.type} in {_place(place)}"


def _place(place: Place) -> str:
    match place:
        case Input(index):
            return f"input {index}"
        case Output(index):
            return f"output {index}"
        case Arena(slot):
            return f"slot {slot}"
        case Local(number):
            return f"scalar {number}"
        case Cell(number):
            return f"cell {number}"
        case Heap(block):
            return f"block {block}"
        case ConstantPlace():
            return "the weights"
