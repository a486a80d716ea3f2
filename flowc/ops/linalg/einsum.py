"""Einsum: sums of products named by an equation such as `bij,bjk->bik`.

In: one or two tensors and an equation, with ellipses and repeated labels. Out: a record that
decomposes into diagonals, sums, at most one matrix product, and a transpose. Invariant: an ellipsis
is spelled out into labels first (digits, counted from the right), which alone may broadcast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.errors import FlowcError, UnimplementedError
from flowc.ir.dims import Dim, product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, View
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.tensor_diagonals import spread_view
from flowc.ops.gradients import Forward, GradientBuilder, conjugate
from flowc.ops.math.elementwise import HALVES

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Fail = Callable[[str], FlowcError]


# -- equations


@dataclass(frozen=True, slots=True)
class Equation:
    """The labels of each input and of the output, one character an axis."""

    inputs: tuple[str, ...]
    output: str


def parse_equation(equation: str, ranks: Sequence[int], fail: Fail) -> Equation:
    """Reads an equation for inputs of the given ranks. Raises what `fail` makes of a message."""
    sides = equation.replace(" ", "").split("->")
    if len(sides) != 2:
        raise fail(f"Expecting exactly one '->' in einsum equation: {equation}")
    inputs = sides[0].split(",")
    if len(inputs) not in (1, 2):
        raise fail(
            f"Expecting 1 or 2 input subscripts in equation '{equation}' but got: {len(inputs)}"
        )
    if len(inputs) != len(ranks):
        raise fail(f"Expecting {len(ranks)} input subscripts in equation '{equation}'")
    for subscripts in (*inputs, sides[1]):
        if not re.fullmatch(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*", subscripts):
            raise fail(f"Invalid subscripts '{subscripts}' in einsum equation: {equation}")
    spelled = [_spell_out(s, r, i, fail) for i, (s, r) in enumerate(zip(inputs, ranks))]
    broadcast = max(sum(x.isdigit() for x in s) for s in spelled)
    if broadcast and "..." not in sides[1]:
        raise fail(
            f"Output contains {broadcast} broadcasting dimension(s) but no ellipsis (...) was "
            "found in the output subscripts."
        )
    output = sides[1].replace("...", _digits(broadcast))
    unknown = sorted(set(output) - set("".join(spelled)))
    if unknown:
        raise fail(f"Output subscripts contain the label '{unknown[0]}' that no input has")
    return Equation(tuple(spelled), output)


def _digits(count: int) -> str:
    return "".join(str(i) for i in reversed(range(count)))


def _spell_out(subscripts: str, rank: int, position: int, fail: Fail) -> str:
    named = len(subscripts.replace("...", ""))
    hidden = rank - named
    if hidden < 0 or (hidden and "..." not in subscripts):
        raise fail(f"Expected input {position} to have rank {named} but got: {rank}")
    if hidden > 9:
        raise fail(f"an ellipsis that stands for {hidden} dimensions is not supported")
    return subscripts.replace("...", _digits(hidden))


def label_sizes(
    equation: Equation, shapes: Sequence[Dims], fail: Fail, equal: Callable[[Dim, Dim], Dim]
) -> dict[str, Dim]:
    """The size of each label; labels of an ellipsis broadcast."""
    sizes: dict[str, Dim] = {}
    for labels, dims in zip(equation.inputs, shapes):
        for axis, (label, size) in enumerate(zip(labels, dims)):
            known = sizes.setdefault(label, size)
            if label.isdigit() and 1 in (known, size):
                sizes[label] = size if known == 1 else known
            elif isinstance(known, int) and isinstance(size, int) and known != size:
                raise fail(
                    f"Expected dimension {known} at axis {axis} of the input shaped "
                    f"{shown_dims(dims)} but got dimension {size}"
                )
            else:
                sizes[label] = equal(known, size)
    return sizes


def _unique(labels: str) -> str:
    return "".join(dict.fromkeys(labels))


# -- views for repeated labels


def _infer_diagonal(c: Inference) -> Dims:
    dims: dict[int, Dim] = {}
    for axis, size in zip(c.attrs["axes"], c.dims(0)):
        dims[axis] = c.equal(dims[axis], size) if axis in dims else size
    return tuple(dims[i] for i in range(len(dims)))


def _diagonal_view(node: Node) -> View:
    axes = node.attrs["axes"]
    return View(lambda k, index: k.load(0, tuple(index[a] for a in axes)))


def _diagonal(input: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    return np.ascontiguousarray(np.einsum(input, list(axes), list(range(len(set(axes))))))


_TYPES = "{bf16, f16, f32, f64, i32, i64, c64, c128}"

# Reads axis i of the input at the output's index `axes[i]`: a transpose where all are different, a
# diagonal where some are the same.
take_axes = define(
    "take_axes",
    f"_TakeAxes(input: T; T: {_TYPES}, axes: list(int)) -> output: T",
    infer=_infer_diagonal,
    lowering=_diagonal_view,
    reference=_diagonal,
    examples=("T[3,3]; axes=[0,0]", "T[2,4,2]; axes=[1,0,1]", "T[2,3]; axes=[1,0]"),
)


def _spread(input: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    result = np.zeros([input.shape[a] for a in axes], input.dtype)
    indices = np.indices(input.shape)
    result[tuple(indices[a] for a in axes)] = input
    return result


# The inverse: axis i of the output is axis `axes[i]` of the input; zeros off the diagonal.
spread_axes = define(
    "spread_axes",
    f"_SpreadAxes(input: T; T: {_TYPES}, axes: list(int)) -> output: T",
    infer=lambda c: tuple(c.dims(0)[a] for a in c.attrs["axes"]),
    lowering=lambda node: spread_view(node, node.attrs["axes"]),
    reference=_spread,
    examples=("T[3]; axes=[0,0]", "T[2,3]; axes=[1,0,1]"),
)


# -- the decomposition


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A value and the label of each of its axes, all different."""

    value: Value
    labels: str

    def sizes(self, labels: str) -> Dims:
        return tuple(self.value.dims[self.labels.index(x)] for x in labels)


def _arrange(b: Builder, x: _Labelled, labels: str) -> Value:
    """The value with its axes in the order of `labels`, which are the same labels."""
    if x.labels == labels:
        return x.value
    return b.transpose(x.value, np.array([x.labels.index(c) for c in labels], np.int32))


def _simplify(b: Builder, value: Value, labels: str, wanted: str) -> _Labelled:
    """Takes diagonals of repeated labels, then sums over labels that nothing else has."""
    unique = _unique(labels)
    if unique != labels:
        value = b.take_axes(value, axes=tuple(unique.index(x) for x in labels))
    extra = [i for i, x in enumerate(unique) if x not in wanted]
    if extra:
        value = b.sum(value, np.array(extra, np.int32))
    return _Labelled(value, "".join(x for x in unique if x in wanted))


def _multiply(b: Builder, x: _Labelled, y: _Labelled, output: str) -> _Labelled:
    """The product of two values, summed over the labels that both have and the output has not."""
    summed = "".join(c for c in x.labels if c in y.labels and c not in output)
    batch = "".join(c for c in x.labels if c in y.labels and c in output)
    left = "".join(c for c in x.labels if c not in y.labels)
    right = "".join(c for c in y.labels if c not in x.labels)
    labels = batch + left + right
    if not summed:
        first = b.reshape(_arrange(b, x, batch + left), (*x.sizes(batch + left), *[1] * len(right)))
        dims = (*y.sizes(batch), *[1] * len(left), *y.sizes(right))
        return _Labelled(b.mul(first, b.reshape(_arrange(b, y, batch + right), dims)), labels)

    # A conjugating adjoint is wrong for complex numbers, so those are transposed instead.
    plain = not x.value.type.dtype.is_complex
    adj_x = plain and x.labels == batch + summed + left and bool(left)
    adj_y = plain and y.labels == batch + right + summed and bool(right)
    a = _arrange(b, x, batch + summed + left if adj_x else batch + left + summed)
    c = _arrange(b, y, batch + right + summed if adj_y else batch + summed + right)
    rows, inner, columns = product(x.sizes(left)), product(x.sizes(summed)), product(y.sizes(right))
    a = b.reshape(a, (*x.sizes(batch), *((inner, rows) if adj_x else (rows, inner))))
    c = b.reshape(c, (*y.sizes(batch), *((columns, inner) if adj_y else (inner, columns))))
    result = b.batch_mat_mul(a, c, adj_x=adj_x, adj_y=adj_y)
    dims = (*result.dims[: len(batch)], *x.sizes(left), *y.sizes(right))
    return _Labelled(b.reshape(result, dims), labels)


def _equation_of(node: Forward, ranks: Sequence[int]) -> Equation:
    return parse_equation(node.attrs["equation"], ranks, UnimplementedError)


def _build(b: Builder, node: Node) -> Value:
    equation = _equation_of(node, [v.type.rank for v in node.inputs])
    parts: list[_Labelled] = []
    for i, (value, labels) in enumerate(zip(node.inputs, equation.inputs)):
        others = "".join(s for j, s in enumerate(equation.inputs) if j != i)
        parts.append(_simplify(b, value, labels, equation.output + others))
    result = parts[0]
    if len(parts) == 2:
        result = _multiply(b, parts[0], parts[1], equation.output)
    wanted = _unique(equation.output)
    value = _arrange(b, result, wanted)
    if wanted != equation.output:
        axes = tuple(wanted.index(x) for x in equation.output)
        value = b.spread_axes(value, axes=axes)
    return value


# -- the record


def _infer(c: Inference) -> Dims:
    shapes = [t.dims for t in c.inputs]
    equation = parse_equation(c.attrs["equation"], [len(s) for s in shapes], c.fail)
    sizes = label_sizes(equation, shapes, c.fail, c.equal)
    return tuple(sizes[x] for x in equation.output)


def _reference(inputs: list[np.ndarray], *, equation: str) -> np.ndarray:
    parsed = parse_equation(equation, [x.ndim for x in inputs], UnimplementedError)
    number = {label: i for i, label in enumerate(_unique("".join(parsed.inputs)))}
    wanted = _unique(parsed.output)
    halves = inputs[0].dtype in HALVES
    operands: list[Any] = []
    for x, labels in zip(inputs, parsed.inputs):
        operands += [x.astype(np.float32) if halves else x, [number[c] for c in labels]]
    with np.errstate(all="ignore"):
        result = np.asarray(np.einsum(*operands, [number[c] for c in wanted]))
    result = np.ascontiguousarray(result).astype(inputs[0].dtype).reshape(result.shape)
    if wanted == parsed.output:
        return result
    return _spread(result, axes=tuple(wanted.index(c) for c in parsed.output))


def _subscripts(labels: str) -> str:
    """With an ellipsis in place of the labels that one was spelled out into."""
    return re.sub(r"\d+", "...", labels)


def _gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The gradient of an input is the einsum of the output's gradient and the other input, over the
    labels of that input, each once. Behind it what was broadcast is summed, what was summed is
    broadcast, and labels that an input has twice are spread out."""
    equation = _equation_of(node, [b.rank_of(v) for v in node.inputs])
    found: list[Any] = []
    for i, (value, labels) in enumerate(zip(node.inputs, equation.inputs)):
        operands, subscripts = [dy], [equation.output]
        for j, (other, own) in enumerate(zip(node.inputs, equation.inputs)):
            if j != i:
                operands.append(conjugate(b, other))
                subscripts.append(own)
        hidden = "".join(filter(str.isdigit, labels))
        broadcast = "".join(filter(str.isdigit, equation.output))
        start = labels.index(hidden) if hidden else 0
        given = labels[:start] + broadcast + labels[start + len(hidden) :]
        reached = _unique("".join(x for x in given if x in "".join(subscripts)))
        dx = _einsum(b, operands, subscripts, reached)
        if broadcast:
            dx = _sum_broadcast(b, dx, reached, broadcast, value, labels, hidden)
        unique = _unique(labels)
        missing = [k for k, x in enumerate(unique) if x not in reached]
        if missing:
            for axis in missing:
                dx = b.expand_dims(dx, np.int32(axis))
            shape = b.shape_of(value)
            if unique != labels:
                shape = b.gather(shape, np.array([labels.index(x) for x in unique]), np.int32(0))
            dx = b.broadcast_to(dx, shape)
        found.append(dx if unique == labels else _einsum(b, [dx], [unique], labels))
    return found


def _einsum(b: GradientBuilder, operands: list[Any], subscripts: list[str], output: str) -> Any:
    text = f"{','.join(map(_subscripts, subscripts))}->{_subscripts(output)}"
    return b.einsum(*operands, equation=text, N=len(operands))


def _sum_broadcast(
    b: GradientBuilder, dx: Any, have: str, broadcast: str, value: Any, labels: str, hidden: str
) -> Any:
    """`dx` summed over those of its axes `broadcast` along which `value` is of size 1, or has none:
    then it has the axes `hidden` of `value` instead."""
    start = have.index(broadcast)
    stop = start + len(broadcast)
    first = labels.index(hidden) if hidden else 0
    last = first + len(hidden)
    mine, theirs = (b.dims_of(dx) or ())[start:stop], (b.dims_of(value) or ())[first:last]
    if mine and mine == theirs and None not in mine:
        return dx
    shape = b.shape_of(value, first, last)
    axes, _ = b.broadcast_gradient_args(shape, b.shape_of(dx, start, stop))
    summed = b.sum(dx, b.add(axes, np.int32(start)), keep_dims=True)
    parts = b.shape_of(dx, 0, start), shape, b.shape_of(dx, stop)
    return b.reshape(summed, b.concat(*parts, np.int32(0)))


einsum = define(
    "einsum",
    f"Einsum(inputs: N*T; equation: string, N: int >= 1, T: {_TYPES}) -> output: T",
    infer=_infer,
    lowering=Decompose(_build),
    reference=_reference,
    gradient=_gradient,
    examples=(
        'T[2,3] T[3,4]; equation="ij,jk->ik", N=2',
        'T[2,3,4] T[2,5,4]; equation="bij,bkj->bki", N=2',
        'T[3,3]; equation="ii->i", N=1',
        'T[2,3,4]; equation="abc->ca", N=1',
        'T[3]; equation="i->ii", N=1',
        'T[2,1,3,4] T[5,4,2]; equation="...ij,...jk->...ik", N=2',
        'T[2,2,3] T[3]; equation="iij,j->i", N=2',
        'T[2] T[3]; equation="i,j->ij", N=2',
        'T[2,3]~prob T[2,3]~prob; equation="ij,ij->", N=2',
        'T[2,5,3,4] T[2,7,3,4]; equation="BFNH,BTNH->BNFT", N=2',
        'T[2,3,4] T[3,4,6]; equation="abc,bcd->ad", N=2',
    ),
)
