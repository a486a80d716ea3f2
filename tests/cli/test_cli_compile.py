"""`flowc compile` and `flowc run`: what they write, and that it is right."""

from __future__ import annotations

import errno
import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from command_line import DIGITS, META, Command

import flowc as tf
from flowc.codegen.link.linker import find_linker

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


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


def test_objects_of_routines_that_kernels_share(flowc: Command, tmp_path: Path) -> None:
    made = flowc("compile", META, "-o", tmp_path / "m.so", "--emit", "obj",
                 "--feed", "images=f32[batch,8,8]", "--fetch", "probabilities")  # fmt: skip
    assert made.code == 0, made.err
    names = [p.stem for p in (tmp_path / "m.objects").iterdir()]
    kernels = [name for name in names if name.startswith("k_")]
    assert kernels and set(names) - set(kernels) > {"driver", "runtime"}


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
