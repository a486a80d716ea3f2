"""`tf.audio`: WAV files of 16 bits a sample."""

from __future__ import annotations

from typing import Any

from flowc.api.framework.raw_ops import call
from flowc.graph import Tensor
from flowc.graph.building.creation import output


def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> Any:
    """(audio float32[samples, channels] in [-1, 1), sample_rate int32[]) of a WAV file, a scalar
    string. `desired_channels`: how many there are to be, the last one of the file repeated;
    `desired_samples`: how many, cut or filled with zeros; -1: those of the file.

    Raises `ValueError` for another rank; a run raises `InvalidArgumentError` for what is no such
    file, is damaged, or has other than 16 bits a sample."""
    return call(
        "DecodeWav",
        contents,
        desired_channels=desired_channels,
        desired_samples=desired_samples,
        name=name,
    )


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """A WAV file, a scalar string, of float32[samples, channels], clipped to [-1, 1], and a rate
    int32[] of samples a second. Raises `ValueError` for another rank; a run raises
    `InvalidArgumentError` for a rate that is not above 0."""
    return output("EncodeWav", audio, sample_rate, name=name)
