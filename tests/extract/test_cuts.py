"""Names inside of functions, and what to feed where nodes cannot be compiled."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from text_models import ADDING_MODEL, TEXT_MODEL

import flowc
from flowc.cli.check import checked
from flowc.cli.entry import run_command_line

HASH = "call/inner_call/Hash"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "text.pbtxt"
    path.write_text(TEXT_MODEL)
    return path


def test_tensors_of_called_functions_are_fetched_and_fed(model: Path) -> None:
    with flowc.Session(graph=flowc.load_graph(model)) as session:
        hashes, scores = session.run([f"{HASH}:0", "scores:0"], {"text:0": ["A", "bc"]})
        np.testing.assert_allclose(scores, np.exp(hashes.astype(np.float32)), rtol=1e-6)
        assert session.run("scores:0", {f"{HASH}:0": [0]}).tolist() == [1.0]
        assert session.run("scores:0", {"call/inner_call/Cast:0": [0.0]}).tolist() == [1.0]
        words = session.run("words:0", {"text:0": ["A"]})
        assert words.tolist() == [b"a"]
        with pytest.raises(ValueError, match="call/inner_call/Haash"):
            session.run("call/inner_call/Haash:0")


def test_a_call_that_changes_something_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "adding.pbtxt"
    path.write_text(ADDING_MODEL)
    with flowc.Session(graph=flowc.load_graph(path)) as session:
        session.run("start", {"x:0": 1.0})
        assert session.run(["y:0", "call/same:0", "read:0"], {"x:0": 2.0}) == [2.0, 2.0, 3.0]
        assert session.run("y:0", {"x:0": 4.0}) == 4.0
        assert session.run(["y:0", "read:0"], {"x:0": 0.0})[1] == 7.0


def test_the_command_line_that_is_printed_compiles(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["check", str(model)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  StringLower (1): call/inner_call/Lower") for line in lines)
    assert "left out, as they need these nodes: words" in lines
    words = shlex.split(lines[-1])
    assert words[0] == "flowc" and f"{HASH}=i64[batch]" in words
    library = model.with_suffix(".so")
    words[words.index("OUT.so")] = str(library)
    assert run_command_line(words[1:]) == 0
    assert run_command_line(["run", str(library), "--input", f"{HASH}=[0]"]) == 0
    assert "scores: float32[1]" in capsys.readouterr().out


def test_an_error_ends_with_the_command_line(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["compile", str(model), "-o", str(model.with_suffix(".so"))]) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"flowc compile \S+ -o OUT.so --feed '\S+=i64\[batch\]' --fetch scores", last)


def test_what_compiles_is_said_to(model: Path) -> None:
    graph = flowc.load_graph(model)
    found = checked(graph, (f"{HASH}=i64[n]",), ("scores",))
    assert found["in_the_way"] == []
    assert found["command"].endswith(f"--feed '{HASH}=i64[n]' --fetch scores")


def test_no_cut_where_every_output_is_text(model: Path) -> None:
    found = checked(flowc.load_graph(model), (), ("words",))
    assert found["command"] is None and "none of the outputs" in found["note"]


def test_an_unknown_name_shows_the_signature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with flowc.Graph().as_default() as graph, flowc.Session(graph=graph) as session:
        x = flowc.placeholder(flowc.float32, [2], name="x")
        y = flowc.add(x, x, name="y")
        flowc.saved_model.simple_save(session, str(tmp_path / "m"), {"images": x}, {"out": y})
    args = ["compile", str(tmp_path / "m"), "-o", str(tmp_path / "m.so"), "--feed", "txt"]
    assert run_command_line(args) == 2
    text = capsys.readouterr().err
    assert "signature serving_default: inputs images (x:0); outputs out (y:0)" in text


def test_sizes_of_cut_inputs_have_short_names(tmp_path: Path) -> None:
    with flowc.Graph().as_default() as graph:
        parts = []
        for scope in ("a_scope_of_some_length", "another_scope_of_some_length"):
            with flowc.name_scope(scope):
                words = flowc.placeholder(flowc.string, [None], name="words")
                found = flowc.strings.length(words, name="lengths_of_all_the_words")
                parts.append(flowc.reduce_sum(found))
        scale = flowc.placeholder(flowc.int32, [None], name="scale")
        flowc.multiply(flowc.add_n(parts), flowc.reduce_sum(scale), name="out")
    flowc.train.write_graph(graph, str(tmp_path), "m.pb", as_text=False)
    command = checked(flowc.load_graph(tmp_path / "m.pb"), (), ("out",))["command"]
    assert "scale=i32[batch]" in command  # that of the model's own input
    assert sorted(re.findall(r"i32\[(.*?)\]", command)) == ["batch", "n0", "n1"]
