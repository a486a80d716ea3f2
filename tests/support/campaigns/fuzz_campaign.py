"""Malformed graphs in numbers, for hours: `python fuzz_campaign.py COUNT [FIRST]`.

In: how many mutants, and the seed of the first. `--of`: `graphs` (graph_mutants.py), which are
compiled; `calls`, `rows` (session_mutants.py) and `feeds`, `feeds-of-ops`, `feeds-of-rows`
(fed_mutants.py), which a Session runs; `files` (file_mutants.py), which are read.
Out: on stdout a line for each fault as it is found, and a summary; with `--log FILE` the same in a
file that can be committed. The campaign goes on after a fault; exit code 1 says that there was one.
`--jobs`: processes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from campaigns.file_trials import FILES
from campaigns.mutant_trials import GRAPHS, Ending, endings
from campaigns.session_trials import CALLS, FED_OPS, FED_ROWS, FEEDS, ROWS

from flowc.version import FLOWC_VERSION

AT_ONCE = 256  # seeds of one task
KINDS = {"graphs": GRAPHS, "calls": CALLS, "rows": ROWS, "files": FILES}
KINDS |= {"feeds": FEEDS, "feeds-of-ops": FED_OPS, "feeds-of-rows": FED_ROWS}


def tried(kind: str, first: int, count: int) -> list[Ending]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(endings(range(first, first + count), KINDS[kind]))


def campaign(kind: str, first: int, count: int, jobs: int) -> tuple[Counter[str], list[Ending]]:
    """How often each ending was met, and the faults."""
    began, counts, faults = time.monotonic(), Counter[str](), list[Ending]()
    with ProcessPoolExecutor(jobs) as pool:
        starts = range(first, first + count, AT_ONCE)
        sizes = [min(AT_ONCE, first + count - start) for start in starts]
        for found in pool.map(partial(tried, kind), starts, sizes):
            counts.update(e.name for e in found)
            for ending in found:
                if ending.fault:
                    faults.append(ending)
                    print(f"seed {ending.seed}: {ending.fault}", flush=True)
            done, seconds = counts.total(), time.monotonic() - began
            rest = (count - done) * seconds / done / 3600
            print(
                f"{done} of {count}, {done / seconds:.1f} a second, {rest:.1f} h left", flush=True
            )
    return counts, faults


def summary(
    kind: str, first: int, counts: Counter[str], faults: list[Ending], seconds: float
) -> str:
    total = counts.total()
    lines = [
        f"flowc {FLOWC_VERSION}: {kind}, seeds {first} to {first + total - 1}, {seconds:.0f} s",
        f"tried {total}, faults {len(faults)}",
        *(f"  {count:7} {name}" for name, count in counts.most_common()),
    ]
    for ending in faults:
        last = (ending.fault or "").strip().splitlines()[-1]
        lines.append(f"seed {ending.seed}: {ending.name}: {last}")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--of", choices=sorted(KINDS), default="graphs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    began = time.monotonic()
    counts, faults = campaign(given.of, given.first, given.count, given.jobs)
    text = summary(given.of, given.first, counts, faults, time.monotonic() - began)
    print(text, end="")
    if given.log is not None:
        given.log.parent.mkdir(parents=True, exist_ok=True)
        given.log.write_text(text)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
