"""Mutants of the code that reads and writes files: does a test fail for each of them?

    python -m pytest --cov=flowc --cov-branch --cov-context=test --junitxml=times.xml TESTS
    python mutation_campaign.py .coverage times.xml --count 500 --jobs 2 --log FILE

In: what tests ran each line (coverage's file) and how long each test takes (pytest's). Out: on
stdout a line for each mutant that no test noticed, and the share of those that were noticed, also
in `--log`. A mutant is one change of one place: a comparison, `and` for `or`, a condition turned
round, a number one higher, a result that is None, a statement that is not there. It is tried by
the quickest tests that ran its line, those of its own package first; what none of these notices
counts as unnoticed, though others might. A line that no test ran counts as unnoticed, too.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("checkpoint", "cache", "importer", "encoding", "files")
MOST_TESTS = 16  # that try one mutant
LONGEST = 4.0  # seconds of a test that is taken
PATIENCE = 120  # seconds for the tests of one mutant

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
SUMS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Mod: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """`text` stands in place of the source between the offsets `begin` and `end` of a file.
    `statement`: the line where the statement begins that has it, by which coverage knows it."""

    path: Path
    line: int
    statement: int
    begin: int
    end: int
    text: str

    def __str__(self) -> str:
        source = self.path.read_bytes()[self.begin : self.end].decode()
        before = " ".join(source.split())
        return f"{self.path.relative_to(ROOT)}:{self.line}: {before[:60]} -> {self.text[:60]}"


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """The node with one change, for each change that it may have."""
    match node:
        case ast.Compare(left, [operator], rights) if type(operator) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(operator)]()], rights)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.BinOp(left, operator, right) if type(operator) in SUMS:
            yield ast.BinOp(left, SUMS[type(operator)](), right)
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield ast.Constant(value + 1)
        case ast.Return(ast.AST() as value) if not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call()) | ast.Raise() | ast.AugAssign():
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.IfExp(test, body, other):
            yield ast.IfExp(test, other, body)


def _is_none(value: ast.AST) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def mutants_of(path: Path) -> Iterator[Mutant]:
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, statement in _code(ast.parse(source), 1):
        for changed in changes(node):
            assert isinstance(node, ast.expr | ast.stmt)
            assert node.end_lineno is not None and node.end_col_offset is not None
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            text = ast.unparse(ast.fix_missing_locations(changed))
            text = f"({text})" if isinstance(node, ast.expr) else text
            yield Mutant(path, node.lineno, statement, begin, end, text)


def _code(node: ast.AST, statement: int) -> Iterator[tuple[ast.AST, int]]:
    """All nodes but annotations, decorators, what only type checkers read, and parts of texts, each
    with the first line of its statement."""
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "format_spec"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            line = child.lineno if isinstance(child, ast.stmt) else statement
            yield child, line
            yield from _code(child, line)


class Lines:
    """Which tests ran a line, the most telling first."""

    def __init__(self, coverage: Path, times: Path) -> None:
        self.database = sqlite3.connect(coverage)
        self.seconds = dict(_times(times))

    def tests_of(self, path: Path, line: int) -> list[str]:
        contexts = self._contexts(path, "and (arc.fromno = ? or arc.tono = ?)", line, line)
        if contexts == {""}:  # it ran when the module was imported: who runs the rest may tell
            contexts = self._contexts(path, "")
        names = {name.partition("|")[0] for name in contexts if name}
        known = [n for n in names if self.seconds.get(n, LONGEST) < LONGEST]
        package = path.parent.name
        own = f"tests/{package}/"
        return sorted(known, key=lambda n: (not n.startswith(own), self.seconds[n], n))[:MOST_TESTS]

    def _contexts(self, path: Path, where: str, *arguments: int) -> set[str]:
        rows = self.database.execute(
            "select distinct context.context from arc join context on context.id = arc.context_id"
            f" join file on file.id = arc.file_id where file.path like ? {where}",
            (f"%/{path.relative_to(ROOT)}", *arguments),
        )
        return {name for (name,) in rows}


def _times(report: Path) -> Iterator[tuple[str, float]]:
    """What a report of pytest says of each test: its name, as coverage's contexts have it."""
    for case in ElementTree.parse(report).iter("testcase"):
        parts = case.get("classname", "").split(".")
        yield f"{'/'.join(parts)}.py::{case.get('name')}", float(case.get("time", "0"))


def noticed(mutant: Mutant, tests: list[str], tree: Path) -> bool:
    """Whether one of the tests fails in a copy of the checkout that has the mutant."""
    place = tree / mutant.path.relative_to(ROOT)
    source = mutant.path.read_bytes()
    place.write_bytes(source[: mutant.begin] + mutant.text.encode() + source[mutant.end :])
    folders = (tree, tree / "runtime", tree / "tests" / "support")
    path = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-o", "addopts=", *tests]
    options = {"PYTHONPATH": path, "FLOWC_CACHE_DIR": str(tree / "cache")}
    try:
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider"], cwd=tree, env={**os.environ, **options},
            capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    finally:
        place.write_bytes(source)
    return done.returncode != 0


def campaign(mutants: list[Mutant], lines: Lines, jobs: int) -> list[tuple[Mutant, int]]:
    """The mutants that nothing noticed, and how many tests tried each."""
    trees: SimpleQueue[Path] = SimpleQueue()
    tests = {mutant: lines.tests_of(mutant.path, mutant.statement) for mutant in mutants}

    def tried(mutant: Mutant) -> bool:
        tree = trees.get()
        try:
            return bool(tests[mutant]) and noticed(mutant, tests[mutant], tree)
        finally:
            trees.put(tree)

    left = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for job in range(jobs):
            trees.put(_copy(Path(folder) / str(job)))
        for number, (mutant, found) in enumerate(zip(mutants, pool.map(tried, mutants)), 1):
            if not found:
                left.append((mutant, len(tests[mutant])))
                print(f"{number}: {mutant} ({len(tests[mutant])} tests)", flush=True)
    return left


def _copy(tree: Path) -> Path:
    """The checkout's files that tests need."""
    tree.mkdir()
    for name in ("flowc", "runtime", "tests", "examples", "protos", "docs"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ROOT.glob("*.*"):
        if file.is_file():
            shutil.copy(file, tree / file.name)
    (tree / "cache").mkdir(0o700)
    return tree


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("coverage", type=Path)
    parser.add_argument("times", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args()
    files = [f for p in PACKAGES for f in sorted((ROOT / "flowc" / p).rglob("*.py"))]
    every = [mutant for file in files for mutant in mutants_of(file)]
    chosen = random.Random(asked.seed).sample(every, min(asked.count, len(every)))
    left = campaign(chosen, Lines(asked.coverage, asked.times), asked.jobs)
    share = 100 * (1 - len(left) / len(chosen))
    text = f"{len(chosen)} of {len(every)} mutants of {', '.join(PACKAGES)}: {share:.1f} % noticed"
    print(text)
    if asked.log:
        rows = sorted(f"{mutant} ({count} tests)" for mutant, count in left)
        asked.log.write_text("\n".join([text, *rows]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
