"""The lines of one kernel's Python source, and sizes and indices as expressions in them.

In: texts of expressions, and Dims. Out: lines, the sizes that the kernel takes as arguments, and
the functions that it calls. Invariant: locals are single assignments; what was written in a scope
that is still open is not written again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from flowc.codegen.kernels.kernel import Fault
from flowc.ir.dims import Dim, Expr, Extremum, FloorDiv, Symbol, is_nonnegative

LOCAL = "$"  # starts the names of index symbols that are locals of the kernel, not sizes
INLINE_SIZES = 32  # smaller known sizes stand in the source; larger ones are arguments


class SourceWriter:
    """Lines of one kernel, with the buffers and int arguments that they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = 1
        self.ints: list[Dim] = []
        self.int_names: dict[Dim, str] = {}
        self.functions: dict[str, None] = {}
        self.counter = 0
        self.scopes: list[dict[Any, Any]] = [{}]
        self.faults: list[Fault] = []
        self.node = ""  # the name of the node that lines are written for
        self.status: str | None = None

    # -- lines and scopes

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def block(self, header: str) -> Any:
        """Lines inside `header:`; what is known inside is forgotten after it."""
        self.line(header)
        self.indent += 1
        self.scopes.append({})
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.scopes.pop()
        self.indent -= 1

    def local(self, text: str, prefix: str = "t") -> str:
        self.counter += 1
        name = f"{prefix}{self.counter}"
        self.line(f"{name} = {text}")
        return name

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value made before for this key in a scope still open, or a new one."""
        for scope in reversed(self.scopes):
            if key in scope:
                return scope[key]
        made = make()
        self.scopes[-1][key] = made
        return made

    def call(self, function: str, *arguments: str) -> str:
        self.functions[function] = None
        return f"{function}({', '.join(arguments)})"

    # -- sizes and indices

    def size(self, dim: Dim) -> str:
        """An expression over sizes only: small numbers inline, all else an argument."""
        if isinstance(dim, int) and abs(dim) < INLINE_SIZES:
            return str(dim)
        if dim not in self.int_names:
            self.int_names[dim] = f"n{len(self.ints)}"
            self.ints.append(dim)
        return self.int_names[dim]

    def index(self, dim: Dim) -> str:
        """An expression over local indices and sizes, as int64 Python source."""
        if not has_local(dim):
            return self.size(dim)
        assert isinstance(dim, Expr)
        groups: dict[tuple[Any, ...], Dim] = {}
        for monomial, coefficient in dim.terms:
            local = tuple(a for a in monomial if _atom_local(a))
            rest: Dim = coefficient
            for atom in monomial:
                if not _atom_local(atom):
                    rest = rest * Expr((((atom,), 1),))
            groups[local] = groups.get(local, 0) + rest
        parts = []
        for local, factor in groups.items():
            if factor == 0:
                continue
            text = "*".join(self._atom(a) for a in local)
            if not local:
                text = self.size(factor)
            elif factor == -1:
                text = f"-{text}"
            elif factor != 1:
                text = f"{text}*{self.size(factor)}"
            parts.append(text)
        joined = " + ".join(parts).replace("+ -", "- ")
        return joined or "0"

    def _atom(self, atom: Symbol | FloorDiv | Extremum) -> str:
        match atom:
            case Symbol(name):
                return name.removeprefix(LOCAL)
            case FloorDiv(top, bottom):
                # Divisors stand as numbers where they are known: division by a constant is cheap.
                below = str(bottom) if isinstance(bottom, int) else self.index(bottom)
                key = ("idiv", top, bottom)
                return self.remember(key, lambda: self._quotient(top, below))
            case Extremum(kind, left, right):
                a, b = self.index(left), self.index(right)
                sign = ">" if kind == "max" else "<"
                return self.remember(
                    ("extremum", atom),
                    lambda: self.local(f"({a}) if ({a}) {sign} ({b}) else ({b})", "q"),
                )

    def _quotient(self, top: Dim, below: str) -> str:
        """A local that holds floor(top / below); `idiv` rounds to zero."""
        found = self.local(f"idiv({self.index(top)}, {below})", "q")
        if is_nonnegative(top):
            return found
        return self.local(f"{found} - 1 if {found}*{below} > {self.index(top)} else {found}", "q")


def has_local(dim: Dim) -> bool:
    """Whether an index expression depends on a local of the kernel."""
    return isinstance(dim, Expr) and any(_atom_local(a) for m, _ in dim.terms for a in m)


def _atom_local(atom: Symbol | FloorDiv | Extremum) -> bool:
    match atom:
        case Symbol(name):
            return name.startswith(LOCAL)
        case FloorDiv(top, bottom):
            return has_local(top) or has_local(bottom)
        case Extremum(_, left, right):
            return has_local(left) or has_local(right)
