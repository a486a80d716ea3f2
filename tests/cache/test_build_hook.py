"""What an installation from source builds for the machine that it is on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from fused_text import clusters
from hatchling.builders.config import BuilderConfig
from hatchling.metadata.core import ProjectMetadata
from tensor_types import tensor_type

from flowc.cache import build_hook, library, library_making
from flowc.cache.library import path_of, ready_made
from flowc.cache.recorded_clusters import cluster_of, kernels_of, text_of
from flowc.codegen.cpu.target import CpuTarget, cpu_target
from flowc.codegen.targets import LIBRARIES, library_targets, target_named
from flowc.ir.builder import Builder
from flowc.options import Options
from flowc.passes.pipeline import run_passes

ROOT = Path(__file__).parents[2]
TARGETS: dict[str, Any] = {name: cpu_target(name) for name in LIBRARIES}
for level in LIBRARIES:
    TARGETS |= library_targets(level)


def lone_texts() -> list[str]:
    """A layer, and a transposition, by themselves."""
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (3, 8)))
    y = b.relu(b.mat_mul(x, np.ones((8, 5), np.float32)))
    fused = run_passes(b.build([y, b.transpose(b.mul(x, x), (1, 0))]), Options(target="x86-64-v3"))
    return [text_of(node) for node in clusters(fused)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the package looks for libraries, with two clusters that are common."""
    texts = tmp_path / "common.txt"
    texts.write_text("\n\n".join(lone_texts()))
    folder = tmp_path / "libraries"
    monkeypatch.setattr(library_making, "COMMON", texts)
    monkeypatch.setattr(library, "FOLDER", folder)
    monkeypatch.setenv("FLOWC_LIBRARY", "1")
    library._opened.cache_clear()
    yield folder
    library._opened.cache_clear()


def on(monkeypatch: pytest.MonkeyPatch, target: CpuTarget) -> CpuTarget:
    """Lets this machine's processor be that of a target."""
    monkeypatch.setattr(library_making, "target_named", lambda _: target)
    return target


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_library_of_a_machine_is_read_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    target = on(monkeypatch, TARGETS[name])
    made = library_making.make_common(folder)
    assert made is not None and made.parent == folder and made.stem in target.libraries
    library._opened.cache_clear()
    for text in lone_texts():
        for key in kernels_of(cluster_of(text), target):
            assert ready_made(key, target.libraries)
    assert ready_made("pool and arena", target.libraries)


def test_a_library_that_is_there_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (level, _) = on(monkeypatch, TARGETS["x86-64-v4-loads"]).libraries
    made = library_making.make_common(folder)
    assert made == path_of(f"{level}-loads")
    library._opened.cache_clear()
    assert library_making.make_common(folder) is None and made.exists()


def test_one_of_another_flowc_is_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on(monkeypatch, TARGETS["x86-64-v4-loads"])
    with monkeypatch.context() as patch:
        patch.setattr(library, "maker", lambda: "another")
        stale = library_making.make_common(folder)
    assert stale is not None and stale.exists()
    library._opened.cache_clear()
    made = library_making.make_common(tmp_path / "wheel")
    assert made is not None and made.exists() and not stale.exists()


def test_other_processors_have_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = target_named("x86-64-v2")
    assert isinstance(found, CpuTarget) and not on(monkeypatch, found).libraries
    assert library_making.make_common(folder) is None and not folder.exists()


def hook(root: Path, app: Mock | None = None) -> build_hook.LibraryHook:
    metadata: Any = ProjectMetadata(str(ROOT), None)
    config: Any = Mock(spec=BuilderConfig)
    return build_hook.LibraryHook(str(root), {}, config, metadata, "", "wheel", app or Mock())


def test_a_wheel_takes_what_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the checkout holds nothing of it."""
    monkeypatch.setattr(build_hook, "_MAKE", _STANDS_FOR_MAKING)
    built, data = hook(tmp_path), {"force_include": {}}
    built.initialize("standard", data)
    ((path, place),) = data["force_include"].items()
    assert Path(path).read_text() == "made" and place == "flowc/cache/libraries/x.kernels"
    built.finalize("standard", data, "")
    assert not Path(path).exists() and not any(tmp_path.iterdir())


def test_an_editable_installation_has_it_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_hook, "_MAKE", _STANDS_FOR_MAKING)
    (tmp_path / "flowc/cache").mkdir(parents=True)
    built, data = hook(tmp_path), {"force_include": {}}
    built.initialize("editable", data)
    built.finalize("editable", data, "")
    assert (tmp_path / "flowc/cache/libraries/x.kernels").exists() and not data["force_include"]


@pytest.mark.parametrize("script", ["raise OSError('disk full')", "print('')"])
def test_an_installation_without_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(build_hook, "_MAKE", script)
    app, data = Mock(), {"force_include": {}}
    hook(tmp_path, app).initialize("standard", data)
    assert data == {"force_include": {}}
    told = [call.args[0] for call in app.display_warning.mock_calls]
    assert told == ["no library of kernels was made: OSError: disk full"] * ("raise" in script)


_STANDS_FOR_MAKING = """
import sys
from pathlib import Path
made = Path(sys.argv[1]) / "x.kernels"
made.parent.mkdir(exist_ok=True)
made.write_text("made")
print(made)
"""


def test_it_is_built_with_what_compiles_kernels() -> None:
    """The distributions that a build needs are those of the package, at the same versions."""
    names = {re.split("[<>]", d)[0] for d in hook(ROOT).dependencies()}
    assert names == {"numba", "llvmlite", "numpy", "ml-dtypes", "google-crc32c"}
