"""`flowc edit`, `extract` and `freeze`: a model that TensorFlow trained, changed by the commands
and run, against what TensorFlow computes of it.

Recorded by `tests/oracle/record_edited_models.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edited_models import (
    EDITS,
    EXTRACTS,
    FREEZES,
    computed,
    computed_from_initial_values,
    computed_when_frozen,
)

import flowc as tf
from flowc.cli.entry import run_command_line

TESTS = Path(__file__).parents[1]
MODEL = str(TESTS / "data" / "lookup" / "lookup")
META = f"{MODEL}.meta"
RECORDED: dict[str, Any] = json.loads((TESTS / "recorded" / "edited_models.json").read_text())

RUNS: dict[str, tuple[dict[str, list[str]], str, Callable[[str], Any]]] = {
    "edit": (EDITS, "new.meta", lambda out: computed(tf, out, MODEL)),
    "extract": (EXTRACTS, "new.meta", lambda out: computed_from_initial_values(tf, out)),
    "freeze": (FREEZES, "new.pb", lambda out: computed_when_frozen(tf, out)),
}


@pytest.mark.parametrize("command, name", [(c, n) for c, run in RUNS.items() for n in run[0]])
def test_a_changed_model_computes_what_it_does_in_tensorflow(
    command: str, name: str, tmp_path: Path
) -> None:
    arguments, file, run = RUNS[command]
    out = str(tmp_path / file)
    assert run_command_line([command, META, *arguments[name], "-o", out]) == 0
    same(run(out), RECORDED[command][name])


def same(found: Any, recorded: Any) -> None:
    if isinstance(recorded, list) and recorded and isinstance(recorded[0], list):
        assert len(found) == len(recorded)
        for one, other in zip(found, recorded):
            same(one, other)
    elif isinstance(recorded, float) or (recorded and isinstance(recorded[0], float)):
        np.testing.assert_allclose(found, recorded, rtol=1e-5)
    elif isinstance(recorded, list):
        assert len(found) == len(recorded)
        for one, other in zip(found, recorded):
            same(one, other) if isinstance(other, list) else np.testing.assert_equal(one, other)
    else:
        assert found == recorded


# -- every form of a model, what is said, what goes wrong


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    capsys.readouterr()
    code = run_command_line(args)
    return code, capsys.readouterr().err


@pytest.mark.parametrize("ending", ["pb", "pbtxt", "json"])
def test_forms_of_a_graph_def(ending: str, tmp_path: Path) -> None:
    first, out = str(tmp_path / "first.pb"), str(tmp_path / f"out.{ending}")
    again = str(tmp_path / "again.pb")
    assert run_command_line(["freeze", META, "--outputs", "doubled", "-o", first]) == 0
    assert run_command_line(["edit", first, "--rename", "ids=rows", "-o", out]) == 0
    assert run_command_line(["extract", out, "--outputs", "summed", "-o", again]) == 0
    graph = tf.load_graph(again)
    with tf.Session(graph=graph) as session:
        value = session.run("summed:0", {"rows:0": [1, 1, 1]})
    assert value.shape == (3, 3)


def test_a_meta_graph_as_text_and_json(tmp_path: Path) -> None:
    texts = [str(tmp_path / name) for name in ("m.pbtxt", "m.json", "m.meta")]
    for before, after in zip([META, *texts], texts):
        assert run_command_line(["edit", before, "--set-attr", "hot:axis=-1", "-o", after]) == 0
    kept = tf.load_graph(texts[-1], MODEL)
    assert sorted(kept.collections) == sorted(tf.load_graph(META).collections)
    with tf.Session(graph=kept) as session:
        assert session.run("doubled:0", {"ids:0": [0, 1, 2]}).shape == (3, 2)


@pytest.fixture
def saved_model(tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        v = tf.get_variable("v", initializer=3.0)
        y = tf.multiply(tf.identity(x, name="same"), v, name="y")
        session.run(v.initializer)
        tf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})
    return folder


def test_a_saved_model(
    saved_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "edited"
    edit = ["edit", str(saved_model), "--replace", "Mul=Add", "--rename", "x=in", "-o", str(out)]
    code, words = said(capsys, *edit)
    assert code == 0 and "kept variables" in words
    with tf.Session(graph=tf.load_graph(out)) as session:
        info = session.graph.signatures["serving_default"].inputs["x"]
        assert info.name == "in:0"
        np.testing.assert_array_equal(session.run("y:0", {"in:0": [1.0, 2.0]}), [4.0, 5.0])
    code, words = said(capsys, *edit)  # it is there now
    assert code == 2 and "folder of its own" in words
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    part = tmp_path / "part"
    code, words = said(capsys, "extract", str(out), "--outputs", "y", "-o", str(part))
    assert code == 0 and "dropped the saver" in words
    with tf.Session(graph=tf.load_graph(part)) as session:
        np.testing.assert_array_equal(session.run("y:0", {"in:0": [1.0]}), [4.0])
    frozen = tmp_path / "frozen.pb"
    code, words = said(capsys, "freeze", str(saved_model), "-o", str(frozen), "--clear-devices")
    assert code == 0 and "froze 1 variables: v" in words and "signature serving_default" in words


def test_freezing_needs_no_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a placeholder that outputs need, and whose shape nobody gave."""
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.float32, name="given")
        v = tf.get_variable("v", initializer=np.float32(2), use_resource=True)
        tf.multiply(given, v, name="product")
        session.run(v.initializer)
        tf.train.Saver().save(session, str(tmp_path / "model"))
    meta, out = str(tmp_path / "model.meta"), str(tmp_path / "frozen.pb")
    code, words = said(capsys, "freeze", meta, "--outputs", "product", "-o", out)
    assert code == 0 and "froze 1 variables: v" in words, words
    with tf.Session(graph=tf.load_graph(out)) as session:
        assert session.run("product:0", {"given:0": 1.5}) == 3.0


def test_a_custom_op_is_let_through(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "custom.meta"
    code, words = said(
        capsys,
        *("edit", META, "--replace", "GatherV2=FastLookup", "--where", "name~^words/"),
        *("--set-attr", "words/lookup:cache_rows=1024", "-o", str(out)),
    )
    assert code == 0 and "FastLookup are not checked: its library must be loaded" in words
    op = tf.load_graph(out).get_operation_by_name("words/lookup")
    assert (op.type, op.get_attr("cache_rows"), op.get_attr("batch_dims")) == (
        "FastLookup",
        1024,
        0,
    )


def test_an_op_that_may_be_misspelt_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit = ("edit", META, "--replace", "GatherV2=GaterV2", "-o", str(tmp_path / "other.meta"))
    code, words = said(capsys, *edit)
    assert code == 0 and "its library must be loaded; did you mean 'GatherV2'" in words


@pytest.mark.parametrize(
    "command, code, words",
    [
        ("edit", 2, "nothing is to be edited"),
        ("edit --replace GatherV3=Gather", 2, "no GatherV3 node\n  try: did you mean 'GatherV2'"),
        ("edit --replace GatherV2=Gather --where name~^none", 2, "has name~^none"),
        ("edit --replace GatherV2=Gather --where shape~3", 2, "name or device or input"),
        ("edit --replace GatherV2=Gather --where name~(", 2, "no regular expression"),
        ("edit --replace GatherV2=Gather", 2, "(Gather): takes 2 inputs, found 3"),
        ("edit --replace GatherV2", 2, "expected two parts"),
        ("edit --rewire doubled=score", 2, "NODE:INPUT"),
        ("edit --rewire double:0=score", 2, "did you mean 'doubled'"),
        ("edit --rewire doubled:7=score", 2, "has 2 inputs, named x, y"),
        ("edit --rewire doubled:0=scores", 2, "did you mean 'score'"),
        ("edit --rewire doubled:0=score:4", 2, "MatMul node 'score' has 1 output"),
        ("edit --rewire doubled:0=ids", 2, "is 'ids:0'"),
        ("edit --rewire doubled:0=", 2, "takes 2 inputs, found 1"),
        ("edit --set-attr score:transpose=true", 2, "has no attr 'transpose'"),
        ("edit --set-attr score:transpose_a=maybe", 2, "'maybe' is no bool"),
        ("edit --set-attr scores:T=float32", 2, "no node and no op"),
        ("edit --remove score", 2, "--rewire"),
        ("edit --rename score=doubled", 2, "there is a node of that name"),
        ("edit --rename scores=points", 2, "did you mean 'score'"),
        ("extract --outputs doubl", 2, "did you mean 'doubled'"),
        ("extract --outputs summed --inputs doubled", 2, "no output needs the inputs doubled"),
        ("freeze --outputs doubl", 2, "did you mean"),
        ("freeze --outputs doubled --keep nothing", 2, "no node of that name"),
        ("freeze --outputs doubled --checkpoint nowhere", 4, "nowhere"),
    ],
)
def test_errors_name_what_was_found_and_leave_nothing(
    command: str, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *more = command.split()
    out = tmp_path / "out.meta"
    found, text = said(capsys, name, META, *more, "-o", str(out))
    assert words in text and found == code
    assert list(tmp_path.iterdir()) == []
