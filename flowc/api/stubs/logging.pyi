# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "flush",
    "get_logger",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.framework.logging import debug as debug
from flowc.api.framework.logging import error as error
from flowc.api.framework.logging import fatal as fatal
from flowc.api.framework.logging import flush as flush
from flowc.api.framework.logging import get_logger as get_logger
from flowc.api.framework.logging import get_verbosity as get_verbosity
from flowc.api.framework.logging import info as info
from flowc.api.framework.logging import log as log
from flowc.api.framework.logging import log_every_n as log_every_n
from flowc.api.framework.logging import log_first_n as log_first_n
from flowc.api.framework.logging import log_if as log_if
from flowc.api.framework.logging import set_verbosity as set_verbosity
from flowc.api.framework.logging import warning as warning

DEBUG: int
ERROR: int
FATAL: int
INFO: int
WARN: int
def vlog(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at a level, such as `INFO`. Numbers are those of Python's `logging`. Raises
    nothing."""
def warn(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level `WARN`. Raises nothing."""
