"""Several models in one C program, and several signatures in one library."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import flowc as tf
import flowc_runtime
from flowc.cli.entry import run_command_line

ROOT = Path(__file__).parents[2]
DIGITS = str(ROOT / "examples" / "digits" / "model.meta")
CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")
SOURCE = str(ROOT / "tests" / "cc" / "two_models.c")


def _save_doubles(folder: Path) -> str:
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        builder = tf.saved_model.Builder(str(folder))
        signatures = {
            name: tf.saved_model.predict_signature_def({"x": x}, {"y": y})
            for name, y in (("double", tf.add(x, x)), ("half-of", x * 0.5), ("square", x * x))
        }
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    return str(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    emit = ("--emit", "so,a,header,pc,cmake")
    digits = ("compile", DIGITS, "-o", str(folder / "digits.so"), "--fetch", "probabilities")
    assert run_command_line([*digits, *emit]) == 0
    saved = _save_doubles(folder / "saved")
    doubles = ("compile", saved, "-o", str(folder / "doubles.so"), "--signature", "double")
    assert run_command_line([*doubles, *emit]) == 0
    return folder


def _built(folder: Path, name: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [str(CC), "-std=c99", "-Wall", "-Werror", f"-I{folder}", *more, "-lm", "-pthread"]
    return subprocess.run([*command, "-o", folder / name], capture_output=True, text=True)


@pytest.mark.parametrize(
    "libraries",
    [("doubles.so", "digits.so"), ("digits.a", "doubles.a"), ("digits.so", "doubles.a")],
)
def test_a_program_uses_two_models(folder: Path, libraries: tuple[str, ...]) -> None:
    paths = [str(folder / name) for name in libraries]
    built = _built(folder, "both", SOURCE, *paths, f"-Wl,-rpath,{folder}")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([folder / "both"], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("digits doubles 1.000 2 4 6\n", "")


def test_names_that_two_models_share_do_not_compile(folder: Path) -> None:
    source = folder / "unclear.c"
    source.write_text('#include "digits.h"\n#include "doubles.h"\nint f(void) { return 0; }\n')
    assert _built(folder, "unclear.o", "-c", str(source)).returncode == 0
    source.write_text(source.read_text() + "int g(void) { return flowc_abi_version(); }\n")
    built = _built(folder, "unclear.o", "-c", str(source))
    assert "of_which_model_call_it_by_its_prefix" in built.stderr and built.returncode
    source.write_text('#include "digits.h"\nint g(void) { return flowc_abi_version(); }\n')
    assert _built(folder, "clear.o", "-c", str(source)).returncode == 0


def test_equal_names_clash(folder: Path) -> None:
    saved = str(folder / "saved")
    for number, signature in enumerate(("double", "square")):
        args = ["compile", saved, "-o", str(folder / f"m{number}.so"), "--signature", signature]
        assert run_command_line([*args, "--emit", "a,header", "--prefix", "same"]) == 0
    source = folder / "clash.c"
    source.write_text("extern int same_run(), other(); int main(void) { return same_run(); }\n")
    whole = [str(folder / "m0.a"), str(folder / "m1.a")]
    options = ["-std=gnu89", "-Wl,--whole-archive", *whole, "-Wl,--no-whole-archive"]
    built = _built(folder, "clash", str(source), *options)
    assert built.returncode and "multiple definition of `same_run'" in built.stderr


def test_equal_headers_clash(folder: Path, tmp_path: Path) -> None:
    for place, signature in ((folder / "saved", "double"), (folder / "saved", "square")):
        out = tmp_path / signature / "m.so"
        out.parent.mkdir()
        args = ["compile", str(place), "-o", str(out), "--signature", signature]
        assert run_command_line([*args, "--emit", "header"]) == 0
    source = tmp_path / "both.c"
    source.write_text('#include "double/m.h"\n#include "double/m.h"\nint f(void) { return 0; }\n')
    assert _built(tmp_path, "both.o", "-c", str(source)).returncode == 0
    source.write_text('#include "double/m.h"\n#include "square/m.h"\n')
    built = _built(tmp_path, "both.o", "-c", str(source))
    assert built.returncode and "two models are named m" in built.stderr


def test_signatures_of_one_library(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "all.so"
    args = ["compile", str(folder / "saved"), "-o", str(out), "--signature", "half-of,square"]
    assert run_command_line([*args, "--emit", "so,a,header"]) == 0
    x = np.array([2, 4], np.float32)
    first, square = flowc_runtime.load(out), flowc_runtime.load(out, "square")
    assert first(x).tolist() == [1, 2] and square(x).tolist() == [4, 16]
    capsys.readouterr()
    assert run_command_line(["run", str(out), "--input", "x=[2,4]", "--signature", "square"]) == 0
    assert "[ 4., 16.]" in capsys.readouterr().out
    assert first.metadata["signatures"] == {"half-of": "all_half_of", "square": "all_square"}
    with pytest.raises(flowc_runtime.LoadError, match="no signature 'cube'; it has half-of, sq"):
        flowc_runtime.load(out, "cube")
    assert repr(square).startswith("<Model 'all', signature 'square': x: float32[")
    header = (folder / "all.h").read_text()
    for name, functions in (("half-of", "all_half_of_..."), ("square", "all_square_...")):
        assert f"/* all, signature {name} (functions {functions}): a model compiled" in header
    assert header.count("Generated: edits are lost") == 2
    source = folder / "all.c"
    source.write_text(
        '#include "all.h"\nint main(void) { return all_square_input_count() + '
        "all_half_of_output_rank(0) - ALL_SQUARE_INPUTS - 1; }\n"
    )
    for library in ("all.so", "all.a"):
        path = str(folder / library)
        built = _built(folder, "all", str(source), path, f"-Wl,-rpath,{folder}")
        assert built.returncode == 0, built.stderr
        assert subprocess.run([folder / "all"]).returncode == 0


def test_messages_in_c_name_the_functions_of_their_signature(tmp_path: Path) -> None:
    saved = str(tmp_path / "saved")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], "x")
        calls = tf.Variable(0.0, name="calls")
        y = tf.assign_add(calls, x)
        session.run(calls.initializer)
        signatures = {
            name: tf.saved_model.predict_signature_def({"x": x}, {"y": y}) for name in ("a", "b")
        }
        builder = tf.saved_model.builder.SavedModelBuilder(saved)
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    args = ["compile", saved, "-o", str(tmp_path / "m.so"), "--signature", "a,b"]
    assert run_command_line(args) == 0
    second = flowc_runtime.load(tmp_path / "m.so", "b")._library
    assert second.flowc_run(None, None, None, None)
    assert b"m_b_instance_create and run it with m_b_instance_run" in second.flowc_last_error()


def test_what_does_not_go_together(folder: Path) -> None:
    args = ["compile", str(folder / "saved"), "-o", str(folder / "no.so")]
    assert run_command_line([*args, "--signature", "double,square", "--weights", "file"]) == 2
    assert run_command_line([*args, "--signature", "double,square", "--fetch", "x"]) == 2
    assert run_command_line([*args, "--signature", "double", "--prefix", "a-b"]) == 2
    assert not (folder / "no.so").exists()


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="no pkg-config")
def test_pkg_config_knows_the_library(folder: Path) -> None:
    command = ["pkg-config", "--cflags", "--libs", str(folder / "digits.pc")]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"-I{folder}" in found and str(folder / "digits.so") in found


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
@pytest.mark.parametrize("kind", ["shared", "static"])
def test_cmake_finds_the_libraries(folder: Path, tmp_path: Path, kind: str) -> None:
    """A project with both models, one of them as a static library."""
    for name in ("digits", "doubles"):
        for suffix in (".h", "-config.cmake", ".so", ".a"):
            shutil.copy(folder / f"{name}{suffix}", tmp_path / f"{name}{suffix}")
    if kind == "static":
        command = ("compile", DIGITS, "-o", str(tmp_path / "digits.so"), "--force")
        emit = ("--fetch", "probabilities", "--emit", "a,header,cmake")
        assert run_command_line([*command, *emit]) == 0
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(both C)\n"
        "find_package(digits REQUIRED CONFIG PATHS . NO_DEFAULT_PATH)\n"
        "find_package(doubles REQUIRED CONFIG PATHS . NO_DEFAULT_PATH)\n"
        f"add_executable(both {SOURCE})\n"
        "target_link_libraries(both digits::digits doubles::doubles)\n"
    )
    for words in (("-S", ".", "-B", "build"), ("--build", "build")):
        done = subprocess.run(["cmake", *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    needed = subprocess.run(["ldd", tmp_path / "build" / "both"], capture_output=True, text=True)
    assert ("digits.so" in needed.stdout) == (kind == "shared")
    assert subprocess.run([tmp_path / "build" / "both"], capture_output=True).returncode == 0
