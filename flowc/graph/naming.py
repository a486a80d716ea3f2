"""Names of operations and name scopes, as TensorFlow 1 makes them unique.

Invariant: a name that was given out is not given out again, whatever its case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

OPERATION_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_SCOPE_NAME = re.compile(r"[A-Za-z0-9_.\\/>-]*")


class Names:
    """The names that a graph uses, and the name scope that it is in."""

    def __init__(self) -> None:
        self.scope = ""  # without the closing slash
        self._uses: dict[str, int] = {}

    def unique(self, name: str, mark_as_used: bool = True) -> str:
        """`name` inside the current scope, with `_1`, `_2`... where it is taken."""
        return self.unique_full(f"{self.scope}/{name}" if self.scope else name, mark_as_used)

    def unique_full(self, name: str, mark_as_used: bool = True) -> str:
        """`name` as it is, outside every scope, with `_1`, `_2`... where it is taken."""
        key = name.lower()
        count = self._uses.get(key, 0)
        if mark_as_used:
            self._uses[key] = count + 1
        if count == 0:
            return name
        base = key
        while key in self._uses:
            key = f"{base}_{count}"
            count += 1
        if mark_as_used:
            self._uses[key] = 1
        return f"{name}_{count - 1}"

    def take(self, name: str) -> None:
        """Marks a full name as used (a node that was read from a file)."""
        self._uses.setdefault(name.lower(), 1)

    def op_name(self, name: str) -> str:
        """The full name of a new operation. A closing slash means: exactly this name."""
        if not (OPERATION_NAME if not self.scope else _SCOPE_NAME).fullmatch(name):
            raise ValueError(
                f"`{name}` is not a valid node name. Accepted names conform to Regex "
                f"/^{OPERATION_NAME.pattern}$/"
            )
        return name[:-1] if name.endswith("/") else self.unique(name)

    @contextmanager
    def within(self, name: str | None) -> Iterator[str]:
        """Opens a name scope: a new one of a unique name, the very one named where `name` ends with
        a slash, the root for None or an empty name. Yields the scope with its closing slash."""
        accepted, place = (_SCOPE_NAME, "") if self.scope else (OPERATION_NAME, "root ")
        if name and not accepted.fullmatch(name):
            raise ValueError(
                f"'{name}' is not a valid {place}scope name. A {place}scope name has to match the "
                f"following pattern: ^{accepted.pattern}$"
            )
        outer = self.scope
        if not name:
            new = ""
        elif name.endswith("/"):
            new = name[:-1]
        else:
            new = self.unique(name)
        self.scope = new
        try:
            yield f"{new}/" if new else ""
        finally:
            self.scope = outer
