"""Products of matrices: MatMul, BatchMatMul and its later versions, SparseMatMul.

In: matrices, or stacks of them. Out: records that lower to MatMul. Invariant: f16 and bf16 products
are summed in f32, integer products wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, MatMul
from flowc.ir.op import Op, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder, conjugate
from flowc.ops.linalg.matrices import adjoint_array
from flowc.ops.math.elementwise import HALVES, widened

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value


def _inner(c: Inference, x: Dim, y: Dim) -> None:
    """Checks the two sizes that the product sums over."""
    shapes = f"In[0]: {shown_dims(c.dims(0))}, In[1]: {shown_dims(c.dims(1))}"
    c.equal(x, y, f"Matrix size-incompatible: {shapes}")


def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`x @ y` in the dtype of x; halves are summed in f32, integers wrap."""
    with np.errstate(all="ignore"):
        if x.dtype in HALVES:
            return np.matmul(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
        return np.matmul(x, y)


# -- MatMul


def infer_matmul(c: Inference, transpose_a: bool, transpose_b: bool) -> Dims:
    for i in (0, 1):
        if c.rank(i) != 2:
            raise c.fail(
                f"Shape must be rank 2 but is rank {c.rank(i)} for In[{i}]: {shown_dims(c.dims(i))}"
            )
    rows, inner = c.dims(0)[::-1] if transpose_a else c.dims(0)
    other, columns = c.dims(1)[::-1] if transpose_b else c.dims(1)
    _inner(c, inner, other)
    return rows, columns


def matmul_array(
    a: np.ndarray, b: np.ndarray, *, transpose_a: bool, transpose_b: bool
) -> np.ndarray:
    return multiply(a.T if transpose_a else a, b.T if transpose_b else b)


def _matmul_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, y = (conjugate(b, v) for v in node.inputs)
    across, down = node.attrs["transpose_a"], node.attrs["transpose_b"]
    if across:
        dx = b.mat_mul(y, dy, transpose_a=down, transpose_b=True)
    else:
        dx = b.mat_mul(dy, y, transpose_b=not down)
    if down:
        return dx, b.mat_mul(dy, x, transpose_a=True, transpose_b=across)
    return dx, b.mat_mul(x, dy, transpose_a=not across)


mat_mul = define(
    "mat_mul",
    "MatMul(a: T, b: T; transpose_a: bool = False, transpose_b: bool = False,"
    " T: {bf16, f16, f32, f64, i32, i64, u8, u16, u32, u64, c64, c128},"
    " grad_a: bool = False, grad_b: bool = False) -> product: T",
    infer=lambda c: infer_matmul(c, c.attrs["transpose_a"], c.attrs["transpose_b"]),
    lowering=lambda node: MatMul(node.attrs["transpose_a"], node.attrs["transpose_b"]),
    reference=matmul_array,
    gradient=_matmul_gradient,
    examples=(
        "T[2,3] T[3,4]",
        "T[3,17] T[3,5]; transpose_a=True",
        "T[1,7] T[9,7]; transpose_b=True",
        "T[3,2] T[5,3]; transpose_a=True, transpose_b=True",
        "T[2,0] T[0,3]",
        "T[0,2] T[2,3]",
    ),
)


# -- MatMul of matrices that stand side by side


def _infer_joined(c: Inference) -> Dims:
    *pieces, right = range(len(c.inputs))
    if any(c.rank(i) != 2 for i in (*pieces, right)):
        raise c.fail("pieces of a matrix, and what it is multiplied with, are matrices")
    rows, width = c.dims(0)
    for i in pieces[1:]:
        c.equal(rows, c.dims(i)[0])
        width = width + c.dims(i)[1]
    inner, columns = c.dims(right)[::-1] if c.attrs["transpose_b"] else c.dims(right)
    c.equal(width, inner, f"pieces of {width} columns do not fit {inner} rows")
    return rows, columns


joined_mat_mul = define(
    "joined_mat_mul",
    "_JoinedMatMul(pieces: N*T, right: T; transpose_b: bool = False, N: int >= 2,"
    " T: {f32, f64}) -> product: T",
    infer=_infer_joined,
    lowering=lambda node: MatMul(
        transpose_b=node.attrs["transpose_b"], pieces=len(node.inputs) - 1
    ),
    reference=lambda pieces, right, *, transpose_b: matmul_array(
        np.concatenate(pieces, 1), right, transpose_a=False, transpose_b=transpose_b
    ),
    examples=(
        "T[2,3] T[2,4] T[7,4]",
        "T[3,5] T[3,1] T[3,11] T[2,17]; transpose_b=True",
        "T[32,160] T[32,33] T[193,40]",
        "T[2,0] T[2,3] T[3,2]",
        "T[2,3] T[2,0] T[3,2]",
    ),
)


# -- SparseMatMul: its operands are dense; the attrs only hint that many elements are zero


def _build_sparse(b: Builder, node: Node) -> Value:
    x, y = (b.cast(v, DstT=dtypes.f32) for v in node.inputs)
    return b.mat_mul(
        x, y, transpose_a=node.attrs["transpose_a"], transpose_b=node.attrs["transpose_b"]
    )


def _sparse_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, y = node.inputs
    across, down = node.attrs["transpose_a"], node.attrs["transpose_b"]
    x_sparse, y_sparse = node.attrs["a_is_sparse"], node.attrs["b_is_sparse"]

    def product(u: Any, v: Any, like: Any, of_x: bool, u_across: bool, v_across: bool) -> Any:
        sparse = y_sparse if of_x else x_sparse
        hints = (False, sparse) if u is dy else (sparse, False)
        found = b.sparse_mat_mul(
            u, v, transpose_a=u_across, transpose_b=v_across,
            a_is_sparse=hints[0], b_is_sparse=hints[1],
        )  # fmt: skip
        return found if like.dtype is found.dtype else b.cast(found, DstT=like.dtype)

    if across:
        dx = product(y, dy, x, True, down, True)
    else:
        dx = product(dy, y, x, True, False, not down)
    if down:
        return dx, product(dy, x, y, False, True, across)
    return dx, product(x, dy, y, False, not across, False)


sparse_mat_mul = define(
    "sparse_mat_mul",
    "SparseMatMul(a: Ta, b: Tb; transpose_a: bool = False, transpose_b: bool = False,"
    " a_is_sparse: bool = False, b_is_sparse: bool = False, Ta: {f32, bf16} = f32,"
    " Tb: {f32, bf16} = f32) -> product: f32",
    infer=lambda c: infer_matmul(c, c.attrs["transpose_a"], c.attrs["transpose_b"]),
    lowering=Decompose(_build_sparse),
    reference=lambda a, b, *, transpose_a, transpose_b: matmul_array(
        widened(a), widened(b), transpose_a=transpose_a, transpose_b=transpose_b
    ),
    gradient=_sparse_gradient,
    examples=(
        "Ta[2,3] Tb[3,4]",
        "Ta[3,2] Tb[4,3]; transpose_a=True, transpose_b=True, a_is_sparse=True",
    ),
)


# -- BatchMatMul


def _infer_batch(c: Inference, broadcast: bool) -> Dims:
    for i in (0, 1):
        if c.rank(i) < 2:
            raise c.fail(f"In[{i}] ndims must be >= 2: {c.rank(i)}")
    x, y = c.dims(0), c.dims(1)
    if not broadcast and len(x) != len(y):
        raise c.fail(f"In[0] and In[1] has different ndims: {shown_dims(x)} vs. {shown_dims(y)}")
    rows, inner = (x[-1], x[-2]) if c.attrs["adj_x"] else (x[-2], x[-1])
    other, columns = (y[-1], y[-2]) if c.attrs["adj_y"] else (y[-2], y[-1])
    batch = _batch_dims(c, x, y, broadcast)
    _inner(c, inner, other)
    return (*batch, rows, columns)


def _batch_dims(c: Inference, x: Dims, y: Dims, broadcast: bool) -> Dims:
    for i, (a, b) in enumerate(zip(reversed(x[:-2]), reversed(y[:-2]))):
        known = isinstance(a, int) and isinstance(b, int) and a != b
        if known and broadcast and 1 not in (a, b):
            raise c.fail(
                "In[0] and In[1] must have compatible batch dimensions: "
                f"{shown_dims(x)} vs. {shown_dims(y)}"
            )
        if known and not broadcast:
            at = len(x) - 3 - i
            raise c.fail(
                f"In[0].dim({at}) and In[1].dim({at}) must be the same: "
                f"{shown_dims(x)} vs {shown_dims(y)}"
            )
    if broadcast:
        return c.broadcast_dims(x[:-2], y[:-2])
    return tuple(c.equal(a, b) for a, b in zip(x[:-2], y[:-2]))


def _lower_batch(node: Node) -> MatMul | Decompose:
    """Conjugation comes before the product, so an adjoint of complex numbers is taken apart."""
    if node.output.type.dtype.is_complex and (node.attrs["adj_x"] or node.attrs["adj_y"]):
        return Decompose(_build_adjoint)
    return MatMul(node.attrs["adj_x"], node.attrs["adj_y"])


def _build_adjoint(b: Builder, node: Node) -> Value:
    operands = []
    for value, adjoint in zip(node.inputs, (node.attrs["adj_x"], node.attrs["adj_y"])):
        if adjoint:
            rank = value.type.rank
            order = np.array([*range(rank - 2), rank - 1, rank - 2], np.int32)
            value = b.transpose(b.conj(value), order)
        operands.append(value)
    return b.batch_mat_mul(*operands)


def _batch_mat_mul(x: np.ndarray, y: np.ndarray, *, adj_x: bool, adj_y: bool) -> np.ndarray:
    return multiply(adjoint_array(x) if adj_x else x, adjoint_array(y) if adj_y else y)


def _batch_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, y = node.inputs
    return _batch_products(b, x, y, dy, node.attrs["adj_x"], node.attrs["adj_y"])


def _batch_products(
    b: GradientBuilder, x: Any, y: Any, dy: Any, adj_x: bool, adj_y: bool
) -> Sequence[Any]:
    """The gradients of x and y from that of their product."""
    if adj_x:
        dx = b.batch_mat_mul(y, dy, adj_x=adj_y, adj_y=True)
    else:
        dx = b.batch_mat_mul(dy, y, adj_y=not adj_y)
    if adj_y:
        dz = b.batch_mat_mul(dy, x, adj_x=True, adj_y=adj_x)
    else:
        dz = b.batch_mat_mul(x, dy, adj_x=not adj_x)
    return b.sum_to_shape_of(dx, x), b.sum_to_shape_of(dz, y)


_BATCH_EXAMPLES = (
    "T[2,2,3] T[2,3,4]",
    "T[3,2] T[3,5]; adj_x=True",
    "T[1,2,3,17] T[1,2,5,17]; adj_y=True",
    "T[2,3,2] T[2,4,3]; adj_x=True, adj_y=True",
    "T[2,2,0] T[2,0,3]",
    "T[0,2,3] T[0,3,1]",
)
_BROADCAST_EXAMPLES = (
    *_BATCH_EXAMPLES,
    "T[2,1,2,3] T[4,3,5]",
    "T[2,3] T[3,3,2]; adj_y=False",
)


def _define_batch(name: str, tf_name: str, types: str, broadcast: bool) -> Op:
    return define(
        name,
        f"{tf_name}(x: T, y: T; T: {types}, adj_x: bool = False, adj_y: bool = False,"
        " grad_x: bool = False, grad_y: bool = False) -> output: T",
        infer=lambda c: _infer_batch(c, broadcast),
        lowering=_lower_batch,
        reference=_batch_mat_mul,
        gradient=_batch_gradient,
        examples=_BROADCAST_EXAMPLES if broadcast else _BATCH_EXAMPLES,
    )


batch_mat_mul_v1 = _define_batch(
    "batch_mat_mul_v1", "BatchMatMul", "{bf16, f16, f32, f64, i32, i64, c64, c128}", False
)
batch_mat_mul = _define_batch(
    "batch_mat_mul",
    "BatchMatMulV2",
    "{bf16, f16, f32, f64, i16, i32, i64, u8, u16, u32, u64, c64, c128}",
    True,
)


def _build_mixed(b: Builder, node: Node) -> Value:
    dtype = node.attrs["Tout"]
    operands = [v if v.type.dtype is dtype else b.cast(v, DstT=dtype) for v in node.inputs]
    return b.batch_mat_mul(*operands, adj_x=node.attrs["adj_x"], adj_y=node.attrs["adj_y"])


def _batch_mat_mul_mixed(
    x: np.ndarray,
    y: np.ndarray,
    *,
    adj_x: bool,
    adj_y: bool,
    Tout: DType,
) -> np.ndarray:
    x, y = x.astype(Tout.numpy), y.astype(Tout.numpy)
    return _batch_mat_mul(x, y, adj_x=adj_x, adj_y=adj_y)


def _mixed_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """As for operands of one dtype, in that of the product; each gradient in its operand's."""
    x, y = (b.cast(v, DstT=dy.dtype) if v.dtype is not dy.dtype else v for v in node.inputs)
    found = _batch_products(b, x, y, dy, node.attrs["adj_x"], node.attrs["adj_y"])
    return [
        b.cast(g, DstT=v.dtype) if v.dtype is not dy.dtype else g
        for g, v in zip(found, node.inputs)
    ]


_MIXED = "{bf16, f16, f32, f64, u8, i8, i16, i32, i64, c64, c128}"
batch_mat_mul_mixed = define(
    "batch_mat_mul_mixed",
    f"BatchMatMulV3(x: Ta, y: Tb; Ta: {_MIXED}, Tb: {_MIXED},"
    " Tout: {bf16, f16, f32, f64, i16, i32, i64, c64, c128}, adj_x: bool = False,"
    " adj_y: bool = False, grad_x: bool = False, grad_y: bool = False) -> output: Tout",
    infer=lambda c: _infer_batch(c, True),
    lowering=Decompose(_build_mixed),
    reference=_batch_mat_mul_mixed,
    gradient=_mixed_gradient,
    examples=(
        "f32[2,1,2,3] f32[4,3,5]; Tout=f32",
        "i8[2,3] i8[3,4]; Tout=i32",
        "u8[2,3] i8[4,3]; Tout=i32, adj_y=True",
        "c64[3,2] c64[3,2]; Tout=c64, adj_x=True",
    ),
)
