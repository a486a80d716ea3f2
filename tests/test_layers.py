"""The layers, folders and rules that ARCHITECTURE.md promises, and that each of them bites."""

from __future__ import annotations

import re

import pytest
from rules.layer_rules import (
    LAYERS,
    MOST_FILES,
    circles,
    crowded_folders,
    foreign_imports_of_the_runtime,
    misplaced_imports,
    modules_without_a_layer,
    needless_exceptions,
    out_of_place_in_the_root,
    upward_imports,
)
from rules.source_rules import (
    class_names_used_twice,
    effects_of_imports,
    hidden_state,
    readers_of_target_details,
    slow_dataclasses,
)
from rules.sources import ROOT, sources

RULES = {
    "every module has a layer": modules_without_a_layer,
    "no module imports from a layer above it": upward_imports,
    "packages stay where they belong": misplaced_imports,
    "no circle of imports": circles,
    "no exception that nothing needs": needless_exceptions,
    "no crowded folder": crowded_folders,
    "nothing in the root but what is listed": out_of_place_in_the_root,
    "one class name once": class_names_used_twice,
    "dataclasses are made by flowc.dataclass": slow_dataclasses,
    "only code for a kind of machine reads a target's details": readers_of_target_details,
    "importing registers nothing but op records": effects_of_imports,
    "what a process remembers is listed": hidden_state,
    "the runtime needs NumPy alone": foreign_imports_of_the_runtime,
}


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
        ("no exception that nothing needs", "flowc.graph.shape", ""),
        ("no exception that nothing needs", "flowc.dtypes", ""),
        ("no crowded folder", "flowc.ir.new{}", ""),
        ("nothing in the root but what is listed", "flowc.new", ""),
        *(
            ("one class name once", "flowc.plan.new", source)
            for source in (
                "class Node: ...",
                "Node = namedtuple('Other', 'x')",
                "Other = typing.NamedTuple('Node', [('x', int)])",
                "Other = type('Node', (), {})",
            )
        ),
        (
            "dataclasses are made by flowc.dataclass",
            "flowc.plan.new",
            "from dataclasses import dataclass, field",
        ),
        *(
            ("only code for a kind of machine reads a target's details", "flowc.plan.new", source)
            for source in (
                "def f(target):\n    return target.vector_bits",
                "def f(target):\n    return getattr(target, 'has_fma')",
                "from operator import attrgetter\nregisters_of = attrgetter('registers')",
                "def f(x):\n    match x:\n        case object(has_fma=True):\n            return 1",
            )
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
                "class A:\n    print(1)",
                "match X:\n    case 1:\n        print(1)",
                "assert print(1) is None",
                "from flowc.ir.op import define\nx = define('Op', str)",
                "from flowc.ops.host_ops import host_op\nx = host_op('Op', str)",
                "from flowc.api.distributions.divergences import RegisterKL\n"
                "@RegisterKL(int, int)\ndef f(): ...",
                "import atexit\n@atexit.register\ndef f(): ...",
            )
        ),
        *(
            ("what a process remembers is listed", "flowc.plan.new", source)
            for source in (
                "_hook = None\ndef set_hook(x):\n    global _hook\n    _hook = x",
                "_hooks = []\ndef on_plan(f):\n    _hooks.append(f)",
                "_hooks: dict[str, object] = {}\ndef on_plan(f):\n    _hooks['f'] = f",
                "_hooks = ({}, [])\nadd = lambda f: _hooks[1].append(f)",
                "class Hooks:\n    all = []\n    def add(self, f):\n        Hooks.all.append(f)",
                "from flowc.plan.plan import LIMITS\ndef f(n):\n    LIMITS.most = n",
                "from flowc.plan import plan\ndef f(n):\n    plan.MOST = n",
                "_numbers = count()\ndef f():\n    return next(_numbers)",
            )
        ),
        ("what a process remembers is listed", "flowc.ir.dims", "_serials = count()"),
        ("the runtime needs NumPy alone", "flowc_runtime.new", "import llvmlite"),
    ],
)
def test_the_rules_bite(rule: str, module: str, source: str, known: dict[str, str]) -> None:
    """What breaks a rule on purpose is found, and by that rule."""
    names = [module.format(i) for i in range(MOST_FILES)] if "{}" in module else [module]
    assert RULES[rule]({**known, **dict.fromkeys(names, source)}) != []


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
