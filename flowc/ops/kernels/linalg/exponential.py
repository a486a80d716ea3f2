"""A native kernel of exponentials of matrices: a series for a small one, squared again and again.

In: stacks of square matrices. Out: their exponentials. Invariant: the matrix is halved until the
sums of its rows' magnitudes are at most 1/4, where the series is exact to the last place of f64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels.
    as_elem_pointer: Any = None
    elem: Any = None
    f64: Any = None
    magnitude: Any = None
    offset: Any = None
    scaled: Any = None

DEGREE = 13
CONSTANTS = {"DEGREE": DEGREE}


def exponential(x: Any, y: Any, scratch: Any, n: int, begin: int, end: int) -> None:
    """1 + A (1 + A/2 (1 + A/3 ...)), from the inside out; then its squares."""
    a = as_elem_pointer(scratch)
    before = offset(a, n * n)
    for matrix in range(begin, end):
        at = matrix * n * n
        largest = f64(0)
        for i in range(n):
            total = f64(0)
            for j in range(n):
                total = total + magnitude(x[at + i * n + j])
            if total > largest or total != total:
                largest = total
        halved = 0
        factor = f64(1)
        while largest * factor > 0.25 and halved < 1100:
            factor = factor * 0.5
            halved += 1
        for i in range(n):
            for j in range(n):
                a[i * n + j] = scaled(x[at + i * n + j], factor)
                y[at + i * n + j] = elem(1 if i == j else 0)
        for step in range(DEGREE + halved):
            squared = step >= DEGREE
            weight = f64(1) if squared else 1 / f64(DEGREE - step)
            for i in range(n * n):
                before[i] = y[at + i]
            for i in range(n):
                row = at + i * n
                for j in range(n):
                    y[row + j] = elem(1 if i == j and not squared else 0)
                for k in range(n):
                    own = before[i * n + k] if squared else a[i * n + k]
                    own = scaled(own, weight)
                    for j in range(n):
                        y[row + j] = y[row + j] + own * before[k * n + j]
