"""XLA's products: of tensors along any of their dimensions, and convolutions of any layout.

In: operands, and messages that say which part each of their dimensions plays. Out: records made of
Einsum, and of Conv2D or Conv3D. Invariant: the elements are added up in the dtype of the result,
in f32 for halves; hints about precision change nothing.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, maximum
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.linalg.matrices import wide
from flowc.ops.nn.convolution import convolution_array, count_groups
from flowc.ops.xla.dimension_numbers import ConvolutionNumbers, DotNumbers
from flowc.ops.xla.moving import pad_array

Array = np.ndarray[Any, Any]
MULTIPLIED = (*dtypes.FLOATS, dtypes.i32, dtypes.i64, *dtypes.COMPLEX)  # what Einsum takes
CONVOLVED = (*dtypes.FLOATS, dtypes.i32, *dtypes.COMPLEX)  # what convolutions take


def _computed(dtype: DType, kinds: tuple[DType, ...]) -> DType:
    """The dtype in which a product of small integers is computed: their results wrap alike."""
    if dtype in kinds or not dtype.is_integer:
        return dtype
    return dtypes.i64 if dtypes.i64 in kinds else dtypes.i32


# -- XlaDot


def _infer_dot(c: Inference) -> Dims:
    numbers = DotNumbers.of(c.attrs["dimension_numbers"])
    numbers.check(c)
    found: list[Dim] = [c.dims(0)[a] for a in numbers.batch[0]]
    for i in range(2):
        gone = (*numbers.batch[i], *numbers.contracted[i])
        found += [d for a, d in enumerate(c.dims(i)) if a not in gone]
    return tuple(found)


def _equation(text: str, ranks: tuple[int, int]) -> str:
    """The product as an equation of Einsum."""
    numbers, letters = DotNumbers.of(text), iter(string.ascii_letters)
    labels: list[list[str]] = [[""] * rank for rank in ranks]
    for one, other in (numbers.batch, numbers.contracted):
        for x, y in zip(one, other):
            labels[0][x] = labels[1][y] = next(letters)
    result = [labels[0][a] for a in numbers.batch[0]]
    for own in labels:
        for axis, label in enumerate(own):
            if not label:
                own[axis] = next(letters)
                result.append(own[axis])
    return f"{''.join(labels[0])},{''.join(labels[1])}->{''.join(result)}"


def _build_dot(b: Builder, node: Node) -> Value:
    lhs, rhs = node.inputs
    result = node.output.type.dtype
    kind = _computed(result, MULTIPLIED)
    equation = _equation(node.attrs["dimension_numbers"], (lhs.type.rank, rhs.type.rank))
    product = b.einsum(b.cast(lhs, DstT=kind), b.cast(rhs, DstT=kind), equation=equation)
    return b.cast(product, DstT=result)


def _dot(
    lhs: Array,
    rhs: Array,
    *,
    dimension_numbers: str,
    preferred_element_type: DType | None = None,
) -> Array:
    result = lhs.dtype if preferred_element_type is None else preferred_element_type.numpy
    equation = _equation(dimension_numbers, (lhs.ndim, rhs.ndim))
    return np.asarray(
        np.einsum(equation, wide(lhs.astype(result)), wide(rhs.astype(result)))
    ).astype(result)  # fmt: skip


_ROWS_BY_COLUMNS = 'dimension_numbers="\\n\\x01\\x01\\x12\\x01\\x00"'
_BATCHES = 'dimension_numbers="\\n\\x01\\x02\\x12\\x01\\x01\\x1a\\x01\\x00\\x22\\x01\\x02"'
define(
    "xla_dot",
    "XlaDot(lhs: T, rhs: T; T: NUMBER, dimension_numbers: string, precision_config: string)"
    " -> output: T",
    infer=_infer_dot,
    lowering=Decompose(_build_dot),
    reference=lambda x, y, *, dimension_numbers: _dot(x, y, dimension_numbers=dimension_numbers),
    examples=(
        f'T[2,3] T[3,4]; {_ROWS_BY_COLUMNS}, precision_config=""',
        f'f32[2,3,4] f32[5,4,2]; {_BATCHES}, precision_config=""',
    ),
)
define(
    "xla_dot_v2",
    "XlaDotV2(lhs: LhsT, rhs: RhsT; LhsT: NUMBER, RhsT: NUMBER, dimension_numbers: string,"
    " precision_config: string, preferred_element_type: NUMBER) -> output: preferred_element_type",
    infer=_infer_dot,
    lowering=Decompose(_build_dot),
    reference=_dot,
    examples=(
        f'f32[2,3]~positive f32[3,4]~positive; {_ROWS_BY_COLUMNS}, precision_config="",'
        " preferred_element_type=f32",
        f'i8[2,3] i8[3,4]; {_ROWS_BY_COLUMNS}, precision_config="", preferred_element_type=i32',
        f'bf16[2,3] bf16[3,4]; {_ROWS_BY_COLUMNS}, precision_config="", preferred_element_type=f32',
    ),
)


# -- XlaConv


@dataclass(frozen=True, slots=True)
class _Geometry:
    """A convolution's geometry, an entry for each spatial dimension; `pads` are negative where the
    image is cut."""

    strides: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    image_gaps: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int

    @staticmethod
    def of(strides: Any, padding: Any, spread: Any, dilations: Any, groups: Any) -> _Geometry:
        first, pads, gaps, far = (
            np.asarray(x).reshape(-1).tolist() for x in (strides, padding, spread, dilations)
        )
        pairs = tuple(zip(pads[::2], pads[1::2]))
        count = int(np.asarray(groups).reshape(()))
        return _Geometry(tuple(first), pairs, tuple(n - 1 for n in gaps), tuple(far), count)

    def padded(self, size: Dim, axis: int) -> Dim:
        low, high = self.pads[axis]
        return size + maximum(size - 1, 0) * self.image_gaps[axis] + low + high

    def result(self, padded: Dim, taps: Dim, axis: int) -> Dim:
        """How many windows of so many taps begin in the image; of larger ones none does."""
        room = padded - (taps - 1) * self.dilations[axis] - 1
        return maximum(room // self.strides[axis] + 1, 0)

    def paddings(self) -> tuple[Array, Array, Array]:
        """For images with the batch first and features last."""
        around = [(0, 0), *self.pads, (0, 0)]
        low, high = (np.array(x, np.int32) for x in zip(*around))
        return low, high, np.array([0, *self.image_gaps, 0], np.int32)


def _infer_conv(c: Inference) -> Dims:
    numbers = ConvolutionNumbers.of(c.attrs["dimension_numbers"])
    numbers.check(c)
    spatial = c.rank(0) - 2
    if not 0 <= spatial <= 3:
        raise c.fail(f"images of 0 to 3 dimensions are convolved, found {spatial}")
    for i, dims in ((2, (spatial,)), (3, (spatial, 2)), (4, (spatial,)), (5, (spatial,)), (6, ())):
        c.need_dims(i, dims, f"input {i} must be {list(dims)}")
    own = _Geometry.of(*(np.array(c.need_ints(i), np.int64) for i in range(2, 7)))
    counted = c.attrs.get("batch_group_count", 1)
    if min((*own.strides, *own.dilations, *(n + 1 for n in own.image_gaps), own.groups)) < 1:
        raise c.fail("strides, dilations and feature_group_count must be at least 1")
    if counted < 1 or (counted > 1 and own.groups > 1):
        raise c.fail("one of feature_group_count and batch_group_count may be more than 1")
    batch, *sizes, features = (c.dims(0)[a] for a in numbers.image)
    *window, depth, outputs = (c.dims(1)[a] for a in numbers.window)
    if isinstance(batch, int) and batch % counted:
        raise c.fail(f"a batch of {batch} does not fall into {counted} groups")
    fault = f"{features} features are no {own.groups} groups of {depth}"
    c.equal(features, depth * own.groups, fault)
    groups = own.groups * counted
    if groups > 1 and not (isinstance(features, int) and isinstance(depth, int)):
        raise NeedsContent("convolutions in groups need the number of features to be known")
    count_groups(c, depth * groups, depth, outputs)
    result: list[Dim] = [batch // counted]
    for axis, (size, taps) in enumerate(zip(sizes, window)):
        padded = own.padded(size, axis)
        if isinstance(padded, int) and padded < 0:
            raise c.fail(f"padding leaves {padded} pixels along axis {axis} of the image")
        result.append(own.result(padded, taps, axis))
    result.append(outputs)
    return tuple(result[numbers.result.index(axis)] for axis in range(len(result)))


def _build_conv(b: Builder, node: Node) -> Value:
    """With the batch first and features last, padded, and with two or three spatial dimensions."""
    numbers = ConvolutionNumbers.of(node.attrs["dimension_numbers"])
    own = _Geometry.of(*(x.constant for x in node.inputs[2:]))
    result = node.output.type.dtype
    if 0 in node.output.dims:  # a plain convolution refuses windows larger than the image
        return b.broadcast_to(b.const(0, result), node.output.dims)
    kind = _computed(result, CONVOLVED)
    image = b.transpose(b.cast(node.inputs[0], DstT=kind), numbers.image)
    window = b.transpose(b.cast(node.inputs[1], DstT=kind), numbers.window)
    if any(any(pair) for pair in own.pads) or any(own.image_gaps):
        image = b.xla_pad(image, b.const(np.zeros((), kind.numpy)), *own.paddings())
    counted = node.attrs.get("batch_group_count", 1)
    if counted > 1:  # each group of the batch is a group of features
        batch, *sizes, features = image.dims
        parts = b.reshape(image, (counted, batch // counted, *sizes, features))
        order = (*range(1, image.type.rank), 0, image.type.rank)
        image = b.reshape(b.transpose(parts, order), (batch // counted, *sizes, counted * features))
    convolved = _convolved(b, image, window, own)
    order = tuple(numbers.result.index(axis) for axis in range(convolved.type.rank))
    return b.cast(b.transpose(convolved, order), DstT=result)


def _convolved(b: Builder, image: Value, window: Value, own: _Geometry) -> Value:
    """Complex numbers by their parts."""
    part = {dtypes.c64: dtypes.f32, dtypes.c128: dtypes.f64}.get(image.type.dtype)
    if part is not None:
        parts = [[f(x, Tout=part) for f in (b.real, b.imag)] for x in (image, window)]
        (a, z), (u, v) = parts
        real = b.sub(_convolved(b, a, u, own), _convolved(b, z, v, own))
        return b.complex(real, b.add(_convolved(b, a, v, own), _convolved(b, z, u, own)),
                         Tout=image.type.dtype)  # fmt: skip
    flat = len(own.strides) < 3
    missing = max(2 - len(own.strides), 0)
    ones = (1,) * missing
    x = b.reshape(image, (image.dims[0], *ones, *image.dims[1:]))
    w = b.reshape(window, (*ones, *window.dims))
    attrs = {
        "strides": (1, *ones, *own.strides, 1),
        "dilations": (1, *ones, *own.dilations, 1),
        "padding": "VALID",
    }
    found = (b.conv2d if flat else b.conv3d)(x, w, **attrs)
    return b.reshape(found, (found.dims[0], *found.dims[1 + missing :]))


def _conv(
    lhs: Array,
    rhs: Array,
    *geometry: Array,
    dimension_numbers: str,
    batch_group_count: int = 1,
    preferred_element_type: DType | None = None,
) -> Array:
    numbers, own = ConvolutionNumbers.of(dimension_numbers), _Geometry.of(*geometry)
    result = lhs.dtype if preferred_element_type is None else preferred_element_type.numpy
    image = lhs.astype(result).transpose(numbers.image)
    window = rhs.astype(result).transpose(numbers.window)
    image = pad_array(image, np.zeros((), image.dtype), *own.paddings())
    parts = np.split(image, batch_group_count)
    sizes = [own.result(n, k, i) for i, (n, k) in enumerate(zip(image.shape[1:-1], window.shape))]
    if 0 in sizes:
        dims = (len(parts[0]), *map(int, sizes), window.shape[-1])
        return np.zeros([dims[numbers.result.index(i)] for i in range(len(dims))], result)
    missing = max(2 - len(own.strides), 0)
    ones = (1,) * missing
    x = np.concatenate(parts, -1)
    x = x.reshape(x.shape[0], *ones, *x.shape[1:])
    strides, dilations = ((1, *ones, *n, 1) for n in (own.strides, own.dilations))
    form = "NDHWC" if len(own.strides) == 3 else "NHWC"
    attrs = {"strides": strides, "dilations": dilations, "padding": "VALID", "data_format": form}
    found = convolution_array(x, window.reshape(*ones, *window.shape), **attrs)
    found = found.reshape(found.shape[0], *found.shape[1 + missing :])
    return found.transpose(tuple(numbers.result.index(axis) for axis in range(found.ndim)))


# Batch, rows, columns and features, in this order and in two others.
_LAST = (
    'dimension_numbers="8\\x00@\\x03Z\\x02\\x01\\x02H\\x00P\\x03b\\x02\\x01\\x02\\x18\\x02'
    ' \\x032\\x02\\x00\\x01"'
)
_FIRST = (
    'dimension_numbers="8\\x00@\\x01Z\\x02\\x02\\x03H\\x00P\\x01b\\x02\\x02\\x03\\x18\\x01'
    ' \\x002\\x02\\x02\\x03"'
)
_LINE = (
    'dimension_numbers="8\\x00@\\x02Z\\x01\\x01H\\x00P\\x02b\\x01\\x01\\x18\\x01 \\x022\\x01\\x00"'
)
_ONES = "i32[2]=[1,1] i32[2,2]=[0,0,0,0] i32[2]=[1,1] i32[2]=[1,1] i32[]=1"
_INPUTS = (
    "window_strides: Tindices, padding: Tindices, lhs_dilation: Tindices, rhs_dilation: Tindices,"
    " feature_group_count: Tindices"
)
define(
    "xla_conv",
    f"XlaConv(lhs: T, rhs: T, {_INPUTS}; T: NUMBER, Tindices: INDEX, dimension_numbers: string,"
    " precision_config: string) -> output: T",
    infer=_infer_conv,
    lowering=Decompose(_build_conv),
    reference=lambda *arrays, dimension_numbers: _conv(
        *arrays, dimension_numbers=dimension_numbers
    ),
    examples=(
        f'f32[1,5,6,3] f32[3,2,3,4] {_ONES}; {_LAST}, precision_config=""',
        "f32[2,4,5,6] f32[6,2,2,3] i32[2]=[2,1] i32[2,2]=[1,-1,0,2] i32[2]=[1,2] i32[2]=[2,1]"
        f' i32[]=2; {_FIRST}, precision_config=""',
        "f64[2,7,2] f64[3,2,4] i64[1]=[1] i64[1,2]=[1,1] i64[1]=[1] i64[1]=[2] i64[]=1;"
        f' {_LINE}, precision_config=""',
    ),
)
define(
    "xla_conv_v2",
    f"XlaConvV2(lhs: LhsT, rhs: RhsT, {_INPUTS}; LhsT: NUMBER, RhsT: NUMBER, Tindices: INDEX,"
    " dimension_numbers: string, precision_config: string, preferred_element_type: NUMBER,"
    " batch_group_count: int = 1) -> output: preferred_element_type",
    infer=_infer_conv,
    lowering=Decompose(_build_conv),
    reference=_conv,
    examples=(
        f'bf16[1,5,6,3] bf16[3,2,3,4] {_ONES}; {_LAST}, precision_config="",'
        " preferred_element_type=f32",
        f'i8[1,5,6,3] i8[3,2,3,4] {_ONES}; {_LAST}, precision_config="",'
        " preferred_element_type=i32",
        f'f32[4,5,6,3] f32[3,2,3,4] {_ONES}; {_LAST}, precision_config="",'
        " preferred_element_type=f32, batch_group_count=2",
    ),
)
