"""Sessions, graphs, programs and models say what they are, also in notebooks."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowc as tf
from flowc.cli.entry import run_command_line


def test_they_say_what_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="xy")
        v = tf.get_variable("v", initializer=[0.0, 0.0, 0.0])
        assert repr(graph) == f"<flowc.Graph of {len(graph.get_operations())} operations>"
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert repr(session) == f"<Session of {graph!r}, 1 values held>"
            v.load([1.0, 2.0, 3.0], session)
        assert repr(session) == f"<Session of {graph!r}, closed>"
        program = tf.compile(graph, fetches=x * 2)
        assert repr(program).startswith("<flowc.Program xy=f32[batch,3] -> mul=f32[batch,3]>")
        assert "<td>xy</td><td>f32[batch,3]</td>" in program._repr_html_()
        step = tf.assign_add(v, [1.0, 1.0, 1.0], name="step")
        out = tmp_path / "m.so"
        model = tf.compile(graph, fetches=[step], init=[v.initializer], out=out)
    assert "<th>variables</th><td>v</td><td>float32[3]</td>" in model._repr_html_()
    with pytest.raises(ValueError, match=r"variables \(v\), .*instance = model.new_instance\(\)"):
        model()
    assert model.new_instance() is not None
    assert run_command_line(["inspect", str(tmp_path / "m.so")]) == 0
    shown = capsys.readouterr().out
    assert "runs in     an instance (model.new_instance())" in shown
    assert "functions   m_run, ...; flowc_run, ..." in shown and "variables\n  v: f32[3]" in shown
    assert f"ABI {model.abi_version}" in shown and "weights     inside" in shown


def test_errors_of_runs_say_which_line_made_the_node() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        indices = tf.placeholder(tf.int32, [None])
        picked = tf.gather([1.0, 2.0], indices)
        failing = tf.py_func(lambda: 1 / 0, [], tf.float32)
        for fetch, feeds in ((picked, {indices: [5]}), (failing, {})):
            (frame,) = fetch.op.traceback
            assert (frame.filename, frame.name) == (
                __file__,
                "test_errors_of_runs_say_which_line_made_the_node",
            )
            with pytest.raises(tf.errors.OpError) as caught:
                session.run(fetch, feeds)
            place = f"{fetch.op.name} (defined at {__file__}:{frame.lineno})"
            assert f"node: {place}" in str(caught.value)
