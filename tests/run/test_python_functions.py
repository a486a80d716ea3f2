"""Functions of Python in graphs: host steps at the top level, in loops and in branches.

What TensorFlow does with them was recorded by `tests/oracle/record_python_functions.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import outcome
from snippets.api_snippets import Snippet
from snippets.python_function_snippets import (
    PYTHON_FUNCTION_SNIPPETS,
    as_json,
    nodes_text,
    numbered,
)

import flowc as tf
from flowc import errors


def called(f: Callable[..., Any], inputs: list[Any], dtype: Any, shape: Any, **more: Any) -> Any:
    """A node that calls a function, whose result has a static shape."""
    found = tf.py_func(f, inputs, dtype, **more)
    found.set_shape(shape)
    return found


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_size_of_the_run() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = called(lambda a: np.repeat(a, len(a)), [x * 2], tf.float32, [None])
    with tf.Session() as session:
        for n in (3, 0, 1, 4):
            found = session.run(y + 1, {x: np.arange(n)})
            np.testing.assert_array_equal(found, np.repeat(np.arange(n) * 2, n) + 1)


def test_several_outputs_of_known_and_unknown_sizes() -> None:
    x = tf.placeholder(tf.int32, [2, None])
    kinds = [tf.int64, tf.float64, tf.bool, tf.complex64]
    a, b, c, d = tf.numpy_function(
        lambda m: [m.sum(1).astype(np.int64), m / 2, np.array(m.size > 3), np.complex64(1j)],
        [x],
        kinds,
    )
    for tensor, shape in ((a, [2]), (b, [None, None]), (c, []), (d, [])):
        tensor.set_shape(shape)
    found = run([a, b, c, d], {x: [[1, 2], [3, 4]]})
    assert [v.dtype.name for v in found] == ["int64", "float64", "bool", "complex64"]
    assert [v.tolist() for v in found] == [[3, 7], [[0.5, 1], [1.5, 2]], True, 1j]


@pytest.mark.parametrize(
    ("returned", "dtype", "words"),
    [
        (1.5, tf.int32, "Cannot convert 1.5 to EagerTensor of dtype int32"),
        (np.bool_(True), tf.float32, "Cannot convert .* to EagerTensor of dtype float"),
        ("word", tf.float32, "Cannot convert 'word' to EagerTensor of dtype float"),
        (None, tf.float32, "returns 0 values, but expects to see 1 values"),
    ],
)
def test_values_that_are_not_of_the_dtype(returned: Any, dtype: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(tf.py_function(lambda: returned, [], dtype))


def test_objects_that_are_no_elements() -> None:
    for returned, words in (
        ({"foo": 1}, "Unsupported object type dict"),
        (np.zeros(1, [("foo", np.float32)]), "Unsupported numpy data type"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.py_func(lambda returned=returned: returned, [], tf.int64))


def test_arrays_are_the_functions_own() -> None:
    kept: list[Any] = []

    def f(a: Any, b: Any) -> Any:
        kept.append((a.copy(), b))
        a += 1
        return a

    x = tf.placeholder(tf.float32, [2])
    y = called(f, [x, tf.constant(3.0)], tf.float32, [2])
    fed = np.array([1, 2], np.float32)
    first, second = run([x + 0, y], {x: fed})
    assert (first.tolist(), second.tolist(), fed.tolist()) == ([1, 2], [2, 3], [1, 2])
    assert kept[0][0].tolist() == [1, 2]
    assert type(kept[0][1]) is np.float32  # as in TensorFlow


def test_in_a_loop_whose_tensor_grows() -> None:
    n = tf.placeholder(tf.int32, [])

    def body(i: Any, a: Any) -> Any:
        longer = lambda a, i: np.append(a, i).astype(np.float32)
        return i + 1, called(longer, [a, i], tf.float32, [None])

    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    found = tf.while_loop(lambda i, a: i < n, body, [0, tf.zeros([1])], shapes)
    assert run(found[1] * 2, {n: 4}).tolist() == [0, 0, 2, 4, 6]


def test_calls_are_in_the_order_of_effects() -> None:
    seen: list[Any] = []

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.py_func(lambda i: seen.append(("a", int(i))), [i], [])]):
            after = tf.py_func(lambda i: seen.append(("b", int(i))), [i], [])
        with tf.control_dependencies([after]):
            return i + 1

    found = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    assert run(found) == 3
    assert seen == [(name, i) for i in range(3) for name in "ab"]


def test_a_branch_not_taken_calls_nothing() -> None:
    p = tf.placeholder(tf.bool, [])
    calls: list[int] = []

    def f(a: Any) -> Any:
        calls.append(1)
        return a + 1

    x = tf.constant([1.0, 2.0])
    found = tf.cond(p, lambda: called(f, [x], tf.float32, [2]), lambda: x)
    with tf.Session() as session:
        assert session.run(found, {p: False}).tolist() == [1, 2]
        assert calls == []
        assert session.run(found, {p: True}).tolist() == [2, 3]
        assert calls == [1]


def test_only_what_is_fetched_is_called() -> None:
    calls: list[str] = []
    x = tf.constant(1.0)
    a = called(lambda v: (calls.append("a"), v)[1], [x], tf.float32, [])
    b = called(lambda v: (calls.append("b"), v)[1], [x], tf.float32, [])
    run([a, a + 1, a + 2])
    assert calls == ["a"]
    run(tf.stack([b, a]), {a: 5.0})
    assert calls == ["a", "b"]


def test_equal_calls_of_pure_functions_are_one() -> None:
    calls: list[int] = []

    def f(v: Any) -> Any:
        calls.append(1)
        return v

    token = tf.py_func(f, [tf.constant(1.0)], tf.float32).op.attrs["token"]
    attrs = {"token": token, "Tout": (tf.float32,)}
    found = [tf.raw_ops.PyFuncStateless(input=[tf.constant(1.0)], **attrs)[0] for _ in range(2)]
    for tensor in found:
        tensor.set_shape([])
    assert run(found) == [1.0, 1.0]
    assert calls == [1]


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (lambda a: a.astype(np.float64), "InvalidArgument", "0-th value returned by pyfunc_{} is "
         "double, but expects float"),
        (lambda a: 3, "InvalidArgument", "0-th value returned by pyfunc_{} is int64, but expects "
         "float"),
        (lambda a: (a, a), "InvalidArgument", "pyfunc_{} returns 2 values, but expects to see 1 "
         "values."),
        (lambda a: None, "InvalidArgument", "pyfunc_{} returns 0 values, but expects to see 1 "
         "values."),
        (lambda a: a[:, None], "InvalidArgument", "output 0 of PyFunc has shape [2, 1], where [?] "
         "is expected"),
        (lambda a: int("x"), "InvalidArgument", "ValueError: invalid literal for int() with base "
         "10: 'x'"),
        (lambda a: len(3), "InvalidArgument", "TypeError: object of type 'int' has no len()"),  # type: ignore[arg-type]
        (lambda a: next(iter(())), "OutOfRange", "StopIteration: "),
        (lambda a: 1 // 0, "Unknown", "ZeroDivisionError: integer division or modulo by zero"),
        (lambda a: {}["k"], "Unknown", "KeyError: 'k'"),
    ],
)  # fmt: skip
def test_what_goes_wrong(function: Any, kind: str, text: str) -> None:
    x = tf.placeholder(tf.float32, [None])
    y = called(function, [x], tf.float32, [None], name="scope/mine")
    found = tf.while_loop(lambda i, v: i < 1, lambda i, v: (i + 1, v + tf.reduce_sum(y)), [0, 0.0])
    number = y.op.attrs["token"].decode().removeprefix("pyfunc_")
    with tf.Session() as session:
        with pytest.raises(getattr(errors, f"{kind}Error")) as caught:
            session.run(found, {x: [1, 2]})
        assert caught.value.message == text.format(number)
        assert type(caught.value) is getattr(errors, f"{kind}Error")
        assert caught.value.node == "scope/mine"
        name = text.partition(":")[0]
        cause = caught.value.__cause__
        assert (cause is None) == (" " in name)
        assert cause is None or type(cause).__name__ == name
        assert session.run(x, {x: [1, 2]}).tolist() == [1, 2]


def test_exits_and_interrupts_come_out_as_they_are() -> None:
    for kind in (KeyboardInterrupt, SystemExit):

        def f(kind: type[BaseException] = kind) -> Any:
            raise kind

        with pytest.raises(kind):
            run(called(f, [], tf.float32, []))


def test_variables_are_as_before_a_run_that_raised() -> None:
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
    fails = [True]

    def f(a: Any) -> Any:
        if fails[0]:
            raise ValueError("not now")
        return a

    after = called(f, [tf.assign_add(v, [1.0, 1.0])], tf.float32, [2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError, match="not now"):
            session.run(after)
        assert session.run(v).tolist() == [1, 2]
        fails[0] = False
        assert session.run(after).tolist() == [2, 3]
        assert session.run(v).tolist() == [2, 3]


def test_sessions_run_in_functions_and_in_threads() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        inner = x * 2
        outer = called(lambda a: session.run(inner, {x: a}) + 1, [x], tf.float32, [])
        found: list[float] = []
        threads = [
            threading.Thread(target=lambda k=k: found.append(float(session.run(outer, {x: k}))))
            for k in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [1, 3, 5, 7, 9, 11]


def test_functions_run_what_assigns_the_variables_of_their_run() -> None:
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0, 3.0]))
    scatter = tf.scatter_add(v, [0], [1.0]).op
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def nested(fetch: Any) -> Any:
            return called(lambda: (session.run(fetch), np.float32(2))[1], [], tf.float32, [])

        # As in TensorFlow the sum reads the memory of the variable, after the function.
        assert session.run(v + nested(tf.assign(v, [5.0, 6.0, 7.0]))).tolist() == [7, 8, 9]
        zeros = nested(tf.assign(v, [0.0] * 3))
        assert session.run(tf.assign_add(v, tf.ones([3]) * zeros)).tolist() == [2, 2, 2]
        session.run(tf.scatter_add(v, [0], [nested(v)]).op)
        assert session.run(v).tolist() == [4, 2, 2]
        assert session.run(v + nested(scatter)).tolist() == [7, 4, 4]
        assert session.run(v).tolist() == [5, 2, 2]


def test_runs_in_functions_that_would_wait_for_themselves() -> None:
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0, 3.0]))
    scatter = tf.scatter_add(v, [0], [1.0]).op
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def nested(fetch: Any) -> Any:
            call = lambda: (session.run(fetch), np.float32(0))[1]
            body = lambda i, a: (i + 1, a + called(call, [], tf.float32, []))
            return tf.while_loop(lambda i, a: i < 1, body, [0, 0.0])[1]

        assert session.run([v + nested(tf.assign(v, [5.0, 6.0, 7.0]))])[0].tolist() == [1, 2, 3]
        assert session.run(v).tolist() == [5, 6, 7]
        runs = [
            tf.assign_add(v, tf.ones([3]) * nested(tf.assign(v, [0.0] * 3))),  # both assign
            tf.scatter_add(v, [0], [nested(v)]).op,  # reads what changes in place
            v + nested(scatter),  # changes in place what is read
        ]
        for fetch in runs:
            with pytest.raises(errors.UnknownError, match="would wait for itself"):
                session.run(fetch)
        assert session.run(v).tolist() == [5, 6, 7]


def test_what_was_returned_is_given_back() -> None:
    alive: list[Any] = []

    def f(i: Any) -> Any:
        made = np.full(1000, i, np.float32)
        alive.append(weakref.ref(made))
        return made

    body = lambda i, s: (i + 1, s + tf.reduce_sum(called(f, [i], tf.float32, [None])))
    assert run(tf.while_loop(lambda i, s: i < 5, body, [0, 0.0])[1]) == 10000
    assert len(alive) == 5 and all(r() is None for r in alive)


def test_unknown_tokens() -> None:
    attrs = {"token": b"pyfunc_of_another_process", "Tout": (tf.float32,)}
    (y,) = tf.raw_ops.PyFunc(input=[], **attrs)
    y.set_shape([])
    with pytest.raises(errors.InvalidArgumentError, match="Could not find callback with key=pyfu"):
        run(y)


def test_libraries_refuse_by_name(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = called(lambda a: a, [x], tf.float32, [2], name="deep/mine")
    z = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + y), [0, x])[1]
    with pytest.raises(tf.errors.UnsupportedError, match=r"PyFunc \(1\): deep/mine"):
        tf.compile(tf.get_default_graph(), [x], [z], out=tmp_path / "m.so")
    tf.compile(tf.get_default_graph(), [x, y], [z], out=tmp_path / "m.so")  # nothing needs it


CHILD = """
import sys, json, numpy as np, flowc as tf
x = tf.placeholder(tf.float32, [None])
y = tf.py_func(lambda a: a + float(sys.argv[1]), [x], tf.float32); y.set_shape([None])
z = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + y), [0, x], [tf.TensorShape([]), tf.TensorShape([None])])[1]
print(json.dumps([tf.Session().run(z, {x: [1.0, 2.0]}).tolist(), "numba" in sys.modules]))
"""  # noqa: E501


def test_cached_programs_call_the_function_of_their_process(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)

    def found(summand: str) -> Any:
        command = [sys.executable, "-c", CHILD, summand]
        environment = {**os.environ, "FLOWC_CACHE": "1", "FLOWC_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    assert found("1") == [[5.0, 8.0], True]
    assert found("10") == [[23.0, 26.0], False]


# -- strings


def test_strings_are_not_computed_with() -> None:
    s = tf.placeholder(tf.string, [3], name="s")
    scattered = tf.raw_ops.TensorScatterAdd(tensor=s, indices=[[0]], updates=["x"], name="added")
    with pytest.raises(tf.errors.UnsupportedError, match=r"with strings:\n  .* \(1\): added"):
        run(scattered, {s: ["a", "b", "c"]})


def test_strings_of_a_run_and_of_its_program() -> None:
    """Each run has a table of its own, which begins with the constants of the program."""
    s = tf.placeholder(tf.string, [None])
    both = tf.string_join([s, tf.constant("-"), tf.py_func(lambda a: a[::-1], [s], tf.string)])
    with tf.Session() as session:
        found: dict[int, Any] = {}

        def work(k: int) -> None:
            found[k] = session.run(both, {s: [f"{k}", "x"]}).tolist()

        work(9)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {k: [f"{k}-x".encode(), f"x-{k}".encode()] for k in (9, 0, 1, 2, 3)}


# -- as TensorFlow does

RECORDED = json.loads(
    (Path(__file__).parents[1] / "recorded" / "python_functions.json").read_text()
)


@pytest.mark.parametrize("snippet", PYTHON_FUNCTION_SNIPPETS, ids=lambda s: s.name)
def test_as_in_tensorflow(snippet: Snippet) -> None:
    recorded = RECORDED[snippet.name]
    found = outcome(tf, snippet)
    if recorded["error"] is None:
        assert found.error is None, found.error
        for ours, theirs in zip(as_json(found.values), recorded["values"], strict=True):
            assert ours == theirs
    else:
        (kind, *_), message = recorded["error"]
        assert found.error is not None and kind in found.error[0]
        assert numbered(found.error[1]).startswith(message)
    if snippet.alike:
        assert nodes_text(found.graph.as_graph_def()) == recorded["nodes"]
