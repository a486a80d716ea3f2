"""The layer rule of ARCHITECTURE.md, checked on the imports that the source states.

Late imports inside functions count: they decide when something is loaded, not what depends on what.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Low to high; a module's layer is that of the longest prefix that is listed.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "flowc.errors",
        "flowc.dtypes",
        "flowc.version",
        "flowc.safe_write",
        "flowc.file_identity",
        "flowc.cache_folder",
        "flowc.notes",
    ),
    ("flowc.ir",),
    ("flowc.ops",),
    ("flowc.proto", "flowc.graph", "flowc.importer", "flowc.passes", "flowc.plan"),
    ("flowc_runtime",),
    ("flowc.codegen",),
    (
        "flowc.compiler",
        "flowc.cache",
        "flowc.cache_entry",
        "flowc.disk_cache",
        "flowc.weight_digests",
        "flowc.executable",
        "flowc.host_calls",
        "flowc.remembered",
    ),
    (
        "flowc",
        "flowc.session",
        "flowc.held_variables",
        "flowc.host_ranks",
        "flowc.fetches",
        "flowc.random_states",
        "flowc.aot",
        "flowc.api",
        "flowc.interface",
        "flowc.open_sizes",
        "flowc.feed_specs",
        "flowc.feed_shapes",
    ),
    ("flowc.cli", "flowc.__main__"),
)
LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}

# Package -> where it may be imported.
PLACES = {
    "google.protobuf": (
        "flowc.importer",
        "flowc.graph.export",
        "flowc.graph.encode",
        "flowc.proto",
    ),
    "flowc.proto": ("flowc.importer", "flowc.graph.export", "flowc.graph.encode", "flowc.proto"),
    "numba": ("flowc.codegen", "flowc_runtime.native"),
    "llvmlite": ("flowc.codegen", "flowc_runtime.native"),
    "click": ("flowc.cli",),
    "rich": ("flowc.cli",),
    "tensorflow": (),
}


@dataclass(frozen=True)
class Import:
    """`module` imports `name` (or from it) at `line`; `type_only`: under TYPE_CHECKING."""

    module: str
    name: str
    line: int
    type_only: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name}"


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> dict[str, str]:
    found: dict[str, str] = {}
    for root, package in ((ROOT, "flowc"), (ROOT / "runtime", "flowc_runtime")):
        for path in sorted((root / package).rglob("*.py")):
            found[module_name(path, root)] = path.read_text()
    return found


def imports_of(module: str, source: str) -> Iterator[Import]:
    """Every import of a module's source, with submodules named by `from package import module`."""
    tree = ast.parse(source)
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield Import(module, name, node.lineno, id(node) in guarded)


def layer(name: str) -> int | None:
    """The layer of a module, or of what is imported from one; None for other packages."""
    parts = name.split(".")
    if parts[0] not in ("flowc", "flowc_runtime"):
        return None
    for end in range(len(parts), 0, -1):
        found = LAYER_OF.get(".".join(parts[:end]))
        # A bare prefix `flowc` says nothing of a module that is not listed.
        if found is not None and (end > 1 or parts[0] == "flowc_runtime" or len(parts) == 1):
            return found
    return LAYER_OF["flowc"] if len(parts) == 2 else None


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def upward(found: Import) -> bool:
    mine, other = layer(found.module), layer(found.name)
    return mine is not None and other is not None and other > mine


def misplaced(found: Import) -> bool:
    return any(
        is_within(found.name, package) and not any(is_within(found.module, p) for p in places)
        for package, places in PLACES.items()
    )


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return [found for module, source in sources().items() for found in imports_of(module, source)]


def test_every_module_has_a_layer() -> None:
    known = sources()
    assert len(known) > 100
    listed = {
        m for m in known if m == "flowc" or any(is_within(m, p) for p in LAYER_OF if p != "flowc")
    }
    assert set(known) - listed == set()


def test_no_module_imports_from_a_layer_above_it(imports: list[Import]) -> None:
    assert [str(found) for found in imports if upward(found)] == []


def test_heavy_packages_stay_where_they_belong(imports: list[Import]) -> None:
    assert [str(found) for found in imports if not found.type_only and misplaced(found)] == []


def test_the_runtime_needs_numpy_alone(imports: list[Import]) -> None:
    """What `flowc_runtime.load` imports: its `native` folder belongs to the compiler's side, and
    ml_dtypes is used where it is installed."""
    import sys

    allowed = {"numpy", "ml_dtypes", "flowc_runtime", *sys.stdlib_module_names}
    outside = [
        str(found)
        for found in imports
        if is_within(found.module, "flowc_runtime")
        and not is_within(found.module, "flowc_runtime.native")
        and found.name.partition(".")[0] not in allowed
    ]
    assert outside == []


def test_the_rule_of_architecture_md_is_this_one() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    block = re.search(r"enforces it:\n\n((?:    .*\n)+)", text)
    assert block is not None
    written = [
        {word.strip() for word in part.split(",")} for part in " ".join(block[1].split()).split("|")
    ]
    short = {"flowc_runtime": "runtime", "flowc": "flowc/__init__", "flowc.__main__": "__main__"}
    here = [{short.get(n, n.removeprefix("flowc.")) for n in names} for names in LAYERS]
    assert written == here


@pytest.mark.parametrize(
    "module, source, wrong",
    [
        ("flowc.ir.types", "from flowc.graph import Graph", True),
        ("flowc.ir.types", "def f():\n    import flowc.codegen.loops", True),
        ("flowc.passes.prune", "from flowc import compiler", True),
        ("flowc.passes.prune", "from flowc.ir.op import Op", False),
        ("flowc.session", "from flowc.cli import main", True),
        ("flowc.session", "import numba", True),
        ("flowc.graph.graph", "def f():\n    from google.protobuf import message", True),
        ("flowc.importer.wire", "from google.protobuf import message", False),
        ("flowc.codegen.loops", "import llvmlite.ir", False),
        ("flowc.ir.types", "from flowc import Graph", True),
    ],
)
def test_the_checks_bite(module: str, source: str, wrong: bool) -> None:
    found = list(imports_of(module, source))
    assert found
    assert any(upward(f) or misplaced(f) for f in found) is wrong
