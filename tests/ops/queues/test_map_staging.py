"""Staging areas whose tuples have keys: who gets which, who waits, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf


def _keyed(kind: str, name: str, *values: Any, **given: Any) -> Any:
    area = {"dtypes": [tf.float32, tf.int32], "shared_name": "area", **given}
    if name.startswith("Stage"):
        area["values"] = values
    return getattr(tf.raw_ops, kind + name)(**area)


def _at(key: int, *places: int) -> dict[str, Any]:
    return {"key": np.int64(key), "indices": np.array(places, np.int32)}


def test_tuples_leave_a_staging_area_by_their_keys() -> None:
    with tf.Session() as session:
        for key in (9, 5, 7):
            whole = [np.float32(key), np.int32(10 * key)]
            session.run(_keyed("OrderedMap", "Stage", *whole, **_at(key, 0, 1)))
        session.run(_keyed("OrderedMap", "Stage", np.float32(1), np.int32(2), **_at(9, 0, 1)))
        size = _keyed("OrderedMap", "Size")
        assert session.run(size) == 3  # the first of a key stays
        taken = _keyed("OrderedMap", "UnstageNoKey", indices=np.array([0, 1], np.int32))
        assert [session.run(taken.key) for _ in range(2)] == [5, 7]
        part = _keyed("OrderedMap", "Unstage", **_at(9, 1) | {"dtypes": [tf.int32]})
        assert session.run([part, size]) == [[90], 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="already been removed"):
            session.run(part)


def test_what_compiled_code_computed_is_staged() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        put = _keyed("Map", "Stage", x * 2, np.int32(3), **_at(1, 0, 1))
        session.run(put, {x: [1, 2]})
        found = session.run(_keyed("Map", "Unstage", **_at(1, 0, 1)))
        np.testing.assert_array_equal(found[0], [2, 4])
        assert found[1] == 3


def test_a_staging_area_with_keys_waits_for_room() -> None:
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=200)) as session:
        values = [np.float32(1), np.int32(2)]
        session.run(_keyed("Map", "Stage", *values, **_at(1, 0, 1), capacity=1))
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(_keyed("Map", "Stage", *values, **_at(2, 0, 1), capacity=1))
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(_keyed("Map", "Unstage", **_at(2, 0, 1)))
        put = _keyed("Map", "Stage", *values, **_at(3, 0, 1), memory_limit=4)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="'8' bytes"):
            session.run(put)


def test_what_a_staging_area_with_keys_refuses() -> None:
    with tf.Session() as session:
        for places, values, text in (
            ([0, 2], (np.float32(1), np.int32(2)), "Index '2' for key '1' was out of bounds '2'"),
            ([1, 0], (np.int32(1), np.float32(2)), "Indices are not strictly ordered"),
            ([], (np.int32(1),), "Indices are empty"),
            ([0], (np.float32(1), np.int32(2)), "1 indices for 2 values"),
            ([0], (np.int32(1),), "is of dtype int32, and not float"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                session.run(_keyed("Map", "Stage", *values, **_at(1, *places)))
        session.run(_keyed("Map", "Stage", np.int32(1), **_at(1, 1)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="already initialized '2'"):
            session.run(_keyed("Map", "Stage", np.int32(1), **_at(1, 1)))


def test_one_run_stages_and_takes_by_a_key() -> None:
    take = _keyed("Map", "Unstage", **_at(1, 0, 1))
    put = _keyed("Map", "Stage", np.float32(1), np.int32(2), **_at(1, 0, 1))
    with tf.Session() as session:
        assert session.run([take[1], put]) == [2, None]
