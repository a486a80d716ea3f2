"""Graphs of Switch, Merge and frames at the edges of what TensorFlow's executor takes.

Each case is a function that builds into the default graph and returns its `Run`s. Needs TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
raw = tf.raw_ops
i32, f32 = tf.int32, tf.float32


@dataclass
class Run:
    """`fetches`: tensors or operations; `feeds`: values by tensor."""

    fetches: Sequence[Any]
    feeds: dict[Any, Any] = field(default_factory=dict[Any, Any])


Build = Callable[[], Sequence[Run]]
CASES: dict[str, Build] = {}


def case(build: Build) -> Build:
    CASES[build.__name__.removesuffix("_")] = build
    return build


# -- the ops, with what TensorFlow calls their outputs


def predicate(name: str = "p") -> Any:
    return v1.placeholder(tf.bool, [], name)


def vector(name: str = "x") -> Any:
    return v1.placeholder(f32, [None], name)


def switch(value: Any, pred: Any) -> tuple[Any, Any]:
    made = raw.Switch(data=value, pred=pred)
    return made.output_false, made.output_true


def merge(*values: Any) -> Any:
    return raw.Merge(inputs=list(values)).output


def after(*ops: Any) -> Any:
    return tf.control_dependencies(list(ops))


def enter(value: Any, frame: str = "f", constant: bool = False, name: str | None = None) -> Any:
    return raw.Enter(data=value, frame_name=frame, is_constant=constant, name=name)


class Loop:
    """A frame under construction: its Merges, then the condition, then the body."""

    def __init__(self, frame: str, *starts: Any) -> None:
        self.frame = frame
        entered = [enter(s, frame) for s in starts]
        self.merges = [merge(e, e) for e in entered]

    def constant(self, value: Any) -> Any:
        return enter(value, self.frame, True)

    def number(self, value: Any) -> Any:
        """A constant in the frame."""
        with after(self.merges[0]):
            return tf.constant(value)

    def when(self, condition: Any) -> list[Any]:
        """The loop variables as the body sees them."""
        self.cond = raw.LoopCond(input=condition)
        self.switches = [switch(m, self.cond) for m in self.merges]
        return [tf.identity(t) for _, t in self.switches]

    def close(self, *nexts: Any) -> list[Any]:
        """What the loop variables are after it."""
        for m, n in zip(self.merges, nexts, strict=True):
            m.op._update_input(1, raw.NextIteration(data=n))
        return [raw.Exit(data=f) for f, _ in self.switches]


def place_constants(graph: Any) -> None:
    """Makes each constant that a node of a frame reads one of that frame, as TensorFlow's own
    builders do: it waits for what the node reads beside it."""
    frames: dict[Any, tuple[str, ...]] = {}
    for op in graph.get_operations():
        if op.type == "Const" and not op.control_inputs:
            continue
        before = [*(t.op for t in op.inputs), *op.control_inputs]
        found = max([frames[o] for o in before if o in frames], key=len, default=())
        if found and op.type not in ("Enter", "RefEnter"):
            constants = [t.op for t in op.inputs if t.op not in frames and t.op.type == "Const"]
            (other,) = [o for o in before if o in frames and frames[o] == found][:1]
            for constant in constants:
                constant._add_control_input(other)
                frames[constant] = found
        if op.type in ("Enter", "RefEnter"):
            found = (*found, op.get_attr("frame_name").decode())
        frames[op] = found[:-1] if op.type in ("Exit", "RefExit") else found


def both(p: Any, x: Any, fetches: Sequence[Any]) -> list[Run]:
    return [Run(fetches, {p: value, x: [1.0, -2.0]}) for value in (True, False)]


def counted(
    frame: str, limit: Any, body: Callable[..., Any], *starts: Any, n: Any = None
) -> list[Any]:
    """A loop `for i in range(limit)`: i and the other variables after it."""
    loop = Loop(frame, n if n is not None else tf.constant(0), *starts)
    i, *rest = loop.when(loop.merges[0] < loop.constant(limit))
    with after(i):
        one = tf.constant(1)
    return loop.close(i + one, *body(loop, i, *rest))


# -- Switch and Merge


@case
def switch_alone() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    return both(p, x, [t + 1.0]) + both(p, x, [f * 2.0])


@case
def switch_output_itself() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    return both(p, x, [t]) + both(p, x, [f])


@case
def switch_outputs_both_fetched() -> Sequence[Run]:
    p, x = predicate(), vector()
    return both(p, x, list(switch(x, p)))


@case
def switch_outputs_unused() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, _ = switch(x, p)
    return both(p, x, [f.op]) + both(p, x, [x, f.op])


@case
def dead_by_control() -> Sequence[Run]:
    p, x = predicate(), vector()
    _, t = switch(x, p)
    with after(tf.identity(t)):
        y = x + 3.0
    return both(p, x, [y])


@case
def control_on_switch() -> Sequence[Run]:
    """The Switch itself always runs: who waits for it is alive."""
    p, x = predicate(), vector()
    _, t = switch(x, p)
    with after(t.op):
        y = x + 3.0
    return both(p, x, [y])


@case
def always_dead() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    return both(p, x, [f + t])


@case
def merge_always_dead_side() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    return both(p, x, [merge(f * 2.0, t + 1.0), tf.identity(x)])


@case
def value_index() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    a = raw.Merge(inputs=[f * 2.0, t + 1.0])
    b = raw.Merge(inputs=[t - 1.0, f + 5.0])
    return both(p, x, [a.output, a.value_index, b.output, b.value_index])


@case
def value_index_alone() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    return both(p, x, [raw.Merge(inputs=[f * 2.0, t + 1.0]).value_index])


@case
def passed_through() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    return both(p, x, [merge(f, t), merge(t, f), merge(f, tf.identity(t))])


@case
def different_tensors_passed() -> Sequence[Run]:
    p, x = predicate(), vector()
    y = x * 3.0
    return both(p, x, [merge(switch(x, p)[0], switch(y, p)[1])])


@case
def predicate_through_identity() -> Sequence[Run]:
    p, x = predicate(), vector()
    q = tf.identity(tf.identity(p))
    y = merge(switch(x, p)[0] * 2.0, switch(x, q)[1] + 1.0)
    return both(p, x, [y])


@case
def predicate_inside_branch() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    pf, pt = switch(p, p)
    a = merge(f + tf.cast(pf, f32), t + tf.cast(pt, f32) * 10.0)
    return both(p, x, [a, merge(pf, pt)])


@case
def same_predicate_nested() -> Sequence[Run]:
    """A conditional inside a conditional on the same predicate: the inner one is decided."""
    p, x = predicate(), vector()
    f, t = switch(x, p)
    pf, pt = switch(p, p)
    tf_, tt = switch(t, pt)
    ff, ft = switch(f, pf)
    y = merge(merge(ff + 1.0, ft + 2.0), merge(tf_ + 3.0, tt + 4.0))
    return both(p, x, [y])


@case
def same_predicate_nested_raw() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    tf_, tt = switch(t, p)
    y = merge(f + 1.0, merge(tf_ + 3.0, tt + 4.0))
    return both(p, x, [y])


@case
def two_predicates_nested() -> Sequence[Run]:
    p, q, x = predicate(), predicate("q"), vector()
    f, t = switch(x, p)
    _, qt = switch(q, p)
    tf_, tt = switch(t, qt)
    a = merge(f + 1.0, merge(tf_ + 3.0, tt + 4.0))
    b = merge(switch(a, q)[0] * 2.0, switch(x, q)[1] * 5.0)
    feeds = [{p: a_, q: b_, x: [1.0]} for a_ in (True, False) for b_ in (True, False)]
    return [Run([a, b], feed) for feed in feeds]


@case
def predicate_from_branch() -> Sequence[Run]:
    """The inner predicate is computed in the outer branch."""
    p, x = predicate(), vector()
    f, t = switch(x, p)
    inner = tf.reduce_sum(t) > 0.0
    a, b = switch(t, inner)
    y = merge(f + 1.0, merge(a * 3.0, b * 4.0))
    runs = [Run([y], {p: value, x: [5.0]}) for value in (True, False)]
    return [*runs, Run([y], {p: True, x: [-5.0]})]


@case
def three_way_merge() -> Sequence[Run]:
    p, q, x = predicate(), predicate("q"), vector()
    f, t = switch(x, p)
    _, qt = switch(q, p)
    tf_, tt = switch(t, qt)
    made = raw.Merge(inputs=[f + 1.0, tf_ + 3.0, tt + 4.0])
    feeds = [{p: a, q: b, x: [1.0]} for a in (True, False) for b in (True, False)]
    return [Run([made.output, made.value_index], feed) for feed in feeds]


@case
def merge_of_one() -> Sequence[Run]:
    p, x = predicate(), vector()
    _, t = switch(x, p)
    return both(p, x, [merge(t + 1.0)]) + both(p, x, [merge(x)])


@case
def ops_outside_always_run() -> Sequence[Run]:
    """What stands outside and is used only inside runs in any case: here it fails."""
    p, x = predicate(), vector()
    with after(raw.Assert(condition=tf.reduce_all(x > 0.0), data=[tf.constant("not positive")])):
        outside = x * 2.0
    f, t = switch(outside, p)
    y = merge(f, t * 2.0)
    w = merge(switch(x, p)[0], t)
    runs = both(p, x, [y]) + both(p, x, [w])
    return [*runs, Run([y], {p: True, x: [1.0]})]


@case
def assert_in_branch_by_control() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    with after(tf.identity(t)):
        check = raw.Assert(condition=tf.constant(False), data=[tf.constant("taken")])
    with after(check):
        there = tf.identity(t)
    return both(p, x, [merge(f, there)]) + both(p, x, [check])


@case
def assign_in_branch_by_control() -> Sequence[Run]:
    p, x = predicate(), vector()
    ref = raw.VariableV2(shape=[], dtype=f32, name="v")
    start = raw.Assign(ref=ref, value=tf.constant(1.0))
    _, pivot = switch(p, p)
    with after(tf.identity(pivot)):
        add = raw.AssignAdd(ref=ref, value=tf.constant(10.0))
    f, t = switch(x, p)
    with after(add):
        there = tf.identity(t)
    y = merge(f, there)
    return [Run([start]), *both(p, x, [y]), Run([ref]), *both(p, x, [add.op]), Run([ref])]


@case
def ref_switch_merge() -> Sequence[Run]:
    p = predicate()
    a = raw.VariableV2(shape=[], dtype=f32, name="a")
    b = raw.VariableV2(shape=[], dtype=f32, name="b")
    starts = [raw.Assign(ref=r, value=tf.constant(k)) for r, k in ((a, 1.0), (b, 2.0))]
    switched = raw.RefSwitch(data=a, pred=p)
    changed = raw.AssignAdd(ref=switched.output_true, value=tf.constant(5.0))
    y = raw.Merge(inputs=[switched.output_false, changed]).output
    joined = raw.RefMerge(
        inputs=[switched.output_false, raw.RefSwitch(data=a, pred=p).output_true]
    ).output
    return [
        Run([s.op for s in starts]),
        Run([y], {p: False}),
        Run([y], {p: True}),
        Run([a]),
        Run([tf.identity(joined)], {p: False}),
    ]


@case
def sizes_differ() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    y = merge(f, tf.concat([t, t, t], 0))
    return both(p, x, [y, tf.shape(y)])


@case
def found_sizes_differ() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    y = merge(tf.boolean_mask(f, f > 0.0), t[:0])
    return both(p, x, [y, tf.reduce_sum(y)])


@case
def empty_vectors() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    y = merge(f * 2.0, t + 1.0)
    return [Run([y], {p: value, x: np.zeros(0, np.float32)}) for value in (True, False)]


@case
def fed_inside_branch() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    inside = t + 1.0
    y = merge(f * 2.0, inside * 10.0)
    return [Run([y], {p: value, x: [1.0], inside: [7.0]}) for value in (True, False)]


@case
def fed_outside_branch() -> Sequence[Run]:
    p, x = predicate(), vector()
    outside = x * 100.0
    f, t = switch(outside, p)
    y = merge(f * 2.0, t + 1.0)
    return [Run([y], {p: value, outside: [7.0]}) for value in (True, False)]


@case
def fed_merge() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    y = merge(f * 2.0, t + 1.0)
    return [Run([y + 1.0, y], {y: [5.0]})]


@case
def fed_switch_output() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    y = merge(f * 2.0, t + 1.0)
    return [Run([y], {p: value, x: [1.0], t: [9.0]}) for value in (False,)]


@case
def fed_predicate() -> Sequence[Run]:
    x = vector()
    p = tf.reduce_sum(x) > 0.0
    f, t = switch(x, p)
    y = merge(f * 2.0, t + 1.0)
    runs = [Run([y], {x: [1.0], p: value}) for value in (True, False)]
    return [*runs, Run([y], {x: [1.0]}), Run([y], {x: [-1.0]})]


@case
def constant_predicate() -> Sequence[Run]:
    x = vector()
    f, t = switch(x, tf.constant(True))
    return [Run([merge(f * 2.0, t + 1.0)], {x: [1.0]}), Run([t], {x: [1.0]}), Run([f], {x: [1.0]})]


@case
def vector_predicate() -> Sequence[Run]:
    x = vector()
    p = v1.placeholder(tf.bool, None, "p")
    f, t = switch(x, p)
    y = merge(f * 2.0, t + 1.0)
    return [Run([y], {x: [1.0], p: True}), Run([y], {x: [1.0], p: [True, False]})]


@case
def deep_conditionals() -> Sequence[Run]:
    """Thirty conditionals, each in the branch of the one around it."""
    x = vector()
    limit = v1.placeholder(f32, [], "limit")

    def build(value: Any, total: Any, depth: int) -> Any:
        inside = total > float(depth)
        f, t = switch(value, inside)
        _, deeper = switch(total, inside)
        there = t + 1.0
        if depth < 30:
            there = build(there, deeper, depth + 1)
        return merge(f * 2.0, there)

    y = build(x, limit, 0)
    return [Run([y], {x: [1.0], limit: value}) for value in (-1.0, 0.5, 10.5, 99.0)]


@case
def shared_by_two_merges() -> Sequence[Run]:
    p, x = predicate(), vector()
    f, t = switch(x, p)
    heavy = tf.exp(t)
    a, b = merge(f, heavy), merge(f * 2.0, heavy * 3.0)
    return both(p, x, [a, b, a + b])


@case
def chained_conditionals() -> Sequence[Run]:
    """A branch of the second conditional reads a branch of the first one, not its Merge."""
    p, x = predicate(), vector()
    f, t = switch(x, p)
    shared = t * 7.0
    first = merge(f, shared)
    f2, t2 = switch(first, p)
    second = merge(f2 - 1.0, t2 + shared)
    return both(p, x, [second])


@case
def merge_under_other_predicate() -> Sequence[Run]:
    """A conditional in one branch reads a value of the branch around it, and joins outside."""
    p, q, x = predicate(), predicate("q"), vector()
    _, t = switch(x, p)
    a, b = switch(t, q)
    inner = merge(a + 1.0, b + 2.0)
    y = merge(switch(x, p)[0], inner)
    feeds = [{p: a_, q: b_, x: [1.0]} for a_ in (True, False) for b_ in (True, False)]
    return [Run([y], feed) for feed in feeds] + [Run([inner], feed) for feed in feeds]
