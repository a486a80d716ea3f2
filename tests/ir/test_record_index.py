"""Records of ops are imported when they are looked for, by an index that is made of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flowc.ir import op as records
from flowc.ir.op import all_or_none, modules_by_name, modules_by_tf_name, tf_names
from flowc.ops import all_ops

SUPPORT = Path(__file__).parents[1] / "support"


def printed_by(program: str) -> list[str]:
    """The lines that a new process prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_index_is_what_the_records_say() -> None:
    done = subprocess.run(
        [sys.executable, SUPPORT / "pages" / "record_index.py", "--check"], check=False
    )
    assert done.returncode == 0, "make stub"


def test_every_record_is_where_the_index_says() -> None:
    found = {op.name: op for op in all_ops() if op.stamp is None and op.name in modules_by_name()}
    assert found.keys() == modules_by_name().keys()
    assert {n for op in found.values() for n in (op.tf_name, *op.aliases)} == {
        *modules_by_tf_name()
    }


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


def test_names_are_known_without_records() -> None:
    (told,) = printed_by(
        "import sys\n"
        "from flowc.ir.op import tf_names\n"
        "print(*sorted(tf_names()), sum(m.startswith('flowc.ops.') for m in sys.modules))"
    )
    *names, imported = told.split()
    assert set(names) == {n for n in tf_names() if n in modules_by_tf_name()}
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
