"""`flowc inspect` and `flowc ops`: what they say of models and ops."""

from __future__ import annotations

import json
import re
from pathlib import Path

from command_line import META, SCALE, UNKNOWN_OPS, Command, python

import flowc as tf


def test_inspect_says_what_is_there(flowc: Command) -> None:
    done = flowc("inspect", META, "--json")
    found = json.loads(done.out)
    assert (done.code, found["format"]) == (0, "MetaGraphDef, binary")
    assert [(p["name"], p["type"]) for p in found["inputs"]] == [
        ("images", "f32[batch,8,8]"),
        ("labels", "i64[batch]"),
    ]
    assert "probabilities" in [p["name"] for p in found["outputs"]]
    assert found["ops"]["Conv2D"] == 2 and found["cannot_compile"] == {}
    assert found["ops"]["SaveV2"] == 1 and found["elsewhere"] == {}
    assert found["bytes"]["checkpoint"] > 400_000
    text = flowc("inspect", META).out
    assert "  images: f32[batch,8,8]\n" in text and "       1  SaveV2\n" in text


def test_inspect_marks_what_no_output_needs(flowc: Command, tmp_path: Path) -> None:
    path = tmp_path / "m.pbtxt"
    path.write_text(SCALE + 'node { name: "save/a" op: "MadeUp" input: "inner/scaled" }')
    found = json.loads(flowc("inspect", path, "--json").out)
    assert found["elsewhere"]["MadeUp"]["count"] == 1 and found["cannot_compile"] == {}
    shown = flowc("inspect", path).out
    assert "       1  MadeUp  cannot compile (not in these outputs)\n" in shown


def test_inputs_that_are_not_fed_are_named_all_at_once(flowc: Command, tmp_path: Path) -> None:
    with tf.Graph().as_default():
        x, y = (tf.placeholder(tf.float32, [None, 4], name=name) for name in "xy")
        tf.add(x * y, tf.placeholder(tf.float32, [], name="z"), name="out")
        tf.train.write_graph(tf.get_default_graph(), str(tmp_path), "m.pb", as_text=False)
    model, more = tmp_path / "m.pb", ["--feed", "x=f32[?,4]", "--feed", "z=f32[]"]
    for words in (["compile", model, "-o", tmp_path / "m.so"], ["check", model]):
        done = flowc(*words, "--feed", "y")
        assert done.code != 0 and "You must feed a value for placeholder tensor" in done.err
        hint = "  try: feed it too: --feed 'x=f32[?,4]' --feed 'z=f32[]'; or have a constant in its"
        assert f"{hint} place, such as --set z=1\n" in done.err
    assert flowc("check", model, "--feed", "y", *more).code == 0
    # A name for a size that is a number in the model is not silently dropped.
    named = ["--feed", "y=f32[batch,width]", *more]
    compiled = flowc("compile", model, "-o", tmp_path / "m.so", *named, "--emit", "plan").err
    for text in (compiled, flowc("check", model, *named).out):
        assert "the model fixes dim 1 of y at 4: no 'width'\n" in text and "dim 0" not in text


def test_inspect_says_what_no_library_can_hold(flowc: Command, tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        words = tf.placeholder(tf.string, [None], name="words")
        lengths = tf.strings.length(words, name="lengths")
        tf.saved_model.simple_save(session, str(tmp_path / "m"), {"w": words}, {"n": lengths})
    shown = flowc("inspect", tmp_path / "m").out
    nodes = "flowc can run these outputs in a Session: 1 nodes"
    assert shown.endswith(f"{nodes}; not in a library: flowc check {tmp_path / 'm'}\n")
    # The default signature is said once.
    below = "signature serving_default (default): the inputs and outputs below\ninputs\n  w: "
    assert below in shown and shown.count("  n: i32[") == 1


def test_inspect_says_that_a_malformed_node_stands_in_the_way(
    flowc: Command, tmp_path: Path
) -> None:
    (tmp_path / "m.pbtxt").write_text(
        'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
        'node { name: "y" op: "Neg" attr { key: "T" value { type: DT_FLOAT } } }'
    )
    shown = flowc("inspect", tmp_path / "m.pbtxt").out
    assert "malformed: node 'y' (Neg): takes 1 inputs, found 0\n" in shown
    assert shown.endswith("flowc cannot compile these outputs: 1 node is malformed (see above)\n")


def test_inspect_names_what_cannot_be_compiled(flowc: Command, tmp_path: Path) -> None:
    path = tmp_path / "m.pbtxt"
    path.write_text(UNKNOWN_OPS)
    done = flowc("inspect", path)
    assert done.code == 0
    assert done.out.endswith(
        "flowc cannot compile these outputs: 3 nodes stand in the way\n"
        "  MadeUp (2): b, a\n  Softmaxx (1): c\n"
    )


def test_inspect_shows_inputs_whose_rank_is_unknown(flowc: Command, tmp_path: Path) -> None:
    path = tmp_path / "m.pbtxt"
    path.write_text(re.sub(r"attr \{ key: \"shape\".*\n?", "}\n", SCALE, count=1))
    done = flowc("inspect", path)
    assert done.code == 0, done.err
    assert "not compiled as it is: the feed 'x' has an unknown rank\n" in done.out
    assert "inputs\n  x: f32[...]\noutputs\n  out: f32[...]\n" in done.out
    assert done.out.endswith("flowc can compile these outputs: 3 nodes\n")


def test_all_feeds_are_said_where_one_must_be_named(flowc: Command, tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], "x")
        y = tf.cond(tf.placeholder(tf.bool, name="training"), lambda: x * 2.0, lambda: x)
        tf.add(y, tf.placeholder(tf.float32, name="rest"), "sum")
    path = tmp_path / "m.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    done = flowc("check", path, "--fetch", "sum")
    assert done.code == 2 and "the feed 'training' has an unknown rank" in done.err
    said = "--feed x --feed training=bool[] --feed rest=f32[]"
    assert f"give its dims, and name the other feeds: {said} for a scalar" in done.err
    assert flowc("check", path, "--fetch", "sum", *said.split()).code == 0


def test_inspect_does_without_numba() -> None:
    script = (
        "import sys\n"
        "from flowc.cli.entry import run_command_line\n"
        f"assert run_command_line(['inspect', {META!r}]) == 0\n"
        "sys.exit(bool({'numba', 'llvmlite'} & set(sys.modules)))\n"
    )
    assert python("-c", script).returncode == 0


def test_ops_is_the_table_of_the_records(flowc: Command) -> None:
    from flowc.ir.op import tf_names

    found = [row["op"] for row in json.loads(flowc("ops", "--json").out)["ops"]]
    assert found == sorted(tf_names())
    # In graphs that TensorFlow has optimised.
    assert {"_FusedConv2D", "_FusedMatMul"} < {name for name in found if name.startswith("_Fused")}
    assert not [name for name in found if name[0] == "_" and not name.startswith("_Fused")]
    assert flowc("ops", "_Cluster").code == 2
    one = flowc("ops", "Conv2D")
    assert one.code == 0 and one.out.startswith("Conv2D ") and one.out.count("\n") == 1
    assert flowc("ops", "Conv2E").code == 2
