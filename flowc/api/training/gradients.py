"""`gradients` and what goes with it, as TensorFlow's functions.

In: ys and xs of the default graph. Out: the gradients of the sum of the ys, for each x a tensor of
its dtype and shape. Invariant: the operations and their names are TensorFlow's.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import concat, shape, size
from flowc.api.control_flow.loops import while_loop
from flowc.api.control_flow.tensor_array import TensorArray
from flowc.api.framework.basics import constant
from flowc.api.framework.scopes import name_scope, tuple_
from flowc.api.training.registration import GRADIENTS
from flowc.dtypes import DType, name_of
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.context_defs import read_kept_contexts
from flowc.graph.building.conversion import as_tensor, constant_array, constant_tensor
from flowc.graph.building.creation import output, shape_tensor
from flowc.graph.gradients.aggregation import METHODS, AggregationMethod
from flowc.graph.gradients.operation import Gradient
from flowc.graph.gradients.walk import Walk, WalkOptions
from flowc.graph.gradients.zeros import zeros_of
from flowc.graph.indexed_slices import IndexedSlices, ValuesAtIndices


class UnconnectedGradients(enum.Enum):
    """What `gradients` gives for an x that no y depends on: None, or zeros of its shape. Raises
    `ValueError` for another name."""

    NONE = "none"
    ZERO = "zero"


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """The derivatives of the sum of `ys` by each of `xs`, which are tensors or variables, or lists.

    Gives a list as long as `xs`: tensors of their dtypes and shapes, `IndexedSlices` for what is
    only gathered from, None (with `UnconnectedGradients.ZERO`: zeros) where no y depends on an x.
    `grad_ys`: what flows into each y, of its shape; ones where there is none. `stop_gradients`:
    tensors that count as constants. `gate_gradients`: the gradients of one operation's inputs are
    available only together. Raises `LookupError` for an operation between xs and ys that has no
    gradient, `ValueError` for another number of `grad_ys`, `TypeError` for others than
    numbers.
    """
    method = AggregationMethod.DEFAULT if aggregation_method is None else aggregation_method
    if method not in METHODS:
        raise ValueError(
            f"Invalid `aggregation_method` specified {method}. Accepted values are {list(METHODS)}."
        )
    ys, xs = _listed(ys), _listed(xs)
    for value in (*ys, *xs):
        if isinstance(value, ValuesAtIndices):
            raise ValueError(
                f"Type {type(value).__name__} is not supported as a gradient source or gradient "
                "target."
            )
    stops = [] if stop_gradients is None else _listed(stop_gradients)
    grad_ys = [None] * len(ys) if grad_ys is None else _listed(grad_ys)
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: '{unconnected_gradients}'"
        ) from None
    graph = get_default_graph()
    read_kept_contexts(graph)
    with name_scope(name, "gradients", [*ys, *xs, *stops, *grad_ys]):
        graph.unique_name("uid")
        sinks = [as_tensor(y, name=f"y_{i}") for i, y in enumerate(ys)]
        sources = [_source(x, f"x_{i}") for i, x in enumerate(xs)]
        stopped = [_source(s, "stop") for s in stops]
        gate = tuple_ if gate_gradients else None
        options = WalkOptions(colocate_gradients_with_ops, gate, method)
        flowing = _flowing(grad_ys, sinks, colocate_gradients_with_ops)
        found: list[Any] = list(
            Walk(graph, sinks, sources, stopped, GRADIENTS, options).run(flowing)
        )
        if unconnected is UnconnectedGradients.ZERO:
            found = [zeros_of(x) if g is None else g for x, g in zip(sources, found)]
        return found


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """For each of `xs` the second derivatives of the sum of `ys`, of the shape of x twice.

    Raises as `gradients`."""
    xs = _listed(xs)
    options = (colocate_gradients_with_ops, gate_gradients, aggregation_method)
    firsts = gradients(ys, xs, None, "gradients", *options)
    return [_hessian(output("Reshape", g, [-1]), x) for g, x in zip(firsts, xs)]


def _hessian(gradient: Tensor, x: Any) -> Tensor:
    """A loop over the elements of the gradient, whose gradients are the rows."""
    x = as_tensor(x)
    count = size(x)
    start = (constant(0, dtypes.i32), TensorArray(x.dtype, count))
    _, rows = while_loop(
        lambda i, _: i < count,
        lambda i, found: (i + 1, found.write(i, gradients(gradient[i], x)[0])),
        start,
    )
    sizes = shape(x)
    return output("Reshape", rows.stack(), concat([sizes, sizes], 0))


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _source(x: Any, name: str) -> Tensor:
    """The tensor whose gradient is that of `x`: of a variable, its reference or handle."""
    home = getattr(x, "_home", None)
    return as_tensor(x, name=name) if home is None else home


def _flowing(grad_ys: Sequence[Any], ys: Sequence[Tensor], colocate: bool) -> list[Gradient]:
    """The gradients of the ys, ones where none are given."""
    if len(grad_ys) != len(ys):
        raise ValueError(f"Length mismatch. Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    graph = get_default_graph()
    given = [
        g if g is None or isinstance(g, IndexedSlices) else as_tensor(g, name=f"grad_y_{i}")
        for i, g in enumerate(grad_ys)
    ]
    found: list[Gradient] = []
    for i, (y, grad_y) in enumerate(zip(ys, given)):
        with graph.colocate_with_all([y] if colocate else []):
            if grad_y is None:
                found.append(_ones(y, f"grad_ys_{i}"))
                continue
            _check_kind(grad_y, y)
            found.append(_kept(grad_y, f"grad_ys_{i}"))
    return found


def _ones(y: Tensor, name: str) -> Tensor:
    if y.dtype is None or y.dtype.is_complex:
        raise TypeError(
            f"Gradients of complex tensors ({y}) must set grad_ys (y.dtype = {name_of(y.dtype)})"
        )
    sizes = shape_tensor(y)
    with get_default_graph().name_scope(name) as scope:
        one = constant_tensor(constant_array(1, y.dtype), "Const", y.dtype)
        return output("Fill", sizes, one, name=scope, index_type=dtypes.i32)


def _check_kind(grad_y: Gradient, y: Tensor) -> None:
    """Raises `TypeError` for a gradient that cannot be one of `y`."""
    mine, other = y.dtype, grad_y.dtype
    generated = f"Gradient type {name_of(other)} generated for"
    ending = f"tensor {y} with type {name_of(mine)} must be"
    if _is_real(mine):
        if not _is_real(other):
            raise TypeError(f"{generated} real or integer-valued {ending} real or integer")
    elif mine is not None and mine.is_complex:
        if other is None or not other.is_complex:
            raise TypeError(f"{generated} complex-valued {ending} real")
    elif mine is dtypes.variant:
        if other is not dtypes.variant:
            raise TypeError(f"{generated} variant {ending} variant")
    elif mine is dtypes.resource:
        if other is dtypes.resource:
            raise TypeError(f"Input gradient {grad_y} for resource tensor {y} should not be a "
                            "resource")  # fmt: skip
    else:
        raise TypeError(
            f"Tensor {y} with type {name_of(mine)} must be numeric to obtain a default gradient"
        )


def _is_real(dtype: DType | None) -> bool:
    return dtype is not None and (dtype.is_floating or dtype.is_integer)


def _kept(grad_y: Gradient, name: str) -> Gradient:
    """The same gradient, as operations of this call."""
    if isinstance(grad_y, Tensor):
        return output("Identity", grad_y, name=name)
    parts = (("values", grad_y.values), ("indices", grad_y.indices), ("shape", grad_y.dense_shape))
    values, indices, sizes = (
        None if t is None else output("Identity", t, name=f"{name}_{part}") for part, t in parts
    )
    assert values is not None and indices is not None
    return IndexedSlices(values, indices, sizes)
