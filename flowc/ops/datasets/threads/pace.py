"""When threads are worth it: where elements take long.

In: how long elements took, one after the other and with threads. Out: whether threads are to begin,
or to end.

Native code and whatever waits release Python's lock, so threads are worth it where elements take
long and wait or compute there; where Python does the work, handing elements from thread to thread
only adds to it. Which it is, is measured: until elements take more than `LONG`, the consumer
computes them; then threads are tried, and stay if asking takes less time than it took alone.
"""

from __future__ import annotations

import time
from statistics import median

from flowc.ops.datasets.dataset import Trials

LONG = 0.0003  # seconds that an element takes
PLAINLY = 50  # so many times as long, it takes long without doubt
SAMPLE = 8  # elements that tell
TRIAL = 32  # elements that tell what threads are worth
FEWEST = 3  # times that elements were asked for which tell
GAIN = 0.9  # of the time without threads: with them it is to be less
LOSSES = 8  # trials in a row without a gain, after which threads end: other processes disturb one
STAY = 2048  # elements of threads before they are measured again
PAUSE = 512  # elements before threads are tried again; four times as many after each trial


class Pace:
    """Measures the time from one element to the next, and decides whether threads make them. The
    first element, which compiles, is not counted, nor are the first `lead` ones of threads, which
    begin with none ready. One step of an iterator tries threads at a time. When another step starts
    or stops threads, what was measured before is dropped.

    A step that `hurries` starts threads at once where an element clearly takes long; others let the
    steps before them try first.

    Without threads the median is compared, since the consumer may pause; with threads the mean
    without the longest, since elements arrive in bursts.
    """

    def __init__(self, lead: int, trials: Trials, hurries: bool = True) -> None:
        self._lead, self._trials, self._hurries = lead, trials, hurries
        self._pause = PAUSE // 4
        self._sequential = 0.0  # seconds from one element to the next, where who asks makes them
        self._last = 0.0
        self._begin(0)

    def _begin(self, skipped: int) -> None:
        self._count = -skipped
        self._made: list[float] = []
        self._between: list[float] = []
        self._asks: list[tuple[float, int]] = []  # seconds, and elements that threads gave in them
        self._losses = 0
        self._switches = self._trials.switches

    def _lap(self) -> float:
        now = time.perf_counter()
        before, self._last = self._last, now
        return now - before

    def begins(self, seconds: float, count: int = 1) -> bool:
        """Whether threads are to begin, now that who asked made `count` more elements in so many
        seconds."""
        is_first = not self._last
        between = self._lap()
        if is_first or self._trials.tries not in (None, self):
            return False
        if self._switches != self._trials.switches:
            self._begin(max(0, -self._count))
        self._count += count
        if self._count <= 0:
            return False
        self._made.append(seconds / count)
        self._between.append(between / count)
        is_plain = seconds > PLAINLY * LONG * count
        is_known = len(self._made) >= FEWEST
        if not (is_known and self._count >= SAMPLE) and not (
            is_plain and (is_known or self._hurries)
        ):
            return False
        is_long = median(self._made) > LONG
        self._sequential = median(self._between)
        if is_long:
            self._trials.tries = self
            self._trials.switches += 1
        self._begin(self._lead if is_long else 0)
        return is_long

    def ends(self, count: int = 1) -> bool:
        """Whether threads are to end, now that `count` more elements of theirs were asked for. They
        end now and then although they are a gain, so that what it takes without them is known."""
        between = self._lap()
        is_lead = self._count < 0
        self._count += count
        if not is_lead:
            self._asks.append((between, count))
        if len(self._asks) <= FEWEST or sum(n for _, n in self._asks) < TRIAL:
            return False
        usual = sorted(self._asks)[:-1]
        taken, made = (sum(part) for part in zip(*usual))
        self._asks.clear()
        is_loss = (
            taken >= GAIN * self._sequential * made and self._switches == self._trials.switches
        )
        self._losses = self._losses + 1 if is_loss else 0
        if 0 < self._losses < LOSSES:
            return False
        if self._trials.tries is self:
            self._trials.tries = None
            self._pause = 4 * self._pause if is_loss else PAUSE
        if not is_loss and (self._count < STAY or self._trials.tries is not None):
            return False
        self._trials.switches += 1
        self._begin(self._pause if is_loss else 0)
        return True
