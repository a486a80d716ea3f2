"""`tf.summary`: histograms, images, sounds, texts and tensors that a run tells of itself.

In: tensors. Out: string tensors, in the collection `summaries`. Invariant: the tag is the name of
the summary in its name scope; what a tag cannot have becomes an underscore.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.framework.scopes import name_scope
from flowc.api.summaries.merging import summary_scope
from flowc.api.variables.graph_keys import GraphKeys
from flowc.encoding.summary_messages import SummaryMetadata, text_metadata
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def _collected(found: Tensor, collections: Sequence[str] | None) -> Tensor:
    names = [GraphKeys.SUMMARIES] if collections is None else collections
    get_default_graph().add_to_collections(names, found)
    return found


def histogram(
    name: str, values: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """How often which numbers occur in a tensor of any shape, in TensorFlow's buckets.

    The run raises `InvalidArgumentError` for numbers that are not finite. Raises `TypeError` for
    values that are no real numbers."""
    with summary_scope(name, family) as (tag, scope):
        return _collected(output("HistogramSummary", tag, values, name=scope), collections)


def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """The first `max_outputs` images of [batch, height, width, channels] as PNG files: gray, RGB,
    RGBA. Numbers that are no uint8 are scaled so that the largest is 255, or, where some are
    negative, so that 0 is 128. Needs Pillow: `UnimplementedError` without. Raises `ValueError` for
    another shape."""
    with summary_scope(name, family) as (tag, scope):
        return _collected(_image_of(tag, tensor, max_outputs, scope), collections)


def _image_of(tag: Any, tensor: Any, most: int, scope: str) -> Tensor:
    red = np.array([255, 0, 0, 255], np.uint8)
    return output("ImageSummary", tag, tensor, name=scope, max_images=most, bad_color=red)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """The first `max_outputs` sounds of float32 [batch, frames, channels] or [batch, frames], from
    -1 to 1, as WAV files. `sample_rate`: in Hz. Raises `ValueError` for another shape."""
    with summary_scope(name, family) as (tag, scope):
        rate = as_tensor(sample_rate, dtypes.f32, "sample_rate")
        found = output("AudioSummaryV2", tag, tensor, rate, name=scope, max_outputs=max_outputs)
        return _collected(found, collections)


def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: Any = None,
    collections: Sequence[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A whole tensor of any dtype, with what a plugin of TensorBoard wants to know of it
    (`summary_metadata`, a SummaryMetadata). The result is a string scalar. Raises `AttributeError`
    for other metadata."""
    metadata = SummaryMetadata() if summary_metadata is None else summary_metadata
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description
    serialized = metadata.SerializeToString()
    with summary_scope(name, family) as (tag, scope):
        return _collected(
            output("TensorSummaryV2", tag, tensor, serialized, name=scope), collections
        )


def text(name: str, tensor: Any, collections: Sequence[str] | None = None) -> Tensor:
    """Texts, which TensorBoard shows as Markdown. Raises `ValueError` for a tensor that holds no
    strings."""
    texts = as_tensor(tensor)
    if texts.dtype is not dtypes.string:
        given = texts.dtype.name if texts.dtype is not None else "none"
        raise ValueError(
            f"Expected tensor {texts.name} to have dtype string, got <dtype: '{given}'>"
        )
    return tensor_summary(name, texts, None, collections, text_metadata())


# -- as programs of 2016 make them


def histogram_summary(
    tag: Any, values: Any, collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """`summary.histogram`, with a tag that may be a tensor. Raises `TypeError` for values that are
    no real numbers."""
    with name_scope(name, "HistogramSummary", [tag, values]) as scope:
        return _collected(output("HistogramSummary", tag, values, name=scope), collections)


def image_summary(
    tag: Any,
    tensor: Any,
    max_images: int = 3,
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """`summary.image`, with a tag that may be a tensor. Raises `ValueError` for another shape."""
    with name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        return _collected(_image_of(tag, tensor, max_images, scope), collections)


def audio_summary(
    tag: Any,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """`summary.audio`, with a tag that may be a tensor. Raises `ValueError` for another shape."""
    with name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        rate = as_tensor(sample_rate, dtypes.f32, "sample_rate")
        found = output("AudioSummaryV2", tag, tensor, rate, name=scope, max_outputs=max_outputs)
        return _collected(found, collections)
