"""Profiles of runs, `tf.profiler`, `flowc run --profile`: what is told, and that nothing is told
where nobody asks."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import profiler_programs
import pytest

import flowc as tf
from flowc.cli.entry import run_command_line
from flowc.run.session import Session

ROOT = Path(__file__).parents[3]
RECORDED = json.loads((ROOT / "tests/recorded/profiler.json").read_text())
TOLD = ROOT / "tests/data/profile/run_metadata.pb"


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def network() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    y = tf.nn.relu(tf.matmul(x, tf.ones([8, 4])) + 1.0, name="y")
    return x, tf.reduce_sum(tf.py_func(lambda a: a * 2, [y], tf.float32, name="double"), name="z")


# -- flowc.profile


def test_a_session_is_profiled_within_a_block_and_no_longer() -> None:
    x, z = network()
    fed = {x: np.ones((3, 8))}
    with tf.Session() as session:
        plain = session.run(z, fed)
        with tf.profile(session, profile_batch="2, 3") as found:
            assert [session.run(z, fed) for _ in range(5)] == [plain] * 5
        # The code of a Session that is not profiled is that of one that never was.
        assert "run" not in vars(session) and session.run.__func__ is Session.run
        session.run(z, fed)
    assert found.run_count == 2 and len(found.runs()) == 2
    assert {s.step.nodes[-1] for s in found.steps()} >= {"y", "double"}
    (first,) = (s for s in found.steps() if s.step.nodes[-1] == "y")
    assert first.times == 2 and first.bytes == 3 * 4 * 4 and first.step.ops == "MatMul+AddV2+Relu"
    table = found.table(most=1)
    assert "more" in table and table.splitlines()[-1].endswith(
        f"runs of {len(found.steps())} steps"
    )
    (device,) = found.run_metadata.step_stats.dev_stats
    told = sum(s.times * len(s.step.nodes) for s in found.steps())
    assert len(device.node_stats) == told


def test_threads_and_inner_runs_belong_to_the_profile() -> None:
    inner = tf.data.Dataset.range(4).map(lambda i: i * i).batch(4)
    value = tf.data.make_one_shot_iterator(inner.repeat()).get_next()
    with tf.Session() as session, tf.profile() as found:
        threads = [threading.Thread(target=session.run, args=(value,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found.run_count == 4
    assert "run" in vars(Session) and not hasattr(Session.run, "profile")


def test_a_monitored_session_and_every_wrong_use() -> None:
    tf.train.create_global_step()
    step = tf.assign_add(tf.train.get_global_step(), 1)
    with tf.train.SingularMonitoredSession() as session, tf.profile(session) as found:
        session.run(step)
    assert found.run_count == 1
    for wrong in (0, (3, 2), "a", "1,2,3", ()):
        with pytest.raises(ValueError, match="profile_batch"):
            tf.profile(profile_batch=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a Session, found int"):
        tf.profile(3)
    with pytest.raises(ValueError, match="ends in"):
        found.save("profile.txt")


class Page(HTMLParser):
    """The tags of a page, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [v or "" for k, v in attrs if k in ("src", "href")]


def test_files_of_a_profile(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [4], name="a")
    y = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, tf.tanh(a, name="t")), [0, x])[1]
    with tf.Session() as session, tf.profile(session, logdir=tmp_path / "logs") as found:
        session.run(y, {x: np.ones(4)})
    for ending in ("html", "json", "json.gz", "pb"):
        found.save(tmp_path / f"p.{ending}")
    page = Page()
    page.feed((tmp_path / "p.html").read_text())
    assert page.tags.count("rect") == len(found.runs()[0]) and not page.loads
    assert page.tags.count("svg") == 2 and page.tags.count("tr") == 1 + len(found.steps())
    events = json.loads((tmp_path / "p.json").read_text())["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == len(found.runs()[0])
    assert json.loads(gzip.decompress((tmp_path / "p.json.gz").read_bytes()))["traceEvents"]
    assert tf.RunMetadata.FromString((tmp_path / "p.pb").read_bytes()).step_stats.dev_stats
    (folder,) = (tmp_path / "logs" / "plugins" / "profile").iterdir()
    assert len([*folder.iterdir()]) == 3
    # A loop is not counted beside what runs inside of it.
    (run,) = found.runs()
    whole = max(s.end for s in run) - min(s.start for s in run)
    assert sum(s.nanoseconds for s in found.steps()) <= whole


def test_tensors_live_until_they_are_read() -> None:
    from flowc.api.profiling.steps import bytes_alive
    from flowc.dtypes import f32
    from flowc.run.step_stats import StepTimes

    def step(name: str, inputs: tuple[str, ...], start: int, size: int) -> StepTimes:
        return StepTimes("cluster", (name,), "Op", inputs, start, start + 10, ((f32, (size,)),))

    run = [step("a", (), 0, 10), step("b", ("a",), 20, 5), step("c", ("b",), 40, 1)]
    assert bytes_alive(run) == [(10, 40), (30, 60), (30, 20), (50, 24), (50, 4)]


# -- tf.profiler


def test_experimental_start_and_stop(tmp_path: Path) -> None:
    x, z = network()
    with pytest.raises(tf.errors.UnavailableError, match="No profiler is running"):
        tf.profiler.experimental.stop()
    with tf.Session() as session:
        tf.profiler.experimental.start(str(tmp_path))
        try:
            with pytest.raises(tf.errors.AlreadyExistsError, match="Another profiler is running"):
                tf.profiler.experimental.start(str(tmp_path))
            session.run(z, {x: np.ones((3, 8))})
        finally:
            tf.profiler.experimental.stop()
        (page,) = tmp_path.rglob("*.html")
        assert "MatMul+AddV2+Relu" in page.read_text()
        with tf.profiler.experimental.Profile(tmp_path / "more"):
            session.run(z, {x: np.ones((3, 8))})
    assert [*(tmp_path / "more").rglob("*.trace.json.gz")]


@pytest.mark.parametrize("name", profiler_programs.PROGRAMS)
def test_views_are_those_of_tensorflow(name: str) -> None:
    found = json.loads(json.dumps(profiler_programs.views(tf, profiler_programs.PROGRAMS[name])))
    assert found == RECORDED[name]


def test_options_are_those_of_tensorflow() -> None:
    assert json.loads(json.dumps(profiler_programs.options(tf))) == RECORDED["options"]


def test_tensorflow_reads_what_a_run_told() -> None:
    metadata = tf.RunMetadata.FromString(TOLD.read_bytes())
    trace = tf.timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    events = [e for e in json.loads(trace)["traceEvents"] if e["ph"] == "X"]
    ours = [[e["name"], e["args"]["name"]] for e in events]
    assert [ours, True] == RECORDED["told"] and len(ours) >= 3


def test_times_of_runs_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = tf.profiler.ProfileOptionBuilder
    metadata = tf.RunMetadata.FromString(TOLD.read_bytes())
    tf.import_graph_def(metadata.partition_graphs[0], name="")
    wanted = builder.time_and_memory(min_micros=0, min_bytes=1)
    view = tf.profiler.profile(None, metadata, cmd="graph", options=wanted)
    assert view.total_requested_bytes > 0 and "node | micros | bytes" in capsys.readouterr().out
    profiler = tf.profiler.Profiler()
    for step in (1, 2):
        profiler.add_step(step, metadata)
    quiet = builder(wanted).with_empty_output().build()
    assert profiler.profile_graph(quiet).total_exec_micros == view.total_exec_micros
    assert profiler.profile_name_scope({**quiet, "step": 1}).children
    assert profiler.profile_operations(quiet).children
    reports = profiler.advise().checkers["ExpensiveOperationChecker"].reports
    assert reports[0].startswith("top 1 operation type: ")
    to_file = builder(quiet).with_file_output(str(tmp_path / "view.txt")).build()
    tf.profiler.profile(None, metadata, cmd="op", options=to_file)
    assert (tmp_path / "view.txt").read_text().startswith("op type | micros | bytes")
    tf.profiler.write_op_log(None, tmp_path / "log")
    log = tf.profiler.OpLogProto.FromString((tmp_path / "log" / "tfprof_log").read_bytes())
    assert {"MatMul"} <= {e.name for e in log.log_entries}
    with pytest.raises(ValueError, match="cmd must be one of"):
        tf.profiler.profile(cmd="none")
    with pytest.raises(tf.errors.UnimplementedError, match="lines of code"):
        tf.profiler.profile(cmd="code")


def test_a_hook_traces_runs(tmp_path: Path) -> None:
    step = tf.assign_add(tf.train.create_global_step(), 1)
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path), show_memory=True)
    with tf.train.SingularMonitoredSession([hook]) as session:
        for _ in range(5):
            session.run(step)
    assert sorted(p.name for p in tmp_path.glob("*.json")) == ["timeline-3.json", "timeline-5.json"]
    (events,) = tmp_path.glob("events*")
    tags = [e.tagged_run_metadata.tag for e in tf.train.summary_iterator(str(events))]
    assert [tag for tag in tags if tag] == ["step_3", "step_5"]


# -- flowc run


def test_the_command_says_where_time_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(ROOT / "examples/digits/model.meta")
    args = ["run", model, "--fetch", "probabilities", "--random-seed", "1", "-o"]
    files = [str(tmp_path / name) for name in ("p.html", "p.json", "p.pb")]
    outs = [part for name in files for part in ("--profile-out", name)]
    results = str(tmp_path / "r.npz")
    assert run_command_line([*args, results, "--profile", "--repeat", "3", *outs]) == 0
    words = capsys.readouterr().err
    assert "us/run" in words and " 2 runs of " in words and "MatMul" in words
    assert all(Path(name).stat().st_size for name in files)
    assert run_command_line([*args, str(tmp_path / "plain.npz")]) == 0
    assert "us/run" not in capsys.readouterr().err
    both = [np.load(tmp_path / name)["probabilities"] for name in ("r.npz", "plain.npz")]
    assert np.array_equal(*both)
    assert run_command_line([*args, results, "--profile-out", "p.txt"]) == 2
    library = str(tmp_path / "m.so")
    assert run_command_line(["compile", model, "--fetch", "probabilities", "-o", library]) == 0
    assert run_command_line(["run", library, "--random-seed", "1", "--profile"]) == 2
    assert run_command_line(["run", library, "--random-seed", "1", "--repeat", "2"]) == 0
