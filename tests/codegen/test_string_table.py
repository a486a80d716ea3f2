"""The table of strings of a run: numbers for strings, and the very objects for numbers."""

from __future__ import annotations

import numpy as np
import pytest

from flowc.codegen.string_table import Texts


class _More(bytes):
    """As host values are."""


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 3), (300, 7)])
def test_strings_come_back_as_they_went(shape: tuple[int, ...]) -> None:
    table = Texts()
    for start in range(3):
        given = np.empty(shape, object)
        for place in np.ndindex(shape):
            given[place] = b"%d" % (start + sum(place)) if sum(place) % 3 else b""
        numbers = table.numbers(given)
        assert numbers.dtype == np.int64 and numbers.shape == shape
        assert np.array_equal(numbers == 0, given == b"")
        found = table.strings(numbers)
        assert found.dtype == object and found.shape == shape and np.array_equal(found, given)


def test_a_run_adds_to_a_copy() -> None:
    program = Texts.of_rows(["", "a", "\xff"])
    run = program.copy()
    more = _More(b"more")
    numbers = run.numbers(np.array([more, "text", b""], object))
    assert numbers.tolist() == [3, 4, 0]
    found = run.strings(np.array([0, 1, 2, 3, 4]))
    assert found.tolist() == [b"", b"a", b"\xff", b"more", b"text"]
    assert found[3] is more
    assert program.as_rows() == ["", "a", "\xff"]
