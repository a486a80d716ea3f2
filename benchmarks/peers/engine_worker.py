"""One engine in a process of its own: `engine_worker.py ENGINE THREADS`.

In: lines of JSON, `{"open": FOLDER}` and `{"seconds": S}`. Out: a line of JSON for each. It imports
one engine alone, in whichever environment it runs. Invariant: nothing else reaches the pipe, as
what engines print goes to standard error; and it does not outlive the process that started it.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[], list[Any]]
Feeds = dict[str, np.ndarray[Any, Any]]
SET_DEATH_SIGNAL = 1  # of prctl
TARGET = "FLOWC_PEERS_TARGET"


class Flowc:
    def __init__(self, threads: int) -> None:
        import flowc  # noqa: F401  # as the others are before a graph is opened

        self.version, self._threads = version("flowc"), threads  # flowc.__version__ is an API's

    def open(self, folder: Path, feeds: Feeds, fetches: list[str]) -> Run:
        from flowc.importer import load_graph
        from flowc.options import Options
        from flowc.run.session import Session

        options = Options(target=os.environ.get(TARGET) or "native")
        graph = load_graph(folder / "graph.pb")
        session = Session(graph=graph, threads=self._threads, options=options)
        return lambda: session.run(fetches, feeds)


class TensorFlow:
    """The executor."""

    def __init__(self, threads: int) -> None:
        import tensorflow

        self.tf, self._threads = tensorflow, threads
        self.version = tensorflow.__version__

    def open(self, folder: Path, feeds: Feeds, fetches: list[str]) -> Run:
        v1 = self.tf.compat.v1
        config = v1.ConfigProto(
            intra_op_parallelism_threads=self._threads, inter_op_parallelism_threads=1
        )
        session = v1.Session(graph=v1.Graph(), config=config)
        with session.graph.as_default():
            self.tf.import_graph_def(_graph(v1, folder), name="")
        call, values = session.make_callable(fetches, list(feeds)), list(feeds.values())
        return lambda: call(*values)


class Xla(TensorFlow):
    """The graph as one function that XLA compiles."""

    def open(self, folder: Path, feeds: Feeds, fetches: list[str]) -> Run:
        tf, graph = self.tf, _graph(self.tf.compat.v1, folder)
        tf.config.threading.set_intra_op_parallelism_threads(self._threads)
        wrapped = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), [])
        at = wrapped.graph.get_tensor_by_name
        pruned = wrapped.prune([at(n) for n in feeds], [at(n) for n in fetches])
        compiled = tf.function(pruned, jit_compile=True)
        values = [tf.constant(v) for v in feeds.values()]
        return lambda: [v.numpy() for v in compiled(*values)]


class OnnxRuntime:
    def __init__(self, threads: int) -> None:
        import onnxruntime  # type: ignore[import-not-found]

        self.ort, self._threads = onnxruntime, threads
        self.version = onnxruntime.__version__

    def open(self, folder: Path, feeds: Feeds, fetches: list[str]) -> Run:
        options = self.ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.log_severity_level = 4
        path = str(folder / "model.onnx")
        session = self.ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        taken = {port.name for port in session.get_inputs()}
        given = {name: value for name, value in feeds.items() if name in taken}
        return lambda: session.run(fetches, given)


class OpenVino:
    """The ONNX file, or the graph where there is none. In f32, as the others compute."""

    def __init__(self, threads: int) -> None:
        import openvino  # type: ignore[import-not-found]

        self.openvino, self._threads = openvino, threads
        self.version = openvino.__version__.split("-")[0]

    def open(self, folder: Path, feeds: Feeds, fetches: list[str]) -> Run:
        core, path = self.openvino.Core(), folder / "model.onnx"
        model = core.read_model(path if path.exists() else folder / "graph.pb")
        ports = {name: port for port in model.inputs for name in port.names}
        given = {ports[n]: v for n, v in feeds.items() if n in ports}
        model.reshape({port: list(value.shape) for port, value in given.items()})
        settings = {
            "INFERENCE_NUM_THREADS": self._threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
        }
        compiled = core.compile_model(model, "CPU", settings)
        request = compiled.create_infer_request()
        places = {name: i for i, port in enumerate(compiled.inputs) for name in port.names}
        values = {places[n]: v for n, v in feeds.items() if n in places}
        by_name = {name: port for port in compiled.outputs for name in port.names}
        results = [by_name.get(n) or by_name[n.removesuffix(":0")] for n in fetches]

        def run() -> list[Any]:
            found = request.infer(values)
            return [found[port] for port in results]

        return run


ENGINES = {
    "flowc": Flowc,
    "tensorflow": TensorFlow,
    "xla": Xla,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
}


def _graph(v1: Any, folder: Path) -> Any:
    return v1.GraphDef.FromString((folder / "graph.pb").read_bytes())


class _Opened:
    """A case: its call, and how long the first result took."""

    def __init__(self, engine: Any, folder: Path) -> None:
        case = json.loads((folder / "case.json").read_text())
        with np.load(folder / "case.npz", allow_pickle=True) as data:
            feeds = {name: data[f"in_{i}"] for i, name in enumerate(case["feeds"])}
            expected = [data[f"out_{i}"] for i in range(len(case["fetches"]))]
        start = time.perf_counter()
        self.run: Run = engine.open(folder, feeds, case["fetches"])
        found = self.run()
        self.first = time.perf_counter() - start
        # What is kept for the next process is no part of a run.
        for thread in threading.enumerate():
            if thread.name == "flowc-store":
                thread.join()
        self.error = max(map(error_of, found, expected), default=0.0)
        self.wide_error = _error_beside_f64(folder, found)

    def times(self, seconds: float) -> list[float]:
        """Of the runs of one turn. The first, which finds everything asleep, does not count."""
        self.run()
        taken: list[float] = []
        end = time.perf_counter() + seconds
        while len(taken) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            self.run()
            taken.append(time.perf_counter() - start)
        return taken


def _error_beside_f64(folder: Path, found: list[Any]) -> float | None:
    """As `error_of`, beside what TensorFlow computes in f64, of results that are floats."""
    if not (folder / "wide.npz").exists():
        return None
    with np.load(folder / "wide.npz") as data:
        pairs = [(x, data[f"wide_{i}"]) for i, x in enumerate(found) if f"wide_{i}" in data]
    errors = [error_of(x, wide) for x, wide in pairs if wide.dtype.kind == "f"]
    return max(errors, default=None)


def error_of(found: Any, expected: np.ndarray[Any, Any]) -> float:
    """The greatest difference beside the greatest element: 0 for equal arrays, infinite for other
    shapes and for NaN or infinity elsewhere. Of strings and integers, the share that differs."""
    found = np.asarray(found)
    if found.shape != expected.shape:
        return float("inf")
    if expected.dtype.kind not in "fc":
        return float(np.mean(found != expected)) if expected.size else 0.0
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    found, expected = found[finite].astype(np.float64), expected[finite].astype(np.float64)
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    return float("inf") if np.isnan(error) else float(error)


def _answers(engine: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    opened: list[_Opened] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if "open" in request:
            opened.clear()
            opened.append(_Opened(engine, Path(request["open"])))
            one = opened[0]
            return {"first_s": one.first, "error": one.error, "wide_error": one.wide_error}
        times = [1e3 * s for s in opened[0].times(request["seconds"])]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = {"min": min(times), "median": statistics.median(times)}
        return found | {"runs": len(times), "peak_mib": peak}

    return answer


def main() -> None:
    ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = ENGINES[sys.argv[1]](int(sys.argv[2]))
    print(json.dumps({"version": engine.version}), file=pipe, flush=True)
    answer = _answers(engine)
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except Exception as error:
            text = " ".join(str(error).split())
            found = {"failed": f"{type(error).__name__}: {text}"[:300]}
        print(json.dumps(found), file=pipe, flush=True)


if __name__ == "__main__":
    main()
