"""Every error that flowc shows its users.

An error says what failed, at which node of the user's graph, what was found, what was expected and
what to try. Classes that TensorFlow's API has keep TensorFlow's names; each also derives from the
Python built-in that callers would otherwise expect. `code` (FLnnnn) is stable across releases;
`exit_code` is what the command line ends with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any


class FlowcError(Exception):
    """The root of all errors that flowc raises on purpose.

    `node`: the TensorFlow name of the node at fault, if one is. `defined_at`: the line of the
    program that made it, where a Session knows it. `hint`: what to try.
    """

    code = "FL0001"
    exit_code = 70
    defined_at: str | None = None

    def __init__(self, message: str, *, node: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.node = node
        self.hint = hint

    def __str__(self) -> str:
        text = self.message
        if self.node is not None and (self.node not in text or self.defined_at is not None):
            place = "" if self.defined_at is None else f" (defined at {self.defined_at})"
            text += f"\n  node: {self.node}{place}"
        if self.hint is not None:
            text += f"\n  try: {self.hint}"
        return text


class InternalError(FlowcError):
    """A fault of flowc's own: an invariant of the compiler did not hold.

    `detail`: what was compiled, for debugging; `report`: the folder with all that reproduces it,
    once that is written.
    """

    code = "FL0070"
    detail: str = ""
    report: str | None = None

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.report is None else f"{text}\n  report: {self.report}"


class UsageError(FlowcError, ValueError):
    """A call or command that cannot be carried out as it was given."""

    code = "FL0100"
    exit_code = 2


class UnknownNameError(UsageError, KeyError):
    """A feed, fetch, signature, tag or option that the model does not have."""

    code = "FL0101"

    def __str__(self) -> str:
        return FlowcError.__str__(self)


class InvalidModelError(FlowcError, ValueError):
    """A file or graph that is malformed: truncated, corrupted, or against TensorFlow's rules."""

    code = "FL0400"
    exit_code = 4


class UnsupportedError(FlowcError):
    """Well-formed input that flowc cannot compile. `problems`: (op type, count, node names)."""

    code = "FL0300"
    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        node: str | None = None,
        hint: str | None = None,
        problems: Iterable[tuple[str, int, tuple[str, ...]]] = (),
    ) -> None:
        super().__init__(message, node=node, hint=hint)
        self.problems = tuple(problems)


class OpError(FlowcError):
    """The root of TensorFlow's own error classes (`tf.errors.OpError`). `error_code`: TensorFlow's
    number for the class; `op`: the operation at fault, where a Session found it in its graph.
    Raises nothing."""

    code = "FL0500"
    exit_code = 4
    error_code = 2
    op: Any = None
    _node_def: Any = None

    def __init__(self, *args: Any, node: str | None = None, hint: str | None = None) -> None:
        """One argument is the message; programs of TensorFlow give `node_def, op, message`, and an
        error code where the class is `OpError` itself."""
        message = args[0] if len(args) == 1 else args[2]
        if len(args) > 1:
            self._node_def, self.op = args[0], args[1]
        if len(args) > 3:
            self.error_code = args[3]
        super().__init__(message, node=node, hint=hint)

    @property
    def node_def(self) -> Any:
        """The operation at fault as a NodeDef message, or None."""
        return self._node_def if self.op is None else self.op.node_def


class UnknownError(OpError):
    """What a function of Python raised that means nothing to TensorFlow."""

    code = "FL0502"


class InvalidArgumentError(OpError, ValueError):
    """A value, shape or dtype that an operation does not take, whoever gave it: also at a run."""

    code = "FL0503"
    error_code = 3


class NotFoundError(OpError, LookupError):
    """A file, tensor of a checkpoint, table or op type that is not there."""

    code = "FL0505"
    error_code = 5

    def __str__(self) -> str:
        return FlowcError.__str__(self)


class AlreadyExistsError(OpError):
    """Something to be made that is there already, such as a file."""

    code = "FL0506"
    error_code = 6


class PermissionDeniedError(OpError, PermissionError):
    """What an imported graph would do and nobody has allowed it to, or a file or folder that the
    process may not read or write."""

    code = "FL0507"
    error_code = 7

    def __str__(self) -> str:
        return FlowcError.__str__(self)


class FailedPreconditionError(OpError, RuntimeError):
    """A state in which an operation cannot run, such as a variable without a value."""

    code = "FL0509"
    error_code = 9


class OutOfRangeError(OpError, IndexError):
    """The end of what is read: a dataset's elements, or those of a queue that was closed."""

    code = "FL0511"
    error_code = 11


class UnimplementedError(OpError, NotImplementedError):
    """What TensorFlow has no kernel for, or what flowc cannot compile before a run tells more."""

    code = "FL0512"
    error_code = 12
    exit_code = 3


class ResourceExhaustedError(OpError, MemoryError):
    """More memory, or a larger tensor, than there may be."""

    code = "FL0508"
    error_code = 8
    exit_code = 5


class CancelledError(OpError):
    """A step that was ended from outside: its session or queue was closed while it waited."""

    code = "FL0501"
    error_code = 1


class AbortedError(OpError):
    """What another one's end has broken: a step that may be tried again in a new session."""

    code = "FL0516"
    error_code = 10


class UnavailableError(OpError):
    """A service or a device that is not there now."""

    code = "FL0514"
    exit_code = 5
    error_code = 14


class UnauthenticatedError(OpError):
    """A request without the credentials that it needs."""

    code = "FL0517"
    error_code = 16


class DeadlineExceededError(OpError, TimeoutError):
    """A run that took longer than its time limit."""

    code = "FL0504"
    error_code = 4


class DataLossError(OpError, InvalidModelError):
    """A file whose checksums or structure show damage."""

    code = "FL0515"
    error_code = 15
    exit_code = 4


class ShapeError(InvalidArgumentError):
    """Types or shapes that an op does not take, found while they are inferred."""

    code = "FL0510"


class InvalidGraphError(InvalidModelError, InvalidArgumentError):
    """Nodes that no run can follow, which TensorFlow says when a run begins: they wait for each
    other in a circle, or read values of two loops."""


# How the message begins where a fetch needs a placeholder that nobody feeds.
UNFED = "You must feed a value for placeholder tensor"

# How the message of an Assert begins.
FAILED_ASSERTION = "assertion failed:"


class NegativeSizeError(InvalidArgumentError):
    """A run read a size or a bound that is below 0, and its program takes none that are."""


def as_raised(error: Exception, doing: str, node: str | None = None) -> Exception:
    """What to raise where something failed that has no error of its own: what flowc or the system
    raises stays, want of memory is said as such, and all else is a fault of flowc."""
    if isinstance(error, FlowcError | OSError):
        return error
    if isinstance(error, MemoryError):
        return ResourceExhaustedError(f"{doing} needs more memory than there is", node=node)
    found = InternalError(f"{doing} failed: {error!r}", node=node)
    found.__cause__ = error
    return found


def _classes_by_number() -> dict[int, type[OpError]]:
    """TensorFlow's error classes by their numbers."""
    return {c.error_code: c for c in OpError.__subclasses__() if c.__module__ == __name__}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class of TensorFlow's number for it. Raises `KeyError` for no such number."""
    return _classes_by_number()[error_code]


def error_code_from_exception_type(cls: type[Exception]) -> int:
    """TensorFlow's number of an error class: that of `UnknownError` for other classes."""
    return getattr(cls, "error_code", UnknownError.error_code)


SHORTEST_BEGINNING = 3  # letters of a name that say which names begin with it


def did_you_mean(name: str, known: Iterable[str], most: int = 3, least: float = 0.5) -> str | None:
    """`did you mean 'a' or 'b'?`, or None when nothing known is near. `least`: how like the name,
    0 to 1, a known one has to be. What differs in case alone comes first, then what the name is the
    beginning of, if 0.5 is like enough."""
    from difflib import get_close_matches  # late: a process without faults does without

    names = list(dict.fromkeys(known))
    folded = name.casefold()
    begun: list[str] = []
    if least <= 0.5 and len(name) >= SHORTEST_BEGINNING:
        begun = [n for n in names if n.casefold().startswith(folded)]
    near = [n for n in names if n.casefold() == folded]
    near += sorted(begun, key=len)[:most]
    near += get_close_matches(name, names, n=most, cutoff=least)
    shown = list(dict.fromkeys(near))[:most]
    return f"did you mean {' or '.join(repr(n) for n in shown)}?" if shown else None


# What is said of sizes that should be equal and of which one is 1.
BROADCAST_HINT = (
    "; where a size of 1 is meant to be broadcast, compile with it (--feed 'NAME=[1,...]') or "
    "use tf.broadcast_to"
)


def misfit(
    name: str, dims: Sequence[object], found: Sequence[int], wanted: Sequence[object] | None = None
) -> InvalidArgumentError:
    """The error of an input whose sizes are not its dims, in the words of compiled libraries.

    `wanted`: the sizes that the dims stand for, where they are known.
    """
    text = f"input '{name}' has dims {list(found)}, expected [{', '.join(map(str, dims))}]"
    if len(found) == len(dims):
        pairs = enumerate(zip(found, dims if wanted is None else wanted))
        wrong = ((i, f, w) for i, (f, w) in pairs if isinstance(w, int) and f != w)
        for axis, size, expected in list(wrong)[:1]:
            text += f": dimension {axis} is {size}, expected {expected}"
            if 1 in (size, expected) and not isinstance(dims[axis], int):
                text += BROADCAST_HINT
    return InvalidArgumentError(text, node=name)


# TensorFlow's numbers for the classes, which `dir` does not list: `errors.OUT_OF_RANGE`.
_NUMBERS = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND"),
    *("ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"),
    *("ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"),
    "UNAUTHENTICATED",
)

if not TYPE_CHECKING:  # a checker is to find misspelt names

    def __getattr__(name: str) -> int:
        if name in _NUMBERS:
            return _NUMBERS.index(name)
        if name.startswith("__"):
            raise AttributeError(f"module 'flowc.errors' has no attribute {name!r}")
        raise AttributeError(f"flowc.errors.{name} is not provided")


def __dir__() -> list[str]:
    return [n for n, v in globals().items() if isinstance(v, type) and issubclass(v, Exception)]
