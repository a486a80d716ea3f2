"""`DType`: TensorFlow's names and properties, and everything that means a dtype."""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import flowc as tf
from flowc import dtypes

# name, short name, size, NumPy's type, and the `is_` properties that are true
TABLE = """
float16    f16   2   floating numeric numpy_compatible
bfloat16   bf16  2   floating numeric numpy_compatible
float32    f32   4   floating numeric numpy_compatible
float64    f64   8   floating numeric numpy_compatible
int8       i8    1   integer numeric numpy_compatible
int16      i16   2   integer numeric numpy_compatible
int32      i32   4   integer numeric numpy_compatible
int64      i64   8   integer numeric numpy_compatible
uint8      u8    1   integer unsigned numeric numpy_compatible
uint16     u16   2   integer unsigned numeric numpy_compatible
uint32     u32   4   integer unsigned numeric numpy_compatible
uint64     u64   8   integer unsigned numeric numpy_compatible
bool       bool  1   bool numpy_compatible
complex64  c64   8   complex numeric numpy_compatible
complex128 c128  16  complex numeric numpy_compatible
string     string 0  numpy_compatible
resource   resource 0
variant    variant 0
qint8      qi8   1   quantized numeric numpy_compatible
quint8     qu8   1   quantized numeric numpy_compatible
qint16     qi16  2   quantized numeric numpy_compatible
quint16    qu16  2   quantized numeric numpy_compatible
qint32     qi32  4   quantized numeric numpy_compatible
"""
ROWS = [line.split() for line in TABLE.strip().splitlines()]
PROPERTIES = ("bool", "complex", "floating", "integer", "numeric", "numpy_compatible", "quantized",
              "unsigned")  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r[0])
def test_names_sizes_and_kinds(row: list[str]) -> None:
    name, short, size, *true = row
    dtype = getattr(tf, name)
    assert getattr(tf.dtypes, name) is dtype
    assert (dtype.name, dtype.short, dtype.size) == (name, short, int(size))
    assert (repr(dtype), str(dtype), f"{dtype}") == (
        f"tf.{name}",
        f"<dtype: '{name}'>",
        short,
    )
    assert {p for p in PROPERTIES if getattr(dtype, f"is_{p}")} == set(true)
    assert tf.as_dtype(name) is tf.as_dtype(short) is tf.as_dtype(dtype.as_datatype_enum) is dtype
    assert tf.as_dtype(f"{name}_ref") is tf.as_dtype(100 + dtype.as_datatype_enum) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert dtype.base_dtype is dtype


def test_every_dtype_is_in_the_table() -> None:
    narrow = {"float8_e5m2", "float8_e4m3fn", "int4", "uint4"}
    assert {d.name for d in dtypes.ALL} == {row[0] for row in ROWS} | narrow


def test_narrow_dtypes() -> None:
    """TensorFlow's numbers of them; that they are no numbers to compute with is flowc's own."""
    found = {d.name: d.as_datatype_enum for d in dtypes.NARROW}
    assert found == {"float8_e5m2": 24, "float8_e4m3fn": 25, "int4": 29, "uint4": 30}
    for dtype in dtypes.NARROW:
        named = getattr(tf.dtypes.experimental, dtype.name)
        given = (named, dtype.as_numpy_dtype, f"{dtype.name}_ref", dtype.enum)
        assert all(tf.as_dtype(same) is dtype for same in given)
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert dtype.size == 1 and dtype.is_numeric and not (dtype.is_floating or dtype.is_integer)
    assert (tf.as_dtype("int4").min, tf.as_dtype("uint4").max) == (-8, 15)
    assert tf.as_dtype("float8_e4m3fn").max == 448


@pytest.mark.parametrize("dtype", dtypes.NUMBERS, ids=str)
def test_numpys_types_are_equal_to_it(dtype: Any) -> None:
    numpy = dtype.as_numpy_dtype
    assert np.dtype(numpy) == dtype.numpy
    for same in (numpy, dtype.numpy, dtype.name, np.zeros(2, numpy), numpy(1)):
        assert tf.as_dtype(same) is dtype
    for same in (numpy, dtype.numpy, dtype.name):
        assert dtype == same and same == dtype
        assert (dtype != same) is False
    assert {dtype: 1}[tf.as_dtype(numpy)] == 1


def test_it_is_equal_to_nothing_else() -> None:
    for other in (None, tf.float64, np.float64, "float64", "no dtype", "a,b(", object(), [1], 2):
        assert tf.float32 != other
    assert tf.string == np.dtype(object) and tf.string != np.float32


@pytest.mark.parametrize("value", [None, 0, 99, True, 3.5, [1], "no dtype", "a,b(", "", object()])
def test_what_means_no_dtype(value: Any) -> None:
    with pytest.raises(TypeError):
        tf.as_dtype(value)


def test_least_and_greatest_values() -> None:
    assert (tf.uint8.min, tf.uint8.max, tf.int64.min) == (0, 255, -(2**63))
    assert tf.float32.max == np.finfo(np.float32).max and tf.float32.min == -tf.float32.max
    assert tf.bfloat16.max == ml_dtypes.finfo(ml_dtypes.bfloat16).max
    for dtype in (tf.bool, tf.string, tf.complex64, tf.qint8, tf.resource):
        with pytest.raises(TypeError, match="Cannot find minimum value"):
            _ = dtype.min
        with pytest.raises(TypeError, match="Cannot find maximum value"):
            _ = dtype.max


def test_parts_and_compatibility() -> None:
    assert (tf.complex64.real_dtype, tf.complex128.real_dtype) == (tf.float32, tf.float64)
    assert tf.int8.real_dtype is tf.int8
    assert tf.float32.is_compatible_with("float32_ref")
    assert not tf.float32.is_compatible_with(tf.float64)


def test_as_programs_use_it() -> None:
    with tf.Graph().as_default():
        x = tf.constant([1, 2], tf.float32)
    assert x.dtype.name == "float32" and x.dtype == np.float32 and x.dtype.is_floating
    assert np.zeros(2, x.dtype.as_numpy_dtype).dtype == np.float32
