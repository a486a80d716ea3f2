"""One record an op: everything that the program knows of it.

In: `define(...)`, once for each op, in a file of `flowc/ops/`. Out: `op_named` and `tf_op`, which
import the file of a record that is not there yet. Invariant: names are unique, and nothing about an
op stands outside its record. `record_index.txt`, which `make stub` writes, says in which module
each is, and saves imports, no more: a module that is other than it says is imported where a name is
not found without it, so that whoever adds an op changes the op's own file alone.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, cast

import numpy as np

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InvalidModelError
from flowc.ir.cached_property import cached_property
from flowc.ir.signature import REQUIRED, Arg, OpSignature, parse_signature
from flowc.ir.types import Dims, TensorType

if TYPE_CHECKING:
    from flowc.ir.capability import Capability
    from flowc.ir.computation import Node
    from flowc.ir.inference import Inference
    from flowc.ir.lowering import Lowering
    from flowc.ir.mark_access import MarkAccess

Attrs = Mapping[str, Any]
P = ParamSpec("P")


@dataclass(frozen=True, eq=False)
class Op:
    """`name`: what IR text prints. `tf`: TensorFlow's signature (signature.py has the grammar).

    `infer(c)` returns the output's dims as a tuple, or a list of such tuples for several outputs;
    dtypes follow from the signature. `reference(*inputs, **attrs)` computes the outputs in NumPy:
    an input that is a list in the signature comes as a list; keyword-only parameters name the attrs
    that it wants (type attrs as `DType`). `lowering`: a Lowering, or a function of the node.
    `gradient(b, node, *dys)` returns the gradients of the inputs (None where there is none), those
    at the end left out if nothing flows to them; it is written against a `GradientBuilder`
    (`ops/gradients.py`), or is None where the op has no gradient yet. `traits`: see TRAITS.
    `examples`: each a text of input types and attrs such as `"f32[2,3] i32[]=1; axis=0"`, from
    which tests are made (`op_examples.py`). `content`: True if `reference` also works on object
    arrays of sizes, so that shape arithmetic passes through; or a function to use in its place.
    `aliases`: other TF op names with the same signature and meaning. `on_lists`: emits the op, as
    `Extracted` does, where inputs are TensorLists, or what takes no part in arithmetic else
    (`ir/extraction.py`); `on_data`: where inputs have elements that only the run knows, or sizes
    that loops find, and `infer` may want more of them than sizes that it can read; `on_variants`:
    where T is a variant, and what it holds only Python knows. `marks`: how the
    op reads and changes the marks of a list (`ir/mark_access.py`). `capability`: what it touches
    beyond tensors, which an imported node may only where it is allowed to (`ir/capability.py`).
    `stamp`: a text of all code behind an op that is not flowc's own, for keys of caches.
    `on_gpu`: the op that takes a node's place in programs for a GPU, None where there is no other.
    """

    name: str
    tf: str
    infer: Callable[[Inference], Dims | list[Dims]]
    lowering: Lowering | Callable[[Node], Lowering]
    reference: Callable[..., Any] | None = None
    gradient: Callable[..., Any] | None = None
    traits: frozenset[str] = frozenset()
    examples: tuple[str, ...] = ()
    content: bool | Callable[..., Any] = False
    aliases: tuple[str, ...] = ()
    on_lists: Callable[..., Any] | None = None
    on_data: Callable[..., Any] | None = None
    on_variants: Callable[..., Any] | None = None
    marks: MarkAccess | None = None
    capability: Capability | None = None
    stamp: Callable[[], str] | None = None
    on_gpu: Callable[[Node], Op | None] | None = None

    @cached_property
    def signature(self) -> OpSignature:
        return parse_signature(self.tf)

    @cached_property
    def tf_name(self) -> str:
        return self.tf.partition("(")[0].strip()

    @property
    def is_internal(self) -> bool:
        """Whether only flowc makes such nodes. TensorFlow writes `_Fused...` into optimised graphs;
        every other name that begins so is flowc's."""
        return self.tf.startswith("_") and not self.tf.startswith("_Fused")

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __str__(self) -> str:
        return self.name


TRAITS = {
    "commutative",  # f(x, y) == f(y, x)
    "associative",
    "aggregate",  # of any number of inputs in any order
    "idempotent",  # f(f(x)) == f(x)
    "involution",  # f(f(x)) == x
    "identity",  # the output is input 0 (Identity, StopGradient, Snapshot...)
    "by_element",  # of each element of input 0 alone; other inputs are the same for all
    "moves",  # every element of its output is an element of its inputs (Pack, Reshape...)
    "chooses",  # as "moves", of inputs 1 and 2; input 0 says which
    "begins_with",  # its text is that of the first input with texts, and ends behind it
    "of_sizes",  # its outputs follow from the sizes of its inputs, not from an element of them
    "sets_elements",  # the output is input 0, a list, with the elements at input 1 set
    "stateful",  # never merged, folded or dropped as unused: has an effect or reads one
    "random",  # draws from a stream: never merged or folded
    "may_block",  # waits for what others do: a run holds no lock meanwhile
    "variable",  # its output is a variable: its handle, or a reference to it
    "reads_variable",  # of a variable, input 0, it only reads what that holds
    "saved_bytes",  # its output is the handle of an object that a checkpoint has as bytes
    "assign",  # input 0, a variable, becomes input 1
    "fed",  # what callers give may stand in its place
    "placeholder",  # fed, or an error
    "call",  # its outputs are those of its function `f` of its inputs
    "on_cpu",  # its kernel is for the CPU, also where there is a GPU
    "on_gpu",  # its kernel is for the GPU
    "runs_if_dead",  # runs even if a control input is dead
    "no_fold",  # too large or meaningless to evaluate at compile time (Placeholder, Range of sizes)
}

PACKAGE = "flowc.ops"
INDEX = os.path.join(os.path.dirname(__file__), "record_index.txt")
FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "ops")

_BY_NAME: dict[str, Op] = {}
_BY_TF_NAME: dict[str, Op] = {}


@cache
def modules_by_name() -> dict[str, str]:
    """The modules of flowc's records by their IR names."""
    return {names[0]: module for module, (_, found) in _indexed().items() for names in found}


@cache
def modules_by_tf_name() -> dict[str, str]:
    """The modules of flowc's records by their TensorFlow op types, aliases too."""
    lines = _indexed().items()
    return {name: module for module, (_, found) in lines for names in found for name in names[1:]}


@cache
def _indexed() -> dict[str, tuple[str, list[list[str]]]]:
    """By module its checksum and, of every record, the IR name, the op type, and aliases. A line of
    the index is `folder.module checksum`, then `name Type Alias` of each record behind tabs."""
    found: dict[str, tuple[str, list[list[str]]]] = {}
    with open(INDEX, encoding="utf-8") as file:
        for line in file:
            first, *records = line.rstrip("\n").split("\t")
            module, checksum = first.split(" ")
            names = [record.split(" ") for record in records]
            found[f"{PACKAGE}.{module}".rstrip(".")] = checksum, names
    return found


def changed_modules() -> tuple[list[str], list[str]]:
    """The modules that are new or other than the index says, and all that there are. Every source
    is read: 2 ms."""
    known, present = _indexed(), checksums()
    changed = [m for m, found in present.items() if m not in known or known[m][0] != found]
    return changed, list(present)


def checksums(folder: str = FOLDER, package: str = PACKAGE) -> dict[str, str]:
    """By module the checksum of its source, of a folder and those below it, in order of names."""
    return dict(sorted(_checksums(folder, package)))


def _checksums(folder: str, package: str) -> Iterator[tuple[str, str]]:
    import zlib  # late: names are nearly always there

    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                with open(entry.path, "rb", buffering=0) as file:
                    checksum = f"{zlib.crc32(file.read()):08x}"
                name = entry.name.removesuffix(".py")
                yield package if name == "__init__" else f"{package}.{name}", checksum
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _checksums(entry.path, f"{package}.{entry.name}")


def _register(op: Op) -> Op:
    """Registers a record. Raises `ValueError` for a name already taken or an unknown trait."""
    unknown = op.traits - TRAITS
    if unknown:
        raise ValueError(f"{op.name}: unknown traits {sorted(unknown)}")
    if op.name in _BY_NAME:
        raise ValueError(f"op {op.name!r} is defined twice")
    tf_names = (op.tf_name, *op.aliases)
    for tf_name in tf_names:
        if tf_name in _BY_TF_NAME:
            raise ValueError(f"TensorFlow op {tf_name!r} is defined twice")
    _BY_NAME[op.name] = op
    _BY_TF_NAME.update(dict.fromkeys(tf_names, op))
    return op


@contextmanager
def all_or_none() -> Generator[None]:
    """Within it, what fails has registered nothing; records of flowc that came meanwhile stay."""
    _import_changed()  # what is imported is not imported again
    before = {*_BY_NAME, *modules_by_name()}, {*_BY_TF_NAME, *modules_by_tf_name()}
    try:
        yield
    except BaseException:
        for table, names in zip((_BY_NAME, _BY_TF_NAME), before):
            for name in set(table) - names:
                del table[name]
        raise


def _registering(make: Callable[P, Op]) -> Callable[P, Op]:
    return lambda *fields, **named: _register(make(*fields, **named))


# Takes the fields of a record and registers it.
define = _registering(Op)


# Those that were imported to their end: until then, what a record names may not be there.
_imported: set[str] = set()


def _import_record(module: str) -> None:
    """Has a module define its records, and waits where another thread imports it. One that is no
    more has none: its records are elsewhere by now."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
    _imported.add(module)


@cache
def _import_changed() -> None:
    """Imports the modules of which the index says something else. With them all others, as what a
    module defines may follow from what it imports."""
    changed, present = changed_modules()
    for module in present if changed else ():
        _import_record(module)


def op_named(name: str) -> Op:
    """The record with this IR name. Raises `KeyError`."""
    module = modules_by_name().get(name)
    if module is not None and module not in _imported:
        _import_record(module)
    if name not in _BY_NAME:
        _import_changed()
    return _BY_NAME[name]


def tf_op(tf_name: str) -> Op | None:
    """The record of a TensorFlow op type, or None where flowc has none."""
    module = modules_by_tf_name().get(tf_name)
    if module is not None and module not in _imported:
        _import_record(module)
    if tf_name not in _BY_TF_NAME:
        _import_changed()
    return _BY_TF_NAME.get(tf_name)


def defined_ops() -> tuple[Op, ...]:
    """The records that are there by now, in order of definition: those of others, and of flowc's
    own what was looked for (`flowc.ops.all_ops` gives all)."""
    return tuple(_BY_NAME.values())


def tf_names() -> tuple[str, ...]:
    """Every op type of TensorFlow's graphs that has a record, aliases too."""
    _import_changed()
    return tuple(n for n in {**modules_by_tf_name(), **_BY_TF_NAME} if not is_internal_name(n))


def is_internal_name(tf_name: str) -> bool:
    """`Op.is_internal`, of a record that may not be imported."""
    return tf_name.startswith("_") and not tf_name.startswith("_Fused")


def stamp_of_others() -> str:
    """A stamp of the code of all ops that are registered from outside of flowc; empty without
    any."""
    others = (op for op in tuple(_BY_NAME.values()) if op.stamp is not None)
    return "\n".join(sorted(f"{op.tf} {op.stamp()}" for op in others if op.stamp is not None))


def output_dtypes(op: Op, inputs: Sequence[TensorType], attrs: Attrs) -> tuple[DType, ...]:
    """The dtypes of a node's outputs, from its signature.

    Raises `InvalidModelError` where input dtypes contradict the signature.
    """
    bound = bind_types(op, [t.dtype for t in inputs], attrs)
    found: list[DType] = []
    for arg in op.signature.outputs:
        kind = cast(Any, arg.dtype if arg.type_attr is None else bound[arg.type_attr])
        if arg.is_list:
            found.extend(kind)
        elif arg.number_attr is not None:
            found += [kind] * bound[arg.number_attr]
        else:
            found.append(kind)
    return tuple(found)


def bind_types(op: Op, inputs: Sequence[DType], attrs: Attrs) -> dict[str, Any]:
    """Type and number attrs by name: those given, those that follow from inputs, and defaults."""
    signature = op.signature
    bound: dict[str, Any] = {**signature.attr_defaults, **attrs}
    known: dict[str, Any] = dict(attrs)
    spans = input_spans(op, len(inputs), attrs)
    for arg, (start, stop) in zip(signature.inputs, spans):
        given = tuple(inputs[start:stop])
        if arg.number_attr is not None:
            bound[arg.number_attr] = stop - start
        if arg.is_list:
            bound[arg.type_attr or ""] = given
            continue
        if arg.type_attr is None:
            wanted = arg.dtype
        else:
            wanted = known.setdefault(arg.type_attr, given[0] if given else None)
            bound[arg.type_attr] = wanted
        for dtype in given:
            if dtype is not wanted:
                raise InvalidModelError(
                    f"{op.tf_name}: input '{arg.name}' has dtype {dtype}, expected {wanted}"
                )
    return bound


def input_spans(op: Op, count: int, attrs: Attrs) -> list[tuple[int, int]]:
    """For each input of the signature, where its tensors stand among the node's `count` inputs."""
    args = op.signature.inputs
    listed = op.signature.listed_inputs
    widths = [_stated_width(arg, attrs) if i in listed else 1 for i, arg in enumerate(args)]
    # One list takes what the others leave; several lists of one number share it.
    left = count - sum(width for width in widths if width is not None)
    open_lists = widths.count(None)
    spans: list[tuple[int, int]] = []
    at = 0
    for stated in widths:
        width = left // open_lists if stated is None else stated
        spans.append((at, at + width))
        at += width
    if at != count:
        raise InvalidModelError(f"{op.tf_name}: takes {at} inputs, found {count}")
    return spans


def _stated_width(arg: Arg, attrs: Attrs) -> int | None:
    """How many tensors an input is, where attrs say it."""
    if not arg.is_list:
        return attrs.get(arg.number_attr or "")
    stated = attrs.get(arg.type_attr or "")
    return None if stated is None else len(stated)


@cache
def _wanted_attrs(op: Op, function: Callable[..., Any]) -> tuple[str, ...]:
    if isinstance(inspect.unwrap(function), np.ufunc):
        return ()  # its keyword-only parameters (out, where...) are NumPy's own
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return tuple(op.signature.attrs)
    return tuple(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)


def call_reference(
    op: Op,
    function: Callable[..., Any],
    arrays: Sequence[Any],
    attrs: Attrs,
    dtypes: Sequence[DType],
) -> list[np.ndarray]:
    """Runs a NumPy reference: groups list inputs and passes the attrs that it asks for by name, or
    all of them to one with `**attrs`."""
    bound = bind_types(op, dtypes, attrs)
    spans = input_spans(op, len(arrays), attrs)
    grouped: list[Any] = []
    for arg, (start, stop) in zip(op.signature.inputs, spans):
        many = arg.number_attr is not None or arg.is_list
        grouped.append(list(arrays[start:stop]) if many else arrays[start])
    wanted = _wanted_attrs(op, function)
    missing = [n for n in wanted if bound.get(n, REQUIRED) is REQUIRED]
    if missing:
        raise InvalidModelError(f"{op.tf_name}: attr {missing[0]!r} is missing")
    result = function(*grouped, **{n: bound[n] for n in wanted})
    return list(cast(Sequence[Any], result)) if isinstance(result, (tuple, list)) else [result]
