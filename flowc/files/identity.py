"""What tells a file from every other, and from itself after a change.

In: the status of a file. Out: a text of its device, inode, size and times of change, or None for a
file changed within the last seconds: its time of change could hide a second change.
"""

from __future__ import annotations

import os
import time

SETTLED_SECONDS = 5


def identity(status: os.stat_result) -> str | None:
    """A text that differs after any change of the file; None where it might not (see above)."""
    if time.time() - max(status.st_mtime, status.st_ctime) < SETTLED_SECONDS:
        return None
    return (
        f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns} "
        f"{status.st_ctime_ns}"
    )
