"""The layers, folders and rules that ARCHITECTURE.md promises, and that each of them bites."""

from __future__ import annotations

import re

import pytest
from layer_rules import (
    LAYERS,
    MOST_FILES,
    ROOT,
    RULES,
    misplaced_imports,
    sources,
    upward_imports,
)


@pytest.fixture(scope="module")
def known() -> dict[str, str]:
    found = sources()
    assert len(found) > 300
    return found


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str, known: dict[str, str]) -> None:
    assert RULES[rule](known) == []


@pytest.mark.parametrize(
    "rule, module, source",
    [
        ("every module has a layer", "flowc.elsewhere.thing", ""),
        (
            "no module imports from a layer above it",
            "flowc.ir.new",
            "from flowc.graph import Graph",
        ),
        ("no module imports from a layer above it", "flowc.ir.new", "import flowc.codegen.program"),
        ("no module imports from a layer above it", "flowc.ir.new", "from flowc import Graph"),
        (
            "no module imports from a layer above it",
            "flowc.passes.new",
            "from flowc import compiler",
        ),
        ("no module imports from a layer above it", "flowc.run.new", "from flowc.cli import main"),
        (
            "no module imports from a layer above it",
            "flowc.graph.new",
            "import flowc.extract.program",
        ),
        ("packages stay where they belong", "flowc.run.new", "import numba"),
        (
            "packages stay where they belong",
            "flowc.run.new",
            "import importlib\ndef f():\n    return importlib.import_module('numba')",
        ),
        (
            "packages stay where they belong",
            "flowc.codegen.kernels.new",
            "def f():\n    from flowc.codegen.cpu.loop_choices import TILE_SIDE",
        ),
        ("packages stay where they belong", "flowc.codegen.driver.new", "import numba"),
        ("packages stay where they belong", "flowc.passes.new", "from flowc.ops import tf_op"),
        ("packages stay where they belong", "flowc.codegen.new", "from flowc.ops import tf_op"),
        ("packages stay where they belong", "flowc.ir.new", "import tensorflow"),
        ("packages stay where they belong", "flowc.graph.new", "import google.protobuf.message"),
        ("packages stay where they belong", "flowc.passes.new", "from flowc.graph import Graph"),
        ("no circle of imports", "flowc.plan.plan", "def f():\n    import flowc.plan.planner"),
        ("no crowded folder", "flowc.ir.new{}", ""),
        ("nothing in the root but what is listed", "flowc.new", ""),
        ("one class name once", "flowc.plan.new", "class Node: ..."),
        (
            "only code for a kind of machine reads a target's details",
            "flowc.plan.new",
            "def f(target):\n    return target.vector_bits",
        ),
        ("importing registers nothing but op records", "flowc.plan.new", "print(1)"),
        *(
            ("importing registers nothing but op records", "flowc.plan.new", effect)
            for effect in (
                "import os\nos.environ['X'] = '1'",
                "from flowc.ir import dims\ndims.MOST = 1",
                "if X:\n    print(1)",
                "try:\n    print(1)\nexcept OSError:\n    pass",
                "_ = print(1)",
                "del X",
            )
        ),
        (
            "importing registers nothing but op records",
            "flowc.plan.new",
            "_hook = None\ndef set_hook(x):\n    global _hook\n    _hook = x",
        ),
        ("the runtime needs NumPy alone", "flowc_runtime.new", "import llvmlite"),
    ],
)
def test_the_rules_bite(rule: str, module: str, source: str, known: dict[str, str]) -> None:
    """What breaks a rule on purpose is found, and by that rule."""
    names = [module.format(i) for i in range(MOST_FILES)] if "{}" in module else [module]
    assert len(RULES[rule]({**known, **dict.fromkeys(names, source)})) > len(RULES[rule](known))


def test_an_import_for_the_type_checker_counts_for_layers_alone() -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numba"
    assert misplaced_imports({"flowc.run.new": source}) == []
    above = source.replace("numba", "flowc.cli.entry")
    assert upward_imports({"flowc.run.new": above}) != []


def test_the_layers_of_architecture_md_are_these() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    block = re.search(r"enforces it:\n\n((?:    .*\n)+)", text)
    assert block is not None
    written = [
        {word.strip() for word in part.split(",")} for part in " ".join(block[1].split()).split("|")
    ]
    short = {"flowc_runtime": "runtime", "flowc": "flowc/__init__", "flowc.__main__": "__main__"}
    here = [{short.get(n, n.removeprefix("flowc.")) for n in names} for names in LAYERS]
    assert written == here


def test_every_rule_is_broken_on_purpose() -> None:
    """Each has a case of `test_the_rules_bite`."""
    (marked,) = test_the_rules_bite.pytestmark
    assert {rule for rule, *_ in marked.args[1]} == RULES.keys()
