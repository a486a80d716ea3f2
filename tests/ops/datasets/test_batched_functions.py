"""Functions of map that compute a batch at once give what they give one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import OpError
from flowc.ops.datasets.mapped import MappedItems

LINES = [f'{i},{i / 8},"a,{i}",' for i in range(40)]
DAMAGED = [*LINES[:9], "1,2", *LINES[9:20], "x,1,b,", *LINES[20:]]


def _example(i: int) -> bytes:
    feature, train = tf.train.Feature, tf.train
    features = {
        "i": feature(int64_list=train.Int64List(value=[i])),
        "x": feature(float_list=train.FloatList(value=[i / 4, -i])),
    }
    if i % 3:
        features["name"] = feature(bytes_list=train.BytesList(value=[b"n%d" % i]))
    return train.Example(features=train.Features(feature=features)).SerializeToString()


EXAMPLES = [_example(i) for i in range(20)]
FEATURES = {
    "i": tf.FixedLenFeature([], tf.int64),
    "x": tf.FixedLenFeature([2], tf.float32),
    "name": tf.FixedLenFeature([], tf.string, "none"),
}
OTHERS = {**FEATURES, "x": tf.FixedLenFeature([3], tf.float32)}


def _csv(line: Any) -> Any:
    i, x, text, none = tf.decode_csv(line, [[0], [0.0], [""], [-1]])
    return tf.stack([i, none]), x * 2.0, text


def _image(data: Any) -> Any:
    pixels = tf.transpose(tf.reshape(tf.decode_raw(data, tf.uint8), [2, 3]), [1, 0])
    flipped = tf.image.random_flip_left_right(tf.cast(pixels[:, :, None], tf.float32), seed=1)
    return flipped, tf.random_uniform([], seed=2) * 0.0 + tf.reduce_sum(flipped)


CASES: dict[str, tuple[list[Any], Callable[[Any], Any]]] = {
    "csv": (LINES, _csv),
    "csv_fields": (DAMAGED, _csv),
    "examples": (EXAMPLES, lambda s: tf.parse_single_example(s, FEATURES)),
    "examples_sizes": (EXAMPLES, lambda s: tf.parse_single_example(s, OTHERS)),
    "examples_bytes": ([*EXAMPLES[:7], b"\xff", *EXAMPLES], lambda s: _parsed(s)),
    "images": ([bytes(range(i, i + 6)) for i in range(30)], _image),
    "raw_sizes": ([b"ab"] * 5 + [b"a"] + [b"ab"] * 6, lambda s: tf.decode_raw(s, tf.uint8)),
    "broadcast": ([[i, 2 * i] for i in range(12)], lambda v: (v + 1, v * v[0], [v, v], 7)),
    "numbers": ([b"1.5", b" 2", b"nan", b"1e3", b"x", b"4"] * 3, tf.string_to_number),
    "passed": (list(range(20)), lambda x: (x, tf.cast(x, tf.float32) / 3.0)),
}


def _parsed(serialized: Any) -> Any:
    return tf.parse_single_example(serialized, FEATURES)


def _given(session: Any, batch: Any) -> list[Any]:
    """Everything that an iterator gives, errors too."""
    found: list[Any] = []
    while True:
        try:
            found.append(session.run(batch))
        except tf.errors.OutOfRangeError:
            return found
        except OpError as error:
            found.append((type(error).__name__, error.message))


def _results(case: str, size: int, calls: int | None, shuffled: bool) -> list[Any]:
    values, function = CASES[case]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(5)
        data = tf.data.Dataset.from_tensor_slices(np.array(values))
        if isinstance(values[0], bytes):
            data = tf.data.Dataset.from_generator(lambda: iter(values), tf.string, [])
        data = data.map(function, calls)
        data = data.shuffle(8, seed=3) if shuffled else data
        return _given(session, data.batch(size).make_one_shot_iterator().get_next())


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_at_once_is_as_one_by_one(
    case: str, shuffled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two threads take numbers from one stream in any order, as in TensorFlow.
    for calls in (None,) if case == "images" else (None, 2):
        found = _results(case, 6, calls, shuffled)
        with monkeypatch.context() as patched:
            patched.setattr(MappedItems, "_many", lambda self, items: None)
            expected = _results(case, 6, calls, shuffled)
        _check_equal(found, expected)


def _check_equal(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(found, dict):
        found, expected = list(found.values()), list(expected.values())
    if isinstance(found, list | tuple):
        assert len(found) == len(expected)
        for x, y in zip(found, expected):
            _check_equal(x, y)
    else:
        np.testing.assert_array_equal(found, expected)


def test_nothing_is_called_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MappedItems, "apply", lambda self, item: pytest.fail("one by one"))
    for case in ("csv", "examples", "images", "numbers", "passed"):
        if case != "numbers":
            assert len(_results(case, 5, None, False)) == -(-len(CASES[case][0]) // 5)


def test_lines_of_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\n".join(LINES))
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.TextLineDataset(str(tmp_path / "a.csv")).map(_csv).batch(16)
        batches = _given(session, data.make_one_shot_iterator().get_next())
    assert [len(batch[2]) for batch in batches] == [16, 16, 8]
    assert [text for batch in batches for text in batch[2]] == [b"a,%d" % i for i in range(40)]


def test_a_bad_line_of_csv_says_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('head,er\n1,2\n3,"4\n5",6\n7,x\n8,9\n"10,11')
    with tf.Graph().as_default():
        data = tf.data.experimental.CsvDataset(str(path), [tf.int32, tf.int32], header=True)
        element = data.make_one_shot_iterator().get_next()
        found: list[Any] = []
        with tf.Session() as session:
            for _ in range(4):
                try:
                    found.append([int(field) for field in session.run(element)])
                except tf.errors.InvalidArgumentError as error:
                    found.append((error.message, error.hint))
    assert found == [
        [1, 2],
        ("Expect 2 fields but have more in record", f"look at line 3 of {path}"),
        ("Field 1 in record is not a valid int32: x", f"look at line 5 of {path}"),
        [8, 9],
    ]
