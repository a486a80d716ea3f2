"""Writes the stub of the public API: what editors and type checkers read of `import flowc as tf`.

In: the tables of exports and the records of ops. Out: `flowc/__init__.pyi` and the files of
namespaces in `flowc/api/stubs/`. Names lead to where they are written down, so that signatures,
types and docstrings are those of the code; what is made at run time is written out, in the first
file that has it.
`python tests/support/pages/api_stub.py` writes them, `--check` compares.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flowc.api import exports
from flowc.api.framework import raw_ops
from flowc.api.namespaces import Namespace
from flowc.graph.op_info import signature_of

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "flowc" / "api" / "stubs"
MODULES = ("compat", "dtypes", "errors", "extending")
# What annotations of functions that are made at run time may say.
_TYPES = {"Any", "Tensor", "Operation", "IndexedSlices", "None", "bool", "float", "int", "list"}
_TYPES |= {"str", "tuple"}
# Types of Python's whose names are also names of the API, which would be found in their place.
_SHADOWED = re.compile(
    rf"\b({'|'.join(t for t in sorted(_TYPES & {*exports.TOP}) if hasattr(builtins, t))})\b"
)
_HEAD = "# Made by `make stub` from the tables of exports: not to be edited.\n"


def stub_files() -> dict[Path, str]:
    """The text of each file of the stub."""
    found: dict[Path, str] = {}
    places: Places = {}
    for path, space in namespaces_of(exports.NAMESPACES):
        inner = [_inner_line(path, name) for name in space._inner]
        lines = _imports(space._names, f"flowc.api.stubs.{_file(path)}", places)
        found[stub_of(path)] = _text([*_exported(dir(space)), *lines, *inner])
    found[FOLDER / "raw_ops.pyi"] = _raw_ops()
    found[ROOT / "flowc" / "__init__.pyi"] = _top(places)
    return found


def namespaces_of(
    spaces: Mapping[str, Namespace], before: str = ""
) -> Iterator[tuple[str, Namespace]]:
    for name, space in spaces.items():
        yield f"{before}{name}", space
        yield from namespaces_of(space._inner, f"{before}{name}.")


def stub_of(path: str) -> Path:
    """The file of a namespace (`nn`, `data.experimental`)."""
    return FOLDER / f"{_file(path)}.pyi"


def _file(path: str) -> str:
    return path.replace(".", "_")


def _inner_line(path: str, name: str) -> str:
    return f"from flowc.api.stubs import {_file(f'{path}.{name}')} as {name}"


def _exported(names: Iterable[str]) -> list[str]:
    """`__all__`: without it, a type checker takes what is imported under another name than its own
    for the stub's own business."""
    return ["__all__ = [", *(f'    "{name}",' for name in sorted(names)), "]"]


# Where functions that are made at run time are described: (stub, name), by (module, name) in it.
Places = dict[tuple[str, str], tuple[str, str]]


def _imports(names: Mapping[str, tuple[str, str]], stub: str, places: Places) -> list[str]:
    """The definition of each name of a stub: an import from where it is written down or described,
    or its signature where it is made when its module is imported."""
    imports: list[str] = []
    written: list[str] = []
    classes: set[str] = set()
    for name, (module, inner) in sorted(names.items(), key=lambda item: (item[1], item[0])):
        if inner in _written_down(module):
            imports.append(f"from {module} import {inner} as {name}")
        elif places.setdefault((module, inner), (stub, name))[0] != stub:
            imports.append("from {} import {} as ".format(*places[module, inner]) + name)
        else:
            written += _described(name, getattr(import_module(module), inner), classes)
    known = [f"from {module} import {name}" for module, name in map(_split, sorted(classes))]
    head = [
        "import builtins",
        "from typing import Any",
        "from flowc.graph import Operation, Tensor",
        "from flowc.graph.indexed_slices import IndexedSlices",
        *known,
    ]
    return [*(head if written else []), *imports, "", *written]


def _split(path: str) -> tuple[str, str]:
    module, _, name = path.rpartition(".")
    return module, name


@cache
def _written_down(module: str) -> frozenset[str]:
    """What type checkers find in a module by themselves: functions, classes, what it imports or
    gives a type."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    found: set[str] = set()
    stub = Path(spec.origin).with_suffix(".pyi")
    source = stub if stub.is_file() else Path(spec.origin)
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return frozenset(found)


def _described(name: str, value: Any, classes: set[str]) -> list[str]:
    """A name that is made at run time: a function with its signature and docstring, or a value."""
    if isinstance(value, type):
        return [f"from {value.__module__} import {value.__qualname__} as {name}"]
    if not callable(value):
        kind = type(value)
        if kind.__module__ == "builtins":
            return [f"{name}: {kind.__name__}"]
        classes.add(f"{kind.__module__}.{kind.__qualname__}")
        return [f"{name}: {kind.__qualname__}"]
    signature = inspect.signature(value)
    words: list[str] = []
    kind = None
    for parameter in signature.parameters.values():
        words += _words(parameter, kind)
        kind = parameter.kind
    text = f"def {name}({', '.join(words)}) -> {_type(signature.return_annotation)}:"
    doc = inspect.cleandoc(value.__doc__ or "")
    if not doc:
        return [f"{text} ..."]
    quoted = doc.replace("\\", "\\\\").replace("\n", "\n    ")
    return [text, f'    """{quoted}"""']


def _words(parameter: inspect.Parameter, before: Any) -> list[str]:
    """One parameter, behind the star that has to stand before it."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{stars}{parameter.name}: {_type(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        simple = isinstance(parameter.default, int | float | str | None)
        text += f" = {parameter.default!r}" if simple else " = ..."
    opens = parameter.kind is parameter.KEYWORD_ONLY and before not in (
        parameter.KEYWORD_ONLY,
        parameter.VAR_POSITIONAL,
    )
    return ["*", text] if opens else [text]


def _type(annotation: Any) -> str:
    """An annotation as the stub can say it."""
    if isinstance(annotation, type):
        annotation = annotation.__name__
    if not isinstance(annotation, str) or set(re.findall(r"[A-Za-z_.]+", annotation)) - _TYPES:
        return "Any"
    return _SHADOWED.sub(r"builtins.\1", annotation)


def _top(places: Places) -> str:
    lines = [*_exported([*exports.TOP, *MODULES, *exports.NAMESPACES, "raw_ops", "__version__"])]
    lines += _imports(exports.TOP, "flowc", places)
    lines += [f"from flowc import {name} as {name}" for name in MODULES]
    spaces = (*exports.NAMESPACES, "raw_ops")
    lines += [f"from flowc.api.stubs import {_file(name)} as {name}" for name in spaces]
    return _text([*lines, "", "__version__: str"])


def _raw_ops() -> str:
    lines = ["from typing import Any", ""]
    for name in dir(raw_ops):
        signature = signature_of(name)
        assert signature is not None, name
        attrs = [n for n in signature.attrs if n not in signature.inferred_attrs]
        words = [f"{_parameter(a.name)}: Any" for a in signature.inputs]
        words += [f"{_parameter(n)}: Any = ..." for n in attrs]
        arguments = ", ".join(["*", *words, "name: str | None = ..."])
        lines.append(f"def {name}({arguments}) -> Any: ...")
    return _text(lines)


def _parameter(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _text(lines: list[str]) -> str:
    return _HEAD + "\n".join(lines) + "\n"


def differences() -> list[str]:
    """The files that are not what they would be now."""
    made = stub_files()
    there = {*FOLDER.glob("*.pyi"), ROOT / "flowc" / "__init__.pyi"}
    wrong = [p for p, text in made.items() if not p.is_file() or p.read_text() != text]
    return sorted(str(p.relative_to(ROOT)) for p in (*wrong, *(there - made.keys())))


def main() -> int:
    if "--check" in sys.argv:
        print("\n".join(differences()))
        return bool(differences())
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.pyi"):
        path.unlink()
    for path, text in stub_files().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
