"""Slots of the arena: those in use at one time share no byte, whatever the sizes, and the arena is
hardly larger than what is in use at once."""

from __future__ import annotations

import operator
import random
from dataclasses import replace

import pytest
from campaigns.random_control_flow import random_control_flow
from campaigns.random_graphs import random_graph
from plan_memory import check_memory, plan_without_code

from flowc.ir.dims import Dim, evaluate, maximum, symbol, symbols_of
from flowc.ir.text.form import parse_computation
from flowc.plan import arena_layout
from flowc.plan.arena_layout import lay_out, measured
from flowc.plan.plan import ALIGNMENT, Slot
from flowc.plan.text import plan_text

N, M = symbol("n"), symbol("m")


def random_slots(seed: int, count: int, *units: Dim) -> list[Slot]:
    """Most are in use for a few steps, some for many."""
    rng = random.Random(seed)
    found: list[Slot] = []
    for time in range(count):
        span = rng.choice([0, 1, 1, 2, 3, 5, rng.randrange(1, count)])
        factor = rng.choice([1, 2, 3, 8, rng.randrange(1, 200)]) * ALIGNMENT
        found.append(Slot(rng.choice(units) * factor, time, min(time + span, count)))
    rng.shuffle(found)
    return found


def placed(slots: list[Slot], sizes: list[int]) -> tuple[list[int], int]:
    offsets, end, _ = lay_out(slots).place(sizes, 0, operator.add, max)
    return offsets, end


def check_disjoint(slots: list[Slot], sizes: list[int]) -> int:
    offsets, end = placed(slots, sizes)
    for i, one in enumerate(slots):
        assert offsets[i] % ALIGNMENT == 0 and offsets[i] + sizes[i] <= end
        for j, other in enumerate(slots[:i]):
            if one.first <= other.last and other.first <= one.last:
                apart = offsets[i] + sizes[i] <= offsets[j] or offsets[j] + sizes[j] <= offsets[i]
                assert apart, (one, other)
    return end


def in_use_at_once(slots: list[Slot], sizes: list[int]) -> int:
    times = {slot.first for slot in slots}
    at = lambda t: sum(z for s, z in zip(slots, sizes) if s.first <= t <= s.last)
    return max(map(at, times))


@pytest.mark.parametrize("seed", range(12))
def test_slots_in_use_together_are_disjoint_and_the_arena_is_small(seed: int) -> None:
    slots = random_slots(seed, 60, 1)
    sizes = [int(slot.size) for slot in slots]
    end = check_disjoint(slots, sizes)
    assert end <= 1.1 * in_use_at_once(slots, sizes)
    assert placed(slots, sizes) == placed(slots, sizes)


@pytest.mark.parametrize("seed", range(6))
def test_slots_of_any_sizes_are_disjoint(seed: int) -> None:
    """One layout holds for all sizes, also where they rank otherwise than it was made for."""
    slots = random_slots(seed, 40, 1, N, M, maximum(N - M, 0), N * M)
    for n, m in ((0, 0), (1, 1), (64, 64), (1, 5000), (700, 2)):
        check_disjoint(slots, [_number(slot.size, n, m) for slot in slots])


def _number(size: Dim, n: int, m: int) -> int:
    numbers = {"n": n, "m": m}
    return evaluate(size, {s: numbers[s.name] for s in symbols_of(size)})


def test_sizes_that_grow_together_lose_nothing() -> None:
    fixed = random_slots(3, 60, 1)
    slots = [replace(slot, size=slot.size * N) for slot in fixed]
    for n in (1, 3, 1000):
        sizes = [_number(slot.size, n, 0) for slot in slots]
        assert check_disjoint(slots, sizes) == n * check_disjoint(fixed, [s // n for s in sizes])


def test_what_stands_too_high_is_placed_first() -> None:
    """Blocks of a transformer: the projections of queries, keys and values are freed while their
    slices are in use, and what follows is larger than they were by little."""
    block = [(1, 8, 8), (2, 5, 24), (3, 6, 8), (4, 6, 8), (5, 6, 8), (6, 7, 8), (6, 6, 17)]
    block += [(7, 8, 8), (8, 9, 8), (9, 11, 8), (10, 11, 32), (11, 12, 8)]
    slots = [
        Slot(units * ALIGNMENT, first + 11 * n, last + 11 * n)
        for n in range(12)
        for first, last, units in block
    ]
    sizes = [int(slot.size) for slot in slots]
    assert check_disjoint(slots, sizes) == in_use_at_once(slots, sizes)


def test_very_many_slots_are_placed_as_they_come_into_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena_layout, "MOST_ORDERED", 100)
    slots = random_slots(5, 300, 1)
    sizes = [int(slot.size) for slot in slots]
    end = check_disjoint(slots, sizes)
    assert end < 1.25 * in_use_at_once(slots, sizes)


def test_scratch_begins_behind_what_is_in_use_beside_it() -> None:
    """First 8 units, then 1 with scratch: the scratch of each worker needs none of the 8 again."""
    unit = ALIGNMENT
    slots, sizes = [Slot(8 * unit, 1, 1), Slot(unit, 2, 3)], [8 * unit, unit]

    def ends(*times: int) -> tuple[int, int]:
        _, last, scratch = lay_out(slots, times).place(sizes, 0, operator.add, max)
        return last, scratch

    assert ends(2, 3) == (8 * unit, unit)
    assert ends(1, 3) == (8 * unit, 8 * unit)
    assert ends(4) == (8 * unit, 0)


def test_no_slots() -> None:
    assert lay_out([]).place([], 7, operator.add, max) == ([], 7, 7)


# -- plans


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_read_that_was_overwritten(seed: int) -> None:
    for c in (random_control_flow(seed), random_graph(seed)[0]):
        check_memory(plan_without_code(c))


CHAIN = """\
computation(%x: f32[n,8], %w: f32[8,8]) {
  %a = mat_mul(%x, %w) {transpose_a=False, transpose_b=False} : f32[n,8]
  %b = mat_mul(%a, %w) {transpose_a=False, transpose_b=False} : f32[n,8]
  %c = mat_mul(%b, %w) {transpose_a=False, transpose_b=False} : f32[n,8]
  %d = mat_mul(%c, %a) {transpose_a=False, transpose_b=True} : f32[n,n]
  return %d
}"""


def test_a_slot_that_is_free_too_early_is_seen() -> None:
    plan = plan_without_code(parse_computation(CHAIN))
    check_memory(plan)
    first = plan.places[plan.steps[0].node.output].slot  # type: ignore[union-attr]
    plan.slots[first].last -= 2
    with pytest.raises(AssertionError, match="is gone from"):
        check_memory(plan)


def test_the_plan_says_how_much_is_in_use_at_once() -> None:
    plan = plan_without_code(parse_computation(CHAIN))
    taken, least = measured(plan, dict.fromkeys(symbols_of(plan.slots[0].size), 64))
    assert least == 3 * 64 * 8 * 4 + 576  # a, b and c, and w in panels for the product of b
    assert least <= taken < 1.05 * least
    assert "where n is 1" in plan_text(plan)
