"""Examples in JSON, as protobuf writes messages in it.

In: text. Out: a serialized `Example`. Invariant: a field that an `Example` does not have is an
error.
"""

from __future__ import annotations

from google.protobuf import json_format

from flowc.proto.example_pb2 import Example


def example_of_json(text: bytes) -> bytes:
    """Raises `ValueError` for what is no `Example`."""
    try:
        message = json_format.Parse(text.decode(), Example())
    except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return message.SerializeToString(deterministic=True)
