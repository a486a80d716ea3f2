"""A static library: objects in one file, with an index of what they define.

In: objects by name. Out: the bytes of an archive as `ar` and linkers know it. Invariant: equal
objects give equal bytes; no time or owner is in them.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.codegen.link.symbols import defined_names

_MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60


def archive_of(members: Sequence[tuple[str, bytes]]) -> bytes:
    """The archive of objects; their names have at most 15 characters."""
    defined = [(name, i) for i, (_, data) in enumerate(members) for name in defined_names(data)]
    texts = b"".join(name.encode() + b"\0" for name, _ in defined)
    index_bytes = 4 + 4 * len(defined) + len(texts)
    starts, at = [], len(_MAGIC) + _HEADER_BYTES + _even(index_bytes)
    for _, data in members:
        starts.append(at)
        at += _HEADER_BYTES + _even(len(data))
    index = len(defined).to_bytes(4, "big")
    index += b"".join(starts[i].to_bytes(4, "big") for _, i in defined) + texts
    parts = [_member("/", index), *(_member(f"{name}/", data) for name, data in members)]
    return _MAGIC + b"".join(parts)


def _even(size: int) -> int:
    return size + size % 2


def _member(name: str, data: bytes) -> bytes:
    assert len(name) <= 16
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n".encode()
    return header + data + b"\n" * (len(data) % 2)
