"""Making complex numbers and taking them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.inference import Inference
from flowc.ir.lowering import Elementwise
from flowc.ir.op import Op, define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.math import complex_functions as cf
from flowc.ops.math.elementwise import Array, same_dims
from flowc.ops.sparse.matrices import conjugate_matrix

_SINGLES = ("c64[17]", "c128[2,3]; Tout=f64", "c64[]", "c64[0]")
_COMPLEX_OF = {dtypes.f32: dtypes.c64, dtypes.f64: dtypes.c128}


def _part_dims(c: Inference) -> Dims:
    if c.attrs["Tout"] is not c.inputs[0].dtype.real_dtype:
        raise c.fail(f"Tout must be {c.inputs[0].dtype.real_dtype}, found {c.attrs['Tout']}")
    return c.dims(0)


def _complex_dims(c: Inference) -> Dims:
    if c.attrs["Tout"] is not _COMPLEX_OF[c.inputs[0].dtype]:
        raise c.fail(f"Tout must be {_COMPLEX_OF[c.inputs[0].dtype]}")
    return c.broadcast()


def _join(real: Array, imag: Array, *, Tout: DType) -> Array:
    found = np.empty(np.broadcast_shapes(real.shape, imag.shape), Tout.numpy)
    found.real, found.imag = real, imag
    return found


def _parts_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    parts = b.real, b.imag
    return [b.sum_to_shape_of(f(dy, Tout=x.dtype), x) for f, x in zip(parts, node.inputs)]


complex_ = define(
    "complex",
    "Complex(real: T, imag: T; T: {f32, f64} = f32, Tout: COMPLEX = c64) -> out: Tout",
    infer=_complex_dims,
    lowering=Elementwise(lambda k, x, y: k.complex(x, y)),
    reference=_join,
    gradient=_parts_gradient,
    examples=("f32[2,3] f32[3]", "f64[4,1] f64[5]; Tout=c128", "f32[] f32[]", "f32[0] f32[1]"),
)


def _part(name: str, tf_name: str, expr: Any, reference: Any, gradient: Any) -> Op:
    return define(
        name,
        f"{tf_name}(input: T; T: COMPLEX = c64, Tout: {{f32, f64}} = f32) -> output: Tout",
        infer=_part_dims,
        lowering=Elementwise(expr),
        reference=lambda input: np.array(reference(input)),
        gradient=gradient,
        examples=_SINGLES,
    )


def _as_complex(b: GradientBuilder, node: Forward, real: Any, imag: Any) -> Any:
    return b.complex(real, imag, Tout=node.inputs[0].dtype)


def _angle_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """-dy / (y + ix) for z = x + iy."""
    z = node.inputs[0]
    swapped = b.complex(b.imag(z, Tout=dy.dtype), b.real(z, Tout=dy.dtype), Tout=z.dtype)
    return b.neg(b.mul(_as_complex(b, node, dy, 0), b.reciprocal(swapped)))


real = _part(
    "real", "Real", lambda k, z: k.real(z), np.real,
    lambda b, node, dy: _as_complex(b, node, dy, 0),
)  # fmt: skip
imag = _part(
    "imag", "Imag", lambda k, z: k.imag(z), np.imag,
    lambda b, node, dy: _as_complex(b, node, 0, dy),
)  # fmt: skip
angle = _part("angle", "Angle", cf.angle, np.angle, _angle_gradient)

complex_abs = define(
    "complex_abs",
    "ComplexAbs(x: T; T: COMPLEX = c64, Tout: {f32, f64} = f32) -> y: Tout",
    infer=_part_dims,
    lowering=Elementwise(cf.magnitude),
    reference=lambda x: np.asarray(np.abs(x)),
    gradient=lambda b, node, dy: b.mul(_as_complex(b, node, dy, 0), b.sign(node.inputs[0])),
    examples=_SINGLES,
)

conj = define(
    "conj",
    "Conj(input: T; T: {c64, c128, variant} = c64) -> output: T",
    infer=same_dims,
    lowering=Elementwise(cf.conjugate),
    reference=lambda input: np.asarray(np.conj(input)),
    gradient=lambda b, node, dy: b.conj(dy),
    traits=frozenset({"involution"}),
    examples=("c64[17]", "c128[17]", "c64[2,3]", "c128[]", "c64[0]"),
    on_lists=conjugate_matrix,
    on_variants=conjugate_matrix,
)
