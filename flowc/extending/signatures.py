"""Signatures of ops that are registered, put together from what TensorFlow's registry takes.

In: names, inputs, attrs and outputs as texts. Out: a signature in one line (ir/signature.py).
Invariant: an op type is registered once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flowc.errors import AlreadyExistsError
from flowc.ir.signature import parse_signature
from flowc.ops import op_named, tf_op

Texts = str | Sequence[str]


def joined(texts: Texts) -> str:
    """Several texts, as the calls of `Input` in C++ give them, as one."""
    return texts if isinstance(texts, str) else ", ".join(texts)


def signature_text(name: str, inputs: str, attrs: str, outputs: str) -> str:
    """One line for an op."""
    given = f"{inputs}; {attrs}" if attrs else inputs
    many = f"({outputs})" if "," in outputs else outputs
    return f"{name}({given}) -> {many}" if outputs else f"{name}({given})"


def ir_name(op_type: str) -> str:
    """`ZeroOut` as `zero_out`: the name in IR text, and of the Python function."""
    words = re.sub("([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3_\2\4", op_type)
    return words.lower()


def check_new(text: str) -> None:
    """Raises `ValueError` for a text that is no signature, `AlreadyExistsError` for an op that
    there is."""
    found = parse_signature(text).name
    if not re.fullmatch("[A-Z][A-Za-z0-9_]*", found):
        raise ValueError(f"op {found!r}: a name of letters that begins with a capital is expected")
    try:
        is_known = tf_op(found) is not None or op_named(ir_name(found)) is not None
    except KeyError:
        is_known = False
    if is_known:
        raise AlreadyExistsError(f"Op with name {found} already registered")
