"""Device names as TensorFlow writes them: `/job:ps/task:1/device:GPU:0`.

In: the strings or functions given to `device(...)`. Out: canonical names, merged field by field.
Invariant: fields that a name leaves open stay open; an inner scope's fields win over an outer's.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """The fields of a device name; None where the name leaves one open. `index` may be `*`."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    index: int | str | None = None

    def merged_into(self, outer: DeviceSpec) -> DeviceSpec:
        """This spec with the fields that it leaves open taken from `outer`."""
        return DeviceSpec(
            *(
                getattr(outer, f.name) if (mine := getattr(self, f.name)) is None else mine
                for f in fields(self)
            )
        )

    def __str__(self) -> str:
        text = "" if self.job is None else f"/job:{self.job}"
        text += "" if self.replica is None else f"/replica:{self.replica}"
        text += "" if self.task is None else f"/task:{self.task}"
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.index is None else self.index}"
        return text


def parse_device(name: str) -> DeviceSpec:
    """Reads a device name. Raises `ValueError` for a part that no device name has."""
    found: dict[str, Any] = {}
    for part in filter(None, name.split("/")):
        words = part.split(":")
        key = words[0].lower()
        if key == "job" and len(words) == 2:
            found["job"] = words[1]
        elif key in ("replica", "task") and len(words) == 2 and words[1].isdigit():
            found[key] = int(words[1])
        elif key == "device" and len(words) == 3:
            found["device_type"] = words[1].upper()
            found["index"] = _index(words[2], name)
        elif key in ("cpu", "gpu", "tpu") and len(words) <= 2:
            found["device_type"] = key.upper()
            found["index"] = _index(words[1], name) if len(words) == 2 else None
        else:
            raise ValueError(f"Unknown attribute '{words[0]}' is encountered while parsing the "
                             f"device name '{name}'.")  # fmt: skip
    return DeviceSpec(**found)


def _index(text: str, name: str) -> int | None:
    if text == "*":
        return None
    if not text.isdigit():
        raise ValueError(f"'{name}' is not a valid device name: '{text}' is no device number")
    return int(text)


def merge_devices(outer: str, inner: str) -> str:
    """The canonical name of `inner` inside a scope of `outer`."""
    return str(parse_device(inner).merged_into(parse_device(outer)))
