"""Ops that change parts of variables: rows, places and boxes of them.

In: a variable, where in it, and values. Out: its new contents. Invariants: updates are applied one
after another in row-major order of the indices; an index outside the variable ends the run with
InvalidArgumentError; contents that nobody else reads are changed where they lie.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, product
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.indexing import ignores_bad_indices
from flowc.ops.math.elementwise import same_dims
from flowc.ops.state.variables import (
    Emit,
    define_change,
    refuse,
    require_same,
    value_of,
    variable_of,
)

# -- the ops of TensorFlow


_NO_NUMBERS = (dtypes.bool_, dtypes.string)
_NO_ORDER = (*_NO_NUMBERS, *dtypes.COMPLEX)
_WITHOUT_KERNEL = {
    **dict.fromkeys(("add", "sub", "mul", "div"), _NO_NUMBERS),
    **dict.fromkeys(("min", "max"), _NO_ORDER),
}


def _emit_rows(combine: str) -> Emit:
    """Rows of a variable; `updates` may be one scalar for all of them."""

    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        variable = variable_of(x, inputs[0])
        held, indices = value_of(x, variable), value_of(x, inputs[1])
        updates = value_of(x, inputs[2])
        refuse(x, held, *_WITHOUT_KERNEL.get(combine, ()))
        wanted = (*indices.dims, *held.dims[1:])
        if updates.type.rank == 0 and wanted:
            updates = x.b.broadcast_to(updates, wanted)
        text = (
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got"
            f" updates.shape {{given}}, indices.shape {shown_dims(indices.dims)},"
            f" params.shape {shown_dims(held.dims)}"
        )
        require_same(x, wanted, updates.dims, text)
        if updates.type.dtype is not held.type.dtype:  # a session holds quantized elements plainly
            updates = x.b.bitcast(updates, type=held.type.dtype)
        places = x.b.reshape(indices, (*indices.dims, 1))
        x.replace(
            variable, x.b.change_slices(held, places, updates, combine=combine, depth=1, rows=True)
        )
        return [inputs[0]]

    return emit


def _emit_slices(combine: str) -> Emit:
    """Slices of a variable that the last dimension of the indices names."""

    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        variable = variable_of(x, inputs[0])
        held, indices = value_of(x, variable), value_of(x, inputs[1])
        updates = value_of(x, inputs[2])
        depth = indices.dims[-1] if indices.dims else None
        if not isinstance(depth, int):
            raise InvalidArgumentError(
                f"node '{x.name}': indices must be at least a vector, with a known last dimension,"
                f" found {shown_dims(indices.dims)}"
            )
        if depth == 0:  # every update is one of the whole
            changed = _whole(x, held, updates, combine)
        else:
            ignores = ignores_bad_indices(attrs)
            changed = x.b.change_slices(
                held, indices, updates, combine=combine, depth=depth, ignores=ignores
            )
        x.replace(variable, changed)
        return [inputs[0]]

    return emit


def _whole(x: Extractor, held: Value, updates: Value, combine: str) -> Value:
    """The variable as one row of itself."""
    rows = x.b.reshape(held, (1, *held.dims))
    count = updates.dims[: updates.type.rank - held.type.rank]
    places = x.b.fill((*count, 1), np.int32(0))
    changed = x.b.change_slices(rows, places, updates, combine=combine, depth=1)
    return x.b.reshape(changed, held.dims)


def _infer_rows(c: Inference) -> Dims:
    held, indices, updates = c.dims(0), c.dims(1), c.dims(2)
    if not held:
        raise c.fail("a scalar has no rows", built="Shape must be at least rank 1 but is rank 0")
    if updates:
        fault = "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = []"
        c.match_dims(updates, (*indices, *held[1:]), fault)
    return held


def _define(kind: str, combine: str, ref_types: str, resource_types: str, nd: str) -> None:
    """The op on a reference and the one on a handle."""
    emit = _emit_slices(combine) if nd else _emit_rows(combine)
    infer = same_dims if nd else _infer_rows
    locking = combine == "update"
    policy = ', bad_indices_policy: string = ""' if nd else ""
    name = f"scatter{'_nd' if nd else ''}_{combine}"
    define_change(
        f"{name}_variable",
        f"Scatter{nd}{kind}(ref: ref(T), indices: Tindices, updates: T; T: {ref_types},"
        f" Tindices: {{i32, i64}}, use_locking: bool = {locking}{policy})"
        " -> output_ref: ref(T)",
        emit,
        infer,
    )
    attrs = (
        f"T: type, Tindices: {{i32, i64}}, use_locking: bool = True{policy}"
        if nd
        else f"dtype: {resource_types}, Tindices: {{i32, i64}}"
    )
    handle, dtype = ("ref", "T") if nd else ("resource", "dtype")
    define_change(
        f"resource_{name}",
        f"ResourceScatter{nd}{kind}({handle}: resource, indices: Tindices, updates: {dtype};"
        f" {attrs})",
        emit,
        infer,
    )


_EXTREMUM_TYPES = "{f16, bf16, f32, f64, i32, i64}"
for _kind in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    _extremum = _kind in ("Min", "Max")
    _ref_types = "type" if _kind == "Update" else _EXTREMUM_TYPES if _extremum else "NUMBER"
    _define(_kind, _kind.lower(), _ref_types, "type" if _kind == "Update" else "NUMBER", "")
for _kind in ("Update", "Add", "Sub", "Min", "Max"):
    _define(_kind, _kind.lower(), "type" if _kind == "Update" else "NUMBER", "type", "Nd")


# -- boxes


def _emit_box(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """The elements that a strided_slice would read: it is asked where they are."""
    variable = variable_of(x, inputs[0])
    held, value = value_of(x, variable), value_of(x, inputs[4])
    bounds = [value_of(x, bound) for bound in inputs[1:4]]
    masks = {name: m for name, m in attrs.items() if name.endswith("_mask")}
    total = product(held.dims)
    places = x.b.reshape(_numbers(x, total), held.dims)
    wanted = x.b.strided_slice(places, *bounds, **masks)
    text = "Shapes do not match: the slice has {held} and the value {given}"
    require_same(x, wanted.dims, value.dims, text)
    count = product(wanted.dims)
    changed = x.b.change_slices(
        x.b.reshape(held, (total,)),
        x.b.reshape(wanted, (count, 1)),
        x.b.reshape(value, (count,)),
        combine="update",
        depth=1,
    )
    x.replace(variable, x.b.reshape(changed, held.dims))
    return [inputs[0]]


def _numbers(x: Extractor, total: Dim) -> Value:
    """0, 1, ... below the total."""
    stop = x.b.scalar_size(total, dtypes.i64)
    return x.b.range(x.b.const(np.int64(0)), stop, x.b.const(np.int64(1)))


_BOX = (
    "begin: Index, end: Index, strides: Index, value: T; T: type, Index: {i32, i64},"
    " begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0,"
    " shrink_axis_mask: int = 0)"
)

strided_slice_assign = define_change(
    "strided_slice_assign",
    f"StridedSliceAssign(ref: ref(T), {_BOX} -> output_ref: ref(T)",
    _emit_box,
)
resource_strided_slice_assign = define_change(
    "resource_strided_slice_assign", f"ResourceStridedSliceAssign(ref: resource, {_BOX}", _emit_box
)
