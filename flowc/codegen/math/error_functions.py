"""erf, erfc, erfinv and ndtri. All are branch-free.

erfc(a) = exp(-a**2) g(a), and g times 1 + 2a is a polynomial in (a - 4)/(a + 4) over the whole
range where erfc is not 0; in f32 g over 1 / (1 + 0.54 a) is one of the latter, which takes one
division. The square in the exponent is kept in two parts. Fits are minimax, by Remez.
"""

from __future__ import annotations

import math

from flowc import dtypes
from flowc.codegen.llvm.quantity import Quantity
from flowc.codegen.math.exponential import exp_of_sum
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.table import define, define_through_f64

# erf(x)/x - 1 in powers of x**2 on [0, 1]; errors 2**-29 and 2**-62.
_ERF32 = (
    0.12837917, -0.37612626, 0.112836, -0.02685444, 0.0051895273, -0.0008020756, 7.888792e-05,
)  # fmt: skip
_ERF64 = (
    0.1283791670955126, -0.3761263890318375, 0.11283791670954885, -0.026866170645077823,
    0.005223977624827905, -0.0008548326981393706, 0.00012055331131738689, -1.492559574165119e-05,
    1.6461007968459027e-06, -1.6350390624991793e-07, 1.4660289800414611e-08,
    -1.1374800605825065e-09, 5.960415365014176e-11,
)  # fmt: skip
# -log(1 - erf(x)) on [1, 4].
_ERF_TAIL32 = (
    -0.00018803304, 1.1295784, 0.63321996, 0.10841852, -0.02520822, 0.004204549, -0.0004413339,
    2.168665e-05,
)  # fmt: skip
# exp(a**2) erfc(a) (1 + 2a) in powers of (a - 4)/(a + 4), a in [0, 27.5]; error 2**-64.
_ERFC = (
    1.2329951186255526, -0.1396211168405625, 0.015379652102620033, 0.06809705425469174,
    -0.10103906603632444, 0.09373283499838748, -0.06633036581166607, 0.03716751553681694,
    -0.01619773406565345, 0.005031969983914452, -0.0007577732227406329, -0.00019925672206253496,
    0.00015062132990985313, -2.4399160400201003e-05, -1.1220858116998284e-05,
    5.709787868204443e-06, 2.9123343150725653e-07, -8.259694081099747e-07, 7.825463215024718e-08,
    1.1132645477920412e-07, -2.1005827166514866e-08, -1.5575314504628355e-08,
    3.243531364436886e-09, 2.0964703006691267e-09, -2.397652902170256e-10,
    -1.6727268198229184e-10,
)  # fmt: skip

# exp(a**2) erfc(a) / w in powers of w - 9/16, w = 1 / (1 + 0.54 a), a in [0, 10.3]; error 2**-26.
_ERFC32 = (
    0.589559555, 0.752718627, 0.474864751, -0.0385178179, -0.207642898, 0.0297015589,
    0.114514939, -0.0566084646, -0.0507340394, 0.0500769354,
)  # fmt: skip

# erfinv(x)/x with w = -log(1 - x**2). For w < 6.25, this over _INVERSE_BOTTOM in powers of w.
_INVERSE_TOP = (
    0.886226925452758, 0.30576936340601435, 0.07764605076717647, 0.0139431701192894,
    0.0018350830286711175, 0.0001808943079159184, 1.2685723579311222e-05, 5.400000139559926e-07,
    6.598419333934396e-09, -3.79684899709564e-10,
)  # fmt: skip

_INVERSE_BOTTOM = (
    1.0, 0.08322439180425374, 0.052794054318974375, 0.0034620282820166733, 0.000840066183264572,
    3.760627239453454e-05, 3.614490091656705e-06, 6.276599546800048e-08, -8.782200500384232e-10,
    -3.1931484230948055e-11,
)  # fmt: skip

# For 2.5 <= sqrt(w) < 5, in powers of (sqrt(w) - 3.745) / 1.255.
_INVERSE_MIDDLE = (
    3.5824608506094675, 1.2658645329780622, 0.003266329328106623, -0.0025650012263383442,
    0.0013677104059391816, -0.000841873191977525, 0.0006365545680468947, -0.0004787492183905186,
    0.0002955161561825223, -0.00012444494525948581, 1.3985330104614856e-05,
    2.7296317761256348e-05, -2.523337853629722e-05, 1.0785441164369412e-05,
    -8.431828370725916e-07, -2.0897984508956395e-06, 1.503080034909171e-06,
    -4.633532050482566e-07, -2.4693627295931457e-08, 1.0538191848936503e-07,
    -6.134279897707186e-08, 1.515940964140102e-08, 4.341573638999703e-09,
    -4.244470133239113e-09, 8.867040195199404e-10,
)  # fmt: skip

# From 5 on, divided by sqrt(w): 1/sqrt(w) runs from 1/27.6 to 1/5 as t from -1 to 1.
_INVERSE_FAR = (
    0.9858922549079522, -0.0147588294674688, -0.0017983567195805018, 0.0007568621584837074,
    -0.000137385984737061, 3.595090001639235e-05, -1.2819233075838717e-05,
    5.132467631792039e-06, -2.2229593997495843e-06, 1.0264905048515998e-06,
    -4.983440241878209e-07, 2.5146675040237864e-07, -1.2860510524773659e-07,
    6.745180737393417e-08, -4.41412847311166e-08, 2.7444101724797636e-08,
    2.6895759108219515e-09, -7.027413984235714e-09, -2.724461422294704e-08,
    2.296107286996081e-08, 2.4353719303616284e-08, -2.0644884507959647e-08,
    -1.9108224532485194e-08, 1.5039578172703568e-08, 7.976914723565125e-09,
    -6.0433016451937515e-09, -1.766733868312892e-09, 1.2634563798823155e-09,
)  # fmt: skip


def _parts_of_square(a: Quantity) -> tuple[Quantity, Quantity]:
    """-a**2 as an exact square of a's upper half, and what is left."""
    upper = (a.bits() & -(1 << (a.format.mantissa // 2 + 1))).as_float()
    return -(upper * upper), -((a - upper) * (a + upper))


def _erfc_positive(e: Emitter, a: Quantity) -> Quantity:
    """erfc(a) for a >= 0."""
    if e.is_f32:
        a = e.at_most(a, 10.3)
        w = 1.0 / e.fma(a, 0.54, 1.0)
        exponential = exp_of_sum(e, *_parts_of_square(a), negative=True)
        return e.polynomial(w - 0.5625, _ERFC32) * w * exponential
    a = e.at_most(a, 28.0)
    t = (a - 4.0) / (a + 4.0)
    g = e.polynomial(t, _ERFC) / e.fma(a, 2.0, 1.0)
    head, tail = _parts_of_square(a)
    correction = e.fma(tail * tail, e.fma(tail, 1 / 6, 0.5), tail)
    exponential = exp_of_sum(e, head, negative=True)
    return e.fma(exponential, correction, exponential) * g


@define("erf")
def erf(e: Emitter, x: Quantity) -> Quantity:
    a = e.abs(x)
    if e.is_f32:
        a = e.at_most(a, 4.0)
        near = e.fma(a, e.polynomial(a * a, _ERF32), a)
        exponent = -e.polynomial(a, _ERF_TAIL32)
        far = 1.0 - exp_of_sum(e, exponent, negative=True)
    else:
        near = e.fma(a, e.polynomial(a * a, _ERF64), a)
        far = 1.0 - _erfc_positive(e, a)
    return e.copysign(e.select(a < 1.0, near, far), x)


@define("erfc")
def erfc(e: Emitter, x: Quantity) -> Quantity:
    tail = _erfc_positive(e, e.abs(x))
    return e.select(x < 0.0, 2.0 - tail, tail)


def _erfinv_ratio(e: Emitter, w: Quantity) -> Quantity:
    """erfinv(x) / x where w = -log(1 - x**2)."""
    near = e.polynomial(w, _INVERSE_TOP) / e.polynomial(w, _INVERSE_BOTTOM)
    s = e.sqrt(w)
    middle = e.polynomial((s - 3.745) * (1 / 1.255), _INVERSE_MIDDLE)
    centre, radius = (1 / 5 + 1 / 27.6) / 2, (1 / 5 - 1 / 27.6) / 2
    far = s * e.polynomial((1.0 / s - centre) * (1 / radius), _INVERSE_FAR)
    return e.select(w < 6.25, near, e.select(s < 5.0, middle, far))


@define("erfinv", 1, (dtypes.f64,))
def erfinv(e: Emitter, x: Quantity) -> Quantity:
    a = e.abs(x)
    # 0 is added for TensorFlow gives 0, not -0, for -0.
    return x * _erfinv_ratio(e, -e.call("log_f64", (1.0 - a) * (a + 1.0))) + 0.0


@define("ndtri", 1, (dtypes.f64,))
def ndtri(e: Emitter, p: Quantity) -> Quantity:
    """The normal distribution's quantile: sqrt(2) erfinv(2p - 1), exact in p where it is tiny."""
    w = -e.call("log_f64", p * 4.0 * (1.0 - p))
    return (p * 2.0 - 1.0) * _erfinv_ratio(e, w) * math.sqrt(2.0)


for _name in ("erfinv", "ndtri"):
    define_through_f64(_name)
