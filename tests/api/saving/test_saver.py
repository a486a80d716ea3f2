"""Savers, state files, readers and MetaGraphs against what TensorFlow did in the same programs.

Recorded by `tests/oracle/record_savers.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from layer_program import lines_of
from saved_model_programs import MODEL_PROGRAMS
from saver_programs import GRAPHS, PROGRAMS

import flowc as tf

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "recorded" / "savers.json").read_text()
)


EVERY = PROGRAMS | MODEL_PROGRAMS


@pytest.mark.parametrize("name", EVERY)
def test_program(name: str, tmp_path: Path) -> None:
    with tf.Graph().as_default():
        found = EVERY[name](tf, f"{tmp_path}/")
    assert json.loads(json.dumps(found)) == RECORDED[name]


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name: str) -> None:
    with tf.Graph().as_default() as graph:
        GRAPHS[name](tf)
    assert lines_of(graph.as_graph_def()) == RECORDED[name]


class Clock:
    """What `time.time` says, in hours."""

    def __init__(self) -> None:
        self.hours = 0.0

    def time(self) -> float:
        return 1e9 + self.hours * 3600


def test_one_checkpoint_in_some_hours_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("flowc.api.saving.saver.time", clock)
    with tf.Graph().as_default():
        tf.Variable(1.0, name="a")
        saver = tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=2)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for step in range(10):
                clock.hours = step * 0.75
                saver.save(session, str(tmp_path / "m"), step, write_meta_graph=False)
    stay = sorted(int(p.stem.split("-")[1]) for p in tmp_path.glob("*.index"))
    assert stay == [3, 6, 8, 9]


def test_new_checkpoints_are_iterated(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        tf.Variable(1.0, name="a")
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            asked: list[int] = []

            def write_another() -> bool:
                asked.append(len(asked))
                if len(asked) < 3:
                    saver.save(session, str(tmp_path / "m"), len(asked))
                return len(asked) == 3

            found = tf.train.checkpoints_iterator(tmp_path, timeout=0.01, timeout_fn=write_another)
            assert [Path(p).name for p in found] == ["m-1", "m-2"]
    assert list(tf.train.checkpoints_iterator(tmp_path / "none", timeout=0)) == []


def test_a_loaded_graph_is_trained_on(tmp_path: Path) -> None:
    """Variables of a `.meta` that `load_graph` read are variables: initialized, saved, assigned."""
    prefix = str(tmp_path / "m")
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0], name="v")
        tf.Variable([5], name="r", use_resource=True)
        tf.assign_add(v, [1.0, 1.0], name="step")
        with tf.Session() as session:
            session.run([tf.global_variables_initializer()])
            session.run("step")
            tf.train.Saver().save(session, prefix)
    graph = tf.load_graph(prefix + ".meta")
    with graph.as_default(), tf.Session() as session:
        assert session.run("v:0").tolist() == [2.0, 3.0]
        session.run(tf.global_variables_initializer())
        session.run("step")
        assert session.run(tf.trainable_variables()[0]).tolist() == [2.0, 3.0]
        session.run("save/restore_all", {"save/Const:0": prefix})
        assert session.run(tf.global_variables())[0].tolist() == [2.0, 3.0]
        session.run("save/control_dependency", {"save/Const:0": prefix + "2"})
    assert tf.train.list_variables(prefix + "2") == [("r", [1]), ("v", [2])]


def test_restoring_inside_a_branch(tmp_path: Path) -> None:
    """Where a switch is in the fetch set, the step is one of a compiled program, whose ranks the
    run finds."""
    prefix = str(tmp_path / "m")
    with tf.Graph().as_default():
        v = tf.Variable([[1.0, 2.0]], name="v")
        saver = tf.train.Saver()
        flag = tf.placeholder(tf.bool, [])
        read = tf.raw_ops.RestoreV2(
            prefix=prefix, tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32]
        )[0]
        chosen = tf.cond(flag, lambda: tf.reduce_sum(read), lambda: tf.constant(-1.0))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            saver.save(session, prefix)
            assert session.run([chosen, v], {flag: True})[0] == 3.0
            assert session.run(chosen, {flag: False}) == -1.0


def test_json(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        tf.Variable([1.0, 2.0], name="v")
        saver = tf.train.Saver()
        saver.export_meta_graph(str(tmp_path / "m.json"), as_json=True)
    assert json.loads((tmp_path / "m.json").read_text())["saver_def"]["version"] == "V2"
    with tf.Graph().as_default():
        found = tf.train.import_meta_graph(str(tmp_path / "m.json"))
        assert found is not None and found.saver_def == saver.saver_def
        assert [v.name for v in tf.global_variables()] == ["v:0"]


def test_contexts_of_loops_and_branches_follow_their_scope() -> None:
    path = Path(__file__).parents[2] / "recorded" / "contexts.meta"
    found: list[Any] = []
    inside: Any = None
    for scope in (None, "outer"):
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(path, import_scope=scope)
            found.append(tf.train.export_meta_graph(export_scope=scope))
            inside = tf.train.export_meta_graph().collection_def
            at = f"{scope}/" if scope else ""
            with tf.Session(graph=graph) as session:
                assert session.run(f"{at}loop/Exit_1:0", {f"{at}x:0": 2.0}) == 29.0
    for key in ("cond_context", "while_context"):
        assert found[0].collection_def[key] == found[1].collection_def[key]
        assert all(b"outer/" in value for value in inside[key].bytes_list.value)
    assert found[0].graph_def.node == found[1].graph_def.node
