"""Makes the graphs that peers are compared on. It runs in the peers' environment.

In: the cases of `cases.py`, and folders of models (`graph.pb`, `saved_model` or `model.meta`, with
`ref_case0.npz`). Out: for each a folder with `graph.pb` (frozen), `case.npz` (`in_0`, ... and
TensorFlow's `out_0`, ...), `model.onnx` where tf2onnx can convert it, at last `case.json`; for
networks and models `wide.npz`, too: what TensorFlow computes in f64 (`wide_0`, ...), or why not.
Invariant: a folder with `case.json` is whole, and is not made again.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import tensorflow as tf
import tf2onnx  # type: ignore[import-not-found]
from case import Case
from cases import cases
from model_session import open_model
from tensorflow.python.framework import convert_to_constants  # type: ignore[attr-defined]
from tf2onnx.graph import Node  # type: ignore[import-not-found]
from widen import NotWidened, widened

v1 = tf.compat.v1
OPSET = 18
#: The steps of a case. Files alone pass from one to the next, those of `FROZEN` to "run" and
#: "convert", which ends with `case.json`; then "wide".
STEPS = ("freeze", "run", "convert", "wide")
MANY_BYTES = 256 << 20
FROZEN = ("frozen.json", "inputs.npz")
CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative", "Conv3D", "Conv2DBackpropInput")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--step", choices=STEPS, help="this step alone")
    options = parser.parse_args()
    wanted = lambda name: not options.only or any(fnmatch(name, p) for p in options.only)
    folders = sorted(p.parent for d in options.models for p in d.glob("*/ref_case0.npz"))
    makers: dict[str, Callable[[Path], None]] = {
        f.name: partial(_prepare_model, f) for f in folders if wanted(f.name)
    }
    makers |= {c.name: partial(_prepare_case, c) for c in cases() if wanted(c.name)}
    large = {*(f.name for f in folders), *(c.name for c in cases() if c.kind == "networks")}
    for name, prepare in makers.items():
        out = options.out / name
        steps: dict[str, Callable[[Path], None]]
        steps = {"freeze": prepare, "run": _run, "convert": _convert, "wide": _write_wide}
        if options.step:
            sys.exit(not _is_made(out, [steps[options.step]]))
        is_wide = name not in large or (out / "wide.npz").exists()
        missing = (() if _is_ready(out) else STEPS[:3]) + (() if is_wide else STEPS[3:])
        if name in large:
            all(_run_alone(step, name, options) for step in missing)
        elif missing:
            _is_made(out, [steps[step] for step in missing])
    if not options.step:
        ready = [n for n in makers if _is_ready(options.out / n)]
        (options.out / "names.json").write_text(json.dumps(ready))


def _run_alone(step: str, name: str, options: argparse.Namespace) -> bool:
    """Whether a step was done, in a process of its own: each keeps several copies of all weights to
    its end."""
    command = [sys.executable, __file__, str(options.out), "--only", glob.escape(name)]
    for folder in options.models:
        command += ["--models", str(folder)]
    return subprocess.run([*command, "--step", step], check=False).returncode == 0


def _is_ready(out: Path) -> bool:
    return (out / "case.json").exists()


def _is_made(out: Path, steps: Sequence[Callable[[Path], None]]) -> bool:
    """Takes the steps; whether none of them failed."""
    print(f"making {out.name}", file=sys.stderr, flush=True)
    out.mkdir(parents=True, exist_ok=True)
    try:
        for step in steps:
            step(out)
    except Exception:
        traceback.print_exc()
        print(f"left out: {out.name}", file=sys.stderr)
        return False
    tf.keras.backend.clear_session()
    return True


def _prepare_case(case: Case, out: Path) -> None:
    specs = [tf.TensorSpec(a.shape, a.dtype, name=f"x{i}") for i, a in enumerate(case.arrays)]
    function = tf.function(case.make(), autograph=False).get_concrete_function(*specs)
    frozen = convert_to_constants.convert_variables_to_constants_v2(
        function, lower_control_flow=False
    )
    ports = [t.name for t in frozen.inputs], [t.name for t in frozen.outputs]
    _write(out, case.kind, frozen.graph.as_graph_def(), *ports, case.arrays)


def _prepare_model(folder: Path, out: Path) -> None:
    session, feeds, fetches = open_model(folder)
    with session:
        nodes = [name.split(":")[0] for name in fetches]
        definition = session.graph.as_graph_def()
        frozen = v1.graph_util.convert_variables_to_constants(session, definition, nodes)
    _write(out, "models", frozen, list(feeds), fetches, list(feeds.values()))


def _write(
    out: Path,
    kind: str,
    graph: Any,
    feeds: Sequence[str],
    fetches: Sequence[str],
    arrays: Sequence[np.ndarray[Any, Any]],
) -> None:
    (out / "graph.pb").write_bytes(graph.SerializeToString())
    np.savez(out / FROZEN[1], **{f"in_{i}": a for i, a in enumerate(arrays)})  # type: ignore[arg-type]
    types = [n.op for n in graph.node]
    types += [n.op for f in graph.library.function for n in f.node_def]
    case = {
        "kind": kind,
        "feeds": list(feeds),
        "fetches": list(fetches),
        "nodes": len(types),
        "convolutional": any(t in CONVOLUTIONS for t in types),
    }
    (out / FROZEN[0]).write_text(json.dumps(case, indent=1) + "\n")


def _run(out: Path) -> None:
    case = json.loads((out / FROZEN[0]).read_text())
    with np.load(out / FROZEN[1], allow_pickle=True) as data:
        held = dict(data)
    feeds = {name: held[f"in_{i}"] for i, name in enumerate(case["feeds"])}
    results = results_of(read_graph(out), case["fetches"], feeds)
    held |= {f"out_{i}": a for i, a in enumerate(results)}
    np.savez(out / "case.npz", **held)


def _convert(out: Path) -> None:
    """Writes `model.onnx`, or why there is none; at last the case, which is whole by that."""
    case = json.loads((out / FROZEN[0]).read_text())
    case["no_onnx"] = ""
    graph = read_graph(out)
    if graph.ByteSize() > MANY_BYTES:
        _keep_few_weights()
    try:
        model, _ = tf2onnx.convert.from_graph_def(
            graph,
            input_names=case["feeds"],
            output_names=case["fetches"],
            opset=OPSET,
        )
        (out / "model.onnx").write_bytes(model.SerializeToString())
    except Exception as error:
        case["no_onnx"] = f"tf2onnx: {type(error).__name__}: {error}"[:300]
    (out / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    for name in FROZEN:
        (out / name).unlink()


def _keep_few_weights() -> None:
    """Has tf2onnx work on one copy of the weights.

    It makes one before each rewrite, to be able to give that up (not so where the variable is set
    at all), and one after it, in an arena that frees nothing; what becomes an initializer is
    written from the node's attribute at the end, and needs none of these.
    """
    os.environ["TF2ONNX_CATCH_ERRORS"] = "FALSE"
    update = Node.update_proto
    Node.update_proto = lambda node, *storage: None if node.is_const() else update(node, *storage)


def _write_wide(out: Path) -> None:
    """What f64 gives. Random numbers would be others, and then nobody's results are near."""
    case = json.loads((out / "case.json").read_text())
    held: dict[str, Any] = {}
    try:
        with np.load(out / "case.npz", allow_pickle=True) as data:
            feeds = {name: wide_array(data[f"in_{i}"]) for i, name in enumerate(case["feeds"])}
        results = results_of(widened(read_graph(out)), case["fetches"], feeds)
        held |= {f"wide_{i}": a for i, a in enumerate(results)}
    except (NotWidened, ValueError, tf.errors.OpError) as error:
        held["failed"] = np.array(f"{type(error).__name__}: {error}"[:300])
    np.savez(out / "wide.npz", **held)


def read_graph(out: Path) -> Any:
    return v1.GraphDef.FromString((out / "graph.pb").read_bytes())


def results_of(graph: Any, fetches: Sequence[str], feeds: dict[str, Any]) -> list[Any]:
    with v1.Session(graph=v1.Graph()) as session:
        with session.graph.as_default():
            tf.import_graph_def(graph, name="")
        return session.run(list(fetches), feeds)


def wide_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(np.float64) if array.dtype == np.float32 else array


if __name__ == "__main__":
    main()
