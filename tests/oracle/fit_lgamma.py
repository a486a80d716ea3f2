"""Roots and series of lgamma on the negative axis, and exact values near the roots.

    python tests/oracle/fit_lgamma.py

Needs mpmath. Prints the constants of `flowc/codegen/math/lgamma_rows.py` and writes
`tests/recorded/lgamma.json`: pairs of an argument and the value there, as hexadecimal doubles.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mpmath as mp

RECORDED = Path(__file__).parents[1] / "recorded" / "lgamma.json"
LAST_ROOT = 17  # next to -18 the roots are nearer to the pole than any double
# (n, side): the first guess, and the interval of x + n in which lgamma is by the series.
WIDE = {
    (2, -1): (-0.457, (-0.5, -0.15)),
    (3, 1): (0.253, (0.0, 0.28)),
    (3, -1): (-0.143, (-0.5, 0.0)),
}
VALLEY = (-0.72, -0.5)  # lgamma itself is a polynomial here, as distances from -2
SLOPE = (0.2, 0.3)  # and here its quotient by the distance from the root, as distances from -3
TERMS = 22


def value(n: int, d: Any) -> Any:
    """log|gamma(d - n)| and, with it, what stays smooth at the pole: the same plus log|d|."""
    product = mp.fprod(j - d for j in range(1, n + 1))
    smooth = mp.log(abs(mp.gamma(1 + d) / product))
    return smooth - mp.log(abs(d)), smooth


def root(n: int, side: int) -> Any:
    """The zero of lgamma on one side of -n, as its distance from -n."""
    guess = mp.mpf(WIDE[n, side][0]) if (n, side) in WIDE else side / mp.factorial(n)
    found = mp.findroot(lambda d: value(n, d)[0], (guess, guess * mp.mpf("1.0001")))
    return mp.re(found)


def series(function: Any, ends: tuple[float, float]) -> list[float]:
    """The Chebyshev interpolation of a function, in powers of d less the middle of the interval."""
    middle = (mp.mpf(ends[0]) + ends[1]) / 2
    half = (mp.mpf(ends[1]) - ends[0]) / 2
    nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * TERMS)) for i in range(TERMS)]
    values = [function(middle + half * z) for z in nodes]
    powers = mp.lu_solve(mp.matrix([[z**k for k in range(TERMS)] for z in nodes]), values)
    return [float(powers[k] / half**k) for k in range(TERMS)]


def quotient(n: int, d0: Any) -> Any:
    """(smooth(d) - smooth(d0)) / (d - d0) as a function of d."""
    start = value(n, d0)[1]
    return lambda d: (value(n, d)[1] - start) / (d - d0)


def points(n: int, r: Any, d0: Any) -> set[float]:
    """The doubles next to the root, and some at the root's distance from the pole around it."""
    near = float(r)
    below, above = math.nextafter(near, -math.inf), math.nextafter(near, 0.0)
    around = [float(r + d0 * mp.mpf(step)) for step in (-0.6, -0.3, -0.01, 1e-5, 0.05, 0.4, 1.5)]
    return {x for x in (near, below, above, *around) if x != -n}


def main() -> None:
    mp.mp.prec = 300
    recorded: dict[str, str] = {}
    print("valley:", series(lambda d: value(2, d)[0], VALLEY))
    d0 = root(3, 1)
    print("slope:", series(lambda d: value(3, d)[0] / (d - d0), SLOPE))
    for x in (
        -2.745679,
        -2.7457,
        -2.731103,
        -2.76,
        -2.79,
        -2.8,
        -2.81,
        -2.5,
        -2.53,
        -2.6,
        -2.65,
        -2.7,
        -2.72,
        -2.15,
        -2.1,
        0.9936,
        2.0005,
    ):
        recorded[x.hex()] = float(mp.log(abs(mp.gamma(x)))).hex()
    for n in range(2, LAST_ROOT + 1):
        for side in (1, -1):
            if (n, side) == (2, 1):
                continue
            d0 = root(n, side)
            high = float(d0)
            low = float(d0 - high)
            print(f"    ({high!r}, {low!r}),  # {-n} {'+' if side > 0 else '-'}")
            if (n, side) in WIDE:
                print("wide:", series(quotient(n, d0), WIDE[n, side][1]))
            for x in sorted(points(n, d0 - n, d0)):
                recorded[x.hex()] = float(value(n, mp.mpf(x) + n)[0]).hex()
    RECORDED.write_text(json.dumps(recorded, indent=0) + "\n")


if __name__ == "__main__":
    main()
