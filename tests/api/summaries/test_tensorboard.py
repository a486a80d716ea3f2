"""TensorBoard itself reads what flowc writes, and a browser shows it: `make tensorboard`."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf

TENSORBOARD = os.environ.get("FLOWC_TENSORBOARD") or shutil.which("tensorboard")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
LONGEST = 120  # seconds that a page may take

needs_tensorboard = pytest.mark.skipif(
    TENSORBOARD is None, reason="needs TensorBoard: make tensorboard"
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Debian's chromium")


def write_run(folder: Path) -> None:
    """A run with something for each dashboard."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [8], name="x")
        with tf.name_scope("train"):
            tf.summary.scalar("loss", tf.reduce_sum(x))
        tf.summary.histogram("weights", x)
        tf.summary.image("picture", tf.reshape(tf.tile(x, [8]), [1, 8, 8, 1]))
        tf.summary.audio("sound", tf.reshape(x, [1, 8]), 8000.0)
        tf.summary.text("said", tf.constant(["**loud**"]))
        merged = tf.summary.merge_all()
        with tf.summary.FileWriter(folder, graph) as writer:
            for step in range(20):
                fed = {x: np.linspace(0, 1, 8) / (step + 1)}
                told = tf.RunMetadata()
                options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
                writer.add_summary(session.run(merged, fed, options, told), step)
            writer.add_run_metadata(told, "last", 19)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a TensorBoard of one run answers."""
    folder = tmp_path_factory.mktemp("board")
    write_run(folder / "logs" / "first_run")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    options = ["--logdir", str(folder / "logs"), "--port", str(port), "--host", "127.0.0.1"]
    assert TENSORBOARD is not None
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with (folder / "log").open("w") as log:
        command = [TENSORBOARD, *options, "--load_fast=false"]
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    found = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + LONGEST
        while not _runs(found):
            assert server.poll() is None and time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.2)
        yield found
    finally:
        server.terminate()
        server.wait()


def _runs(address: str) -> list[str]:
    try:
        return asked(address, "data/runs")
    except OSError:
        return []


def asked(address: str, path: str) -> Any:
    with urllib.request.urlopen(f"{address}/{path}", timeout=LONGEST) as answer:
        return json.load(answer)


@needs_tensorboard
def test_every_dashboard_lists_the_run(address: str) -> None:
    assert asked(address, "data/runs") == ["first_run"]
    for plugin, tag in (
        ("scalars", "train/loss"),
        ("histograms", "weights"),
        ("images", "picture/image/0"),
        ("audio", "sound/audio/0"),
        ("text", "said"),
    ):
        tags = asked(address, f"data/plugin/{plugin}/tags")["first_run"]
        assert tag in tags, plugin
    values = asked(address, "data/plugin/scalars/scalars?run=first_run&tag=train%2Floss")
    assert [row[1] for row in values] == [*range(20)]
    assert [row[2] for row in values] == pytest.approx([4 / (step + 1) for step in range(20)])
    info = asked(address, "data/plugin/graphs/info")["first_run"]
    assert info["run_graph"] and "last" in info["tags"]
    query = "run=first_run&tag=last"
    with urllib.request.urlopen(f"{address}/data/plugin/graphs/run_metadata?{query}") as answer:
        assert b"node_stats" in answer.read()


@needs_tensorboard
@needs_browser
def test_a_browser_shows_the_run(address: str, tmp_path: Path) -> None:
    from PIL import Image

    picture = tmp_path / "board.png"
    page = f"{address}/#timeseries"
    common = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1400,1600",
    ]
    common += [f"--user-data-dir={tmp_path / 'browser'}", "--virtual-time-budget=20000"]
    shot = [*common, f"--screenshot={picture}", page]
    subprocess.run(shot, check=True, capture_output=True, timeout=LONGEST)
    dom = subprocess.run(
        [*common, "--dump-dom", page], check=True, capture_output=True, timeout=LONGEST, text=True
    ).stdout
    for words in ("train/loss", "weights", "picture", "first_run"):
        assert words in dom, words
    pixels = np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3)
    assert pixels.shape[0] == 1400 * 1600
    for level in np.linspace(0, 255, 8)[1:-1].astype(int):  # the bars of the picture of every run
        shown = (np.abs(pixels.astype(int) - level) <= 1).all(1)
        assert shown.sum() > 2000, level
    if os.environ.get("FLOWC_SCREENSHOT"):
        shutil.copy(picture, os.environ["FLOWC_SCREENSHOT"])
