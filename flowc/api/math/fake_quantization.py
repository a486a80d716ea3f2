"""Floats rounded as if they were quantized to a few bits: in training, what inference will see."""

from __future__ import annotations

from typing import Any

from flowc.api.framework.raw_ops import call
from flowc.graph import Tensor
from flowc.graph.building.creation import output


def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`inputs` rounded to the values that `num_bits` bits (2 to 16) can tell apart in
    [min, max]. `narrow_range`: the lowest of them is left out."""
    return output("FakeQuantWithMinMaxArgs", **locals())


def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of `fake_quant_with_min_max_args`: that of the output inside the range."""
    return output("FakeQuantWithMinMaxArgsGradient", **locals())


def fake_quant_with_min_max_vars(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """As `fake_quant_with_min_max_args`, with a range that is two scalar tensors."""
    return output("FakeQuantWithMinMaxVars", **locals())


def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """The gradients of `fake_quant_with_min_max_vars` by its three inputs."""
    return call("FakeQuantWithMinMaxVarsGradient", **locals())


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """As `fake_quant_with_min_max_vars`, with a range [channels] for each channel, the last axis of
    `inputs`."""
    return output("FakeQuantWithMinMaxVarsPerChannel", **locals())


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """The gradients of `fake_quant_with_min_max_vars_per_channel` by its three inputs."""
    return call("FakeQuantWithMinMaxVarsPerChannelGradient", **locals())
