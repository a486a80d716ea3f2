"""Trains a small convolutional classifier on scikit-learn's digits, in TensorFlow's graph style.

    python train.py [FOLDER]

Out: model.meta, model.index, model.data-00000-of-00001, `checkpoint` and test.npz in FOLDER. The
placeholder `images` takes any number of 8x8 images in [0, 1]; `probabilities` is f32[batch, 10] and
`classes` i64[batch]. Needs tensorflow-cpu and scikit-learn, which flowc itself does not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

tf.disable_v2_behavior()

EPOCHS = 40
BATCH = 32


def weight(name, shape):
    return tf.get_variable(name, shape, initializer=tf.glorot_uniform_initializer(seed=7))


def bias(name, size):
    return tf.get_variable(name, [size], initializer=tf.zeros_initializer())


def network(images):
    """Logits for images f32[batch, 8, 8]."""
    x = tf.reshape(images, [-1, 8, 8, 1])
    with tf.variable_scope("conv1"):
        x = tf.nn.conv2d(x, weight("filter", [3, 3, 1, 16]), strides=1, padding="SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, bias("bias", 16)))
    with tf.variable_scope("conv2"):
        x = tf.nn.conv2d(x, weight("filter", [3, 3, 16, 32]), strides=1, padding="SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, bias("bias", 32)))
    x = tf.nn.max_pool2d(x, ksize=2, strides=2, padding="SAME")
    x = tf.reshape(x, [-1, 4 * 4 * 32])
    with tf.variable_scope("dense1"):
        x = tf.nn.relu(tf.matmul(x, weight("kernel", [512, 64])) + bias("bias", 64))
    with tf.variable_scope("dense2"):
        return tf.add(tf.matmul(x, weight("kernel", [64, 10])), bias("bias", 10), name="logits")


def main(folder):
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)
    labels = digits.target.astype(np.int64)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=360, random_state=0, stratify=labels
    )

    tf.set_random_seed(1)
    image = tf.placeholder(tf.float32, [None, 8, 8], name="images")
    label = tf.placeholder(tf.int64, [None], name="labels")
    logits = network(image)
    tf.nn.softmax(logits, name="probabilities")
    classes = tf.argmax(logits, axis=1, name="classes")
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits), name="loss"
    )
    correct = tf.equal(classes, label)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32), name="accuracy")
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    saver = tf.train.Saver(save_relative_paths=True)

    order = np.random.RandomState(2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for epoch in range(EPOCHS):
            for rows in np.array_split(order.permutation(len(train_x)), len(train_x) // BATCH):
                session.run(train, {image: train_x[rows], label: train_y[rows]})
            if epoch % 10 == 9:
                found = session.run([loss, accuracy], {image: test_x, label: test_y})
                print(f"epoch {epoch + 1}: test loss {found[0]:.4f}, accuracy {found[1]:.4f}")
        saver.save(session, str(folder / "model"))
        expected = session.run("probabilities:0", {image: test_x})
    np.savez_compressed(
        folder / "test.npz", images=test_x, labels=test_y, tensorflow_probabilities=expected
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
