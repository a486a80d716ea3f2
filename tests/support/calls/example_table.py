"""Tables of calls of ops as a Session runs them.

In: functions that build a call in the default graph and return what to fetch with the values that
it should have. Out: an `ExampleTable`, TensorFlow's op name -> such a function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Example = Callable[[], list[tuple[Any, Any]]]
X = np.array([[1.0, -2.0], [0.5, 4.0], [3.0, 0.0]], np.float32)  # what is fed as `x`


class ExampleTable(dict[str, Example]):
    def shows(self, *names: str) -> Callable[[Example], Example]:
        """Registers what shows the ops with these names."""

        def register(function: Example) -> Example:
            self.update(dict.fromkeys(names, function))
            return function

        return register
