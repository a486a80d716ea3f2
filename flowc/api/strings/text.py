"""`tf.strings`: strings measured, changed, matched, hashed and read as numbers.

In: tensors of strings. Out: tensors of the same shape, where nothing else is said. Lengths and
positions are of bytes, or of UTF-8 characters with `unit="UTF8_CHAR"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.framework.composites import over_flat_values
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import one_of
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


@over_flat_values
def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The length of each string, int32. In `unit` `BYTE` or `UTF8_CHAR`, in the shape of the
    strings. Raises `TypeError` for others, `ValueError` for another unit."""
    return output("StringLength", input, name=name, unit=unit)


@over_flat_values
def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """In lower case: the letters of ASCII, or with `encoding="utf-8"` all. A run raises
    `InvalidArgumentError` for another encoding. Strings of any shape."""
    return output("StringLower", **locals())


@over_flat_values
def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """In upper case, as `lower`. Raises as it does."""
    return output("StringUpper", **locals())


@over_flat_values
def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Without blanks (of ASCII) on both sides. Strings of any shape. Raises `TypeError` for
    others."""
    return output("StringStrip", **locals())


@over_flat_values
def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """From `pos` on (from the end, where it is negative) at most `len` of each string: integers of
    one dtype and shape, which broadcasts with that of `input`. A run raises `InvalidArgumentError`
    for a position outside."""
    return output("Substr", input, pos, len, name=name, unit=unit)


@over_flat_values
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether each string matches a pattern of RE2 as a whole: bool. `pattern`: text, or a scalar
    tensor. A run raises `InvalidArgumentError` for what is no pattern."""
    if isinstance(pattern, str | bytes):
        return output("StaticRegexFullMatch", input, pattern=_text(pattern), name=name)
    return output("RegexFullMatch", input, pattern, name=name)


@over_flat_values
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """With each match of a pattern of RE2 replaced, or the first one alone. `rewrite`: text with
    `\\1` to `\\9` for groups and `\\0` for the whole match; both text, or scalar tensors. A run
    raises `InvalidArgumentError` for what is no pattern. Raises `TypeError` for what is no
    string."""
    if isinstance(pattern, str | bytes) and isinstance(rewrite, str | bytes):
        return output(
            "StaticRegexReplace",
            input,
            pattern=_text(pattern),
            rewrite=_text(rewrite),
            replace_global=replace_global,
            name=name,
        )
    return output("RegexReplace", input, pattern, rewrite, replace_global=replace_global, name=name)


def _text(text: str | bytes) -> str:
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text


def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.f32,
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The number that each string is, as float32, float64, int32, int64, uint32 or uint64. Floats
    too large are infinite; a run raises `InvalidArgumentError` for integers too large and for what
    is no number."""
    strings = one_of(string_tensor, "string_tensor", input, "input")
    return output("StringToNumber", strings, out_type=out_type, name=name)


def string_to_hash_bucket(
    string_tensor: Any = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """A number below `num_buckets` of each string, int64, by MurmurHash. In the shape of the
    strings. Raises `TypeError` for others, `ValueError` where `num_buckets` is below 1."""
    strings = one_of(string_tensor, "string_tensor", input, "input")
    return output("StringToHashBucket", strings, num_buckets=num_buckets, name=name)


@over_flat_values
def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """A number below `num_buckets` of each string, int64, by FarmHash. In the shape of the strings.
    Raises `TypeError` for others, `ValueError` where `num_buckets` is below 1."""
    return output("StringToHashBucketFast", **locals())


def string_to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """A number below `num_buckets` of each string, int64, by SipHash under a key of two integers,
    so that nobody without it can make strings that fall together. In the shape of the strings.
    Raises `TypeError` for others, `ValueError` where `num_buckets` is below 1."""
    return output("StringToHashBucketStrong", **locals())


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """uint8[rows, 8]: FarmHash's fingerprint of each row of a tensor of any dtype. `method`:
    `farmhash64`. Raises `ValueError` for a scalar; a run raises `InvalidArgumentError` for another
    method."""
    return output("Fingerprint", data, method, name=name)


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """In base64 as URLs have it, filled up with `=` if `pad`. Strings of any shape. Raises
    `TypeError` for others."""
    return output("EncodeBase64", **locals())


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Strings from base64 as URLs have it. A run raises `InvalidArgumentError` for what is none.
    Strings of any shape."""
    return output("DecodeBase64", **locals())


def unicode_script(input: Any, name: str | None = None) -> Tensor:
    """The number that ICU gives the script of each code point (int32); -1 for what is none.
    `input`: int32 of any shape. Raises `TypeError` for other dtypes."""
    return output("UnicodeScript", **locals())


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Strings in another encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE". What is malformed is
    replaced, left out (`errors="ignore"`) or raises `InvalidArgumentError` in the run (`"strict"`).
    Strings of any shape."""
    return output("UnicodeTranscode", **locals())


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Strings joined along axes, of which the first that is named goes fastest; along all, if None.
    `inputs`: strings; `separator` stands between two. Raises `TypeError` or
    `ValueError` for others, `ValueError` for an axis out of range."""
    axes = one_of(axis, "axis", reduction_indices, "reduction_indices")
    keep = bool(one_of(keepdims, "keepdims", keep_dims, "keep_dims"))
    with name_scope(name, "ReduceJoin", [inputs]):
        tensor = as_tensor(inputs, dtypes.string, "Const")
        if axes is None:
            rank = tensor.shape.ndims
            if rank is None:
                raise ValueError("reduce_join needs axes for a tensor of unknown rank")
            axes = as_tensor(list(range(rank))[::-1], dtypes.i32)
        return output("ReduceJoin", tensor, axes, keep_dims=keep, separator=separator)


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """The strings of each segment joined: [num_segments, ...]. A run raises `InvalidArgumentError`
    for ids outside."""
    return output(
        "UnsortedSegmentJoin", inputs, segment_ids, num_segments, separator=separator, name=name
    )
