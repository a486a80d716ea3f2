"""The rows of a comparison as Markdown.

In: what compare.py wrote as JSON. Out: text: the machine, versions, a table for each thread count,
target and kind, geometric means. A ratio says how many times our time the best peer took: above 1
we are ahead. Only peers whose results are right take part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

BOUND = 2e-3  # of the greatest element: what f32 leaves of deep networks, in any order of sums
OWN_PROCESS = ("networks", "models")  # layers share one: most of the time would go into imports
KINDS = {
    "networks": "Networks with weights from a seed",
    "models": "Models",
    "products": "Products of matrices",
    "convolutions": "Convolutions, with bias and ReLU",
    "depthwise": "Depthwise convolutions, with bias and ReLU6",
    "pooling": "Pooling and resizing",
    "rows": "Softmax, layer norm, reductions",
    "moves": "Transposes, gathers, concat, slices",
}

Row = Mapping[str, Any]


def markdown_of(found: Mapping[str, Any]) -> str:
    rows: Sequence[Row] = found["rows"]
    lines = ["# Beside other engines", "", "Written by `make bench BENCH=peers`.", ""]
    lines += ["| machine | |", "| --- | --- |"]
    lines += [f"| {key} | {value} |" for key, value in found["machine"].items()]
    lines += [f"| {name} | {version} |" for name, version in _versions(rows).items()]
    lines += [
        "",
        "Milliseconds of a run, minimum / median over all turns, batch as the case says. `ahead`:"
        " the time of the best peer divided by ours, by medians and by minima. `first`: seconds"
        " from opening the graph to our first result, with an empty cache (layers share a process,"
        " so that the first of them takes more), in brackets from the start of a process, where"
        " that was measured; with XLA, its seconds behind ours. `error`: the greatest difference"
        " from TensorFlow's results beside their greatest element, ours and the worst peer's."
        " `f64`: the same beside what TensorFlow computes in f64, ours and the peers', least and"
        f" greatest. Who is off by more than {BOUND} of f64, or of TensorFlow where that is not"
        " known, is no peer. Other targets than native hold for the libraries of TensorFlow and"
        " OpenVINO, too; ONNX Runtime finds no AVX-512 where processors can be told to hide it.",
    ]
    for threads, target in dict.fromkeys((r["threads"], r["target"]) for r in rows):
        part = [r for r in rows if (r["threads"], r["target"]) == (threads, target)]
        lines += ["", f"## {threads} thread{'s' * (threads > 1)}, target {target}", ""]
        lines += [*_means(part), *_first_results(part)]
        for kind, title in KINDS.items():
            of_kind = [r for r in part if r["kind"] == kind]
            if of_kind:
                lines += ["", f"### {title}", "", *_table(of_kind)]
        if any("shares" in r for r in part):
            lines += ["", "### Where the time of our runs goes", "", *_shares_table(part)]
    lines += _reasons(rows)
    return "\n".join(lines) + "\n"


def _versions(rows: Sequence[Row]) -> dict[str, str]:
    return {name: e["version"] for row in rows for name, e in row["engines"].items()}


def agrees(engine: Mapping[str, Any]) -> bool:
    """Whether its results are right: those of f64 say so where they are known, since rewrites
    of TensorFlow's own cost digits, too."""
    wide = engine.get("wide_error")
    return "min_ms" in engine and (engine["error"] if wide is None else wide) <= BOUND


def ahead(row: Row, figure: str) -> float | None:
    """The best peer's time divided by ours, None where either is missing."""
    engines = row["engines"]
    peers = [e[figure] for n, e in engines.items() if n != "flowc" and agrees(e)]
    return min(peers) / engines["flowc"][figure] if peers and agrees(engines["flowc"]) else None


def _means(rows: Sequence[Row]) -> list[str]:
    lines = [
        "| geometric mean | cases | ahead, medians | minima | behind on |",
        "| --- |" + " --- |" * 4,
    ]
    whole = [r for r in rows if r["kind"] in OWN_PROCESS]
    groups: dict[str, Iterable[Row]] = {
        "networks and models": whole,
        "convolutional ones": [r for r in whole if r["convolutional"]],
        "layers": [r for r in rows if r not in whole],
    }
    for name, group in groups.items():
        found = [
            (m, n) for r in group if (m := ahead(r, "median_ms")) and (n := ahead(r, "min_ms"))
        ]
        if found:
            medians, minima = zip(*found)
            behind = sum(m < 1 for m in medians)
            lines.append(
                f"| {name} | {len(found)} | {_geometric(medians):.2f} | {_geometric(minima):.2f} |"
                f" {behind} |"
            )
    return lines


def _first_results(rows: Sequence[Row]) -> list[str]:
    """How many first results come sooner than XLA's, of networks and models."""
    pairs: dict[str, list[tuple[float, float]]] = {"opening": [], "start": []}
    behind: list[str] = []
    for row in rows:
        ours, xla = (row["engines"].get(name, {}) for name in ("flowc", "xla"))
        if row["kind"] in OWN_PROCESS and "first_s" in ours and "first_s" in xla:
            pairs["opening"].append((ours["first_s"], xla["first_s"]))
            if "ready_s" in ours and "ready_s" in xla:
                whole = [e["ready_s"] + e["first_s"] for e in (ours, xla)]
                pairs["start"].append((whole[0], whole[1]))
            behind += [row["name"]] * (ours["first_s"] > xla["first_s"])
    if not pairs["opening"]:
        return []
    sooner = {k: f"{sum(a <= b for a, b in v)} of {len(v)}" for k, v in pairs.items()}
    text = f"First results sooner than XLA's: {sooner['opening']} from opening the graph"
    if pairs["start"]:
        text += f", {sooner['start']} from the start of a process"
    return ["", text + (f"; after it, from opening: {', '.join(behind)}." if behind else ".")]


def _geometric(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _table(rows: Sequence[Row]) -> list[str]:
    names = list(_versions(rows))
    wide = any(e.get("wide_error") is not None for r in rows for e in r["engines"].values())
    head = ["", *names, "ahead", "minima", "first", "error", *(["f64"] if wide else [])]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in rows:
        engines = row["engines"]
        cells = [row["name"], *(_times(engines.get(n, {})) for n in names)]
        ratios = [ahead(row, figure) for figure in ("median_ms", "min_ms")]
        cells += ["" if r is None else f"{r:.2f}" for r in ratios]
        ours = engines["flowc"]
        first = [_first(e, row["kind"]) for e in (ours, engines.get("xla", {})) if "first_s" in e]
        cells.append(" / ".join(first))
        others = [e["error"] for n, e in engines.items() if n != "flowc" and "error" in e]
        known = [ours["error"]] if "error" in ours else []
        cells.append(" / ".join(f"{e:.0e}" for e in (*known, max(others, default=0.0))))
        if wide:
            errors = {
                n: e for n in names if (e := engines.get(n, {}).get("wide_error")) is not None
            }
            own = errors.pop("flowc", None)
            ends = (
                []
                if own is None or not errors
                else [own, min(errors.values()), max(errors.values())]
            )
            cells.append(" / ".join(f"{e:.1e}" for e in ends))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _shares_table(rows: Sequence[Row]) -> list[str]:
    known = {r["name"]: r["shares"] for r in rows if "kinds" in r.get("shares", {})}
    if not known:
        return ["Not measured."]
    machine = next(iter(known.values()))
    kinds = list(dict.fromkeys(k for s in known.values() for k in s["kinds"]))
    head = ["", "reached", *kinds]
    lines = [
        "`reached`: the share of a run that its kernels would take if each had what the machine can"
        f" do at best ({machine['peak_gflops']:.0f} GFLOP/s of multiply-adds or"
        f" {machine['peak_gb_per_s']:.0f} GB/s read, both measured with as many threads). Winograd"
        " convolutions count the multiply-adds of plain ones, and at most as all of their time."
        " A kind: its share of the run, and in brackets how much of that is `reached`.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + " --- |" * len(head),
    ]
    for name, shares in known.items():
        cells = [name, f"{shares['reached']:.0%}"]
        for kind in kinds:
            part = shares["kinds"].get(kind)
            best = f" ({part['best'] / part['share']:.0%})" if part and part["best"] else ""
            cells.append(f"{part['share']:.0%}{best}" if part else "")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _first(engine: Mapping[str, Any], kind: str) -> str:
    if "ready_s" not in engine or kind not in OWN_PROCESS:
        return f"{engine['first_s']:.2f}"
    return f"{engine['first_s']:.2f} ({engine['ready_s'] + engine['first_s']:.2f})"


def _times(engine: Mapping[str, Any]) -> str:
    if "min_ms" not in engine:
        return "-"
    wrong = "" if agrees(engine) else " (other results)"
    return f"{_short(engine['min_ms'])} / {_short(engine['median_ms'])}{wrong}"


def _short(ms: float) -> str:
    return f"{ms:.3g}" if ms < 100 else f"{ms:.0f}"


def _reasons(rows: Sequence[Row]) -> list[str]:
    """Why engines have no time."""
    said: dict[str, None] = {}
    for row in rows:
        for name, engine in row["engines"].items():
            if "failed" in engine:
                text = engine["failed"].replace("|", "\\|")
                said[f"- {row['name']}, {name}: {text[:160]}"] = None
    return ["", "## Not run", "", *said] if said else []
