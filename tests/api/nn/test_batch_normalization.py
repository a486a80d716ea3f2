"""Batch renormalisation, virtual batches and adjustments compute and update as the recording of
`tests/oracle/record_batch_normalization.py` says that TensorFlow does.

`FLOWC_FUZZ` trains every case.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_normalization_cases import CASES, trained

import flowc as tf

PLACE = Path(__file__).parents[2] / "recorded" / "batch_normalization.json"
RECORDED = json.loads(PLACE.read_text())
FEW = ["virtual_renorm", "clipped", "adjusted"]


@pytest.mark.parametrize("name", list(CASES) if "FLOWC_FUZZ" in os.environ else FEW)
def test_trains_as_in_tensorflow(name: str) -> None:
    found, expected = trained(tf, name), RECORDED[name]
    assert list(found) == list(expected)
    for what, value in expected.items():
        np.testing.assert_allclose(found[what], value, rtol=2e-5, atol=2e-6, err_msg=what)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"renorm": True, "renorm_clipping": {"max": 1.0}}, "invalid keys for `renorm_clipping`"),
        ({"renorm": True, "fused": True}, "`fused=True` and `renorm=True`"),
        ({"virtual_batch_size": 2, "fused": True}, "when `virtual_batch_size` is specified"),
        ({"virtual_batch_size": 0}, "must be a positive integer"),
        ({"virtual_batch_size": 2, "axis": 0}, "axis cannot include 0"),
        ({"virtual_batch_size": 2, "adjustment": lambda s: s}, "adjustment cannot be specified"),
    ],
)
def test_arguments_that_exclude_each_other(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tf.layers.batch_normalization(tf.zeros([4, 3]), **arguments)


def test_a_layer_is_made_again_of_its_config() -> None:
    clipping = {"rmax": 2.0}
    layer = tf.layers.BatchNormalization(renorm=True, renorm_clipping=clipping)
    again = tf.layers.BatchNormalization.from_config(layer.get_config())
    assert (again.renorm, again.renorm_clipping, again.renorm_momentum) == (True, clipping, 0.99)
