"""The work of a plan's step, independent of its kernels: arithmetic operations, and bytes moved.

In: a node that a plan runs. Out: numbers, which may depend on sizes of the run. Invariant: no
operand counts more bytes than it has; folds, products and native kernels count all of each operand
once.
"""

from __future__ import annotations

from typing import Any

from flowc.codegen.compiled import Work
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, minimum, product
from flowc.ir.lowering import (
    Convolution,
    Elementwise,
    FilterGradient,
    MatMul,
    Native,
    Reduction,
    View,
)
from flowc.ir.scalar import PRIMITIVES
from flowc.ir.scalar_body import ScalarBody
from flowc.passes.analysis.aliasing import updated_input


def work_of(node: Node) -> Work:
    """That of a cluster; of loops, branches and calls nothing is known but their parts."""
    if node.op.name != "cluster":
        return Work()
    nodes = node.attrs["body"].nodes
    operations = sum((_operations(n) for n in nodes), start=0)
    changed = updated_input(node)
    made = sum((v.type.size for v in node.outputs), start=0)
    if changed is not None:  # its other elements stay where they are
        made = sum((v.type.size for v in node.inputs if v is not changed), start=0)
    folds = MatMul | Convolution | FilterGradient | Reduction | Native
    whole = any(isinstance(n.lowering, folds) or n.op.name == "cluster" for n in nodes)
    read = [v for v in dict.fromkeys(node.inputs) if v is not changed]
    moved = sum((_bytes(v) if whole else _bytes(v, made) for v in read), start=0)
    written = [v for i, v in enumerate(node.outputs) if i or changed is None]
    moved += sum((_bytes(v) for v in written), start=0)
    if changed is not None:
        moved += made * changed.type.dtype.held_size
    return Work(operations, moved)


def _bytes(value: Value, most: Dim | None = None) -> Dim:
    size = value.type.size if most is None else minimum(value.type.size, most)
    return size * value.type.dtype.held_size


def _operations(node: Node) -> Dim:
    if node.op.name == "cluster":
        return work_of(node).operations
    match node.lowering:
        case Elementwise(body) | View(body):
            return node.output.type.size * _primitives(body)
        case Reduction(prepare=prepare):
            return node.inputs[0].type.size * (1 + _primitives(prepare))
        case MatMul(transpose_a=transposed):
            inner = [v.type.dims[-2 if transposed else -1] for v in node.inputs[:-1]]
            return 2 * node.output.type.size * sum(inner, start=0)
        case Convolution(transposed=transposed):
            image, kernel = node.inputs[:2]
            narrow = image.type if transposed else node.output.type
            return 2 * narrow.size * product(kernel.type.dims[:-1])
        case FilterGradient():
            made = node.inputs[1].type
            return 2 * node.output.type.size * product(made.dims[:-1])
        case _:
            return 0


def _primitives(body: Any) -> int:
    """How many operations of arithmetic one element takes."""
    if not isinstance(body, ScalarBody):
        return 0
    return sum(i.name in PRIMITIVES for i in body.instructions)
