"""Which part of a whole a variable holds, as checkpoints and VariableDef messages say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SaveSliceInfo:
    """`var_shape` elements of the variable `full_name` of `full_shape`, from `var_offset` on."""

    full_name: str
    full_shape: Sequence[int]
    var_offset: Sequence[int]
    var_shape: Sequence[int]

    @property
    def spec(self) -> str:
        """The part as `SaveV2` writes it: `5 2 0,2:0,2`."""
        sizes = " ".join(str(size) for size in self.full_shape)
        parts = (f"{at},{size}" for at, size in zip(self.var_offset, self.var_shape, strict=True))
        return f"{sizes} {':'.join(parts)}"

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The part as a SaveSliceInfoDef message."""
        from flowc.graph.encode import save_slice_info_def

        return save_slice_info_def(
            full_name=self.full_name.removeprefix(f"{export_scope}/"),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )

    @classmethod
    def from_proto(cls, message: Any, import_scope: str | None = None) -> SaveSliceInfo | None:
        """None for an empty message."""
        if not message.full_name:
            return None
        prefix = f"{import_scope}/" if import_scope else ""
        return cls(
            prefix + message.full_name,
            list(message.full_shape),
            list(message.var_offset),
            list(message.var_shape),
        )
