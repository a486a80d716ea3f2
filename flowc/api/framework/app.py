"""`tf.app`: how a TensorFlow 1 program starts. Its flags are absl's, as TensorFlow's own are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from absl import app

from flowc.api.framework import flag_values as flags


def run(main: Callable[[Any], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Reads the flags among `argv` (those of the process), calls `main` (that of the program) with
    the rest, and exits with what it returns. Flags that nobody defined are left among the rest.
    Raises `SystemExit`, also for flags that cannot be read."""
    called = main if main is not None else getattr(sys.modules["__main__"], "main", None)
    if called is None:
        raise ValueError("tf.app.run() calls the function `main` of the program, which has none")
    given = list(argv) if argv is not None else None
    app.run(main=called, argv=given, flags_parser=_known_flags)
    raise SystemExit(0)


def _known_flags(argv: Sequence[str]) -> list[str]:
    return flags.FLAGS(argv, known_only=True)
