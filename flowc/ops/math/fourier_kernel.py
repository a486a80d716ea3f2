"""The native kernel of the discrete Fourier transform.

In: rows of real and imaginary parts, and the cosines and sines of all multiples of an n-th turn.
Out: the rows' transforms, and buffers that they pass through. Invariant: a stage takes one factor
of n and writes in the order in which the next one reads, so that no row needs to be put in order;
what a stage computes is f64 (1.0 * x is, whatever x is).
"""

from __future__ import annotations


def transform_stage(a, b, c, d, cosines, sines, at, n, p, s):
    """Inlined: one factor p of a row from (a, b) to (c, d), real and imaginary parts;
    s: the product of the factors before."""
    if p == 4:
        stage_of_four(a, b, c, d, cosines, sines, at, n, s)
    elif p == 2:
        stage_of_two(a, b, c, d, cosines, sines, at, n, s)
    else:
        stage_of_any(a, b, c, d, cosines, sines, at, n, p, s)


def stage_of_any(a, b, c, d, cosines, sines, at, n, p, s):
    m = n // (p * s)
    for j in range(m):
        for k in range(p):
            turn = j * k * s
            step = k * (n // p)
            for q in range(s):
                real = 0.0
                imag = 0.0
                t = 0
                for r in range(p):
                    x = a[at + q + s * (j + m * r)]
                    y = b[at + q + s * (j + m * r)]
                    real += x * cosines[t] - y * sines[t]
                    imag += x * sines[t] + y * cosines[t]
                    t += step
                    if t >= n:
                        t -= n
                place = at + q + s * (p * j + k)
                c[place] = real * cosines[turn] - imag * sines[turn]
                d[place] = real * sines[turn] + imag * cosines[turn]


def stage_of_two(a, b, c, d, cosines, sines, at, n, s):
    m = n // (2 * s)
    for j in range(m):
        cosine = cosines[j * s]
        sine = sines[j * s]
        for q in range(s):
            x = at + q + s * j
            y = x + s * m
            real = a[x] - 1.0 * a[y]
            imag = b[x] - 1.0 * b[y]
            place = at + q + 2 * s * j
            c[place] = a[x] + 1.0 * a[y]
            d[place] = b[x] + 1.0 * b[y]
            c[place + s] = real * cosine - imag * sine
            d[place + s] = real * sine + imag * cosine


def stage_of_four(a, b, c, d, cosines, sines, at, n, s):
    m = n // (4 * s)
    sign = 1.0 if sines[n // 4] > 0.0 else -1.0  # of a quarter of a turn
    for j in range(m):
        turn = j * s
        cosine = cosines[turn]
        sine = sines[turn]
        cosine_2 = cosines[2 * turn]
        sine_2 = sines[2 * turn]
        cosine_3 = cosines[3 * turn]
        sine_3 = sines[3 * turn]
        for q in range(s):
            x = at + q + s * j
            y = x + s * m
            z = y + s * m
            w = z + s * m
            even = a[x] + 1.0 * a[z]
            even_i = b[x] + 1.0 * b[z]
            odd = a[y] + 1.0 * a[w]
            odd_i = b[y] + 1.0 * b[w]
            apart = a[x] - 1.0 * a[z]
            apart_i = b[x] - 1.0 * b[z]
            across = sign * (1.0 * b[w] - b[y])
            across_i = sign * (1.0 * a[y] - a[w])
            place = at + q + 4 * s * j
            c[place] = even + odd
            d[place] = even_i + odd_i
            real = apart + across
            imag = apart_i + across_i
            c[place + s] = real * cosine - imag * sine
            d[place + s] = real * sine + imag * cosine
            real = even - odd
            imag = even_i - odd_i
            c[place + 2 * s] = real * cosine_2 - imag * sine_2
            d[place + 2 * s] = real * sine_2 + imag * cosine_2
            real = apart - across
            imag = apart_i - across_i
            c[place + 3 * s] = real * cosine_3 - imag * sine_3
            d[place + 3 * s] = real * sine_3 + imag * cosine_3


def smallest_factor(n):
    """Inlined: the radix of the next stage, which divides n: 4 before 2, n where it is prime."""
    p = 4 if n % 4 == 0 else 2
    while p * p <= n and n % p != 0:
        p += 1 if p == 2 else 2
    return p if n % p == 0 else n


def transform_kernel(
    real, imag, cosines, sines, x, y, work_x, work_y, n, begin, end
):  # fmt: skip
    stages = 0
    left = n
    while left > 1:
        p = smallest_factor(left)
        left = left // p
        stages += 1
    for row in range(begin, end):
        at = row * n
        if n == 1:
            x[at] = real[at]
            y[at] = imag[at]
        left = n
        s = 1
        for stage in range(stages):
            p = smallest_factor(left)
            to_end = (stages - stage) % 2 == 1  # every second stage, and the last one
            if stage == 0 and to_end:
                transform_stage(real, imag, x, y, cosines, sines, at, n, p, s)
            elif stage == 0:
                transform_stage(real, imag, work_x, work_y, cosines, sines, at, n, p, s)
            elif to_end:
                transform_stage(work_x, work_y, x, y, cosines, sines, at, n, p, s)
            else:
                transform_stage(x, y, work_x, work_y, cosines, sines, at, n, p, s)
            left = left // p
            s = s * p
