"""Golden files: what each pass, and each rule of simplify alone, makes of a Computation.

`tests/golden/<pass>/*.ir` go through that pass, `tests/golden/rules/<rule>.ir` through that rule
alone. A file holds cases: a line `# what it shows`, the input, a line `=>`, what is expected (or
`=> unchanged`). `pytest tests/passes/test_golden.py --update-golden` rewrites what is expected; a
new case needs only its input. Both sides are also evaluated by the references and must agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from ir_reference import random_inputs, reference_results
from rewrite_counts import FAMILIES, RULES, counted, counting_rewrites

from flowc.ir.computation import Computation
from flowc.ir.op import TRAITS, op_named
from flowc.ir.pattern import Pattern, apply_rewrites
from flowc.ir.text.form import parse_computation
from flowc.ir.verifier import verify
from flowc.options import Options
from flowc.passes.pipeline import PIPELINE, run_pass, run_passes

FOLDER = Path(__file__).parents[1] / "golden"
PASSES = {p.__name__: p for p, _ in PIPELINE}
CASE = re.compile(
    r"^# (?P<title>.+)\n(?P<input>computation[^#]*?\n\})\n(?:=>(?P<expected>[^#]*))?", re.M
)


def cases() -> list[tuple[Path, int]]:
    found = []
    for path in sorted(FOLDER.glob("*/*.ir")):
        found += [(path, i) for i in range(len(CASE.findall(path.read_text())))]
    return found


def transform(path: Path) -> Callable[[Computation], Computation]:
    if path.parent.name == "rules":
        rule = RULES[path.stem]
        return lambda c: apply_rewrites(c, [rule], ordered=True)
    return lambda c: run_pass(PASSES[path.parent.name], c, Options())


def run_case(path: Path, number: int) -> tuple[Computation, Computation, str, str]:
    """The input, what becomes of it, and the latter's text as found and as expected."""
    case = list(CASE.finditer(path.read_text()))[number]
    given = parse_computation(case["input"])
    verify(given, f"{path.name}: {case['title']}")
    result = transform(path)(given)
    verify(result, f"{path.name}: {case['title']}")
    found = "unchanged" if result is given else str(result)
    return given, result, found, (case["expected"] or "").strip()


SUMS_IN_OTHER_ORDER = ("sum_vector_products",)  # passes


def case_id(part: Path | int) -> str:
    """`-k simplify` selects the cases of that pass."""
    return f"{part.parent.name}/{part.stem}" if isinstance(part, Path) else str(part)


@pytest.mark.parametrize(("path", "number"), cases(), ids=case_id)
def test_golden(path: Path, number: int, request: pytest.FixtureRequest) -> None:
    given, result, found, expected = run_case(path, number)
    if request.config.getoption("--update-golden"):
        path.write_text(rewritten(path.read_text(), number, found))
        return
    assert found == expected
    arrays = random_inputs(given)
    before, after = reference_results(given, arrays), reference_results(result, arrays)
    for x, y in zip(before, after, strict=True):
        # Sums of what is as large as the largest differ by its roundings in another order.
        largest = np.abs(x).max(initial=1) if path.parent.name in SUMS_IN_OTHER_ORDER else 1
        np.testing.assert_allclose(y.astype(x.dtype), x, rtol=2e-6, atol=1e-6 * largest)


def rewritten(text: str, number: int, found: str) -> str:
    """A file in which `found` is expected of a case; what goes in stays as it is written."""
    texts = []
    for i, case in enumerate(CASE.finditer(text)):
        if i == number:
            right = f"=> {found}" if found == "unchanged" else f"=>\n{found}"
            texts.append(f"# {case['title']}\n{case['input']}\n{right}\n")
        else:
            texts.append(case[0].strip() + "\n")
    return "\n".join(texts)


def test_updating_what_is_right_changes_nothing() -> None:
    for path in FOLDER.glob("*/*.ir"):
        text = path.read_text()
        for number, case in enumerate(CASE.finditer(text)):
            assert rewritten(text, number, case["expected"].strip()) == text, path


def test_every_pass_and_rule_has_cases_and_every_case_is_read() -> None:
    """A case in another form than `CASE`'s would be none, and what it expects would never be."""
    assert {path.name for path in FOLDER.iterdir()} == {"rules", *PASSES}
    assert {path.stem for path in FOLDER.glob("rules/*.ir")} == set(RULES)
    assert sum(len(family.RULES) for family in FAMILIES) == len(RULES), "a name is given twice"
    for path in FOLDER.glob("*/*.ir"):
        text = path.read_text()
        titles = [line[2:] for line in text.splitlines() if line.startswith("# ")]
        assert [case["title"] for case in CASE.finditer(text)] == titles != [], path


def test_every_rule_fires_alone_and_in_the_pipeline() -> None:
    """A rule that an earlier pass leaves nothing to would be dead, however well it works alone."""
    alone: Counter[str] = Counter()
    with counting_rewrites() as within:
        for name, rule in RULES.items():
            for case in CASE.finditer((FOLDER / "rules" / f"{name}.ir").read_text()):
                given = parse_computation(case["input"])
                apply_rewrites(given, [counted(rule, alone)], ordered=True)
                run_passes(given, Options())
    assert set(RULES) - set(alone) == set()
    assert set(RULES) - set(within) == set()


def patterns_in(pattern: Pattern) -> Iterator[Pattern]:
    yield pattern
    for inner in pattern.inputs:
        yield from patterns_in(inner)


@pytest.mark.parametrize("name", RULES)
def test_every_pattern_can_match(name: str) -> None:
    """A misspelled op or trait would match nothing."""
    for pattern in patterns_in(RULES[name].pattern):
        assert all(op_named(op) for op in pattern.ops)
        assert pattern.trait in ("", *TRAITS)
