"""`tf.app`, `tf.flags` and `tf.gfile`: what a TensorFlow 1 program has round its graph."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flowc as tf
from flowc.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)

PROGRAM = """
import flowc as tf

tf.app.flags.DEFINE_integer("steps", 10, "how many")
tf.flags.DEFINE_boolean("fast", False, "whether")
FLAGS = tf.flags.FLAGS

def main(argv):
    print(FLAGS.steps, FLAGS.fast, argv[1:])
    return 3

if __name__ == "__main__":
    tf.app.run()
"""


def test_a_program_reads_its_flags_and_exits_with_what_main_returns(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = [sys.executable, str(path), "--steps=7", "--fast", "rest", "--unknown=1"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert found.returncode == 3, found.stderr
    assert found.stdout == "7 True ['rest', '--unknown=1']\n"
    wrong = subprocess.run([*command[:2], "--steps=x"], capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 1 and "flag --steps=x" in wrong.stderr


READING = """
import flowc as tf

tf.flags.DEFINE_integer("units", 16, "how many")
FLAGS = tf.app.flags.FLAGS
FLAGS.set_default("units", 8)
assert not FLAGS.is_parsed() and "units" in FLAGS and FLAGS["units"].value == 8
print(FLAGS.units, tf.flags.FLAGS.units)
FLAGS.units = 3
print(FLAGS.units, FLAGS.is_parsed())
"""


def test_flags_that_are_read_before_the_program_starts_read_the_command_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "program.py"
    path.write_text(READING)
    command = [sys.executable, str(path)]
    for arguments, units in (["--units=5"], 5), ([], 8):
        found = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
        assert found.stdout == f"{units} {units}\n3 True\n", found.stderr
    wrong = subprocess.run([*command, "--none=1"], capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 1 and "Unknown command line flag 'none'" in wrong.stderr


def test_files_are_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "a" / "x"
    tf.gfile.MakeDirs(path.parent)
    tf.gfile.MakeDirs(path.parent)
    tf.gfile.MkDir(path.parent)
    with tf.gfile.GFile(path, "w") as file:
        file.write("one\ntwo\n")
    with tf.gfile.Open(str(path)) as file:
        assert (file.size(), file.readline(), list(file), file.tell()) == (8, "one\n", ["two\n"], 8)
    with tf.gfile.FastGFile(path, "rb") as file:
        assert (file.read(3), file.tell()) == (b"one", 3)
        file.seek(1)
        assert file.readlines() == [b"ne\n", b"two\n"]
    lines = path.with_name("z")
    lines.write_bytes(b"a\rb\r\r\nc\r\nd\r")  # lines lose carriage returns, as in TensorFlow 2.21
    with tf.gfile.GFile(lines) as file:
        assert [file.readline(), *file] == ["ab\n", "c\n", "d"]
    with tf.gfile.GFile(lines, "rb") as file:
        assert file.readlines() == [b"ab\n", b"c\n", b"d"]
        file.seek(0)
        assert file.read() == lines.read_bytes()
    tf.gfile.Remove(lines)
    other = path.with_name("y")
    tf.gfile.Copy(path, other)
    tf.gfile.Copy(path, other, overwrite=True)
    assert tf.gfile.Glob([f"{path}*", str(other)]) == [str(path), str(other)]
    assert tf.gfile.ListDirectory(path.parent) == ["x", "y"]
    assert list(tf.gfile.Walk(tmp_path)) == [
        (str(tmp_path), ["a"], []),
        (str(path.parent), [], ["x", "y"]),
    ]
    tf.gfile.Rename(other, path, overwrite=True)
    stat = tf.gfile.Stat(path)
    assert stat.length == 8 and not stat.is_directory and not tf.gfile.IsDirectory(path)
    tf.gfile.Remove(path)
    assert not tf.gfile.Exists(path)
    tf.gfile.DeleteRecursively(path.parent)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda d: tf.gfile.GFile(d / "no").read(), NotFoundError, "no; No such file"),
        (lambda d: tf.gfile.GFile(d / "no", "q").read(), InvalidArgumentError, "mode is not 'r'"),
        (lambda d: tf.gfile.ListDirectory(d / "no"), NotFoundError, "Could not find directory"),
        (lambda d: tf.gfile.Remove(d / "no"), NotFoundError, "No such file"),
        (lambda d: tf.gfile.Remove(d), FailedPreconditionError, "Is a directory"),
        (lambda d: tf.gfile.MkDir(d / "no" / "a"), NotFoundError, "No such file"),
        (lambda d: tf.gfile.Stat(d / "no"), NotFoundError, "No such file"),
        (lambda d: tf.gfile.DeleteRecursively(d / "no"), NotFoundError, "No such file"),
        (lambda d: tf.gfile.Copy(d / "here", d / "here"), AlreadyExistsError, "already exists"),
        (lambda d: tf.gfile.Rename(d / "here", d / "here"), AlreadyExistsError, "already exists"),
    ],
)
def test_faults_of_files_are_those_of_tensorflow(
    tmp_path: Path, call: Callable[[Path], Any], kind: type[Exception], text: str
) -> None:
    (tmp_path / "here").touch()
    with pytest.raises(kind, match=text):
        call(tmp_path)
