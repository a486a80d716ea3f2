"""What a traced run notes: when each of its steps begins and ends.

In: a frame whose caller gave the address of a log in `status[LOG_WORD]`. Out: in the log the number
of notes, then three words each: the number of the step, the nanoseconds since 1970 at which it
began and ended. Invariant: when the log is full, further entries are dropped and the run goes on.
"""

from __future__ import annotations

from llvmlite import ir

from flowc.codegen.compiled import LOG_WORD, MOST_NOTES
from flowc.codegen.driver.frame import RunFrame
from flowc_runtime.native.writer import I32, I64, i64

REALTIME = 0  # of `clock_gettime`


class StepTrace:
    """Emits the notes of one run."""

    def __init__(self, frame: RunFrame) -> None:
        self._frame, self._b = frame, frame.b
        self._time = frame.variable(I64, "time", 2)
        address = frame.b.load(frame.element(frame.status, LOG_WORD))
        self._log = frame.b.inttoptr(address, I64.as_pointer())

    def now(self) -> ir.Value:
        b, frame = self._b, self._frame
        clock = frame.declare("clock_gettime", I32, [I32, I64.as_pointer()])
        b.call(clock, [ir.Constant(I32, REALTIME), self._time])
        seconds, rest = (b.load(frame.element(self._time, i)) for i in range(2))
        return b.add(b.mul(seconds, i64(1_000_000_000)), rest)

    def note(self, step: int, start: ir.Value) -> None:
        """A step has ended that began at `start`."""
        b = self._b
        count = b.load(self._log)
        with b.if_then(b.icmp_signed("<", count, i64(MOST_NOTES)), likely=True):
            at = b.add(b.mul(count, i64(3)), i64(1))
            for i, word in enumerate((i64(step), start, self.now())):
                b.store(word, b.gep(self._log, [b.add(at, i64(i))]))
            b.store(b.add(count, i64(1)), self._log)
