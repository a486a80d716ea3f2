"""The modules of flowc and its runtime as text and syntax trees, which rules about the source read.

A rule takes the text of each module by its name, and gives what breaks it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]

Sources = Mapping[str, str]


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> dict[str, str]:
    """The text of every module of flowc and its runtime, generated ones left out."""
    found: dict[str, str] = {}
    for root, package in ((ROOT, "flowc"), (ROOT / "runtime", "flowc_runtime")):
        for path in sorted((root / package).rglob("*.py")):
            if not path.name.endswith("_pb2.py"):
                found[module_name(path, root)] = path.read_text()
    return found


@cache
def tree_of(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """All nodes of a module's tree."""
    return tuple(ast.walk(tree_of(source)))


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@cache
def is_module(name: str) -> bool:
    """Whether the name is that of a module or package of flowc, and not of what is in one."""
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def parents(module: str) -> Iterator[str]:
    """The packages that a module is in, the nearest first."""
    while "." in module:
        module = module.rpartition(".")[0]
        yield module
