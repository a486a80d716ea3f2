"""`tf.logging`: messages of programs, through Python's logger `tensorflow`."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from functools import cache
from logging import DEBUG, ERROR, FATAL, INFO, WARN
from typing import Any

__all__ = ["DEBUG", "ERROR", "FATAL", "INFO", "WARN"]


@cache
def get_logger() -> logging.Logger:
    """Python's logger `tensorflow`, which writes to the standard error where the program has set
    up no logging of its own."""
    logger = logging.getLogger("tensorflow")
    if not logging.getLogger().handlers and not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        logger.addHandler(handler)
    return logger


@cache
def _counts() -> Counter[tuple[str, int]]:
    """How often each line of a program has asked for a message by its number."""
    return Counter()


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().debug(msg, *args, stacklevel=2, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().info(msg, *args, stacklevel=2, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().warning(msg, *args, stacklevel=2, **kwargs)


warn = warning
vlog = log


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().error(msg, *args, stacklevel=2, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    get_logger().critical(msg, *args, stacklevel=2, **kwargs)


def TaskLevelStatusMessage(msg: Any) -> None:
    get_logger().error(msg, stacklevel=2)


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """The message of this line of the program, the first `n` times."""
    if _calls_before() < n:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """The message of this line of the program, the first of every `n` times."""
    if _calls_before() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=2)


def _calls_before() -> int:
    """How often the line that calls the caller has come here before."""
    frame = sys._getframe(2)
    line = frame.f_code.co_filename, frame.f_lineno
    _counts()[line] += 1
    return _counts()[line] - 1


def get_verbosity() -> int:
    """The least level that is written."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    get_logger().setLevel(v)


def flush() -> None:
    """Writes out what is held back."""
    for handler in get_logger().handlers:
        handler.flush()
