"""A graph for each TensorFlow op that flowc has a record of, made by `flowc.raw_ops` from the first
example of the record."""

from __future__ import annotations

from typing import Any

from calls.op_examples import Case, cases_of

import flowc
from flowc.graph import Graph
from flowc.ir.op import input_spans
from flowc.ops import all_ops

# What only makes sense inside flowc, or stands for what a call cannot say by itself.
INTERNAL = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
# What TensorFlow 2 does not take in a new graph: ops that it removed, and one of references.
OLD = frozenset(
    {
        "AdjustContrast",
        "BatchMatrixBandPart",
        "BatchNormWithGlobalNormalization",
        "BatchNormWithGlobalNormalizationGrad",
        "Conv3DBackpropFilter",
        "Conv3DBackpropInput",
        "MatrixExponential",
        "QuantizeAndDequantize",
        "RefIdentity",
        "SelfAdjointEig",
        "TopK",
    }
)


def first_cases() -> dict[str, Case]:
    """TF op type -> the first example, for every op that a GraphDef may hold."""
    found: dict[str, Case] = {}
    for op in all_ops():
        if op.tf_name.startswith("_") or op.tf_name in INTERNAL | OLD:
            continue
        case = next(iter(cases_of(op)), None)
        if case is not None:
            found[op.tf_name] = case
    return found


def arguments_of(case: Case) -> dict[str, Any]:
    """The keyword arguments of the raw op."""
    op = case.op
    # NumPy has no quantised dtypes: a constant says which it is.
    arrays = [
        flowc.constant(a, d) if d.is_quantized else a for a, d in zip(case.inputs, case.dtypes)
    ]
    attrs = dict(case.attrs)
    found: dict[str, Any] = {}
    for arg, (start, stop) in zip(op.signature.inputs, input_spans(op, len(arrays), attrs)):
        several = arg.number_attr is not None or arg.is_list
        found[arg.name] = arrays[start:stop] if several else arrays[start]
    for name in op.signature.attrs:
        if name in attrs and name not in op.signature.inferred_attrs:
            found[name] = attrs[name]
    return found


def graph_of(tf_name: str, case: Case) -> tuple[Graph, Any]:
    with flowc.Graph().as_default() as graph:
        result = getattr(flowc.raw_ops, tf_name)(**arguments_of(case), name="it")
    return graph, result
