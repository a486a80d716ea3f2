"""The command lines that `check` prints mean the model that was checked."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import flowc
import flowc_runtime
from flowc.cli.entry import run_command_line


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two signatures whose inputs and outputs have the same names, and one of other names."""
    folder = tmp_path_factory.mktemp("signatures") / "m"
    with flowc.Graph().as_default() as graph, flowc.Session(graph=graph) as session:
        x = flowc.placeholder(flowc.float32, [None], name="a")
        low = flowc.placeholder_with_default(np.float32(2.0), [], name="low")
        rows = {
            "serving_default": ({"x": x}, {"y": x * 2.0}),
            "triple": ({"x": x}, {"y": x * 3.0}),
            "above": ({"values": x, "least": low}, {"kept": flowc.maximum(x, low)}),
        }
        build = flowc.saved_model.signature_def_utils.predict_signature_def
        builder = flowc.saved_model.builder.SavedModelBuilder(str(folder))
        signatures = {name: build(*ports) for name, ports in rows.items()}
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    return folder


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    assert run_command_line(["check", *args]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_signature_that_was_checked_is_compiled(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(printed(capsys, str(model), "--signature", "triple")[-1])
    words[words.index("OUT.so")] = str(tmp_path / "m.so")
    assert run_command_line(words[1:]) == 0
    found = flowc_runtime.load(tmp_path / "m.so").run({"x": np.float32([1, 2])})
    assert found["y"].tolist() == [3.0, 6.0]


def test_what_was_said_of_the_model_is_said_again(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--tag", "serve", "--signature", "above", "--set", "least=1.5", "--allow", "files"]
    line = printed(capsys, str(model), *options)[-1]
    for option, value in zip(options[::2], options[1::2]):
        assert f"{option} {value}" in line
    assert "--feed 'values=f32[batch]'" in line and "--feed least" not in line


def test_several_signatures_are_checked_in_turn(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, str(model), "--signature", "triple,above")
    assert [x for x in lines if x.startswith("signature")] == [
        "signature triple",
        "signature above",
    ]
    commands = [x for x in lines if "flowc compile" in x]
    assert "--signature triple" in commands[0] and "--signature above" in commands[1]
    args = ["check", str(model), "--signature", "triple,above", "--fetch", "kept"]
    assert run_command_line(args) == 2


def test_names_of_other_signatures_are_told(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["compile", str(model), "-o", str(tmp_path / "m.so"), "--fetch", "kept"]
    assert run_command_line(args) == 2
    assert "the signature above has the output 'kept': --signature above" in capsys.readouterr().err
    graph = flowc.load_graph(model)
    with (
        flowc.Session(graph=graph) as session,
        pytest.raises(ValueError, match="the output 'kept' of the signature above is 'Maximum:0'"),
    ):
        session.run("kept")


def test_sizes_that_differ_are_told_with_their_inputs(tmp_path: Path) -> None:
    with flowc.Graph().as_default() as graph:
        parts = [flowc.placeholder(flowc.float32, [None], name=name) for name in ("left", "right")]
        flowc.identity(flowc.concat([flowc.stack(parts)], 0), name="out")
    program = flowc.compile(graph, feeds=["left=f32[m]", "right=f32[n]"], fetches=["out"])
    with pytest.raises(flowc.errors.InvalidArgumentError) as caught:
        program.run({"left": np.zeros(2, np.float32), "right": np.zeros(3, np.float32)})
    text = str(caught.value)
    assert "found 2 and 3" in text or "found 3 and 2" in text
    assert "m is dim 0 of 'left'" in text and "n is dim 0 of 'right'" in text


def test_a_value_says_the_rank_of_its_placeholder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with flowc.Graph().as_default() as graph:
        x = flowc.placeholder(flowc.float32, name="x")
        training = flowc.placeholder(flowc.bool, name="training")
        flowc.cond(training, lambda: x * 2.0, lambda: x + 1.0, name="y")
    flowc.train.write_graph(graph, str(tmp_path), "m.pb", as_text=False)
    values = ["--input", "x=[1.0,2.0]", "--input", "training=false"]
    fetch = ["--fetch", "y/Merge"]
    assert run_command_line(["run", str(tmp_path / "m.pb"), *fetch, *values]) == 0
    assert "[2., 3.]" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["freeze", "--outputs", "y"], ["extract", "--outputs", "y"], ["edit"]]
)
def test_no_model_is_written_over_a_file(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with flowc.Graph().as_default() as graph, flowc.Session(graph=graph) as session:
        x = flowc.placeholder(flowc.float32, [2], name="x")
        v = flowc.get_variable("v", initializer=[1.0, 2.0])
        flowc.nn.relu(x + v, name="y")
        session.run(v.initializer)
        flowc.train.Saver().save(session, str(tmp_path / "m"))
    if command == ["edit"]:
        command = ["edit", "--replace", "Relu=Relu6"]
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for out, said in (("m.meta", "this is the model that is read"), ("m.index", "this is there")):
        args = [command[0], str(tmp_path / "m.meta"), *command[1:], "-o", str(tmp_path / out)]
        assert run_command_line(args) == 2
        assert said in capsys.readouterr().err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    (tmp_path / "old.pb").write_bytes(b"")
    args[-1] = str(tmp_path / "old.pb")
    assert run_command_line([*args, "--force"]) == 0
    assert (tmp_path / "old.pb").stat().st_size > 0


def test_an_op_that_tensorflow_does_not_have_is_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = "".join(
        f'node {{ name: "{name}" op: "{op}" input: "x" }} '
        for name, op in (("a", "Softmaxx"), ("b", "MyOwnThing"), ("c", "TPUCompile"))
    )
    text = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } } '
    (tmp_path / "m.pbtxt").write_text(text + nodes)
    args = ["check", str(tmp_path / "m.pbtxt"), "--feed", "x=f32[2]"]
    assert run_command_line([*args, "--fetch", "a", "--fetch", "b", "--fetch", "c"]) == 3
    said = capsys.readouterr().out
    assert "Softmaxx, no op of TensorFlow: did you mean 'Softmax'? (1): a" in said
    assert "MyOwnThing, no op of TensorFlow: --op-library FILE loads custom ops (1): b" in said
    assert "  TPUCompile (1): c" in said
