"""When threads make a dataset's elements: by how long it is from one to the next, on a clock of
the test's own."""

from __future__ import annotations

import pytest

from flowc.ops.datasets.dataset import Trials
from flowc.ops.datasets.threads import pace
from flowc.ops.datasets.threads.pace import LONG, LOSSES, PAUSE, SAMPLE, STAY, TRIAL, Pace

LEAD = 4


class Clock:
    def __init__(self) -> None:
        self.now = 1.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(pace, "time", found)
    return found


def alone(pace: Pace, clock: Clock, seconds: float, most: int) -> int:
    """How many elements it takes until threads begin; `most` where they do not."""
    for count in range(most):
        clock.now += seconds
        if pace.begins(seconds):
            return count
    return most


def threaded(pace: Pace, clock: Clock, seconds: float, most: int) -> int:
    """How many elements it takes until threads end; `most` where they do not."""
    for count in range(most):
        clock.now += seconds
        if pace.ends():
            return count
    return most


def test_short_elements_need_no_threads(clock: Clock) -> None:
    assert alone(Pace(LEAD, Trials()), clock, LONG / 2, 1000) == 1000


def test_threads_that_are_a_gain_stay(clock: Clock) -> None:
    pace = Pace(LEAD, Trials())
    assert alone(pace, clock, 4 * LONG, 1000) == SAMPLE
    assert threaded(pace, clock, 2 * LONG, 1000) == 1000


@pytest.mark.parametrize("times", [1, 3])
def test_threads_that_are_none_end_and_are_tried_again_later(clock: Clock, times: int) -> None:
    pace = Pace(LEAD, Trials())
    alone(pace, clock, 4 * LONG, 1000)
    assert threaded(pace, clock, times * 4 * LONG, 1000) == LEAD + LOSSES * TRIAL - 1
    assert alone(pace, clock, 4 * LONG, 1000) == PAUSE + SAMPLE - 1
    threaded(pace, clock, times * 4 * LONG, 1000)
    assert alone(pace, clock, 4 * LONG, 10_000) == 4 * PAUSE + SAMPLE - 1


def test_threads_that_become_slow_end(clock: Clock) -> None:
    pace = Pace(LEAD, Trials())
    alone(pace, clock, 4 * LONG, 1000)
    threaded(pace, clock, 2 * LONG, 100)
    assert threaded(pace, clock, 40 * LONG, 1000) < (LOSSES + 1) * TRIAL


def test_what_disturbs_for_a_while_ends_no_threads(clock: Clock) -> None:
    pace = Pace(LEAD, Trials())
    alone(pace, clock, 4 * LONG, 1000)
    for _ in range(5):
        disturbed = (LOSSES - 2) * TRIAL
        assert threaded(pace, clock, 8 * LONG, disturbed) == disturbed
        assert threaded(pace, clock, 2 * LONG, 2 * TRIAL) == 2 * TRIAL


def test_what_another_step_changed_is_not_compared(clock: Clock) -> None:
    trials = Trials()
    inner, outer = Pace(LEAD, trials), Pace(LEAD, trials)
    alone(inner, clock, 4 * LONG, 1000)
    threaded(inner, clock, 2 * LONG, LEAD + TRIAL)
    alone(outer, clock, 4 * LONG, 1000)
    assert trials.tries is outer
    assert threaded(inner, clock, 8 * LONG, 2 * STAY) == 2 * STAY  # while another one tries
    threaded(outer, clock, 2 * LONG, LEAD + TRIAL)
    assert threaded(inner, clock, 8 * LONG, 2 * TRIAL) == TRIAL - 1
    assert alone(inner, clock, 8 * LONG, 1000) < PAUSE  # it was no loss


def test_a_pause_of_who_asks_says_nothing_about_threads(clock: Clock) -> None:
    pace = Pace(LEAD, Trials())
    alone(pace, clock, 4 * LONG, 4)
    clock.now += 100
    alone(pace, clock, 4 * LONG, 1000)
    assert threaded(pace, clock, 8 * LONG, 1000) < 1000


def test_one_step_tries_threads_at_a_time(clock: Clock) -> None:
    trials = Trials()
    inner, outer = Pace(LEAD, trials), Pace(LEAD, trials)
    alone(inner, clock, 4 * LONG, 1000)
    assert alone(outer, clock, 100 * LONG, 20) == 20
    threaded(inner, clock, 2 * LONG, LEAD + TRIAL)
    assert alone(outer, clock, 4 * LONG, 1000) == SAMPLE - 1


def test_the_first_element_compiles_and_says_nothing(clock: Clock) -> None:
    pace = Pace(LEAD, Trials())
    clock.now += 5
    assert not pace.begins(5.0, count=2000)
    assert alone(pace, clock, LONG / 2, 1000) == 1000
