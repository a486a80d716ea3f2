"""Values on the command line: what is said of those that do not fit their input."""

from __future__ import annotations

import numpy as np
import pytest

from flowc.cli.arrays import array_of, complete
from flowc.errors import UsageError

STRINGS = np.dtype(object)


def test_numbers_where_strings_are_expected_name_the_input() -> None:
    assert array_of("text", [["a"]], STRINGS).tolist() == [["a"]]
    assert array_of("text", [], STRINGS).shape == (0,)
    with pytest.raises(UsageError, match="input 'text': the values are int64, where strings are"):
        array_of("text", [[1]], STRINGS)


def test_a_missing_input_of_strings_is_said_to_be_one() -> None:
    with pytest.raises(UsageError, match=r"no value is given for text: string\[b,1\]"):
        complete({0: ("text", STRINGS, ["b", 1])}, [], None)
