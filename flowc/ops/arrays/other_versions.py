"""Small ops on arrays that others say as well: orders of data formats, rows written in place, old
gradients, truth of tensors.

In: what their OpDefs say. Out: records made of other ops. Invariant: TensorFlow writes "in place"
into what nobody else may hold; here the result is a new value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define, op_named
from flowc.ir.types import Dims

# -- data formats

FORMATS = 'T: INDEX = i32, src_format: string = "NHWC", dst_format: string = "NCHW"'


def _check_formats(c: Inference) -> None:
    source, target = c.attrs["src_format"], c.attrs["dst_format"]
    if sorted(source) != sorted(target):
        raise c.fail(f"src_format and dst_format must hold the same letters: {source}, {target}")


def _order(count: int, source: str, target: str) -> list[int]:
    """Where each element of a vector comes from; one of sizes alone has no N and no C."""
    if count == len(source) - 2:
        source, target = (text.replace("N", "").replace("C", "") for text in (source, target))
    return [source.index(letter) for letter in target]


def _infer_permute(c: Inference) -> Dims:
    _check_formats(c)
    if c.rank(0) not in (1, 2):
        raise c.fail(f"input must be a vector or 2D tensor, but got shape {list(c.dims(0))}")
    count, letters = c.dims(0)[0], len(c.attrs["src_format"])
    if isinstance(count, int) and count not in (letters, letters - 2):
        raise c.fail(f"1D input must be of size {letters - 2} or {letters}, but got {count}")
    return c.dims(0)


def _build_permute(b: Builder, node: Node) -> Value:
    x = node.inputs[0]
    count = x.dims[0] if isinstance(x.dims[0], int) else len(node.attrs["src_format"])
    order = _order(count, node.attrs["src_format"], node.attrs["dst_format"])
    return b.gather(x, b.const(np.array(order, np.int32)), np.int32(0))


define(
    "data_format_vec_permute",
    f"DataFormatVecPermute(x: T; {FORMATS}) -> y: T",
    infer=_infer_permute,
    lowering=Decompose(_build_permute),
    reference=lambda x, *, src_format, dst_format: x[_order(len(x), src_format, dst_format)],
    examples=(
        "T[4]",
        "i32[4,2]",
        "i32[2]",
        'i32[5]; src_format="NDHWC", dst_format="NCDHW"',
        'i32[4]; src_format="HWNC", dst_format="NHWC"',
    ),
)


def _places(source: str, target: str) -> np.ndarray:
    return np.array([target.index(letter) for letter in source])


def _infer_map(c: Inference) -> Dims:
    _check_formats(c)
    return c.dims(0)


def _build_map(b: Builder, node: Node) -> Value:
    x = node.inputs[0]
    kind = x.type.dtype
    table = _places(node.attrs["src_format"], node.attrs["dst_format"]).astype(kind.numpy)
    count = b.const(len(table), kind)
    place = b.select_v2(b.less(x, b.const(0, kind)), b.add(x, count), x)
    return b.gather(b.const(table), place, np.int32(0))


def _mapped(x: np.ndarray, *, src_format: str, dst_format: str) -> np.ndarray:
    count = len(src_format)
    wrong = x[(x < -count) | (x >= count)]
    if wrong.size:
        raise InvalidArgumentError(f"a dim of {src_format} is from {-count} to {count - 1}, "
                                   f"found {wrong.flat[0]}")  # fmt: skip
    return _places(src_format, dst_format)[x].astype(x.dtype)


define(
    "data_format_dim_map",
    f"DataFormatDimMap(x: T; {FORMATS}) -> y: T",
    infer=_infer_map,
    lowering=Decompose(_build_map),
    reference=_mapped,
    examples=(
        "T[3]=[0,3,-1]",
        "i32[]=1",
        'i32[2,2]=[[4,3],[-5,0]]; src_format="NDHWC", dst_format="NCDHW"',
    ),
)


# -- rows written in place, at places modulo their number


def _infer_in_place(c: Inference) -> Dims:
    if c.op.name == "in_place_sub":
        c.refuse(0, dtypes.bool_)
    if c.rank(1) != 1:
        raise c.fail(f"i must be a vector. {list(c.dims(1))}")
    c.match_dims((*c.dims(1), *c.dims(0)[1:]), c.dims(2), "v must be rows of x, one for each of i")
    return c.dims(0)


def _build_in_place(change: str) -> Callable[[Builder, Node], Value]:
    def build(b: Builder, node: Node) -> Value:
        x, places, rows = node.inputs
        count = b.maximum(b.sizes(x.dims[:1]), np.int32(1))
        own = b.expand_dims(b.floor_mod(places, count), np.int32(-1))
        return getattr(b, f"tensor_scatter_{change}")(x, own, rows, bad_indices_policy="IGNORE")

    return build


def _in_place(change: str) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, places: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = x.copy()
        with np.errstate(all="ignore"):
            for place, row in zip(places % len(found) if len(found) else (), rows):
                if change == "update":
                    found[place] = row
                else:
                    found[place] = found[place] + row if change == "add" else found[place] - row
        return found

    return reference


for _word, _change in (("Update", "update"), ("Add", "add"), ("Sub", "sub")):
    define(
        f"in_place_{_change}",
        f"Inplace{_word}(x: T, i: i32, v: T; T: type) -> y: T",
        infer=_infer_in_place,
        lowering=Decompose(_build_in_place(_change)),
        reference=_in_place(_change),
        examples=("f32[4,3] i32[2]=[2,0] f32[2,3]", "i32[4,3] i32[1]=[1] i32[1,3]"),
    )


# -- additions at places that do not meet


def _build_add(b: Builder, node: Node) -> Value:
    return b.tensor_scatter_add(*node.inputs, **node.attrs)


def _scattered(*arrays: np.ndarray, bad_indices_policy: str) -> Any:
    op = op_named("tensor_scatter_add")
    assert op.reference is not None
    return op.reference(*arrays, bad_indices_policy=bad_indices_policy)


define(
    "scatter_nd_non_aliasing_add",
    "ScatterNdNonAliasingAdd(input: T, indices: Tindices, updates: T; T: {f32, f64, i32, u8, i16,"
    " i8, c64, i64, qi8, qu8, qi32, bf16, qi16, qu16, u16, c128, f16, u32, u64, bool}, Tindices:"
    ' INDEX, bad_indices_policy: string = "") -> output: T',
    infer=lambda c: op_named("tensor_scatter_add").infer(c),
    lowering=Decompose(_build_add),
    reference=_scattered,
    gradient=lambda b, node, dy: (
        dy,
        None,
        b.gather_nd(dy, node.inputs[1], bad_indices_policy=node.attrs["bad_indices_policy"]),
    ),
    examples=("T[5] Tindices[3,1]=[[4],[0],[2]] T[3]", "f32[3,2] i32[2,1]=[[2],[0]] f32[2,2]"),
)


# -- truth, bands, sums over copies


def _build_truth(b: Builder, node: Node) -> Value:
    x = node.inputs[0]
    if x.type.rank:
        return b.greater(b.size(x, out_type=dtypes.i64), b.const(0, dtypes.i64))
    if x.type.dtype is dtypes.bool_:
        return b.identity(x)
    return b.not_equal(x, b.const(0, x.type.dtype))


define(
    "to_bool",
    "ToBool(input: T; T: type) -> output: bool",
    infer=lambda c: (),
    lowering=Decompose(_build_truth),
    reference=lambda x: np.asarray(bool(x.size) if x.ndim else bool(x)),
    examples=("f32[]=0.5", "i32[]=0", "f32[3]=[0,0,0]", "bool[]=True", "f32[0]"),
)
define(
    "batch_matrix_band_part",
    "BatchMatrixBandPart(input: T, num_lower: i64, num_upper: i64; T: type) -> band: T",
    infer=lambda c: op_named("matrix_band_part").infer(c),
    lowering=Decompose(lambda b, node: b.matrix_band_part(*node.inputs)),
    reference=lambda x, low, high: _band(x, low, high),
    examples=("f32[2,3,4] i64[]=1 i64[]=0",),
)


def _band(*arrays: np.ndarray) -> Any:
    op = op_named("matrix_band_part")
    assert op.reference is not None
    return op.reference(*arrays)


# -- segments with a number of them that is given


def _segments(fold: str) -> Callable[..., Any]:
    def reference(*arrays: np.ndarray) -> Any:
        op = op_named(f"unsorted_segment_{fold}")
        assert op.reference is not None
        return op.reference(*arrays)

    return reference


def _infer_segments(fold: str) -> Callable[[Inference], Any]:
    return lambda c: op_named(f"unsorted_segment_{fold}").infer(c)


def _build_segments(fold: str) -> Callable[[Builder, Node], Value]:
    return lambda b, node: getattr(b, f"unsorted_segment_{fold}")(*node.inputs)


_NUMBERS = (
    "{f32, f64, i32, u8, i16, i8, c64, i64, qi8, qu8, qi32, bf16, qi16, qu16, u16, c128, f16, u32,"
    " u64}"
)
_ORDERED = "{f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}"
for _word, _types in (
    ("Sum", _NUMBERS), ("Prod", _NUMBERS), ("Min", _ORDERED), ("Max", _ORDERED)
):  # fmt: skip
    define(
        f"segment_{_word.lower()}_v2",
        f"Segment{_word}V2(data: T, segment_ids: Tindices, num_segments: Tnumsegments; T: {_types},"
        " Tindices: INDEX, Tnumsegments: INDEX = i32) -> output: T",
        infer=_infer_segments(_word.lower()),
        lowering=Decompose(_build_segments(_word.lower())),
        reference=_segments(_word.lower()),
        examples=("f32[4,2] i32[4]=[0,0,1,2] i32[]=3",),
    )
