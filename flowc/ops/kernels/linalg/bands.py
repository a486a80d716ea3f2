"""Native kernels of systems whose matrices are given by their bands.

In: bands and right sides, row-major. Out: solutions. Invariant: one matrix is one index of the
range; elements of a band that stand outside its matrix are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels.
    as_elem_pointer: Any = None
    conj: Any = None
    elem: Any = None
    magnitude: Any = None
    nan: Any = None
    offset: Any = None
    quotient: Any = None

EPSILON = 0.0  # of the dtype (`Native.constants`)


def solve_tridiagonal(bands: Any, b: Any, x: Any, scratch: Any, n: int, columns: int,
                      pivoting: int, perturb: int, begin: int, end: int) -> None:  # fmt: skip
    """By elimination of the lower diagonal, rows swapped with the next one where that is larger.
    A pivot of zero makes the solution NaN, or is taken for a small number."""
    u = as_elem_pointer(scratch)
    first = offset(u, n + 1)
    second = offset(first, n + 1)
    for matrix in range(begin, end):
        at = matrix * n * columns
        upper = matrix * 3 * n
        main = upper + n
        lower = main + n
        for i in range(n * columns):
            x[at + i] = b[at + i]
        largest = magnitude(elem(0))
        for i in range(n):
            u[i] = bands[main + i]
            first[i] = bands[upper + i] if i < n - 1 else elem(0)
            second[i] = elem(0)
            size = magnitude(bands[main + i])
            largest = size if size > largest else largest
            if i < n - 1:
                size = magnitude(bands[upper + i])
                largest = size if size > largest else largest
            if i > 0:
                size = magnitude(bands[lower + i])
                largest = size if size > largest else largest
        singular = 0
        for k in range(n):
            row = at + k * columns
            if k < n - 1:
                below = bands[lower + k + 1]
                if pivoting and magnitude(below) > magnitude(u[k]):
                    own = u[k]
                    u[k] = below
                    below = own
                    own = first[k]
                    first[k] = u[k + 1]
                    u[k + 1] = own
                    second[k] = first[k + 1]
                    first[k + 1] = elem(0)
                    for j in range(columns):
                        own = x[row + j]
                        x[row + j] = x[row + columns + j]
                        x[row + columns + j] = own
            if perturb and magnitude(u[k]) < EPSILON * largest:
                u[k] = elem(EPSILON * largest)
            if magnitude(u[k]) == 0:
                singular = 1
            if k < n - 1:
                factor = quotient(below, u[k])
                u[k + 1] = u[k + 1] - factor * first[k]
                first[k + 1] = first[k + 1] - factor * second[k]
                for j in range(columns):
                    x[row + columns + j] = x[row + columns + j] - factor * x[row + j]
        for back in range(n):
            k = n - 1 - back
            row = at + k * columns
            for j in range(columns):
                found = x[row + j]
                if k < n - 1:
                    found = found - first[k] * x[row + columns + j]
                if k < n - 2:
                    found = found - second[k] * x[row + 2 * columns + j]
                x[row + j] = quotient(found, u[k])
        if singular:
            for i in range(n * columns):
                x[at + i] = elem(nan)


def solve_banded(bands: Any, b: Any, x: Any, status: Any, count: int, n: int, columns: int,
                 lower: int, adjoint: int, begin: int, end: int) -> None:  # fmt: skip
    """Solves with triangular matrices [n, n] that have `count` diagonals. Lower ones are stored
    from the main diagonal down; upper ones from the farthest down to the main one, which is
    last."""
    if count <= 0:
        fail(status, 2, 0, 0, 0)
        return
    for matrix in range(begin, end):
        at = matrix * n * columns
        own = matrix * count * n
        main = own if lower else own + (count - 1) * n
        step = n if lower else -n
        for i in range(n):
            if bands[main + i] == 0:
                fail(status, 1, 0, 0, 0)
                return
        for i in range(n * columns):
            x[at + i] = b[at + i]
        down = lower != adjoint
        for turn in range(n):
            i = turn if down else n - 1 - turn
            row = at + i * columns
            for away in range(1, count):
                other = i - away if down else i + away
                if other >= 0 and other < n:
                    place = main + away * step + (other if adjoint else i)
                    factor = conj(bands[place]) if adjoint else bands[place]
                    for j in range(columns):
                        x[row + j] = x[row + j] - factor * x[at + other * columns + j]
            pivot = conj(bands[main + i]) if adjoint else bands[main + i]
            for j in range(columns):
                x[row + j] = quotient(x[row + j], pivot)
