"""Expands ops that are written in terms of others: the first half of lowering.

In: any Computation. Out: one whose nodes are elementwise, views, reductions, products,
convolutions, native kernels and structure, each of which `lower` writes as one core op. f16
and bf16 around products and native kernels are widened to f32, complex products become real ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, ceildiv, floordiv, symbols_of
from flowc.ir.layout import CHANNELS_LAST
from flowc.ir.lowering import Convolution, Decompose, FilterGradient, MatMul, Native
from flowc.ir.op import op_named
from flowc.ir.pattern import Match, Pattern, Rewrite, apply_rewrites
from flowc.options import Options

_NARROW = (dtypes.f16, dtypes.bf16)


def decompose(c: Computation, options: Options) -> Computation:
    """What an op expands to may expand again."""
    left_out = OF_PROCESSORS if options.has_gpu else (PHASES_FOR_WINOGRAD,) if options.exact else ()
    rules = tuple(rule for rule in RULES if rule not in left_out)
    return apply_rewrites(c, (KERNEL_OF_GPU, *rules) if options.has_gpu else rules, ordered=True)


def _kernel_of_gpu(m: Match) -> Sequence[Value] | None:
    """The op of another kernel, where an op that was registered has one for programs with a GPU."""
    node = m.node
    found = node.op.on_gpu(node) if node.op.on_gpu is not None else None
    return None if found is None else m.b.emit(found, node.inputs, node.attrs).outputs


def _expanded(m: Match) -> Sequence[Value]:
    """What an op expands to, in the node's own sizes: of two that the run finds equal, inference
    may choose the other one here, which a loop that carries the value would not take."""
    node, b = m.node, m.b
    assert isinstance(node.lowering, Decompose)
    built = node.lowering.build(b, node)
    found = (built,) if isinstance(built, Value) else tuple(built)
    own = {size for size, _ in node.sizes}
    return [
        new
        if new.dims == old.dims
        or own & symbols_of(*old.dims).keys()
        or new.type.rank != old.type.rank
        else b.reshape(new, old.dims)
        for new, old in zip(found, node.outputs)
    ]


def _is_narrow(m: Match) -> bool:
    lowering = m.node.lowering
    held = (*m.node.inputs, *m.node.outputs)
    moves = isinstance(lowering, Native) and lowering.moves
    return not moves and any(v.type.dtype in _NARROW for v in held)


def _widened(m: Match) -> list[Value]:
    """The op on f32, its results rounded once."""
    b, node = m.b, m.node
    inputs = [b.cast(v, DstT=dtypes.f32) if v.type.dtype in _NARROW else v for v in node.inputs]
    attrs = {n: dtypes.f32 if v in _NARROW else v for n, v in node.attrs.items()}
    wide = b.emit(node.op, inputs, attrs)
    return [
        b.cast(w, DstT=v.type.dtype) if w.type.dtype is not v.type.dtype else w
        for v, w in zip(node.outputs, wide.outputs)
    ]


FEW_CHANNELS = 16  # that fill no vector: a kernel that writes pixel by pixel is slow for fewer
MANY_CHANNELS = 64  # with more, what it writes counts for little
WRITTEN = 2000  # multiplications that take as long as it takes to write a pixel
WINOGRAD_WINDOWS = ((2, 2), (3, 3))
VECTOR_CHANNELS = 8  # with more, what is read for one place of a window fills vectors
WHOLE_CHANNELS = 8  # and multiples of it fill vectors, or half ones
MANY_PIXELS = 14 * 14  # share weights that are transformed


def _is_plain(m: Match) -> bool:
    """Whether a transposed convolution is better a plain one, or the kernel for transposed ones
    does not take it: groups, and weights of the run."""
    lowering = m.node.lowering
    assert isinstance(lowering, Convolution)
    if not lowering.transposed:
        return False
    if lowering.groups != 1 or m.node.inputs[1].constant is None:
        return True
    return _has_phases(m.node, lowering) and _costs_less_plain(m.node, lowering)


def _costs_less_plain(node: Node, lowering: Convolution) -> bool:
    """A plain convolution multiplies by zeros where a window is no multiple of the steps."""
    *window, channels, inputs = node.inputs[1].dims
    if not (isinstance(channels, int) and isinstance(inputs, int)):
        return False
    taps = math.prod(int(ceildiv(n, s)) for n, s in zip(window, lowering.strides))
    zeros = taps - math.prod(int(n) for n in window) / math.prod(lowering.strides)
    few = channels <= MANY_CHANNELS and zeros * channels * inputs <= WRITTEN
    return few or channels < FEW_CHANNELS


def _has_winograd_phases(m: Match) -> bool:
    """Whether all phases of a transposed convolution are one that Winograd's algorithm computes,
    with half of the multiplications or less."""
    node, lowering = m.node, m.node.lowering
    assert isinstance(lowering, Convolution)
    image, weights = node.inputs
    if not (lowering.transposed and image.type.dtype is dtypes.f32 and _has_phases(node, lowering)):
        return False
    *window, channels, inputs = weights.dims
    if not (isinstance(channels, int) and isinstance(inputs, int)):
        return False
    of_phase = tuple(int(ceildiv(n, s)) for n, s in zip(window, lowering.strides))
    pixels = math.prod(d for d in image.dims[1:-1] if isinstance(d, int))
    fill = channels % WHOLE_CHANNELS == inputs % WHOLE_CHANNELS == 0
    return of_phase in WINOGRAD_WINDOWS and fill and pixels >= MANY_PIXELS


def _has_phases(node: Node, lowering: Convolution) -> bool:
    """Whether the pixels that the same taps reach are known."""
    sizes = (*node.output.dims[1:-1], *node.inputs[1].dims[:-2], *sum(lowering.pad, ()))
    return all(isinstance(n, int) for n in sizes) and set(lowering.dilations) == {1}


def _plain_convolution(m: Match) -> Value:
    """A transposed convolution as a plain one.

    Along an axis, pixel p is reached by tap k from pixel (p + pad - k) / stride of the input. So
    the pixels with equal (p + pad) // stride, one of each phase, see the same pixels of the input,
    each through every stride-th tap: they are made as channels of one pixel, and spread afterwards.
    Where sizes are open, zeros are put between the pixels of the input instead.
    """
    b, node = m.b, m.node
    lowering = node.lowering
    assert isinstance(lowering, Convolution)
    x, weights = node.inputs
    rank, groups = len(lowering.strides), lowering.groups
    steps = lowering.strides
    if set(steps) != {1} and not _has_phases(node, lowering):
        x, steps = b.insert_zeros(x, strides=steps), (1,) * rank
    *window, per_group, _ = weights.dims
    sizes = node.output.dims[1:-1]
    pads: list[tuple[Dim, Dim]] = []
    pixels: list[Dim] = []  # along each axis of the plain convolution's result
    for axis, step in enumerate(steps):
        taps, pad, size = ceildiv(window[axis], step), lowering.pad[axis][0], sizes[axis]
        first = floordiv(pad, step)
        pixels.append(floordiv(pad + size - 1, step) + 1 - first if step > 1 else size)
        reach = lowering.dilations[axis] * (taps - 1)
        before = reach - first if step > 1 else reach - pad
        pads.append((before, pixels[-1] - x.dims[1 + axis] - before + reach))
    channels = groups * per_group * math.prod(steps)
    attrs = {
        "strides": (1,) * rank,
        "dilations": lowering.dilations,
        "pad": tuple(pads),
        "groups": groups,
        "result": (x.dims[0], *pixels, channels),
        "dtype": node.output.type.dtype,
        "label": node.op.name,
    }
    phases = _phase_weights(b, weights, steps, groups)
    made = b.emit(op_named("convolution"), (x, phases), attrs).output
    return made if set(steps) == {1} else _spread_phases(b, made, node, lowering)


def _phase_weights(b: Builder, weights: Value, steps: tuple[int, ...], groups: int) -> Value:
    """[*window, channels of a group, outputs] -> [*taps, outputs of a group, groups, phases,
    channels of a group], the last three as one: taps backwards, those missing zero."""
    *window, per_group, outputs = weights.dims
    rank = len(steps)
    taps = [ceildiv(size, step) for size, step in zip(window, steps)]
    after = [(0, t * s - n) for t, s, n in zip(taps, steps, window)]
    if any(missing != 0 for _, missing in after):
        weights = b.pad(weights, np.array([*after, (0, 0), (0, 0)], np.int32))
    split = [n for pair in zip(taps, steps) for n in pair]
    w = b.reshape(weights, (*split, per_group, groups, outputs // groups))
    w = b.reverse(w, np.arange(0, 2 * rank, 2, dtype=np.int32))
    last = 2 * rank
    order = [*range(0, last, 2), last + 2, last + 1, *range(1, last, 2), last]
    w = b.transpose(w, np.array(order, np.int32))
    return b.reshape(w, (*taps, outputs // groups, groups * per_group * math.prod(steps)))


def _spread_phases(b: Builder, made: Value, node: Node, lowering: Convolution) -> Value:
    """[batch, *pixels, groups, phases, channels of a group], the last three as one, as pixels of
    the result of the node."""
    batch, *pixels, channels = made.dims
    steps, groups, rank = lowering.strides, lowering.groups, len(lowering.strides)
    per_group = floordiv(channels, groups * math.prod(steps))
    split = b.reshape(made, (batch, *pixels, groups, *steps, per_group))
    pairs = [axis for i in range(1, rank + 1) for axis in (i, i + rank + 1)]
    order = [0, *pairs, rank + 1, 2 * rank + 2]
    spread = b.transpose(split, np.array(order, np.int32))
    full = (batch, *(n * s for n, s in zip(pixels, steps)), groups * per_group)
    begin = [pad % step for (pad, _), step in zip(lowering.pad, steps)]
    whole = b.reshape(spread, full)
    if full == node.output.dims:
        return whole
    return b.slice(whole, np.array([0, *begin, 0], np.int32), node.output.dims)


def _has_multiplier(m: Match) -> bool:
    """Whether each channel of an image is convolved by itself, to several channels."""
    lowering = m.node.lowering
    assert isinstance(lowering, Convolution)
    if lowering.transposed or lowering.groups == 1 or lowering.layout != CHANNELS_LAST:
        return False
    *_, channels, outputs = m.node.inputs[1].dims
    is_image = len(lowering.strides) == 2 and isinstance(outputs, int)
    return is_image and channels == 1 and outputs != lowering.groups


def _repeated_channels(m: Match) -> Value:
    """A depthwise convolution to as many channels as there are, of each channel several times: one
    that computes whole vectors of them."""
    b, node = m.b, m.node
    lowering = node.lowering
    assert isinstance(lowering, Convolution)
    x, weights = node.inputs
    *pixels, channels = x.dims
    outputs = weights.dims[-1]
    apart = b.reshape(x, (*pixels, channels, 1))
    repeated = b.broadcast_to(apart, (*pixels, channels, floordiv(outputs, lowering.groups)))
    attrs = {
        "strides": lowering.strides,
        "dilations": lowering.dilations,
        "pad": lowering.pad,
        "groups": outputs,
        "result": node.output.dims,
        "dtype": node.output.type.dtype,
        "label": node.op.name,
    }
    image = b.reshape(repeated, (*pixels, outputs))
    return b.emit(op_named("convolution"), (image, weights), attrs).output


def _is_of_whole_rows(m: Match) -> bool:
    """Whether a window over an image of few channels meets all of a row and nothing else, as over
    words whose vectors are the rows."""
    lowering = m.node.lowering
    assert isinstance(lowering, Convolution)
    if lowering.transposed or lowering.groups != 1 or len(lowering.strides) != 2:
        return False
    (*_, width, channels), (_, taps, _, _) = (v.dims for v in m.node.inputs)
    few = isinstance(channels, int) and channels < VECTOR_CHANNELS
    covers = width == taps != 1 and lowering.pad[1] == (0, 0) and lowering.dilations[1] == 1
    return few and covers and lowering.layout == CHANNELS_LAST


def _convolution_of_whole_rows(m: Match) -> Value:
    """One column, whose channels are whole rows of the image: the window reads them where they
    stand."""
    b, node = m.b, m.node
    lowering = node.lowering
    assert isinstance(lowering, Convolution)
    x, weights = node.inputs
    *rows, width, channels = x.dims
    height, _, _, outputs = weights.dims
    attrs = {
        "strides": (lowering.strides[0], 1),
        "dilations": lowering.dilations,
        "pad": lowering.pad,
        "groups": 1,
        "result": node.output.dims,
        "dtype": node.output.type.dtype,
        "label": node.op.name,
    }
    image = b.reshape(x, (*rows, 1, width * channels))
    column = b.reshape(weights, (height, 1, width * channels, outputs))
    return b.emit(op_named("convolution"), (image, column), attrs).output


def _is_complex(m: Match) -> bool:
    return m.node.output.type.dtype.is_complex


def _real_products(m: Match) -> Value:
    """(a + bi)(c + di) as four real products."""
    b, node = m.b, m.node
    x, y = node.inputs
    xr, xi = b.real(x, Tout=x.type.dtype.real_dtype), b.imag(x, Tout=x.type.dtype.real_dtype)
    yr, yi = b.real(y, Tout=y.type.dtype.real_dtype), b.imag(y, Tout=y.type.dtype.real_dtype)

    def times(left: Value, right: Value) -> Value:
        return b.emit(node.op, (left, right), node.attrs).output

    real = b.sub(times(xr, yr), times(xi, yi))
    imag = b.add(times(xr, yi), times(xi, yr))
    return b.complex(real, imag, Tout=node.output.type.dtype)


def _whole_batches(m: Match) -> Value | None:
    """Operands whose leading dims broadcast in part are repeated in full."""
    leading = m.node.output.dims[:-2]
    inputs: list[Value] = []
    for v in m.node.inputs:
        own = v.dims[:-2]
        partial = own != leading and any(d != 1 for d in own)
        inputs.append(m.b.broadcast_to(v, (*leading, *v.dims[-2:])) if partial else v)
    if tuple(inputs) == m.node.inputs:
        return None
    return m.b.emit(m.node.op, inputs, m.node.attrs).output


KERNEL = Pattern(lowerings=(Native, MatMul, Convolution, FilterGradient))
CONVOLUTION = Pattern(lowerings=(Convolution,))
PRODUCT = Pattern(lowerings=(MatMul,))

KERNEL_OF_GPU = Rewrite("kernel_of_gpu", Pattern(), _kernel_of_gpu)  # of others' ops alone
# For vectors: lanes of a GPU take channels one by one, and it has no Winograd convolutions.
REPEAT_CHANNELS = Rewrite("repeat_channels", CONVOLUTION, _repeated_channels, _has_multiplier)
PHASES_FOR_WINOGRAD = Rewrite(
    "phases_for_winograd", CONVOLUTION, _plain_convolution, _has_winograd_phases
)
OF_PROCESSORS = (REPEAT_CHANNELS, PHASES_FOR_WINOGRAD)
RULES = (
    Rewrite("expand_composed", Pattern(lowerings=(Decompose,)), _expanded),
    Rewrite("widen_halves", KERNEL, _widened, _is_narrow),
    PHASES_FOR_WINOGRAD,
    Rewrite("plain_convolution", CONVOLUTION, _plain_convolution, _is_plain),
    REPEAT_CHANNELS,
    Rewrite("whole_rows", CONVOLUTION, _convolution_of_whole_rows, _is_of_whole_rows),
    Rewrite("split_complex_product", PRODUCT, _real_products, _is_complex),
    Rewrite("repeat_batches", PRODUCT, _whole_batches),
)
