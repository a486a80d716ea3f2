"""How many floating point operations an operation of a graph takes.

In: an operation and the shapes of its inputs and outputs. Out: TensorFlow's number, by its rules;
0 for ops of which these say nothing, None where a size is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flowc.graph import Operation

Sizes = tuple[int, ...]
Shapes = Sequence[Sizes | None]
Rule = Callable[[Operation, Sequence[Sizes], Sequence[Sizes]], int]


def float_operations(op: Operation, inputs: Shapes, outputs: Shapes) -> int | None:
    """The operations of one run of `op`."""
    rule = _RULES.get(op.type)
    if rule is None:
        return 0
    known = [s for s in (*inputs, *outputs) if s is not None]
    if len(known) < len(inputs) + len(outputs):
        return None
    return rule(op, known[: len(inputs)], known[len(inputs) :])


def _elements(factor: int) -> Rule:
    """So many for each element of the result."""
    return lambda op, inputs, outputs: factor * math.prod(outputs[0])


def _folded(finish: int) -> Rule:
    """One for each element that goes in; `finish` more for each that comes out, of which the first
    costs nothing."""
    return lambda op, inputs, outputs: math.prod(inputs[0]) + (finish - 1) * math.prod(outputs[0])


def _product(op: Operation, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
    names = ("transpose_a", "adj_x")
    is_transposed = any(op.attrs.get(name) for name in names)
    return 2 * inputs[0][-2 if is_transposed else -1] * math.prod(outputs[0])


def _convolution(op: Operation, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
    return 2 * math.prod(inputs[1][:-1]) * math.prod(outputs[0])


def _window(op: Operation, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
    """Depthwise: each element of the result has a window of one channel."""
    return 2 * math.prod(inputs[1][:2]) * math.prod(outputs[0])


def _image_gradient(op: Operation, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
    steps = math.prod(op.get_attr("strides"))
    return 2 * math.prod(outputs[0]) * math.prod(inputs[1]) // (outputs[0][-1] * steps)


def _filter_gradient(op: Operation, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
    steps = math.prod(op.get_attr("strides"))
    return 2 * math.prod(outputs[0]) * math.prod(inputs[0]) // (inputs[0][-1] * steps)


def _pool(op: Operation, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
    return math.prod(op.get_attr("ksize")) * math.prod(outputs[0])


def _mean_pool_gradient(op: Operation, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
    return 2 * math.prod(op.get_attr("ksize")) * math.prod(inputs[1])


def _max_pool_gradient(op: Operation, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
    return (math.prod(op.get_attr("ksize")) + 1) * math.prod(inputs[1])


_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        """Add AddV2 AssignAdd AssignSub BiasAdd Equal Greater GreaterEqual Less LessEqual Log
        Maximum Minimum Mul Neg NotEqual Pow RealDiv Reciprocal Square Sub""".split(),  # noqa: SIM905
        _elements(1),
    ),
    **dict.fromkeys(("Rsqrt", "SquaredDifference"), _elements(2)),
    "RsqrtGrad": _elements(4),
    "Softmax": _elements(5),
    "AddN": lambda op, inputs, outputs: (len(inputs) - 1) * math.prod(outputs[0]),
    "L2Loss": lambda op, inputs, outputs: 3 * math.prod(inputs[0]) - 1,
    "Mean": _folded(1),
    **dict.fromkeys(["ArgMax", "ArgMin", "BiasAddGrad", "Sum"], _folded(0)),
    **dict.fromkeys(["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatMul"], _product),
    **dict.fromkeys(("Conv2D", "Conv3D"), _convolution),
    **dict.fromkeys(("DepthwiseConv2dNative", "Dilation2D"), _window),
    "Conv2DBackpropInput": _image_gradient,
    "Conv2DBackpropFilter": _filter_gradient,
    **dict.fromkeys(("AvgPool", "MaxPool"), _pool),
    "AvgPoolGrad": _mean_pool_gradient,
    "MaxPoolGrad": _max_pool_gradient,
}


def shape_of(tensor: Any) -> Sizes | None:
    """The whole shape of a tensor of a graph, if that is known."""
    sizes = tensor.shape.sizes
    return None if sizes is None or None in sizes else tuple(sizes)
