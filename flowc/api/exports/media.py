"""Which module holds which public name, where names are of image files, sounds and what is drawn on
images.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

_FILES = """decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png
    encode_jpeg encode_png extract_jpeg_shape is_jpeg"""

TOP: Mapping[str, str] = {}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "audio": {"flowc.api.audio.wav_files": "decode_wav encode_wav"},
    "image": {
        "flowc.api.image.files": _FILES + " adjust_jpeg_quality random_jpeg_quality",
        "flowc.api.image.boxes": "draw_bounding_boxes sample_distorted_bounding_box",
        "flowc.api.image.image": "extract_glimpse",
    },
    "io": {"flowc.api.image.files": _FILES},
    "signal": {
        "flowc.api.audio.mel_scale": "linear_to_mel_weight_matrix",
        "flowc.api.audio.modified_cosine": "inverse_mdct mdct",
    },
}
