"""Cases whose files change under a process that uses them: each runs in a child of its test, as a
fault here is a signal or a hang."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import aot_programs
import numpy as np

import flowc as tf
import flowc_runtime
from flowc.aot import write_library
from flowc.cache.disk import DiskCache

TF1 = Path(__file__).parents[1] / "data" / "import" / "tf1"
WIDTH = 1 << 15  # of a constant: 128 KiB


def _graph_def(first: float) -> bytes:
    """y = x * c, c the numbers from `first` on."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, WIDTH], name="x")
        tf.multiply(x, tf.constant(np.arange(first, first + WIDTH, dtype=np.float32)), name="y")
    return graph.as_graph_def().SerializeToString()


def _run(session: tf.Session, rows: int) -> np.ndarray:
    return session.run("y:0", {"x:0": np.ones((rows, WIDTH), np.float32)})[0]


def _in_folder(case: Callable[[Path], object]) -> Callable[[], object]:
    def call() -> object:
        with tempfile.TemporaryDirectory() as name:
            return case(Path(name))

    return call


def _model_cut(folder: Path) -> object:
    path = folder / "m.pb"
    path.write_bytes(_graph_def(1))
    graph = tf.load_graph(path)
    os.truncate(path, 0)
    with tf.Session(graph=graph) as session:
        return _run(session, 2)[:3].tolist()


def _model_overwritten(folder: Path) -> object:
    path = folder / "m.pb"
    path.write_bytes(_graph_def(1))
    with tf.Session(graph=tf.load_graph(path)) as session:
        before = _run(session, 2)
        with path.open("r+b") as file:
            file.write(_graph_def(5))
        return np.array_equal(before, _run(session, 3)) and before[:3].tolist()


def _shards(folder: Path) -> list[Path]:
    for file in TF1.glob("model.*"):
        shutil.copy(file, folder)
    return sorted(folder.glob("model.data-*"))


def _shard_cut(folder: Path) -> object:
    shards = _shards(folder)
    graph = tf.load_graph(folder / "model.meta")
    values = graph.variable_values
    before = {name: values[name].tobytes() for name in values}
    for shard in shards:
        os.truncate(shard, 10)
    return {name: values[name].tobytes() for name in values} == before


def _shard_overwritten(folder: Path) -> object:
    """Its time of change is the same afterwards."""
    shards = _shards(folder)
    values = tf.load_graph(folder / "model.meta").variable_values
    kept = {name: values[name].tobytes() for name in values}
    values = tf.load_graph(folder / "model.meta").variable_values
    for shard in shards:
        status, data = shard.stat(), shard.read_bytes()
        shard.write_bytes(bytes(byte ^ 1 for byte in data))
        os.utime(shard, ns=(status.st_atime_ns, status.st_mtime_ns))
    return {name: values[name].tobytes() for name in values} == kept


def _library(folder: Path, weights: Literal["file", "map"]) -> tuple[Callable[[], bytes], Path]:
    write_library(aot_programs.program(), folder / "m.so", weights=weights)
    model = flowc_runtime.load(folder / "m.so")
    x = np.ones((2, aot_programs.WIDTH), np.float32)
    return lambda: model(x, 1)[0].tobytes(), folder / "m.so.weights"


def _read_weights_cut(folder: Path) -> object:
    run, side = _library(folder, "file")
    before = run()
    os.truncate(side, 0)
    return run() == before


def _mapped_weights_cut(folder: Path) -> object:
    run, side = _library(folder, "map")
    run()
    os.truncate(side, 0)
    return run()


def _mapped_weights_of_another(folder: Path) -> object:
    run, side = _library(folder, "map")
    run()
    data = side.read_bytes()
    side.write_bytes(data[:30] + bytes([data[30] ^ 1]) + data[31:])
    return run()


def _mapped_weights_replaced(folder: Path) -> object:
    """By renaming, as is right: the library goes on with what it mapped."""
    run, side = _library(folder, "map")
    before = run()
    (folder / "new").write_bytes(side.read_bytes()[:-1])
    os.replace(folder / "new", side)
    return run() == before


def _fifo_as_weights(folder: Path) -> object:
    write_library(aot_programs.program(), folder / "m.so", weights="file")
    (folder / "m.so.weights").unlink()
    os.mkfifo(folder / "m.so.weights")
    model = flowc_runtime.load(folder / "m.so")
    return model(np.ones((2, aot_programs.WIDTH), np.float32), 1)


def _fifo_as_library(folder: Path) -> object:
    os.mkfifo(folder / "m.so")
    return flowc_runtime.load(folder / "m.so")


def _fifo_as_cache_entry(folder: Path) -> object:
    (folder / "ab").mkdir()
    os.mkfifo(folder / "ab" / "cd.flowc")
    return DiskCache(folder).load("abcd")


CASES = {
    name: _in_folder(case)
    for name, case in {
        "a model cut short": _model_cut,
        "a model overwritten between two shapes": _model_overwritten,
        "a shard cut short": _shard_cut,
        "a shard overwritten": _shard_overwritten,
        "weights that were read, cut short": _read_weights_cut,
        "mapped weights, cut short": _mapped_weights_cut,
        "mapped weights of another library": _mapped_weights_of_another,
        "mapped weights, replaced": _mapped_weights_replaced,
        "a FIFO as weights": _fifo_as_weights,
        "a FIFO as library": _fifo_as_library,
        "a FIFO as cache entry": _fifo_as_cache_entry,
    }.items()
}
