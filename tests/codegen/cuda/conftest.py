"""A driver of GPUs without a GPU, of which every test sees its own calls alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from devices.fake_cuda import FakeCuda, fake_cuda


@pytest.fixture
def device() -> Iterator[FakeCuda]:
    found = fake_cuda()
    found.reset()
    yield found
    found.reset()
