"""What a model may ask for at most, and what reading and compiling it leaves alone."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from op_models import loaded, op_model, run_model
from raw_nodes import F, constant, graph_of, node

import flowc
from flowc.errors import ResourceExhaustedError
from flowc.extract import unsupported_ops
from flowc.importer import graphdef
from flowc.proto.graph_pb2 import GraphDef

ROOT = Path(__file__).parents[2]
TF1 = ROOT / "tests" / "data" / "import" / "tf1"


def calling_twice(levels: int) -> GraphDef:
    """Each function calls the next one twice: 2 ** levels nodes are meant."""
    model = op_model("Neg", [np.ones(2, np.float32)])
    for i in range(levels):
        function = model.library.function.add()
        function.signature.name = f"f{i}"
        function.signature.input_arg.add(name="a", type=1)
        function.signature.output_arg.add(name="r", type=1)
        last = i + 1 == levels
        for name, read in (("one", "a"), ("two", "one:y:0" if last else "one:r:0")):
            made = function.node_def.add(name=name, op="Neg" if last else f"f{i + 1}", input=[read])
            if last:
                made.attr["T"].type = 1
        function.ret["r"] = "two:y:0" if last else "two:r:0"
    model.node[-1].op = "f0"
    model.node[-1].attr.clear()
    return model


def test_calls_of_calls_have_a_bound() -> None:
    assert run_model(calling_twice(4)).tolist() == [1, 1]
    start = time.process_time()
    with pytest.raises(ResourceExhaustedError, match="more than 200,000 nodes") as caught:
        run_model(calling_twice(55))
    assert caught.value.node == "y"
    assert time.process_time() - start < 1


def test_calls_of_calls_are_counted_as_often_as_they_are_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The node `y`, and 4 functions of 2 nodes that are called 1, 2, 4 and 8 times; and `x0`."""
    monkeypatch.setattr(unsupported_ops, "MAX_NODES", 2 + 2 + 4 + 8 + 16)
    assert run_model(calling_twice(4)).tolist() == [1, 1]
    monkeypatch.setattr(unsupported_ops, "MAX_NODES", 2 + 2 + 4 + 8 + 16 - 1)
    with pytest.raises(ResourceExhaustedError):
        run_model(calling_twice(4))


def test_a_model_of_too_many_nodes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = calling_twice(2)  # 2 nodes, and 4 in functions
    monkeypatch.setattr(graphdef, "MAX_NODES", 6)
    assert len(loaded(model).get_operations()) == 2
    monkeypatch.setattr(graphdef, "MAX_NODES", 5)
    with pytest.raises(ResourceExhaustedError, match="a model of more than 5 nodes"):
        loaded(model)


# -- nothing but what was named is opened, and nothing of a model is run as code

_watchers: list[list[str]] = []  # an audit hook stays for ever: it reports to who listens


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watchers and isinstance(arguments[0], str):
        _watchers[-1].append(arguments[0])


@contextmanager
def opened() -> Iterator[list[str]]:
    if _heard not in HOOKS:
        sys.addaudithook(_heard)
        HOOKS.append(_heard)
    _watchers.append([])
    try:
        yield _watchers[-1]
    finally:
        _watchers.pop()


HOOKS: list[Any] = []


def test_only_the_model_and_the_cache_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(cache))
    with opened() as paths:
        graph = flowc.load_graph(TF1 / "model.meta")
        with flowc.Session(graph=graph) as session:
            assert session.run("dense/w:0").size
    system = (sys.prefix, sys.base_prefix, str(ROOT / "flowc"), str(ROOT / "runtime"), "/proc",
              "/sys", "/usr", "/lib")  # fmt: skip
    own = {p for p in paths if not os.path.abspath(p).startswith((*system, str(cache)))}
    # Folders are opened one inside the other, each by its name alone.
    names = {Path(p).name for p in own} - {"", *TF1.resolve().parts}
    model = {"model.meta", "model.index", "model.data-00000-of-00002"}
    assert model <= names <= {*model, "model.data-00001-of-00002", "checkpoint"}


RUNS_TEXT = re.compile(r"(?<![.\w`])(?<!def )(eval|exec|__import__)\(")
READS_OBJECTS = re.compile(
    r"^\s*(import|from) (pickle|marshal|shelve|yaml|dill)\b|allow_pickle=True", re.MULTILINE
)


def test_what_runs_text_as_code_is_never_given_a_models() -> None:
    """Python runs kernels that flowc wrote, in two places; what reads objects back is nowhere."""
    found = set()
    for path in [*(ROOT / "flowc").rglob("*.py"), *(ROOT / "runtime").rglob("*.py")]:
        text = path.read_text()
        assert not READS_OBJECTS.search(text), path
        if RUNS_TEXT.search(text):
            found.add(str(path.relative_to(ROOT)))
    assert found == {
        "flowc/codegen/cpu/numba_stages/function_text.py",
        "flowc/codegen/llvm/numba_functions.py",
        "flowc/dataclass.py",  # the names of fields of flowc's classes
    }


@pytest.mark.parametrize("quote", ['"', "'", "\\n", '"""'])
def test_names_in_a_model_stay_names(
    quote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"y{quote}); __import__('os').mkdir('made')#".replace("\\n", "\n")
    model = graph_of({"x": constant(1.0), "y": node("Neg", "x", T=F)}).as_graph_def()
    model.node[-1].name = name
    model.node[0].name, model.node[-1].input[0] = f"{name}0", f"{name}0"
    graph = loaded(model)
    operation = graph.get_operations()[-1]
    with flowc.Session(graph=graph) as session:
        assert session.run(operation.outputs[0]) == -1
        x = graph.get_operations()[0].outputs[0]
        assert session.run(operation.outputs[0], {x: 3}) == -3
    assert not list(tmp_path.iterdir())
