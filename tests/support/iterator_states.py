"""Iterators that go on from a checkpoint: the datasets of `dataset_snippets.py`, and some more.

In: a module that goes by `tf`, an empty folder. Out: what is left of a dataset once its iterator was
saved: for that iterator, and for one of a Session that restored it. The recording has TensorFlow's.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from typing import Any

from snippets.dataset_snippets import fault, names_of, plain, programs, run_code, write_files

MOST = 30  # elements
MORE = r"""
shuffle_epochs: d = D.range(5).shuffle(3, seed=8).repeat(4)
shuffle_same_epochs: d = D.range(5).shuffle(3, seed=8, reshuffle_each_iteration=False).repeat(4)
shuffle_elements: d = D.range(9).map(lambda x: (x, tf.as_string(x))).shuffle(4, seed=1).batch(2)
random_numbers: d = D.zip((E.RandomDataset(seed=3), D.range(9)))
cache_then: d = D.range(4).map(lambda x: x * 5).cache().repeat(3).batch(2)
cache_file_whole: d = D.range(4).map(lambda x: x * 5).cache(folder + "c").repeat(3)
interleave_files: d = D.from_tensor_slices([folder + "a.txt", folder + "b.txt"]).interleave(D_lines, 2, 2).repeat(2)
window_batches: d = D.range(9).window(3, shift=2).flat_map(lambda w: w.batch(2))
window_elements: d = D.range(12).window(3, shift=2, stride=2).shuffle(3, seed=2).flat_map(lambda w: w)
skip_then: d = D.range(20).skip(3).shard(2, 1).take(6)
filter_strings: d = D.from_tensor_slices(["a", "bc", "", "d", "ef"]).filter(lambda s: tf.strings.length(s) < 2).repeat(3)
concatenate_batches: d = D.range(4).batch(3).concatenate(D.range(3).batch(2)).repeat(2)
parallel_chain: d = D.range(30).map(lambda x: x * 2, num_parallel_calls=2).prefetch(2).batch(2).map(lambda x: x + 1, num_parallel_calls=3).prefetch(1)
ragged_unbatch: d = D.range(6).map(lambda x: tf.range(x)).flat_map(lambda v: D.from_tensor_slices(v)).batch(4)
table: d = D.range(4).map(lambda x: table.lookup(x)).repeat(2)
variable_read: v = tf.get_variable("v", initializer=3.0, use_resource=True); init = v.initializer; d = D.range(4).map(lambda x: v + tf.cast(x, tf.float32))
print_is_harmless: d = D.range(5).map(lambda x: tf.Print(x, [], "")).repeat(1)
"""
# Of `dataset_snippets.py`: one of each kind that has something to keep.
CHOSEN = """
    map_parallel map_fails map_check map_random map_py_func take skip shard zip prefetch
    unbatch_pair flat_map_nested interleave_parallel interleave_legacy shuffle_batch shuffle_and_repeat
    window group_window_sizes group_by_reducer scan_pair take_while unique ignore_errors
    choose generator sparse_slices text_lines_gzip fixed_length tf_records tf_records_damaged csv_bad
"""
THEN = {"map_fails": 1, "tf_records_damaged": 0, "csv_bad": 0, "cache_file_whole": 9}
THEN |= dict.fromkeys(("map_check", "generator", "ignore_errors"), 1)
THEN |= dict.fromkeys(("map_random", "map_py_func"), 0)


def states() -> dict[str, str]:
    """Programs by name."""
    every = programs()
    lines = (line.partition(": ") for line in MORE.strip().splitlines())
    return {n: every[n] for n in CHOSEN.split() if n in every} | {n: code for n, _, code in lines}


def resumed(tf: Any, name: str, folder: str, count: int | None = None) -> list[Any]:
    """What is left behind `count` elements: for the iterator itself, then for a restored one."""
    write_files(folder)
    count = THEN.get(name, 2) if count is None else count
    with tf.Graph().as_default():
        names = names_of(tf, folder)
        names["D_lines"] = tf.data.TextLineDataset
        if name == "table":
            keys = tf.constant([0, 2], tf.int64)
            initializer = tf.lookup.KeyValueTensorInitializer(keys, tf.constant(["a", "b"]))
            names["table"] = tf.lookup.StaticHashTable(initializer, "none")
        run_code(states()[name], names)
        iterator = tf.data.make_initializable_iterator(names["d"])
        following = iterator.get_next()
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        saver = tf.train.Saver([saveable])
        begin = [iterator.initializer, tf.tables_initializer()]
        first = [] if names["init"] is None else names["init"]
        with tf.Session() as session:
            session.run(first)
            session.run(begin)
            for _ in range(count):
                session.run(following)
            try:
                saver.save(session, folder + "state", write_meta_graph=False)
            except tf.errors.OpError as error:
                return [fault(error, folder)[:2]]
            left = rest(tf, session, following)
        with tf.Session() as session:
            session.run(first)
            session.run(begin)
            saver.restore(session, folder + "state")
            again = rest(tf, session, following)
    return [left, "the same" if again == left else again]


def rest(tf: Any, session: Any, following: Any) -> list[Any]:
    """All elements that come, and the classes of errors."""
    found: list[Any] = []
    faults = 0
    while len(found) < MOST and faults < 4:
        try:
            found.append(plain(session.run(following)))
        except tf.errors.OutOfRangeError:
            break
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
            faults += 1
    return found
