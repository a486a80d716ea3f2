"""Every public function and class says what it does, of what shapes and dtypes, and what it
raises."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import flowc as tf
from flowc import errors
from flowc.api import exports
from flowc.api.namespaces import Namespace

NOT_OURS = ("absl.", "flowc.proto.", "google.protobuf.", "unittest.")


def _public(owner: Any, path: str, names: list[str]) -> Iterator[tuple[str, Any]]:
    """The functions and classes of `owner` and of the namespaces inside."""
    for name in names:
        found = getattr(owner, name)
        if isinstance(found, Namespace):
            yield from _public(found, f"{path}.{name}", dir(found))
        elif (inspect.isfunction(found) or inspect.isclass(found)) and not (
            found.__module__.startswith(NOT_OURS)
        ):
            yield f"{path}.{name}", found


def _has_sentence(doc: str | None) -> bool:
    first = (doc or "").strip().split("\n\n")[0]
    return " " in first and first.endswith((".", ":"))


@pytest.mark.parametrize("path", ["", *exports.NAMESPACES])
def test_public_names_have_docstrings(path: str) -> None:
    """`flowc` itself, and each namespace."""
    owner = getattr(tf, path) if path else tf
    names = dir(owner) if path else list(exports.TOP)
    found = dict(_public(owner, f"flowc.{path}".rstrip("."), names))
    assert [name for name, value in found.items() if not _has_sentence(value.__doc__)] == []


def test_errors_have_docstrings() -> None:
    found = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert [e.__name__ for e in found if not _has_sentence(vars(e).get("__doc__"))] == []


# What says of which form tensors are: shapes, dtypes, or what holds them.
_FORM = re.compile(
    r"\[[^\]]*\]|\b(shapes?|sizes?|rank|scalars?|vectors?|matri(x|ces)|dtypes?|tensors?|float(s|32)?|bools?"
    r"|int(s|32|64|egers?)?|numbers?|complex|strings?|images?|SparseTensor|elements?|variables?)\b"
)
_ERRORS = re.compile(r"\b(raises?|raising|errors as)\b|\bRaises nothing\b", re.IGNORECASE)


def _described(owner: Any, path: str, names: list[str]) -> list[tuple[str, str, Any]]:
    return [(n, inspect.getdoc(f) or "", f) for n, f in _public(owner, path, names)]


EVERY = _described(tf, "flowc", dir(tf))


def test_they_say_what_they_raise() -> None:
    """Errors by name, those of which other function they are, or that there are none."""
    assert [name for name, doc, _ in EVERY if not _ERRORS.search(doc)] == []


def test_functions_say_of_what_form_their_tensors_are() -> None:
    """Those that give tensors: by shapes and dtypes, or by the name of another function."""
    functions = {n.split(".")[-1] for n, _, f in EVERY if inspect.isfunction(f)}
    silent = []
    for name, doc, found in EVERY:
        gives = inspect.isfunction(found) and "Tensor" in str(
            inspect.signature(found).return_annotation
        )
        others = {*re.findall(r"`([a-z0-9_]+)`", doc)} & functions - {name.split(".")[-1]}
        if gives and not others and not _FORM.search(doc):
            silent.append(name)
    assert silent == []


def test_functions_say_what_they_take_and_return() -> None:
    """Arguments are named, in the signature or the text; so is what comes back."""
    bare = []
    for name, doc, found in EVERY:
        if not inspect.isfunction(found):
            continue
        signature = inspect.signature(found)
        starred = [p for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
        named = all(f"`{p.name}`" in doc or p.annotation is not p.empty for p in starred)
        if not named or signature.return_annotation is signature.empty:
            bare.append(name)
    assert bare == []


def test_functions_have_the_names_under_which_they_are_found() -> None:
    """`help(tf.reduce_sum)` is about `reduce_sum`: not about what made it."""
    where = "flowc."
    wrong = []
    for name, _, found in EVERY:
        if inspect.isfunction(found) and found.__module__.startswith(where):
            names = vars(inspect.getmodule(found))
            if (
                getattr(found, "__name__", None) not in names
                and name.split(".")[-1] != found.__name__
            ):
                wrong.append((name, found.__name__))
    assert wrong == []


def test_every_op_says_its_signature_and_errors() -> None:
    silent = [
        n for n in dir(tf.raw_ops) if not _ERRORS.search(getattr(tf.raw_ops, n).__doc__ or "")
    ]
    assert silent == []
