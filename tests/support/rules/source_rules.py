"""What ARCHITECTURE.md promises of classes, targets and state, as rules about the source: one name
a class, who reads a target's details, what importing does, and what the process remembers.

In: the text of each module. Out: what breaks each rule.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from rules.sources import Sources, is_module, is_within, nodes_of, tree_of

# What of a Target only the code for that kind of machine may read.
TARGET_DETAILS = ("vector_bits", "registers", "has_fma")

TARGET_READERS = ("flowc.codegen.cpu", "flowc.codegen.cuda")

# Where importing does something: records of ops and of math functions are defined, the program
# starts.
DEFINES = ("flowc.ops", "flowc.ir.core_ops", "flowc.codegen.math")

# A function that another makes, so that no statement of its own says what it changes.
REGISTERS = ("flowc.ir.op.define",)

STARTS = ("flowc.__main__",)

# Numba finds a target by its name in a table of its own; a dataset is made from the type of one;
# what parses flags is made, and parses when it is asked.
EFFECTS = {
    ("flowc.codegen.cpu.numba_stages.stages", "target_registry[TARGET] = _Target"),
    ("flowc.codegen.cpu.numba_stages.stages", "register_model"),
    ("flowc.api.data.dataset", "DatasetSpec.value_class = Dataset"),
    ("flowc.api.framework.flag_values", "ParsedFlags"),
}

# What outlives all objects, because a process has it once, and why.
PROCESS_STATE = {
    # What TensorFlow keeps for a process or thread: what programs register, settings, defaults.
    ("flowc.api.distributions.divergences", "_FUNCTIONS"),
    ("flowc.api.framework.device_settings", "PROCESS_SETTINGS"),
    ("flowc.api.framework.flag_values", "flags"),
    ("flowc.api.random.random_ops", "_drawn"),
    ("flowc.api.summaries.file_writer", "FileWriterCache"),
    ("flowc.api.training.registration", "GRADIENTS"),
    ("flowc.graph.building.conversion", "_CONVERSIONS"),
    ("flowc.graph.default", "_stack"),
    ("flowc.graph.default", "_variable_kind"),
    ("flowc.ops.control.python_functions", "_known"),
    ("flowc.ops.control.python_functions", "_numbers"),
    # Records of ops and of math functions.
    ("flowc.codegen.math.table", "FUNCTIONS"),
    ("flowc.ir.op", "_BY_NAME"),
    ("flowc.ir.op", "_BY_TF_NAME"),
    ("flowc.ir.op", "_imported"),
    # The order of symbols that no text shows.
    ("flowc.ir.dims", "_serials"),
    # The run that a thread is in: steps of Python find it.
    ("flowc.run.host_steps", "_current"),
    # Folders of caches: how full, and which were refused.
    ("flowc.cache.disk", "_held"),
    ("flowc.files.cache_folder", "_refused"),
    # Compilers and code that are loaded once: Numba's, LLVM's, the runtime, libraries.
    ("flowc.codegen.cpu.kernel_text", "_shared_functions"),
    ("flowc.codegen.cpu.numba_stages.stages", "_Dispatcher"),
    ("flowc.codegen.cpu.numba_stages.stages", "dispatcher_registry"),
    ("flowc.codegen.link.loaded", "_runtime"),
    ("flowc.codegen.llvm.compile", "_free_machines"),
    ("flowc_runtime.library", "_opened"),
    # Arrays that other packages hold.
    ("flowc_runtime.dlpack", "_given"),
    ("flowc_runtime.dlpack", "_numbers"),
}


def class_names_used_twice(known: Sources) -> list[str]:
    """Names that stand for more than one class. The runtime, which is installed alone, has errors
    of its own with the names of flowc's."""
    places: dict[str, list[str]] = {}
    for module, source in known.items():
        if module != "flowc_runtime.errors":
            for node in nodes_of(source):
                for name in _classes_of(node):
                    places.setdefault(name, []).append(module)
    return [f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1]


def _classes_of(node: ast.AST) -> Iterator[str]:
    """The class that a node makes: by a statement, or by a call such as `namedtuple("Name", ...)`,
    whose class has the name it is given and that of the variable it is kept in."""
    if isinstance(node, ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        call = node.value
        if ast.unparse(call.func).rpartition(".")[2] in CLASS_MAKERS and len(call.args) > 1:
            names = {x.value for x in call.args[:1] if isinstance(x, ast.Constant)}
            yield from sorted(names | {t.id for t in node.targets if isinstance(t, ast.Name)})


CLASS_MAKERS = (
    "namedtuple",
    "NamedTuple",
    "NewType",
    "TypedDict",
    "make_dataclass",
    "Enum",
    "type",
)


def slow_dataclasses(known: Sources) -> list[str]:
    """Modules that make classes with the standard decorator, each of which delays every start."""
    return [
        module
        for module, source in known.items()
        if is_within(module, "flowc") and module != "flowc.dataclass"
        for node in nodes_of(source)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if any(name.name == "dataclass" for name in node.names)
    ]


def readers_of_target_details(known: Sources) -> list[str]:
    """Attributes that are read, also by their names in a text or a pattern."""
    found = []
    for module, source in known.items():
        if any(is_within(module, p) for p in TARGET_READERS):
            continue
        for node in nodes_of(source):
            for name in _attributes_of(node):
                if name in TARGET_DETAILS:
                    found.append(f"{module}:{getattr(node, 'lineno', 0)} reads {name}")
    return found


def _attributes_of(node: ast.AST) -> Sequence[str]:
    match node:
        case ast.Attribute(attr=name):
            return (name,)
        case ast.Constant(value=str(name)):
            return (name,)
        case ast.MatchClass(kwd_attrs=names):
            return names
        case _:
            return ()


def effects_of_imports(known: Sources) -> list[str]:
    """Statements that do something when a module is imported."""
    changers = _registering(known)
    found = []
    for module, source in known.items():
        if module in STARTS or any(is_within(module, p) for p in DEFINES):
            continue
        for line, called, effects in _run_when_imported(source):
            registering = [f for f in called if _full_name(f, module, source) in changers]
            for text in (*registering, *effects):
                if (module, text) not in EFFECTS:
                    found.append(f"{module}:{line} does something when imported: {text}")
    return found


def _registering(known: Sources) -> set[str]:
    """The functions that change what a module holds, and those that call one of them."""
    callers: dict[str, set[str]] = {}
    for module, source in known.items():
        for name, called in _calls(source):
            callers.setdefault(_full_name(called, module, source), set()).add(f"{module}.{name}")
    found: set[str] = set()
    stack = [*REGISTERS, *(f"{m}.{name}" for m, s in known.items() for name in _changers(s))]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += callers.get(name, ())
    return found


def _full_name(text: str, module: str, source: str) -> str:
    """What a name in a module stands for, with its module."""
    first, dot, rest = text.partition(".")
    return _imported(source).get(first, f"{module}.{first}") + dot + rest


@cache
def _calls(source: str) -> Sequence[tuple[str, str]]:
    """The functions of a module, and what each calls, functions within it aside."""
    functions = [n for n in tree_of(source).body if isinstance(n, ast.FunctionDef)]
    return [(f.name, text) for f in functions for text in _called(f.body)]


@cache
def _run_when_imported(source: str) -> Sequence[tuple[int, Sequence[str], Sequence[str]]]:
    """The statements that run when a module is imported: their lines, what they call, and what of
    them does something whatever it calls."""
    body = tree_of(source).body
    own = _stored(nodes_of(source)) | {n.name for n in body if isinstance(n, ast.ClassDef)}
    found = []
    for node in _statements(body):
        effects = _foreign_decorators(node, _imported(source))
        if _has_effect(node, own):
            effects.append(ast.unparse(node))
        found.append((node.lineno, _called([node]), effects))
    return found


def _stored(nodes: Collection[ast.AST]) -> set[str]:
    names = (n for n in nodes if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


@cache
def _imported(source: str) -> Mapping[str, str]:
    """What the names that a module imports stand for."""
    found = {}
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            found |= {(a.asname or a.name.partition(".")[0]): a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {(a.asname or a.name): f"{node.module}.{a.name}" for a in node.names}
    return found


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Those that run when a module is imported, also in branches and classes."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handled = [inner for handler in node.handlers for inner in handler.body]
            yield from _statements([*node.body, *handled, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.ClassDef):
            yield from _statements(node.body)


def _called(body: Sequence[ast.AST]) -> list[str]:
    """The functions and classes that statements call, decorators among them; what is in branches,
    functions and classes does not count."""
    found, stack = [], [*body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            stack += node.decorator_list
            found += [ast.unparse(d) for d in node.decorator_list]
        elif not isinstance(node, ast.Lambda | ast.If | ast.Try):
            stack += ast.iter_child_nodes(node)
            if isinstance(node, ast.Call):
                found.append(ast.unparse(node.func))
    return found


# What comes from other packages and only wraps what it decorates.
WRAPPERS = (
    *("abc", "click", "contextlib", "ctypes", "dataclasses", "functools", "reprlib", "typing"),
)


def _foreign_decorators(node: ast.stmt, imported: Mapping[str, str]) -> list[str]:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    texts = [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in decorators]
    packages = [imported.get(t.partition(".")[0], "flowc").partition(".")[0] for t in texts]
    return [t for t, p in zip(texts, packages) if p not in (*WRAPPERS, "flowc", "flowc_runtime")]


def _has_effect(node: ast.stmt, own: Collection[str]) -> bool:
    """Whether a statement does more than to import, to define, to give a value a name, or to
    complete what is the module's `own`."""
    match node:
        case ast.Expr(value=value):
            return isinstance(value, ast.Call)
        case ast.Assign(targets=targets):
            pass
        case ast.AnnAssign(value=None):
            return False
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            targets = [target]
        case _:
            return not isinstance(node, DEFINITIONS)
    parts = [t.value for t in targets if isinstance(t, ast.Attribute | ast.Subscript)]
    foreign = any(not (isinstance(x, ast.Name) and x.id in own) for x in parts)
    return foreign or any(isinstance(t, ast.Name) and t.id == "_" for t in targets)


DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.If, ast.Try, ast.Pass)

CHANGES = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem"),
    *("remove", "setdefault", "update"),
}


def hidden_state(known: Sources) -> list[str]:
    """What functions change that a module holds, and that so outlives every object; and what of it
    is listed and does not change."""
    found, met = [], set()
    for module, source in known.items():
        for function, names in _changers(source).items():
            met |= {(module, name) for name in names}
            found += [
                f"{module}: {function} changes {name}"
                for name in names
                if (module, name) not in PROCESS_STATE
            ]
    unmet = {(m, name) for m, name in PROCESS_STATE if m in known} - met
    return found + [f"{module}: {name} does not change" for module, name in sorted(unmet)]


@cache
def _changers(source: str) -> Mapping[str, Collection[str]]:
    """The functions of a module, methods under the names of their classes, which change what a
    module holds, and the names of that."""
    body, known = tree_of(source).body, _imported(source)
    held = {t.id for n in body for t in _targets(n)}
    held |= {n.name for n in body if isinstance(n, ast.ClassDef)}
    modules = {n for n, what in known.items() if "." not in what or is_module(what)}
    held |= known.keys() - modules
    found: dict[str, set[str]] = {}
    for outer in body:
        for function in ast.walk(outer):
            if isinstance(function, ast.FunctionDef | ast.Lambda):
                nodes = list(ast.walk(function))
                names = {n for part in nodes if (n := _changed(part)) is not None} & held
                names |= {r for part in nodes if (r := _stored_in(part)) is not None} & modules
                names -= _stored(nodes) | {a.arg for a in nodes if isinstance(a, ast.arg)}
                names |= {n for g in nodes if isinstance(g, ast.Global) for n in g.names}
                if names:
                    found.setdefault(getattr(outer, "name", "a function"), set()).update(names)
    return found


def _targets(node: ast.stmt) -> list[ast.Name]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [n for t in targets if t is not None for n in ast.walk(t) if isinstance(n, ast.Name)]


def _changed(node: ast.AST) -> str | None:
    """The name at the root of what a node changes: stores in, deletes from, calls to change, or
    counts on."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in CHANGES:
            return _root(value)
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=name)]):
            return name
        case (
            ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del())
        ):
            return _root(node)
        case _:
            return None


def _stored_in(node: ast.AST) -> str | None:
    """The name at the root of an attribute that is stored."""
    is_store = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    return _root(node) if is_store else None


def _root(node: ast.AST) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
