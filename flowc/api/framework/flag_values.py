"""`tf.flags.FLAGS`: absl's flags, which read the command line by themselves.

In: `sys.argv`. Out: values of flags. Invariant: the flags are those of absl; only a value that is
asked for before anything has read the command line differs: it is read then, as TensorFlow does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from absl import flags


class ParsedFlags:
    """The flags of absl, which read `sys.argv` when the first value is asked for."""

    def __getattr__(self, name: str) -> Any:
        # Methods, and what Python asks of any object, are found without the command line.
        is_flag = not name.startswith("_") and not hasattr(flags.FlagValues, name)
        if is_flag and not flags.FLAGS.is_parsed():
            flags.FLAGS(sys.argv)
        return getattr(flags.FLAGS, name)

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

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        return flags.FLAGS(argv, known_only)

    def __str__(self) -> str:
        return str(flags.FLAGS)


FLAGS = ParsedFlags()


def __getattr__(name: str) -> Any:
    """The rest of `tf.app.flags`: what absl has."""
    return getattr(flags, name)
