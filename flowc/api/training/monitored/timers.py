"""When a hook acts: every so many steps or seconds.

In: steps as they come. Out: whether it is time, and what passed since the last time.
"""

from __future__ import annotations

import time


class SecondOrStepTimer:
    """Triggers at the first step, and then every `every_secs` seconds or every `every_steps` steps;
    never twice for one step. Raises `ValueError` unless exactly one of the two is given."""

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets what was."""
        self._last: tuple[int, float] | None = None  # step, seconds

    def should_trigger_for_step(self, step: int) -> bool:
        if self._last is None:
            return True
        last_step, last_time = self._last
        if last_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= last_time + self._every_secs
        assert self._every_steps is not None
        return step >= last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that it triggered now; gives (seconds, steps) since the last time, or Nones."""
        before, now = self._last, time.time()
        self._last = (step, now)
        return (None, None) if before is None else (now - before[1], step - before[0])

    def last_triggered_step(self) -> int | None:
        return None if self._last is None else self._last[0]


class NeverTriggerTimer(SecondOrStepTimer):
    """Never triggers."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        return False
