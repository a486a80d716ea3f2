"""`tf.logging`: messages of programs, through the logger `tensorflow` of Python's `logging`.

In: messages and a verbosity. Out: lines on the standard error (`INFO:tensorflow:...`), or where the
program's own handlers put them. Warnings and worse are shown until `set_verbosity` says otherwise.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

DEBUG = logging.DEBUG
ERROR = logging.ERROR
FATAL = logging.FATAL
INFO = logging.INFO
WARN = logging.WARNING
_COUNTS = "call_counts"  # an attribute of the logger: message -> how often it was asked for


def _logger() -> logging.Logger:
    """TensorFlow's logger, which has a handler unless the program has one of its own."""
    found = logging.getLogger("tensorflow")
    if not found.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        found.addHandler(handler)
    if found.level == logging.NOTSET:
        found.setLevel(WARN)
    return found


def get_logger() -> logging.Logger:
    """The logger itself. Python's `Logger`. Raises nothing."""
    return _logger()


def get_verbosity() -> int:
    """The level from which on messages are shown. An int. Raises nothing."""
    return _logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Shows messages of this level and worse. Raises `TypeError` and `ValueError` for what is no
    level."""
    _logger().setLevel(v)


def log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at a level, such as `INFO`. Numbers are those of Python's `logging`. Raises
    nothing."""
    _logger().log(level, msg, *args, **kwargs)


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level `DEBUG`. Raises nothing."""
    _logger().debug(msg, *args, **kwargs)


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level `INFO`. Raises nothing."""
    _logger().info(msg, *args, **kwargs)


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level `WARN`. Raises nothing."""
    _logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level `ERROR`. Raises nothing."""
    _logger().error(msg, *args, **kwargs)


def fatal(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level `FATAL`; the program goes on. Raises nothing."""
    _logger().fatal(msg, *args, **kwargs)


vlog = log


def flush() -> None:
    """Writes out what handlers hold back. Raises nothing."""
    for handler in _logger().handlers:
        handler.flush()


def log_if(level: int, msg: str, condition: bool, *args: Any) -> None:
    """Logs where `condition` holds. Raises nothing."""
    if condition:
        log(level, msg, *args)


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Logs the first of every `n` times that this is asked of a message. Raises `ZeroDivisionError`
    for `n` of 0."""
    log_if(level, msg, not _times_before(msg) % n, *args)


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Logs the first `n` times that this is asked of a message. Raises nothing."""
    log_if(level, msg, _times_before(msg) < n, *args)


def _times_before(msg: str) -> int:
    counts: dict[str, int] = _logger().__dict__.setdefault(_COUNTS, {})
    counts[msg] = counts.get(msg, -1) + 1
    return counts[msg]
