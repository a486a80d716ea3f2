"""`tf.strings`: strings cut into words, bytes, characters and n-grams, and put together again.

In: tensors of strings, ragged ones too. Out: sparse and ragged tensors, with one axis more.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import concat, reshape
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import one_of
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.api.ragged.ragged_value import RaggedTensorValue
from flowc.api.sparse.sparse_changes import sparse_reshape
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """The pieces of each string of a vector between the characters of `sep` (a blank, if None),
    empty ones left out with `skip_empty`; between all bytes for an empty `sep`. A `SparseTensor`
    [strings, most pieces], or a `RaggedTensor`. Raises `TypeError` for what are
    no strings, `ValueError` for another rank and type of result."""
    given = one_of(delimiter, "delimiter", sep, "sep")
    with name_scope(name, "StringSplit", [source]):
        separator = as_tensor(" " if given is None else given, dtypes.string)
        strings = as_tensor(source, dtypes.string)
        found = call("StringSplit", strings, separator, skip_empty=skip_empty)
        return _as_type(SparseTensor(*found), result_type)


def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """The pieces of each string between separators, or between blanks for None, as Python's
    `split` has it: with an axis more, a `SparseTensor` or a `RaggedTensor`; a scalar is a vector of
    one. Raises `ValueError` for
    another type."""
    strings = one_of(input, "input", source, "source")
    with name_scope(name, "StringSplit", [strings]):
        given = as_tensor(strings, dtypes.string, "input")
        given = reshape(given, [1]) if given.shape.ndims == 0 else given
        rank = given.shape.ndims
        separator = as_tensor("" if sep is None else sep, dtypes.string)
        flat = given if rank == 1 else reshape(given, [-1])
        sparse = SparseTensor(*call("StringSplitV2", flat, separator, maxsplit=maxsplit))
        if result_type == "SparseTensor":
            if rank == 1 or rank is None:
                return sparse
            sizes = concat([shape_of(given, out_type=dtypes.i64), sparse.dense_shape[1:]], 0)
            return sparse_reshape(sparse, sizes)
        ragged = _as_type(sparse, result_type)
        return ragged if rank in (1, None) else _in_rows_of(given, ragged)


def _as_type(sparse: SparseTensor, result_type: str) -> Any:
    if result_type == "SparseTensor":
        return sparse
    if result_type != "RaggedTensor":
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    rows = sparse.indices[:, 0]
    return RaggedTensor.from_value_rowids(
        sparse.values, rows, sparse.dense_shape[0], validate=False
    )


def _in_rows_of(tensor: Tensor, rows: RaggedTensor) -> RaggedTensor:
    """The rows of the flat tensor as those of a tensor of two axes or more."""
    found: Any = rows
    for size in reversed(tensor.shape.as_list()[1:]):
        if size is None:
            raise ValueError("the sizes of all axes but the first must be known")
        found = RaggedTensor.from_uniform_row_length(found, size, validate=False)
    return found


def _flat(input: Any) -> tuple[Tensor, Any]:
    """The strings of a tensor as a vector; and a function that takes the rows which they were cut
    into, one row a string, and returns them in the tensor's shape."""
    if isinstance(input, RaggedTensor):
        return input.flat_values, input.with_flat_values
    if isinstance(input, RaggedTensorValue):
        splits = [as_tensor(s) for s in input.nested_row_splits]
        return _flat(RaggedTensor.from_nested_row_splits(input.flat_values, splits, validate=False))
    given = as_tensor(input, dtypes.string, "input")
    rank = given.shape.ndims
    if rank is None:
        raise ValueError("the rank of the strings must be known")
    if rank == 0:
        return reshape(given, [1]), lambda rows: rows.values
    if rank == 1:
        return given, lambda rows: rows
    return reshape(given, [-1]), lambda rows: _in_rows_of(given, rows)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of each string: a `RaggedTensor`, of a scalar a vector. Raises `TypeError` for
    what are no strings."""
    with name_scope(name, "StringsByteSplit", [input]):
        flat, formed = _flat(input)
        found = call("StringSplit", flat, as_tensor("", dtypes.string), skip_empty=False)
        return formed(_as_type(SparseTensor(*found), "RaggedTensor"))


def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """The runs of `ngram_width` strings (one width or several) of each row, joined: a
    `RaggedTensor`, of a tensor a tensor. `pad_values`: what is put before and behind each row,
    `padding_width` times, or as often as still gives runs with a string of the row.
    `preserve_short_sequences`: a row too short gives one run of all that it has. Raises
    `TypeError`, `ValueError` for other paddings and widths."""
    with name_scope(name, "StringNGrams", [data]):
        if isinstance(ngram_width, int):
            widths = [ngram_width]
        else:
            widths = list(ngram_width)
        if any(width < 1 for width in widths):
            raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
        if padding_width is not None and padding_width < 1:
            raise ValueError(f"padding_width must be greater than 0. Got: {padding_width}")
        if padding_width is not None and pad_values is None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        if isinstance(pad_values, str | bytes):
            pad_values = (pad_values, pad_values)
        if not isinstance(pad_values, tuple | list | None):
            raise TypeError("pad_values must be a string, tuple of strings, or None.")
        left, right = pad_values or ("", "")
        pad = 0 if pad_values is None else -1 if padding_width is None else padding_width
        given = data if isinstance(data, RaggedTensor) else as_tensor(data, dtypes.string, "data")
        rows = given if isinstance(given, RaggedTensor) else _in_rows(given)
        found = call(
            "StringNGrams",
            rows.flat_values,
            rows.nested_row_splits[-1],
            separator=separator,
            ngram_widths=widths,
            left_pad=left,
            right_pad=right,
            pad_width=pad,
            preserve_short_sequences=preserve_short_sequences,
        )
        if isinstance(data, RaggedTensor):
            return _with_inner(rows, RaggedTensor(*found))
        # The rows of a tensor have equally many runs; those of a vector are one.
        return reshape(found[0], concat([shape_of(given)[:-1], [-1]], 0))


def _in_rows(given: Tensor) -> RaggedTensor:
    """The rows of a tensor along its last axis."""
    if not given.shape.ndims:
        raise ValueError(f"data must have one axis or more, or be ragged: found {given.shape}")
    length = shape_of(given, out_type=dtypes.i64)[-1]
    return RaggedTensor.from_uniform_row_length(reshape(given, [-1]), length, validate=False)


def _with_inner(rows: RaggedTensor, inner: RaggedTensor) -> RaggedTensor:
    """The innermost rows replaced."""
    if isinstance(rows.values, RaggedTensor):
        return rows.with_values(_with_inner(rows.values, inner))
    return inner


# -- code points


def _decoded(op_type: str, input: Any, **settings: Any) -> tuple[Any, ...]:
    flat, formed = _flat(input)
    splits, *columns = call(op_type, flat, **settings)
    return tuple(formed(RaggedTensor(column, splits)) for column in columns)


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of each string, int32: a `RaggedTensor`, of a scalar a vector. What is
    malformed is replaced, left out (`errors="ignore"`) or raises `InvalidArgumentError` in the run
    (`"strict"`)."""
    with name_scope(name, "UnicodeDecode", [input]):
        return _decoded(
            "UnicodeDecode",
            input,
            input_encoding=input_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
        )[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """As `unicode_decode`, and the byte at which each code point begins, int64. Raises as it
    does."""
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        points, starts = _decoded(
            "UnicodeDecodeWithOffsets",
            input,
            input_encoding=input_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
        )
        return points, starts


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Tensor:
    """The string of each row of code points (int32, ragged or dense). What is no character is
    replaced, left out (`errors="ignore"`) or raises `InvalidArgumentError` in the run
    (`"strict"`)."""
    with name_scope(name, "UnicodeEncode", [input]):
        single = False
        if isinstance(input, RaggedTensor):
            rows = input
        else:
            given = as_tensor(input, dtypes.i32, "input")
            single = given.shape.ndims == 1
            sizes = shape_of(given, out_type=dtypes.i64)
            count = 1 if single else sizes[0]
            rows = RaggedTensor.from_uniform_row_length(
                reshape(given, [-1]), sizes[-1], count, validate=False
            )
        found = call(
            "UnicodeEncode",
            rows.flat_values,
            rows.nested_row_splits[-1],
            errors=errors,
            output_encoding=output_encoding,
            replacement_char=replacement_char,
        )
        return reshape(found, []) if single else found


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The characters of each string, each a string in the same encoding: a `RaggedTensor`, of a
    scalar a vector. Errors as `unicode_decode`."""
    with name_scope(name, "UnicodeSplit", [input]):
        points = unicode_decode(input, input_encoding, errors, replacement_char)
        return _characters(points, input_encoding, errors, replacement_char)


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Any, Any]:
    """As `unicode_split`, and the byte at which each character begins, int64. Raises as it does."""
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        points, starts = unicode_decode_with_offsets(
            input, input_encoding, errors, replacement_char
        )
        return _characters(points, input_encoding, errors, replacement_char), starts


def _characters(points: Any, encoding: str, errors: str, replacement_char: int) -> Any:
    flat = points.flat_values if isinstance(points, RaggedTensor) else points
    letters = unicode_encode(
        RaggedTensor.from_uniform_row_length(flat, 1, validate=False),
        encoding,
        errors,
        replacement_char,
    )
    return points.with_flat_values(letters) if isinstance(points, RaggedTensor) else letters
