"""SavedModels with tables fill them before the first run that needs them, in every way in which
models are loaded; files are read from the model's own folder alone.

The model and its answers are TensorFlow's: `tests/oracle/record_vocabulary_model.py`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.cli.entry import run_command_line
from flowc.errors import PermissionDeniedError
from flowc.files import identity as file_identity

MODEL = Path(__file__).parents[1] / "recorded" / "vocabulary_model"
ASKED: dict[str, Any] = json.loads((MODEL / "asked.json").read_text())
TEXT = np.array([text.encode() for text in ASKED["text"]], object)
INPUT, LABEL, SCORES = "serving_default_text:0", *(f"StatefulPartitionedCall:{i}" for i in (0, 1))


def loaded(path: Path) -> list[Any]:
    with tf.Session(graph=tf.load_graph(path)) as session:
        return session.run([LABEL, SCORES], {INPUT: TEXT})


def by_the_loader(path: Path) -> list[Any]:
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.loader.load(session, ["serve"], str(path))
        return session.run([LABEL, SCORES], {INPUT: TEXT})


def compiled(path: Path) -> list[Any]:
    program = tf.compile(path)
    assert program.outputs == ("label", "scores")
    return [program(TEXT)[i] for i in (0, 1)]


def check(found: list[Any]) -> None:
    assert [label.decode() for label in found[0]] == ASKED["label"]
    np.testing.assert_allclose(found[1], np.array(ASKED["scores"], np.float32), rtol=1e-6)


@pytest.mark.parametrize("run", [loaded, by_the_loader, compiled], ids=lambda f: f.__name__)
def test_tables_are_filled(run: Callable[[Path], list[Any]], tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"  # the file is where the model is, not where it was written
    shutil.copytree(MODEL, moved)
    check(run(moved))


def test_tables_are_filled_for_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    given = json.dumps(ASKED["text"])
    assert run_command_line(["run", str(MODEL), "--input", f"text={given}"]) == 0
    assert str([label.encode() for label in ASKED["label"]]) in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [["run", "--input", 'text=["a"]'], ["compile", "-o", "m.so"], ["freeze", "-o", "m.pb"]],
    ids=lambda command: command[0],
)
def test_an_operation_that_is_not_there_is_named(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *rest = command
    assert run_command_line([name, str(MODEL), *rest, "--init", "NoOpp"]) == 2
    shown = capsys.readouterr().err
    assert "init 'NoOpp': the graph has no such operation\n  try: did you mean 'NoOp'?" in shown


def test_a_model_that_ran_before_fills_its_tables_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_identity, "SETTLED_SECONDS", -1)
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(3):
        check(loaded(MODEL))


def test_threads_wait_for_the_tables() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with tf.Session(graph=tf.load_graph(MODEL)) as session, ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: session.run([LABEL, SCORES], {INPUT: TEXT}), range(8)):
            check(found)


def test_what_fails_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "model"
    shutil.copytree(MODEL, path)
    (path / "assets" / "words.txt").rename(tmp_path / "words.txt")
    with tf.Session(graph=tf.load_graph(path)) as session:
        with pytest.raises(tf.errors.NotFoundError, match=r"words\.txt"):
            session.run(LABEL, {INPUT: TEXT})
        (tmp_path / "words.txt").rename(path / "assets" / "words.txt")
        check(session.run([LABEL, SCORES], {INPUT: TEXT}))


@pytest.mark.parametrize("load", [loaded, by_the_loader], ids=lambda f: f.__name__)
def test_a_link_to_a_file_elsewhere_is_not_followed(
    load: Callable[[Path], list[Any]], tmp_path: Path
) -> None:
    path = tmp_path / "model"
    shutil.copytree(MODEL, path)
    (path / "assets" / "words.txt").unlink()
    (tmp_path / "secret").write_text("root\n")
    (path / "assets" / "words.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(PermissionDeniedError, match=r"words\.txt"):
        load(path)


def test_what_needs_no_tables_runs_without(tmp_path: Path) -> None:
    path = tmp_path / "model"
    shutil.copytree(MODEL, path)
    (path / "assets" / "words.txt").unlink()
    graph = tf.load_graph(path)
    handles = [op for op in graph.get_operations() if op.type == "VarHandleOp"]
    name = next(op.name for op in handles if op.get_attr("dtype") == tf.float32)
    with graph.as_default(), tf.Session() as session:
        handle = graph.get_tensor_by_name(f"{name}:0")
        value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        assert session.run(value).shape == (6, 2)
