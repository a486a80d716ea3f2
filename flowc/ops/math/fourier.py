"""Discrete Fourier transforms over the last one, two or three dims.

In: complex tensors, or real ones with the lengths to transform. Out: their spectra, or what spectra
come from. Every transform of a dim is one kernel over rows, for lengths of any factors. Invariant:
factors of a length are taken in ascending order, fours before two; an odd prime factor p costs p
operations an element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import UnimplementedError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Expr, as_dim, product
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.arrays.shapes import known_dims
from flowc.ops.gradients import Forward, Gradient, GradientBuilder
from flowc.ops.math.fourier_kernel import transform_kernel

_REAL_OF = {dtypes.c64: dtypes.f32, dtypes.c128: dtypes.f64}


def _transformed(
    real: np.ndarray, imag: np.ndarray, cosines: np.ndarray, sines: np.ndarray
) -> list[np.ndarray]:
    n = real.shape[-1]
    turns = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    found = (real + 1j * imag) @ (cosines[turns] + 1j * sines[turns])
    parts = [found.real.astype(real.dtype), found.imag.astype(real.dtype)]
    return [*parts, *parts]


def _lower_transform(node: Node) -> Lowering:
    dims = node.inputs[0].dims
    return Native(transform_kernel, arguments=(dims[-1],), parallel=product(dims[:-1]))


transform_rows = define(
    "transform_rows",
    "_TransformRows(real: T, imag: T, cosines: f64, sines: f64; T: {f32, f64})"
    " -> (x: T, y: T, work_x: T, work_y: T)",
    infer=lambda c: [c.dims(0)] * 4,
    reference=_transformed,
    lowering=_lower_transform,
)


def _last_transformed(b: Builder, parts: tuple[Value, Value], inverse: bool) -> tuple[Value, Value]:
    """The transform of the last dim of a tensor's real and imaginary parts."""
    n = parts[0].dims[-1]
    sign = 2.0 * np.pi if inverse else -2.0 * np.pi
    if isinstance(n, Expr):
        zero, one = b.const(np.int64(0)), b.const(np.int64(1))
        size = b.scalar_size(n, dtypes.i64)
        places = b.cast(b.range(zero, size, one), DstT=dtypes.f64)
        places = b.reshape(places, (n,))
        turns = b.real_div(b.mul(places, np.float64(sign)), b.cast(size, DstT=dtypes.f64))
        cosines, sines = b.cos(turns), b.sin(turns)
    else:
        turns = np.arange(n) * (sign / max(n, 1))
        cosines, sines = b.const(np.cos(turns)), b.const(np.sin(turns))
    x, y, *_ = b.transform_rows(*parts, cosines, sines)
    return x, y


def _along(b: Builder, parts: tuple[Value, Value], axis: int, inverse: bool) -> tuple[Value, Value]:
    """The transform of one dim, counted from the end."""
    if axis == 1:
        return _last_transformed(b, parts, inverse)
    rank = parts[0].type.rank
    order = list(range(rank))
    order[-1], order[-axis] = order[-axis], order[-1]
    perm = np.array(order, np.int32)
    found = _last_transformed(
        b, (b.transpose(parts[0], perm), b.transpose(parts[1], perm)), inverse
    )
    return b.transpose(found[0], perm), b.transpose(found[1], perm)


def _scaled(b: Builder, value: Value, sizes: Sequence[Dim]) -> Value:
    """Divided by the number of elements of a transform."""
    total = product(tuple(sizes))
    dtype = value.type.dtype
    if not isinstance(total, Expr):
        return b.mul(value, b.const(1.0 / max(total, 1), dtype))
    count = b.cast(b.scalar_size(total, dtypes.i64), DstT=dtype)
    return b.real_div(value, count)


def _complex_transform(rank: int, inverse: bool) -> Callable[[Builder, Node], Value]:
    def build(b: Builder, node: Node) -> Value:
        (x,) = node.inputs
        part = _REAL_OF[x.type.dtype]
        parts = (b.real(x, Tout=part), b.imag(x, Tout=part))
        for axis in range(1, rank + 1):
            parts = _along(b, parts, axis, inverse)
        if inverse:
            sizes = x.dims[-rank:]
            parts = (_scaled(b, parts[0], sizes), _scaled(b, parts[1], sizes))
        return b.complex(*parts, Tout=x.type.dtype)

    return build


def _fit(b: Builder, value: Value, sizes: Sequence[Dim]) -> Value:
    """A value whose last dims are cut to these sizes."""
    rank = value.type.rank
    outer = value.dims[: rank - len(sizes)]
    if value.dims[rank - len(sizes) :] == tuple(sizes):
        return value
    return b.slice(value, np.zeros(rank, np.int32), (*outer, *sizes))


def _real_transform(rank: int) -> Callable[[Builder, Node], Value]:
    def build(b: Builder, node: Node) -> Value:
        x, dtype = node.inputs[0], node.output.type.dtype
        lengths = _lengths(node)
        real = _fit(b, x, lengths)
        zeros = b.broadcast_to(b.const(0, real.type.dtype), real.dims)
        parts = _last_transformed(b, (real, zeros), False)
        half = node.output.dims
        begin = np.zeros(real.type.rank, np.int32)
        cut = (*real.dims[:-1], half[-1])
        parts = (b.slice(parts[0], begin, cut), b.slice(parts[1], begin, cut))
        for axis in range(2, rank + 1):
            parts = _along(b, parts, axis, False)
        return b.complex(*parts, Tout=dtype)

    return build


def _lengths(node: Node) -> tuple[Dim, ...]:
    """The lengths that a real transform is told."""
    known = known_dims(node.inputs[1])
    if known is None:
        raise NeedsContent(
            f"{node.op.tf_name} needs a fft_length that is known, or that follows from sizes",
            node=node.name,
            hint="feed it as a constant, or freeze the graph",
        )
    return known


def _from_half(rank: int) -> Callable[[Builder, Node], Value]:
    def build(b: Builder, node: Node) -> Value:
        (x, _), part = node.inputs, node.output.type.dtype
        lengths = node.output.dims[-rank:]
        half = as_dim(lengths[-1] // 2 + 1)
        x = _fit_complex(b, x, (*lengths[:-1], half), part)
        parts = (b.real(x, Tout=part), b.imag(x, Tout=part))
        for axis in range(2, rank + 1):
            parts = _along(b, parts, axis, True)
        full = _mirrored(b, parts, lengths[-1], half)
        real, _ = _last_transformed(b, full, True)
        return _scaled(b, real, lengths)

    return build


def _fit_complex(b: Builder, x: Value, sizes: Sequence[Dim], part: DType) -> Value:
    real, imag = b.real(x, Tout=part), b.imag(x, Tout=part)
    return b.complex(_fit(b, real, sizes), _fit(b, imag, sizes), Tout=x.type.dtype)


def _mirrored(b: Builder, parts: tuple[Value, Value], n: Dim, half: Dim) -> tuple[Value, Value]:
    """The whole spectrum of a real signal from its first half."""
    rank = parts[0].type.rank
    outer = parts[0].dims[:-1]
    begin = np.zeros(rank, np.int32)
    begin[-1] = 1
    axis = np.array([rank - 1], np.int32)
    rest = as_dim(n - half)
    found: list[Value] = []
    for value, sign in zip(parts, (1.0, -1.0)):
        tail = b.reverse(b.slice(value, begin, (*outer, rest)), axis)
        tail = b.mul(tail, b.const(sign, value.type.dtype))
        found.append(b.concat(value, tail, np.int32(rank - 1)))
    return found[0], found[1]


def _check_rank(c: Inference, rank: int) -> None:
    if c.rank(0) < rank:
        raise c.fail(f"Input must have rank of at least {rank} but got: {list(c.dims(0))}")


def _infer_complex(rank: int) -> Callable[[Inference], Dims]:
    def infer(c: Inference) -> Dims:
        _check_rank(c, rank)
        return c.dims(0)

    return infer


def _infer_real(rank: int, forward: bool) -> Callable[[Inference], Dims]:
    def infer(c: Inference) -> Dims:
        _check_rank(c, rank)
        c.need_dims(1, (rank,), f"fft_length must have shape [{rank}]")
        lengths = list(c.need_sizes(1))
        for i, length in enumerate(lengths):
            if isinstance(length, int) and length < 1:
                raise c.fail(f"fft_length[{i}] must be >= 1, but got: {length}")
        spectrum = [*lengths[:-1], as_dim(lengths[-1] // 2 + 1)]
        for i, wanted in enumerate(lengths if forward else spectrum):
            found = c.dims(0)[c.rank(0) - rank + i]
            if isinstance(wanted, int) and isinstance(found, int) and found < wanted:
                raise c.fail(
                    f"Input dimension {c.rank(0) - rank + i} must have length of at least "
                    f"{wanted} but got: {found}"
                )
        lengths = spectrum if forward else lengths
        return (*c.dims(0)[:-rank], *lengths)

    return infer


def _axes(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


# -- gradients: a transform's adjoint is the other one, save for a factor


def _count(b: GradientBuilder, x: Any, rank: int) -> Any:
    """The number of elements that one transform takes, in the dtype of `x`."""
    sizes = b.shape_of(x, b.rank_of(x) - rank)
    return b.cast(b.prod(sizes, np.array([0], np.int32)), DstT=x.dtype)


def _complex_gradient(rank: int, inverse: bool) -> Gradient:
    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
        other = _name(rank) if inverse else f"i{_name(rank)}"
        scale = b.real_div if inverse else b.mul
        return scale(getattr(b, other)(dy), _count(b, dy, rank))

    return gradient


def _known(b: GradientBuilder, node: Forward, rank: int) -> tuple[list[int], list[int]]:
    """(the last sizes of the input, the length of the transform). Raises `UnimplementedError`."""
    length = b.elements_of(node.inputs[1])
    dims = (b.dims_of(node.inputs[0]) or ())[-rank:]
    sizes = [d for d in dims if isinstance(d, int)]
    if length is None or len(sizes) < rank:
        raise UnimplementedError(
            f"the gradient of {node.op.tf_name} needs known sizes", node=node.name
        )
    return sizes, length.tolist()


def _fitted(b: GradientBuilder, x: Any, sizes: Sequence[int]) -> Any:
    """`x` with other last sizes: cut, or padded with zeros."""
    dims = b.dims_of(x)
    lead = len(dims or ()) - len(sizes)
    have = [d for d in (dims or ())[lead:] if isinstance(d, int)]
    kept = [min(h, s) for h, s in zip(have, sizes, strict=True)]
    if kept != have:
        begin = np.zeros(lead + len(sizes), np.int32)
        x = b.slice(x, begin, np.array([-1] * lead + kept, np.int32))
    if kept != list(sizes):
        ends = [[0, 0]] * lead + [[0, s - k] for s, k in zip(sizes, kept)]
        x = b.pad(x, np.array(ends, np.int32))
    return x


def _real_gradient(rank: int) -> Gradient:
    """A whole transform of the half spectrum, with zeros for what the half leaves out."""

    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
        sizes, length = _known(b, node, rank)
        whole = _fitted(b, dy, length)
        back = b.mul(getattr(b, f"i{_name(rank)}")(whole), _count(b, whole, rank))
        dx = b.real(back, Tout=back.dtype.real_dtype)
        dtype = node.inputs[0].dtype
        return _fitted(b, dx if dx.dtype is dtype else b.cast(dx, DstT=dtype), sizes)

    return gradient


def _half_gradient(rank: int) -> Gradient:
    """The half spectrum, in which all but the ends of the last axis count twice."""

    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
        sizes, length = _known(b, node, rank)
        x = node.inputs[0]
        half = getattr(b, f"r{_name(rank)}")(dy, node.inputs[1], Tcomplex=x.dtype)
        weights = np.full(length[-1] // 2 + 1, 2 / max(math.prod(length), 1))
        weights[0] /= 2
        if length[-1] % 2 == 0:
            weights[-1] = weights[0]
        return _fitted(b, b.mul(half, b.const(weights, x.dtype)), sizes)

    return gradient


def _name(rank: int) -> str:
    return "fft" if rank == 1 else f"fft{rank}d"


def _define(rank: int) -> None:
    suffix = "" if rank == 1 else f"{rank}D"
    name = _name(rank)
    for inverse in (False, True):
        function = np.fft.ifftn if inverse else np.fft.fftn
        define(
            f"i{name}" if inverse else name,
            f"{'IFFT' if inverse else 'FFT'}{suffix}(input: Tcomplex; Tcomplex: COMPLEX = c64)"
            " -> output: Tcomplex",
            infer=_infer_complex(rank),
            reference=_complex_reference(function, rank),
            lowering=Decompose(_complex_transform(rank, inverse)),
            gradient=_complex_gradient(rank, inverse),
            examples=_COMPLEX_EXAMPLES[rank],
        )
    define(
        f"r{name}",
        f"RFFT{suffix}(input: Treal, fft_length: i32; Treal: {{f32, f64}} = f32,"
        " Tcomplex: COMPLEX = c64) -> output: Tcomplex",
        infer=_infer_real(rank, True),
        reference=_sized_reference(np.fft.rfftn, rank, np.float64, "Tcomplex"),
        lowering=Decompose(_real_transform(rank)),
        gradient=_real_gradient(rank),
        examples=_REAL_EXAMPLES[rank],
    )
    define(
        f"ir{name}",
        f"IRFFT{suffix}(input: Tcomplex, fft_length: i32; Treal: {{f32, f64}} = f32,"
        " Tcomplex: COMPLEX = c64) -> output: Treal",
        infer=_infer_real(rank, False),
        reference=_sized_reference(np.fft.irfftn, rank, np.complex128, "Treal"),
        lowering=Decompose(_from_half(rank)),
        gradient=_half_gradient(rank),
        examples=_HALF_EXAMPLES[rank],
    )


def _complex_reference(function: Any, rank: int) -> Callable[..., np.ndarray]:
    def reference(input: np.ndarray) -> np.ndarray:
        if not input.size:
            return input
        return function(input.astype(np.complex128), axes=_axes(rank)).astype(input.dtype)

    return reference


def _sized_reference(function: Any, rank: int, wide: Any, result: str) -> Callable[..., np.ndarray]:
    """`result`: the attr that says what the result is."""

    def reference(input: np.ndarray, fft_length: np.ndarray, **attrs: Any) -> np.ndarray:
        lengths = tuple(int(n) for n in fft_length)
        return function(input.astype(wide), lengths, _axes(rank)).astype(attrs[result].numpy)

    return reference


_COMPLEX_EXAMPLES = {
    1: ("Tcomplex[3,8]", "c64[1]", "c64[2,15]", "c128[60]", "c64[11]"),
    2: ("Tcomplex[2,6,4]", "c64[5,1]"),
    3: ("Tcomplex[2,3,4]",),
}
_REAL_EXAMPLES = {
    1: (
        "f32[3,8] i32[1]=[8]",
        "f64[9] i32[1]=[9]; Tcomplex=c128",
        "f32[2,6] i32[1]=[5]",
        "f32[3,1] i32[1]=[1]",
    ),
    2: ("f32[2,6,4] i32[2]=[6,4]", "f64[5,5] i32[2]=[4,4]; Tcomplex=c128"),
    3: ("f32[2,3,4] i32[3]=[2,3,4]",),
}
_HALF_EXAMPLES = {
    1: (
        "c64[3,5] i32[1]=[8]",
        "c128[5] i32[1]=[9]; Treal=f64",
        "c64[2,9] i32[1]=[4]",
    ),
    2: ("c64[2,6,3] i32[2]=[6,4]",),
    3: ("c64[2,3,3] i32[3]=[2,3,4]",),
}

for _rank in (1, 2, 3):
    _define(_rank)
