"""Sessions that are fed many shapes: what they compile for them, and that results stay right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc import compiler, errors
from flowc.extract import size_unification
from flowc.ir.computation import Computation


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as found:
        yield found


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """For each program that the test compiles, the types of its inputs."""
    found: list[list[str]] = []
    load = compiler.load_executable

    def loaded(computation: Computation, *settings: Any) -> Any:
        found.append([str(p.output.type) for p in computation.parameters])
        return load(computation, *settings)

    monkeypatch.setattr(compiler, "load_executable", loaded)
    return found


def _rows(*dims: int) -> np.ndarray:
    return np.arange(np.prod(dims), dtype=np.float32).reshape(dims)


def test_from_the_third_shape_on_one_program_serves_all(compiled: list[list[str]]) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    total = tf.reduce_sum(x * 2.0, 0)
    with tf.Session() as session:
        for count in (3, 4, 5, 6, 700, 4):
            np.testing.assert_array_equal(
                session.run(total, {x: _rows(count, 2)}), 2 * _rows(count, 2).sum(0)
            )
    assert compiled == [["f32[3,2]"], ["f32[4,2]"], ["f32[x_0,2]"]]


def test_a_loop_over_rows_is_compiled_once_for_many_lengths(compiled: list[list[str]]) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.get_variable("v", initializer=0.0)
    _, grown = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, y: (i + 1, tf.concat([y, x + tf.cast(i, tf.float32)], 0)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    added = tf.assign_add(v, tf.reduce_sum(grown))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        del compiled[:]
        for count in range(2, 12):
            found = session.run([grown, added], {x: np.ones(count, np.float32)})[0]
            np.testing.assert_array_equal(
                found, np.repeat(np.array([1, 1, 2, 3], np.float32), count)
            )
        assert session.run(v) == sum(7 * count for count in range(2, 12))
    assert len(compiled) == 4  # two, the open one, and that of the last fetch


def test_sizes_of_one_broadcast(compiled: list[list[str]]) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.placeholder(tf.float32, [None], name="y")
    total = x + y
    pairs = [(2, 2), (3, 3), (4, 4), (5, 5), (5, 1), (6, 1), (1, 7), (7, 1), (8, 1), (0, 1)]
    with tf.Session() as session:
        for pair in pairs:
            fed = [_rows(count) for count in pair]
            np.testing.assert_array_equal(session.run(total, dict(zip((x, y), fed))), sum(fed))
    assert compiled[2] == ["f32[x_0]", "f32[x_0]"]
    assert compiled[3:] == [
        ["f32[5]", "f32[1]"],
        ["f32[6]", "f32[1]"],
        ["f32[1]", "f32[7]"],
        ["f32[x_0]", "f32[1]"],
        ["f32[0]", "f32[1]"],
    ]


def test_sizes_that_were_equal_by_chance(compiled: list[list[str]]) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.placeholder(tf.float32, [None], name="y")
    both = tf.concat([x, y], 0)
    with tf.Session() as session:
        for pair in ((2, 2), (3, 3), (4, 4), (5, 6), (9, 3), (4, 4), (8, 7)):
            fed = [_rows(count) for count in pair]
            np.testing.assert_array_equal(
                session.run(both, dict(zip((x, y), fed))), np.concatenate(fed)
            )
    assert compiled[2:] == [
        ["f32[x_0]", "f32[x_0]"],
        ["f32[5]", "f32[6]"],
        ["f32[x_0]", "f32[y_0]"],
    ]


def test_what_only_numbers_compile_for_is_compiled_for_each_shape(
    compiled: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    negative = -x
    found = size_unification.extract_program
    tried: list[bool] = []

    def extracted(graph: Any, fetches: Any, types: Any, *rest: Any) -> Any:
        tried.append(all(t.is_static for t in types.values()))
        if not tried[-1]:
            raise errors.UnsupportedError("a size is not a number")
        return found(graph, fetches, types, *rest)

    monkeypatch.setattr(size_unification, "extract_program", extracted)
    with tf.Session() as session:
        for count in (2, 3, 4, 5):
            np.testing.assert_array_equal(session.run(negative, {x: _rows(count)}), -_rows(count))
    assert tried == [True, True, False, True, True]
    assert len(compiled) == 4


def test_faults_of_a_later_shape_are_those_of_the_shape(compiled: list[list[str]]) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.placeholder(tf.float32, [None], name="y")
    total = tf.add(x, y, name="total")
    with tf.Session() as session:
        for count in (2, 3, 4):
            session.run(total, {x: _rows(count), y: _rows(count)})
        with pytest.raises(errors.ShapeError, match=r"'total'.*\[3\] vs. \[4\]") as caught:
            session.run(total, {x: _rows(3), y: _rows(4)})
        assert caught.value.__context__ is None
        session.run(total, {x: _rows(9), y: _rows(9)})
    assert len(compiled) == 3


def test_a_size_that_the_run_found_is_named_by_the_node_that_computes_it() -> None:
    a = tf.placeholder(tf.float32, [None])
    kept = tf.unique(a, name="kept").y
    out = tf.sin(tf.add(kept, tf.constant([1.0, 2.0, 3.0]), name="met"))
    with tf.Session() as session:
        np.testing.assert_allclose(
            session.run(out, {a: [1, 1, 2, 3]}), np.sin([2, 4, 6], dtype="f")
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="found 2 and 3") as caught:
            session.run(out, {a: [1, 1, 2]})
    assert caught.value.op is not None and caught.value.op.name == "met"
    assert "is dim 0 of what node 'kept' computes" in str(caught.value)
