"""Writes `docs/tf1-rows.md`: what of TensorFlow 1 was tried, row by row, and how it came out.

    python tests/support/pages/rows_page.py    # from the root, with tests/support on PYTHONPATH

In: the programs of the rows, and what TensorFlow was seen to do in them (`tests/recorded/`). Out:
the page. A row's programs are those of `row_snippets.py` and `api_snippets.py` whose names begin
with its number, and those that `ROWS` names in the suites of others.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from edited_models import EDITS, EXTRACTS, FREEZES
from saved_model_programs import MODEL_PROGRAMS
from saver_programs import GRAPHS, PROGRAMS
from snippets.api_snippets import SNIPPETS
from snippets.control_flow_snippets import CONTROL_FLOW_SNIPPETS
from snippets.gradient_snippets import GRADIENT_SNIPPETS
from snippets.layer_snippets import LAYER_SNIPPETS
from snippets.row_snippets import DIFFERENCES, ROW_SNIPPETS
from snippets.session_snippets import SESSIONS
from snippets.summary_snippets import SUMMARY_SNIPPETS
from snippets.training_snippets import TRAINING

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "tf1-rows.md"


@dataclass(frozen=True, slots=True)
class Row:
    """`also`: programs of other suites, as `suite:pattern`. `checked`: tests that stand elsewhere.
    `missing`: what is not there."""

    title: str
    also: str = ""
    checked: str = ""
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """Programs by name, where TensorFlow's results are kept, and the test that compares."""

    test: str
    programs: Mapping[str, str]
    recorded: Callable[[], Mapping[str, Any]]


ROWS = {
    1: Row("graphs, the default graph, names"),
    2: Row("constants and conversion"),
    3: Row("placeholders"),
    4: Row("symbolic tensors, operators", checked="tests/api/test_api_rows.py"),
    5: Row("Session"),
    6: Row("Session.run"),
    7: Row("feed_dict", "variables:7_*"),
    8: Row("closing, default sessions"),
    9: Row("eval and run"),
    10: Row("ConfigProto, devices"),
    11: Row("a Session in C++", "cc:*", "examples/cc/digits.cc"),
    12: Row("what a run computes"),
    13: Row("control dependencies, groups", checked="tests/api/test_api_rows.py"),
    14: Row("graphs that grow between runs"),
    15: Row("devices of nodes, colocation"),
    16: Row("no eager execution"),
    17: Row("Variable", "variables:16_* variables:17_no* variables:17_coll* layers:variable_*"),
    18: Row("state of variables", checked="tests/api/training/test_training_steps.py"),
    19: Row("use before initialization", "variables:17_uninit*"),
    20: Row("initializers of variables", "layers:variables_initializer"),
    21: Row("initialized_value", "variables:16_init* layers:initialized_value"),
    22: Row("assertions on variables", "layers:assert_var* layers:report_*"),
    23: Row("assignment", "variables:17_assign* layers:assign_* layers:load* layers:sliced_*"),
    24: Row("count_up_to", "layers:count_up_to*"),
    25: Row("scatter methods", "layers:scatter_*"),
    26: Row("properties of variables", "layers:variable_*"),
    27: Row("collections", "layers:graph_keys layers:collections"),
    28: Row("get_variable", "variables:29_get* layers:get_var* layers:part* layers:no_reg*"),
    29: Row("variable_scope", "variables:29_[bs]* layers:variable_scope* layers:variable_op*"),
    30: Row("initializers", "layers:init* layers:const* layers:ident*"),
    31: Row("random numbers, seeds", checked="tests/ops/random/test_random.py"),
    32: Row("resource variables", "variables:32_*"),
    33: Row("scatter functions", "variables:33_*"),
    34: Row("IndexedSlices", "variables:34_* variables:75_indexed*"),
    35: Row("sparse_mask", "layers:sparse_mask*"),
    36: Row("train.Saver", "savers:arguments savers:messages savers:plain savers:reshaped"),
    37: Row("Saver.save", "savers:paths savers:sharded*"),
    38: Row("Saver.restore", "savers:restoring", "tests/oracle/test_oracle_checkpoints.py"),
    39: Row("which checkpoints stay", "savers:retention", "tests/api/saving/test_saver.py"),
    40: Row("checkpoint state", "savers:states savers:relative_paths"),
    41: Row("formats of checkpoints", "savers:formats savers:readers savers:tensor_slices"),
    42: Row("MetaGraphDef", "savers:collections"),
    43: Row("export and import of MetaGraphs", "savers:importing savers:a_scope"),
    44: Row("stripped_op_list", "savers:collections"),
    45: Row("OpDef", checked="tests/ops/test_ops.py"),
    46: Row("GraphDef and NodeDef", checked="tests/importer/"),
    47: Row("SaverDef", "savers:messages"),
    48: Row("CollectionDef", "savers:collections layers:protos"),
    49: Row("signatures, SavedModels", "savers:signatures savers:saved_simply savers:several_*"),
    50: Row(
        "graph_util, replaced ops, frozen graphs",
        "savers:frozen savers:without_* savers:begun_* commands:*",
    ),
    51: Row("string_to_number"),
    52: Row("casts"),
    54: Row("reshape, squeeze, slices"),
    59: Row("tile, pad, scatter"),
    68: Row("maths, strings, assertions"),
    69: Row(
        "layers.dense, losses.mean_squared_error", checked="tests/api/layers/test_layer_programs.py"
    ),
    70: Row("images, image files and sounds", checked="tests/api/image/test_image_files.py"),
    77: Row("gradients of loops", "gradients:while*", "tests/test_fuzz.py"),
    81: Row("feeding and preloading"),
    82: Row("names of files, epochs"),
    83: Row("readers"),
    88: Row("batches"),
    89: Row("slice_input_producer"),
    90: Row("queues"),
    91: Row("QueueRunner"),
    92: Row("Coordinator, the usual program"),
    93: Row("pipelines that train and evaluate"),
    84: Row("decode_csv"),
    85: Row("decode_raw"),
    86: Row("records", checked="tests/records/test_record_files.py"),
    87: Row("examples parsed"),
    94: Row("datasets and iterators", checked="tests/ops/datasets/test_programs.py"),
    95: Row("gradients, GradientDescentOptimizer", "training:95_* training:minimize* gradients:*"),
    96: Row("house prices", "training:96_*", "examples/training/house_prices.py"),
    97: Row("optimizers", "training:97_* training:optimizer* training:ad* training:ftrl*"),
    98: Row(
        "a dataset and three dense layers with Adam", checked="examples/training/dense_layers.py"
    ),
    99: Row(
        "summaries, event files",
        "summaries:*",
        "tests/api/summaries/test_summary_files.py",
    ),
    101: Row("ops of one's own", checked="tests/extending/test_registered_ops.py"),
    102: Row("load_op_library", checked="tests/extending/test_op_libraries.py"),
    103: Row("own gradients", "gradients:registered* gradients:custom* gradients:over*"),
    104: Row("gradients checked", "gradients:*", "tests/api/testing/test_tf_test.py"),
    105: Row("SavedModels that Keras exported", checked="tests/importer/test_import.py"),
}


def _recording(name: str, part: str | None = None) -> Callable[[], Mapping[str, Any]]:
    @cache
    def read() -> Mapping[str, Any]:
        found = json.loads((TESTS / "recorded" / f"{name}.json").read_text())
        return found if part is None else found[part]

    return read


def _code(snippets: Any) -> dict[str, str]:
    return {s.name: s.code for s in snippets}


def _source(programs: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    return {name: inspect.getsource(function) for name, function in programs.items()}


def _printed_in_cc() -> Mapping[str, Any]:
    return {"session_test": (TESTS / "recorded" / "cc_session.txt").read_text().splitlines()}


def _commands() -> dict[str, str]:
    """What `flowc edit`, `extract` and `freeze` are told, by the names of the recordings."""
    commands = {"edit": EDITS, "extract": EXTRACTS, "freeze": FREEZES}
    return {
        f"{command}: {name}": " ".join(arguments)
        for command, runs in commands.items()
        for name, arguments in runs.items()
    }


SUITES = {
    "commands": Suite(
        "tests/tools/test_changed_models.py", _commands(), _recording("edited_models")
    ),
    "cc": Suite(
        "tests/cc/test_cpp_session.py",
        {"session_test": (TESTS / "cc" / "session_test.cc").read_text()},
        _printed_in_cc,
    ),
    "rows": Suite("tests/api/test_rows.py", _code(ROW_SNIPPETS), _recording("rows")),
    "api": Suite("tests/api/test_api.py", _code(SNIPPETS), _recording("api")),
    "variables": Suite(
        "tests/api/control_flow/test_api_control_flow.py",
        _code(CONTROL_FLOW_SNIPPETS),
        _recording("control_flow"),
    ),
    "layers": Suite(
        "tests/api/layers/test_layer_programs.py", _code(LAYER_SNIPPETS), _recording("layers")
    ),
    "savers": Suite(
        "tests/api/saving/test_saver.py",
        _source(PROGRAMS | MODEL_PROGRAMS | GRAPHS),
        _recording("savers"),
    ),
    "gradients": Suite(
        "tests/api/training/test_tf_gradients.py",
        _code(GRADIENT_SNIPPETS),
        _recording("gradients", "programs"),
    ),
    "training": Suite(
        "tests/api/training/test_training.py",
        _code(TRAINING),
        _recording("training", "programs"),
    ),
    "summaries": Suite(
        "tests/api/summaries/test_summary_values.py",
        _code(SUMMARY_SNIPPETS),
        _recording("summaries"),
    ),
    "sessions": Suite(
        "tests/api/training/test_monitored_sessions.py", SESSIONS, _recording("training", "logs")
    ),
}

_CALL = re.compile(r"\btf\.[a-zA-Z_][\w.]*\w(?=\()")

_ERROR = re.compile(r"^([A-Z]\w*(?:Error|Exception))(?:: |$)")


def programs_of(number: int) -> list[tuple[str, str]]:
    """(suite, name) of each program of a row."""
    wanted = [("rows", f"{number}_*"), ("api", f"{number}_*")]
    wanted += [tuple(text.split(":", 1)) for text in ROWS[number].also.split()]
    found = [
        (suite, name) for suite, pattern in wanted for name in SUITES[suite].programs
        if fnmatch(name, pattern)
    ]  # fmt: skip
    return list(dict.fromkeys(found))


def _calls(programs: list[tuple[str, str]]) -> Counter[str]:
    return Counter(
        call
        for suite, name in programs
        for call in dict.fromkeys(_CALL.findall(SUITES[suite].programs[name]))
    )


def _errors(recorded: Any) -> Iterator[str]:
    """The classes of errors in a recording: of a list of an error's classes the first."""
    if isinstance(recorded, str):
        match = _ERROR.match(recorded)
        if match:
            yield match[1]
    elif isinstance(recorded, Mapping):
        for value in recorded.values():
            yield from _errors(value)
    elif isinstance(recorded, list):
        first = recorded[0] if recorded else None
        if isinstance(first, str) and first.endswith("Error") and _ERROR.fullmatch(first):
            yield first
            return
        for value in recorded:
            yield from _errors(value)


def _programs_text(programs: list[tuple[str, str]]) -> str:
    by_suite: dict[str, list[str]] = {}
    for suite, name in programs:
        by_suite.setdefault(suite, []).append(name)
    return "; ".join(
        f"[{suite}](../{SUITES[suite].test}): {', '.join(names)}"
        for suite, names in by_suite.items()
    )


def _state(number: int) -> str:
    if ROWS[number].missing:
        amount = "partly" if programs_of(number) else "not there"
        return f"{amount}: {ROWS[number].missing}"
    names = [name for suite, name in programs_of(number) if suite == "rows"]
    open_ones = [DIFFERENCES[name] for name in names if name in DIFFERENCES]
    return f"differs: {'; '.join(open_ones)}" if open_ones else "equal"


def _counted_errors(programs: list[tuple[str, str]]) -> Counter[str]:
    return Counter(
        kind for suite, name in programs for kind in _errors(SUITES[suite].recorded().get(name))
    )


def _row(number: int, common: set[str]) -> list[str]:
    programs = programs_of(number)
    row = ROWS[number]
    calls = sorted(call for call in _calls(programs) if call not in common)
    errors = _counted_errors(programs)
    lines = [f"## {number}. {row.title}", "", f"- state: {_state(number)}"]
    if calls:
        lines.append(f"- calls: {', '.join(f'`{call}`' for call in calls)}")
    if errors:
        counted = (f"{kind} ({n})" for kind, n in sorted(errors.items()))
        lines.append(f"- errors: {', '.join(counted)}")
    if programs:
        lines.append(f"- programs ({len(programs)}): {_programs_text(programs)}")
    if row.checked:
        lines.append(f"- also: [{row.checked}](../{row.checked})")
    return [*lines, ""]


INTRODUCTION = """# Programs of TensorFlow 1, row by row

What was tried of TensorFlow 1's API: each row has programs that ran in TensorFlow 2.21
(`tensorflow.compat.v1`, graphs of version 1) and run in flowc with the same results, names and
errors. "equal": every program of the row agrees. Errors are those
that the programs provoke: flowc must raise the same class and, where TensorFlow's words are part of
the program, with these words. The numbers of the rows are those of the programs' names. Calls that
most rows make are left out. `make oracle` runs all of it in TensorFlow anew, `make rows` writes
this page, and a test sees that it is up to date.
"""


def page() -> str:
    uses = Counter(call for number in ROWS for call in _calls(programs_of(number)))
    common = {call for call, count in uses.items() if count > len(ROWS) / 4}
    every = {program for number in ROWS for program in programs_of(number)}
    differing = sum(_state(number) != "equal" for number in ROWS)
    summary = f"{len(ROWS)} rows, {len(every)} programs; {differing} rows are not all equal."
    lines = [INTRODUCTION, summary, "", "| row | what | programs | errors | state |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for number, row in ROWS.items():
        programs = programs_of(number)
        errors = _counted_errors(programs).total()
        state = _state(number).partition(":")[0]
        lines.append(f"| {number} | {row.title} | {len(programs)} | {errors} | {state} |")
    lines.append("")
    for number in ROWS:
        lines += _row(number, common)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
