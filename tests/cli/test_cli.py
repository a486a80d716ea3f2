"""The commands: what they write, what they say when something is wrong, what they exit with."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import flowc as tf
from flowc.cli.entry import run_command_line
from flowc.codegen.link.linker import find_linker
from flowc.encoding.tensorflow_ops import tensorflow_ops

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits"
META = str(DIGITS / "model.meta")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

UNKNOWN_OPS = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } } } } }
node { name: "a" op: "MadeUp" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "b" op: "MadeUp" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "c" op: "Softmaxx" input: "b" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "out" op: "Relu" input: "c" attr { key: "T" value { type: DT_FLOAT } } }
"""
SCALE = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "inner/two" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 } } } }
node { name: "inner/scaled" op: "Mul" input: "x" input: "inner/two"
       attr { key: "T" value { type: DT_FLOAT } } }
node { name: "out" op: "Relu" input: "inner/scaled" attr { key: "T" value { type: DT_FLOAT } } }
"""
TWO_INPUTS = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "y" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "out" op: "Mul" input: "x" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Command:
    """Runs commands in this process, with output captured."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *args: Any) -> Done:
        code = run_command_line([str(a) for a in args])
        found = self.capsys.readouterr()
        return Done(code, found.out, found.err)


@pytest.fixture
def flowc(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    path = tmp_path / "scale.pbtxt"
    path.write_text(SCALE)
    return path


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=ROOT)


# -- starting


def test_help_and_version_load_no_more_than_click() -> None:
    script = (
        "import sys\n"
        "from flowc.cli.entry import run_command_line\n"
        "codes = [run_command_line(a) for a in (['--help'], ['--version'], [])]\n"
        "heavy = [m for m in ('numpy', 'flowc.ops', 'flowc.graph', 'google.protobuf', 'rich',\n"
        "         'numba', 'llvmlite', 'flowc.cli.compile') if m in sys.modules]\n"
        "print('codes', codes, 'heavy', heavy)\n"
    )
    done = python("-c", script)
    assert "codes [0, 0, 2] heavy []" in done.stdout, done.stdout + done.stderr


def test_python_m_flowc_is_the_command() -> None:
    done = python("-m", "flowc", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"flowc \d+\.\d+\.\d+\n", done.stdout)


def test_help_lists_every_command(flowc: Command) -> None:
    done = flowc("--help")
    assert done.code == 0
    for name in ("compile", "run", "inspect", "scan", "ops"):
        assert re.search(rf"^  {name} ", done.out, re.MULTILINE)
        assert flowc(name, "--help").code == 0


# -- compile and run


@needs_cc
def test_a_trained_model_compiles_and_is_right(flowc: Command, tmp_path: Path) -> None:
    library, results = tmp_path / "model.so", tmp_path / "out.npz"
    done = flowc(
        "compile", META, "-o", library, "--feed", "images=f32[batch,8,8]",
        "--fetch", "probabilities", "--target", "x86-64-v3",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.out == ""
    for word in ("nodes in", "kernels out", "arena", "weights", "seconds"):
        assert word in done.err
    assert (tmp_path / "model.h").is_file()
    with np.load(DIGITS / "test.npz") as data:
        images, labels = data["images"], data["labels"]
        expected = data["tensorflow_probabilities"]
    for count in (1, 17, len(images)):
        np.save(tmp_path / "x.npy", images[:count])
        done = flowc("run", library, "--input", f"images:0={tmp_path}/x.npy", "-o", results)
        assert (done.code, done.out) == (0, ""), done.err
        with np.load(results) as found:
            assert found.files == ["probabilities"]
            np.testing.assert_allclose(found["probabilities"], expected[:count], atol=1e-5)
            if count == len(images):
                assert (found["probabilities"].argmax(axis=1) == labels).mean() > 0.97


def test_a_model_runs_without_a_library(flowc: Command, scale: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.array([[1, -2, 3]], np.float32), other=np.zeros(1))
    done = flowc("run", scale, "--input", f"x={tmp_path}/x.npz", "-o", tmp_path / "o.npz",
                 "--fetch", "out", "--fetch", "inner/scaled:0")  # fmt: skip
    assert (done.code, done.out) == (0, ""), done.err
    with np.load(tmp_path / "o.npz") as found:
        assert found.files == ["out", "inner/scaled:0"]
        assert found["out"].tolist() == [[2, 0, 6]]
        assert found["inner/scaled:0"].tolist() == [[2, -4, 6]]


def test_results_go_to_stdout_and_choices_to_stderr(flowc: Command, scale: Path) -> None:
    done = flowc("run", scale, "--input", "x=[[1, 2, 3], [4, 5, 6]]")
    assert done.code == 0
    assert done.out == "out: float32[2, 3]\n[[ 2.,  4.,  6.],\n [ 8., 10., 12.]]\n"
    assert done.err.splitlines() == [
        "fetches, from the sinks: out",
        "feeds, from the placeholders: x=f32[batch,3]",
    ]


def test_any_tensor_can_be_fed(flowc: Command, scale: Path) -> None:
    done = flowc("run", scale, "--input", "inner/scaled=[[-1, 2, 3]]", "--fetch", "out")
    assert (done.code, done.err) == (0, "feeds, from the placeholders: x=f32[batch,3]\n")
    assert "[[0., 2., 3.]]" in done.out


@pytest.mark.skipif(find_spec("ziglang") is None, reason="no ziglang (extra cc)")
def test_a_library_without_a_c_compiler(
    flowc: Command, scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "m.so"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "")
    assert flowc("compile", scale, "-o", library).code == 0
    assert flowc("run", library, "--input", "x=[[1,2,3]]").out == (
        "out: float32[1, 3]\n[[2., 4., 6.]]\n"
    )


@pytest.mark.parametrize("linker", ["ld", "ld.lld"])
def test_a_library_with_a_linker_alone(
    linker: str, flowc: Command, scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which(linker)
    if found is None:
        pytest.skip(f"no {linker}")
    (tmp_path / linker).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "")
    assert find_linker().command == (str(tmp_path / linker),)
    library = tmp_path / "m.so"
    assert flowc("compile", scale, "-o", library).code == 0
    assert flowc("run", library, "--input", "x=[[1,2,3]]").out == (
        "out: float32[1, 3]\n[[2., 4., 6.]]\n"
    )


def test_the_first_of_several_runs_is_not_in_the_profile(flowc: Command, scale: Path) -> None:
    run = ("run", scale, "--input", "x=[[1,2,3]]", "--profile")
    assert re.search(r" 3 runs of \d+ steps", flowc(*run, "--repeat", "4").err)
    once = flowc(*run).err
    assert " 1 runs of" in once and "--repeat 2 or more" in once


@needs_cc
def test_a_linker_that_says_nothing_is_named(
    flowc: Command, scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "silent-cc"
    silent.write_text("#!/bin/sh\nexit 7\n")
    silent.chmod(0o755)
    monkeypatch.setenv("CC", str(silent))
    said = flowc("compile", scale, "-o", tmp_path / "m.so").err
    assert f"the linker {silent} failed with exit code 7, and said nothing" in said


def test_a_place_that_takes_no_files_has_the_name_that_was_given(
    flowc: Command, scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(dir: Path) -> None:
        name = os.path.join(os.path.abspath(dir), "tmpowyss24w")
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)

    (tmp_path / "full").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.TemporaryFile", refuses)
    said = flowc("compile", scale, "-o", "full/m.so").err
    assert "full/m.so: cannot be written: Read-only file system" in said
    assert "tmpowyss24w" not in said


def test_verbose_says_every_stage(flowc: Command, scale: Path, tmp_path: Path) -> None:
    said = flowc("compile", scale, "-o", tmp_path / "m.so", "-v").err
    for words in ("s  reading", "s  pass fuse: ", "s  writing", "s  done"):
        assert words in said
    numbers = re.findall(r"s  kernel (\d+) of (\d+)", said)
    assert sorted(int(n) for n, _ in numbers) == list(range(1, len(numbers) + 1))
    assert {int(of) for _, of in numbers} == {len(numbers)}
    assert "pass fuse" not in flowc("compile", scale, "-o", tmp_path / "m.so").err


@needs_cc
def test_a_library_says_what_does_not_fit(flowc: Command, scale: Path, tmp_path: Path) -> None:
    library = tmp_path / "m.so"
    assert flowc("compile", scale, "-o", library, "--emit", "so", "--weights", "file").code == 0
    assert flowc("run", library, "--input", "x=[[1,2,3]]").out == (
        "out: float32[1, 3]\n[[2., 4., 6.]]\n"
    )
    for args, code, said in (
        (["--input", "x=[[1,2]]"], 4, "error[FL0503]: "),
        (["--input", "x=[1,2,3]"], 4, "input 'x' has dims [3], expected [batch, 3]"),
        (["--input", "x=[[1j]]"], 2, "input 'x': elements of type complex128"),
        (["--input", "y=[[1,2]]"], 2, "no input is named 'y'"),
        (["--random-seed", "1", "--fetch", "outt"], 2, "did you mean 'out'?"),
        (["--random-seed", "1", "--tag", "serve"], 2, "this is a library"),
        ([], 2, "no value is given for x: float32[batch,3]"),
    ):
        done = flowc("run", library, *args)
        assert (done.code, done.out) == (code, "") and said in done.err, done.err
    assert "  x: f32[batch,3]\n" in flowc("inspect", library).out
    cut = tmp_path / "cut.so"
    cut.write_bytes(library.read_bytes()[:2000])
    done = flowc("run", cut, "--random-seed", "1")
    assert done.code == 4 and "error[FL0400]: cannot load" in done.err


@needs_cc
def test_a_library_is_inspected_without_its_weights_file(flowc: Command, tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 40], name="x")
        tf.matmul(x, tf.constant(np.ones((40, 50), np.float32)), name="out")
    model = tf.train.write_graph(graph, tmp_path, "model.pb", as_text=False)
    library = tmp_path / "m.so"
    assert flowc("compile", model, "-o", library, "--weights", "file").code == 0
    library.with_name("m.so.weights").unlink()
    shown = flowc("inspect", library)
    assert shown.code == 0 and "  x: f32[batch,40]\n" in shown.out
    assert "m.so.weights cannot be opened" in shown.out


def test_random_inputs_follow_the_seed(flowc: Command, scale: Path) -> None:
    first, again, other = (flowc("run", scale, "--random-seed", n) for n in (3, 3, 4))
    assert first.code == 0 and first.out == again.out != other.out


def test_every_form_can_be_emitted(flowc: Command, scale: Path, tmp_path: Path) -> None:
    done = flowc("compile", scale, "-o", tmp_path / "m.so", "--emit", "py,kernel,ir,plan,llvm",
                 "--emit", "asm,obj,header", "--target", "x86-64-v2")  # fmt: skip
    assert done.code == 0, done.err
    made = {p.name for p in tmp_path.iterdir()} - {"scale.pbtxt"}
    assert made == {f"m.{x}" for x in ("py", "kernel", "ir", "plan", "ll", "s", "objects", "h")}
    assert "def kernel(" in (tmp_path / "m.py").read_text()
    assert ": f32 = x0[" in (tmp_path / "m.kernel").read_text()
    assert (tmp_path / "m.ir").read_text().startswith("computation(")
    assert "run loop" in (tmp_path / "m.plan").read_text()
    assert "define void @k_" in (tmp_path / "m.ll").read_text()
    assembly = (tmp_path / "m.s").read_text()
    assert "xmm" in assembly and "ymm" not in assembly
    objects = sorted(p.name for p in (tmp_path / "m.objects").iterdir())
    assert len(objects) >= 3 and {"driver.o", "runtime.o"} <= set(objects)
    assert "flowc_run" in (tmp_path / "m.h").read_text()


def test_an_archive_alone_has_the_name_that_is_given(
    flowc: Command, scale: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m.a"
    done = flowc("compile", scale, "-o", out, "--emit", "a,header")
    assert done.code == 0, done.err
    assert out.read_bytes().startswith(b"!<arch>") and not (tmp_path / "m.so").exists()
    assert "flowc_run" in (tmp_path / "m.h").read_text()
    refused = flowc("compile", scale, "-o", out, "--emit", "so,a")
    assert refused.code == 2 and "another kind of file" in refused.err


def test_print_after_and_texts_on_stdout(flowc: Command, scale: Path) -> None:
    from flowc.ir.text.form import parse_computation
    from flowc.passes.pipeline import PIPELINE

    done = flowc("compile", scale, "-o", "-", "--emit", "plan", "--print-after", "prune")
    assert done.code == 0
    ir, _, plan = done.out.rpartition("steps\n")
    assert "arena" in plan
    texts = ir.split("# after prune\n")[1:]
    assert len(texts) == [run.__name__ for run, _ in PIPELINE].count("prune")
    for text in texts:
        parse_computation(text)


# -- inspect and ops


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
    public = {name for name in tf_names() if not name.startswith("_")}
    fused = {"_FusedConv2D", "_FusedMatMul"}  # in graphs that TensorFlow has optimised
    assert found == sorted(found) and public | fused <= set(found)
    assert all(name.startswith("_Fused") for name in set(found) - public)
    assert flowc("ops", "_Cluster").code == 2
    one = flowc("ops", "Conv2D")
    assert one.code == 0 and one.out.startswith("Conv2D ") and one.out.count("\n") == 1
    assert flowc("ops", "Conv2E").code == 2


# -- errors: text and exit code


def test_an_unknown_feed_is_named_with_what_is_like_it(flowc: Command, scale: Path) -> None:
    done = flowc("compile", scale, "-o", "-", "--emit", "ir", "--feed", "iner/scaled")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error[FL0101]: feed 'iner/scaled': 'iner/scaled' is not in the graph\n"
        "  try: did you mean 'inner/scaled' or 'inner/two'?\n"
    )


def test_missing_ops_have_reasons(flowc: Command) -> None:
    found = json.loads(flowc("ops", "--missing", "--json").out)["missing"]
    have = {row["op"] for row in json.loads(flowc("ops", "--json").out)["ops"] if row["compiles"]}
    rows = {row["op"]: row["reason"] for row in found}
    assert not have & set(rows) and len(tensorflow_ops() - set(rows)) >= 900
    assert all(rows.values()) and "TPUs" in rows["TPUPartitionedCall"]
    done = flowc("ops", "--missing")
    assert done.code == 0 and f"{len(rows)} ops of TensorFlow are missing" in done.err


def test_unsupported_ops_are_told_all_at_once(flowc: Command, tmp_path: Path) -> None:
    path = tmp_path / "m.pbtxt"
    path.write_text(UNKNOWN_OPS)
    done = flowc("compile", path, "-o", "-", "--emit", "ir")
    assert done.code == 3
    assert done.err.splitlines()[2:] == [
        "error[FL0300]: flowc cannot compile 2 op types at 3 nodes:",
        "  MadeUp (2): b, a  [no op of TensorFlow: --op-library FILE loads custom ops]",
        "  Softmaxx (1): c  [no op of TensorFlow: did you mean 'Softmax'?]",
        "  try: fetch tensors that do not need these nodes, or feed the tensors behind them; "
        "`flowc ops` lists what can be compiled",
    ]


def test_no_op_is_offered_for_one_that_only_sounds_alike(flowc: Command, tmp_path: Path) -> None:
    path = tmp_path / "m.pbtxt"
    path.write_text(UNKNOWN_OPS.replace("MadeUp", "BatchFFT"))
    done = flowc("compile", path, "-o", "-", "--emit", "ir")
    assert "  BatchFFT (2): b, a\n" in done.err


def test_without_a_command_the_help_is_shown(flowc: Command) -> None:
    done = flowc()
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: flowc ") and "Show what a model holds" in done.err


def test_a_truncated_model_is_bad_input(flowc: Command, tmp_path: Path) -> None:
    path = tmp_path / "cut.meta"
    path.write_bytes(Path(META).read_bytes()[:30_001])
    done = flowc("inspect", path)
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("error[FL0") and "cut.meta" in done.err and "byte" in done.err


def test_a_truncated_checkpoint_is_bad_input(flowc: Command, tmp_path: Path) -> None:
    for path in DIGITS.glob("model.*"):
        data = path.read_bytes()
        (tmp_path / path.name).write_bytes(data[:1000] if ".data-" in path.name else data)
    done = flowc("run", tmp_path / "model.meta", "--fetch", "probabilities", "--random-seed", 1)
    assert (done.code, done.out) == (4, "")
    assert "model.data-00000-of-00001" in done.err and done.err.count("Traceback") == 0


def test_a_missing_checkpoint_says_how_to_give_one(flowc: Command, tmp_path: Path) -> None:
    shutil.copy(META, tmp_path / "alone.meta")
    done = flowc("run", tmp_path / "alone.meta", "--fetch", "probabilities", "--random-seed", 1)
    assert done.code == 4
    assert "error[FL0509]: Attempting to use uninitialized value conv1/filter" in done.err
    assert f"no value; there is no {tmp_path / 'alone.index'}, where its checkpoint" in done.err
    assert "  try: name the checkpoint that holds it" in done.err and "--checkpoint P" in done.err
    shown = flowc("inspect", tmp_path / "alone.meta").out
    assert f"  checkpoint  none: there is no {tmp_path / 'alone.index'}" in shown
    given = flowc("run", tmp_path / "alone.meta", "--fetch", "probabilities", "--random-seed", 1,
                  "--checkpoint", DIGITS)  # fmt: skip
    assert given.code == 0, given.err


@pytest.mark.parametrize(
    "text, said",
    [
        ("x=f33[2]", "the feed 'x=f33[2]' has an unknown dtype 'f33'"),
        ("x=f32[2", "cannot read the feed 'x=f32[2'"),
        ("=f32[2]", "cannot read the feed '=f32[2]'"),
        ("x=f32[2,-1]", "the feed 'x' has a negative size '-1'"),
        ("x=f32[2;3]", "the feed 'x' has an unreadable size '2;3'"),
        ("x=i32[2,3]", "the feed 'x' is given as i32, and the graph has f32"),
        ("x=f32[2,4]", "the feed 'x' is given as [2,4], and the graph has [?,3]"),
    ],
)
def test_a_bad_feed_text_is_a_usage_error(
    flowc: Command, scale: Path, text: str, said: str
) -> None:
    done = flowc("compile", scale, "-o", "-", "--emit", "ir", "--feed", text)
    assert (done.code, done.out) == (2, "")
    assert f"error[FL0100]: {said}" in done.err


def test_what_is_no_plain_file_is_not_replaced(flowc: Command, tmp_path: Path) -> None:
    pipe = tmp_path / "m.so"
    os.mkfifo(pipe)
    for args in (["compile", META], ["run", META, "--random-seed", "1"]):
        done = flowc(*args, "-o", pipe)
        assert (done.code, done.err) == (
            4,
            f"error[FL0601]: {pipe}: cannot be written: this is no plain file\n",
        )
    assert pipe.is_fifo() and [p.name for p in tmp_path.iterdir()] == ["m.so"]


@needs_cc
def test_a_library_and_its_model_say_the_same_of_dims(flowc: Command, tmp_path: Path) -> None:
    model, library = tmp_path / "two.pbtxt", tmp_path / "two.so"
    model.write_text(TWO_INPUTS)
    assert flowc("compile", model, "-o", library, "--emit", "so").code == 0
    x, y = "x=[[1,2,3]]", "y=[[1,2,3]]"
    for inputs, said in (
        (["x=[1,2,3]", y], "input 'x' has dims [3], expected [batch, 3]"),
        ([x, "y=[[1]]"], "input 'y' has dims [1, 1], expected [batch, 3]: dimension 1 is 1, ex"),
        (["x=[[1,2,3,4]]", y], "[1, 4], expected [batch, 3]: dimension 1 is 4, expected 3"),
        ([x, y, "x:0=[[1,2,3]]"], "input 'x:0' is given twice"),
    ):
        args = [word for text in inputs for word in ("--input", text)]
        errors = [flowc("run", path, *args).err.splitlines()[-1] for path in (library, model)]
        assert said in errors[0] and errors[0] == errors[1]


@pytest.mark.parametrize(
    "args, code, said",
    [
        (["complie"], 2, "no command is named 'complie'\n  try: did you mean 'compile'?"),
        (["compile", META], 2, "Missing option '-o' / '--out'"),
        (["compile", META, "-o", "m.so", "--emit", "sso"], 2, "no kind is named 'sso'"),
        (["compile", META, "-o", "m.so", "--print-after", "fuze"], 2, "did you mean 'fuse'?"),
        (["compile", META, "-o", "m.so", "--target", "x86-64-v5"], 2, "did you mean 'x86-64-v"),
        (["compile", META, "-o", "no/such/folder/m.so"], 2, "there is no folder no/such/folder"),
        (["compile", META, "-o", "/proc/m.so"], 4, "/proc/m.so: cannot be written: "),
        (["compile", META, "-o", "-"], 2, "only texts can be printed"),
        (["run", META, "--random-seed", "1", "-o", "/proc/m.npz"], 4, "/proc/m.npz: cannot be wr"),
        (["compile", "nowhere.pb", "-o", "m.so"], 4, "nowhere.pb"),
        (["compile", str(DIGITS / "test.npz"), "-o", "m.so"], 4, "zip archive"),
        (["inspect", str(DIGITS / "model.index")], 4, "the index of a checkpoint"),
        (["inspect", META, "--tag", "serve"], 2, "tags select a graph of a SavedModel"),
        (["inspect", str(DIGITS / "run.py")], 4, "this is text, and not that of a graph"),
        (["run", META], 2, "no value is given for images"),
        (["run", META, "--input", "images"], 2, "expected NAME=FILE.npy"),
        (["run", META, "--input", "images=what"], 2, "neither a .npy or .npz file nor a literal"),
        (["run", META, "--input", "images=gone.npy"], 4, "gone.npy: there is no such file"),
        (["run", META, "--input", "images=[1.5]"], 4, "'images' has dims [1], expected [batch, 8"),
        (["run", META, "--input", "images=[[1j]]"], 2, "cannot become float32"),
        (["run", META, "--input", "image=[1]"], 2, "did you mean 'images'"),
        (["run", META, "--random-seed", "x"], 2, "'x' is not a valid integer"),
        (["run", META, "--signature", "s", "--random-seed", "1"], 2, "no signature 's'"),
        (["ops", "Conv4D"], 2, "flowc has no op named 'Conv4D'"),
    ],
)  # fmt: skip
def test_an_error_ends_with_its_code(flowc: Command, args: list[str], code: int, said: str) -> None:
    done = flowc(*args)
    assert (done.code, done.out) == (code, "")
    assert re.search(r"^error\[FL\d{4}\]: ", done.err, re.MULTILINE)
    assert said in done.err and "Traceback" not in done.err


def test_pickled_arrays_are_refused(flowc: Command, scale: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], object), allow_pickle=True)
    done = flowc("run", scale, "--input", f"x={tmp_path}/x.npy")
    assert (done.code, done.out) == (4, "")
    assert "without pickled objects" in done.err


def test_a_literal_is_read_and_not_evaluated(flowc: Command, scale: Path) -> None:
    done = flowc("run", scale, "--input", "x=__import__('os').getcwd()")
    assert done.code == 2 and "nor a literal" in done.err


@pytest.mark.parametrize(
    "error, code",
    [
        (MemoryError(), 5),
        (OSError(28, "No space left on device", "m.so"), 5),
        (PermissionError(13, "Permission denied", "m.so"), 4),
        (ZeroDivisionError("a fault"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_what_goes_wrong_inside_has_a_code_too(
    flowc: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("flowc.cli.ops.coverage", fail)
    done = flowc("ops")
    assert done.code == code and "Traceback" not in done.err
    if code == 70:
        assert done.err == (
            "error[FL0070]: ZeroDivisionError: a fault\n"
            "  this is a fault of flowc: please report it with what --debug prints\n"
        )
        assert "Traceback" in flowc("ops", "--debug").err


def test_compile_tells_programs_or_nobody(flowc: Command, scale: Path) -> None:
    done = flowc(
        "compile", scale, "-o", scale.with_suffix(".so"), "--json", "--emit", "so,a,header"
    )
    found = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert [Path(f["path"]).suffix for f in found["files"]] == [".so", ".h", ".a"]
    program = found["programs"][""]
    assert program["inputs"] == ["x=f32[batch,3]"] and program["outputs"] == ["out=f32[batch,3]"]
    assert flowc("compile", scale, "-o", scale.with_suffix(".so"), "-q") == Done(0, "", "")


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (["run", "m", "--outputs", "y"], "--fetch"),
        (["compile", "m", "--input", "x"], "--feed"),
        (["extract", "m", "--fetch", "y"], "--outputs"),
    ],
)
def test_an_option_of_another_command_is_told_by_its_name_here(
    args: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(args) == 2
    assert f"No such option '{args[2]}'. Did you mean '{meant}'?" in capsys.readouterr().err
