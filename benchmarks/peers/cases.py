"""The list of what peers are compared on, and the networks that keras.applications builds.

In: TensorFlow. Out: `Case`s. Their weights begin with a fixed seed and were never trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import tensorflow as tf
from case import Case, image
from layers import layers
from networks import networks


def cases() -> list[Case]:
    """All of them; names are unique."""
    return [*applications(), *networks(), *layers()]


# Name of the class in keras.applications, size of the image, greatest value of a pixel.
APPLICATIONS = (
    ("ResNet50", 224, 1),
    ("MobileNetV2", 224, 1),
    ("EfficientNetB0", 224, 255),
    ("InceptionV3", 299, 1),
    ("DenseNet121", 224, 1),
    ("ConvNeXtTiny", 224, 255),
    ("MobileNetV3Small", 224, 255),
    ("NASNetMobile", 224, 1),
    ("Xception", 299, 1),
)


def applications() -> Iterator[Case]:
    for name, size, most in APPLICATIONS:
        yield Case(name, "networks", (image(size, most=most),), partial(_application, name))


def _application(name: str) -> Callable[..., Any]:
    tf.keras.utils.set_random_seed(1)
    model = getattr(tf.keras.applications, name)(weights=None)
    return lambda x: model(x, training=False)
