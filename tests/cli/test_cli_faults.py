"""What the commands say when something is wrong, and what they exit with."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import DIGITS, META, TWO_INPUTS, UNKNOWN_OPS, Command, Done

from flowc.cli.entry import run_command_line
from flowc.encoding.tensorflow_ops import tensorflow_ops

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def test_an_unknown_feed_is_named_with_what_is_like_it(flowc: Command, scale: Path) -> None:
    done = flowc("compile", scale, "-o", "-", "--emit", "ir", "--feed", "iner/scaled")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error[FL0101]: feed 'iner/scaled': 'iner/scaled' is not in the graph\n"
        "  try: did you mean 'inner/scaled' or 'inner/two'?\n"
    )


def test_where_no_name_is_like_it_those_that_there_are_are_told(
    flowc: Command, tmp_path: Path
) -> None:
    path = tmp_path / "m.pbtxt"
    path.write_text(TWO_INPUTS)
    inputs = ", ".join(re.findall('name: "(.*?)" op: "Placeholder"', TWO_INPUTS))
    done = flowc("run", path, "--input", "zzzz=1")
    assert done.code == 2 and f"  try: the graph's inputs are {inputs}\n" in done.err
    done = flowc("compile", path, "-o", "-", "--emit", "ir", "--fetch", "zzzz")
    assert done.code == 2 and "  try: the graph's outputs are " in done.err


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
