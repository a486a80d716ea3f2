"""Native kernels that take matrices apart by reflections and rotations.

In: stacks of matrices, row-major. Out: Q and R, singular or eigenvalues with their vectors.
Invariant: a reflection is 1 - t v v^H whose v begins with 1; what becomes of a column is real and
has the sign that its first element has not, as in LAPACK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels.
    abs_f64: Any = None
    as_elem_pointer: Any = None
    as_f64_pointer: Any = None
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
SWEEPS = 60
STEPS = 60  # of the QL iteration, for one eigenvalue
CONSTANTS = {"EPSILON": EPSILON, "SWEEPS": SWEEPS, "STEPS": STEPS}


def reflection(a: Any, first: int, stride: int, count: int, v: Any) -> Any:
    """Inlined: the `count` elements at `a[first]`, `stride` apart, become a real number
    and zeros. Gives t and that number; `v` gets the vector, and says 1 first."""
    alpha = a[first]
    largest = magnitude(alpha)
    for i in range(1, count):
        size = magnitude(a[first + i * stride])
        if size > largest or size != size:
            largest = size
    rest = real_of(elem(0))
    if largest > 0:
        for i in range(1, count):
            rest = rest + norm(scaled(a[first + i * stride], 1 / largest))
    t = elem(0)
    beta = real_of(alpha)
    v[0] = elem(1)
    for i in range(1, count):
        v[i] = elem(0)
    if rest != 0 or imag_of(alpha) != 0:
        beta = root(rest + norm(scaled(alpha, 1 / largest))) * largest
        if real_of(alpha) >= 0:
            beta = -beta
        t = quotient(elem(beta) - alpha, elem(beta))
        for i in range(1, count):
            v[i] = quotient(a[first + i * stride], alpha - elem(beta))
    return t, beta


def reflect_rows(a: Any, first: int, stride: int, count: int, width: int, t: Any, v: Any,
                 w: Any) -> None:  # fmt: skip
    """Inlined: (1 - t v v^H) times `count` rows of `width` elements at `a[first]`."""
    for j in range(width):
        w[j] = elem(0)
    for i in range(count):
        factor = conj(v[i])
        for j in range(width):
            w[j] = w[j] + factor * a[first + i * stride + j]
    for i in range(count):
        factor = t * v[i]
        for j in range(width):
            a[first + i * stride + j] = a[first + i * stride + j] - factor * w[j]


def triangularize(a: Any, m: int, n: int, q: Any, at: int, columns: int, ts: Any, v: Any,
                  w: Any) -> None:  # fmt: skip
    """Inlined: the m x n matrix at `a` becomes R, with the vectors of its reflections
    below the diagonal; the first columns of Q are written at `q[at]`."""
    steps = m if m < n else n
    for k in range(steps):
        t, beta = reflection(a, k * n + k, n, m - k, v)
        ts[k] = t
        reflect_rows(a, k * n + k + 1, n, m - k, n - k - 1, conj(t), v, w)
        a[k * n + k] = elem(beta)
        for i in range(1, m - k):
            a[(k + i) * n + k] = v[i]
    for i in range(m):
        for j in range(columns):
            q[at + i * columns + j] = elem(1 if i == j else 0)
    for back in range(steps):
        k = steps - 1 - back
        v[0] = elem(1)
        for i in range(1, m - k):
            v[i] = a[(k + i) * n + k]
        reflect_rows(q, at + k * columns, columns, m - k, columns, ts[k], v, w)


def qr(x: Any, q: Any, r: Any, scratch: Any,
       m: int, n: int, columns: int, begin: int, end: int) -> None:  # fmt: skip
    """`columns`: those of Q, which are the rows of R."""
    larger = m if m > n else n
    a = as_elem_pointer(scratch)
    ts = offset(a, m * n)
    v = offset(ts, larger)
    w = offset(v, larger)
    for matrix in range(begin, end):
        for i in range(m * n):
            a[i] = x[matrix * m * n + i]
        triangularize(a, m, n, q, matrix * m * columns, columns, ts, v, w)
        for i in range(columns):
            for j in range(n):
                r[(matrix * columns + i) * n + j] = a[i * n + j] if i <= j else elem(0)


def rotate(x: Any, i: int, j: int, count: int, c: Any, s: Any) -> None:
    """Inlined: rows at `x[i]` and `x[j]` become c x_i - conj(s) x_j and
    s x_i + c x_j."""
    back = conj(s)
    for k in range(count):
        a = x[i + k]
        b = x[j + k]
        x[i + k] = scaled(a, c) - back * b
        x[j + k] = s * a + scaled(b, c)


def orthogonalize(g: Any, v: Any, p: int, q: int) -> int:
    """Inlined: the q rows of `p` elements at `g` are rotated until they are orthogonal;
    the rows of `v` are rotated with them. How many sweeps it took."""
    sweep = 0
    rotated = 1
    while rotated and sweep < SWEEPS:
        rotated = 0
        sweep += 1
        for i in range(q - 1):
            for j in range(i + 1, q):
                alpha = f64(0)
                beta = f64(0)
                gamma = elem(0)
                for k in range(p):
                    a = g[i * p + k]
                    b = g[j * p + k]
                    alpha = alpha + norm(a)
                    beta = beta + norm(b)
                    gamma = gamma + conj(a) * b
                size = root(norm(gamma))
                if size > EPSILON * root(alpha) * root(beta):
                    rotated = 1
                    zeta = (beta - alpha) / (2 * size)
                    t = 1 / (abs_f64(zeta) + root(1 + zeta * zeta))
                    if zeta < 0:
                        t = -t
                    c = 1 / root(1 + t * t)
                    s = scaled(gamma, c * t / size)
                    rotate(g, i * p, j * p, p, c, s)
                    rotate(v, i * q, j * q, q, c, s)
    return sweep


def svd(x: Any, sizes: Any, u: Any, v: Any, scratch: Any, m: int, n: int, u_columns: int,
        v_columns: int, wanted: int, begin: int, end: int) -> None:  # fmt: skip
    """Singular value decomposition by one-sided Jacobi rotations, which make the q columns of the
    matrix, or of its adjoint where that is taller, orthogonal. Reflections of these columns, in the
    order of falling singular values, complete them to a basis."""
    p = m if m > n else n
    q = m if m < n else n
    g = as_elem_pointer(scratch)
    turns = offset(g, p * q)
    tall = offset(turns, q * q)
    ts = offset(tall, p * q)
    w = offset(ts, p)
    rest = offset(w, p)
    values = as_f64_pointer(offset(rest, p))
    order = as_i64_pointer(offset(values, q))
    long = u if m >= n else v
    long_columns = u_columns if m >= n else v_columns
    short = v if m >= n else u
    short_columns = v_columns if m >= n else u_columns
    for matrix in range(begin, end):
        at = matrix * m * n
        largest = f64(0)
        for i in range(m * n):
            size = magnitude(x[at + i])
            if size > largest or size != size:
                largest = size
        scale = 1 / largest if largest > 0 else f64(1)
        for i in range(q):
            for k in range(p):
                if m >= n:
                    g[i * p + k] = scaled(x[at + k * n + i], scale)
                else:
                    g[i * p + k] = conj(scaled(x[at + i * n + k], scale))
            for k in range(q):
                turns[i * q + k] = elem(1 if i == k else 0)
        orthogonalize(g, turns, p, q)
        for i in range(q):
            total = f64(0)
            for k in range(p):
                total = total + norm(g[i * p + k])
            j = i
            while j > 0 and values[j - 1] < total:
                values[j] = values[j - 1]
                order[j] = order[j - 1]
                j -= 1
            values[j] = total
            order[j] = i
        for i in range(q):
            sizes[matrix * q + i] = elem(root(values[i]) * largest)
        if wanted:
            for k in range(p):
                for i in range(q):
                    tall[k * q + i] = g[order[i] * p + k]
            triangularize(tall, p, q, long, matrix * p * long_columns, long_columns, ts, w, rest)
            write_vectors(short, matrix * q * short_columns, turns, order, q, largest, w)
            align_columns(long, matrix * p * long_columns, p, long_columns, tall, q, w)


def write_vectors(to: Any, at: int, turns: Any, order: Any, q: int, largest: Any,
                  phases: Any) -> None:  # fmt: skip
    """Inlined: the accumulated rotations as columns in their order, turned by `phases`;
    NaN if the matrix had one."""
    for i in range(q):
        row = order[i] * q
        phase = phase_of_largest(turns, row, q)
        phases[i] = phase
        for k in range(q):
            element = turns[row + k] * phase
            to[at + k * q + i] = element if largest == largest else elem(nan)


def align_columns(u: Any, at: int, rows: int, columns: int, r: Any, q: int, phases: Any) -> None:
    """Inlined: columns turned as the vectors on the other side are; those whose element
    of R is negative change their sign."""
    for i in range(q):
        turn = phases[i]
        if real_of(r[i * q + i]) < 0:
            turn = -turn
        for k in range(rows):
            u[at + k * columns + i] = u[at + k * columns + i] * turn


def phase_of_largest(x: Any, first: int, count: int) -> Any:
    """Inlined: what makes the largest of `count` elements, and of nearly equal ones the
    first, real and positive."""
    best = first
    for k in range(first, first + count):
        if norm(x[k]) > norm(x[best]) * (1 + 1e-9):
            best = k
    turn = elem(1)
    size = root(norm(x[best]))
    if size > 0:
        turn = scaled(conj(x[best]), 1 / size)
    return turn


def tridiagonalize(a: Any, n: int, d: Any, e: Any, ts: Any, v: Any, w: Any) -> None:
    """Inlined: the Hermitian matrix at `a` has the diagonals d and e after reflections
    from both sides, whose vectors are left below its diagonal."""
    for k in range(n - 1):
        count = n - 1 - k
        t, beta = reflection(a, (k + 1) * n + k, n, count, v)
        ts[k] = t
        e[k] = beta
        inner = elem(0)
        for i in range(count):
            total = elem(0)
            for j in range(count):
                total = total + a[(k + 1 + i) * n + k + 1 + j] * v[j]
            w[i] = t * total
            inner = inner + conj(w[i]) * v[i]
        half = scaled(t * inner, -0.5)
        for i in range(count):
            w[i] = w[i] + half * v[i]
        for i in range(count):
            left = v[i]
            right = w[i]
            for j in range(count):
                place = (k + 1 + i) * n + k + 1 + j
                a[place] = a[place] - (left * conj(w[j]) + right * conj(v[j]))
        for i in range(1, count):
            a[(k + 1 + i) * n + k] = v[i]
    for k in range(n):
        d[k] = real_of(a[k * n + k])


def iterate_ql(d: Any, e: Any, z: Any, n: int, width: int) -> int:
    """Inlined: the tridiagonal matrix becomes diagonal; rows of `z` are rotated with it.
    How many eigenvalues were not found."""
    lost = 0
    for low in range(n):
        steps = 0
        high = n
        while high != low:
            high = low
            while high < n - 1:
                near = abs_f64(d[high]) + abs_f64(d[high + 1])
                if not abs_f64(e[high]) > EPSILON * near:
                    break
                high += 1
            if steps == STEPS or e[low] != e[low]:
                lost += 1
                break
            steps += 1
            if high != low:
                g = (d[low + 1] - d[low]) / (2 * e[low])
                r = root(g * g + 1)
                g = d[high] - d[low] + e[low] / (g + (r if g >= 0 else -r))
                s = f64(1)
                c = f64(1)
                p = f64(0)
                i = high - 1
                while i >= low:
                    f = s * e[i]
                    b = c * e[i]
                    r = root(f * f + g * g)
                    e[i + 1] = r
                    if r == 0:
                        d[i + 1] = d[i + 1] - p
                        e[high] = f64(0)
                        break
                    s = f / r
                    c = g / r
                    g = d[i + 1] - p
                    r = (d[i] - g) * s + 2 * c * b
                    p = s * r
                    d[i + 1] = g + p
                    g = c * r - b
                    for k in range(width):
                        x = z[i * n + k]
                        y = z[(i + 1) * n + k]
                        z[(i + 1) * n + k] = scaled(x, s) + scaled(y, c)
                        z[i * n + k] = scaled(x, c) - scaled(y, s)
                    i -= 1
                if i < low:
                    d[low] = d[low] - p
                    e[low] = g
                    e[high] = f64(0)
    return lost


def self_adjoint_eig(x: Any, values: Any, vectors: Any, scratch: Any, status: Any,
                     n: int, wanted: int, begin: int, end: int) -> None:  # fmt: skip
    """Eigenvalues and vectors of a matrix of which only the lower triangle is read. The element of
    largest magnitude in a vector is real and positive."""
    a = as_elem_pointer(scratch)
    z = offset(a, n * n)
    ts = offset(z, n * n)
    v = offset(ts, n)
    w = offset(v, n)
    d = as_f64_pointer(offset(w, n))
    e = offset(d, n)
    order = as_i64_pointer(offset(e, n))
    for matrix in range(begin, end):
        at = matrix * n * n
        largest = f64(0)
        for i in range(n):
            for j in range(i + 1):
                size = magnitude(x[at + i * n + j])
                if size > largest or size != size:
                    largest = size
        if not largest < 1e308:
            fail(status, 1, 0, 0, 0)
            return
        scale = 1 / largest if largest > 0 else f64(1)
        for i in range(n):
            for j in range(i + 1):
                element = scaled(x[at + i * n + j], scale)
                a[i * n + j] = element
                a[j * n + i] = conj(element)
            a[i * n + i] = elem(real_of(a[i * n + i]))
            e[i] = f64(0)
        tridiagonalize(a, n, d, e, ts, v, w)
        if wanted:
            form_vectors(a, n, z, ts, v)
        lost = iterate_ql(d, e, z, n, n if wanted else 0)
        if lost > 0:
            fail(status, 1, 0, 0, 0)
            return
        for i in range(n):
            j = i
            while j > 0 and d[order[j - 1]] > d[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
        for i in range(n):
            row = order[i]
            values[matrix * n + i] = elem(d[row] * largest)
            if wanted:
                write_column(z, row * n, n, vectors, at + i)


def form_vectors(a: Any, n: int, z: Any, ts: Any, v: Any) -> None:
    """Inlined: the product of the reflections, its columns as rows of `z`."""
    for i in range(n * n):
        z[i] = elem(0)
    for i in range(n):
        z[i * n + i] = elem(1)
    for back in range(n - 1):
        k = n - 2 - back
        count = n - 1 - k
        v[0] = elem(1)
        for i in range(1, count):
            v[i] = a[(k + 1 + i) * n + k]
        # Column by column, which are rows here: z -= t v (v^H z).
        for j in range(k + 1, n):
            total = elem(0)
            for i in range(count):
                total = total + conj(v[i]) * z[j * n + k + 1 + i]
            total = ts[k] * total
            for i in range(count):
                z[j * n + k + 1 + i] = z[j * n + k + 1 + i] - total * v[i]


def write_column(z: Any, row: int, n: int, to: Any, first: int) -> None:
    """Inlined: a vector of length 1, turned so that its largest element is positive."""
    total = f64(0)
    for k in range(n):
        total = total + norm(z[row + k])
    turn = phase_of_largest(z, row, n)
    turn = scaled(turn, 1 / root(total))
    for k in range(n):
        to[first + k * n] = z[row + k] * turn
