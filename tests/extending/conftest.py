"""Every test here has a registry of its own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def registry(own_registry: None) -> None:
    """What a test registers is gone when it is over."""
