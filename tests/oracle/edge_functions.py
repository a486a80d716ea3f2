"""Graphs of functions (While, If, Case, calls) at their edges. Needs TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from edge_frames import Run, after, case, f32, i32, raw, v1
from edge_loops import for_limits, limit_
from tensorflow.python.framework.function import Defun

Spec = tf.TensorSpec
F = Spec([None], f32)
S = Spec([], f32)
I = Spec([], i32)  # noqa: E741 - beside F and S
RES = Spec([], tf.resource)


def function(*specs: Any) -> Callable[[Any], Any]:
    def made(f: Any) -> Any:
        return tf.function(f, autograph=False).get_concrete_function(*specs)

    return made


def with_x(build: Callable[[Any], Any], values: Sequence[Any] = ([1.0, -2.0],)) -> list[Run]:
    x = v1.placeholder(f32, [None], "x")
    return [Run(build(x), {x: v}) for v in values]


def double() -> Any:
    return function(F)(lambda x: x * 2.0)


def negate() -> Any:
    return function(F)(lambda x: -x)


def _if(cond: Any, inputs: Sequence[Any], then: Any, otherwise: Any, **attrs: Any) -> Any:
    return raw.If(cond=cond, input=inputs, Tout=[f32], then_branch=then, else_branch=otherwise,
                  **attrs)  # fmt: skip


@case
def if_conditions() -> Sequence[Run]:
    x = v1.placeholder(f32, [None], "x")
    c = v1.placeholder(f32, None, "c")
    y = _if(c, [x], double(), negate())
    values: list[Any] = [0.0, 2.5, [], [0.0], np.zeros((2, 0)), np.zeros((1, 1)), np.nan, -0.0]
    return [Run(y, {x: [3.0], c: v}) for v in values]


@case
def if_integer_conditions() -> Sequence[Run]:
    x = v1.placeholder(f32, [None], "x")
    c = v1.placeholder(i32, [], "c")
    return [Run(_if(c, [x], double(), negate()), {x: [3.0], c: v}) for v in (0, 1, -7)]


@case
def if_string_condition() -> Sequence[Run]:
    return with_x(lambda x: [*_if(tf.constant("a"), [x], double(), negate()),
                             *_if(tf.constant(""), [x], double(), negate())])  # fmt: skip


@case
def if_sizes_differ() -> Sequence[Run]:
    x = v1.placeholder(f32, [None], "x")
    c = v1.placeholder(tf.bool, [], "c")
    (y,) = _if(c, [x], function(F)(lambda x: tf.concat([x, x], 0)), negate())
    return [Run([y, tf.shape(y)], {x: [3.0], c: v}) for v in (True, False)]


@case
def if_ranks_differ() -> Sequence[Run]:
    x = v1.placeholder(f32, [None], "x")
    c = v1.placeholder(tf.bool, [], "c")
    (y,) = _if(c, [x], function(F)(tf.reduce_sum), negate())
    return [Run([y], {x: [3.0], c: v}) for v in (True, False)]


@case
def if_unused_result_and_effect() -> Sequence[Run]:
    x = v1.placeholder(f32, [None], "x")
    c = v1.placeholder(tf.bool, [], "c")

    def failing(x: Any) -> Any:
        with after(raw.Assert(condition=tf.constant(False), data=[tf.constant("taken")])):
            return x * 2.0

    y = raw.If(cond=c, input=[x], Tout=[f32], then_branch=function(F)(failing),
               else_branch=negate())  # fmt: skip
    with after(y[0].op):
        z = x + 1.0
    return [Run([z], {x: [3.0], c: v}) for v in (True, False)]


@case
def stateless_if_lowered() -> Sequence[Run]:
    x = v1.placeholder(f32, [None], "x")
    c = v1.placeholder(tf.bool, [], "c")
    y = raw.StatelessIf(cond=c, input=[x], Tout=[f32], then_branch=double(), else_branch=negate())
    from tensorflow.core.framework.attr_value_pb2 import AttrValue

    y[0].op._set_attr("_lower_using_switch_merge", AttrValue(b=True))
    return [Run([y[0]], {x: [3.0], c: v}) for v in (True, False)]


@case
def case_out_of_range() -> Sequence[Run]:
    x = v1.placeholder(f32, [None], "x")
    k = v1.placeholder(i32, [], "k")
    branches = [function(F)(lambda x, s=s: x * s) for s in (1.0, 10.0, 100.0)]
    (y,) = raw.Case(branch_index=k, input=[x], Tout=[f32], branches=branches)
    (z,) = raw.StatelessCase(branch_index=k, input=[x], Tout=[f32], branches=branches[:1])
    return [Run([y, z], {x: [3.0], k: v}) for v in (-5, -1, 0, 1, 2, 3, 99)]


@case
def case_constant_index() -> Sequence[Run]:
    branches = [function(F)(lambda x, s=s: x * s) for s in (1.0, 10.0, 100.0)]
    return with_x(
        lambda x: [
            raw.Case(branch_index=tf.constant(k), input=[x], Tout=[f32], branches=branches)[0]
            for k in (-1, 0, 1, 2, 3)
        ]
    )


@case
def while_conditions() -> Sequence[Run]:
    """Conditions that are no bool scalars."""
    n = limit_()
    body = function(I, F)(lambda i, x: (i - 1, x * 2.0))
    a = raw.While(input=[n, tf.constant([1.0])], cond=function(I, F)(lambda i, x: i), body=body)
    shrink = function(F)(lambda x: x[1:])
    x = v1.placeholder(f32, [None], "x")
    b = raw.While(input=[x], cond=function(F)(lambda x: x), body=shrink)
    return for_limits(n, list(a)) + [Run(list(b), {x: v}) for v in ([], [1.0, 2.0])]


@case
def while_rank_changes() -> Sequence[Run]:
    n = limit_()
    any_ = Spec(None, f32)
    a = raw.While(
        input=[n, tf.constant([1.0])],
        cond=function(I, any_)(lambda i, x: i > 0),
        body=function(I, any_)(lambda i, x: (i - 1, tf.expand_dims(x, 0))),
        output_shapes=[[], None],
    )
    return [Run(list(a), {n: 2})]


@case
def while_effects_in_condition() -> Sequence[Run]:
    n = limit_()
    handle = raw.VarHandleOp(dtype=f32, shape=[], name="v")
    start = raw.AssignVariableOp(resource=handle, value=tf.constant(1.0))

    def condition(i: Any, h: Any) -> Any:
        with after(raw.AssignAddVariableOp(resource=h, value=tf.constant(2.0))):
            return i > 0

    a = raw.While(
        input=[n, handle],
        cond=function(I, RES)(condition),
        body=function(I, RES)(lambda i, h: (i - 1, h)),
    )
    with after(a[0]):
        after_ = raw.ReadVariableOp(resource=handle, dtype=f32)
    return [Run([start]), *for_limits(n, [a[0], after_])]


@case
def while_with_variable() -> Sequence[Run]:
    n = limit_()
    handle = raw.VarHandleOp(dtype=f32, shape=[], name="v")
    start = raw.AssignVariableOp(resource=handle, value=tf.constant(1.0))

    def body(i: Any, h: Any) -> Any:
        with after(raw.AssignAddVariableOp(resource=h, value=tf.cast(i, f32))):
            return i - 1, tf.identity(h)

    a = raw.While(
        input=[n, handle], cond=function(I, RES)(lambda i, h: i > 0), body=function(I, RES)(body)
    )
    with after(a[0]):
        read = raw.ReadVariableOp(resource=handle, dtype=f32)
    return [Run([start]), *for_limits(n, [read])]


@case
def for_loops() -> Sequence[Run]:
    n = limit_()
    body = function(I, S)(lambda i, x: x * 2.0 + tf.cast(i, f32))
    runs = []
    for start, limit, delta in ((0, n, 1), (n, 0, -1), (0, n, 2), (n, 0, 1)):
        (y,) = raw.For(start=start, limit=limit, delta=delta, input=[tf.constant(1.0)], body=body)
        runs += for_limits(n, [y])
    (y,) = raw.For(start=0, limit=n, delta=0, input=[tf.constant(1.0)], body=body)
    return [*runs, Run([y], {n: 0}), Run([y], {n: 3})]


@case
def call_in_while_in_if() -> Sequence[Run]:
    n = limit_()
    c = v1.placeholder(tf.bool, [], "c")
    inner = function(F)(lambda x: x + 0.5)

    def body(i: Any, x: Any) -> Any:
        (y,) = raw.StatefulPartitionedCall(args=[x], Tout=[f32], f=inner)
        (y,) = raw.PartitionedCall(args=[y], Tout=[f32], f=inner)
        return i - 1, y * 2.0

    def loop(n: Any, x: Any) -> Any:
        condition = function(I, F)(lambda i, x: i > 0)
        return raw.StatelessWhile(input=[n, x], cond=condition, body=function(I, F)(body))[1]

    x = v1.placeholder(f32, [None], "x")
    y = _if(c, [n, x], function(I, F)(loop), function(I, F)(lambda n, x: x))
    return [Run(y, {n: k, c: b, x: [1.0]}) for k in (0, 2) for b in (True, False)]


@case
def returns_argument_twice() -> Sequence[Run]:
    f = function(F)(lambda x: (x, x, x * 2.0, x))
    return with_x(lambda x: list(raw.PartitionedCall(args=[x], Tout=[f32] * 4, f=f)))


@case
def result_unused() -> Sequence[Run]:
    f = function(F)(lambda x: (tf.exp(x), x * 2.0))
    return with_x(lambda x: [raw.PartitionedCall(args=[x], Tout=[f32] * 2, f=f)[1]])


@case
def legacy_call_by_type() -> Sequence[Run]:
    @Defun(f32, f32, func_name="AddMul")
    def add_mul(a: Any, b: Any) -> Any:
        return a + b, a * b

    @Defun(f32, func_name="Outer")
    def outer(a: Any) -> Any:
        return add_mul(a, a)[1]

    return with_x(lambda x: [*add_mul(x, x * 3.0), add_mul(x, x)[0], outer(x)])


@case
def legacy_call_in_loop() -> Sequence[Run]:
    n = limit_()

    @Defun(f32, func_name="Twice")
    def twice(a: Any) -> Any:
        return a * 2.0

    y = v1.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, twice(x)), [tf.constant(0), tf.constant(1.0)], shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])  # fmt: skip  # noqa: E501
    return for_limits(n, list(y))


@case
def v1_control_flow_in_function() -> Sequence[Run]:
    """Switch, Merge and frames in the body of a function."""
    n = limit_()

    @Defun(i32, f32, func_name="Looped")
    def looped(n: Any, x: Any) -> Any:
        return v1.while_loop(
            lambda i, y: i < n,
            lambda i, y: (i + 1, v1.cond(y > 3.0, lambda: y * 2.0, lambda: y + 1.0)),
            [tf.constant(0), x],
        )[1]

    v1.disable_control_flow_v2()
    return for_limits(n, [looped(n, tf.constant(1.0))])


@case
def constant_condition() -> Sequence[Run]:
    return with_x(
        lambda x: [
            *_if(tf.constant(True), [x], double(), negate()),
            *_if(tf.constant(0), [x], double(), negate()),
        ]
    )


@case
def while_grows() -> Sequence[Run]:
    n = limit_()
    a = raw.While(
        input=[n, tf.constant([1.0])],
        cond=function(I, F)(lambda i, x: i > 0),
        body=function(I, F)(lambda i, x: (i - 1, tf.concat([x, x], 0))),
        output_shapes=[[], [None]],
    )
    return for_limits(n, [a[1], tf.shape(a[1])])


@case
def while_deep() -> Sequence[Run]:
    """Six loops, each in the body of the one around it."""
    n = limit_()

    def body_of(depth: int) -> Any:
        def body(i: Any, x: Any) -> Any:
            if depth == 6:
                return i - 1, x + 1.0
            condition = function(I, S)(lambda i, x: i > 0)
            inner = raw.StatelessWhile(
                input=[tf.constant(2), x], cond=condition, body=body_of(depth + 1)
            )
            return i - 1, inner[1]

        return function(I, S)(body)

    condition = function(I, S)(lambda i, x: i > 0)
    a = raw.StatelessWhile(input=[n, tf.constant(0.0)], cond=condition, body=body_of(1))
    return for_limits(n, list(a))
