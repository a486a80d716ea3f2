"""Native kernels that factor square matrices and solve with the factors.

In: stacks of matrices, row-major, and right sides. Out: their factors, or solutions. Invariant: one
matrix is one index of the range; rows are combined with rows, so that loops run over what lies side
by side; a panel of rows is finished before the rows behind it see it.
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
    quotient: Any = None
    real_of: Any = None
    root: Any = None
    scaled: Any = None

PANEL = 32  # rows that are factored before the rows behind them
TILE = 128  # columns of a right side that are solved together
CONSTANTS = {"PANEL": PANEL, "TILE": TILE}


def subtract_rows(y: Any, to: int, width: int, x: Any, first: int, stride: int,
                  factors: Any, at: int, count: int) -> None:  # fmt: skip
    """Inlined: from `width` elements at `y[to]`, `count` rows at `x[first]`, `stride`
    apart, each times its factor."""
    k = 0
    while k + 4 <= count:
        row = first + k * stride
        f0 = factors[at + k]
        f1 = factors[at + k + 1]
        f2 = factors[at + k + 2]
        f3 = factors[at + k + 3]
        for j in range(width):
            near = f0 * x[row + j] + f1 * x[row + stride + j]
            far = f2 * x[row + 2 * stride + j] + f3 * x[row + 3 * stride + j]
            y[to + j] = y[to + j] - (near + far)
        k += 4
    while k < count:
        row = first + k * stride
        factor = factors[at + k]
        for j in range(width):
            y[to + j] = y[to + j] - factor * x[row + j]
        k += 1


def factor_lu(a: Any, at: int, order: Any, place: int, n: int) -> Any:
    """Inlined: the n x n matrix at `a[at]` becomes L below its diagonal and U from there
    on; row i was row `order[place + i]`. Gives the sign of that order, and how many pivots are no
    more than zero."""
    sign = 1
    zeros = 0
    for i in range(n):
        order[place + i] = i
    for start in range(0, n, PANEL):
        stop = start + PANEL if start + PANEL < n else n
        for k in range(start, stop):
            best = k
            largest = magnitude(a[at + k * n + k])
            for i in range(k + 1, n):
                size = magnitude(a[at + i * n + k])
                if size > largest:
                    largest = size
                    best = i
            if best != k:
                sign = -sign
                moved = order[place + k]
                order[place + k] = order[place + best]
                order[place + best] = moved
                for j in range(n):
                    element = a[at + k * n + j]
                    a[at + k * n + j] = a[at + best * n + j]
                    a[at + best * n + j] = element
            if largest > 0:
                pivot = a[at + k * n + k]
                for i in range(k + 1, n):
                    factor = quotient(a[at + i * n + k], pivot)
                    a[at + i * n + k] = factor
                    for j in range(k + 1, stop):
                        a[at + i * n + j] = a[at + i * n + j] - factor * a[at + k * n + j]
            else:
                zeros += 1
        width = n - stop
        for i in range(start + 1, n):
            count = (i if i < stop else stop) - start
            subtract_rows(a, at + i * n + stop, width, a, at + start * n + stop, n,
                          a, at + i * n + start, count)  # fmt: skip
    return sign, zeros


def lu(x: Any, y: Any, order: Any, signs: Any, status: Any,
       n: int, checked: int, begin: int, end: int) -> None:  # fmt: skip
    for matrix in range(begin, end):
        at = matrix * n * n
        for i in range(n * n):
            y[at + i] = x[at + i]
        sign, zeros = factor_lu(y, at, order, matrix * n, n)
        signs[matrix] = sign
        if zeros > 0 and checked:
            fail(status, 1, 0, 0, 0)
            return


def cholesky(x: Any, y: Any, status: Any, n: int, checked: int, begin: int, end: int) -> None:
    """The rows of U = conj(L)^T are made in the upper triangle, and L beside them in the lower one,
    from which the factors are read. What is not positive definite becomes NaN, or an error."""
    for matrix in range(begin, end):
        at = matrix * n * n
        for i in range(n):
            for j in range(i + 1):
                y[at + i * n + j] = x[at + i * n + j]
                y[at + j * n + i] = conj(x[at + i * n + j])
        wrong = 0
        for start in range(0, n, PANEL):
            stop = start + PANEL if start + PANEL < n else n
            for k in range(start, stop):
                row = at + k * n
                subtract_rows(y, row + k, n - k, y, at + start * n + k, n,
                              y, row + start, k - start)  # fmt: skip
                square = real_of(y[row + k])
                if not square > 0:
                    wrong = 1
                pivot = root(square)
                y[row + k] = elem(pivot)
                for j in range(k + 1, n):
                    element = scaled(y[row + j], 1 / pivot)
                    y[row + j] = element
                    y[at + j * n + k] = conj(element)
            for i in range(stop, n):
                subtract_rows(y, at + i * n + i, n - i, y, at + start * n + i, n,
                              y, at + i * n + start, stop - start)  # fmt: skip
        if wrong and checked:
            fail(status, 1, 0, 0, 0)
            return
        for i in range(n):
            for j in range(n):
                if j > i:
                    y[at + i * n + j] = elem(0)
                elif wrong:
                    y[at + i * n + j] = elem(nan)


def triangular_solve(a: Any, b: Any, x: Any, scratch: Any, n: int, columns: int, lower: int,
                     adjoint: int, unit: int, begin: int, end: int) -> None:  # fmt: skip
    """Row after row, from the first one or from the last, for some columns at a time."""
    work = as_elem_pointer(scratch)
    down = lower != adjoint
    for matrix in range(begin, end):
        own = matrix * n * n
        at = matrix * n * columns
        for i in range(n):
            for j in range(n):
                if adjoint:
                    work[i * n + j] = conj(a[own + j * n + i])
                else:
                    work[i * n + j] = a[own + i * n + j]
        for j in range(n * columns):
            x[at + j] = b[at + j]
        for first in range(0, columns, TILE):
            width = TILE if columns - first > TILE else columns - first
            for turn in range(n):
                i = turn if down else n - 1 - turn
                row = at + i * columns + first
                source = at + first if down else row + columns
                factors = i * n if down else i * n + i + 1
                subtract_rows(x, row, width, x, source, columns, work, factors, turn)
                if not unit:
                    pivot = work[i * n + i]
                    for j in range(width):
                        x[row + j] = quotient(x[row + j], pivot)
