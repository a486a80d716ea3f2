"""Refuses what no kernel can hold or compute with: handles that are still needed, and strings and
narrow numbers, but where they only move, or are cast.

In: a Computation before fusion. Out: the same object. Raises one `UnsupportedError` for all.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.errors import UnsupportedError
from flowc.ir.computation import Computation, Node
from flowc.ir.lowering import Elementwise, Host, Native, Structural, View
from flowc.ir.scalar import PRIMITIVES
from flowc.ir.scalar_body import Instruction, record_map
from flowc.options import Options


def check_dtypes(c: Computation, options: Options) -> Computation:
    held = [n for n in c.nodes if any(not v.type.dtype.held_size for v in n.outputs)]
    if held:
        raise _refused("flowc compiles no values of dtype resource or variant", held)
    computing = [n for n in c.nodes if _has_strings(n) and _computes(n)]
    if computing:
        raise _refused("flowc does not compute this with strings", computing)
    computing = [n for n in c.nodes if _has_narrow(n) and _computes_with_bits(n)]
    if computing:
        raise _refused("flowc only moves and casts floats of 8 bits and integers of 4", computing)
    return c


def _refused(what: str, nodes: list[Node]) -> UnsupportedError:
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(node.op.tf_name, []).append(node)
    lines = [
        f"  {name} ({len(nodes)}): {', '.join(n.name for n in nodes[:3])}"
        for name, nodes in found.items()
    ]
    return UnsupportedError(
        f"{what}:\n" + "\n".join(lines),
        node=nodes[0].name,
        hint="fetch tensors that do not need these nodes, or feed the tensors behind them",
        problems=[(t, len(n), tuple(x.name for x in n)) for t, n in found.items()],
    )


def _has_strings(node: Node) -> bool:
    return any(v.type.dtype is dtypes.string for v in (*node.inputs, *node.outputs))


def _computes(node: Node) -> bool:
    """Whether a kernel would take the numbers of strings for more than numbers that it moves."""
    lowering = node.lowering
    if isinstance(lowering, Elementwise):
        body = record_map(lowering.body, [v.type.dtype for v in node.inputs])
        return any(map(_looks_into_strings, body.instructions))
    if isinstance(lowering, Native):
        return not lowering.moves
    return not isinstance(lowering, (View, Host, Structural))


def _has_narrow(node: Node) -> bool:
    return any(v.type.dtype.is_narrow for v in (*node.inputs, *node.outputs))


def _computes_with_bits(node: Node) -> bool:
    """Whether a kernel would compute with the bit patterns of narrow numbers as if they were the
    numbers."""
    lowering = node.lowering
    if isinstance(lowering, Elementwise) and node.op.name != "cast":
        body = record_map(lowering.body, [v.type.dtype for v in node.inputs])
        return any(i.name in PRIMITIVES and _takes_bits(i) for i in body.instructions)
    if isinstance(lowering, Native):
        return not lowering.moves
    return not isinstance(lowering, (Elementwise, View, Host, Structural))


def _takes_bits(i: Instruction) -> bool:
    return any(x.dtype.is_narrow for x in i.operands)


def _looks_into_strings(i: Instruction) -> bool:
    """Whether an instruction takes strings for more than what is chosen."""
    found = {i.dtype, *(x.dtype for x in i.operands)}
    changes = i.name in ("cast", "bitcast") and len(found) > 1
    return dtypes.string in found and (changes or i.name in PRIMITIVES)
