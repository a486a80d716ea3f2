"""Messages as text, as protobuf writes them."""

from __future__ import annotations

from typing import Any


def message_of_text(text: str | bytes, kind: type[Any]) -> Any:
    """A message of this class. Raises `ParseError` of protobuf for other text."""
    from google.protobuf import text_format  # late: it takes as long as reading a model

    return text_format.Parse(text, kind())
