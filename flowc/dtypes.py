"""Element types: flowc's names, TensorFlow's names and numbers, NumPy's dtypes.

In: a name (`f32`, `float32`, `float`), a TF enum number, a NumPy dtype. Out: one shared `DType`.
Invariant: one `DType` object per element type, so identity is equality.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from flowc.dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One element type.

    `name` is TensorFlow's (`float32`); `short` what IR text, messages and the command line print
    (`f32`), and so what `f"{dtype}"` gives; `enum` its number in TensorFlow's `DataType`; `size`
    bytes per element (0 where values have no fixed size); `kind` one of
    `float int uint bool complex string handle quantized narrow`.

    The properties are those of TensorFlow's `DType`, but that narrow dtypes are neither floating
    nor integer, as nothing computes with them. A reference dtype (`float32_ref`) is only what
    `Variable.dtype` shows: every function takes it for its `base_dtype`, and whether a tensor
    refers to a variable's buffer is said by the tensor. Raises `TypeError` where `as_dtype` is
    given what names none.
    """

    short: str
    name: str
    enum: int
    numpy: np.dtype[Any]
    size: int
    kind: str

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __format__(self, spec: str) -> str:
        return format(self.short, spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)

    def __eq__(self, other: object) -> bool:
        """Whether `other` means this dtype, as NumPy's type of it and its names do."""
        if other is None or isinstance(other, DType):
            return self is other
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    __hash__ = object.__hash__

    @property
    def held_size(self) -> int:
        """Bytes per element in a run's memory, where a string is the number of one in a table."""
        return 8 if self.kind == "string" else self.size

    @property
    def carrier(self) -> DType:
        """The dtype whose numbers kernels have for the elements: integers for quantised ones, and
        the bits of narrow ones."""
        if self.is_narrow:
            return u8
        return _BY_NUMPY[self.numpy] if self.is_quantized else self

    @property
    def is_floating(self) -> bool:
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        return self.kind == "complex"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_unsigned(self) -> bool:
        return self.kind == "uint"

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    @property
    def is_quantized(self) -> bool:
        return self.kind == "quantized"

    @property
    def is_narrow(self) -> bool:
        """Whether elements are floats of 8 bits or integers of 4: only moved, and cast."""
        return self.kind == "narrow"

    @property
    def is_numeric(self) -> bool:
        return self.kind in ("int", "uint", "float", "complex", "quantized", "narrow")

    @property
    def is_numpy_compatible(self) -> bool:
        return self.kind != "handle"

    @property
    def min(self) -> Any:
        """The least value. Raises `TypeError` where values have no order or no fixed size."""
        return self._limits("minimum").min

    @property
    def max(self) -> Any:
        """The greatest finite value. Raises `TypeError` as `min` does."""
        return self._limits("maximum").max

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest intensity of images: 0, and the greatest integer or, of floats
        and booleans, 1. Raises `ValueError` for other dtypes."""
        if self.is_integer:
            return 0, int(self.max)
        if self.short not in ("f32", "f64", "bool"):
            raise ValueError(f"{self!s} does not have defined limits.")
        return 0, 1

    def _limits(self, wanted: str) -> Any:
        if self.is_narrow:
            return (ml_dtypes.finfo if self in (f8e5m2, f8e4m3fn) else ml_dtypes.iinfo)(self.numpy)
        if self.is_floating:
            return ml_dtypes.finfo(self.numpy)
        if self.is_integer:
            return np.iinfo(self.numpy)
        raise TypeError(f"Cannot find {wanted} value of {self!s} with type {self.base_dtype!s}.")

    @property
    def as_numpy_dtype(self) -> Any:
        return self.numpy.type

    @property
    def as_datatype_enum(self) -> int:
        return self.enum

    @property
    def real_dtype(self) -> DType:
        """The dtype of a complex number's parts; itself for every other dtype."""
        return {c64: f32, c128: f64}.get(self, self)

    @property
    def base_dtype(self) -> DType:
        """The dtype of the elements: another one only of a reference dtype."""
        return self if self.enum < REF_OFFSET else _BY_ENUM[self.enum - REF_OFFSET]

    @property
    def reference(self) -> DType:
        """The dtype of references to elements of this one."""
        return _REFERENCES[self]

    def is_compatible_with(self, other: Any) -> bool:
        """Whether a tensor of the dtype that `other` means fits where this one is asked for."""
        return other is self or as_dtype(other) is self


def _dtype(short: str, name: str, enum: int, numpy: Any, kind: str) -> DType:
    d = np.dtype(numpy)
    return DType(short, name, enum, d, 0 if d.hasobject else d.itemsize, kind)


f32 = _dtype("f32", "float32", 1, np.float32, "float")
f64 = _dtype("f64", "float64", 2, np.float64, "float")
i32 = _dtype("i32", "int32", 3, np.int32, "int")
u8 = _dtype("u8", "uint8", 4, np.uint8, "uint")
i16 = _dtype("i16", "int16", 5, np.int16, "int")
i8 = _dtype("i8", "int8", 6, np.int8, "int")
string = _dtype("string", "string", 7, object, "string")
c64 = _dtype("c64", "complex64", 8, np.complex64, "complex")
i64 = _dtype("i64", "int64", 9, np.int64, "int")
bool_ = _dtype("bool", "bool", 10, np.bool_, "bool")
bf16 = _dtype("bf16", "bfloat16", 14, ml_dtypes.bfloat16, "float")
u16 = _dtype("u16", "uint16", 17, np.uint16, "uint")
c128 = _dtype("c128", "complex128", 18, np.complex128, "complex")
f16 = _dtype("f16", "float16", 19, np.float16, "float")
resource = _dtype("resource", "resource", 20, object, "handle")
variant = _dtype("variant", "variant", 21, object, "handle")
u32 = _dtype("u32", "uint32", 22, np.uint32, "uint")
u64 = _dtype("u64", "uint64", 23, np.uint64, "uint")
# Quantised types carry plain integers. Kernels move them, and compute with the integers.
qi8 = _dtype("qi8", "qint8", 11, np.int8, "quantized")
qu8 = _dtype("qu8", "quint8", 12, np.uint8, "quantized")
qi32 = _dtype("qi32", "qint32", 13, np.int32, "quantized")
qi16 = _dtype("qi16", "qint16", 15, np.int16, "quantized")
qu16 = _dtype("qu16", "quint16", 16, np.uint16, "quantized")

# Narrow types take a byte each, in which integers of 4 bits have the low half.
f8e5m2 = _dtype("f8e5m2", "float8_e5m2", 24, ml_dtypes.float8_e5m2, "narrow")
f8e4m3fn = _dtype("f8e4m3fn", "float8_e4m3fn", 25, ml_dtypes.float8_e4m3fn, "narrow")
i4 = _dtype("i4", "int4", 29, ml_dtypes.int4, "narrow")
u4 = _dtype("u4", "uint4", 30, ml_dtypes.uint4, "narrow")

ALL: tuple[DType, ...] = (
    f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool_, c64, c128,
    string, resource, variant, qi8, qu8, qi32, qi16, qu16, f8e5m2, f8e4m3fn, i4, u4,
)  # fmt: skip
FLOATS: tuple[DType, ...] = (f16, bf16, f32, f64)
INTS: tuple[DType, ...] = (i8, i16, i32, i64)
UINTS: tuple[DType, ...] = (u8, u16, u32, u64)
COMPLEX: tuple[DType, ...] = (c64, c128)
QUANTIZED: tuple[DType, ...] = (qi8, qu8, qi32, qi16, qu16)
NARROW: tuple[DType, ...] = (f8e5m2, f8e4m3fn, i4, u4)
NUMBERS: tuple[DType, ...] = FLOATS + INTS + UINTS + COMPLEX

REF_OFFSET = 100  # TensorFlow's enum of a reference dtype is its base's plus 100

_BY_NAME = {d.short: d for d in ALL} | {d.name: d for d in ALL}
_BY_NAME |= {"float": f32, "double": f64, "half": f16, "int": i32}
_BY_ENUM = {d.enum: d for d in ALL}
_REFERENCES = {
    d: DType(f"{d.short}_ref", f"{d.name}_ref", d.enum + REF_OFFSET, d.numpy, d.size, d.kind)
    for d in ALL
}
_BY_NUMPY = {d.numpy: d for d in ALL if d.size and d.kind != "quantized"}


class _Namespace(type):
    def __getattr__(cls, name: str) -> DType:
        raise AttributeError(f"{cls.__name__}.{name} is not provided")


class experimental(metaclass=_Namespace):  # as `tf.dtypes.experimental`, which is a module
    """The narrow types."""

    float8_e5m2, float8_e4m3fn, int4, uint4 = NARROW


if not TYPE_CHECKING:  # a checker is to find misspelt names

    def __getattr__(name: str) -> Any:
        """TensorFlow's names, as in `tf.dtypes.float32`; some are Python's own in this file. Its
        functions there are those of the API above."""
        if name in _BY_NAME:
            return _BY_NAME[name]
        if name in ("as_string", "cast", "complex", "saturate_cast"):
            return getattr(import_module("flowc"), name)
        if name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        raise AttributeError(f"{__name__}.{name} is not provided")


else:
    as_string: Any
    cast: Any
    complex: Any
    saturate_cast: Any


def name_of(dtype: DType | None) -> str:
    """What messages call the dtype of a tensor, which may be unknown."""
    return "unknown" if dtype is None else dtype.name


def from_enum(enum: int) -> DType:
    """The dtype of a TensorFlow `DataType` number; a reference dtype gives its base.

    Raises `TypeError` for a number that names no dtype flowc knows.
    """
    found = _BY_ENUM.get(enum % REF_OFFSET if enum > REF_OFFSET else enum)
    if found is None:
        raise TypeError(f"no dtype has the number {enum}")
    return found


def as_dtype(value: Any) -> DType:
    """The `DType` meant by a `DType`, a name, a TF enum number, an array, or anything but a name
    that NumPy takes as a dtype; a reference dtype gives its base.

    Raises `TypeError` when nothing fits, and for `None`.
    """
    if isinstance(value, DType):
        return value.base_dtype
    if isinstance(value, str):
        name = value.removesuffix("_ref")
        if name in _BY_NAME:
            return _BY_NAME[name]
        raise _no_dtype(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if (value % REF_OFFSET if value > REF_OFFSET else value) not in _BY_ENUM:
            raise _no_dtype(value)
        return from_enum(value)
    if value is float:
        return f32
    if value is int:
        return i32
    if value is str or value is bytes:
        return string
    numpy = _numpy_dtype(value)
    if numpy is not None:
        if numpy.kind in "SU" or (numpy.kind == "O" and not _is_other_class(value)):
            return string
        if numpy in _BY_NUMPY:
            return _BY_NUMPY[numpy]
    raise _no_dtype(value)


def _is_other_class(value: Any) -> bool:
    """Whether NumPy takes a class for objects only because it is no number's."""
    return isinstance(value, type) and value is not object and not issubclass(value, np.generic)


def _no_dtype(value: Any) -> TypeError:
    return TypeError(f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType.")


def _numpy_dtype(value: Any) -> np.dtype[Any] | None:
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype
    if value is None:  # NumPy would make it float64
        return None
    try:
        return np.dtype(value)
    except (TypeError, ValueError, SyntaxError):  # as its kind of text is wrong
        return None
