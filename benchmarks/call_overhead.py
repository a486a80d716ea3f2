"""What a call of a two-op graph costs: of `Session.run` beside an empty call through ctypes, and of
its library from C, where there is a C compiler, beside a call of `abs` in the same loop.

Times are of 1000 calls, so that a row's milliseconds are microseconds a call.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rounds import Row, compare, timer

from flowc import dtypes
from flowc.api.framework.models import compile as compile_graph
from flowc.graph import Graph
from flowc.run.session import Session

CALLS = 1000
# Calls from C of what `flowc.h` declares, and of a function that does nothing to speak of.
_LOOPS = """
#include <stdint.h>
#include <stdlib.h>
typedef int run(const void *const *, const int64_t *const *, void *const *, int64_t *const *);
int run_often(run *run, float *x, float *y, int64_t *dims, int calls) {
    const void *inputs[] = {x};
    const int64_t *input_dims[] = {dims};
    void *outputs[] = {y};
    int64_t *output_dims[] = {dims};
    for (int i = 0; i < calls; i++) {
        int code = run(inputs, input_dims, outputs, output_dims);
        if (code) return code;
    }
    return 0;
}
int abs_often(int (*volatile function)(int), int calls) {
    int sum = 0;
    for (int i = 0; i < calls; i++) sum += function(i);
    return sum;
}
"""


def _many(call: Callable[[], Any]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            call()

    return run


def _two_ops() -> tuple[Session, Any, Any]:
    """y = relu(x + x) for four numbers."""
    graph = Graph()
    with graph.as_default():
        attrs = {"dtype": dtypes.f32, "shape": (4,)}
        x = graph.add_operation("Placeholder", (), attrs, "x", output_types=[(dtypes.f32, (4,))])
        double = graph.add_operation("AddV2", (x.outputs[0],) * 2, {"T": dtypes.f32}, "double")
        y = graph.add_operation("Relu", (double.outputs[0],), {"T": dtypes.f32}, "y")
    return Session(graph=graph, threads=1), x.outputs[0], y.outputs[0]


def _from_c(folder: Path, session: Session, y: Any) -> Row:
    """The row of the graph's library, called by a loop in C."""
    library, source, loops = folder / "two.so", folder / "loops.c", folder / "loops.so"
    compile_graph(session.graph, fetches=[y], out=library)
    source.write_text(_LOOPS)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", loops, source], check=True)
    run, calls = ctypes.CDLL(str(library)).flowc_run, ctypes.CDLL(str(loops))
    given, result = np.array([-1, 0, 1, 2], np.float32), np.empty(4, np.float32)
    dims = (ctypes.c_int64 * 1)(4)
    places = [ctypes.c_void_p(array.ctypes.data) for array in (given, result)]

    def many() -> None:
        code = calls.run_often(run, *places, dims, CALLS)
        assert code == 0, code

    many()
    assert result.tolist() == [0, 0, 2, 4]
    peers = {"abs from C": timer(lambda: calls.abs_often(ctypes.CDLL(None).abs, CALLS))}
    return compare("library from C, us a call", timer(many), peers, goal="0.5 us")


def measure() -> list[Row]:
    session, x, y = _two_ops()
    feed = np.arange(4, dtype=np.float32)
    empty = ctypes.CFUNCTYPE(ctypes.c_int)(("abs", ctypes.CDLL(None)))
    peers = {"empty ctypes call": timer(_many(empty))}
    run = timer(_many(lambda: session.run(y, {x: feed})))
    rows = [compare("Session.run, us a call", run, peers, goal="3 us")]
    if shutil.which("cc"):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(_from_c(Path(folder), session, y))
    return rows
