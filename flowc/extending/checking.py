"""`flowc.testing.check_op`: what flowc's own ops are tested for, of a registered op.

In: an op, and a call of it. Out: nothing, or an `AssertionError` that says what differs. Invariant:
a check that cannot be made is asked for or left out by the caller, never passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from flowc.api.framework.basics import placeholder
from flowc.api.framework.models import compile as compile_model
from flowc.api.framework.models import import_graph_def
from flowc.api.framework.raw_ops import call
from flowc.api.testing.gradient_checker import compute_gradient_error
from flowc.dtypes import as_dtype
from flowc.extending.registration import registered
from flowc.graph import Graph, Tensor
from flowc.ir.op import call_reference
from flowc.run.session import Session

Array = np.ndarray[Any, Any]


def check_op(
    op_type: str,
    *inputs: Any,
    expected: Any = None,
    tolerance: float = 1e-5,
    gradient: bool = False,
    gradient_error: float = 1e-3,
    library: bool = False,
    **attrs: Any,
) -> None:
    """Checks a registered op by one call of it, for the arrays `inputs` (a list of arrays where it
    takes several) and `attrs`.

    A Session computes it alone, between other ops that it may fuse with, and in a graph that was
    exported and imported; all must agree within `tolerance` (relative, and absolute below 1) with
    `expected`, else with the op's reference, else with the first. Shapes and dtypes must be those
    that the shape function says. `gradient`: the gradients of all inputs of floats are compared
    with differences, which may be `gradient_error` apart. `library`: a library of the op is made,
    and must agree. Raises `AssertionError`.
    """
    arrays = [[np.asarray(a) for a in x] if isinstance(x, list) else np.asarray(x) for x in inputs]
    with Graph().as_default() as graph:
        fed, given = _placeholders(arrays)
        found = _tensors(call(op_type, *given, **attrs))
        feeds = dict(zip(fed, _flat(arrays), strict=True))
        with Session(graph=graph) as session:
            first = [np.asarray(a) for a in session.run(found, feeds)]
        _check_types(op_type, found, first)
        wanted = _wanted(op_type, arrays, attrs, expected, first)
        _compare(f"{op_type} alone", first, wanted, tolerance)
        _check_among_others(op_type, graph, found, feeds, wanted, tolerance)
        _check_imported(op_type, graph, found, feeds, wanted, tolerance)
        if library:
            _check_library(op_type, graph, found, feeds, wanted, tolerance)
        if gradient:
            _check_gradient(op_type, graph, found, feeds, wanted, gradient_error)


def _placeholders(arrays: Sequence[Any]) -> tuple[list[Tensor], list[Any]]:
    """Placeholders, and the same as the op takes them."""
    fed: list[Tensor] = []
    given: list[Any] = []
    for x in arrays:
        made = [placeholder(as_dtype(a.dtype), a.shape) for a in _flat([x])]
        fed += made
        given.append(made if isinstance(x, list) else made[0])
    return fed, given


def _flat(arrays: Sequence[Any]) -> list[Array]:
    return [a for x in arrays for a in (x if isinstance(x, list) else [x])]


def _tensors(made: Any) -> list[Tensor]:
    """The outputs of a call, however they are grouped."""
    if isinstance(made, Tensor):
        return [made]
    return [t for part in made for t in _tensors(part)]


def _wanted(
    op_type: str, arrays: Sequence[Any], attrs: Any, expected: Any, first: Sequence[Array]
) -> Sequence[Array]:
    record, _ = registered(op_type)
    if expected is not None:
        several = isinstance(expected, list | tuple) and len(first) > 1
        return [np.asarray(a) for a in (expected if several else [expected])]
    if record.reference is None:
        return first
    flat = _flat(arrays)
    dtypes = [as_dtype(a.dtype) for a in flat]
    return [np.asarray(a) for a in call_reference(record, record.reference, flat, attrs, dtypes)]


def _check_types(op_type: str, tensors: Sequence[Tensor], found: Sequence[Array]) -> None:
    for k, (tensor, array) in enumerate(zip(tensors, found, strict=True)):
        fits = tensor.shape.is_compatible_with(array.shape)
        assert fits, f"{op_type} output {k}: {array.shape} is not {tensor.shape}"
        assert as_dtype(array.dtype) is tensor.base_dtype, (
            f"{op_type} output {k} is {array.dtype}, and not {tensor.base_dtype}"
        )


def _compare(what: str, found: Sequence[Array], wanted: Sequence[Array], tolerance: float) -> None:
    assert len(found) == len(wanted), f"{what}: {len(found)} outputs, expected {len(wanted)}"
    for k, (x, y) in enumerate(zip(found, wanted)):
        assert x.shape == y.shape, f"{what}: output {k} is {x.shape}, expected {y.shape}"
        exact = y.dtype.kind not in "fc"
        near = tolerance if not exact else 0.0
        same = np.array_equal(x, y) if exact else np.allclose(x, y, near, near, equal_nan=True)
        assert same, f"{what}: output {k} is\n{x}\nexpected\n{y}"


def _check_among_others(
    op_type: str, graph: Graph, found: Sequence[Tensor], feeds: Any, wanted: Any, near: float
) -> None:
    """Behind and before ops that the compiler may fuse with it."""
    signed = [t for t in found if t.base_dtype is not None and t.base_dtype.is_floating]
    if not signed:
        return
    with graph.as_default(), Session(graph=graph) as session:
        turned = [call("Neg", call("Abs", call("Neg", t))) for t in signed]
        results = session.run(turned, feeds)
    places = [found.index(t) for t in signed]
    expected = [-np.abs(wanted[i]) for i in places]
    _compare(f"{op_type} among others", [np.asarray(a) for a in results], expected, near)


def _check_imported(
    op_type: str, graph: Graph, found: Sequence[Tensor], feeds: Any, wanted: Any, near: float
) -> None:
    message = graph.as_graph_def()
    with Graph().as_default() as imported:
        import_graph_def(message, name="")
        with Session(graph=imported) as session:
            results = session.run([t.name for t in found], {t.name: a for t, a in feeds.items()})
    _compare(f"{op_type} imported", [np.asarray(a) for a in results], wanted, near)


def _check_library(
    op_type: str, graph: Graph, found: Sequence[Tensor], feeds: Any, wanted: Any, near: float
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "checked.so")
        model = compile_model(graph, list(feeds), list(found), out=path)
        results = model(*feeds.values())
    several = results if isinstance(results, tuple) else (results,)
    _compare(f"{op_type} in a library", [np.asarray(a) for a in several], wanted, near)


def _check_gradient(
    op_type: str, graph: Graph, found: Sequence[Tensor], feeds: Any, wanted: Any, most: float
) -> None:
    floats = [t for t in feeds if t.base_dtype.is_floating]
    assert floats, f"{op_type} has no inputs of floats"
    with Session(graph=graph).as_default():
        for y, value in zip(found, wanted):
            if y.base_dtype is None or not y.base_dtype.is_floating:
                continue
            for x in floats:
                error = compute_gradient_error(
                    x,
                    list(feeds[x].shape),
                    y,
                    list(value.shape),
                    x_init_value=feeds[x],
                    extra_feed_dict={t: a for t, a in feeds.items() if t is not x},
                )
                assert error <= most, (
                    f"the gradient of {op_type} by {x.name} is {error} from that by differences"
                )
