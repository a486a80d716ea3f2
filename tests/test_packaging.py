"""What the package says of itself, what it costs to import, and what the docs promise."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowc import errors
from flowc.cli.entry import COMMANDS
from flowc.codegen.cuda.ptxas import AssemblerError
from flowc.codegen.link.linker import LinkError
from flowc.version import FLOWC_VERSION

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version() -> None:
    assert PROJECT["version"] == FLOWC_VERSION
    assert f"({FLOWC_VERSION})" in (ROOT / "CHANGELOG.md").read_text()


def test_both_wheels_hold_the_same_runtime() -> None:
    """Else one installed beside the other would take away what the compiler imports."""
    for folder, package in ((ROOT, "runtime/flowc_runtime"), (ROOT / "runtime", "flowc_runtime")):
        project = tomllib.loads((folder / "pyproject.toml").read_text())
        wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
        assert package in wheel["packages"]
        assert not {"exclude", "include", "only-include"} & set(wheel)


def test_the_runtime_is_a_distribution_that_needs_numpy_alone(tmp_path: Path) -> None:
    runtime = tomllib.loads((ROOT / "runtime" / "pyproject.toml").read_text())
    assert runtime["project"]["name"] == "flowc-runtime"
    assert runtime["project"]["version"] == FLOWC_VERSION
    assert runtime["project"]["dependencies"] == [
        d for d in PROJECT["dependencies"] if d.startswith("numpy")
    ]
    for path in (ROOT / "runtime" / "flowc_runtime").glob("*.py"):  # what the wheel holds
        place = tmp_path / "flowc_runtime" / path.name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(path.read_bytes())
    modules = [f"flowc_runtime.{p.stem}" for p in (tmp_path / "flowc_runtime").glob("[!_]*.py")]
    script = f"import sys, {', '.join(modules)}; sys.exit('llvmlite' in sys.modules)"
    environment = {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_building_leaves_nothing_in_the_checkout() -> None:
    for folder in (".", "runtime"):
        build = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["build-system"]
        assert build["build-backend"] == "hatchling.build"  # setuptools leaves build/, egg-info/


def test_every_folder_of_code_is_a_package() -> None:
    folders = {
        p.parent for top in ("flowc", "runtime/flowc_runtime") for p in (ROOT / top).rglob("*.py")
    }
    assert [str(f) for f in folders if not (f / "__init__.py").is_file()] == []
    assert (ROOT / "flowc" / "py.typed").is_file()


def test_extras_are_those_that_the_docs_name() -> None:
    assert {"cuda", "cc", "dev", "oracle"} <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize(
    "statement, absent",
    [
        ("import flowc", "numba llvmlite google.protobuf rich click flowc.ops"),
        ("import flowc_runtime", "flowc numba llvmlite google.protobuf ml_dtypes"),
        ("import flowc; flowc.load_graph", "numba llvmlite rich click"),
    ],
)
def test_imports_are_late(statement: str, absent: str) -> None:
    script = f"{statement}\nimport sys\nprint(*[m for m in {absent.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def _classes(root: type[errors.FlowcError]) -> Iterator[type[errors.FlowcError]]:
    yield root
    for inner in root.__subclasses__():
        yield from _classes(inner)


def test_every_error_code_is_documented_and_has_one_meaning() -> None:
    assert {AssemblerError, LinkError} <= set(_classes(errors.FlowcError))
    rows = re.findall(
        r"^\| (FL\d{4}) \| (\w+) \| (\d+) \|",
        (ROOT / "docs" / "errors.md").read_text(),
        re.MULTILINE,
    )
    own = {c for c in _classes(errors.FlowcError) if "code" in vars(c) and "flowc." in c.__module__}
    assert sorted(rows) == sorted((c.code, c.__name__, str(c.exit_code)) for c in own)
    assert len({c.code for c in own}) == len(own)


def test_the_readme_names_every_command_and_no_other() -> None:
    text = (ROOT / "README.md").read_text()
    assert set(
        re.findall(r"\bflowc (compile|run|inspect|ops|[a-z]+) [\w/.-]+\.(?:meta|so)", text)
    ) <= set(COMMANDS)
    for name in COMMANDS:
        assert f"flowc {name}" in text


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/c-abi.md", "docs/reliability.md"]
)
def test_files_that_the_docs_name_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    headers = re.findall(r'#include "(flowc/\S+)"', text)
    assert [h for h in headers if not (ROOT / "flowc" / "cc" / "include" / h).exists()] == []
    text = re.sub(r'#include "flowc/\S+"', "", text)
    named = set(re.findall(r"\b(?:examples|flowc|tests|docs)/[\w/.-]*\w", text))
    named |= set(re.findall(r"\]\((\S+?)\)", text))
    assert named
    assert [n for n in named if not (ROOT / n).exists()] == []


def test_the_makefile_has_the_commands_that_the_docs_name() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = [ROOT / p for p in ("README.md", "CONTRIBUTING.md", ".ci/run")]
    named = {
        t for page in pages for t in re.findall(r"(?m)(?:^ *|`)make ([a-z-]+)\b", page.read_text())
    }
    assert {"demo", "test", "lint", "oracle"} <= named
    assert named <= targets
