"""`flowc ops`: the coverage table, read from the op records."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import click

from flowc.cli.parameters import debug_option, json_option, op_library_option

if TYPE_CHECKING:
    from flowc.ir.op import Op

SCHEMA = 1


@click.command("ops")
@click.argument("names", nargs=-1, metavar="[OP]...")
@click.option("--missing", is_flag=True, help="List those that flowc does not have, and why.")
@click.option(
    "--target",
    type=click.Choice(["cuda"]),
    help="Say which run on a GPU, and why the others stay on the host.",
)
@json_option
@op_library_option
@debug_option
def ops_command(names: tuple[str, ...], missing: bool, target: str | None, as_json: bool) -> None:
    """List the TensorFlow ops that flowc knows: their dtypes, how they become code, and whether
    they have a gradient. With OP, only those."""
    if missing:
        _show_missing(as_json)
        return
    from flowc.errors import UnknownNameError, did_you_mean

    rows = coverage()
    known = {row["op"]: row for row in rows}
    for name in names:
        if name not in known:
            raise UnknownNameError(
                f"flowc has no op named {name!r}", hint=did_you_mean(name, known)
            )
    if names:
        rows = [known[name] for name in dict.fromkeys(names)]
    if target is not None:
        rows = _on_gpu(rows)
    if as_json:
        json.dump({"schema": SCHEMA, "ops": rows}, sys.stdout, indent=2)
        print()
        return
    if target is not None:
        _show_on_gpu(rows)
        return
    width = max(len(row["op"]) for row in rows)
    for row in rows:
        gradient = "gradient" if row["gradient"] else ""
        print(
            f"{row['op']:<{width}}  {row['lowering']:<12}  {gradient:<8}  {_dtypes(row)}".rstrip()
        )
    if not names:
        compiled = sum(row["compiles"] for row in rows)
        print(f"{len(rows)} ops, of which {compiled} compile", file=sys.stderr)


def _on_gpu(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ops that compile, each with the reason for which it stays on the host (None: it runs on
    the GPU), as `gpu_ops.py` of the tests finds it by the ops' examples; of registered ops, as
    their kernels say."""
    from flowc.extending.registration import registered_ops

    text = files("flowc.cli").joinpath("host_ops_of_gpus.txt").read_text()
    reasons: dict[str, str | None] = {}
    for line in text.splitlines():
        reason, _, names = line.partition(": ")
        reasons |= dict.fromkeys(names.split(), reason)
    reasons |= {name: kernels.host_reason for name, kernels in registered_ops().items()}
    return [{"op": r["op"], "host": reasons.get(r["op"])} for r in rows if r["compiles"]]


def _show_on_gpu(rows: list[dict[str, Any]]) -> None:
    width = max((len(row["op"]) for row in rows), default=0)
    for row in rows:
        print(f"{row['op']:<{width}}  {'host: ' + row['host'] if row['host'] else 'native'}")
    native = sum(row["host"] is None for row in rows)
    print(f"{native} ops run on a GPU, {len(rows) - native} on the host beside it", file=sys.stderr)


def _show_missing(as_json: bool) -> None:
    from flowc.cli.missing_ops import missing_ops

    rows = missing_ops()
    if as_json:
        found = [{"op": name, "reason": reason} for name, reason in rows]
        json.dump({"schema": SCHEMA, "missing": found}, sys.stdout, indent=2)
        print()
        return
    for reason in dict.fromkeys(reason for _, reason in rows):
        names = [name for name, why in rows if why == reason]
        print(f"{reason} ({len(names)})")
        print(textwrap.indent(textwrap.fill(" ".join(names), 96, break_on_hyphens=False), "  "))
    print(f"{len(rows)} ops of TensorFlow are missing", file=sys.stderr)


def coverage() -> list[dict[str, Any]]:
    """One row for every TensorFlow op type with a record that a graph may hold, by name."""
    from flowc.extract.unsupported_ops import is_supported
    from flowc.ops import tf_names, tf_op

    rows = []
    for name in sorted(tf_names()):
        op = tf_op(name)
        assert op is not None
        rows.append(
            {
                "op": name,
                "compiles": is_supported(name),
                "lowering": _lowering(op),
                "gradient": op.gradient is not None,
                "dtypes": {attr: list(found) for attr, found in _type_attrs(op)},
                "examples": len(op.examples),
            }
        )
    return rows


def _lowering(op: Op) -> str:
    """The kind of lowering; an op whose types or attrs decide it says so."""
    kind = type(op.lowering).__name__
    return "by type" if kind in ("function", "method", "partial") else kind.lower()


def _type_attrs(op: Op) -> Iterable[tuple[str, list[str]]]:
    """The dtypes that each type attr takes; an empty list stands for every dtype."""
    for attr in op.signature.attrs.values():
        if attr.kind in ("type", "list(type)"):
            yield attr.name, [d.short for d in attr.allowed or ()]


def _dtypes(row: dict[str, Any]) -> str:
    return "; ".join(f"{k}: {' '.join(v) or 'any'}" for k, v in row["dtypes"].items())
