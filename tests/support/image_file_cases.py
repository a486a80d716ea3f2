"""Calls of the ops that read image files, for the files in `tests/recorded/image_files.npz`.

In: the names of the files. Out: `CASES`: the file, the op and its attrs (`crop_window` is an
input). What TensorFlow reads stands in the same recording, under `case_name`.
"""

from __future__ import annotations

from typing import Any

Case = tuple[str, str, dict[str, Any]]
PNG = ["g", "rgb", "rgba", "la", "one", "pal", "palt", "gt", "rgbt", "g2"]
DEEP = ["g16", "rgb16", "rgba16", "la16"]
BMP = ["bmp8", "bmp24", "bmp32", "bmp1", "bmp_cut", "bmp_head", "bmp_flat"]
GIF = ["gif1", "gif3", "gifd2", "gifd3", "giftr", "gif_cut", "gif_cut2"]
BROKEN = ["png_cut", "png_crc", "png_head", "png_zero", "jpeg_cut", "jpeg_head", "empty", "junk"]
JPEG = ["j420", "j444", "jgray", "jcmyk"]
ACCURATE = {"dct_method": "INTEGER_ACCURATE"}
WINDOWS = ([3, 5, 20, 30], [0, 0, 100, 100], [-1, 0, 3, 3], [0, 0, 0, 3])

CASES: tuple[Case, ...] = (
    *((f, "DecodePng", {"channels": n}) for f in (*PNG, *DEEP) for n in (0, 1, 3, 4)),
    *(
        (f, "DecodePng", {"channels": n, "dtype": "uint16"})
        for f in (*PNG[8:], *DEEP)
        for n in (0, 1, 4)
    ),
    *((f, "DecodeImage", {"dtype": "float32"}) for f in ("g", "rgb16", "bmp24", "gif1", "jgray")),
    *((f, "DecodeImage", {"dtype": "uint16"}) for f in ("g", "la16", "bmp24", "gif1")),
    *((f, "DecodeBmp", {"channels": n}) for f in BMP for n in (0, 1, 3, 4)),
    *((f, "DecodeGif", {}) for f in (*GIF, "rgb")),
    *((f, "DecodeImage", {"expand_animations": False}) for f in ("gif3", "rgba", "bmp8")),
    *((f, "DecodePng", {"channels": n}) for f in ("gif1", "gif3", "bmp24") for n in (0, 1)),
    *((f, op, {}) for f in BROKEN for op in ("DecodeImage", "DecodePng", "ExtractJpegShape")),
    *((f, "ExtractJpegShape", {}) for f in JPEG),
    *((f, "DecodeJpeg", {"channels": n, **ACCURATE}) for f in JPEG for n in (0, 1, 3)),
    *((f, "DecodeJpeg", {}) for f in JPEG[:3]),
    *(("j420", "DecodeJpeg", {"ratio": n, **ACCURATE}) for n in (2, 4, 8)),
    *((f, "DecodeJpeg", {"fancy_upscaling": False, **ACCURATE}) for f in ("j420", "j444")),
    ("j420", "DecodeJpeg", {"channels": 4}),
    *(("j420", "DecodeAndCropJpeg", {"crop_window": w, **ACCURATE}) for w in WINDOWS),
)


def case_name(case: Case) -> str:
    file, op, attrs = case
    return "-".join([file, op, *(f"{name}={value}" for name, value in attrs.items())])
