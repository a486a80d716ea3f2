"""WAV files of 16 bits a sample: DecodeWav, EncodeWav.

In: a file as a scalar string, or samples [samples, channels] and a rate. Out: host steps: samples
in [-1, 1) and the rate, or the file. Invariant: samples are TensorFlow's to the bit, both ways.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.strings.string_values import check_count, strings_of

Array = np.ndarray[Any, Any]
_STEPS = np.float32(32768)  # of a sample, from 0 to 1
_SHORT = "Data too short when trying to read string"


# -- reading


class _Reader:
    """The bytes of a file, taken one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        """Raises `InvalidArgumentError` where the file ends before."""
        if count > self.left:
            raise InvalidArgumentError(_SHORT)
        self._at += count
        return self._data[self._at - count : self._at]

    def expect(self, word: bytes) -> None:
        found = self.take(len(word))
        if found != word:
            shown = found.decode("latin-1")
            raise InvalidArgumentError(
                f"Header mismatch: Expected {word.decode()} but found {shown}"
            )

    def number(self) -> int:
        return int.from_bytes(self.take(4), "little")


def _form(file: _Reader) -> tuple[int, int]:
    """Channels and rate. Raises `InvalidArgumentError` for other than plain samples of 16 bits."""
    file.expect(b"RIFF")
    file.take(4)
    file.expect(b"WAVE")
    file.expect(b"fmt ")
    size = file.number()
    if size not in (16, 18):
        raise InvalidArgumentError(
            f"Bad format chunk size for WAV: Expected 16 or 18, but got {size}"
        )
    kind, channels, rate, speed, step, bits = struct.unpack("<HHIIHH", file.take(size)[:16])
    width = bits * channels // 8
    faults = (
        (kind != 1, f"Bad audio format for WAV: Expected 1 (PCM), but got {kind}"),
        (not channels, "Bad number of channels for WAV: Expected at least 1, but got 0"),
        (bits != 16, f"Can only read 16-bit WAV files, but received {bits}"),
        (step != width, f"Bad bytes per sample in WAV header: Expected {width} but got {step}"),
        (
            speed != rate * step,
            f"Bad bytes per second in WAV header: Expected {rate * step} but got {speed}",
        ),
    )
    for is_wrong, fault in faults:
        if is_wrong:
            raise InvalidArgumentError(fault)
    return channels, rate


def decode_wav(data: bytes) -> tuple[Array, int]:
    """f32[samples, channels] and the rate. Raises `InvalidArgumentError`."""
    file = _Reader(data)
    channels, rate = _form(file)
    while file.left:
        kind, size = file.take(4), file.number()
        content = file.take(size)
        if kind == b"data":
            samples = np.frombuffer(content[: size // (2 * channels) * 2 * channels], "<i2")
            if size % 2:
                raise InvalidArgumentError(_SHORT)
            return samples.reshape(-1, channels).astype(np.float32) / _STEPS, rate
    raise InvalidArgumentError("No data chunk found in WAV")


def _decode(
    inputs: Sequence[Any], _: Sequence[DType], *, desired_channels: int, desired_samples: int
) -> list[Array]:
    samples, rate = decode_wav(np.asarray(inputs[0], object).item())
    count, channels = samples.shape
    if desired_channels > 0:
        check_count(desired_channels * max(count, 1), "samples")
        # The last channel stands for those that the file has not.
        samples = samples[:, np.minimum(np.arange(desired_channels), channels - 1)]
    if desired_samples > 0:
        check_count(desired_samples * samples.shape[1], "samples")
        missing = max(desired_samples - count, 0)
        samples = np.pad(samples[:desired_samples], ((0, missing), (0, 0)))
    return [np.ascontiguousarray(samples), np.array(rate, np.uint32).view(np.int32)]


def _infer_decode(c: Inference) -> list[Dims]:
    c.need_rank(0, 0)
    found: list[Any] = []
    for name in ("desired_samples", "desired_channels"):
        wanted = c.attrs[name]
        if wanted < -1 or (wanted == 0 and name == "desired_channels"):
            raise c.fail(f"{name} must be non-negative, got {wanted}")
        found.append(wanted if wanted > 0 else c.fresh(name.removeprefix("desired_")))
    return [tuple(found), ()]


# -- writing


def encode_wav(samples: Array, rate: int) -> bytes:
    """f32[samples, channels] in [-1, 1] as a WAV file of 16 bits a sample, clipped."""
    channels = samples.shape[1]
    numbers = np.clip(np.rint(samples.astype(np.float32) * _STEPS), -32768, 32767)
    data = numbers.astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    head = (
        b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data))
    )
    return b"RIFF" + struct.pack("<I", len(head) + len(data)) + head + data


def check_wav(rate: float, channels: int) -> None:
    """Raises `InvalidArgumentError` for a rate or a number of channels that WAV cannot say."""
    if not 0 < rate < 1 << 32:
        raise InvalidArgumentError(f"sample_rate must be in (0, 2^32), got: {rate}")
    if not 0 < channels < 1 << 16 or rate * channels * 2 >= 1 << 32:
        raise InvalidArgumentError(f"num_channels must be in (0, 2^16), got: {channels}")


def _encode(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    samples, rate = np.asarray(inputs[0]), int(inputs[1])
    channels = samples.shape[1]
    check_wav(rate, channels)
    return [strings_of([encode_wav(samples, rate)], ())]


def _infer_encode(c: Inference) -> Dims:
    c.need_rank(0, 2, f"audio must be 2-dimensional: Shape must be rank 2 but is rank {c.rank(0)}")
    c.need_rank(1, 0)
    return ()


host_op(
    "decode_wav",
    "DecodeWav(contents: string; desired_channels: int = -1, desired_samples: int = -1)"
    " -> (audio: f32, sample_rate: i32)",
    _decode,
    infer=_infer_decode,
)
host_op(
    "encode_wav",
    "EncodeWav(audio: f32, sample_rate: i32) -> contents: string",
    _encode,
    infer=_infer_encode,
)
