"""The driver of GPUs that tests ask, of which every test sees its own calls alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from devices.fake_cuda import IS_ON_GPU, FakeCuda, fake_cuda

if IS_ON_GPU:
    fake_cuda()  # before a test of this process opens the GPU's own


@pytest.fixture
def device() -> Iterator[FakeCuda]:
    found = fake_cuda()
    found.reset()
    yield found
    found.reset()
