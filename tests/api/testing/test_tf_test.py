"""`tf.test`: gradients against differences, and the base of test cases."""

from __future__ import annotations

import unittest

import numpy as np
import pytest

import flowc as tf


def test_gradients_and_differences_agree() -> None:
    with tf.Graph().as_default(), tf.Session():
        x = tf.placeholder(tf.float64, [2, 3])
        w = tf.placeholder(tf.float64, [3])
        y = tf.tanh(x) * w
        theory, numeric = tf.test.compute_gradient(
            x, [2, 3], y, [2, 3], extra_feed_dict={w: [1.0, 2.0, 3.0]}
        )
        assert theory.shape == numeric.shape == (6, 6)
        np.testing.assert_allclose(theory, numeric, atol=1e-5)
        assert tf.test.compute_gradient_error([x, w], [[2, 3], [3]], y, [2, 3]) < 1e-5
        start = np.array([3.0])
        square = tf.placeholder(tf.float32, [1])
        theory, _ = tf.test.compute_gradient(square, [1], square * square, [1], start)
        np.testing.assert_allclose(theory, [[6.0]])


def test_complex_elements_count_twice_and_rows_are_summed() -> None:
    with tf.Graph().as_default(), tf.Session():
        z = tf.placeholder(tf.complex128, [2])
        theory, numeric = tf.test.compute_gradient(z, [2], z * z, [2])
        assert theory.shape == (4, 4)
        np.testing.assert_allclose(theory, numeric, atol=1e-6)
        table = tf.placeholder(tf.float64, [4, 2])
        rows = tf.gather(table, [1, 3, 1])
        assert tf.test.compute_gradient_error(table, [4, 2], rows * rows, [3, 2]) < 1e-5


def test_a_wrong_gradient_is_seen() -> None:
    @tf.custom_gradient
    def wrong(x: tf.Tensor) -> tuple[tf.Tensor, object]:
        return x * x, lambda dy: dy

    with tf.Graph().as_default(), tf.Session():
        x = tf.placeholder(tf.float64, [2])
        assert tf.test.compute_gradient_error(x, [2], wrong(x), [2], np.array([2.0, 3.0])) > 1
        with pytest.raises(ValueError, match="no gradient flows through"):
            tf.test.compute_gradient(x, [2], tf.cast(x, tf.int32), [2])
    with tf.Graph().as_default(), pytest.raises(ValueError, match="default session"):
        x = tf.placeholder(tf.float64, [2])
        tf.test.compute_gradient(x, [2], x * x, [2])


def test_cases_have_sessions_and_compare_arrays() -> None:
    class Case(tf.test.TestCase):
        def test_values(self) -> None:
            with self.session():
                self.assertAllClose(tf.constant([1.0, 2.0]) * 2.0, [2.0, 4.0])
                self.assertAllEqual(tf.constant([1, 2]), [1, 2])
                self.assertNotAllClose([1.0], [2.0])
                self.assertAllClose({"a": [1.0]}, {"a": [1.0 + 1e-8]})
            with self.test_session() as first, self.cached_session() as second:
                assert first is second
                assert self.evaluate(tf.constant(3)) == 3
            self.assertNear(1.0, 1.1, 0.2)
            self.assertShapeEqual(np.zeros((2, 3)), tf.zeros([2, 3]))

        def test_fails(self) -> None:
            self.assertAllEqual([1], [2])

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert [str(case).split(" ")[0] for case, _ in result.failures] == ["test_fails"]
    assert not result.errors, result.errors
    assert result.testsRun == 3 and len(result.skipped) == 1


def test_cases_assert_what_programs_of_tensorflow_ask_for() -> None:
    class Case(tf.test.TestCase):
        def test_holds(self) -> None:
            with self.cached_session() as session:
                x = tf.constant([1.0, 2.0])
                self.assertAllGreater(x, 0.5)
                self.assertAllLessEqual(x, 2.0)
                self.assertAllInRange(x, 1.0, 3.0, open_upper_bound=True)
                self.assertAllInSet(x, [1.0, 2.0, 3.0])
                self.assertNotAllEqual(x, [1.0, 3.0])
                self.assertAllCloseAccordingToType(
                    np.array([1.0], np.float16), np.array([1.0005], np.float16)
                )
                self.assertArrayNear([1.0, 2.0], [1.01, 2.0], 0.1)
                self.assertNDArrayNear(np.ones(2), np.ones(2) + 1e-4, 1e-3)
                self.assertDTypeEqual(x, np.float32)
                self.assertDeviceEqual("/job:a/gpu:0", "/job:a/device:GPU:0")
                self.assertProtoEquals("node { name: 'a' op: 'b' }", _graph_def("a", "b"))
                self.assertStartsWith("abc", "ab")
                self.assertLen([1, 2], 2)
                self.assertEmpty([])
                with self.assertRaisesOpError("."):
                    session.run(tf.image.decode_png(tf.constant(b"\x89PNG")))  # no file
                with self.assertRaisesWithPredicateMatch(ValueError, lambda e: "3" in str(e)):
                    raise ValueError("3")
                thread = self.checkedThread(target=lambda: None)
                thread.start()
                thread.join()
                folder = self.get_temp_dir()
                assert folder == self.get_temp_dir() != tf.test.get_temp_dir()

    fails = {
        "assertAllLess": (np.ones(2), 1.0),
        "assertAllInSet": (np.ones(2), [2.0]),
        "assertNotAllEqual": (np.ones(2), np.ones(2)),
        "assertNDArrayNear": (np.ones(2), np.zeros(2), 0.1),
        "assertDTypeEqual": (np.ones(2), np.float32),
        "assertDeviceEqual": ("/gpu:0", "/gpu:1"),
        "assertStartsWith": ("abc", "b"),
        "assertProtoEquals": ("node { name: 'a' }", _graph_def("a", "b")),
    }
    assert unittest.TextTestRunner(stream=None).run(Case("test_holds")).wasSuccessful()
    case = Case("test_holds")
    for name, values in fails.items():
        with pytest.raises(AssertionError):
            getattr(case, name)(*values)
    block = case.assertRaisesWithPredicateMatch(ValueError, "x")
    with pytest.raises(AssertionError, match="ValueError not raised"), block:
        pass
    failing = case.checkedThread(target=lambda: 1 / 0)
    failing.start()
    with pytest.raises(AssertionError, match="division by zero"):
        failing.join()
    tf.test.assert_equal_graph_def(_graph_def("a", "b"), _graph_def("a", "b"))
    with pytest.raises(AssertionError):
        tf.test.assert_equal_graph_def(_graph_def("a", "b"), _graph_def("a", "c"))
    assert tf.test.mock.Mock(return_value=3)() == 3


def _graph_def(name: str, op: str) -> tf.GraphDef:
    message = tf.GraphDef()
    message.node.add(name=name, op=op)
    return message
