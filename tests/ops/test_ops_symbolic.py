"""One program for many sizes: the examples of every op with sizes that only the run knows.

Each size above 1 of what is fed is a symbol of its own; the numbers are those of the example, and
for ops that take more rows, those of fewer and more rows. REFUSED lists the ops that need a size
when they are compiled, and can only shrink.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from calls.op_examples import Case
from op_cases import (
    EXACT,
    TESTED,
    assert_near,
    ordinary_elements,
    plain_cases,
    reference,
)
from op_tolerances import COMPILED, COMPILED_EXTREMES_APART
from open_sizes import Axis, axes_of, fed, open_axes, refusal, with_open_sizes
from partitions import PartitionedProgram

from flowc import dtypes
from flowc.compiler import load_executable
from flowc.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.lowering import Elementwise
from flowc.ir.op import Op
from flowc.ir.program_spec import spec_of
from flowc.ir.types import TensorType
from flowc.options import Options

ROWS = (1, 4, 7)
# Ops that need a size when they are compiled, and why.
REFUSED: dict[str, str] = {
    "places_in_order": "how many numbers a place has",
    **dict.fromkeys(
        (
            "depthwise_conv2d_backprop_input",
            "convolution_filter_gradient",
            "convolution_by_channels_filter_gradient",
        ),
        "the number of channels",
    ),
    **dict.fromkeys(
        ("list_new", "empty", "broadcast_args", "gather_nd"),
        "how many elements there are is the rank of the result",
    ),
    **dict.fromkeys(
        ("bincount", "dense_bincount"),
        "weights of no elements mean something else than weights as many as the values",
    ),
    **dict.fromkeys(
        ("depthwise_conv2d", "fused_depthwise_conv2d"),
        "each channel is a group of its own",
    ),
    "edit_distance": "the places of the truth are compared with those of the hypothesis",
    **dict.fromkeys(
        ("conv2d_backprop_filter_v2", "conv3d_backprop_filter_v1"), "the sizes of the weights"
    ),
    **dict.fromkeys(("xla_conv", "xla_conv_v2"), "the number of features of each group"),
    "parallel_concat": "the attr has all sizes",
    "quantized_resize_bilinear": "the pixels beside each new one",
    **dict.fromkeys(
        (
            f"stateless_{kind}{version}"
            for kind in (
                "random_uniform",
                "random_normal",
                "truncated_normal",
                "random_uniform_int",
                "random_uniform_full_int",
            )
            for version in ("", "_v1")
        ),
        "how many sizes a shape has is the rank of the result",
    ),
    "stateless_random_binomial": "how many sizes a shape has is the rank of the result",
}
# Ops whose attrs, or inputs of another rank, say how many rows there are, which nothing checks.
ROWS_DECIDED: dict[str, str] = {
    "ensure_shape": "the attr has all sizes",
    "select_boxes": "as many scores as boxes",
    **dict.fromkeys(("take_label", "subtract_label"), "as many labels as rows"),
    "edit_distances": "as many lengths as sequences",
    **dict.fromkeys(
        ("uniform_of_words", "normals_of_words", "range_of_words", "integers_of_words"),
        "as many words as the shape asks for",
    ),
}


# Elementwise ops differ in what they compute, not in their loops: a fourth of them is compiled.
SAME_LOOPS = [o for o in TESTED if isinstance(o.lowering, Elementwise)]
del SAME_LOOPS[:: 1 if os.environ.get("FLOWC_ALL_DTYPES") else 4]


@pytest.fixture(autouse=True)
def quiet() -> None:
    """References overflow and divide by zero on purpose."""
    warnings.simplefilter("ignore", RuntimeWarning)
    np.seterr(all="ignore")


def grown(case: Case, axes: Sequence[Axis], n: int) -> list[np.ndarray]:
    """The inputs with n rows where there are as many as in the first that has an open number of
    rows: the given ones over and over."""
    first = case.inputs[next(i for i, d in axes if d == 0)]
    return [
        np.take(a, np.arange(n) % len(a), axis=0)
        if (i, 0) in axes and a.ndim == first.ndim and len(a) == len(first)
        else a
        for i, a in enumerate(case.inputs)
    ]


@pytest.mark.parametrize("op", TESTED, ids=str)
def test_one_program_serves_every_size(op: Op) -> None:
    cases = {case: open_axes(case) for case in plain_cases(op) if refusal(case, ()) is None}
    refused = [e for c in cases if (e := refusal(c, axes_of(c))) is not None]
    assert bool(refused) == (op.name in REFUSED), refused
    assert not any(isinstance(e, InternalError) for e in refused), refused
    case = max(cases, key=lambda c: len(cases[c]), default=None)
    if case is None or not cases[case] or op in SAME_LOOPS:
        return
    axes = cases[case]
    program = PartitionedProgram(with_open_sizes(case, axes), Options())
    assert_runs(case, program, list(case.inputs))
    if not any(d == 0 for _, d in axes) or op.name in ROWS_DECIDED:
        return
    served = [n for n in ROWS if is_call(case, program, grown(case, axes, n))]
    assert served or not isinstance(op.lowering, Elementwise), "no number of rows but its own"
    for n in served:
        assert_runs(case, program, grown(case, axes, n))


def is_call(case: Case, program: PartitionedProgram, arrays: list[np.ndarray]) -> bool:
    """Whether the op takes these inputs: neither the reference nor the run refuses them."""
    try:
        reference(case, arrays)
        program.alone.run(fed(case, arrays))
    except (FailedPreconditionError, InvalidArgumentError, ValueError, IndexError):
        return False
    return True


def assert_runs(case: Case, program: PartitionedProgram, arrays: list[np.ndarray]) -> None:
    found, expected = program.run(fed(case, arrays)), reference(case, arrays)
    if case.op.name in COMPILED_EXTREMES_APART:
        found, expected = ordinary_elements(replace(case, inputs=arrays), found, expected)
    assert_near(case, found, expected, COMPILED.get(case.op.name, EXACT))


def test_indices_below_zero_are_divided_as_sizes_are() -> None:
    """What is rolled over the end of a dim of any size comes back at its beginning."""
    b = Builder()
    x = b.parameter("x", TensorType(dtypes.f32, (symbol("n"), symbol("m"))))
    half = b.floor_div(b.shape(x), np.int32(2))
    results = [b.roll(x, np.int32(3), np.int32(0)), b.roll(x, half, np.array([0, 1], np.int32))]
    results.append(b.roll(x, np.array([-9, 2], np.int32), np.array([0, 0], np.int32)))
    c = b.build(results)
    spec = spec_of(c, ["x"], ["y", "z", "w"])
    executable = load_executable(c, Options(), spec, threads=1)
    for n, m in ((8, 5), (1, 4), (3, 1), (7, 7)):
        array = np.arange(n * m, dtype=np.float32).reshape(n, m)
        turned, halved, twice = executable.run([array])
        np.testing.assert_array_equal(turned, np.roll(array, 3, 0))
        np.testing.assert_array_equal(halved, np.roll(array, (n // 2, m // 2), (0, 1)))
        np.testing.assert_array_equal(twice, np.roll(array, -7, 0))


def test_a_gradient_of_another_size_than_the_slice_is_refused() -> None:
    b = Builder()
    dy = b.parameter("dy", TensorType(dtypes.f32, (symbol("n"), 2)))
    bounds = [np.array(x, np.int32) for x in ([4, 2], [1, 0], [3, 2], [1, 1])]
    c = b.build([b.strided_slice_grad(*bounds, dy)])
    executable = load_executable(c, Options(), spec_of(c, ["dy"], ["dx"]), threads=1)
    (found,) = executable.run([np.ones((2, 2), np.float32)])
    np.testing.assert_array_equal(found[:, 0], [0, 1, 1, 0])
    with pytest.raises(InvalidArgumentError, match="must be equal, found 1 and 2"):
        executable.run([np.ones((1, 2), np.float32)])
