"""Runs on a device without a GPU, counted and compared with those on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from devices.fake_cuda import FakeCuda

import flowc as tf

Feeds = Mapping[str, np.ndarray]
SIZES = np.random.RandomState(0).rand(70, 90).astype(np.float32)


def _counts(log: list[str]) -> dict[str, int]:
    """How often each call was made that moves something or starts a kernel."""
    kinds = ("upload", "download", "copy", "launch", "graph", "allocate")
    return {kind: n for kind in kinds if (n := sum(x.startswith(kind) for x in log))}


def counts_on_both(build: Callable[..., Any], feeds: Feeds, device: FakeCuda) -> dict[str, int]:
    """Runs a program three times on the CPU and on the device, compares, counts the calls of the
    last run."""
    with tf.Graph().as_default() as graph:
        inputs = {k: tf.placeholder(a.dtype, [None] * a.ndim, name=k) for k, a in feeds.items()}
        fetches = build(**inputs)
        given = {inputs[k]: a for k, a in feeds.items()}
        with tf.Session(graph=graph, random_seed=1) as session:
            wanted = [session.run(fetches, given) for _ in range(3)]
        calls: dict[str, int] = {}
        with tf.Session(graph=graph, random_seed=1, device="cuda") as session:
            for each in wanted:
                device.reset()
                found = session.run(fetches, given)
                calls = _counts(device.log())
                a, b = (x if isinstance(x, (list, tuple)) else [x] for x in (each, found))
                for x, y in zip(a, b, strict=True):
                    np.testing.assert_allclose(y, x, 2e-6, 1e-6)
    return calls


def product_program(x: Any) -> Any:
    return tf.nn.relu(tf.matmul(x, x, transpose_b=True) + 1.0)
