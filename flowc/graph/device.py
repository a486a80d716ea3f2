"""Device names as TensorFlow writes them: `/job:ps/task:1/device:GPU:0`.

In: the strings or functions given to `device(...)`. Out: canonical names, merged field by field.
Invariant: fields that a name leaves open stay open; an inner scope's fields win over an outer's.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from flowc.dataclass import dataclass


@dataclass(slots=True)
class DeviceSpec:
    """The fields of a device name; None where the name leaves one open. Raises `ValueError` for a
    text that is no name of a device."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    @staticmethod
    def from_string(spec: str) -> DeviceSpec:
        """Raises `ValueError` for a part that no device name has."""
        return parse_device(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Takes all fields from a device name. Raises `ValueError` as `from_string` does."""
        self._take(parse_device(spec))
        return self

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """`dev`, with the fields that it leaves open taken from this one."""
        pairs = ((getattr(dev, f.name), getattr(self, f.name)) for f in fields(self))
        return DeviceSpec(*(mine if theirs is None else theirs for theirs, mine in pairs))

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes the fields that `dev` states."""
        self._take(self.make_merged_spec(dev))

    def _take(self, other: DeviceSpec) -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(other, field.name))

    def replace(self, **fields: Any) -> DeviceSpec:
        """Another spec, with other values of some fields."""
        return replace(self, **fields)

    def __hash__(self) -> int:
        return hash(self.to_string())

    def to_string(self) -> str:
        """The canonical name."""
        text = "" if self.job is None else f"/job:{self.job}"
        text += "" if self.replica is None else f"/replica:{self.replica}"
        text += "" if self.task is None else f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            text += f"/device:{self.device_type}:{index}"
        return text

    __str__ = to_string


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
            found["device_index"] = _index(words[2], name)
        elif key in ("cpu", "gpu", "tpu") and len(words) <= 2:
            found["device_type"] = key.upper()
            found["device_index"] = _index(words[1], name) if len(words) == 2 else None
        else:
            raise ValueError(f"Unknown attribute '{words[0]}' is encountered while parsing the "
                             f"device spec: '{name}'.")  # fmt: skip
    return DeviceSpec(**found)


def _index(text: str, name: str) -> int | None:
    if text == "*":
        return None
    if not text.isdigit():
        raise ValueError(f"'{name}' is not a valid device name: '{text}' is no device number")
    return int(text)


def merge_devices(outer: str, inner: str) -> str:
    """The canonical name of `inner` inside a scope of `outer`."""
    return parse_device(outer).make_merged_spec(parse_device(inner)).to_string()
