"""Programs of TensorFlow's own API, run by TensorFlow and by flowc behind its session."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.oracle
tf.compat.v1.disable_eager_execution()

from flowc_behind import FlowcSession
from programs import arrays, lists, matrices, networks, quantized, structures, variants, xla

EXPRESSIONS: dict[str, Callable[[], Any]] = {
    **matrices.EXPRESSIONS,
    **arrays.EXPRESSIONS,
    **networks.EXPRESSIONS,
    **structures.EXPRESSIONS,
    **quantized.EXPRESSIONS,
    **xla.EXPRESSIONS,
    **variants.EXPRESSIONS,
    **lists.EXPRESSIONS,
}
DIGITS = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 2e-4, "complex64": 2e-4}


def outcome(session: Any, fetches: Any) -> Any:
    """A list of the arrays of a run, or the class of its exception and what it says."""
    try:
        return tf.nest.flatten(session.run(fetches))
    except tf.errors.OpError as error:
        return type(error).__name__, str(error)


def agree(found: Any, wanted: Any) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind in "fcV":
            bound = DIGITS.get(other.dtype.name, 1e-8)
            wide = np.complex128 if one.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(one.astype(wide), other.astype(wide), rtol=bound, atol=bound)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_expression(name: str) -> None:
    with tf.Graph().as_default() as graph:
        tf.compat.v1.set_random_seed(4)
        fetches = EXPRESSIONS[name]()
    with tf.compat.v1.Session(graph=graph) as session:
        wanted = outcome(session, fetches)
    with FlowcSession(graph=graph) as session:
        found = outcome(session, fetches)
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple), f"flowc gave {found}, TensorFlow {wanted}"
        assert found[0] == wanted[0]
    else:
        assert isinstance(found, list), found
        agree(found, wanted)
