"""What callers may ask of the loops of TensorFlow 1: what enters them, and what leaves them.

In: the refs that are fetched and fed. Out: refs outside of loops, or an `InvalidArgumentError` that
names the tensor, the frame and what to ask for instead. A tensor inside of a loop has a value for
each iteration: there is no one value to give back, or that could stand for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from flowc.errors import InvalidArgumentError, InvalidModelError
from flowc.extract.frames.frames import ControlFlow, LoopFrame
from flowc.extract.node_source import NodeSource, Ref
from flowc.graph.control_types import ENTER, EXIT
from flowc.graph.operation import Operation

SHOWN = 2  # tensors to ask for instead


def before_loops(source: NodeSource, ref: Ref, fed: Collection[Ref]) -> Ref:
    """What an Enter takes into a loop is there outside of it, too."""
    while ref not in fed and source.node(ref[0]).type in ENTER:
        ref = source.node(ref[0]).inputs[0]
    return ref


def check_fetches(flow: ControlFlow, ops: Iterable[Operation]) -> None:
    """Raises `InvalidArgumentError` for the first of `ops` that stands in a loop."""
    for op in ops:
        frame = flow.frame(op)
        if frame.parent is not None:
            raise InvalidArgumentError(
                f"'{op.name}' ({op.type}) is inside the loop of frame {frame.name!r}, which "
                "computes it in every iteration: there is no one value to fetch",
                node=op.name,
                hint=f"fetch what leaves the loop{_such_as(_exits(op, frame))}, or collect the "
                "values of all iterations in a TensorArray",
            )


def fault_of_feeds(source: NodeSource, fed: Iterable[Ref]) -> InvalidArgumentError | None:
    """The error for the first fed tensor that the graph computes inside of a loop."""
    for op, _ in fed:
        node = source.node(op)
        if not node.inputs and not node.controls:
            continue
        try:
            flow = ControlFlow(source, [op], ())
        except InvalidModelError:
            continue  # feeding is also a way round what is malformed
        frame = flow.frame(op)
        if frame.parent is not None:
            return InvalidArgumentError(
                f"'{op.name}' ({op.type}) is fed and inside the loop of frame {frame.name!r}, "
                "which computes it in every iteration: one value cannot stand for all of them",
                node=op.name,
                hint=f"feed what enters the loop{_such_as(_entering(source, frame))}, or what "
                f"leaves it{_such_as(_exits(op, frame))}",
            )
    return None


def _such_as(names: Sequence[str]) -> str:
    return f", such as {' or '.join(map(repr, names[:SHOWN]))}" if names else ""


def _entering(source: NodeSource, frame: LoopFrame) -> list[str]:
    """The tensors that enter a loop, and those around it, but for constants."""
    outermost = frame
    while outermost.parent is not None and outermost.parent.parent is not None:
        outermost = outermost.parent
    tensors = [source.node(key).inputs[0] for key in outermost.enters]
    plain = [(op, i) for op, i in tensors if source.node(op).type != "Const"]
    return [f"{source.name(op)}:{i}" for op, i in dict.fromkeys(plain)]


def _exits(op: Operation, frame: LoopFrame) -> list[str]:
    """What leaves the loops around an operation and depends on it."""
    found: list[str] = []
    stack = [(op, frame.depth)]
    seen = {op}
    while stack:
        inside, depth = stack.pop()
        for user in dict.fromkeys(u for t in inside.outputs for u in t.consumers()):
            after = depth + (user.type in ENTER) - (user.type in EXIT)
            if user in seen:
                continue
            seen.add(user)
            if after > 0:
                stack.append((user, after))
            else:
                found.append(f"{user.name}:0")
    return sorted(found)
