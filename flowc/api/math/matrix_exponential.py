"""`tf.linalg.expm`: exponentials of matrices, by products and the solution of equations.

In: square matrices. Out: the same shape. Invariant: the matrices are halved until their norm is
where a Pade approximant of degree 13 is exact, and the result is squared as often.
"""

from __future__ import annotations

import math
from typing import Any

from flowc import dtypes
from flowc.api.control_flow.loops import while_loop
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.reductions import matmul, reduce_max, reduce_sum
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output

LARGEST_NORM = 5.371920351148152  # Higham, 2005, for f64
DEGREE = 13


def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponentials of square matrices [..., n, n], floating or complex. Raises `TypeError` for
    other dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "matrix_exponential", [input]):
        own = as_tensor(input, name="input")
        size = reduce_max(reduce_sum(elementwise.abs(own), -2), -1)
        ratio = elementwise.log(size / LARGEST_NORM) / math.log(2.0)
        count = elementwise.maximum(elementwise.ceil(ratio), as_tensor(0, size.dtype))
        shape = output("ExpandDims", output("ExpandDims", count, -1), -1)
        halves = cast(elementwise.pow(as_tensor(2, size.dtype), -shape), own.dtype)
        found = _approximant(own * halves)
        most = cast(reduce_max(count), dtypes.i32)

        def squared(step: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            wanted = cast(step, size.dtype) < shape
            return step + 1, output("SelectV2", wanted, matmul(x, x), x)

        start = as_tensor(0, dtypes.i32)
        return while_loop(lambda step, _: step < most, squared, [start, found])[1]


def _approximant(a: Tensor) -> Tensor:
    """(V - U)^-1 (V + U), of the even and the odd powers."""
    weights = [
        math.factorial(2 * DEGREE - k)
        * math.factorial(DEGREE)
        / (math.factorial(2 * DEGREE) * math.factorial(k) * math.factorial(DEGREE - k))
        for k in range(DEGREE + 1)
    ]
    one = output("MatrixDiag", output("OnesLike", output("MatrixDiagPart", a)))
    second = matmul(a, a)
    fourth = matmul(second, second)
    powers = [one, second, fourth, matmul(second, fourth)]

    def polynomial(of: list[float]) -> Tensor:
        found = powers[0] * as_tensor(of[0], a.dtype)
        for power, weight in zip(powers[1:], of[1:]):
            found = found + power * as_tensor(weight, a.dtype)
        return found

    even, odd = weights[0::2], weights[1::2]
    high = [polynomial([0.0, *of[4:]]) for of in (even, odd)]
    v = matmul(powers[3], high[0]) + polynomial(even[:4])
    u = matmul(a, matmul(powers[3], high[1]) + polynomial(odd[:4]))
    return output("MatrixSolve", v - u, v + u)
