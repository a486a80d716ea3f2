"""Reads of variables and assignments that nothing orders: what TensorFlow usually gives, and that
the orders which control inputs give stay. The numbers are TensorFlow's (two threads, most runs)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import flowc as tf

KINDS = pytest.mark.parametrize("resource", [False, True], ids=["reference", "handle"])
Build = Callable[[Any, Any, Any], Sequence[Any]]


def run(build: Build, resource: bool, training: bool = False) -> list[float]:
    """First elements of what `build(v, x, t)` gives, where v holds 2 and x is 10."""
    graph = tf.Graph()
    with graph.as_default():
        v = tf.get_variable("v", initializer=tf.constant([2.0, 2.0]), use_resource=resource)
        x, t = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.bool, [])
        fetches = build(v, x, t)
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            found = session.run(list(fetches), {x: [10.0, 10.0], t: training})
    return [float(np.ravel(value)[0]) for value in found]


@KINDS
def test_branch_reads_before_an_assignment_that_it_does_not_wait_for(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        assigned = tf.assign(v, x * 0.5 + v)
        return tf.cond(t, lambda: x, lambda: v + 1.0), assigned

    assert run(build, resource) == [3.0, 7.0]


@KINDS
def test_branch_reads_early_where_the_other_one_waits_for_the_assignment(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        assigned = tf.assign(v, x * 0.5 + v)

        def after() -> Any:
            with tf.control_dependencies([assigned]):
                return x * 2.0

        return tf.cond(t, after, lambda: v + 1.0), assigned

    assert run(build, resource) == [3.0, 7.0]
    assert run(build, resource, training=True) == [20.0, 7.0]


@KINDS
def test_nested_branch_reads_early(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        assigned = tf.assign(v, tf.tanh(x) + 50.0)
        inner = lambda: tf.cond(x[0] > 1e9, lambda: x, lambda: v + 1.0)
        return tf.cond(t, lambda: x, inner), assigned

    assert run(build, resource) == [3.0, 51.0]


@KINDS
def test_branch_waits_for_an_assignment_where_an_edge_says_so(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        with tf.control_dependencies([tf.assign(v, x)]):
            return [tf.cond(t, lambda: x, lambda: v + 1.0)]

    assert run(build, resource) == [11.0]


@KINDS
def test_each_iteration_of_a_loop_reads_early(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        assigned = tf.assign(v, x)
        body = lambda i, s: (i + 1, s + v)
        return tf.while_loop(lambda i, s: i < 3, body, [0, tf.zeros([2])])[1], assigned

    assert run(build, resource) == [6.0, 10.0]


@KINDS
def test_read_made_after_an_assignment_comes_before_it(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        assigned = tf.assign_add(v, x)
        return v * 2.0, assigned

    assert run(build, resource) == [4.0, 12.0]


def test_assignment_comes_before_a_read_that_more_leads_up_to() -> None:
    """A reference's memory is read where an operation uses it."""

    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        assigned = tf.assign(v, x)
        return tf.tanh(tf.tanh(x)) * 0.0 + v, assigned

    assert run(build, resource=False) == [10.0, 10.0]
    assert run(build, resource=True) == [2.0, 10.0]


@KINDS
def test_two_assignments_that_each_read_what_the_other_assigns(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        w = tf.get_variable("w", initializer=tf.constant([5.0, 5.0]), use_resource=resource)
        return tf.assign(v, w + 1.0), tf.assign(w, v + 1.0)

    assert run(build, resource) == [6.0, 3.0]


@KINDS
def test_read_between_two_assignments_sees_the_one_that_it_waits_for(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        late = tf.assign_add(v, tf.tanh(x) * 0.0 + 100.0)
        first = tf.assign(v, x)
        with tf.control_dependencies([first]):
            return [tf.cond(t, lambda: x, lambda: v + 1.0), late]

    # The one that nothing orders comes behind the read, or both before it: never what v was.
    assert run(build, resource)[0] in (11.0, 111.0)


@KINDS
def test_value_and_update_of_a_metric_in_one_run(resource: bool) -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.variable_scope("", use_resource=resource):
        value, update = tf.metrics.mean(tf.placeholder_with_default([1.0, 3.0], [2], name="x"))
        with tf.Session(graph=graph) as session:
            session.run(tf.local_variables_initializer())
            assert session.run([value, update]) == [0.0, 2.0]
            assert session.run([value, update]) == [2.0, 2.0]


@pytest.mark.parametrize("name", [tf.identity, tf.stop_gradient])
def test_what_passes_a_reference_on_is_its_memory(name: Callable[[Any], Any]) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        read = name(v)
        with tf.control_dependencies([read]):
            assigned = tf.assign_add(v, x)
        with tf.control_dependencies([assigned]):
            return read * 1.5, read

    assert run(build, resource=False) == [18.0, 12.0]
    assert run(build, resource=True) == [3.0, 2.0]


@KINDS
def test_value_of_a_branch_that_an_operation_takes_is_read_early(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        read = tf.cond(t, lambda: x, v.read_value)
        return read + 1.0, tf.assign(v, tf.tanh(x) + 50.0)

    assert run(build, resource) == [3.0, 51.0]


def test_value_of_a_branch_that_is_only_fetched_is_the_memory() -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        return tf.cond(t, lambda: x, v.read_value), tf.assign(v, tf.tanh(x) + 50.0)

    assert run(build, resource=False) == [51.0, 51.0]


@KINDS
def test_read_where_a_variable_is_initialized_comes_before_its_assignment(resource: bool) -> None:
    def build(v: Any, x: Any, t: Any) -> Sequence[Any]:
        read = tf.cond(tf.is_variable_initialized(v), v.read_value, lambda: x)
        return read + 1.0, tf.assign_add(v, [1.0, 1.0])

    assert run(build, resource) == [3.0, 3.0]
