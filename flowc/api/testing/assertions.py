"""What `tf.test.TestCase` asserts of arrays, tensors, messages and threads.

In: values, which may be tensors of the default session. Out: nothing. Invariant: what does not hold
raises `AssertionError`, the case's `failureException`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from absl.testing import absltest

from flowc import dtypes
from flowc.encoding.text_messages import message_of_text
from flowc.errors import OpError
from flowc.graph import Tensor
from flowc.graph.device import DeviceSpec


class ArrayAssertions(absltest.TestCase):
    """`_array` gives the array of a value, `_differences` where two do not agree."""

    def _array(self, value: Any) -> np.ndarray:
        raise NotImplementedError

    # Equal and close

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        np.testing.assert_array_equal(self._array(a), self._array(b), msg or "")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Raises where the two are equal."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(msg or "The two values are equal at all elements")

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Compares lists and mappings item by item."""
        if isinstance(a, Mapping):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
            return
        if isinstance(a, list | tuple) and any(np.ndim(x) for x in a if not isinstance(x, Tensor)):
            for x, y in zip(a, b, strict=True):
                self.assertAllClose(x, y, rtol, atol, msg)
            return
        np.testing.assert_allclose(self._array(a), self._array(b), rtol, atol, err_msg=msg or "")

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """Raises where the two are close."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        self.fail("The two values are close at all elements")

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """`assertAllClose` with the tolerance of the narrower dtype of the two."""
        kinds = {str(self._array(x).dtype) for x in (a, b)}
        if kinds & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if "float16" in kinds:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if "bfloat16" in kinds:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1!r} != {f2!r} +/- {err!r} {msg}")

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """The norm of the difference is less than `err`."""
        one, other = self._array(ndarray1), self._array(ndarray2)
        self.assertEqual(one.shape, other.shape, msg)
        self.assertLess(float(np.linalg.norm(one - other)), err, msg)

    # What holds for every element

    def _check_all(self, a: Any, holds: Callable[[np.ndarray], Any], said: str) -> None:
        found = self._array(a)
        self.assertTrue(bool(np.all(holds(found))), f"not all elements are {said}: {found}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self._check_all(a, lambda x: x > comparison_target, f"> {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self._check_all(a, lambda x: x < comparison_target, f"< {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self._check_all(a, lambda x: x >= comparison_target, f">= {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self._check_all(a, lambda x: x <= comparison_target, f"<= {comparison_target}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        (self.assertAllGreater if open_lower_bound else self.assertAllGreaterEqual)(
            target, lower_bound
        )
        (self.assertAllLess if open_upper_bound else self.assertAllLessEqual)(target, upper_bound)

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        extra = set(self._array(target).reshape(-1).tolist()) - set(expected_set)
        self.assertFalse(extra, f"{len(extra)} unexpected elements: {sorted(extra)}")

    # Dtypes, shapes, devices, messages

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        found = target.dtype if isinstance(target, Tensor) else self._array(target).dtype
        self.assertEqual(dtypes.as_dtype(found), dtypes.as_dtype(expected_dtype))

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Of arrays and tensors."""
        one, other = (
            x.shape.as_list() if isinstance(x, Tensor) else list(x.shape)
            for x in (input_a, input_b)
        )
        self.assertEqual(one, other, msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Of names that are written in different ways, too."""
        one, other = (DeviceSpec.from_string(str(d)).to_string() for d in (device1, device2))
        self.assertEqual(one, other, msg)

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None
    ) -> None:
        """The message that is expected may be text."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str | bytes):
            expected = message_of_text(expected, type(message))
        self.assertEqual(str(expected), str(message), msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} begins otherwise")

    # Errors and threads

    def assertRaisesWithPredicateMatch(
        self, exception_type: type[BaseException], expected_err_re_or_predicate: Any
    ) -> Any:
        """A block raises the exception, and the regular expression is found in its text, or the
        function holds for it."""
        return _Raises(self, exception_type, expected_err_re_or_predicate)

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """`assertRaisesWithPredicateMatch` of `tf.errors.OpError`."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def checkedThread(
        self, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> CheckedThread:
        """A thread whose `join` fails the test with what its function raised."""
        return CheckedThread(self, target, args or (), kwargs or {})


class _Raises:
    """A block that must raise."""

    def __init__(self, case: absltest.TestCase, kind: type[BaseException], wanted: Any) -> None:
        self._case, self._kind, self._wanted = case, kind, wanted

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if error is None:
            self._case.fail(f"{self._kind.__name__} not raised")
        if not isinstance(error, self._kind):
            return False
        if callable(self._wanted):
            holds = self._wanted(error)
        else:
            holds = re.search(self._wanted, str(error))
        self._case.assertTrue(holds, f"Exception of type {type(error).__name__}: {error}")
        return True


class CheckedThread:
    """What `checkedThread` gives: `start`, `join`, `is_alive`, `check_termination`."""

    def __init__(
        self, case: absltest.TestCase, target: Callable[..., Any], args: Any, kwargs: Any
    ) -> None:
        self._case = case
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._call, args=(target, args, kwargs))
        self._joined = False

    def _call(self, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        try:
            target(*args, **kwargs)
        except BaseException as error:
            self._error = error

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Raises `AssertionError` where the function raised."""
        self._thread.join()
        self._joined = True
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Raises `AssertionError` where the thread was not joined."""
        if not self._joined:
            self._case.fail("A checked thread was not joined.")
