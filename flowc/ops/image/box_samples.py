"""SampleDistortedBoundingBox: a random part of an image that shows enough of an object.

In: the size of an image [height, width, channels], boxes of objects [..., 4] in parts of it, how
much of one must be seen. Out: where the part begins, its size (-1: all channels), and the same as a
box [1, 1, 4]. Invariant: for equal seeds the parts are TensorFlow's, run by run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Extracted, Native
from flowc.ir.op import Attrs, define
from flowc.ir.types import Dims
from flowc.ops.kernels.image import box_samples as kernels
from flowc.ops.random.candidates import words_of
from flowc.ops.random.stateful import drawing
from flowc.ops.random.stateless import need_dims, stateless_random_get_key_counter
from flowc.ops.state.variables import STATE, value_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node

Array = np.ndarray[Any, Any]
f32 = np.float32
FAULTS = (
    "Min object covered must be non-negative",
    "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you "
    "wish to not provide any bounding boxes.",
    "All bounding box coordinates must be in [0.0, 1.0] (box {a})",
    "image_size must be of numbers from 0 to 1000000000, found [{a}, {b}]",
)
_RANGES = (("aspect_ratio_range", "Aspect ratio"), ("area_range", "Area"))
_SETTINGS = ("aspect_ratio_range", "area_range", "max_attempts", "use_image_if_no_bounding_boxes")
_ALMOST = 1e-7  # less than half a pixel, where a size would be rounded up


def _infer(c: Inference) -> list[Dims]:
    if c.rank(0) != 1:
        raise c.fail(f"image_size must be 1-dimensional: rank {c.rank(0)}")
    c.equal(c.dims(0)[0], 3, f"image_size must contain 3 elements [{c.dims(0)[0]}]")
    if c.rank(1) != 3:
        raise c.fail(f"input boxes must be 3-dimensional: rank {c.rank(1)}")
    c.equal(c.dims(1)[2], 4, "bounding boxes must have shape [batch, boxes, 4]")
    if len(c.inputs) > 2:
        c.need_rank(2, 0, f"min_object_covered must be 0-D, found rank {c.rank(2)}")
    for name, shown in _RANGES:
        found = c.attrs[name]
        if len(found) != 2:
            raise c.fail(f"{shown} range field must specify 2 dimensions")
        is_shape = name == "aspect_ratio_range"
        if min(found) < 0 or (is_shape and min(found) == 0):
            raise c.fail(f"{shown} range must be non-negative: {list(found)}")
    if c.attrs["max_attempts"] <= 0:
        raise c.fail(f"Max attempts must be non-negative: {c.attrs['max_attempts']}")
    return [(3,), (3,), (1, 1, 4)]


# -- a part, of a key and a counter


def _lower(node: Node) -> Native:
    first, last = (f32(x) for x in node.attrs["aspect_ratio_range"])
    least, most = (f32(x) for x in node.attrs["area_range"])
    boxes = node.inputs[3].dims
    return Native(
        kernels.sample_box,
        arguments=(
            boxes[0] * boxes[1],
            node.attrs["max_attempts"],
            int(node.attrs["use_image_if_no_bounding_boxes"]),
        ),
        errors=FAULTS,
        constants={
            "ASPECT_FIRST": first,
            "ASPECT_SPAN": last - first,
            "LEAST": least,
            "MOST": most,
            "NARROWER": _ALMOST,
            "UNIT": kernels.UNIT,
            "LARGEST": kernels.LARGEST,
        },
    )


class _Words:
    """The words of a key and a counter as floats and as numbers below a limit."""

    def __init__(self, key: Array, counter: Array) -> None:
        self._words = words_of(key, counter)

    def share(self) -> np.float32:
        return f32(next(self._words) % kernels.UNIT) / f32(kernels.UNIT)

    def below(self, limit: int) -> int:
        least = 0 if limit & (limit - 1) == 0 else (2**32 - 1) % limit + 1
        word = next(self._words)
        while word < least:
            word = next(self._words)
        return word % limit


def _part(
    words: _Words, height: int, width: int, shape: Any, area_range: Sequence[float]
) -> tuple[int, int, int, int] | None:
    """Top, left, height and width of a part with an aspect ratio; None where none has it."""
    least, most = (f32(x) * f32(width) * f32(height) for x in area_range)
    rows, last = (int(np.rint(np.sqrt(area / shape))) for area in (least, most))
    if np.rint(f32(last) * shape) > width:
        last = int((width + 0.5 - _ALMOST) / float(shape))
        last -= int(np.rint(f32(last) * shape) > width)
    last = min(last, height)
    rows = min(rows, last)
    rows += words.below(last - rows + 1) if rows < last else 0

    def sized(rows: int) -> tuple[int, Any]:
        columns = int(np.rint(f32(rows) * shape))
        return columns, f32(columns * rows)

    columns, area = sized(rows)
    for step, is_wrong in ((1, lambda a: a < least), (-1, lambda a: a > most)):
        if is_wrong(area):
            rows += step
            columns, area = sized(rows)
    if area < least or area > most or not 0 < columns <= width or not 0 < rows <= height:
        return None
    top = words.below(height - rows) if rows < height else 0
    left = words.below(width - columns) if columns < width else 0
    return top, left, rows, columns


def _shows(part: tuple[int, int, int, int], objects: Array, covered: Any) -> bool:
    top, left, rows, columns = part
    for first_row, first_column, last_row, last_column in objects:
        whole = f32((last_row - first_row) * (last_column - first_column))
        tall = min(top + rows, last_row) - max(top, first_row)
        wide = min(left + columns, last_column) - max(left, first_column)
        seen = f32(tall * wide) if tall > 0 and wide > 0 else f32(0)
        if whole >= 1 and seen / whole >= covered:
            return True
    return False


def _reference(
    key: Array, counter: Array, size: Array, boxes: Array, covered: Array, *,
    aspect_ratio_range: Sequence[float], area_range: Sequence[float], max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> list[Array]:  # fmt: skip
    corners = boxes.reshape(-1, 4)
    inside = (corners >= 0) & (corners <= 1)
    failing = (not covered >= 0, not (len(corners) or use_image_if_no_bounding_boxes))
    for fault, fails in zip(FAULTS, (*failing, not inside.all())):
        if fails:
            raise InvalidArgumentError(fault.format(a=int(np.argmin(inside.all(-1)))))
    height, width = size[:2].tolist()
    corners = corners if len(corners) else np.array([[0, 0, 1, 1]], f32)
    objects = (corners * np.array([height, width] * 2, f32)).astype(np.int64)
    words, part = _Words(key, counter), (0, 0, height, width)
    first, last = (f32(x) for x in aspect_ratio_range)
    usable = height > 0 and width > 0 and 0 < area_range[1] >= area_range[0]
    for _ in range(max_attempts if usable else 0):
        shape = words.share() * (last - first) + first
        found = _part(words, height, width, shape, area_range)
        if found is not None and _shows(found, objects, covered):
            part = found
            break
    top, left, rows, columns = part
    edges = np.array([top, left, top + rows, left + columns], f32)
    box = edges / np.array([height, width] * 2, f32)
    begin, end = np.array([top, left, 0], np.int64), np.array([rows, columns, -1], np.int64)
    return [begin, end, box.reshape(1, 1, 4)]


_RANGED = (
    "aspect_ratio_range: list(float) = [0.75, 1.33], area_range: list(float) = [0.05, 1.0],"
    " max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = False"
)
_KEYED = "u64[1]=[11] u64[2]=[0,22]"
define(
    "sample_box",
    "_SampleBox(key: u64, counter: u64, image_size: i64, bounding_boxes: f32,"
    f" min_object_covered: f32; {_RANGED}) -> (begin: i64, size: i64, bboxes: f32)",
    infer=lambda c: [(3,), (3,), (1, 1, 4)],
    lowering=_lower,
    reference=_reference,
    examples=(
        f"{_KEYED} i64[3]=[40,60,3] f32[1,1,4]=[[[0.1,0.2,0.5,0.7]]] f32[]=0.5",
        f"{_KEYED} i64[3]=[7,300,3] f32[2,1,4]=[[[0.1,0.2,0.5,0.7]],[[0,0,1,1]]] f32[]=0.9",
        f"{_KEYED} i64[3]=[33,5,1] f32[1,0,4] f32[]=0.1; use_image_if_no_bounding_boxes=True",
        f"{_KEYED} i64[3]=[9,9,1] f32[1,1,4]=[[[0,0,0.1,0.1]]] f32[]=1; max_attempts=3",
        f"{_KEYED} i64[3]=[50,40,1] f32[1,1,4]=[[[0,0,1,1]]] f32[]=0.1;"
        " area_range=[0.3,0.32], aspect_ratio_range=[0.2,5]",
    ),
)


# -- the ops, which keep a state


def _emit(covered_of: Callable[[Extractor, Sequence[Value], Attrs], Value]) -> Any:
    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        values = [value_of(x, bound) for bound in inputs]
        kind = values[0].type.dtype
        size = values[0] if kind is dtypes.i64 else x.b.cast(values[0], DstT=dtypes.i64)
        given = {name: attrs[name] for name in _SETTINGS}
        outputs: list[Value] = []

        def draw(key: Value, counter: Value) -> Value:
            covered = covered_of(x, values, attrs)
            outputs.extend(x.b.sample_box(key, counter, size, values[1], covered, **given))
            return outputs[0]

        drawing(x, attrs, draw, lambda _: attrs["max_attempts"])
        begin, end = (v if kind is dtypes.i64 else x.b.cast(v, DstT=kind) for v in outputs[:2])
        return [begin, end, outputs[2]]

    return emit


_SIZES = "T: {u8, i8, i16, i32, i64}, seed: int = 0, seed2: int = 0"
_OUTPUTS = "(begin: T, size: T, bboxes: f32)"
define(
    "sample_distorted_bounding_box_v2",
    "SampleDistortedBoundingBoxV2(image_size: T, bounding_boxes: f32, min_object_covered: f32;"
    f" {_SIZES}, {_RANGED}) -> {_OUTPUTS}",
    infer=_infer,
    lowering=Extracted(_emit(lambda x, values, attrs: values[2])),
    traits=STATE | {"random"},
)
define(
    "sample_distorted_bounding_box",
    "SampleDistortedBoundingBox(image_size: T, bounding_boxes: f32;"
    f" {_SIZES}, min_object_covered: float = 0.1, {_RANGED}) -> {_OUTPUTS}",
    infer=_infer,
    lowering=Extracted(_emit(lambda x, values, attrs: x.b.const(f32(attrs["min_object_covered"])))),
    traits=STATE | {"random"},
)


# -- and the one whose seed is an input


def _build_seeded(b: Builder, node: Node) -> list[Value]:
    size, boxes, covered, seed = node.inputs
    kind = size.type.dtype
    key, counter = b.stateless_random_get_key_counter(seed)
    given = {name: node.attrs[name] for name in _SETTINGS}
    wide = size if kind is dtypes.i64 else b.cast(size, DstT=dtypes.i64)
    *ends, box = b.sample_box(key, counter, wide, boxes, covered, **given)
    begin, end = (v if kind is dtypes.i64 else b.cast(v, DstT=kind) for v in ends)
    return [begin, end, box]


def _infer_seeded(c: Inference) -> list[Dims]:
    need_dims(c, 3, "seed", (2,))
    return _infer(c)


def _seeded_reference(
    size: Array, boxes: Array, covered: Array, seed: Array, *,
    aspect_ratio_range: Sequence[float], area_range: Sequence[float], max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> list[Array]:  # fmt: skip
    of_seeds = stateless_random_get_key_counter.reference
    assert of_seeds is not None
    key, counter = of_seeds(seed)
    begin, end, box = _reference(
        key, counter, size.astype(np.int64), boxes, covered,
        aspect_ratio_range=aspect_ratio_range, area_range=area_range, max_attempts=max_attempts,
        use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes,
    )  # fmt: skip
    return [begin.astype(size.dtype), end.astype(size.dtype), box]


define(
    "stateless_sample_distorted_bounding_box",
    "StatelessSampleDistortedBoundingBox(image_size: T, bounding_boxes: f32,"
    " min_object_covered: f32, seed: Tseed; T: {u8, i8, i16, i32, i64}, Tseed: {i32, i64},"
    f" {_RANGED}) -> {_OUTPUTS}",
    infer=_infer_seeded,
    lowering=Decompose(_build_seeded),
    reference=_seeded_reference,
    examples=(
        "T[3]=[40,60,3] f32[1,1,4]=[[[0.1,0.2,0.5,0.7]]] f32[]=0.5 i64[2]=[5,-6]",
        "i32[3]=[33,5,1] f32[1,0,4] f32[]=0.1 i32[2]=[1,2]; use_image_if_no_bounding_boxes=True",
    ),
)
