"""Whole models on one thread, beside TensorFlow's executor in the same rounds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("std_resnet50_tf1", "std_mobilenetv2_sm", "std_bert_base", "human_movenet_lightning")


def model_file(folder: Path) -> Path:
    """The model in a folder."""
    for name in ("graph.pb", "saved_model", "model.meta"):
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"no model in {folder}")


def open_model(folder: str | Path, threads: int) -> Callable[[], Any]:
    """A call that runs the model of a folder on its recorded feeds."""
    from flowc.importer import load_graph
    from flowc.run.session import Session

    folder = Path(folder)
    data = np.load(folder / "ref_case0.npz")
    names = json.loads(str(data["names"]))
    feeds = {name: data[f"in_{i}"] for i, name in enumerate(names["feeds"])}
    session = Session(graph=load_graph(model_file(folder)), threads=threads)
    return lambda: session.run(names["fetches"], feeds)


def measure(models: Path | None, peer: Any, rounds: int) -> list[Any]:
    from rounds import compare, timer

    if models is None:
        print("models: none given (--models DIR)", file=sys.stderr)
        return []
    rows = []
    for name in NAMES:
        folder = models / name
        if not folder.is_dir():
            print(f"models: no {folder}", file=sys.stderr)
            continue
        run = open_model(folder, 1)
        peers = {} if peer is None else {"executor": peer.model_timer(folder)}
        rows.append(compare(name, timer(run), peers, rounds=min(rounds, 9)))
    return rows
