"""What `docs/migration.md` says, where no other test shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import flowc as tf

PAGE = (Path(__file__).parents[2] / "docs" / "migration.md").read_text()
# Names of modules and families in the table of what is not there; TensorFlow's own, in full.
NOT_THERE = re.findall(r"`tf\.([\w.]+)`", "".join(re.findall(r"(?m)^\|([^|]*)\|", PAGE)))
INSTEAD = re.findall(r"`tf\.([\w.]+)`", "".join(re.findall(r"(?m)^\|[^|]*\|([^|]*)\|", PAGE)))


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as found:
        yield found


def named(name: str) -> object:
    found: object = tf
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", NOT_THERE)
def test_what_is_not_there_says_so(name: str) -> None:
    with pytest.raises(AttributeError, match="is not provided"):
        named(name)


@pytest.mark.parametrize("name", INSTEAD)
def test_what_stands_in_its_place_is_there(name: str) -> None:
    assert named(name) is not None


def test_import_lines() -> None:
    import flowc.compat.v1 as first
    from flowc.compat import v1 as second

    assert first is second
    assert first.Session is tf.Session
    tf.disable_v2_behavior()
    tf.disable_eager_execution()
    assert tf.constant(1.0).op.type == "Const"


def test_a_run_that_fails_leaves_the_variables_as_they_were() -> None:
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign(v, 5.0)]):
        bad = tf.check_numerics(tf.constant(float("nan")), "bad")
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(bad)
        assert session.run(v) == 1.0


def test_imported_functions_of_python_need_permission() -> None:
    made = tf.py_func(lambda a: a * 2, [tf.constant(1.0)], tf.float32, name="y")
    exported = made.graph.as_graph_def()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(exported, name="")
        with pytest.raises(tf.errors.PermissionDeniedError):
            session.run("y:0")
        graph.allow("python", "files")
        assert session.run("y:0") == 2.0


def test_devices_of_imported_nodes_are_kept_and_not_looked_at() -> None:
    with tf.device("/gpu:3"):
        x = tf.constant(3.0, name="x")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(x)
    exported = x.graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(exported, name="")
        assert session.run("x:0") == 3.0


def test_options() -> None:
    given = tf.placeholder(tf.float32, [])
    x = given * 2.0
    seen = tf.RunMetadata()
    every = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=10000)
    config = tf.ConfigProto(inter_op_parallelism_threads=8, device_count={"GPU": 0})
    with tf.Session(config=config) as session:
        assert session.run(x, {given: 1.0}, options=every, run_metadata=seen) == 2.0
    assert [s.node_name for d in seen.step_stats.dev_stats for s in d.node_stats] == ["mul"]


def test_data_files_of_a_second_save(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(2):
            saver.save(session, f"{tmp_path}/m")
        saver.restore(session, f"{tmp_path}/m")
    assert [p.name for p in tmp_path.glob("m.data*")] == ["m.data-00000-of-00002"]
