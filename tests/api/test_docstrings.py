"""Every public function and class says what it does."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import flowc as tf
from flowc.api import exports
from flowc.api.namespaces import Namespace

NOT_OURS = ("absl.", "flowc.proto.", "google.protobuf.")


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
