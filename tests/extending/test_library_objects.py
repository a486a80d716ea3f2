"""Objects that code in C makes, held by the instances of libraries: a table that grows."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flowc as tf
import flowc_runtime
from flowc.cli.entry import run_command_line
from flowc.errors import UnsupportedError

EXAMPLES = Path(__file__).parents[2] / "examples" / "custom_op"
KEYS = np.array([3, 10**12], np.int64)
pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    made = folder / "table.o"
    flags = ["-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", *tf.sysconfig.get_compile_flags()]
    command = ["c++", *flags, "-c", str(EXAMPLES / "growing_table.cc"), "-o", str(made)]
    subprocess.run(command, check=True)
    subprocess.run(["ar", "rc", str(folder / "table.a"), str(made)], check=True)
    return folder / "table.a"


@pytest.fixture
def ops(archive: Path) -> Iterator[ModuleType]:
    with tf.Graph().as_default():
        yield tf.load_op_library(archive)


def pushed(ops: ModuleType, table: tf.Tensor, name: str) -> tuple[tf.Tensor, tf.Tensor]:
    """How many keys a table knows after a push of ones, and the rows then."""
    keys = tf.placeholder(tf.int64, [None], name="keys")
    ones = tf.ones(tf.stack([tf.size(keys), 2]))
    known = tf.identity(ops.push_to_table(table, keys, ones), name=name)
    with tf.control_dependencies([known]):
        return known, ops.pull_from_table(table, keys, dim=2, name="rows")


def test_the_example_trains_in_a_session_and_in_a_library(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("table", EXAMPLES / "table_library.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rows = example.main(tmp_path)
    assert rows.shape == (3, 4) and (rows > 0.8).all()
    assert "#define WORDS_OBJECT_WORDS 0" in (tmp_path / "words.h").read_text()


def test_instances_have_objects_of_their_own(ops: ModuleType, tmp_path: Path) -> None:
    first = ops.row_table(dim=2, shared_name="one", name="a")
    same = ops.row_table(dim=2, shared_name="one", name="b")
    other = ops.row_table(dim=2, name="two")
    known, rows = pushed(ops, first, "known")
    count = ops.push_to_table(other, [5], [[1.0, 1.0]])
    with tf.control_dependencies([known]):
        again = ops.pull_from_table(same, KEYS, dim=2)
    fetches = [known, rows, again, count]
    graph = tf.get_default_graph()
    model: Any = tf.compile(graph, ["keys=i64[n]"], fetches, out=tmp_path / "m.so")
    assert model.objects == ("one", "two") and model.variables == ()
    with pytest.raises(flowc_runtime.errors.InvalidArgumentError, match=r"\(one, two\)"):
        model(KEYS)
    with model.new_instance() as one, model.new_instance() as two:
        for k in (1, 2, 3):
            found = one(KEYS)
            assert found[0] == 2 and found[3] == 1
            assert (found[1] == k).all() and (found[2] == k).all()
        assert (two(KEYS)[1] == 1).all()
        two.restore("one", one.save("one"))
        assert (two(KEYS)[1] == 4).all() and (one(KEYS)[1] == 4).all()
        one.reset()
        assert (one(KEYS)[1] == 1).all() and (two(KEYS)[1] == 5).all()
        with pytest.raises(flowc_runtime.errors.InvalidArgumentError, match="it has one, two"):
            one.save("three")
        with ThreadPoolExecutor(16) as threads:
            counts = list(threads.map(lambda k: one(np.array([k, 3]))[0], range(100, 132)))
        assert max(counts) == 34 and (one(KEYS[:1])[1] == 34).all()
    with pytest.raises(flowc_runtime.errors.InvalidArgumentError, match="closed"):
        one.save("one")


def test_what_fails_names_the_object_or_the_kernel(ops: ModuleType, tmp_path: Path) -> None:
    keys = tf.placeholder(tf.int64, [1], name="keys")
    rows = ops.pull_from_table(ops.row_table(dim=2, name="words"), keys, dim=3)
    none = ops.pull_from_table(ops.row_table(dim=0, name="empty"), keys, dim=0)
    graph = tf.get_default_graph()
    wrong: Any = tf.compile(graph, ["keys"], [rows], out=tmp_path / "wrong.so")
    with (
        wrong.new_instance() as instance,
        pytest.raises(Exception, match=r"PullFromTable \(table.a\): the table has other rows"),
    ):
        instance(KEYS[:1])
    empty: Any = tf.compile(graph, ["keys"], [none], out=tmp_path / "empty.so")
    with pytest.raises(Exception, match=r"RowTable \(empty\) cannot be created"):
        empty.new_instance()


def test_the_command_line_restores_what_the_checkpoint_has(
    ops: ModuleType, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known, rows = pushed(ops, ops.row_table(dim=2, name="words"), "known")
    saver = tf.train.Saver()
    with tf.Session() as session:
        for _ in range(4):
            session.run(known, {"keys:0": KEYS})
        saver.save(session, str(tmp_path / "words"))
    model, out = str(tmp_path / "words.meta"), str(tmp_path / "words.so")
    wish = ["--fetch", rows.op.name, "--feed", "keys=i64[n]", "--op-library", str(archive)]
    assert run_command_line(["compile", model, *wish, "-o", out]) == 0
    assert re.search(r"objects +words", capsys.readouterr().err)
    assert run_command_line(["inspect", out, "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["objects"] == ["words"] and described["needs_instance"]
    made: Any = tf.load(out)
    with made.new_instance() as instance:
        assert (instance(KEYS) == 5).all()
        instance.reset()
        assert (instance(KEYS) == 5).all()


def test_functions_that_no_linker_finds_are_for_sessions(tmp_path: Path) -> None:
    (tmp_path / "hidden.c").write_text("""
#include <flowc/op.h>
static void *create(const flowc_op_attr *a, int32_t n) { (void)a, (void)n; return malloc(8); }
FLOWC_RESOURCE(cell, "HiddenCell", "", create, free, NULL, NULL)
FLOWC_KERNEL(set_cell) { *(int64_t *)call->inputs[0].data = *(int64_t *)call->outputs[0].data = 7; }
static void no_dims(flowc_op_shapes *s) { s->outputs[0].rank = 0; }
FLOWC_OP(set_cell, "SetCell(cell: resource) -> y: int64", no_dims)
FLOWC_REGISTER_KERNEL(set_cell, "SetCell", "")
""")
    flags = tf.sysconfig.get_compile_flags()[:1]
    source, made = str(tmp_path / "hidden.c"), str(tmp_path / "hidden.o")
    subprocess.run(["cc", "-fPIC", *flags, "-c", source, "-o", made], check=True)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        ops = tf.load_op_library(made)
        y = ops.set_cell(ops.hidden_cell())
        assert session.run(y) == 7
        with pytest.raises(UnsupportedError, match="HiddenCell"):
            tf.compile(graph, [], [y], out=tmp_path / "m.so")
