"""Builds models whose inputs are texts, records and image files in TensorFlow, and runs them there.

    V/bin/python tests/oracle/record_text_models.py    # V has tensorflow-cpu 2.21.0

Out: `tests/recorded/text_models.npz`: of each model its files (`MODEL/file/PATH`), feeds
(`MODEL/feed/TENSOR`) and TensorFlow's answers (`MODEL/answer/TENSOR`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf2
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
Arrays = dict[str, Any]
OCCUPATIONS = ["Tech-support", "Craft-repair", "Sales", "Exec-managerial"]


def _example(age: float, hours: float, job: str, education: str, words: list[str]) -> bytes:
    def texts(values: list[str]) -> Any:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[v.encode() for v in values]))

    def number(value: float) -> Any:
        return tf.train.Feature(float_list=tf.train.FloatList(value=[value]))

    features = {"age": number(age), "hours": number(hours), "words": texts(words)}
    features |= {"job": texts([job]), "education": texts([education])}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def wide_and_deep(folder: str) -> tuple[Arrays, list[str]]:
    """A SavedModel as the canned estimator exports it: feature columns over parsed examples, a
    linear model of crossed and hashed columns beside a deep one of embeddings."""
    columns = tf.feature_column
    age, hours = columns.numeric_column("age"), columns.numeric_column("hours")
    job = columns.categorical_column_with_vocabulary_list("job", OCCUPATIONS, num_oov_buckets=2)
    education = columns.categorical_column_with_hash_bucket("education", 20)
    words = columns.categorical_column_with_hash_bucket("words", 30)
    ages = columns.bucketized_column(age, [18, 25, 30, 40, 60])
    wide = [ages, education, words, columns.crossed_column([ages, "education", "job"], 50)]
    deep = [
        age,
        hours,
        columns.indicator_column(job),
        columns.embedding_column(education, 4),
        columns.embedding_column(words, 4, combiner="sqrtn"),
    ]
    serialized = tf.placeholder(tf.string, [None], name="examples")
    spec = columns.make_parse_example_spec([*wide, *deep])
    features = tf.parse_example(serialized, spec)
    linear = columns.linear_model(features, wide)
    layer = columns.input_layer(features, deep)
    for k, size in enumerate((8, 1)):
        kernel = tf.get_variable(f"kernel{k}", [layer.shape[-1], size])
        layer = tf.matmul(tf.nn.relu(layer) if k else layer, kernel)
    scores = tf.nn.sigmoid(linear + layer, name="scores")
    tf.identity(tf.as_string(scores, precision=2), name="shown")
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        names = [v for v in tf.global_variables() if "linear_model" in v.name]
        for k, variable in enumerate(names):
            values = np.random.RandomState(k).normal(0, 0.3, variable.shape)
            variable.load(values.astype(np.float32), session)
        tf.saved_model.simple_save(
            session,
            folder,
            {"examples": serialized},
            {"scores": scores},
            legacy_init_op=tf.tables_initializer(),
        )
    given = [
        _example(31.0, 40.0, "Sales", "Bachelors", ["a", "wide", "word"]),
        _example(17.5, 12.0, "Astronaut", "11th", []),
        _example(62.0, 60.0, "Exec-managerial", "Masters", ["deep"]),
        _example(40.0, 38.5, "Craft-repair", "HS-grad", ["a", "a", "b"]),
    ]
    return {"examples:0": np.array(given, object)}, ["scores:0", "shown:0"]


def language_detection(folder: str) -> tuple[Arrays, list[str]]:
    """A frozen graph: n-grams of a text's letters, hashed, counted and weighed."""
    texts = tf.placeholder(tf.string, [None], name="texts")
    clean = tf.strings.regex_replace(tf.strings.lower(texts, encoding="utf-8"), r"[\s\d_]+", " ")
    letters = tf.strings.unicode_split(clean, "UTF-8")
    grams = tf.strings.ngrams(letters, [1, 2, 3], separator="")
    hashed = tf.strings.to_hash_bucket_fast(grams.flat_values, 64)
    rows = grams.value_rowids()
    places = tf.stack([rows, tf.range(tf.size(rows, out_type=tf.int64))], 1)
    shape = tf.stack([grams.nrows(), tf.size(rows, out_type=tf.int64)])
    counts = tf.SparseTensor(places, tf.ones_like(rows, tf.float32), shape)
    weights = tf.constant(np.random.RandomState(1).normal(0, 1, (64, 5)).astype(np.float32))
    scores = tf.sparse_tensor_dense_matmul(counts, tf.gather(weights, hashed))
    tf.nn.softmax(scores, name="chances")
    names = tf.constant(["de", "en", "fr", "ja", "ru"])
    tf.gather(names, tf.argmax(scores, 1), name="language")
    tf.identity(grams.to_tensor(""), name="grams")
    _write_graph(folder)
    given = ["Guten Tag", "the  quick\tbrown fox 42", "déjà vu À LA carte", "日本語の文", ""]
    feeds = {"texts:0": np.array([text.encode() for text in given], object)}
    return feeds, ["chances:0", "language:0", "grams:0"]


def captcha(folder: str) -> tuple[Arrays, list[str]]:
    """A frozen graph that reads letters off a PNG file: columns of pixels, a greedy decoder, a
    table of letters, and repeated spaces made one."""
    png = tf.placeholder(tf.string, [], name="png")
    image = tf.image.decode_png(png, channels=1)
    pixels = tf.image.resize_images(tf.cast(image, tf.float32) / 255.0, [8, 24])
    draws = np.random.RandomState(2)
    kernel = tf.constant(draws.normal(0, 0.6, (3, 3, 1, 6)).astype(np.float32))
    maps = tf.nn.relu(
        tf.nn.conv2d(pixels[tf.newaxis], kernel, strides=[1, 1, 1, 1], padding="SAME")
    )
    columns = tf.reshape(tf.transpose(maps, [2, 0, 1, 3]), [24, 1, 48])
    weights = tf.constant(draws.normal(0, 0.5, (48, 8)).astype(np.float32))
    scores = tf.reshape(tf.matmul(tf.reshape(columns, [24, 48]), weights), [24, 1, 8])
    decoded, _ = tf.nn.ctc_greedy_decoder(scores, tf.constant([24]))
    letters = tf.gather(tf.constant(list("abc  de ")), tf.sparse_tensor_to_dense(decoded[0]))
    text = tf.reduce_join(letters, 1)
    tf.identity(tf.strings.strip(tf.strings.regex_replace(text, " +", " ")), name="text")
    tf.nn.softmax(scores, name="chances")
    _write_graph(folder)
    pixels = (np.random.RandomState(3).rand(12, 36, 3) * 255).astype(np.uint8)
    with tf.Session() as session:
        encoded = session.run(tf.image.encode_png(pixels))
    return {"png:0": np.array(encoded, object)}, ["text:0", "chances:0"]


def classifier(folder: str) -> tuple[Arrays, list[str]]:
    """A SavedModel of functions, as TensorFlow 2 writes it: texts standardised, split and looked up
    in a table, rows padded to a length, embedded and averaged."""
    vocabulary = ["good", "bad", "film", "not", "very", "the"]

    class Model(tf2.Module):
        def __init__(self) -> None:
            super().__init__()
            keys = tf2.constant(vocabulary)
            numbers = tf2.range(2, 2 + len(vocabulary), dtype=tf2.int64)
            initializer = tf2.lookup.KeyValueTensorInitializer(keys, numbers)
            self.table = tf2.lookup.StaticHashTable(initializer, 1)
            draws = np.random.RandomState(4)
            self.rows = tf2.Variable(draws.normal(0, 1, (8, 4)).astype(np.float32))
            self.kernel = tf2.Variable(draws.normal(0, 1, (4, 2)).astype(np.float32))

        @tf2.function(input_signature=[tf2.TensorSpec([None], tf2.string, "texts")])
        def serve(self, texts: Any) -> Any:
            plain = tf2.strings.regex_replace(tf2.strings.lower(texts), r"[[:punct:]]", "")
            words = tf2.strings.split(plain)
            numbers = tf2.ragged.map_flat_values(self.table.lookup, words)
            ids = numbers.to_tensor(0, shape=[None, 6])
            used = tf2.cast(tf2.not_equal(ids, 0), tf2.float32)[:, :, tf2.newaxis]
            embedded = tf2.gather(self.rows, ids) * used
            mean = tf2.math.divide_no_nan(tf2.reduce_sum(embedded, 1), tf2.reduce_sum(used, 1))
            return {"chances": tf2.nn.softmax(mean @ self.kernel), "ids": ids}

    with tf2.init_scope():
        model = Model()
        tf2.saved_model.save(model, folder, {"serving_default": model.serve})
    given = ["The film: not bad!", "very very good", "", "unknown words, a film of good good good"]
    feeds = {"serving_default_texts:0": np.array([text.encode() for text in given], object)}
    return feeds, []


def _write_graph(folder: str) -> None:
    content = tf.get_default_graph().as_graph_def().SerializeToString()
    Path(folder, "graph.pb").write_bytes(content)


def _answers(folder: str, feeds: Arrays, names: list[str]) -> Arrays:
    """What the named tensors hold, or where none are named, the outputs of the signature."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        if Path(folder, "graph.pb").exists():
            definition = tf.GraphDef.FromString(Path(folder, "graph.pb").read_bytes())
            tf.import_graph_def(definition, name="")
        else:
            loaded = tf.saved_model.load(session, ["serve"], folder)
            outputs = loaded.signature_def["serving_default"].outputs
            names = names or sorted(info.name for info in outputs.values())
        return dict(zip(names, session.run(names, feeds)))


MODELS: tuple[Callable[[str], tuple[Arrays, list[str]]], ...] = (
    wide_and_deep,
    language_detection,
    captcha,
)


def main() -> None:
    arrays: Arrays = {}
    tables: list[tuple[str, str, Arrays, list[str]]] = []
    with tempfile.TemporaryDirectory() as parent:
        eager = Path(parent, "classifier")
        tables.append(("classifier", str(eager), *classifier(str(eager))))
        tf.disable_eager_execution()
        tf.disable_resource_variables()
        for build in MODELS:
            folder = Path(parent, build.__name__)
            if build is not wide_and_deep:
                folder.mkdir()
            with tf.Graph().as_default():
                tf.set_random_seed(5)
                tables.append((build.__name__, str(folder), *build(str(folder))))
        for name, folder, feeds, names in tables:
            for path in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
                if path.name == "fingerprint.pb":
                    continue
                content = np.frombuffer(path.read_bytes(), np.uint8)
                arrays[f"{name}/file/{path.relative_to(folder)}"] = content
            arrays |= {f"{name}/feed/{n}": _plain(v) for n, v in feeds.items()}
            found = _answers(folder, feeds, names)
            arrays |= {f"{name}/answer/{n}": _plain(v) for n, v in found.items()}
    np.savez_compressed(TESTS / "recorded" / "text_models.npz", **arrays)


def _plain(value: Any) -> Any:
    """Texts as fixed-width rows of bytes, which need no pickling; none of them ends in a zero."""
    array = np.asarray(value)
    if array.dtype != object:
        return array
    assert not any(text.endswith(b"\0") for text in array.reshape(-1))
    return array.astype("S")


if __name__ == "__main__":
    main()
