"""`flowc bench`: batch and thread counts are measured, and compared with figures from before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import flowc as tf
import flowc_runtime
from flowc.cli.entry import run_command_line
from flowc.codegen.cpu.target import cpu_target

META = str(Path(__file__).parents[2] / "examples" / "digits" / "model.meta")


def test_a_model_and_a_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = str(tmp_path / "digits.so")
    args = ["compile", META, "-o", library, "--fetch", "probabilities"]
    assert run_command_line(args) == 0
    capsys.readouterr()
    args = ["bench", library, "--batch", "1,5", "--threads", "1,2", "--seconds", "0"]
    assert run_command_line(args) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        ["1", "1"],
        ["5", "1"],
        ["1", "2"],
        ["5", "2"],
    ]
    args = ["bench", META, "--fetch", "probabilities", "--seconds", "0", "--json"]
    assert run_command_line(args) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["runs"]
    assert row["runs"] >= 10 and 0 < row["p50_ms"] <= row["p90_ms"] <= row["p99_ms"]
    assert row["peak_bytes"] > 1 << 20
    for factor, code in ((1e9, 0), (1e-9, 1)):
        before = {"runs": [{**row, "p50_ms": row["p50_ms"] * factor}]}
        (tmp_path / "before.json").write_text(json.dumps(before))
        assert run_command_line([*args, "--baseline", str(tmp_path / "before.json")]) == code
    (tmp_path / "before.json").write_text("[]")
    assert run_command_line([*args, "--baseline", str(tmp_path / "before.json")]) == 4
    assert run_command_line(["bench", library, "--batch", "0"]) == 2


def test_inputs_that_are_given_and_parts_that_are_fed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tf.Graph().as_default() as graph:
        words = tf.placeholder(tf.string, [None], name="words")
        lengths = tf.strings.length(words, name="lengths")
        tf.multiply(lengths, tf.placeholder(tf.int32, [None], name="weights"), name="result")
    model, library = str(tmp_path / "model.pb"), str(tmp_path / "model.so")
    tf.train.write_graph(graph, str(tmp_path), "model.pb", as_text=False)

    def bench(*words: str) -> tuple[int, str, str]:
        code = run_command_line(["bench", *words, "--seconds", "0"])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    assert bench(model)[0] == 2  # nobody makes random strings
    code, out, _ = bench(model, "--input", "words:0=['a', 'bc', 'd']")
    assert code == 0 and out.splitlines()[1].split()[0] == "3"  # the batch is that of the words
    code, _, err = bench(model, "--input", "word=['a']")
    assert code == 2 and "no input is named 'word'\n  try: did you mean 'words'?" in err
    cut = ["--feed", "lengths=i32[batch]", "--feed", "weights=i32[batch]"]
    code, out, _ = bench(model, *cut, "--batch", "2", "--per-kernel")
    assert code == 0 and out.splitlines()[1].split()[0] == "2" and "StringLength" not in out
    assert run_command_line(["compile", model, "-o", library, *cut]) == 0
    code, out, _ = bench(library, "--input", "lengths=[1, 2, 3, 4]")
    assert code == 0 and out.splitlines()[-1].split()[0] == "4"
    assert bench(library, *cut)[0] == 2


def test_random_inputs_that_do_not_fit_are_said_to_be_random(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tf.Graph().as_default() as graph:
        places = tf.placeholder(tf.int32, [8], name="places")
        scale = tf.placeholder(tf.float32, [], name="scale")
        tf.multiply(tf.gather(tf.constant([1.0, 2.0]), places), scale, name="result")
    model, library = str(tmp_path / "model.pb"), str(tmp_path / "model.so")
    tf.train.write_graph(graph, str(tmp_path), "model.pb", as_text=False)
    assert run_command_line(["compile", model, "-o", library]) == 0
    for said in (
        ["bench", model, "--seconds", "0"],
        ["bench", library, "--seconds", "0"],
        ["run", model, "--random-seed", "1"],
        ["run", library, "--random-seed", "1"],
    ):
        capsys.readouterr()
        assert run_command_line(said) == 4
        err = capsys.readouterr().err
        assert "is not in [0, 2)" in err
        assert "try: --input places=..., for values that fit: places, scale were random" in err
        given = [*said, "--input", "places=[0,1,0,1,0,1,0,9]", "--input", "scale=2"]
        assert run_command_line(given) == 4 and "random" not in capsys.readouterr().err
    named = {"places:0": [0, 1] * 4, "scale": 2.0}  # as in a Session, or as the library has them
    assert flowc_runtime.load(library).run(named)["result"].tolist() == [2.0, 4.0] * 4


def test_every_kernel_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 6, 6, 3], name="x")
        y = tf.nn.relu(tf.nn.conv2d(x, tf.ones([3, 3, 3, 8]), 1, "VALID"), name="conv")
        z = tf.matmul(tf.reshape(y, [-1, 128]), tf.ones([128, 5]), name="dot")
        step = lambda i, a: (i + 1, tf.tanh(tf.matmul(a, tf.ones([5, 5]), name="in_loop")))
        w = tf.while_loop(lambda i, _: i < 4, step, [0, z])[1]
        tf.identity(w, name="result")
    model = str(tmp_path / "model.pb")
    tf.train.write_graph(graph, str(tmp_path), "model.pb", as_text=False)
    args = ["bench", model, "--batch", "1,2", "--threads", "1", "--seconds", "0", "--per-kernel"]
    assert run_command_line(args) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("between kernels" in line for line in lines) == 2
    assert run_command_line([*args, "--json"]) == 0
    for row in json.loads(capsys.readouterr().out)["runs"]:
        found, batch = row["per_kernel"], row["batch"]
        assert found["whole"] and found["peak_gflops"] > 0 < found["peak_gb_per_s"]
        left = sum(found[f"{k}_ms"] for k in ("before", "between", "after"))
        assert left + sum(k["ms"] for k in found["kernels"]) == pytest.approx(found["run_ms"])
        # A multiply-add is two operations; the ReLU is one for each of its elements.
        conv = batch * 16 * 8 * (2 * 27 + 1)
        done = {name: _work(found["kernels"], name) for name in ("conv", "dot")}
        assert done == pytest.approx({"conv": conv, "dot": batch * 2 * 128 * 5})
        (looped,) = [k for k in found["kernels"] if "while/in_loop" in k["nodes"]]
        assert looped["times"] == 4
        (loop,) = [k for k in found["kernels"] if k["kernel"] == "driver" and k["times"] == 1]
        assert loop["ms"] < found["run_ms"]
    library = str(tmp_path / "library.so")
    assert run_command_line(["compile", model, "-o", library]) == 0
    assert run_command_line(["bench", library, "--per-kernel"]) == 2
    assert "the model that it was compiled from" in capsys.readouterr().err


def _work(kernels: list[dict[str, Any]], name: str) -> float:
    (kernel,) = [k for k in kernels if name in k["nodes"]]
    assert kernel["roofline"] > 0
    return kernel["gflops"] * kernel["ms"] * 1e6


def test_a_model_is_measured_for_another_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ["bench", META, "--fetch", "probabilities", "--seconds", "0"]
    told = ["--target", "x86-64-v2", "--per-kernel", "--json"]
    assert run_command_line([*args, *told]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert row["per_kernel"]["peak_gflops"] > 0 and row["per_kernel"]["kernels"]
    assert run_command_line([*args, "--target", "x86-64-v9"]) == 2
    assert "x86-64-v9" in capsys.readouterr().err
    native = cpu_target("native")
    narrow = replace(native, vector_bits=128, has_fma=False)
    monkeypatch.setattr("flowc.codegen.cpu.target.cpu_target", lambda name: narrow)
    assert run_command_line([*args, "--target", "x86-64-v3"]) == 2
    assert "cannot run what is compiled for x86-64-v3" in capsys.readouterr().err
    library = str(tmp_path / "digits.so")
    assert run_command_line(["compile", META, "-o", library, "--fetch", "probabilities"]) == 0
    capsys.readouterr()
    assert run_command_line(["bench", library, "--target", "x86-64-v2"]) == 2
    assert "--target is for models" in capsys.readouterr().err
