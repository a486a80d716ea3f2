"""A profile as a page of HTML that needs nothing beside itself.

In: the steps of runs. Out: the page: a timeline with a bar for each step, the memory of tensors
over the same time, and a table. Invariant: names of the model are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from flowc.api.profiling.steps import StepTotal, bytes_alive
from flowc.run.step_stats import StepTimes

_WIDTH, _ROW, _MEMORY = 1200, 22, 140  # pixels
_MOST_ROWS = 500  # of the table
_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 2em; color: #222; }
svg { background: #fafafa; border: 1px solid #ddd; }
table { border-collapse: collapse; margin-top: 1em; }
td, th { padding: 2px 10px; text-align: right; border-bottom: 1px solid #eee; }
td:last-child, th:last-child { text-align: left; }
rect:hover { opacity: .6; }
"""


def page_of(title: str, runs: Sequence[Sequence[StepTimes]], totals: Sequence[StepTotal]) -> str:
    """The whole page."""
    shown = _middle(runs)
    parts = [
        f"<!doctype html><meta charset=utf-8><title>{escape(title)}</title>",
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1>",
        f"<p>{len(runs)} runs; a run of middle length:</p>" if runs else "<p>No run.</p>",
        *_pictures(shown),
        *_table(totals, len(runs)),
    ]
    return "\n".join(parts) + "\n"


def _middle(runs: Sequence[Sequence[StepTimes]]) -> Sequence[StepTimes]:
    found = sorted((run for run in runs if run), key=_length)
    return found[len(found) // 2] if found else ()


def _length(run: Sequence[StepTimes]) -> int:
    return max(s.end for s in run) - min(s.start for s in run)


def _colour(kind: str, ops: str) -> str:
    """One for each kind of step and set of ops, the same in every picture."""
    hue = sum(ord(c) * (i + 7) for i, c in enumerate(kind + ops)) * 37 % 360
    return f"hsl({hue} 55% 62%)"


def _pictures(run: Sequence[StepTimes]) -> Iterator[str]:
    if not run:
        return
    begin, length = min(s.start for s in run), max(_length(run), 1)
    at = lambda moment: (moment - begin) / length * _WIDTH
    depths = _depths(run)
    height = (max(depths) + 1) * _ROW + 4
    yield f"<h2>{length / 1e3:,.1f} us</h2>"
    yield f'<svg width="{_WIDTH}" height="{height}" class="timeline">'
    for step, depth in zip(run, depths):
        took = (step.end - step.start) / 1e3
        words = f"{step.ops}\n{step.nodes[-1]}\n{took:,.1f} us, {step.bytes:,} bytes"
        wide = max(at(step.end) - at(step.start), 0.5)
        yield (
            f'<rect x="{at(step.start):.2f}" y="{depth * _ROW + 2}" width="{wide:.2f}" '
            f'height="{_ROW - 2}" fill="{_colour(step.kind, step.ops)}">'
            f"<title>{escape(words)}</title></rect>"
        )
    yield "</svg>"
    alive = bytes_alive(run)
    peak = max([held for _, held in alive] or [0])
    yield f"<h2>{peak:,} bytes of tensors at most</h2>"
    yield f'<svg width="{_WIDTH}" height="{_MEMORY}" class="memory">'
    yield f'<path fill="#9ecae1" d="{_area(alive, at, max(peak, 1))}"/></svg>'


def _depths(run: Sequence[StepTimes]) -> list[int]:
    """In how many other steps each runs: loops hold those of their bodies."""
    ends: list[int] = []
    found: list[int] = []
    for step in run:
        while ends and ends[-1] <= step.start:
            ends.pop()
        found.append(len(ends))
        ends.append(step.end)
    return found


def _area(alive: Sequence[tuple[int, int]], at: object, peak: int) -> str:
    assert callable(at)
    points = ["M0", str(_MEMORY)]
    level = _MEMORY
    for moment, held in alive:
        x = f"{at(moment):.2f}"
        points += [f"L{x}", str(level)]
        level = round(_MEMORY - held / peak * (_MEMORY - 8), 1)
        points += [f"L{x}", str(level)]
    return " ".join([*points, f"L{_WIDTH}", str(level), f"L{_WIDTH}", str(_MEMORY), "Z"])


def _table(totals: Sequence[StepTotal], runs: int) -> Iterator[str]:
    whole = sum(t.nanoseconds for t in totals) or 1
    yield "<table><tr><th>us/run<th>share<th>times<th>bytes<th>kind<th>operations"
    for total in totals[:_MOST_ROWS]:
        step = total.step
        per_run = total.nanoseconds / 1e3 / max(runs, 1)
        names = f"<b>{escape(step.ops)}</b> {escape(' '.join(step.nodes[-8:]))}"
        yield (
            f"<tr><td>{per_run:,.1f}<td>{total.nanoseconds / whole:.1%}<td>{total.times}"
            f"<td>{total.bytes:,}<td>{escape(step.kind)}<td>{names}"
        )
    yield "</table>"
