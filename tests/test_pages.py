"""Pages name files that are there, and tests stand where what they test stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

import pytest
from rules.layer_rules import MOST_FILES, every_import
from rules.sources import ROOT, Sources


def missing_files(page: str) -> list[str]:
    """The files and folders that a page names and that are not there. A path has a suffix or ends
    in a slash, and begins at the root, or in a folder of flowc, its runtime or the tests; a name
    may be that of any file."""
    named = re.findall(r"`([\w./-]+/(?:[\w./-]*\.\w+)?|[\w-]+\.(?:py|md|txt|ir))`", page)
    folders = (
        ROOT,
        ROOT / "tests",
        ROOT / "runtime",
        ROOT / "runtime" / "flowc_runtime",
        *(ROOT / "flowc").rglob("*/"),
        ROOT / "flowc",
    )
    elsewhere = [ROOT / folder for folder in ("tests", "runtime", "benchmarks")]
    return [
        name
        for name in named
        if "..." not in name
        and not any((folder / name).exists() for folder in folders)
        and ("/" in name or not any(list(root.rglob(name)) for root in elsewhere))
    ]


PAGES = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/reliability.md"]
PAGES += [f"docs/internals/{path.name}" for path in sorted((ROOT / "docs/internals").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_what_is_there(page: str) -> None:
    assert missing_files("`ir/computation.py`, `ir/gone.py`, `gone.py`") == [
        "ir/gone.py",
        "gone.py",
    ]
    assert missing_files((ROOT / page).read_text()) == []


# Folders of tests that are of no one folder of flowc.
BESIDE = {"", "aot", "benchmarks", "oracle", "runtime", "security"}


def misplaced_tests(tests: Collection[str]) -> list[str]:
    """Tests in a folder that flowc has not, and folders of too many."""
    counts = Counter(path.rpartition("/")[0] for path in tests)
    return [
        folder
        for folder, count in counts.items()
        if count > MOST_FILES or not (folder in BESIDE or (ROOT / "flowc" / folder).is_dir())
    ]


def test_tests_mirror_the_folders_of_flowc() -> None:
    folder = ROOT / "tests"
    found = [str(path.relative_to(folder)) for path in folder.rglob("test_*.py")]
    assert misplaced_tests([*found, "nowhere/test_new.py"]) == ["nowhere"]
    assert misplaced_tests([*found, *(f"ir/test_new{i}.py" for i in range(MOST_FILES))]) == ["ir"]
    assert misplaced_tests(found) == []


def imports_of_tests(known: Sources) -> list[str]:
    return [str(i) for i in every_import(known) if i.name.startswith("test_")]


def test_no_test_imports_a_test() -> None:
    """What tests share is in tests/support."""
    assert imports_of_tests({"test_new": "from test_ops import CASES"}) != []
    assert imports_of_tests({p.stem: p.read_text() for p in (ROOT / "tests").rglob("*.py")}) == []
