"""Programs over strings, records, ragged and sparse tensors against what TensorFlow saw in them.

Recorded by `tests/oracle/record_text_programs.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from row_program import seen_by
from snippets.api_snippets import Snippet
from text_programs import TEXT_PROGRAMS

import flowc as tf

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "recorded" / "text_programs.json").read_text()
)


@pytest.mark.parametrize("snippet", TEXT_PROGRAMS, ids=lambda s: s.name)
def test_as_tensorflow(snippet: Snippet, tmp_path: Path) -> None:
    found = json.loads(json.dumps(seen_by(tf, snippet, f"{tmp_path}/")))
    wanted = RECORDED[snippet.name]
    assert len(found) == len(wanted)
    for k, (ours, theirs) in enumerate(zip(found, wanted)):
        assert close(ours, theirs) == theirs, f"entry {k}"


def close(found: Any, recorded: Any) -> Any:
    """What was found, with numbers that agree to six digits as they were recorded."""
    if isinstance(found, list) and isinstance(recorded, list) and len(found) == len(recorded):
        return [close(f, r) for f, r in zip(found, recorded)]
    if isinstance(found, float) and isinstance(recorded, float):
        near = found == pytest.approx(recorded, rel=2e-6, abs=1e-6, nan_ok=True)
        return recorded if near else found
    return found


def test_strings_are_added_as_tensorflow_adds_them() -> None:
    """By the older op, Add, which `AddV2` does not replace for them."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [None])
        for made, name, wanted in (
            (x + "_v1", "add", [b"p_v1", b"q_v1"]),
            ("a" + x, "add_1", [b"ap", b"aq"]),
            (tf.add(x, "z"), "Add_2", [b"pz", b"qz"]),
            (tf.add("z", x), "Add_3", [b"zp", b"zq"]),
            (tf.add([["a"], [x[0]]], x), "Add_4", [[b"ap", b"aq"], [b"pp", b"pq"]]),
        ):
            assert (made.op.type, made.op.name) == ("Add", name)
            assert session.run(made, {x: ["p", "q"]}).tolist() == wanted
        numbers = tf.raw_ops.Add(x=tf.constant([1.0, 2.0]), y=tf.constant(0.5))
        (slope,) = tf.gradients(numbers, [numbers.op.inputs[1]])
        assert session.run([numbers, slope])[1] == 2.0
        assert tf.add([1, 2], 3).op.type == tf.add(tf.constant(1), 3).op.type == "AddV2"
        with pytest.raises(TypeError, match="string"):
            tf.raw_ops.AddV2(x=x, y=x)
