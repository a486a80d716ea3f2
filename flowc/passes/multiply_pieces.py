"""Products of concatenated matrices, without the concatenation.

In: a Computation of lowered nodes. Out: one in which `concat(x, y, 1) @ w` is one product of
pieces: its tiles gather their rows from x and y, and the concatenated matrix is never written.
Where the result has few rows, as in the cells of recurrent networks, that saves a copy which takes
as long as reading its memory.

The pieces must be in memory for it. What the copy would have computed on its way (elementwise ops,
other views) then takes a kernel of its own: that pays for one such piece, since the copy's own
kernel is saved.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Elementwise, View
from flowc.ir.op import op_named
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.options import Options

PIECES = 4  # at most: each takes arguments of the kernel


def multiply_pieces(c: Computation, options: Options) -> Computation:
    if not any(n.op.name == "concat" for n in c.nodes):
        return c
    users = c.users()
    kept = set(c.results)
    joined = {
        n.output
        for n in c.nodes
        if _is_joined(n, users)
        and n.output not in kept
        and all(_reads_left(reader, n.output) for reader in users[n.output])
    }

    def rule(b: Rewriter, node: Node) -> Value | None:
        if not b.old.inputs or b.old.inputs[0] not in joined:
            return None
        *pieces, _ = node.inputs[0].node.inputs
        attrs = {"transpose_b": node.attrs["transpose_b"]}
        return b.emit(op_named("joined_mat_mul"), (*pieces, node.inputs[1]), attrs).output

    return rewrite_nodes(c, rule) if joined else c


def _is_joined(node: Node, users: dict[Value, list[Node]]) -> bool:
    """Whether a node writes few matrices beside each other, nearly all of which are in memory."""
    if node.op.name != "concat" or node.after or len(node.output.dims) != 2:
        return False
    *pieces, axis = node.inputs
    if len(pieces) > PIECES or axis.constant is None or int(axis.constant) % 2 != 1:
        return False
    if node.output.type.dtype not in (dtypes.f32, dtypes.f64):
        return False
    return sum(not _is_stored(v, users) for v in pieces) <= 1


def _is_stored(value: Value, users: dict[Value, list[Node]]) -> bool:
    """Whether a value is in memory anyway: values with several readers are taken to be."""
    if len(users[value]) > 1:
        return True
    lowering = value.node.lowering
    return not isinstance(lowering, (Elementwise, View)) or (
        isinstance(lowering, View) and lowering.reshape
    )


def _reads_left(reader: Node, value: Value) -> bool:
    """Whether a node multiplies a matrix, as it stands, with another one."""
    return (
        reader.op.name == "mat_mul"
        and reader.inputs[0] is value
        and reader.inputs[1] is not value
        and not reader.attrs["transpose_a"]
    )
