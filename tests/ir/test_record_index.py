"""Records of ops are imported when they are looked for, by an index that is made of them and that
need not be as new as they are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flowc.ir import op as records
from flowc.ir.op import all_or_none, is_internal_name, modules_by_name
from flowc.ops import all_ops

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests" / "support"
NEW = """
import numpy as np
from flowc.ops.math.elementwise import map_op
map_op("{name}", "{name}(x: T; T: FLOAT) -> y: T", lambda k, x: k.neg(x), np.negative)
"""


def printed_by(program: str, tree: Path = ROOT) -> list[str]:
    """The lines that a new process prints."""
    path = os.pathsep.join([str(tree), str(ROOT / "runtime")])
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of flowc whose index is as the records are."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "flowc", folder / "flowc", ignore=shutil.ignore_patterns("*.pyi"))
    path = os.pathsep.join([str(folder), str(ROOT / "runtime")])
    written = [sys.executable, "-P", SUPPORT / "pages" / "record_index.py"]
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run(written, env=environment, check=True)
    subprocess.run([*written, "--check"], env=environment, check=True)
    return folder


def test_the_index_has_every_record(tree: Path) -> None:
    assert printed_by(
        "from flowc.ir.op import changed_modules, modules_by_name, modules_by_tf_name\n"
        "from flowc.ops import all_ops\n"
        "print(changed_modules()[0])\n"
        "found = {op.name: op for op in all_ops()}\n"
        "print(found.keys() == modules_by_name().keys())\n"
        "names = {n for op in found.values() for n in (op.tf_name, *op.aliases)}\n"
        "print(names == modules_by_tf_name().keys())",
        tree,
    ) == ["[]", "True", "True"]


def test_an_index_of_before_hides_no_record(tree: Path, tmp_path: Path) -> None:
    """Whoever adds an op changes its one file. A record in a file that was there, in a new one, in
    one of another name, and one that another module makes: each is found, and what is not there
    is not."""
    edited = tmp_path / "tree"
    shutil.copytree(tree, edited)
    ops = edited / "flowc" / "ops"
    with (ops / "arrays" / "filling.py").open("a") as file:
        file.write(NEW.format(name="InOldFile"))
    (ops / "arrays" / "fresh.py").write_text(NEW.format(name="InNewFile"))
    (ops / "arrays" / "reversing.py").rename(ops / "arrays" / "turning.py")
    asked = ["InOldFile", "InNewFile", "ReverseV2", "Shape", "NoSuchOp"]
    for name in asked:  # each the first that its process asks for
        found = f"from flowc.ops import tf_op; print(tf_op({name!r}) is not None)"
        assert printed_by(found, edited) == [str(name != "NoSuchOp")], name
    assert printed_by(
        "from flowc.ops import op_named, tf_names\n"
        "print(op_named('InNewFile'), {'InOldFile', 'InNewFile'} <= {*tf_names()})",
        edited,
    ) == ["InNewFile True"]


def test_a_name_that_is_not_there_imports_no_records(tree: Path) -> None:
    assert printed_by(
        "import sys\n"
        "from flowc.ops import tf_op\n"
        "print(tf_op('NoSuchOp'), sum(m.startswith('flowc.ops.') for m in sys.modules))",
        tree,
    ) == ["None 0"]


def test_a_record_is_imported_when_it_is_looked_for() -> None:
    before, found, after = printed_by(
        "import sys\n"
        "from flowc.ops import op_named, tf_op\n"
        "print('flowc.ops.linalg.matmul' in sys.modules)\n"
        "print(op_named(tf_op('MatMul').name) is tf_op('MatMul'))\n"
        "print(sum(m.startswith('flowc.ops.') for m in sys.modules))"
    )
    assert (before, found) == ("False", "True")
    assert int(after) < 20


def test_names_are_known_without_records(tree: Path) -> None:
    (told,) = printed_by(
        "import sys\n"
        "from flowc.ir.op import tf_names\n"
        "print(*sorted(tf_names()), sum(m.startswith('flowc.ops.') for m in sys.modules))",
        tree,
    )
    *names, imported = told.split()
    own = {n for op in all_ops() if op.stamp is None for n in (op.tf_name, *op.aliases)}
    assert set(names) == {n for n in own if not is_internal_name(n)}
    assert imported == "0"


@pytest.mark.usefixtures("own_registry")
def test_what_fails_leaves_the_records_of_flowc(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package whose registration fails may be the first that looks for a record."""
    name = next(iter(modules_by_name()))
    op = records.op_named(name)
    monkeypatch.delitem(records._BY_NAME, name)
    with pytest.raises(ZeroDivisionError), all_or_none():
        records._BY_NAME[name] = op
        records._BY_NAME["of_others"] = op
        raise ZeroDivisionError
    assert records._BY_NAME[name] is op
    assert "of_others" not in records._BY_NAME
