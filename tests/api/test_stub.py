"""The stub that editors and type checkers read says what is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pages import api_stub

import flowc as tf
from flowc.api import exports


def test_it_is_what_the_tables_say() -> None:
    assert api_stub.differences() == [], "make stub"


def _names(path: Path) -> set[str]:
    """What a stub has, which it exports too."""
    found: set[str] = set()
    exported: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.asname}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            assert ast.unparse(node.targets[0]) == "__all__"
            exported = set(ast.literal_eval(node.value))
    assert found == exported, path
    return found


def test_it_has_every_public_name_and_no_other() -> None:
    top = api_stub.ROOT / "flowc" / "__init__.pyi"
    assert _names(top) == {*dir(tf), "__version__"}
    for path, space in api_stub.namespaces_of(exports.NAMESPACES):
        assert _names(api_stub.stub_of(path)) == set(dir(space)), path


def test_functions_that_are_made_at_run_time_say_their_arguments() -> None:
    texts = {path.name: text for path, text in api_stub.stub_files().items()}
    assert "def exp(x: Any, name: str | None = None) -> Tensor:\n" in texts["math.pyi"]
    assert "from flowc.api.stubs.math import exp as exp\n" in texts["__init__.pyi"]
    hidden = [name for name, text in texts.items() if "(*args: Any, **kwargs: Any" in text]
    assert hidden == []


@pytest.mark.parametrize("name", ["graph", "ops", "run", "importer"])
def test_packages_inside_are_no_public_names(name: str) -> None:
    assert name not in dir(tf)
