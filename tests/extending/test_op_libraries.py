"""Ops in C and C++: loaded, called, linked into libraries, and what goes wrong with them."""

from __future__ import annotations

import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.cli.entry import run_command_line
from flowc.errors import UnsupportedError

SOURCES = Path(__file__).parent / "c"
EXAMPLES = Path(__file__).parents[2] / "examples" / "custom_op"
X = np.array([1.0, -2.0, 3.0], np.float32)
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")


def build(source: Path, out: Path) -> Path:
    """A shared library, or an object for the ending `.o`."""
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    flags = [
        f for f in tf.sysconfig.get_compile_flags() if source.suffix == ".cc" or "std" not in f
    ]
    kind = "-c" if out.suffix == ".o" else "-shared"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    command = [compiler, kind, "-fPIC", "-O1", *warnings, *flags, str(source), "-o", str(out)]
    subprocess.run([*command, *tf.sysconfig.get_link_flags()], check=True)
    return out


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both libraries, and the archive of one."""
    folder = tmp_path_factory.mktemp("op_libraries")
    build(EXAMPLES / "zero_out.c", folder / "zero_out.so")
    made = build(EXAMPLES / "zero_out.c", folder / "zero_out.o")
    subprocess.run(["ar", "rc", str(folder / "zero_out.a"), str(made)], check=True)
    made = build(SOURCES / "many_ops.cc", folder / "many_ops.o")
    whole = ["g++", "-shared", str(made), "-o", str(folder / "many_ops.so")]
    subprocess.run(whole, check=True)
    return folder


@pytest.fixture(autouse=True)
def new_graph() -> None:
    tf.reset_default_graph()


def needed_by(library: Path) -> set[str]:
    from elftools.elf.elffile import ELFFile

    with library.open("rb") as file:
        section: Any = ELFFile(file).get_section_by_name(".dynamic")
        return {tag.needed for tag in section.iter_tags() if tag.entry.d_tag == "DT_NEEDED"}


def test_a_library_gives_a_module_with_its_ops(built: Path) -> None:
    module = tf.load_op_library(str(built / "zero_out.so"))
    assert tf.load_op_library(built / "zero_out.so") is module
    assert module.zero_out.__name__ == "zero_out"
    found = module.zero_out([[1, 2], [3, 4]], name="kept")
    assert (found.op.type, found.shape.as_list()) == ("ZeroOut", [2, 2])
    with tf.Session() as session:
        assert session.run(module.zero_out([1, 2, 3, 4, 5])).tolist() == [1, 0, 0, 0, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"ZeroOut \(zero_out.so\): noth"):
            session.run(module.zero_out(np.zeros((0, 2), np.int32)))
    with pytest.raises(TypeError, match="int32"):
        module.zero_out([1.5])
    tf.testing.check_op("ZeroOut", np.array([7, 8], np.int32), expected=[7, 0])


def test_dtypes_attrs_shapes_and_outputs_that_kernels_allocate(built: Path) -> None:
    ops = tf.load_op_library(built / "many_ops.so")
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.Session() as session:
        for dtype in (np.float32, np.float64):
            found = session.run(ops.scaled(X.astype(dtype), by=3.0, more=[1, 2]))
            assert found.dtype == dtype and found.tolist() == (X * 9).tolist()
        assert session.run(ops.positive(X, False)).tolist() == [1.0, 3.0]
        turned = ops.turned(x)
        assert turned.shape.as_list() == [3, None]
        assert session.run(turned, {x: [[1, 2, 3]]}).tolist() == [[1], [2], [3]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="add is negative"):
            session.run(ops.turned([[1.0]], add=-1.0))
    with pytest.raises(ValueError, match=r"Turned \(many_ops.so\): a matrix is expected"):
        ops.turned([1.0])


def test_what_kernels_do_wrong_names_the_op_and_the_library(built: Path) -> None:
    ops = tf.load_op_library(built / "many_ops.so")
    errors = tf.errors
    cases = (
        (ops.scaled(X, by=-1.0), errors.OutOfRangeError, "by is negative"),
        (ops.scaled(X, mode="throw"), errors.UnknownError, "thrown by the kernel"),
        (ops.scaled(X, mode="beyond"), errors.DataLossError, "wrote beside its output 0"),
        (ops.scaled(X, mode="before"), errors.DataLossError, "wrote beside its output 0"),
        (ops.positive(X, True), errors.InvalidArgumentError, "has not allocated its output 0"),
    )
    with tf.Session() as session:
        for tensor, kind, words in cases:
            with pytest.raises(kind, match=rf"\(many_ops.so\): .*{words}") as caught:
                session.run(tensor)
            assert caught.value.node == tensor.op.name
        assert session.run(ops.scaled(X)).tolist() == (X * 2).tolist()


def test_a_resource_in_cpp_is_shared_by_threads_and_saved(built: Path, tmp_path: Path) -> None:
    ops = tf.load_op_library(built / "many_ops.so")
    counts = ops.counts(first=10, name="seen")
    keys = tf.placeholder(tf.int64, [None])
    found = ops.counted(counts, keys)
    saver = tf.train.Saver()
    with tf.Session() as session:
        work = lambda: [session.run(found, {keys: [1, 2]}) for _ in range(5)]
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.run(found, {keys: [1, 3]}).tolist() == [10 + 16 * 5 + 1, 11]
        path = saver.save(session, str(tmp_path / "counts"))
    assert dict(tf.train.list_variables(path)) == {"seen-bytes": [3 * 16]}
    with tf.Session() as session:
        saver.restore(session, path)
        assert session.run(found, {keys: [2, 4]}).tolist() == [10 + 16 * 5 + 1, 11]


def test_what_fails_in_some_threads_is_their_error_and_nothing_is_lost(
    built: Path, tmp_path: Path
) -> None:
    """A kernel throws in half of sixteen threads: each of these has the typed error, the others and
    the table go on; in a library as well."""
    ops = tf.load_op_library(built / "many_ops.o")
    keys, by = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [3], name="x")
    with tf.control_dependencies([ops.counted(ops.counts(first=0, name="seen"), keys)]):
        good, bad = ops.scaled(by), ops.scaled(by, mode="throw")
    words = r"Scaled \(many_ops.o\): .*thrown by the kernel"
    faults: list[BaseException] = []

    def work(run: Any, fails: bool) -> None:
        try:
            for _ in range(5):
                if fails:
                    with pytest.raises(Exception, match=words):
                        run(bad)
                else:
                    assert run(good).tolist() == (X * 2).tolist()
        except BaseException as error:
            faults.append(error)

    def in_threads(run: Any) -> None:
        threads = [threading.Thread(target=work, args=(run, k % 2 == 1)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults

    with tf.Session() as session:
        in_threads(lambda y: session.run(y, {keys: [5], by: X}))
        seen = session.run(ops.counted(ops.counts(first=0, shared_name="seen"), [5]))
        assert seen.tolist() == [16 * 5 + 1]
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        made = {
            mode: tf.compile(graph, ["x"], [ops.scaled(x, mode=mode)], out=tmp_path / f"{mode}.so")
            for mode in ("plain", "throw")
        }
    in_threads(lambda y: made["throw" if y is bad else "plain"](X))


def test_kernels_have_temporary_tensors_and_those_of_other_devices_compute_nothing(
    built: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ops = tf.load_op_library(built / "many_ops.o")
    told = [
        m for m in caplog.messages if m.startswith("many_ops.o: the kernel of Distant for the GPU")
    ]
    assert len(told) == 1 and "in C runs on the CPU only" in told[0]
    x = np.array([1.0, 2.0, 4.0], np.float32)
    tf.testing.check_op("Running", x, expected=[1.0, 3.0, 7.0], library=True)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"Running \(many_ops.o\): begins be"),
    ):
        session.run(ops.running([-1.0]))
    known = "Op 'Distant'.*: device GPU: all dtypes, in C, which runs on the CPU only"
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=known):
        session.run(ops.distant(x))


# -- compiled


def test_nodes_keep_memory_in_a_session_and_in_an_instance(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "archive"  # a library of its own: the ops are registered once
    folder.mkdir()
    text = (SOURCES / "many_ops.cc").read_text()
    for name in (
        "Scaled",
        "Positive",
        "Turned",
        "Running",
        "Total",
        "Forgetful",
        "Distant",
        "Counts",
        "Counted",
    ):
        text = text.replace(f'"{name}"', f'"Linked{name}"')
    (folder / "many.cc").write_text(text)
    ops = tf.load_op_library(build(folder / "many.cc", folder / "many.o"))
    x = tf.placeholder(tf.int64, [None], name="x")
    first, second = ops.linked_total(x), ops.linked_total(ops.linked_total(x), name="last")
    steps = np.array([1, 2], np.int64)
    with tf.Session() as session, tf.Session() as other:
        for k in (1, 2, 3):
            found = session.run([first, second], {x: steps})
            assert [f.tolist() for f in found] == [[k, 2 * k], [k * (k + 1) // 2, k * (k + 1)]]
        assert other.run(first, {x: steps}).tolist() == [1, 2]
        assert session.run(first, {x: steps[:1]}).tolist() == [4]
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"LinkedTotal \(many.o\)"):
            session.run(first, {x: np.zeros(3, np.int64)})
        with pytest.raises(tf.errors.FailedPreconditionError, match="without SetIsPersistent"):
            session.run(ops.linked_forgetful(x), {x: steps})
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda _: session.run(second, {x: steps}), range(8)))
        assert session.run(first, {x: steps}).tolist() == [5, 8]
    graph = tf.get_default_graph()
    model: Any = tf.compile(graph, ["x=i64[n]"], [first, second], out=tmp_path / "m.so")
    assert len(model.objects) == 3 and "last/memory" in model.objects
    with model.new_instance() as one, model.new_instance() as two:
        for k in (1, 2, 3):
            found = one(steps)
            assert [f.tolist() for f in found] == [[k, 2 * k], [k * (k + 1) // 2, k * (k + 1)]]
        assert two(steps)[0].tolist() == [1, 2]
        one.reset()
        assert one(steps)[0].tolist() == [1, 2]
        with pytest.raises(Exception, match=r"LinkedTotal \(many.o\): no memory"):
            one(np.zeros(3, np.int64))


def test_an_archive_is_linked_into_libraries(built: Path, tmp_path: Path) -> None:
    module = tf.load_op_library(built / "zero_out.a")
    x = tf.placeholder(tf.int32, [None, 2], name="x")
    kept = module.zero_out(x * 2) + 1
    made = tf.compile(tf.get_default_graph(), ["x=i32[n,2]"], [kept], out=tmp_path / "kept.so")
    assert made(np.array([[1, 2], [3, 4]], np.int32)).tolist() == [[3, 1], [1, 1]]
    with pytest.raises(Exception, match=r"ZeroOut \(zero_out.a\): nothing to keep of 2 dims"):
        made(np.zeros((0, 2), np.int32))
    assert needed_by(tmp_path / "kept.so") == {"libc.so.6"}
    ops = tf.load_op_library(built / "many_ops.o")
    tf.testing.check_op("Scaled", X, expected=X * 6, library=True, more=[1, 2], mode="any")
    matrix = np.array([[1.0, 2.0, 3.0]], np.float32)
    tf.testing.check_op("Turned", matrix, expected=matrix.T + 1, library=True, add=1.0)
    with pytest.raises(UnsupportedError, match="Positive"):
        tf.compile(tf.get_default_graph(), [], [ops.positive(X, False)], out=tmp_path / "p.so")
    assert not (tmp_path / "p.so").exists()


def test_the_command_line_loads_what_it_is_told_to(built: Path, tmp_path: Path) -> None:
    module = tf.load_op_library(built / "zero_out.a")
    module.zero_out(tf.placeholder(tf.int32, [4], name="x"), name="y")
    model = tmp_path / "model.pb"
    model.write_bytes(tf.get_default_graph().as_graph_def().SerializeToString())
    out, archive = str(tmp_path / "model.so"), str(built / "zero_out.a")
    assert run_command_line(["compile", str(model), "--op-library", archive, "-o", out]) == 0
    assert tf.load(out)(np.array([5, 6, 7, 8], np.int32)).tolist() == [5, 0, 0, 0]
    assert (
        run_command_line(["compile", str(model), "--op-library", str(tmp_path / "no.a"), "-o", out])
        != 0
    )


def test_a_shared_library_is_not_linked_into_libraries(built: Path, tmp_path: Path) -> None:
    module = tf.load_op_library(built / "zero_out.so")
    found = module.zero_out(tf.placeholder(tf.int32, [4], name="x"))
    words = (
        r"ZeroOut, whose kernel is in zero_out\.so: a library links archives "
        r"\(ar rc zero_out\.a zero_out\.o; --op-library zero_out\.a\)"
    )
    with pytest.raises(UnsupportedError, match=words):
        tf.compile(tf.get_default_graph(), ["x"], [found], out=tmp_path / "m.so")


# -- files that are no libraries


def test_what_cannot_be_loaded_says_so_and_registers_nothing(built: Path, tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"none.so: .*No such file or directory"):
        tf.load_op_library(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(tf.errors.NotFoundError, match=r"text.so"):
        tf.load_op_library(tmp_path / "text.so")
    (tmp_path / "empty.c").write_text("int nothing;\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no ops"):
        tf.load_op_library(build(tmp_path / "empty.c", tmp_path / "empty.so"))
    source = (EXAMPLES / "zero_out.c").read_text()
    (tmp_path / "other.c").write_text(
        source.replace("op.h>", "op.h>\n#undef FLOWC_OP_ABI\n#define FLOWC_OP_ABI 7")
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"version 7 of flowc/op.h.*version 1"):
        tf.load_op_library(build(tmp_path / "other.c", tmp_path / "other.so"))
    (tmp_path / "hidden.c").write_text(
        source.replace("FLOWC_KERNEL(zero_out)", "static void zero_out(flowc_op_call *call)")
    )
    hidden = build(tmp_path / "hidden.c", tmp_path / "hidden.o")
    with pytest.raises(tf.errors.InvalidArgumentError, match="where no linker finds it"):
        tf.load_op_library(hidden)
    assert "ZeroOut" not in dir(tf.raw_ops)
    tf.load_library(built / "zero_out.so")
    with pytest.raises(tf.errors.AlreadyExistsError, match="ZeroOut"):
        tf.load_op_library(built / "zero_out.a")
