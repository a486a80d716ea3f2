"""The structure that ARCHITECTURE.md promises, as rules about the source: layers, circles, folders.

In: the text of each module. Out: for each of `RULES`, what breaks it. Late imports inside functions
count: they decide when something is loaded, not what depends on what. Imports for the type checker
alone (under TYPE_CHECKING) do not: nothing runs because of them.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rules.sources import Sources, is_within, nodes_of, parents

# Low to high; a module's layer is that of the longest prefix that is listed.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "flowc.errors",
        "flowc.dataclass",
        "flowc.dtypes",
        "flowc.version",
        "flowc.options",
        "flowc.files",
    ),
    ("flowc.ir",),
    ("flowc.proto", "flowc.encoding", "flowc.checkpoint", "flowc.records"),
    ("flowc.ops",),
    ("flowc.graph", "flowc.passes", "flowc.plan"),
    ("flowc.importer", "flowc.extract"),
    ("flowc_runtime",),
    ("flowc.codegen",),
    ("flowc.run.executable", "flowc.run.host_steps", "flowc.run.traces"),
    ("flowc.cache",),
    ("flowc.compiler",),
    ("flowc.run", "flowc.aot"),
    ("flowc", "flowc.api", "flowc.compat", "flowc.cc", "flowc.extending", "flowc.tools"),
    ("flowc.cli", "flowc.__main__"),
)

LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}

# Package -> where it may be imported.
PLACES = {
    "google.protobuf": (
        "flowc.tools",
        "flowc.graph.meta_export",
        "flowc.graph.saved_model_export",
        "flowc.graph.building.context_defs",
        "flowc.encoding",
        "flowc.checkpoint",
        "flowc.importer",
        "flowc.graph.export",
    ),
    "flowc.proto": (
        "flowc.encoding",
        "flowc.checkpoint",
        "flowc.importer",
        "flowc.graph.export",
        "flowc.graph.meta_export",
        "flowc.graph.saved_model_export",
        "flowc.graph.encode",
        "flowc.graph.building.attr_values",
        "flowc.graph.building.context_defs",
        "flowc.graph.building.node_creation",
    ),
    # What one kind of machine needs is behind `flowc.codegen.target`, and found in one table.
    # Beside a GPU is a CPU, which runs the driver; what one thread does is a kernel of a CPU.
    "flowc.codegen.cpu": ("flowc.codegen.cpu", "flowc.codegen.cuda", "flowc.codegen.targets"),
    "flowc.codegen.cuda": ("flowc.codegen.cuda", "flowc.codegen.targets"),
    "numba": ("flowc.codegen.cpu", "flowc.codegen.llvm", "flowc.codegen.math"),
    "llvmlite": ("flowc.codegen", "flowc_runtime.native"),
    "click": ("flowc.cli",),
    "rich": ("flowc.cli",),
    "tensorflow": (),
    # Plans and kernels are made of core ops, which `flowc.ir` defines.
    "flowc.ops": (
        "flowc.ops",
        "flowc.graph",
        "flowc.api",
        "flowc.cli.ops",
        "flowc.extending",
        "flowc.extract",
        "flowc.run.host_steps",
        "flowc.run.python_segments",
        "flowc.run.queue_blocks",
    ),
}

# Of two packages of one layer, or of layers that would allow it: the first knows nothing of these.
STRANGERS = {
    "flowc.graph": ("flowc.passes", "flowc.plan"),
    "flowc.passes": ("flowc.graph", "flowc.plan"),
    "flowc.plan": ("flowc.graph", "flowc.ops"),
    "flowc.codegen": ("flowc.graph", "flowc.extract", "flowc.importer"),
}

IN_THE_ROOT = {
    "__main__", "errors", "dataclass", "dtypes", "version", "options", "compiler", "aot", "proto",
}  # fmt: skip

MOST_FILES = 25  # of a folder

# Late imports that lead back, because an object does what stands above it: a Computation prints
# itself, a tensor's operators make operations, its shape is inferred and its value asked of a
# session, graphs and operations write themselves, the process's graph is made when asked for, and
# `Variable(...)` makes a variable of either kind, the methods of a dataset make datasets, and the
# adjoint, the inverse or a product of linear operators is an operator of another kind.
BACK = {
    "flowc.ir.computation": ("flowc.ir.text",),
    "flowc.api.linear_operators.linear_operator": ("flowc.api.linear_operators.algebra",),
    "flowc.api.ragged.ragged_tensor": ("flowc.api.ragged.indexing",),
    "flowc.graph.building.operators": (
        "flowc.graph.building.creation",
        "flowc.graph.building.conversion",
        "flowc.graph.building.subscripts",
        "flowc.graph.default",
    ),
    "flowc.graph.building.contexts": ("flowc.graph.building.context_defs",),
    "flowc.graph.tensor": ("flowc.graph.default", "flowc.graph.shape_inference"),
    "flowc.graph.operation": (
        "flowc.graph.default",
        "flowc.graph.export",
        "flowc.graph.meta_export",
    ),
    "flowc.graph.graph": ("flowc.graph.export", "flowc.graph.building.node_creation"),
    "flowc.graph.shape": ("flowc.graph.encode",),
    "flowc.graph.default": ("flowc.graph.graph",),
    "flowc.api.variables.variables": ("flowc.api.variables.resource_variables",),
    "flowc.api.data.dataset": (
        "flowc.api.data.generators",
        "flowc.api.data.grouping",
        "flowc.api.data.mixing",
        "flowc.api.data.padding",
        "flowc.api.data.readers",
    ),
}

# TensorFlow has functions in `tf.dtypes`: the API above gives them when they are asked for.
ASKED_FOR = {("flowc.dtypes", "flowc")}


@dataclass(frozen=True)
class Import:
    """`module` imports `name` (or from it) at `line`; `type_only`: under TYPE_CHECKING."""

    module: str
    name: str
    line: int
    type_only: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name}"


IMPORTERS = ("import_module", "__import__")


@cache
def imports_of(module: str, source: str) -> tuple[Import, ...]:
    """Every import of a module's source, with submodules named by `from package import module`."""
    return tuple(_imports_of(module, nodes_of(source)))


def _imports_of(module: str, nodes: Sequence[ast.AST]) -> Iterator[Import]:
    guarded = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            names = [x.value for x in node.args[:1] if isinstance(x, ast.Constant)]
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


def every_import(known: Sources) -> list[Import]:
    return [found for module, source in known.items() for found in imports_of(module, source)]


def modules_without_a_layer(known: Sources) -> list[str]:
    return [
        m
        for m in known
        if m != "flowc" and not any(is_within(m, p) for p in LAYER_OF if p != "flowc")
    ]


def upward_imports(known: Sources) -> list[str]:
    """Imports from a higher layer."""
    found = []
    for i in every_import(known):
        mine, other = layer(i.module), layer(i.name)
        late = (i.module, i.name) in ASKED_FOR
        if mine is not None and other is not None and other > mine and not late:
            found.append(str(i))
    return found


def misplaced_imports(known: Sources) -> list[str]:
    """Heavy packages outside of their places, and rooms that should not know each other."""
    found = []
    for i in every_import(known):
        away = any(
            is_within(i.name, package) and not any(is_within(i.module, p) for p in places)
            for package, places in PLACES.items()
        )
        strange = any(
            is_within(i.module, package) and any(is_within(i.name, s) for s in strangers)
            for package, strangers in STRANGERS.items()
        )
        if (away or strange) and not i.type_only:
            found.append(str(i))
    return found


def needless_exceptions(known: Sources) -> list[str]:
    """Places where nothing imports what they may, and ways back that nothing takes."""
    imports = every_import(known)
    allowed = [(m, package) for package, places in PLACES.items() for m in places]
    allowed += [(m, package) for m, packages in BACK.items() for package in packages]
    return [
        f"{module} does not import {package}"
        for module, package in (*allowed, *ASKED_FOR)
        if not any(is_within(i.module, module) and is_within(i.name, package) for i in imports)
    ]


def circles(known: Sources) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others; `BACK` aside."""
    reads: dict[str, list[str]] = {m: [] for m in known}
    for i in every_import(known):
        name = i.name if i.name in known else i.name.rpartition(".")[0]
        back = any(is_within(name, target) for target in BACK.get(i.module, ()))
        if name in known and name != i.module and not i.type_only and not back:
            reads[i.module].append(name)
    reachable = {m: _reachable(m, reads) for m in known}
    found: list[list[str]] = []
    for m in known:
        group = sorted(n for n in reachable[m] if m in reachable[n])
        if group and group not in found:
            found.append(group)
    return found


def _reachable(start: str, reads: Mapping[str, list[str]]) -> set[str]:
    found: set[str] = set()
    stack = list(reads[start])
    while stack:
        m = stack.pop()
        if m not in found:
            found.add(m)
            stack += reads[m]
    return found


def crowded_folders(known: Sources) -> list[str]:
    counts = Counter(_folder(m, known) for m in known)
    return [f"{folder}: {n} files" for folder, n in counts.items() if n > MOST_FILES]


def _folder(module: str, known: Sources) -> str:
    is_package = any(m.startswith(f"{module}.") for m in known)
    return module if is_package else module.rpartition(".")[0]


def out_of_place_in_the_root(known: Sources) -> list[str]:
    packages = {p for m in known for p in parents(m)}
    return [
        m
        for m in known
        if m.count(".") == 1
        and m.startswith("flowc.")
        and m not in packages
        and m.partition(".")[2] not in IN_THE_ROOT
    ]


def foreign_imports_of_the_runtime(known: Sources) -> list[str]:
    """What `flowc_runtime.load` imports is NumPy, and ml_dtypes where it is installed. Its `native`
    folder belongs to the compiler's side."""
    allowed = {"numpy", "ml_dtypes", "flowc_runtime", *sys.stdlib_module_names}
    return [
        str(i)
        for i in every_import(known)
        if is_within(i.module, "flowc_runtime")
        and not is_within(i.module, "flowc_runtime.native")
        and i.name.partition(".")[0] not in allowed
    ]
