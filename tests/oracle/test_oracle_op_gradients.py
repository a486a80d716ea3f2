"""Gradients of op records are those that TensorFlow builds of the same calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from calls.op_examples import Case
from gradient_cases import (
    MISSING,
    OPS_OF_GRAPHS,
    examples_of,
    flows,
    operation_of,
    value_gradients,
)

from flowc.graph import Graph, Tensor
from flowc.graph.gradients.operation import is_trainable
from flowc.ir.op import Op

pytestmark = pytest.mark.oracle

# Of which TensorFlow gives nothing to compare with.
NOT_COMPARED = {
    "approx_top_k": "there is no kernel for processors",
    "max_pool": "an example ends the process",
    "ref_identity": "it takes a variable",
    "xla_cluster_output": "gradients are made inside of the cluster",
    **dict.fromkeys(
        ("eig", "self_adjoint_eig"), "vectors have any sign, which their gradients depend on"
    ),
    **dict.fromkeys(
        ("batch_norm_with_global_normalization", "quantize_and_dequantize_v1", "top_k_v1"),
        "new graphs may not have the op",
    ),
    **dict.fromkeys(
        (
            "guarantee_const",
            "irfft3d",
            "mod",
            "resize_bicubic_grad",
            "resize_bilinear_grad",
            "resize_nearest_neighbor_grad",
            "rfft3d",
            "snapshot",
            "truncate_mod",
            "xla_optimization_barrier",
        ),
        "the op has no gradient there",
    ),
}
OTHER_SLOPES = {
    ("bessel_i1", 0): "1 at 0, where it is 1/2",
    ("bessel_i1", 1): "1 at 0, where it is 1/2",
    ("matrix_diag_part_v2", 1): "diagonals are taken to stand at another end",
    ("rgb_to_hsv", 1): "colours are not between 0 and 1",
    ("rgb_to_hsv", 2): "colours are not between 0 and 1",
}


def their_gradients(theirs: Any, case: Case, outputs: Sequence[np.ndarray]) -> list[Any] | None:
    """TensorFlow imports the call that flowc exports and builds its gradient: an array for each
    input, or None. None where it refuses that, or has no kernel."""
    feeds: dict[Tensor, np.ndarray] = {}
    with Graph().as_default() as graph:
        operation, inputs, dys = operation_of(case, outputs, True, feeds)
        exported = theirs.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    flows = [k for k, y in enumerate(operation.outputs) if is_trainable(y)]
    with theirs.Graph().as_default() as other, theirs.Session() as session:
        there = other.get_tensor_by_name
        try:
            theirs.import_graph_def(exported, name="")
            found = theirs.gradients(
                [there(operation.outputs[k].name) for k in flows],
                [there(x.name) for x in inputs],
                [there(dys[k].name) for k in flows],
            )
            tensors = {i: theirs.convert_to_tensor(g) for i, g in enumerate(found) if g is not None}
            arrays = session.run(tensors, {there(x.name): a for x, a in feeds.items()})
        except (LookupError, RuntimeError, TypeError, ValueError, theirs.errors.OpError):
            return None
    return [arrays.get(i) for i in range(len(inputs))]


@pytest.mark.parametrize("op", [o for o in OPS_OF_GRAPHS if o.name not in NOT_COMPARED], ids=str)
def test_gradients_are_those_of_tensorflow(op: Op) -> None:
    theirs = pytest.importorskip("tensorflow.compat.v1")
    compared = 0
    cases = examples_of(op)
    if not cases:
        pytest.skip("it takes more than arrays: programs show its gradient")
    for case in cases:
        if (op.name, case.number) in {**MISSING, **OTHER_SLOPES}:
            continue
        case = replace(case, inputs=tuple(map(_moderate, case.inputs)))
        outputs, ours = value_gradients(case)
        found = their_gradients(theirs, case, outputs) or [None] * len(ours)
        for i, (mine, other, x) in enumerate(zip(ours, found, case.inputs, strict=True)):
            if other is not None and flows(x):
                assert mine is not None, (case.text, i)
                np.testing.assert_allclose(
                    mine.astype(np.complex128),
                    other.astype(np.complex128),
                    rtol=2e-5,
                    atol=5e-6,
                    err_msg=f"{case.text}, input {i}",
                )
                compared += 1
    assert compared


def _moderate(array: np.ndarray) -> np.ndarray:
    """With 1 for what is no number or too large to compute with."""
    if not flows(array):
        return array
    return np.where(np.isfinite(array) & (np.abs(array) < 1e30), array, array.dtype.type(1))
