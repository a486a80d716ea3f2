"""Native kernels of complex matrices made triangular: eigenvalues, square roots and logarithms.

In: stacks of complex matrices in c128, row-major. Out: eigenvalues in ascending order with their
vectors, or functions of matrices. Invariant: A = Q T Q^H with a triangular T; the columns of Q
stand as rows, so that rotations run over what lies side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.linalg.orthogonal import reflect_rows, reflection, write_column
from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels.
    abs_f64: Any = None
    as_elem_pointer: Any = None
    as_i64_pointer: Any = None
    conj: Any = None
    elem: Any = None
    f64: Any = None
    imag_of: Any = None
    magnitude: Any = None
    nan: Any = None
    norm: Any = None
    offset: Any = None
    quotient: Any = None
    real_of: Any = None
    root: Any = None
    scaled: Any = None

EPSILON = 2.220446049250313e-16
STEPS = 60  # of the QR iteration, for one eigenvalue
ROOTS = 60  # that are taken before a logarithm
NODES = 8  # of the Gauss-Legendre rule on [0, 1] that a logarithm is made of
CONSTANTS = {"EPSILON": EPSILON, "STEPS": STEPS, "ROOTS": ROOTS}


def complex_root(x: Any) -> Any:
    """Inlined: the square root with a real part that is not negative."""
    size = root(norm(x))
    real = root((size + abs_f64(real_of(x))) * 0.5)
    found = x * elem(0)
    if real > 0:
        other = imag_of(x) / (2 * real)
        found = elem(complex(real, other))
        if real_of(x) < 0:
            high = real if imag_of(x) >= 0 else -real
            found = elem(complex(abs_f64(other), high))
    return found


def schur(a: Any, n: int, q: Any, v: Any, w: Any) -> int:
    """Inlined: the matrix at `a` becomes T, the columns of Q rows of `q`. How many
    eigenvalues were not found."""
    for i in range(n * n):
        q[i] = elem(0)
    for i in range(n):
        q[i * n + i] = elem(1)
    for k in range(n - 2):
        count = n - 1 - k
        t, beta = reflection(a, (k + 1) * n + k, n, count, v)
        reflect_rows(a, (k + 1) * n + k + 1, n, count, n - k - 1, conj(t), v, w)
        a[(k + 1) * n + k] = elem(beta)
        for i in range(1, count):
            a[(k + 1 + i) * n + k] = elem(0)
        for i in range(n):
            total = elem(0)
            for j in range(count):
                total = total + a[i * n + k + 1 + j] * v[j]
            total = total * t
            for j in range(count):
                a[i * n + k + 1 + j] = a[i * n + k + 1 + j] - total * conj(v[j])
        # Q (1 - t v v^H), whose columns are rows: row_i -= t conj(v_i) (sum of v_j row_j).
        for j in range(n):
            w[j] = elem(0)
        for i in range(count):
            factor = v[i]
            for j in range(n):
                w[j] = w[j] + factor * q[(k + 1 + i) * n + j]
        for i in range(count):
            factor = t * conj(v[i])
            for j in range(n):
                q[(k + 1 + i) * n + j] = q[(k + 1 + i) * n + j] - factor * w[j]
    lost = 0
    high = n - 1
    steps = 0
    while high > 0:
        low = high
        while low > 0:
            near = magnitude(a[(low - 1) * n + low - 1]) + magnitude(a[low * n + low])
            if near == 0:
                near = f64(1)
            if not magnitude(a[low * n + low - 1]) > EPSILON * near:
                a[low * n + low - 1] = elem(0)
                break
            low -= 1
        if low == high:
            high -= 1
            steps = 0
        elif steps == STEPS:
            lost += 1
            high -= 1
            steps = 0
        else:
            steps += 1
            shift = wilkinson_shift(a, n, high)
            if steps % 10 == 0:
                shift = elem(magnitude(a[high * n + high - 1])) + a[high * n + high]
            chase(a, q, n, low, high, shift)
    return lost


def wilkinson_shift(a: Any, n: int, high: int) -> Any:
    """Inlined: the eigenvalue of the last 2 x 2 matrix that is nearer to its corner."""
    corner = a[high * n + high]
    product = a[(high - 1) * n + high] * a[high * n + high - 1]
    half = scaled(a[(high - 1) * n + high - 1] - corner, 0.5)
    r = complex_root(half * half + product)
    plus = half + r
    minus = half - r
    larger = plus if norm(plus) > norm(minus) else minus
    found = corner
    if norm(larger) > 0:
        found = corner - quotient(product, larger)
    return found


def chase(a: Any, q: Any, n: int, low: int, high: int, shift: Any) -> None:
    """Inlined: one step of the QR iteration on the rows and columns low...high."""
    x = a[low * n + low] - shift
    y = a[(low + 1) * n + low]
    for k in range(low, high):
        size = root(norm(x) + norm(y))
        c = elem(1)
        s = elem(0)
        if size > 0:
            c = scaled(x, 1 / size)
            s = scaled(y, 1 / size)
        first = k - 1 if k > low else low
        cc = conj(c)
        cs = conj(s)
        for j in range(first, n):
            above = a[k * n + j]
            below = a[(k + 1) * n + j]
            a[k * n + j] = cc * above + cs * below
            a[(k + 1) * n + j] = c * below - s * above
        last = k + 3 if k + 3 < high + 1 else high + 1
        for i in range(last):
            left = a[i * n + k]
            right = a[i * n + k + 1]
            a[i * n + k] = left * c + right * s
            a[i * n + k + 1] = right * cc - left * cs
        for j in range(n):
            left = q[k * n + j]
            right = q[(k + 1) * n + j]
            q[k * n + j] = left * c + right * s
            q[(k + 1) * n + j] = right * cc - left * cs
        if k > low:
            a[(k + 1) * n + k - 1] = elem(0)
        if k < high - 1:
            x = a[(k + 1) * n + k]
            y = a[(k + 2) * n + k]


def is_finite(x: Any, at: int, count: int) -> int:
    """Inlined: 1 where all elements are finite, else 0."""
    total = f64(0)
    for i in range(count):
        total = total + magnitude(x[at + i]) * 0
    return 1 if total == 0 else 0


def eig(x: Any, values: Any, vectors: Any, scratch: Any, status: Any,
        n: int, wanted: int, begin: int, end: int) -> None:  # fmt: skip
    """Eigenvalues by real part, then by imaginary part."""
    a = as_elem_pointer(scratch)
    q = offset(a, n * n)
    v = offset(q, n * n)
    w = offset(v, n)
    order = as_i64_pointer(offset(w, n))
    for matrix in range(begin, end):
        at = matrix * n * n
        finite = is_finite(x, at, n * n)
        for i in range(n * n):
            a[i] = x[at + i]
        lost = 1
        if finite:
            lost = schur(a, n, q, v, w)
        if lost:
            fail(status, 1, 0, 0, 0)
            return
        for i in range(n):
            own = a[i * n + i]
            j = i
            while j > 0:
                other = values[matrix * n + j - 1]
                real = real_of(other) - real_of(own)
                if real < 0 or (real == 0 and imag_of(other) <= imag_of(own)):
                    break
                values[matrix * n + j] = other
                order[j] = order[j - 1]
                j -= 1
            values[matrix * n + j] = own
            order[j] = i
        if wanted:
            for i in range(n):
                triangular_vector(a, n, order[i], v)
                for j in range(n):
                    w[j] = elem(0)
                for k in range(order[i] + 1):
                    factor = v[k]
                    for j in range(n):
                        w[j] = w[j] + factor * q[k * n + j]
                write_column(w, 0, n, vectors, at + i)


def triangular_vector(t: Any, n: int, k: int, v: Any) -> None:
    """Inlined: the eigenvector of T at its k-th eigenvalue."""
    own = t[k * n + k]
    largest = f64(0)
    for i in range(k + 1):
        for j in range(i, k + 1):
            size = magnitude(t[i * n + j])
            largest = size if size > largest else largest
    least = EPSILON * largest
    if least == 0:
        least = f64(1e-300)
    v[k] = elem(1)
    for back in range(k):
        i = k - 1 - back
        total = elem(0)
        for j in range(i + 1, k + 1):
            total = total - t[i * n + j] * v[j]
        gap = t[i * n + i] - own
        if magnitude(gap) < least:
            gap = elem(least)
        v[i] = quotient(total, gap)


def triangular_root(t: Any, n: int) -> None:
    """Inlined: T becomes its square root, column by column."""
    for j in range(n):
        t[j * n + j] = complex_root(t[j * n + j])
        for back in range(j):
            i = j - 1 - back
            total = t[i * n + j]
            for k in range(i + 1, j):
                total = total - t[i * n + k] * t[k * n + j]
            t[i * n + j] = quotient(total, t[i * n + i] + t[j * n + j])


def write_function(t: Any, q: Any, n: int, y: Any, at: int, work: Any) -> None:
    """Inlined: Q T Q^H, where the columns of Q are rows."""
    for i in range(n):
        for j in range(n):
            work[j] = elem(0)
        # Row i of Q T.
        for k in range(n):
            factor = q[k * n + i]
            for j in range(k, n):
                work[j] = work[j] + factor * t[k * n + j]
        for j in range(n):
            y[at + i * n + j] = elem(0)
        for k in range(n):
            factor = work[k]
            for j in range(n):
                y[at + i * n + j] = y[at + i * n + j] + factor * conj(q[k * n + j])


def square_root(x: Any, y: Any, scratch: Any, n: int, real: int, begin: int, end: int) -> None:
    """NaN where there is none; `real`: where a real matrix has no real one, too."""
    a = as_elem_pointer(scratch)
    q = offset(a, n * n)
    v = offset(q, n * n)
    w = offset(v, n)
    for matrix in range(begin, end):
        at = matrix * n * n
        for i in range(n * n):
            a[i] = x[at + i]
        lost = 1
        finite = is_finite(x, at, n * n)
        if finite:
            lost = schur(a, n, q, v, w)
            for i in range(n):
                own = a[i * n + i]
                if real and real_of(own) < 0 and abs_f64(imag_of(own)) <= -1e-13 * real_of(own):
                    lost = 1
        if lost:
            for i in range(n * n):
                y[at + i] = elem(nan)
        else:
            triangular_root(a, n)
            write_function(a, q, n, y, at, v)


def logarithm(x: Any, points: Any, weights: Any, y: Any, scratch: Any,
              n: int, nodes: int, begin: int, end: int) -> None:  # fmt: skip
    """2^k times the logarithm of the 2^k-th root, which is near 1: the integral of
    X (1 + u X)^-1 over u from 0 to 1, by a Gauss-Legendre rule."""
    a = as_elem_pointer(scratch)
    q = offset(a, n * n)
    total = offset(q, n * n)
    v = offset(total, n * n)
    w = offset(v, n)
    for matrix in range(begin, end):
        at = matrix * n * n
        for i in range(n * n):
            a[i] = x[at + i]
            total[i] = elem(0)
        lost = 1
        finite = is_finite(x, at, n * n)
        if finite:
            lost = schur(a, n, q, v, w)
            for i in range(n):
                if magnitude(a[i * n + i]) == 0:
                    lost = 1
        if lost:
            for i in range(n * n):
                y[at + i] = elem(nan)
        else:
            factor = f64(1)
            for _taken in range(ROOTS):
                far = f64(0)
                for i in range(n):
                    for j in range(i, n):
                        size = magnitude(a[i * n + j] - elem(1 if i == j else 0))
                        far = size if size > far else far
                if far * n < 0.25:
                    break
                triangular_root(a, n)
                factor = factor * 2
            for i in range(n):
                a[i * n + i] = a[i * n + i] - elem(1)
            for node in range(nodes):
                add_resolvent(a, n, points[node], weights[node] * factor, total, v)
            write_function(total, q, n, y, at, v)


def add_resolvent(t: Any, n: int, u: Any, weight: Any, total: Any, z: Any) -> None:
    """Inlined: `total` plus weight times (1 + u T)^-1 T, column by column."""
    for j in range(n):
        for back in range(j + 1):
            i = j - back
            found = t[i * n + j]
            for k in range(i + 1, j + 1):
                found = found - scaled(t[i * n + k] * z[k], u)
            z[i] = quotient(found, elem(1) + scaled(t[i * n + i], u))
            total[i * n + j] = total[i * n + j] + scaled(z[i], weight)
