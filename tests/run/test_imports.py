"""What processes import, counted: each module takes some tenths of a millisecond of every start.

`tests/cache/test_remembered.py` counts what a program from the cache takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

NUMPY = "import sys, numpy as np; before = {*sys.modules}\n"
NEW = "\nprint(*sorted(m for m in {*sys.modules} - before if m.startswith('flowc')))\n"
GRAPH = """
import flowc as tf
x = tf.placeholder(tf.float32, [None, 4])
y = tf.nn.relu(x * 2.0 + 1.0)
"""
RUN = """
with tf.Session() as session:
    assert session.run(y, {x: np.ones((3, 4), np.float32)}).tolist() == [[3.0] * 4] * 3
"""


def imported_by(program: str, cache: Path) -> list[str]:
    """The modules of flowc and its runtime that a new process imports, with a cache of its own."""
    done = subprocess.run(
        [sys.executable, "-c", NUMPY + program + NEW],
        env={**os.environ, "FLOWC_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def within(modules: list[str], package: str) -> list[str]:
    return [m for m in modules if m == package or m.startswith(f"{package}.")]


def test_importing_flowc_imports_hardly_more(tmp_path: Path) -> None:
    assert len(imported_by("import flowc as tf", tmp_path)) <= 3


def test_the_class_of_sessions_imports_no_records(tmp_path: Path) -> None:
    slow = "\nassert not {'pathlib', 'hashlib', 'urllib'} & ({*sys.modules} - before)"
    found = imported_by(f"import flowc as tf; tf.Session{slow}", tmp_path)
    for module in ("flowc.ir.op", "flowc.ir.signature", "flowc.ir.types", "flowc.ops"):
        assert module not in found
    assert len(found) <= 69


def test_a_small_graph_imports_the_records_that_it_has(tmp_path: Path) -> None:
    found = imported_by(GRAPH, tmp_path)
    assert len(within(found, "flowc.ops")) <= 14, found
    assert not within(found, "flowc.codegen.cpu")
    assert len(found) <= 97


def test_a_first_result_imports_what_makes_its_kernels(tmp_path: Path) -> None:
    found = imported_by(GRAPH + RUN, tmp_path)
    assert len(within(found, "flowc.ops")) <= 30, found
    for package in ("flowc.codegen.cuda", "flowc.codegen.cpu.winograd", "flowc.codegen.abi"):
        assert not within(found, package), package
    assert not within(found, "flowc.codegen.cpu.contractions")
    assert len(found) <= 363


def test_threads_that_compile_import_numba_through_one_module(tmp_path: Path) -> None:
    """Its modules import each other: two threads that import different ones fail, at times. All
    come to them through one module, for which they wait."""
    watched = """
import threading
importing = set()
class Watch:
    def find_spec(self, name, path, target=None):
        if name.startswith("numba."):
            entry = sys.modules.get("flowc.codegen.cpu.numba_stages.function_text")
            assert entry is not None, name
            if entry.__spec__._initializing:
                importing.add(threading.current_thread().name)
sys.meta_path.insert(0, Watch())
y = tf.concat([y, tf.sort(tf.exp(tf.cumsum(x)))], 0)[:3]
"""
    imported_by(GRAPH + watched + RUN + "assert len(importing) == 1, importing\n", tmp_path)
