"""Images of files in batches: decoded before the native program runs, written where they stay."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import flowc as tf
from flowc import compiler
from flowc.ops.datasets import mapped
from flowc.ops.datasets.threads.pace import Pace

SIZE = 80  # of a result, which takes more than what is worth a place of its own


@pytest.fixture(params=[1, 2], ids=["alone", "threads"])
def calls(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many calls a map may have under way; its threads begin with the second batch."""
    monkeypatch.setattr(Pace, "begins", lambda self, seconds, count=1: True)
    monkeypatch.setattr(Pace, "ends", lambda self, count=1: False)
    return request.param


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was compiled, or found in the cache."""
    found: list[Any] = []
    compile_fetches = compiler.compile_fetches

    def noted(graph: Any, asked: Any, *rest: Any, **more: Any) -> Any:
        found.append(asked)
        return compile_fetches(graph, asked, *rest, **more)

    monkeypatch.setattr(compiler, "compile_fetches", noted)
    return found


def pixels(k: int) -> Any:
    """Images of different sizes."""
    return np.full((20 + k, 30, 3), 10 * k, np.uint8)


def write_images(folder: Path, count: int) -> list[str]:
    for k in range(count):
        data = io.BytesIO()
        Image.fromarray(pixels(k)).save(data, "PNG")
        (folder / f"{k:02}.png").write_bytes(data.getvalue())
    return [str(folder / f"{k:02}.png") for k in range(count)]


def loaded(name: Any) -> Any:
    image = tf.image.decode_png(tf.read_file(name), channels=3)
    return tf.image.resize_images(image, [SIZE, SIZE])


def batches(names: Sequence[str], function: Any, calls: int, size: int = 4) -> Any:
    found = tf.data.Dataset.from_tensor_slices([*names]).map(function, calls).batch(size)
    return found.make_one_shot_iterator().get_next()


def test_images_are_written_where_they_stay(
    tmp_path: Path, calls: int, programs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = write_images(tmp_path, 22)
    copied: list[int] = []
    batched = mapped.batched

    def noted(elements: Sequence[Any]) -> Any:
        copied.append(len(elements))
        return batched(elements)

    monkeypatch.setattr(mapped, "batched", noted)
    monkeypatch.setattr("flowc.ops.datasets.batching.batched", noted)
    with tf.Graph().as_default(), tf.Session() as session:
        batch = batches(names, loaded, calls)
        found = [session.run(batch) for _ in range(6)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(batch)
    assert [len(b) for b in found] == [4, 4, 4, 4, 4, 2]
    for k, image in enumerate(np.concatenate(found)):
        np.testing.assert_array_equal(image, np.full((SIZE, SIZE, 3), 10 * k, np.float32))
    for k, before in enumerate(found[:-1]):
        assert all(not np.shares_memory(before, later) for later in found[k + 1 :])
    # The first elements say what the rest look like; the last ones are fewer than was asked for.
    assert sum(copied) <= 8 + 2
    of_map = [asked for asked in programs if len(asked.feeds) == 1]
    assert len(of_map) == 1, "one program serves images of all sizes"


def test_a_file_that_is_gone_ends_its_batch(tmp_path: Path, calls: int) -> None:
    names = write_images(tmp_path, 16)
    Path(names[9]).unlink()
    with tf.Graph().as_default(), tf.Session() as session:
        batch = batches(names, loaded, calls)
        first = [session.run(batch)[:, 0, 0, 0].tolist() for _ in range(2)]
        with pytest.raises(tf.errors.NotFoundError, match=r"09\.png"):
            session.run(batch)
        rest = session.run(batch)[:, 0, 0, 0].tolist()
    assert first == [[0, 10, 20, 30], [40, 50, 60, 70]]
    assert rest == [100, 110, 120, 130]


def test_images_of_other_sizes_do_not_become_a_batch(tmp_path: Path, calls: int) -> None:
    names = write_images(tmp_path, 12)

    def sized(name: Any) -> Any:
        wide = tf.cast(tf.equal(tf.strings.substr(name, -6, 2), "09"), tf.int32)
        return tf.image.resize_images(loaded(name), tf.stack([SIZE, SIZE + wide]))

    with tf.Graph().as_default(), tf.Session() as session:
        batch = batches(names, sized, calls)
        assert [session.run(batch).shape for _ in range(2)] == [(4, SIZE, SIZE, 3)] * 2
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot batch tensors"):
            session.run(batch)


def test_what_is_read_is_read_once(tmp_path: Path) -> None:
    """What the native program needs of the first steps comes from them."""
    names = write_images(tmp_path, 3)

    def both(name: Any) -> Any:
        data = tf.read_file(name)
        small = tf.image.resize_images(tf.image.decode_png(data, channels=3), [2, 2])
        return small, tf.strings.length(data), tf.shape(tf.image.decode_png(data))

    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        element = batches(names, both, 1, 1)
        for _ in names:
            found.append(session.run(element))
    for k, (image, size, shape) in enumerate(found):
        assert image[0, 0, 0, 0] == 10 * k
        assert size[0] == Path(names[k]).stat().st_size
        assert shape[0].tolist() == [20 + k, 30, 3]
