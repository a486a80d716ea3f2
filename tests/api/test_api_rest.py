"""Functions over arrays, images and numbers against what TensorFlow did with the same programs
(`api_rest_snippets.py`).

Recorded by `tests/oracle/record_api_rest.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import outcome
from snippets.api_rest_snippets import REST_SNIPPETS
from snippets.api_snippets import Snippet

import flowc
from flowc import errors

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "recorded" / "api_rest.json").read_text()
)
# Sums of products in another order, or functions of other digits: (relative, absolute).
CLOSENESS = {"fourier": (1e-5, 2e-6), "image_quality": (1e-5, 2e-6)}


@pytest.mark.parametrize("snippet", REST_SNIPPETS, ids=lambda s: s.name)
def test_as_tensorflow(snippet: Snippet) -> None:
    recorded = RECORDED[snippet.name]
    found = outcome(flowc, snippet)
    if recorded["error"] is not None:
        names, message = recorded["error"]
        assert found.error is not None, f"TensorFlow raises {names[0]}: {message}"
        wanted = next(n for n in names if hasattr(builtins, n) or hasattr(errors, n))
        assert wanted in found.error[0], f"{found.error}, TensorFlow: {names[0]}: {message}"
        return
    assert found.error is None, found.error
    relative, absolute = CLOSENESS.get(snippet.name, (2e-6, 1e-6))
    for ours, theirs in zip(found.values, recorded["values"], strict=True):
        assert ours[0] == theirs[0]
        if ours[0] == "object":
            assert json.loads(json.dumps(ours, default=bytes.hex)) == theirs
        else:
            assert np.shape(ours[1]) == np.shape(theirs[1])
            np.testing.assert_allclose(ours[1], theirs[1], rtol=relative, atol=absolute)
