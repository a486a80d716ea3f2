"""Programs with monitored sessions, run in TensorFlow once and in flowc by the tests.

In: nothing. Out: `SESSIONS`, the texts of programs by name. Each appends to `log` what it saw,
in a graph of its own; `folder` is an empty folder. `problem(f)` says what a call raised.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

import logging
import re
from typing import Any

import numpy as np

BEFORE = """
step = tf.train.get_or_create_global_step(); w = tf.Variable(1.0, name="w"); loss = tf.square(w - 3.0, name="loss")
train = tf.train.GradientDescentOptimizer(0.25).minimize(loss, step)
class Noted(tf.train.SessionRunHook):
    def __init__(self, asks=None, feeds=None, fails=None): self.asks, self.feeds, self.fails = asks, feeds, fails
    def begin(self): log.append("begin")
    def after_create_session(self, session, coord): log.append("created %s %s" % (session.run(step), coord.should_stop()))
    def before_run(self, context):
        log.append("before %s" % context.session.run(step))
        return tf.train.SessionRunArgs(self.asks, self.feeds) if self.asks is not None or self.feeds else None
    def after_run(self, context, values):
        log.append("after %s" % (values.results,))
        if self.fails: raise self.fails.pop()
    def end(self, session): log.append("end %s" % session.run(step))
"""

SESSIONS = {
    "hooks": """
with tf.train.MonitoredSession(hooks=[Noted({"loss": loss, "both": [w, (step, train)]}), tf.train.StopAtStepHook(last_step=2)]) as s:
    while not s.should_stop(): log.append(s.run({"t": train, "w": [w]}))
    log.append(problem(lambda: s.run(w)))
    log.append(s.graph is tf.get_default_graph())
log.append([s.should_stop(), s.graph, problem(s.close), tf.get_default_graph().finalized])
""",
    "checkpoints": """
import os
class Listener(tf.train.CheckpointSaverListener):
    def begin(self): log.append("listen")
    def before_save(self, session, at): log.append("saving %s" % at)
    def after_save(self, session, at): log.append("saved %s" % at); return at >= 5
    def end(self, session, at): log.append("over %s" % at)
def round(n):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step(); w = tf.Variable(1.0, name="w"); loss = tf.square(w - 3.0); tf.summary.scalar("loss", loss)
        train = tf.train.GradientDescentOptimizer(0.25).minimize(loss, step)
        saver = tf.train.CheckpointSaverHook(folder, save_steps=2, listeners=[Listener()], scaffold=None, saver=tf.train.Saver())
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=[saver, tf.train.StopAtStepHook(num_steps=n)], save_checkpoint_steps=3, save_checkpoint_secs=None, log_step_count_steps=2, save_summaries_steps=2) as s:
            while not s.should_stop(): log.append(s.run([train, w])[1])
round(2); round(9)
log.append(sorted(f for f in os.listdir(folder) if f.endswith(("index", "meta", "pbtxt"))))
log.append(tf.train.latest_checkpoint(folder)[len(folder):])
""",
    "singular": """
with tf.train.SingularMonitoredSession(hooks=[Noted(loss)], checkpoint_dir=folder) as s:
    log.append([type(s.raw_session()).__name__, s.raw_session().run(w), s.run(train)])
    log.append(s.run_step_fn(lambda step_context: [step_context.run_with_hooks(w), step_context.session.run(loss)]))
    log.append(problem(lambda: s.run_step_fn(lambda x: None)))
    s.run_step_fn(lambda step_context: step_context.request_stop())
log.append([s.should_stop(), s.raw_session()])
""",
    "stops": """
def step_of(kind): return tf.errors.OutOfRangeError("end") if hasattr(tf, "Program") else tf.errors.OutOfRangeError(None, None, "end")
with tf.train.MonitoredSession(hooks=[Noted(fails=[step_of(0)])]) as s: s.run(train); log.append("not here")
def fails():
    with tf.train.MonitoredSession(hooks=[Noted(fails=[KeyError("other")])]) as s: s.run(train)
log.append(problem(fails))
def stops():
    with tf.train.MonitoredSession(hooks=[Noted(fails=[StopIteration("now")])]) as s: s.run(train)
log.append(problem(stops))
""",
    "repeats": """
def broken(): return tf.errors.AbortedError("gone") if hasattr(tf, "Program") else tf.errors.AbortedError(None, None, "gone")
with tf.train.MonitoredSession(hooks=[Noted(fails=[broken()])]) as s: log.append(s.run([train, w])); log.append(s.should_stop())
log.append(problem(lambda: tf.train.SingularMonitoredSession(hooks=[Noted(fails=[broken()])]).run(train)))
""",
    "feeds": """
x = tf.placeholder_with_default(1.0, []); y = x * 2.0
with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: 5.0}), Noted(y)]) as s:
    log.append([s.run(y), problem(lambda: s.run(y, {x: 2.0}))])
with tf.train.MonitoredSession(hooks=[Noted(y, {x: 1.0}), tf.train.FeedFnHook(lambda: {x: 5.0})]) as s: log.append(problem(lambda: s.run(y)))
""",
    "nan": """
bad = tf.log(w - 9.5, name="bad")
def diverges():
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(bad), Noted()]) as s: s.run(train)
log.append(problem(diverges))
with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(bad, fail_on_nan_loss=False), Noted()]) as s: s.run(train); log.append(s.should_stop())
""",
    "logged": """
final = tf.train.FinalOpsHook([w, step])
hooks = [tf.train.LoggingTensorHook({"b": w, "a": "loss"}, every_n_iter=2), tf.train.LoggingTensorHook(["w/read:0"], at_end=True), tf.train.LoggingTensorHook([loss], every_n_iter=3, formatter=lambda v: "formatted %s" % list(v.values())), final, tf.train.StepCounterHook(every_n_steps=2)]
with tf.train.MonitoredSession(hooks=hooks) as s:
    for k in range(4): s.run(train)
log.append(final.final_ops_values); log.append(said("|".join(["^[ab] = ", "^w/read", "formatted", "global_step/sec"])))
""",
    "scaffold": """
x = tf.placeholder(tf.float32, []); v = tf.Variable(x, name="v"); u = tf.Variable(5.0, collections=["local_variables"], trainable=False, name="u")
scaffold = tf.train.Scaffold(init_feed_dict={x: 7.0}, init_fn=lambda scaffold, session: log.append(["init_fn", scaffold is not None, session.run([v, w])]))
with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as s: log.append(s.run([v, w, u]))
copy = tf.train.Scaffold(copy_from_scaffold=scaffold); log.append([copy.init_op is scaffold.init_op, copy.saver is scaffold.saver, copy.summary_op])
""",
    "not_ready": """
log.append(problem(lambda: tf.train.MonitoredSession(tf.train.ChiefSessionCreator(tf.train.Scaffold(init_op=step.initializer)))))
with tf.Graph().as_default():
    v = tf.Variable(1.0, name="v"); manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=1)
    log.append(problem(lambda: manager.prepare_session("", init_fn=lambda session: None)))
    log.append(problem(lambda: manager.wait_for_session("", max_wait_secs=0)))
    log.append(manager.recover_session("", tf.train.Saver(), folder)[1])
    log.append(manager.prepare_session("", init_op=v.initializer).run(v))
    log.append(problem(lambda: manager.prepare_session("", None, 1, folder, "file")))
""",
    "wrong": """
for make in [lambda: tf.train.StopAtStepHook(), lambda: tf.train.StopAtStepHook(1, 2), lambda: tf.train.SecondOrStepTimer(), lambda: tf.train.SecondOrStepTimer(1, 2), lambda: tf.train.LoggingTensorHook([]), lambda: tf.train.LoggingTensorHook([], every_n_iter=0),
             lambda: tf.train.CheckpointSaverHook(folder), lambda: tf.train.CheckpointSaverHook(folder, save_steps=1, saver=1, scaffold=2), lambda: tf.train.StepCounterHook(every_n_secs=1), lambda: tf.train.SummarySaverHook(save_steps=1),
             lambda: tf.train.Scaffold(copy_from_scaffold=3), lambda: tf.train.SessionManager(ready_for_local_init_op=w), lambda: tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook(["nothing"], every_n_iter=1)])]:
    log.append(problem(make))
with tf.Graph().as_default():
    tf.Variable(1.0)
    for hook in [tf.train.StopAtStepHook(1), tf.train.StepCounterHook(), tf.train.GlobalStepWaiterHook(3), tf.train.SummarySaverHook(save_steps=1, summary_op=tf.constant("a"))]: log.append(problem(lambda: tf.train.MonitoredSession(hooks=[hook])))
""",
    "supervisor": """
import os
sv = tf.train.Supervisor(logdir=folder, save_model_secs=600, save_summaries_secs=600, init_fn=lambda session: log.append("init"))
log.append([sv.global_step is step, sv.is_chief, sv.summary_op, sv.save_path[len(folder):], tf.get_default_graph().finalized, len(tf.get_collection("savers"))])
with sv.managed_session() as s:
    while not sv.should_stop():
        if s.run([train, step])[1] >= 3: sv.request_stop()
log.append([sv.coord.joined, tf.train.latest_checkpoint(folder) is not None, os.path.exists(os.path.join(folder, "graph.pbtxt"))])
def fails():
    with tf.train.Supervisor(logdir=None, init_op=tf.get_collection("init_op")[0]).managed_session() as s: log.append(s.run(w)); raise KeyError("mine")
log.append(problem(fails))
log.append(problem(lambda: tf.train.Supervisor(logdir=None).summary_computed(None, b"")))
log.append(problem(lambda: tf.train.Supervisor(is_chief=False))[0])
""",
    "coordinator": """
import threading, time
coord = tf.train.Coordinator()
def work(n):
    with coord.stop_on_exception():
        if n == 2: raise KeyError("two")
        coord.wait_for_stop(5); log.append("done")
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for t in threads: t.start()
log.append([problem(lambda: coord.join(threads)), coord.should_stop(), coord.joined, problem(coord.raise_requested_exception)])
coord.clear_stop(); log.append([coord.should_stop(), coord.joined, problem(lambda: coord.join([]))])
coord = tf.train.Coordinator()
for error in [StopIteration("kept"), KeyError("later")]:
    try: raise error
    except Exception as e: coord.request_stop(e)
log.append(problem(coord.join))
coord = tf.train.Coordinator(clean_stop_exception_types=[KeyError]); coord.request_stop(KeyError("clean")); log.append([coord.should_stop(), problem(coord.join)])
late = tf.train.Coordinator(); sleeper = threading.Thread(target=time.sleep, args=(0.6,), name="sleeper"); sleeper.start(); late.request_stop()
log.append(problem(lambda: late.join([sleeper], stop_grace_period_secs=0.05)))
count = []; coord = tf.train.Coordinator(); looper = tf.train.LooperThread.loop(coord, None, lambda: (count.append(1), coord.request_stop() if len(count) == 3 else None)); coord.join(); log.append(len(count))
log.append(problem(lambda: tf.train.LooperThread(3, 1)))
""",
}


class _Said(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def seen(tf: Any, name: str, folder: str) -> list[Any]:
    """What the program saw, in a form that JSON keeps: numbers to six digits."""
    handler = _Said()
    logger = logging.getLogger("tensorflow")
    log: list[Any] = []

    def said(pattern: str) -> list[str]:
        lines = [line for line in handler.lines if re.search(pattern, line)]
        return [re.sub(r"\d+\.\d+ sec|(?<=/sec: ).*", "#", line) for line in lines]

    program = {"tf": tf, "np": np, "log": log, "folder": folder, "said": said, "problem": _problem}
    level = tf.logging.get_verbosity()
    logger.addHandler(handler)
    tf.logging.set_verbosity(tf.logging.INFO)
    try:
        with tf.Graph().as_default():
            exec(compile(BEFORE + SESSIONS[name], name, "exec"), program)
    finally:
        logger.removeHandler(handler)
        tf.logging.set_verbosity(level)
    return [_plain(item) for item in log]


def _problem(function: Any) -> Any:
    try:
        function()
    except Exception as error:
        return [type(error).__name__, _shortened(str(error))]
    return None


def _shortened(text: str) -> str:
    """A message without objects, addresses and what stands on later lines."""
    text = re.sub(r" at 0x[0-9a-f]+", "", text.split("\n")[0])
    text = re.sub(r"<[^<>]*(<[^<>]*>)?[^<>]*>", "<>", text)
    return re.sub(r"\[Tensor\([^\]]*\]|\[<>\]|Tensor\(.*\)", "<>", text)


def _plain(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _plain(value) for key, value in item.items()}
    if isinstance(item, list | tuple):
        return [_plain(value) for value in item]
    if isinstance(item, np.ndarray | np.generic):
        return _plain(item.tolist())
    if isinstance(item, float):
        return float(f"{item:.6g}")
    return item if item is None or isinstance(item, bool | int) else str(item)
