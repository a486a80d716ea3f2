"""Programs of rows 90, 92 and 94: input files that are damaged, elements of wrong shapes. Each
pipeline ends in its error, and no thread is left. The form is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

_BEGIN = r"""
import gzip, threading
def write(name, *records, compression=""):
    with tf.io.TFRecordWriter(folder + name, compression) as w: [w.write(r) for r in records]
    return folder + name
def changed(name, change):
    data = bytearray(open(folder + name, "rb").read()); change(data); open(folder + name, "wb").write(data); return folder + name
def cut(size): return lambda data: data.__delitem__(slice(size, None))
def flip(at): return lambda data: data.__setitem__(at, data[at] ^ 1)
def text(name, *lines): open(folder + name, "w").write("".join(x + "\n" for x in lines)); return folder + name
def pipeline(words, kind, build, got=lambda count: None):
    def attempt():
        while True: seen.append(s.run(fetch)); got(len(seen))
    seen = []; before = set(threading.enumerate())
    with tf.Graph().as_default():
        fetch = build()
        with tf.Session() as s:
            s.run(tf.local_variables_initializer()); c = tf.train.Coordinator(); started = tf.train.start_queue_runners(s, c)
            def ends():
                try: attempt()
                except tf.errors.OutOfRangeError as e: c.request_stop(e if not started else None); c.join(started); raise RuntimeError("no error")
                except Exception as e: c.request_stop(e); c.join(started)
            log.append([raises(kind, words, ends), len(seen), c.should_stop(), [x.name for x in threading.enumerate() if x not in before and not x.daemon]])
def queued(files, reader, then=lambda v: v): return lambda: then(reader().read(tf.train.string_input_producer(files, num_epochs=1, shuffle=False))[1])
def batched(*tensors): return tf.train.batch(list(tensors), 2)
def dataset(d): return lambda: tf.data.make_one_shot_iterator(d()).get_next()
G = tf.python_io.TFRecordOptions("GZIP"); ten = [bytes([65 + k]) * 20 for k in range(10)]
"""

_ROWS = read_snippets(r"""
# 92_damaged_records
for name, change, words in (("c", flip(12 + 36 * 4), "corrupted record at 156"), ("l", flip(36 * 4), "corrupted record at 144"), ("t", cut(36 * 4 + 20), "truncated record at 144' failed with Read less bytes than requested")):
    write(name, *ten); f = changed(name, change); pipeline(words, "DataLossError", queued([f], tf.TFRecordReader)); pipeline(words, "DataLossError", queued([f], tf.TFRecordReader, batched)); pipeline(words, "DataLossError", dataset(lambda: tf.data.TFRecordDataset(f))); pipeline(words, "DataLossError", dataset(lambda: tf.data.TFRecordDataset(f).map(lambda x: x, 2).batch(3).prefetch(1)))
# 92_damaged_gzip
write("z", *[np.random.RandomState(k).bytes(50000) for k in range(6)], compression="GZIP"); f = changed("z", cut(160000)); words = "truncated record at 150048' failed with EOF reached"
pipeline(words, "DataLossError", queued([f], lambda: tf.TFRecordReader(options=G), lambda v: tf.substr(v, 0, 1))); pipeline(words, "DataLossError", dataset(lambda: tf.data.TFRecordDataset(f, "GZIP"))); changed("z", flip(100000)); words = "corrupted record at 50028"; pipeline(words, "DataLossError", queued([f], lambda: tf.TFRecordReader(options=G), lambda v: tf.substr(v, 0, 1))); pipeline(words, "DataLossError", dataset(lambda: tf.data.TFRecordDataset(f, "GZIP")))
open(folder + "l.gz", "wb").write(gzip.compress(np.random.RandomState(1).bytes(60000).hex().encode().replace(b"00", b"\n"))[:20000]); pipeline("no error", "RuntimeError", dataset(lambda: tf.data.TextLineDataset(folder + "l.gz", "GZIP"))); pipeline("has body length 34208 bytes, which is not an exact multiple of the record length (7 bytes).", "DataLossError", dataset(lambda: tf.data.FixedLengthRecordDataset(folder + "l.gz", 7, compression_type="GZIP"))); pipeline("inflate() failed with error -3: incorrect header check", "DataLossError", dataset(lambda: tf.data.TFRecordDataset(write("p", b"x"), "GZIP")))
# 92_files_that_vanish
def gone(count): count == 1 and os.path.exists(folder + "b") and os.remove(folder + "b")
for reader, source in ((tf.TextLineReader, tf.data.TextLineDataset), (lambda: tf.FixedLengthRecordReader(2), lambda f: tf.data.FixedLengthRecordDataset(f, 2))):
    a = text("a", "1", "2"); text("b", "3"); pipeline(folder + "b; No such file or directory", "NotFoundError", queued([a, folder + "b"], reader), gone); text("b", "3"); pipeline(folder + "b; No such file or directory", "NotFoundError", dataset(lambda: source([a, folder + "b"])), gone)
text("b", "3"); pipeline(folder + "b; No such file or directory", "NotFoundError", queued([a, folder + "b"], tf.WholeFileReader), gone); pipeline(folder + "b; No such file or directory", "NotFoundError", dataset(lambda: tf.data.Dataset.from_tensor_slices([a, folder + "b"]).map(tf.read_file)))
write("a", *ten); write("b", *ten); pipeline(folder + "b; No such file or directory", "NotFoundError", queued([folder + "a", folder + "b"], tf.TFRecordReader), gone); write("b", *ten); pipeline(folder + "b; No such file or directory", "NotFoundError", dataset(lambda: tf.data.TFRecordDataset([folder + "a", folder + "b"])), gone)
# 92_csv_lines
for name, line, words, said in (("m", "5,6,7", "Expect 2 fields but have 3 in record 0", "Expect 2 fields but have more in record"), ("f", "5", "Expect 2 fields but have 1 in record 0", "Expect 2 fields but have 1 in record"), ("n", "5,x", "Field 1 in record 0 is not a valid float: x", "Field 1 in record is not a valid float: x"), ("q", '5,"6', "Quoted field has to end with quote followed by delim or end", "Reached end of file without closing quoted field in record")):
    f = text(name, "1,2", "3,4", line, "7,8"); columns = [[0], [0.0]]; read = lambda v: tf.decode_csv(v, columns); pipeline(words, "InvalidArgumentError", queued([f], tf.TextLineReader, lambda v: read(v))); pipeline(words, "InvalidArgumentError", queued([f], tf.TextLineReader, lambda v: batched(*read(v)))); pipeline(words, "InvalidArgumentError", dataset(lambda: tf.data.TextLineDataset(f).map(read))); pipeline(said, "InvalidArgumentError", dataset(lambda: tf.data.experimental.CsvDataset(f, columns)))
# 90_elements_of_wrong_shapes
def sizes(*n): return lambda: tf.zeros([tf.train.slice_input_producer([list(n)], num_epochs=1, shuffle=False)[0]])
def open_queue(make, q): tf.train.add_queue_runner(tf.train.QueueRunner(q, [q.enqueue([make()])])); return q.dequeue()
def numbers(*n): return tf.data.Dataset.from_tensor_slices(list(n)).map(lambda n: tf.zeros([n]))
words = "Shape mismatch in tuple component 0. Expected [2], got [3]"; two = sizes(2, 2, 3, 2)
def undefined(): x = tf.placeholder_with_default(two(), None); return x
pipeline(words, "InvalidArgumentError", lambda: open_queue(undefined, tf.FIFOQueue(5, tf.float32, [[2]]))); pipeline(words, "InvalidArgumentError", lambda: open_queue(undefined, tf.RandomShuffleQueue(5, 0, tf.float32, [[2]]))); pipeline(words, "InvalidArgumentError", lambda: open_queue(undefined, tf.PaddingFIFOQueue(5, tf.float32, [[2]]))); pipeline(words, "InvalidArgumentError", lambda: tf.train.batch([tf.ensure_shape(two(), [None])], 2, shapes=[[2]])); pipeline(words, "InvalidArgumentError", lambda: tf.train.shuffle_batch([tf.ensure_shape(two(), [None])], 2, 5, 1, shapes=[[2]])); pipeline("Shape mismatch in tuple component 1. Expected [3], got [2]", "InvalidArgumentError", lambda: tf.train.batch([two(), tf.zeros([2])], 2, enqueue_many=True, shapes=[[], []]))
pipeline("Cannot batch tensors with different shapes in component 0. First element had shape [2] and element 1 had shape [3].", "InvalidArgumentError", dataset(lambda: numbers(2, 2, 2, 3).prefetch(1).batch(2))); pipeline("Attempted to pad to a smaller size than the input element.", "DataLossError", dataset(lambda: numbers(2, 2, 5, 3).padded_batch(2, [4]))); pipeline("[5] is not compatible with expected shape [2].", "InvalidArgumentError", dataset(lambda: numbers(2, 2, 5, 3).map(lambda x: tf.ensure_shape(x, [2]))))
""")

FAULT_ROWS: tuple[Snippet, ...] = tuple(Snippet(s.name, _BEGIN + s.code) for s in _ROWS)
