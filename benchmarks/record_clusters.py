"""Records the clusters whose kernels the package's library has: `record_clusters.py CASES`, where
CASES is the folder that `peers/prepare.py` filled.

Out: `flowc/cache/common_clusters.txt` and `other_clusters.txt`. Of each case its program is made up
to its kernels, for both levels that there are libraries for. Common are kernels that networks of
two families use, at least, and those of perceptrons and recurrent networks. Wanted are these, the
kernels of other networks and of layers that are everybody's (`peers/networks.py`,
`peers/layers.py`), and those that are written by hand, which no model has for itself. Each is had
by the smallest cluster that gives it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

FAMILIES = 2  # that use a common kernel, at least
PATTERNS = ("mlp", "lstm", "gru")  # small networks, which compile for longer than they run
TARGETS = ("x86-64-v3", "x86-64-v4")
Found = dict[str, list[str]]  # the kernels of clusters, by their texts
BY_HAND = "by hand"  # in the place of a text: the kernels that are no loops of a cluster's own


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder of what was found of each case before")
    parser.add_argument("--case", type=Path, help="what this case has alone, as JSON")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(clusters_of(options.case)))
        return
    cases = sorted(p.parent for p in options.cases.glob("*/case.json"))
    found = {case.name: _of_case(case, options.keep) for case in cases}
    by_hand = {key for clusters in found.values() for key in clusters.pop(BY_HAND, ())}
    from flowc.cache.recorded_clusters import RECORDED

    kinds = {case.name: json.loads((case / "case.json").read_text())["kind"] for case in cases}
    common = common_kernels({n: c for n, c in found.items() if kinds[n] in ("models", "networks")})
    others = {key for n in found if kinds[n] != "models" for key in kernels_in(found[n])}
    first = chosen(found, common)
    given = {key for clusters in found.values() for t in first for key in clusters.get(t, ())}
    rest = chosen(found, (by_hand | others) - given)
    for path, texts in zip(RECORDED, (first, rest)):
        path.write_text("\n\n".join(texts) + "\n")
        print(f"{len(found)} cases, {len(texts)} clusters: {path}")


def _of_case(case: Path, keep: Path | None) -> Found:
    """In a process of its own, as each model takes much memory."""
    kept = None if keep is None else keep / f"{case.name}.json"
    if kept is not None and kept.exists():
        return json.loads(kept.read_text())
    command = [sys.executable, __file__, str(case.parent), "--case", str(case)]
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            command, env={**os.environ, "FLOWC_CACHE_DIR": cache}, capture_output=True, text=True
        )
    if done.returncode:
        print(f"{case.name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    found = json.loads(done.stdout)
    print(f"{case.name}: {len(found)} clusters", file=sys.stderr)
    if kept is not None:
        kept.write_text(json.dumps(found))
    return found


class _Stopped(BaseException):
    """Ends a compilation whose kernels are known."""


def clusters_of(case: Path) -> Found:
    """The clusters of the first program of a case that give the same kernels by themselves."""
    import flowc.codegen.program as program
    from flowc.cache.recorded_clusters import cluster_of, kernels_of, text_of
    from flowc.codegen.targets import target_named
    from flowc.importer import load_graph
    from flowc.ir.bodies import nodes_within
    from flowc.ir.computation import Computation
    from flowc.ir.verifier import verify
    from flowc.run.session import Session

    found: Found = {}
    make = program.launches_of

    def noted(c: Computation, *_: Any, **__: Any) -> Any:
        program.launches_of = make
        nodes = [n for top in c.nodes for n in nodes_within(top) if n.op.name == "cluster"]
        made = {k: x for t in TARGETS for k, x in kernels_of(c, target_named(t)).items()}
        used = made.keys()
        for node in nodes:
            try:
                text = text_of(node)
                lone = cluster_of(text)
                verify(lone, "text", lowered=True)
                keys = {k for name in TARGETS for k in kernels_of(lone, target_named(name))}
            except Exception as error:  # sizes that only the whole program knows
                print(f"{case.name} {node.name}: {error}", file=sys.stderr)
                continue
            found[text] = sorted(keys & used)
        given = set().union(*found.values())
        found[BY_HAND] = sorted(key for key in given if made[key].nest is None)
        print(f"{case.name}: {len(given)} of {len(used)} kernels", file=sys.stderr)
        raise _Stopped

    program.launches_of = noted
    names = json.loads((case / "case.json").read_text())
    data = np.load(case / "case.npz", allow_pickle=True)
    feeds = {name: data[f"in_{i}"] for i, name in enumerate(names["feeds"])}
    with suppress(_Stopped):
        Session(graph=load_graph(case / "graph.pb")).run(names["fetches"], feeds)
    return found


def family(case: str) -> str:
    """What a model is one of: the first word of its name that tells it from others."""
    words = case.lower().replace("-", "_").split("_")
    word = next(w for w in words if w not in ("human", "std", "nsfwjs"))
    return word.rstrip("0123456789")[:8]


def kernels_in(clusters: Found) -> set[str]:
    """All kernels of a case."""
    return {key for keys in clusters.values() for key in keys}


def common_kernels(found: Mapping[str, Found]) -> set[str]:
    """Those that several families use, and those of networks that are their families' pattern."""
    users: dict[str, set[str]] = defaultdict(set)
    for case, clusters in found.items():
        for key in kernels_in(clusters):
            users[key].add(family(case))
    known = {key for case in found if family(case) in PATTERNS for key in kernels_in(found[case])}
    return known | {key for key, families in users.items() if len(families) >= FAMILIES}


def chosen(found: Mapping[str, Found], wanted: Collection[str]) -> list[str]:
    """Clusters that give all wanted kernels: by turns that which gives most, of these that with
    the shortest text."""
    clusters = {text: set(keys) for of_case in found.values() for text, keys in of_case.items()}
    left, texts = set(wanted), []
    while left:
        best = max(clusters, key=lambda t: (len(clusters[t] & left), -len(t), t))
        texts.append(best)
        left -= clusters.pop(best)
    return sorted(texts, key=_order)


def _kind(text: str) -> str:
    """The kind of a cluster."""
    return text.partition("{kind='")[2].partition("'")[0]


def _order(text: str) -> tuple[str, str]:
    return _kind(text), text


if __name__ == "__main__":
    main()
