"""A Plan as text, for people: what `--emit plan` shows.

In: a Plan. Out: lines. Invariant: equal Plans print alike.
"""

from __future__ import annotations

from flowc.ir.computation import Node, Value
from flowc.plan.plan import (
    Arena,
    Constant,
    Copy,
    Heap,
    Input,
    Output,
    Place,
    Plan,
    ReadSizes,
    Run,
    Step,
    WriteSizes,
)


def plan_text(plan: Plan) -> str:
    """The steps in order, what each reads and writes and where, and the memory behind them."""
    lines = ["steps"]
    lines += [f"  {number:4}  {_step(plan, step)}" for number, step in enumerate(plan.steps)]
    lines.append("arena")
    lines += [f"  slot {i}: {slot.size} bytes" for i, slot in enumerate(plan.slots)]
    lines += [f"  block {i}: {size} bytes" for i, size in enumerate(plan.heap)]
    lines.append(f"  in all: {plan.arena_bytes} bytes, and {plan.scratch} for each worker")
    if plan.bounds:
        lines.append("sizes found by the run")
        lines += [
            f"  {name} <= {bound if bound is not None else 'unbounded'}"
            for name, bound in plan.bounds.items()
        ]
    return "\n".join(lines) + "\n"


def _step(plan: Plan, step: Step) -> str:
    match step:
        case Run(node):
            return f"run {node.attrs['kind']} {_node(plan, node)}"
        case ReadSizes(node):
            return f"read sizes {_node(plan, node)}"
        case WriteSizes(node):
            return f"write sizes {_node(plan, node)}"
        case Copy(value, output):
            return f"copy {_value(plan, value)} -> output {output}"


def _node(plan: Plan, node: Node) -> str:
    inputs = ", ".join(_value(plan, v) for v in node.inputs)
    outputs = ", ".join(_value(plan, v) for v in node.outputs)
    origin = f"  # {', '.join(node.origin)}" if node.origin else ""
    return f"({inputs}) -> ({outputs}){origin}"


def _value(plan: Plan, value: Value) -> str:
    place = plan.places.get(value)
    return f"{value.type}" if place is None else f"{value.type} in {_place(place)}"


def _place(place: Place) -> str:
    match place:
        case Input(index):
            return f"input {index}"
        case Output(index):
            return f"output {index}"
        case Arena(slot):
            return f"slot {slot}"
        case Heap(block):
            return f"block {block}"
        case Constant():
            return "the weights"
