"""Ops on diagonals of matrices: taken out, put in, and a matrix made of them.

In: matrices, or diagonals packed as rows. Out: the other form. Invariant: views only; a position
outside every asked-for diagonal holds the padding or the original element.

Diagonal d of a matrix holds the elements with column - row == d. Packed, diagonal `high - m` is row
m; rows shorter than the longest are aligned left or right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.ir.computation import Node
from flowc.ir.dims import Dim, maximum, minimum
from flowc.ir.inference import Inference
from flowc.ir.lowering import Lowering, View
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.shapes import constant_ints
from flowc.ops.gradients import Forward, GradientBuilder

_ALIGN = '{"LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"} = "RIGHT_LEFT"'
_MAIN = np.zeros(1, np.int32)  # the main diagonal


@dataclass(frozen=True, slots=True)
class Band:
    """Diagonals `low` to `high` of a matrix, packed rows aligned as `align` says (superdiagonals
    first)."""

    low: int
    high: int
    align: str
    rows: Dim
    columns: Dim

    @property
    def count(self) -> int:
        return self.high - self.low + 1

    @property
    def length(self) -> Dim:
        """Elements of the longest diagonal."""
        return minimum(self.rows + min(self.high, 0), self.columns - max(self.low, 0))

    def length_of(self, d: Dim) -> Dim:
        return minimum(self.rows + minimum(d, 0), self.columns - maximum(d, 0))

    def offset_of(self, d: Dim) -> Dim:
        """Where diagonal d begins in its packed row."""
        above, below = (side == "RIGHT" for side in self.align.split("_"))
        gap = self.length - self.length_of(d)
        pushed: Dim = 0
        if above:
            pushed = pushed + minimum(maximum(d, 0), 1)
        if below:
            pushed = pushed + minimum(maximum(0 - d, 0), 1)
        return pushed * gap


def as_int(size: Dim) -> int:
    """A size of an array at hand, which is always known."""
    assert isinstance(size, int)
    return size


def _band(k: np.ndarray, align: str, rows: Dim, columns: Dim) -> Band:
    ints = k.reshape(-1)
    return Band(int(ints[0]), int(ints[-1]), align, rows, columns)


def _band_of(node: Node, operand: int, rows: Dim, columns: Dim) -> Band:
    """The band that an operand tells: the main diagonal where there is none."""
    ints = constant_ints(node, operand) if len(node.inputs) > operand else (0,)
    return Band(ints[0], ints[-1], node.attrs.get("align", "LEFT_LEFT"), rows, columns)


def _diagonals(c: Inference, operand: int) -> tuple[int, int]:
    """The lowest and the highest: the main diagonal where no operand tells them."""
    if len(c.inputs) <= operand:
        return 0, 0
    found = c.need_ints(operand)
    if len(found) not in (1, 2):
        raise c.fail(f"diag_index must have only one or two elements, received {len(found)}.")
    if found[0] > found[-1]:
        raise c.fail(
            f"lower_diag_index must not be larger than upper_diag_index: {found[0]} > {found[-1]}"
        )
    return found[0], found[-1]


def _check_band(c: Inference, band: Band) -> None:
    if not (isinstance(band.rows, int) and isinstance(band.columns, int)):
        return
    for name, d in (("lower", band.low), ("upper", band.high)):
        if d != 0 and not -band.rows < d < band.columns:
            raise c.fail(
                f"{name}_diag_index is out of bound: {d} It must be between "
                f"{-band.rows} and {band.columns}"
            )


# -- diagonals out of a matrix


def _infer_part(c: Inference, operand: int = 1) -> Dims:
    dims = c.dims(0)
    if len(dims) < 2:
        fault = f"input must be at least 2-dim, received shape: {shown_dims(dims)}"
        raise c.fail(fault, built=f"Shape must be at least rank 2 but is rank {len(dims)}")
    if operand == 1 and len(c.inputs) > 2:
        c.need_rank(2, 0, f"padding_value must be a scalar, not {c.inputs[2]}")
    band = Band(*_diagonals(c, operand), "LEFT_LEFT", dims[-2], dims[-1])
    _check_band(c, band)
    rows = () if band.count == 1 else (band.count,)
    return (*dims[:-2], *rows, band.length)


def _lower_part(node: Node) -> Lowering:
    dims = node.inputs[0].dims
    band = _band_of(node, 1, dims[-2], dims[-1])
    batch = len(dims) - 2

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        d = band.high - (index[batch] if band.count > 1 else 0)
        at = index[-1] - band.offset_of(d)
        place = (*index[:batch], at + maximum(0 - d, 0), at + maximum(d, 0))
        if band.count == 1:
            return k.load(0, place)
        inside = k.in_range(at, 0, band.length_of(d))
        return k.load_if(inside, 0, place, k.load(2, ()))

    return View(read)


def _part(
    x: np.ndarray, k: np.ndarray = _MAIN, padding: Any = 0, align: str = "LEFT_LEFT"
) -> np.ndarray:
    band = _band(k, align, *x.shape[-2:])
    result = np.full((*x.shape[:-2], band.count, as_int(band.length)), padding, x.dtype)
    for m in range(band.count):
        d = band.high - m
        row = np.diagonal(x, d, -2, -1)
        start = as_int(band.offset_of(d))
        result[..., m, start : start + row.shape[-1]] = row
    return result[..., 0, :] if band.count == 1 else result


# -- a matrix out of diagonals


def _matrix_sizes(
    length: Dim, low: int, high: int, rows: Dim, columns: Dim
) -> tuple[tuple[Dim, Dim], tuple[Dim, Dim]]:
    """The least rows and columns that hold the diagonals, and those of the matrix; -1 asks for
    what fits."""
    least = (length - min(high, 0), length + max(low, 0))
    if rows == -1 and columns == -1:
        rows = columns = maximum(*least)
    return least, (least[0] if rows == -1 else rows, least[1] if columns == -1 else columns)


def need_numbers(c: Inference) -> None:
    """Raises `ShapeError` for strings, for which there is no zero beside the diagonal."""
    if c.inputs[0].dtype is dtypes.string:
        raise c.fail(
            f"No OpKernel was registered to support Op '{c.op.tf_name}' with these attrs: "
            "[T=DT_STRING]"
        )


def _infer_diag(c: Inference) -> Dims:
    dims = c.dims(0)
    if not dims:
        raise c.fail("diagonal must be at least 1-dim, received shape: []")
    if len(c.inputs) == 1:
        need_numbers(c)
        return (*dims, dims[-1])
    c.need_rank(4, 0, f"padding_value must be a scalar, not {c.inputs[4]}")
    low, high = _diagonals(c, 1)
    batch = dims[:-1] if low == high else dims[:-2]
    if low != high:
        fault = (
            "The number of diagonals provided in the input does not match the "
            "lower_diag_index and upper_diag_index range."
        )
        count = c.dims(0)[-2] if c.rank(0) > 1 else 0
        if isinstance(count, int) and count != high - low + 1:
            raise c.fail(fault)
        c.equal(count, high - low + 1, fault)
    asked = (c.need_size(i) for i in (2, 3))
    least, (rows, columns) = _matrix_sizes(dims[-1], low, high, *asked)
    for name, size, wanted in (("rows", rows, least[0]), ("columns", columns, least[1])):
        fault = f"The number of {name} is too small."
        if isinstance(size, int) and isinstance(wanted, int) and size < wanted:
            raise c.fail(fault)
        c.equal(size, maximum(size, wanted), fault)
    fault = "The number of rows or columns is not consistent with the specified d_lower"
    excess = (rows - least[0]) * (columns - least[1])  # one of them has the band's own size
    if isinstance(excess, int) and excess:
        raise c.fail(fault)
    c.equal(excess, 0, fault)
    return (*batch, rows, columns)


def _lower_diag(node: Node) -> Lowering:
    rows, columns = node.output.dims[-2:]
    band = _band_of(node, 1, rows, columns)

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        padding = k.load(4, ()) if len(node.inputs) > 1 else k.const(0, node.output.type.dtype)
        return _read_band(k, 0, band, index, padding)

    return View(read)


def _read_band(k: Any, operand: int, band: Band, index: tuple[Dim, ...], otherwise: Any) -> Any:
    """The element at [..., row, column]: of the packed diagonals inside the band."""
    row, column = index[-2:]
    d = column - row
    inside = k.in_range(d, band.low, band.high + 1)
    at = minimum(row, column)
    if band.count == 1:
        return k.load_if(inside, operand, (*index[:-2], at), otherwise)
    place = (*index[:-2], band.high - d, at + band.offset_of(d))
    return k.load_if(inside, operand, place, otherwise)


def _write_band(matrix: np.ndarray, diagonal: np.ndarray, band: Band) -> np.ndarray:
    packed = diagonal[..., None, :] if band.count == 1 else diagonal
    for m in range(band.count):
        d = band.high - m
        size, start = as_int(band.length_of(d)), as_int(band.offset_of(d))
        places = np.arange(size)
        matrix[..., places + max(-d, 0), places + max(d, 0)] = packed[..., m, start : start + size]
    return matrix


def _diag(
    diagonal: np.ndarray,
    k: np.ndarray = _MAIN,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "LEFT_LEFT",
) -> np.ndarray:
    asked = (int(num_rows), int(num_cols))
    low, high = int(k.reshape(-1)[0]), int(k.reshape(-1)[-1])
    _, (rows, columns) = _matrix_sizes(diagonal.shape[-1], low, high, *asked)
    batch = diagonal.shape[: -1 if low == high else -2]
    matrix = np.empty((*batch, as_int(rows), as_int(columns)), diagonal.dtype)
    matrix[...] = padding_value
    return _write_band(matrix, diagonal, Band(low, high, align, rows, columns))


# -- diagonals into a matrix


def _infer_set(c: Inference) -> Dims:
    dims, diagonal, wanted = c.dims(0), c.dims(1), _infer_part(c, 2)
    if not diagonal:
        raise c.fail("diagonal must be at least 1-dim, received shape: []")
    c.match_dims(
        wanted,
        diagonal,
        "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] "
        "is not equal to the longests diagonal in range [lower_diag_index:upper_diag_index].\n"
        f"Input shape: {shown_dims(dims)}\nDiagonal shape: {shown_dims(diagonal)}\n"
        f"Expected diagonal shape: {shown_dims(wanted)}",
    )
    return dims


def _lower_set(node: Node) -> Lowering:
    band = _band_of(node, 2, *node.output.dims[-2:])
    return View(lambda k, index: _read_band(k, 1, band, index, k.load(0, index)))


def _set(
    x: np.ndarray, diagonal: np.ndarray, k: np.ndarray = _MAIN, align: str = "LEFT_LEFT"
) -> np.ndarray:
    return _write_band(x.copy(), diagonal, _band(k, align, *x.shape[-2:]))


# -- records


def _versions(
    name: str,
    tf_name: str,
    inputs: str,
    options: str,
    output: str,
    *examples: tuple[str, ...],
    reference: Callable[..., np.ndarray],
    infer: Callable[[Inference], Dims],
    lowering: Callable[[Node], Lowering],
    gradient: Callable[..., Any] | None = None,
) -> None:
    """The first record of an op is of the main diagonal; V2 is told which; V3 aligns them, too."""
    define(
        f"{name}_v1",
        f"{tf_name}({inputs}; T: type) -> {output}: T",
        infer=infer,
        reference=reference,
        lowering=lowering,
        gradient=gradient,
        examples=examples[0],
        aliases=(f"Batch{tf_name}",),
    )
    define(
        f"{name}_v2",
        f"{tf_name}V2({inputs}, {options}; T: type) -> {output}: T",
        infer=infer,
        reference=reference,
        lowering=lowering,
        gradient=gradient,
        examples=examples[1],
    )
    define(
        name,
        f"{tf_name}V3({inputs}, {options}; T: type, align: {_ALIGN}) -> {output}: T",
        infer=infer,
        reference=lambda *arrays, align: reference(*arrays, align),
        lowering=lowering,
        gradient=gradient,
        examples=examples[2],
    )


def _version(node: Forward) -> str:
    return next((v for v in ("_v1", "_v2") if node.op.name.endswith(v)), "")


def _part_of(b: GradientBuilder, node: Forward, x: Any, k: Sequence[Any]) -> Any:
    """The diagonals of `x` that an op of this file is about, read by an op of its version."""
    padding = [b.const(0, x.dtype) for _ in k]
    return b.with_attrs_of(node, f"matrix_diag_part{_version(node)}", x, *k, *padding)


def _with_diagonal(
    b: GradientBuilder, node: Forward, x: Any, diagonal: Any, k: Sequence[Any]
) -> Any:
    return b.with_attrs_of(node, f"matrix_set_diag{_version(node)}", x, diagonal, *k)


_versions(
    "matrix_diag",
    "MatrixDiag",
    "diagonal: T",
    "k: i32, num_rows: i32, num_cols: i32, padding_value: T",
    "output",
    ("T[3]", "f32[2,3]"),
    (
        "T[3] i32[]=0 i32[]=-1 i32[]=-1 T[]",
        "f32[2,3] i32[2]=[-1,0] i32[]=3 i32[]=4 f32[]",
    ),
    (
        "T[3] i32[]=-1 i32[]=-1 i32[]=-1 T[]",
        "f32[2,4,3] i32[2]=[-2,1] i32[]=4 i32[]=-1 f32[]",
        'f32[3,3] i32[2]=[-1,1] i32[]=3 i32[]=3 f32[]; align="LEFT_RIGHT"',
        'f32[3,3] i32[2]=[-1,1] i32[]=3 i32[]=3 f32[]; align="RIGHT_RIGHT"',
    ),
    infer=_infer_diag,
    reference=_diag,
    lowering=_lower_diag,
    gradient=lambda b, node, dy: _part_of(b, node, dy, node.inputs[1:2]),
)

_versions(
    "matrix_diag_part",
    "MatrixDiagPart",
    "input: T",
    "k: i32, padding_value: T",
    "diagonal",
    ("T[3,2]", "f32[2,3,4]"),
    ("T[3,4] i32[]=1 T[]", "f32[2,3,4] i32[2]=[-1,2] f32[]"),
    (
        "T[3,4] i32[]=-1 T[]",
        "f32[2,3,4] i32[2]=[-1,2] f32[]",
        'f32[4,3] i32[2]=[-3,1] f32[]; align="LEFT_RIGHT"',
        'f32[4,3] i32[2]=[-3,1] f32[]; align="RIGHT_RIGHT"',
    ),
    infer=_infer_part,
    reference=_part,
    lowering=_lower_part,
    gradient=lambda b, node, dy: _with_diagonal(
        b, node, b.zeros_like(node.inputs[0]), dy, node.inputs[1:2]
    ),
)


def _set_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    k = node.inputs[2:]
    part = _part_of(b, node, dy, k)
    return _with_diagonal(b, node, dy, b.zeros_like(part), k), part


_versions(
    "matrix_set_diag",
    "MatrixSetDiag",
    "input: T, diagonal: T",
    "k: i32",
    "output",
    ("T[3,2] T[2]", "f32[2,3,4] f32[2,3]"),
    ("T[3,4] T[3] i32[]=1", "f32[3,3] f32[2,3] i32[2]=[-1,0]"),
    (
        "T[3,4] T[3] i32[]=0",
        "f32[2,3,4] f32[2,3,3] i32[2]=[-1,1]",
        'f32[3,3] f32[3,3] i32[2]=[-1,1]; align="LEFT_LEFT"',
    ),
    infer=_infer_set,
    reference=_set,
    lowering=_lower_set,
    gradient=_set_gradient,
)
