"""`tf.flags.FLAGS`: absl's flags, read from the command line when they are first asked for.

In: `sys.argv`. Out: the values of flags. Invariant: a program may read flags at the top of a
module, before anything like `tf.app.run` has parsed them, as in TensorFlow 1; absl by itself
refuses that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from absl import flags


class FlagValues:
    """What absl's `FLAGS` has, parsed at the first look at a flag. Raises `AttributeError` for one
    that nobody defined, and absl's errors for values that do not fit."""

    def __getattr__(self, name: str) -> Any:
        found = flags.FLAGS
        if name in found and not found.is_parsed():
            found(sys.argv)
        return getattr(found, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(flags.FLAGS, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(flags.FLAGS, name)

    def __getitem__(self, name: str) -> Any:
        return flags.FLAGS[name]

    def __setitem__(self, name: str, flag: Any) -> None:
        flags.FLAGS[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in flags.FLAGS

    def __iter__(self) -> Iterator[str]:
        return iter(flags.FLAGS)

    def __len__(self) -> int:
        return len(flags.FLAGS)

    def __dir__(self) -> list[str]:
        return dir(flags.FLAGS)

    def __call__(self, argv: Any, known_only: bool = False) -> list[str]:
        return flags.FLAGS(argv, known_only=known_only)

    def __repr__(self) -> str:
        return repr(flags.FLAGS)


FLAGS = FlagValues()


def __getattr__(name: str) -> Any:
    return getattr(flags, name)  # `tf.app.flags` is this module
