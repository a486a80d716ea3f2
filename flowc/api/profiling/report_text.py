"""A view of `tf.profiler.profile` as a text.

In: the messages of a view. Out: a line for each node: its own numbers and the totals below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

# What may be selected -> its field, what the number is called.
_SHOWN = {
    "bytes": ("requested_bytes", "B"),
    "peak_bytes": ("peak_bytes", "B"),
    "residual_bytes": ("residual_bytes", "B"),
    "output_bytes": ("output_bytes", "B"),
    "micros": ("exec_micros", "us"),
    "accelerator_micros": ("accelerator_exec_micros", "us"),
    "cpu_micros": ("cpu_exec_micros", "us"),
    "params": ("parameters", " params"),
    "float_ops": ("float_ops", " flops"),
}


def report_of(root: Any, cmd: str, select: Sequence[str]) -> str:
    """The whole report."""
    chosen = [name for name in select if name in _SHOWN]
    head = f"{'op type' if cmd == 'op' else 'node'} | {' | '.join(chosen)}"
    lines = _types(root, chosen) if cmd == "op" else _nodes(root, chosen)
    return "\n".join([head, *lines]) + "\n"


def _nodes(root: Any, chosen: Sequence[str]) -> Iterator[str]:
    left = [(root, 0)]
    while left:
        node, depth = left.pop()
        parts = [_both(node, name) for name in chosen]
        yield f"{'  ' * depth}{node.name} ({', '.join(parts)})"
        left += [(child, depth + 1) for child in reversed(node.children)]


def _both(node: Any, name: str) -> str:
    field, unit = _SHOWN[name]
    own = getattr(node, field)
    return f"{_short(own) if own else '--'}/{_short(getattr(node, f'total_{field}'))}{unit}"


def _types(root: Any, chosen: Sequence[str]) -> Iterator[str]:
    """Each type with its share of the whole."""
    node = root
    while node.children:
        (node,) = node.children
        parts: list[str] = []
        for name in chosen:
            field, unit = _SHOWN[name]
            own, whole = getattr(node, field), getattr(root, f"total_{field}")
            parts.append(f"{_short(own)}{unit} ({own / (whole or 1):.2%})")
        yield f"{node.name:24} {', '.join(parts)}"


def _short(number: int) -> str:
    for limit, letter in ((10**9, "b"), (10**6, "m"), (10**3, "k")):
        if number >= limit:
            return f"{number / limit:.2f}{letter}"
    return str(number)
