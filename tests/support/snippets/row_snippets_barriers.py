"""Programs of row 90 that use barriers. The form is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

BARRIER_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 90_barriers
import threading, time
r = tf.raw_ops; types = [tf.float32, tf.string]; P = tf.placeholder_with_default
def barrier(types=types, shapes=[[], [2]], **k): return r.Barrier(component_types=types, shapes=shapes, **k)
def ins(b, at, keys, values): return s.run(r.BarrierInsertMany(handle=b, keys=P(keys, None), values=P(values, None), component_index=at))
def take(b, n, small=False, types=types): return list(s.run(r.BarrierTakeMany(handle=b, num_elements=P(n, None), component_types=types, allow_small_batch=small)))
def sizes(b): return s.run([r.BarrierReadySize(handle=b), r.BarrierIncompleteSize(handle=b)])
def close(b, cancel=False): return s.run(r.BarrierClose(handle=b, cancel_pending_enqueues=cancel))
def fails(words, f, *args, kind="InvalidArgumentError"): log.append(raises(kind, words, lambda: f(*args)))
def until(holds):
    while not holds(): time.sleep(0.01)
with tf.Session() as s:
    b = barrier(name="B", shared_name="bar"); log.append([str(b.dtype.name), b.op.type, sizes(b)]); ins(b, 0, ["a", "b"], [1.0, 2.0]); ins(b, 0, ["c"], [3.0])
    fails("Key c already has a value for component 0 in barrier bar", ins, b, 0, ["c"], [3.0]); fails("Key z already has a value for component 0 in barrier bar", ins, b, 0, ["z", "z"], [3.0, 4.0]); log.append(sizes(b)); ins(b, 1, ["b", "c"], [["x", "y"], ["p", "q"]]); log.append([sizes(b), take(b, 1), take(b, 0)])
    fails("Shape mismatch in tuple component 3. Expected [2], got [3]", ins, b, 1, ["a"], [["x", "y", "w"]]); fails("The component ID is out of range 5 > num_components (= 2)", ins, b, 5, ["a"], [1.0]); fails("Signature mismatch, have: string_ref, string, int32-> expected: string_ref, string, float->", ins, b, 0, ["a"], [1]); fails("Signature mismatch, have: string_ref, int32->int64, string, float expected: string_ref, int32->int64, string, float, string", take, b, 1, False, [tf.float32])
    ins(b, 0, ["e", "f"], [5.0, 6.0]); ins(b, 1, ["f", "e"], [["f", "f"], ["e", "e"]]); ins(b, 1, ["g"], [["g", "g"]]); ins(b, 0, np.zeros([0], object), np.zeros([0], np.float32)); close(b); fails("Barrier 'bar' is already closed.", close, b, kind="CancelledError"); log.append(sizes(b))
    for key in "new", "a": fails(f"Barrier bar is closed, but attempted to insert a brand new key: {key}.  Pending enqueues cancelled: 0.  Insertion index: 0.  Number of incomplete keys: 2.", ins, b, 0, [key], [1.0], kind="CancelledError")
    fails("Barrier 'bar' is closed and has insufficient elements (requested 9, total size 5)", take, b, 9, kind="OutOfRangeError"); log.append([take(b, 9, True), sizes(b)]); ins(b, 0, ["g"], [7.0]); log.append([sizes(b), take(b, 1)]); fails("Barrier 'bar' is closed and has insufficient elements (requested 0, total size 0)", take, b, 1, True, kind="OutOfRangeError"); close(b, True); fails("Barrier bar is closed.  Pending enqueues cancelled: 1.  Number of new insertions: 1.  Number of incomplete keys: 0.", ins, b, 0, ["new"], [1.0], kind="CancelledError"); fails("Barrier 'bar' is already closed.", close, b, True, kind="CancelledError")
    fails("All of the component shapes must be specified", lambda: sizes(barrier(shapes=[[]]))); fails("All of the component shapes must be specified", lambda: sizes(barrier(shapes=[]))); fails("Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a limited capacity.", lambda: sizes(barrier(capacity=1))); fails("Shared barrier 'bar' has component types float, string but requested component types were float", lambda: sizes(barrier([tf.float32], [[]], shared_name="bar"))); fails("Shared barrier 'bar' has component shapes [[], [2]] but requested component shapes were [[], [3]]", lambda: sizes(barrier(shapes=[[], [3]], shared_name="bar")))
    one = [tf.float32]; u = barrier(one, [[]], name="U"); fails("Shape mismatch in tuple component 2. Expected [], got [2]", ins, u, 0, ["a"], [[1.0, 2.0]]); ins(u, 0, list("hgfedcba"), np.arange(8, dtype=np.float32)); log.append(take(u, 5, False, one)[1:]); ins(u, 0, list("xyz"), [1.0, 2.0, 3.0]); log.append(take(u, 6, False, one)[1:])
# 90_barriers_waiting
import threading, time
r = tf.raw_ops; types = [tf.float32, tf.string]; seen = []
def waiting(name, then, kind=None, words="", small=False):
    b = r.Barrier(component_types=types, shapes=[[], []], shared_name=name); taken = r.BarrierTakeMany(handle=b, num_elements=2, component_types=types, allow_small_batch=small); insert = lambda at, keys, values: r.BarrierInsertMany(handle=b, keys=keys, values=values, component_index=at); size = [r.BarrierReadySize(handle=b), r.BarrierIncompleteSize(handle=b)]; close = {c: r.BarrierClose(handle=b, cancel_pending_enqueues=c) for c in (False, True)}; last = insert(1, ["a"], ["A"]); other = insert(1, ["c"], ["C"])
    with tf.Session() as s:
        s.run(insert(0, ["a", "b"], [1.0, 2.0])); s.run(insert(1, ["b"], ["B"])); s.run(insert(0, ["c"], [3.0])); found = []
        t = threading.Thread(target=lambda: found.append(raises(kind, words, lambda: s.run(taken)) if kind else list(s.run(taken)))); t.start(); time.sleep(0.2); log.append(s.run(size))
        for step in then: s.run({"plain": close[False], "cancel": close[True], "last": last, "other": other}[step])
        t.join(30); log.append([found, t.is_alive(), s.run(size)])
waiting("A", ["plain", "last"]); waiting("B", ["cancel"], "OutOfRangeError", "PriorityQueue 'B_queue' is closed and has insufficient elements (requested 2, current size 1)"); waiting("C", ["other"]); waiting("D", ["last", "plain"]); waiting("E", ["last"], small=True)
""")
