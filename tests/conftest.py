"""What holds for every test: the op records are there, and the disk cache is this run's own."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite what is expected of passes"
    )


def pytest_configure() -> None:
    """Defines the op records, which builders and IR texts name, core ops too: what `own_registry`
    takes back must not be all of them, which a first compilation defines."""
    importlib.import_module("flowc.ir.core_ops")
    importlib.import_module("flowc.ops").all_ops()


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ops that this test registers are gone when it is over: other tests look at all records."""
    from flowc.extending import op_library
    from flowc.ir import op as records

    monkeypatch.setattr(records, "_BY_NAME", dict(records._BY_NAME))
    monkeypatch.setattr(records, "_BY_TF_NAME", dict(records._BY_TF_NAME))
    op_library._loaded.cache_clear()
    yield
    op_library._loaded.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache of the processes of this test run, which share it; nobody else's is touched."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent
    folder = folder / "flowc-cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    # Nor is what `make library` may have left in the checkout: some tests count what is compiled.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLOWC_CACHE_DIR", str(folder))
        patch.setenv("FLOWC_LIBRARY", "0")
        yield folder
