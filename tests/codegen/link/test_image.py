"""Images do what LLVM makes of the same objects in memory; what is unusual has no image."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from flowc.codegen.link.image import LoadedImage, is_image, link_image
from flowc.codegen.link.jit import LoadedObjects
from flowc.codegen.llvm.compile import compile_module
from flowc.codegen.llvm.processor import Processor
from flowc.errors import InternalError

TRIPLE = "x86_64-unknown-linux-gnu"

# Constants, a table of addresses, what is written, what is zero at first, a jump table, functions
# of the other object, of the C library and of whoever loads it, called and taken the address of.
MAIN = """
@table = constant [2 x ptr] [ptr @twice, ptr @given]
@count = global i64 5
@room = internal global [4096 x i8] zeroinitializer, align 64
@names = private constant [6 x i8] c"three\\00"
@labels = private constant [2 x double] [double 1.5, double 2.5]
declare i64 @twice(i64)
declare i64 @given(i64)
declare i64 @strlen(ptr)
declare double @fabs(double)

define i64 @length() { %n = call i64 @strlen(ptr @names) ret i64 %n }
define i64 @counted() {
  %n = load i64, ptr @count
  %m = add i64 %n, 1
  store volatile i64 %m, ptr @count
  ret i64 %m
}
define i64 @through(i64 %i, i64 %x) {
  %at = getelementptr [2 x ptr], ptr @table, i64 0, i64 %i
  %f = load ptr, ptr %at
  %y = call i64 %f(i64 %x)
  ret i64 %y
}
define ptr @place() { ret ptr @room }
define ptr @address() { ret ptr @strlen }
define i64 @direct(i64 %x) { %y = call i64 @given(i64 %x) %z = call i64 @twice(i64 %y) ret i64 %z }
define i64 @chosen(i64 %x) {
  switch i64 %x, label %other [ i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d
                                i64 4, label %e i64 5, label %f ]
a: ret i64 70
b: %n = call i64 @length() ret i64 %n
c: %m = call i64 @twice(i64 9) ret i64 %m
d: ret i64 1
e: %k = call i64 @given(i64 8) ret i64 %k
f: ret i64 -3
other: ret i64 -1
}
"""
OTHER = "define i64 @twice(i64 %x) { %y = add i64 %x, %x ret i64 %y }"
_ONE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
_TWO = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@_ONE
def given(x: int) -> int:
    return x + 1000


def objects_of(*texts: str, triple: str = TRIPLE) -> list[bytes]:
    return [compile_module([text], Processor(triple, "generic", ""), speed=2) for text in texts]


def outcomes(image: LoadedImage) -> list[int]:
    one = lambda name, x=0: _ONE(image.address_of(name))(x)
    buffer = ctypes.create_string_buffer(b"four")
    room = one("place")
    ctypes.memset(room, 7, 4096)
    return [
        one("length"),
        *(one("counted") for _ in range(2)),
        *(_TWO(image.address_of("through"))(i, 21) for i in (0, 1)),
        one("direct", 4),
        *(one("chosen", x) for x in range(8)),
        room % 64,
        _ONE(one("address"))(ctypes.addressof(buffer)),
    ]


def test_an_image_does_what_its_objects_say() -> None:
    data = link_image(objects_of(MAIN, OTHER))
    assert data is not None and is_image(data)
    known = {"given": ctypes.cast(given, ctypes.c_void_p).value or 0}
    image = LoadedImage(data, known)
    answers = [5, 6, 7, 42, 1021, 2008, 70, 5, 18, 1, 1008, -3, -1, -1, 0, 4]
    assert outcomes(image) == answers
    assert outcomes(LoadedImage(data, known)) == answers, "each has its own data"


def test_equal_objects_give_equal_images() -> None:
    assert link_image(objects_of(MAIN, OTHER)) == link_image(objects_of(MAIN, OTHER))


def test_code_and_constants_cannot_be_written() -> None:
    data = link_image(objects_of(OTHER, "@c = constant i64 3"))
    assert data is not None
    image = LoadedImage(data, {})
    kinds = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(x, 16) for x in line.split()[0].split("-"))
        for name in ("twice", "c"):
            if first <= image.address_of(name) < last:
                kinds[name] = line.split()[1]
    assert kinds == {"twice": "r-xp", "c": "r--p"}


def test_a_function_that_nobody_has_is_an_error() -> None:
    data = link_image(
        objects_of(
            "declare void @nowhere_at_all() define void @f() "
            "{ call void @nowhere_at_all() ret void }"
        )
    )
    assert data is not None
    with pytest.raises(InternalError, match="nowhere_at_all"):
        LoadedImage(data, {})


THREAD_LOCAL = "@x = thread_local global i64 1 define ptr @f() { ret ptr @x }"
CONSTRUCTOR = """
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }]
    [{ i32, ptr, ptr } { i32 65535, ptr @f, ptr null }]
@n = global i64 0
define void @f() { store volatile i64 1, ptr @n ret void }
"""


@pytest.mark.parametrize(
    "objects",
    [
        objects_of(THREAD_LOCAL),
        objects_of(CONSTRUCTOR),
        objects_of("@x = common global i64 0"),
        objects_of(OTHER, triple="aarch64-unknown-linux-gnu"),
        [b"no object"],
    ],
    ids=["thread-local", "constructor", "common", "aarch64", "no object"],
)
def test_what_is_unusual_has_no_image(objects: Sequence[bytes]) -> None:
    assert link_image(objects) is None


def test_an_unknown_relocation_has_no_image() -> None:
    (data,) = objects_of("declare void @g() define void @f() { call void @g() ret void }")
    kind = data.index(struct.pack("<q", -4)) - 8  # of the one relocation, before what it adds
    assert link_image([data]) is not None
    assert link_image([data[:kind] + b"\xfe\0\0\0" + data[kind + 4 :]]) is None


def test_programs_of_both_kinds_share_one_pool() -> None:
    """The second process has the first program, and the pool, as images, and compiles the next."""
    program = (
        "import sys\n"
        "import numpy as np\n"
        "import flowc as tf\n"
        "def ran(by):\n"
        "    x = tf.placeholder(tf.float32, [None])\n"
        "    with tf.Session(threads=2) as session:\n"
        "        y = session.run(x * by, {x: np.ones(1 << 20, np.float32)})\n"
        "    return float(y.sum()) == by * (1 << 20)\n"
        "print(ran(12.5), 'llvmlite' in sys.modules, ran(float(sys.argv[1])))\n"
    )
    for number, compiles in ((13, "True"), (14, "False")):
        command = [sys.executable, "-c", program, str(number)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["True", compiles, "True"]


def test_llvm_makes_the_same_of_the_objects() -> None:
    code = LoadedObjects(objects_of(OTHER))
    data = link_image(objects_of(OTHER))
    assert data is not None
    for loaded in (code, LoadedImage(data, {})):
        assert _ONE(loaded.address_of("twice"))(4) == 8
