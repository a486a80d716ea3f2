"""What is known of how large sizes can be, and which checks of them a driver has."""

from __future__ import annotations

import numpy as np
from compiled_ir import GROWING, NESTED, Compiled
from tensor_types import tensor_type

from flowc.codegen.driver.size_limits import BEYOND, WORD, SizeLimits
from flowc.ir.builder import Builder
from flowc.ir.dims import Dim, maximum, symbol
from flowc.ir.types import MOST_BYTES

N, M = symbol("n"), symbol("m")


def learned(dim: Dim, limit: int = MOST_BYTES) -> SizeLimits:
    limits = SizeLimits()
    limits.learn(dim, limit)
    return limits


def test_without_a_check_a_size_fills_a_word() -> None:
    assert SizeLimits().of(7) == 7
    assert SizeLimits().of(N) == WORD
    assert SizeLimits().of(N * 2) > WORD
    assert SizeLimits().of(N + 1) > WORD


def test_bytes_that_fit_bound_all_that_is_smaller() -> None:
    limits = learned(N * 4096)
    assert limits.of(N * 4096) == MOST_BYTES
    assert limits.of(N * 1024) == MOST_BYTES // 4
    assert limits.of(N * 8192) == MOST_BYTES * 2
    assert limits.of(N // 3) == MOST_BYTES // 4096
    assert limits.of(maximum(N, 5)) == MOST_BYTES // 4096


def test_a_product_bounds_no_factor_that_may_be_larger_beside_a_zero() -> None:
    limits = learned(N * M * 4)
    assert limits.of(N * M) == MOST_BYTES // 4
    assert limits.of(N) == WORD
    assert limits.of(N * N * M) > WORD


def test_parts_of_a_sum_and_of_a_difference() -> None:
    limits = learned(N * M + N)
    assert limits.of(N * M) == limits.of(N) == MOST_BYTES
    difference = learned(N * M - N)
    assert difference.of(N * M - N) == MOST_BYTES
    assert difference.of(N * M) == WORD


def test_what_wraps_on_the_way_is_beyond_a_word() -> None:
    quotient = (N * 3 + 1) // 7
    assert SizeLimits().of(quotient) == BEYOND
    assert learned(quotient).of((N * 3 + 1) // 11) == WORD


# -- drivers


def chain(rows: Dim) -> Compiled:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (rows, 8)))
    a = b.mat_mul(x, b.const(np.ones((8, 16), np.float32)))
    return Compiled(b.build([a, b.softmax(a), b.sum(a, np.array([1], np.int32))]))


def checks(compiled: Compiled) -> list[str]:
    """What a program says of sizes that are too large."""
    errors = compiled.program.metadata.errors
    return [e.message for e in errors if "too large for any memory" in e.message]


def test_static_sizes_are_not_checked() -> None:
    assert not checks(chain(5))


def test_one_check_for_all_that_one_size_decides() -> None:
    compiled = chain(N)
    assert checks(compiled) == [
        "a value of type f32[n,16] is too large for any memory, with n = {a}"
    ]
    assert "with.overflow" not in compiled.driver


def test_what_is_added_to_a_size_is_taken_from_its_limit() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (N, 8)))
    compiled = Compiled(b.build([b.pad(x, np.array([[1, 2], [0, 0]], np.int32))]))
    run = compiled.driver.partition('"flowc_program_run"')[2].partition("\ndefine")[0]
    assert checks(compiled) and "with.overflow" not in run
    assert f", {(MOST_BYTES - 96) // 32}" in run


def test_a_loop_checks_outside_of_it_what_is_known_there() -> None:
    before, _, inside = Compiled(NESTED).driver.partition("\nloop:")
    assert f", {MOST_BYTES // 20}" in before
    assert f", {MOST_BYTES // 20}" not in inside


def test_a_loop_checks_in_it_what_changes_there() -> None:
    _, _, inside = Compiled(GROWING).driver.partition("\nloop:")
    assert f", {MOST_BYTES // 8}" in inside


def test_each_way_out_of_a_run_is_a_call() -> None:
    """Of the many checks of a driver hardly one ever fails."""
    text = Compiled(GROWING).driver
    ways = [part.split("\n\n")[0] for part in text.split("\nleave")[1:]]
    assert ways and all('call void @"flowc_run_leaves"' in way for way in ways)
    assert not any('%"status", i64 0' in way for way in ways)
