"""The programs of `examples/training` on a device: the losses of their steps are TensorFlow's.

Over the driver without a GPU a few programs, and of these the first steps; with `FLOWC_GPU=1` on
the GPU all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from devices.fake_cuda import IS_ON_GPU, FakeCuda
from training_programs import NAMES, losses_of

import flowc as tf

RECORDED = json.loads(
    (Path(__file__).parents[2] / "recorded" / "training_programs.json").read_text()
)
STEPS = 60 if IS_ON_GPU else 4
FEW = ("monitored", "char_rnn")
# Steps after which rounding has grown too large to compare (tests/api/training).
UNSTABLE = {"resnet": 20}
SMALL = {"policy_gradient"}  # a few numbers, which stay on the host


@pytest.mark.parametrize("name", NAMES if IS_ON_GPU else FEW)
def test_a_program_trains_on_a_device(
    name: str, device: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tf.Session.__init__

    def on_the_device(self: Any, *args: Any, **more: Any) -> None:
        start(self, *args, **{**more, "device": "cuda"})

    with mock.patch.object(tf.Session, "__init__", on_the_device):
        found = losses_of(name, tf, STEPS)
    launched = any(line.startswith(("launch", "graph")) for line in device.log())
    assert launched or name in SMALL
    wanted = RECORDED[name][:STEPS]
    stable = UNSTABLE.get(name, STEPS)
    np.testing.assert_allclose(found[:stable], wanted[:stable], rtol=1e-3, atol=1e-6)
