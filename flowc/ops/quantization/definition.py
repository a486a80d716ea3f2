"""Records whose reference and lowering are one formula.

In: a signature, a type rule, and a formula over operands (`arithmetic.py`). Out: a record.
Invariant: signatures name the dtypes that TensorFlow has CPU kernels of, which are fewer than those
of its OpDefs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import Op, define, input_spans
from flowc.ir.types import Dims
from flowc.ops.quantization.arithmetic import ARRAYS, NodeArithmetic, NodeTerm

# (k, the operands, lists of operands where the signature has several, attrs) -> outputs
Formula = Callable[[Any, Sequence[Any], Mapping[str, Any]], Sequence[Any]]


def define_formula(
    name: str,
    signature: str,
    infer: Callable[[Inference], Dims | list[Dims]],
    formula: Formula,
    examples: Sequence[str],
) -> Op:
    """A record whose outputs a formula gives, quantised ones as integers."""

    def build(b: Builder, node: Node) -> Sequence[Value]:
        k = NodeArithmetic(b)
        args = node.op.signature.inputs
        operands: list[Any] = []
        for arg, (start, stop) in zip(args, input_spans(node.op, len(node.inputs), node.attrs)):
            terms = [k.term(v) for v in node.inputs[start:stop]]
            operands.append(terms if arg.number_attr is not None else terms[0])
        found = formula(k, operands, node.attrs)
        return [_as_output(b, x, v) for x, v in zip(found, node.outputs)]

    def reference(*operands: Any, **attrs: Any) -> Sequence[Any]:
        return formula(ARRAYS, operands, attrs)

    return define(
        name,
        signature,
        infer=infer,
        lowering=Decompose(build),
        reference=reference,
        examples=tuple(examples),
    )


def _as_output(b: Builder, term: NodeTerm, wanted: Value) -> Value:
    dtype = wanted.type.dtype
    return b.bitcast(term.value, type=dtype) if dtype.is_quantized else term.value


def need_scalars(c: Inference, first: int, stop: int | None = None) -> None:
    """Both ends of ranges are scalars."""
    for i in range(first, len(c.inputs) if stop is None else stop):
        c.need_rank(i, 0)


def ranged(dims: Dims) -> list[Dims]:
    """Dims of an output, and of both ends of its range."""
    return [dims, (), ()]
