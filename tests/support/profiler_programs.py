"""What `tf.profiler` says of graphs: programs for TensorFlow and for flowc.

In: a module with TensorFlow 1's names. Out: for each view the nodes with their numbers, as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def dense(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [4, 8], name="x")
    with tf.variable_scope("fc"):
        w = tf.get_variable("w", [8, 3])
        b = tf.get_variable("b", [3])
        y = tf.nn.softmax(tf.nn.bias_add(tf.matmul(x, w), b), name="y")
    loss = tf.reduce_mean(tf.square(y - 1.0)) + tf.nn.l2_loss(w)
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def images(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2, 8, 8, 3], name="x")
    with tf.variable_scope("net/first"):
        k = tf.get_variable("k", [3, 3, 3, 5])
        d = tf.get_variable("d", [3, 3, 5, 2])
    y = tf.nn.conv2d(x, k, [1, 1, 1, 1], "SAME", name="net/c")
    y = tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", name="net/p")
    y = tf.nn.avg_pool(y, [1, 3, 3, 1], [1, 1, 1, 1], "VALID")
    y = tf.nn.depthwise_conv2d(y, d, [1, 1, 1, 1], "SAME")
    grads = tf.gradients(tf.reduce_sum(tf.rsqrt(y)), [k, d, x])
    tf.argmax(tf.add_n([g for g in grads[:1] for _ in range(3)]), 0)
    tf.get_variable("kept", [7], trainable=False)


def numbers(node: Any, is_counted: bool) -> list[Any]:
    """A node of a view by scopes and all below it; where numbers are equal, by name."""
    own = [node.name, node.parameters, node.total_parameters, node.float_ops, node.total_float_ops]
    below = [numbers(child, is_counted) for child in node.children]
    count = node.total_definition_count if is_counted else 0
    return [*own, count, sorted(below, key=lambda n: (-n[4], -n[2], n[0]))]


def types(node: Any) -> list[Any]:
    """The types of a view by types, of which each has the next inside, and the whole."""
    found: list[Any] = []
    whole = [node.total_parameters, node.total_float_ops]
    while node.children:
        (node,) = node.children
        inner = [n.name for n in node.graph_nodes]
        found.append([node.name, node.parameters, node.float_ops, inner])
    numbers = [row[2] for row in found]
    assert numbers == sorted(numbers, reverse=True)
    return [whole, sorted(found, key=lambda row: (-row[2], row[0]))]


def views(tf: Any, program: Callable[[Any], None]) -> list[Any]:
    """The views of a program's graph."""
    builder = tf.profiler.ProfileOptionBuilder
    with tf.Graph().as_default() as graph:
        program(tf)
    found: list[Any] = []
    for cmd, options in (
        ("scope", builder.trainable_variables_parameter()),
        ("scope", builder.float_operation()),
        ("op", builder.float_operation()),
        ("op", builder.trainable_variables_parameter()),
        ("scope", {**builder.float_operation(), "max_depth": 2}),
        ("scope", {**builder.float_operation(), "hide_name_regexes": ["gradients.*"]}),
        ("scope", {**builder.float_operation(), "account_type_regexes": ["Conv.*", "MatMul"]}),
        (
            "scope",
            builder(builder.float_operation())
            .with_max_depth(1)
            .account_displayed_op_only(False)
            .build(),
        ),
    ):
        quiet = {**options, "output": "none"}
        counted = bool(options["account_displayed_op_only"])
        view = tf.profiler.profile(graph, cmd=cmd, options=quiet)
        found.append([cmd, numbers(view, counted) if cmd == "scope" else types(view)])
    return found


PROGRAMS = {"dense": dense, "images": images}


def options(tf: Any) -> list[Any]:
    """The dicts of the builder."""
    builder = tf.profiler.ProfileOptionBuilder
    made = builder().with_step(3).select(["bytes"]).order_by("bytes").with_empty_output()
    made.with_node_names(show_name_regexes=["a.*"]).with_min_parameters(4)
    return [
        builder().build(),
        builder.trainable_variables_parameter(),
        builder.float_operation(),
        builder.time_and_memory(min_micros=5),
        made.build(),
    ]
