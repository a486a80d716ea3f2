"""What imported nodes do beyond computing needs a permission, and `flowc scan` lists it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from raw_nodes import F, constant, graph_of, node

import flowc
from flowc.cli.entry import run_command_line
from flowc.cli.scan import scanned
from flowc.encoding.tensorflow_ops import tensorflow_ops
from flowc.errors import PermissionDeniedError, UnsupportedError, UsageError
from flowc.extract.given_paths import GivenPaths
from flowc.extract.unsupported_ops import check_supported
from flowc.files import identity as file_identity
from flowc.graph import capabilities
from flowc.graph.lazy_graph import UntouchedGraph
from flowc.ir.capability import ALL, Capability
from flowc.ops import tf_names, tf_op

TYPES = {"Tin": f"list {{ type: {F} }}", "Tout": f"list {{ type: {F} }}"}
SHAPED = {**TYPES, "_output_shapes": "list { shape { } }"}
DENIED = """the imported graph is not allowed all that it would do:
  node 'y' (PyFunc) calls functions of Python, which needs 'python'
  try: if you trust the model, flowc.load_graph(..., allow=["python"]), graph.allow("python") or \
--allow python; `flowc scan` lists all such nodes"""


def calling(token: str, *controls: str) -> dict[str, str]:
    """A file's graph whose node `y` calls the function of a token."""
    inputs = ["x", *(f"^{c}" for c in controls)]
    return {"x": constant(2.0), "y": node("PyFunc", *inputs, token=f's: "{token}"', **SHAPED)}


@pytest.fixture
def doubled() -> Callable[..., Any]:
    """A function of this process. Its token is an attr of an operation, and no secret."""
    return lambda x: np.float32(2) * x


def token_of(function: Callable[..., Any]) -> str:
    with flowc.Graph().as_default() as graph:
        made = flowc.py_func(function, [np.float32(1)], flowc.float32)
        KEPT.append(graph)  # a token lives as long as the graph
        return made.op.get_attr("token").decode()


KEPT: list[flowc.Graph] = []


def run(graph: flowc.Graph) -> Any:
    with flowc.Session(graph=graph) as session:
        return session.run("y:0")


def test_an_imported_node_calls_python_only_where_that_is_allowed(
    doubled: Callable[..., Any],
) -> None:
    graph = graph_of(calling(token_of(doubled)))
    with pytest.raises(PermissionDeniedError) as caught:
        run(graph)
    assert str(caught.value) == DENIED
    assert (caught.value.code, caught.value.node) == ("FL0507", "y")
    with pytest.raises(PermissionDeniedError):
        flowc.compile(graph, fetches="y:0")
    graph.allow("files", "network")
    with pytest.raises(PermissionDeniedError):
        run(graph)
    graph.allow("python")
    assert run(graph) == 4


def test_what_a_program_adds_itself_needs_no_permission(doubled: Callable[..., Any]) -> None:
    graph = graph_of({"x": constant(2.0)})
    with graph.as_default():
        made = flowc.py_func(doubled, [graph.get_tensor_by_name("x:0")], flowc.float32)
        with flowc.Session() as session:
            assert session.run(made) == 4


def test_only_what_a_fetch_needs_is_asked_for(doubled: Callable[..., Any]) -> None:
    nodes = {**calling(token_of(doubled)), "z": node("Neg", "y", T=F)}
    with flowc.Session(graph=graph_of(nodes)) as session:
        assert session.run("x:0") == 2
        assert session.run("z:0", {"y:0": np.float32(3)}) == -3
        with pytest.raises(PermissionDeniedError):
            session.run("z:0")
        with pytest.raises(PermissionDeniedError):
            session.run("y")


def test_control_inputs_and_bodies_of_functions_count(doubled: Callable[..., Any]) -> None:
    token = token_of(doubled)
    nodes = {**calling(token), "z": node("Identity", "x", "^y", T=F)}
    with pytest.raises(PermissionDeniedError), flowc.Session(graph=graph_of(nodes)) as session:
        session.run("z:0")
    attrs = "".join(
        f' attr {{ key: "{k}" value {{ {v} }} }}'
        for k, v in {"token": f's: "{token}"', **SHAPED}.items()
    )
    library = f"""function {{
      signature {{ name: "f" input_arg {{ name: "a" type: {F} }}
                   output_arg {{ name: "r" type: {F} }} }}
      node_def {{ name: "inner" op: "PyFunc" input: "a" {attrs} }}
      ret {{ key: "r" value: "inner:output:0" }} }}"""
    function = 'func { name: "f" }'
    call = node("PartitionedCall", "x", f=function, **TYPES)
    graph = graph_of({"x": constant(2.0), "y": call}, library)
    with pytest.raises(PermissionDeniedError) as caught:
        run(graph)
    assert caught.value.node == "y/inner"
    graph.allow("python")
    assert run(graph) == 4


def test_all_that_is_refused_is_told_at_once() -> None:
    nodes = calling("pyfunc_none")
    nodes |= {f"y{i}": nodes["y"] for i in range(30)}
    nodes["all"] = node("NoOp", *[f"^{n}" for n in nodes if n != "x"])
    with pytest.raises(PermissionDeniedError) as caught, flowc.Session(graph=graph_of(nodes)) as s:
        s.run("all")
    assert "... and 11 more" in str(caught.value)


def test_names_of_capabilities_are_checked() -> None:
    with pytest.raises(UsageError, match="did you mean 'python'"):
        flowc.Graph().allow("pyton")
    with pytest.raises(UsageError, match="'all'"):
        flowc.load_graph("model.pb", allow="files,all")


def write(path: Path, nodes: dict[str, str]) -> str:
    graph = graph_of(nodes)
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return str(path)


@pytest.mark.parametrize("allowed_first", [False, True])
def test_a_program_from_the_cache_needs_the_permission_too(
    allowed_first: bool,
    doubled: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(file_identity, "SETTLED_SECONDS", -1)
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path / "cache"))
    path = write(tmp_path / "model.pb", calling(token_of(doubled)))
    if allowed_first:
        assert run(flowc.load_graph(path, allow=["python"])) == 4
        again = flowc.load_graph(path, allow="python")
        assert run(again) == 4
        assert type(again) is UntouchedGraph  # it came from the cache
    graph = flowc.load_graph(path)
    with pytest.raises(PermissionDeniedError):
        run(graph)
    graph.allow("python")
    assert run(graph) == 4
    assert flowc.compile(path, fetches="y:0", allow="python")() == 4


# -- records to come


SAVED = {
    "at": node("PlaceholderWithDefault", "named", dtype="DT_STRING", shape="shape { }"),
    "named": node(
        "Const",
        dtype="DT_STRING",
        value='tensor { dtype: DT_STRING tensor_shape { } string_val: "/etc/x" }',
    ),
    "same": node("Identity", "at", T="DT_STRING"),
    "joined": node("StringJoin", "at", "named", N="i: 2"),
}


@pytest.mark.parametrize(
    ("place", "fed", "is_allowed"),
    [("at", True, True), ("same", True, True), ("at", False, False), ("named", False, False),
     ("joined", True, False)],
)  # fmt: skip
def test_a_checkpoint_may_be_where_the_caller_says_and_nowhere_else(
    place: str, fed: bool, is_allowed: bool
) -> None:
    save = node("SaveV2", place, "named", "named", dtypes="list { }")
    graph = graph_of({**SAVED, "save": save})
    operation = graph.get_operation_by_name("save")
    feeds = [graph.get_tensor_by_name("at:0")] if fed else []
    paths = GivenPaths(graph, [("save", operation)], lambda tensor: tensor in feeds)
    if is_allowed:
        capabilities.check_allowed(graph, [("save", operation)], paths.is_given)
        return
    with pytest.raises(PermissionDeniedError) as caught:
        capabilities.check_allowed(graph, [("save", operation)], paths.is_given)
    assert caught.value.node == "save"
    graph.allow("files")
    capabilities.check_allowed(graph, [("save", operation)], paths.is_given)


STRING = "DT_STRING"
RESTORING = """function {
  signature { name: "%s" input_arg { name: "a" type: DT_STRING }
              output_arg { name: "r" type: DT_FLOAT } }
  node_def { name: "same" op: "Identity" input: "a" attr { key: "T" value { type: DT_STRING } } }
  node_def { name: "names" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
             attr { key: "value" value { tensor {
               dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: "v" } } } }
  %s
  ret { key: "r" value: "%s" } }"""
READING = """node_def { name: "read" op: "RestoreV2" input: "%s" input: "names:output:0"
  input: "names:output:0" attr { key: "dtypes" value { list { type: DT_FLOAT } } } }"""
CALLING = """node_def { name: "call" op: "PartitionedCall" input: "same:output:0"
  attr { key: "f" value { func { name: "inner" } } }
  attr { key: "Tin" value { list { type: DT_STRING } } }
  attr { key: "Tout" value { list { type: DT_FLOAT } } } }"""


@pytest.mark.parametrize(
    ("read", "calls", "is_allowed"),
    [
        ("same:output:0", ("at",), True), ("a", ("same",), True), ("a", ("named",), False),
        ("names:output:0", ("at",), False), ("a", ("at", "named"), False),
    ],
)  # fmt: skip
def test_a_path_that_is_given_may_be_the_argument_of_functions(
    read: str, calls: tuple[str, ...], is_allowed: bool
) -> None:
    library = RESTORING % ("outer", CALLING, "call:output:0")
    library += RESTORING % ("inner", READING % read, "read:tensors:0")
    types = {"Tin": f"list {{ type: {STRING} }}", "Tout": f"list {{ type: {F} }}"}
    made = {
        f"call{i}": node("PartitionedCall", at, f='func { name: "outer" }', **types)
        for i, at in enumerate(calls)
    }
    made["all"] = node("NoOp", *(f"^{name}" for name in made))
    graph = graph_of({**SAVED, **made}, library)
    given = graph.get_tensor_by_name("at:0")
    operation = graph.get_operation_by_name("all")
    if is_allowed:
        check_supported(graph, [], [operation], [given])
    else:
        with pytest.raises(PermissionDeniedError, match="RestoreV2") as caught:
            check_supported(graph, [], [operation], [given])
        assert str(caught.value.node).endswith("/call/read")
    with pytest.raises(PermissionDeniedError):
        check_supported(graph, [], [operation], [])


def test_the_table_holds_ops_of_tensorflow_that_no_record_speaks_for() -> None:
    known = tensorflow_ops()
    for name, capability in capabilities._WITHOUT_RECORD.items():
        assert name in known or name.startswith("_"), name
        assert capability.name in ALL
        record = tf_op(name)
        assert record is None or record.capability is None, name
    stated = [c for n in tf_names() if (c := capabilities.capability_of(n)) is not None]
    assert {c.name for c in stated} >= {"python", "print"}
    assert all(isinstance(c, Capability) for c in stated)


# -- flowc scan


def scan(path: str, capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, Any]:
    code = run_command_line(["scan", path, "--json", *args])
    out = capsys.readouterr().out
    return code, json.loads(out) if out else None


def test_scan_lists_all_that_does_more_than_compute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = {**SAVED, **calling("pyfunc_0"), "w": node("WriteFile", "at", "at"),
             "p": node("PrintV2", "at"), "m": node("MadeUp", "x"), "a": node("Abort"),
             "s": node("SaveV2", "at", "at", "at", dtypes="list { }"),
             "t": node("SaveV2", "named", "at", "at", dtypes="list { }")}  # fmt: skip
    path = write(tmp_path / "model.pb", nodes)
    code, found = scan(path, capsys)
    assert (code, found["clean"], found["schema"]) == (1, False, 1)
    one = lambda name: {"count": 1, "nodes": [name]}
    assert found["capabilities"] == {
        "files": {"SaveV2": one("t"), "WriteFile": one("w")},
        "print": {"PrintV2": one("p")},
        "python": {"PyFunc": one("y")},
    }
    assert found["files_that_callers_name"] == {"SaveV2": one("s")}
    assert found["unknown_ops"] == {
        "Abort": {**one("a"), "custom": False},
        "MadeUp": {**one("m"), "custom": True},
    }
    assert run_command_line(["scan", path]) == 1
    text = capsys.readouterr().out
    assert "python: calls functions of Python\n  PyFunc (1): y\n" in text
    assert "custom ops, which TensorFlow does not have\n  MadeUp (1): m\n" in text


def test_scan_ends_with_0_for_what_is_clean_or_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = write(tmp_path / "clean.pb", {"x": constant(1.0), "y": node("Neg", "x", T=F)})
    code, found = scan(clean, capsys)
    assert (code, found["clean"]) == (0, True)
    assert run_command_line(["scan", clean]) == 0
    assert capsys.readouterr().out.endswith("every node only computes\n")
    calls = write(tmp_path / "calls.pb", calling("pyfunc_0"))
    assert scan(calls, capsys, "--allow", "files")[0] == 1
    code, found = scan(calls, capsys, "--allow", "python")
    assert (code, found["clean"]) == (0, True)
    assert list(found["capabilities"]) == ["python"]


def test_scan_ends_with_4_for_what_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.pb"
    assert scan(str(path), capsys) == (4, None)
    path.write_bytes(b"\x0a\xff\xff\xff")
    assert scan(str(path), capsys) == (4, None)


def test_the_commands_take_the_permission(
    doubled: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "model.pb", calling(token_of(doubled)))
    assert run_command_line(["run", path, "--fetch", "y:0"]) == 4
    assert "error[FL0507]" in capsys.readouterr().err
    assert run_command_line(["run", path, "--fetch", "y:0", "--allow", "python"]) == 0
    assert "4" in capsys.readouterr().out
    out = str(tmp_path / "model.so")
    assert run_command_line(["compile", path, "--fetch", "y:0", "-o", out]) == 4
    # A library has no Python to call, whatever is allowed.
    args = ["compile", path, "--fetch", "y:0", "-o", out, "--allow", "python"]
    assert run_command_line(args) == UnsupportedError.exit_code


def test_a_permission_does_not_make_an_op() -> None:
    graph = graph_of({**SAVED, "y": node("ImmutableConst", "at")})
    graph.allow("files")
    with pytest.raises(UnsupportedError, match="ImmutableConst"):
        run(graph)


# What a Saver of a graph from a file writes: where its caller says, and beside that.


def saving(end: str, prefix: str = "file") -> dict[str, str]:
    """A saver in parts, whose paths have `end` behind `prefix`."""
    text = lambda value: node(
        "Const",
        dtype="type: DT_STRING",
        value=f'tensor {{ dtype: DT_STRING tensor_shape {{ }} string_val: "{value}" }}',
    )
    texts = lambda value: node(
        "Const",
        dtype="type: DT_STRING",
        value="tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } "
        f'string_val: "{value}" }}',
    )
    types = "list { type: DT_FLOAT }"
    return {
        "x": constant(2.0),
        "file": text("model"),
        "end": text(end),
        "one": node(
            "Const",
            dtype="type: DT_INT32",
            value="tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 }",
        ),
        "zero": node(
            "Const",
            dtype="type: DT_INT32",
            value="tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 }",
        ),
        "names": texts("x"),
        "slices": texts(""),
        "joined": node("StringJoin", prefix, "end", N="i: 2", separator='s: ""'),
        "shard": node("ShardedFilename", "joined", "zero", "one"),
        "save": node("SaveV2", "shard", "names", "slices", "x", dtypes=types),
        "all": node("Pack", "shard", "^save", N="i: 1", T="type: DT_STRING", axis="i: 0"),
        "merge": node("MergeV2Checkpoints", "all", "file", delete_old_dirs="b: true"),
        "saved": node("Identity", "file", "^merge", T="type: DT_STRING"),
    }


@pytest.mark.parametrize(
    ("end", "prefix", "is_allowed"),
    [
        ("_temp_1/part", "file", True),
        (".part", "file", True),
        ("/../other", "file", False),
        ("part", "end", False),
    ],
)
def test_a_saver_writes_where_it_is_told_to(
    tmp_path: Path, end: str, prefix: str, is_allowed: bool
) -> None:
    graph = graph_of(saving(end, prefix))
    names = {"filename_tensor_name": "file:0", "save_tensor_name": "saved:0"}
    saver_def = flowc.train.SaverDef(**names, restore_op_name="saved", version=2)
    path = str(tmp_path / "m")
    with graph.as_default(), flowc.Session(graph=graph) as session:
        saver = flowc.train.Saver(saver_def=saver_def)
        if is_allowed:
            assert saver.save(session, path, write_meta_graph=False) == path
            assert flowc.train.list_variables(path) == [("x", [])]
            assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith("m.")) == [
                "m.data-00000-of-00001",
                "m.index",
            ]
        else:
            with pytest.raises(PermissionDeniedError, match="'save' "):
                saver.save(session, path, write_meta_graph=False)
            assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("suffix", "is_found"), [("_temp/part", False), ("/../../etc/passwd", True)]
)
def test_scan_knows_the_parts_that_a_saver_writes(
    suffix: str, is_found: bool, tmp_path: Path
) -> None:
    """They lie beside the checkpoint or below it, and nowhere else."""
    with flowc.Graph().as_default() as graph:
        prefix = flowc.placeholder(flowc.string, [], "prefix")
        part = flowc.string_join([prefix, flowc.where(flowc.equal(prefix, "a"), suffix, ".part")])
        name = flowc.raw_ops.ShardedFilename(basename=part, shard=0, num_shards=1)
        flowc.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=[name], destination_prefix=prefix)
    flowc.io.write_graph(graph, tmp_path, "m.pb", as_text=False)
    found = scanned(flowc.load_graph(tmp_path / "m.pb"))
    assert ("files" in found["capabilities"]) is is_found
    assert ("MergeV2Checkpoints" in found["files_that_callers_name"]) is not is_found
