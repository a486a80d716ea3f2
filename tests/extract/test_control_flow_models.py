"""Models with loops, conditionals and state, made by TensorFlow, in a Session and as libraries.

Recorded by `tests/oracle/record_control_flow_models.py`: each class with a dynamic and a static
batch, as a graph of TensorFlow 1 (frames, references) and as a SavedModel (functions, handles).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_flow_models import ARRAYS, FOLDER, INDEX, open_model

import flowc
from flowc.cli.entry import run_command_line
from flowc.extract.interface import choose_interface
from flowc_runtime import Model

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
CLASSES = {
    "mlp", "cond", "while", "while_array", "growing", "nested", "partition_stitch", "assign_add",
    "scatter_add", "sgd",
}  # fmt: skip


def test_every_class_is_there() -> None:
    assert set(INDEX) == {
        f"{name}_{batch}_{kind}"
        for name in CLASSES
        for batch in ("dynamic", "static")
        for kind in ("v1", "v2")
    }


def runs(name: str) -> list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """What each run is fed with and gives, by name."""
    found: dict[tuple[int, str], dict[str, np.ndarray]] = {}
    for key, array in ARRAYS.items():
        model, number, side, port = key.split("/")
        if model == name:
            found.setdefault((int(number), side), {})[port] = array
    return [(found[i, "in"], found[i, "out"]) for i in range(3)]


def check(found: dict[str, Any], expected: dict[str, np.ndarray], where: str) -> None:
    assert set(found) == set(expected), where
    for name, value in expected.items():
        given = np.asarray(found[name])
        assert given.dtype == value.dtype, f"{where}: {name}"
        np.testing.assert_allclose(given, value, 2e-6, 2e-6, err_msg=f"{where}: {name}")


@pytest.mark.parametrize("name", sorted(INDEX))
def test_in_a_session(name: str) -> None:
    graph, fetches = open_model(name)
    if fetches is not None:
        chosen = choose_interface(graph, fetches=list(fetches.values()))
        names = list(fetches)
    else:
        chosen = choose_interface(graph)
        names = [f.name for f in chosen.fetches]
    with flowc.Session(graph=graph) as session:
        for number, (feeds, expected) in enumerate(runs(name)):
            fed = {f.tensor: feeds[f.name] for f in chosen.feeds}
            values = session.run([f.tensor for f in chosen.fetches], fed)
            check(dict(zip(names, values)), expected, f"run {number}")


@needs_cc
@pytest.mark.parametrize("name", sorted(INDEX))
def test_as_a_library(name: str, tmp_path: Path) -> None:
    """The runs of one instance follow one another; those of another start anew."""
    entry = INDEX[name]
    out = tmp_path / f"{name}.so"
    command = ["compile", str(FOLDER / "models" / entry["file"]), "-o", str(out)]
    fetches: dict[str, str] = entry.get("fetches", {})
    for fetch in fetches.values():
        command += ["--fetch", fetch]
    assert run_command_line(command) == 0
    model = Model(out)
    names = {fetch: port for port, fetch in fetches.items()}
    instances = [model.new_instance() for _ in range(2)] if entry["state"] else [model]
    for instance in instances:
        for number, (feeds, expected) in enumerate(runs(name)):
            found = {names.get(n.removesuffix(":0"), n): v for n, v in instance.run(feeds).items()}
            check(found, expected, f"run {number}")
