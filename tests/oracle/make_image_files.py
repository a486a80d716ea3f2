"""Makes the image files of `tests/recorded/image_files.npz`, whole ones and damaged ones.

    .venv/bin/python tests/oracle/make_image_files.py    # Pillow is needed, TensorFlow is not

Afterwards `record_image_files.py` adds what TensorFlow reads of them.
"""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from flowc.ops.image.png_files import CHANNELS, encode_png, png_file

OUT = Path(__file__).parents[1] / "recorded" / "image_files.npz"
RANDOM = np.random.RandomState(0)


def saved(image: Image.Image, kind: str, **settings: Any) -> bytes:
    found = io.BytesIO()
    image.save(found, kind, **settings)
    return found.getvalue()


def noise(*shape: int, kind: Any = np.uint8) -> np.ndarray:
    return RANDOM.randint(0, np.iinfo(kind).max + 1, shape).astype(kind)


def filtered_png(pixels: np.ndarray) -> bytes:
    """16 bits, whose rows take turns with PNG's five filters."""
    height, width, count = pixels.shape
    step = 2 * count
    rows = pixels.astype(">u2").view(np.uint8).reshape(height, -1).astype(int)
    above, data = np.zeros(rows.shape[1], int), b""
    for k, row in enumerate(rows):
        left = np.concatenate([np.zeros(step, int), row[:-step]])
        corner = np.concatenate([np.zeros(step, int), above[:-step]])
        far = [abs(left + above - corner - x) for x in (left, above, corner)]
        nearest = np.where((far[1] <= far[2]), above, corner)
        nearest = np.where((far[0] <= far[1]) & (far[0] <= far[2]), left, nearest)
        guess = [0 * row, left, above, (left + above) // 2, nearest][k % 5]
        data += bytes([k % 5]) + ((row - guess) % 256).astype(np.uint8).tobytes()
        above = row
    color = {n: c for c, n in CHANNELS.items()}[count]
    head = struct.pack(">IIBBBBB", width, height, 16, color, 0, 0, 0)
    return png_file([(b"IHDR", head), (b"IDAT", zlib.compress(data)), (b"IEND", b"")])


def pngs() -> dict[str, bytes]:
    gray, rgb = noise(9, 13), noise(9, 13, 3)
    few = Image.fromarray(rgb).quantize(8)
    four = noise(6, 5) % 4 * 85
    return {
        "g": saved(Image.fromarray(gray), "PNG"),
        "rgb": saved(Image.fromarray(rgb), "PNG"),
        "rgba": saved(Image.fromarray(noise(9, 13, 4)), "PNG"),
        "la": encode_png(noise(9, 13, 2)),
        "one": saved(Image.fromarray(gray > 128), "PNG"),
        "pal": saved(few, "PNG"),
        "palt": saved(few, "PNG", transparency=3),
        "gt": saved(Image.fromarray(gray), "PNG", transparency=int(gray[2, 3])),
        "rgbt": saved(Image.fromarray(rgb), "PNG", transparency=tuple(map(int, rgb[1, 2]))),
        "g2": saved(Image.fromarray(four.astype(np.uint8)).quantize(4), "PNG", bits=2),
        "g16": saved(Image.fromarray(noise(9, 13, kind=np.uint16)), "PNG"),
        **{
            name: filtered_png(noise(9, 13, n, kind=np.uint16))
            for name, n in (("rgb16", 3), ("rgba16", 4), ("la16", 2))
        },
    }


def gifs() -> dict[str, bytes]:
    frames = [Image.fromarray(noise(9, 13, 3)).quantize(16) for _ in range(3)]
    boxes: list[Image.Image] = []
    for k in range(4):
        canvas = np.zeros((9, 13, 3), np.uint8)
        canvas[k : k + 3, k : k + 5] = [50 * k + 20, 200 - 30 * k, 90]
        boxes.append(Image.fromarray(canvas).quantize(8))
    rest: dict[str, Any] = {"save_all": True, "append_images": boxes[1:]}
    return {
        "gif1": saved(frames[0], "GIF"),
        "gif3": saved(frames[0], "GIF", save_all=True, append_images=frames[1:]),
        "gifd2": saved(boxes[0], "GIF", disposal=2, **rest),
        "gifd3": saved(boxes[0], "GIF", disposal=3, **rest),
        "giftr": saved(boxes[0], "GIF", disposal=2, transparency=1, **rest),
    }


def jpegs() -> dict[str, bytes]:
    rows, columns = np.mgrid[0:37, 0:43]
    colors = np.stack([columns * 5, rows * 6, (rows + columns) * 2], -1).astype(np.uint8)
    image = Image.fromarray(colors + noise(37, 43, 3) // 16)
    return {
        "j420": saved(image, "JPEG", quality=80),
        "j444": saved(image, "JPEG", quality=90, subsampling=0),
        "jgray": saved(image.convert("L"), "JPEG"),
        "jcmyk": saved(image.convert("CMYK"), "JPEG"),
    }


def main() -> None:
    files = pngs() | gifs() | jpegs()
    for name, mode in (("bmp8", "g"), ("bmp24", "rgb"), ("bmp32", "rgba"), ("bmp1", "one")):
        files[name] = saved(Image.open(io.BytesIO(files[mode])), "BMP")
    rgb, jpeg, bmp = files["rgb"], files["j420"], files["bmp24"]
    files |= {
        "png_cut": rgb[: len(rgb) // 2],
        "png_crc": rgb[:45] + b"\0\0\0" + rgb[48:],
        "png_head": rgb[:20],
        "png_zero": rgb[:16] + bytes(4) + rgb[20:],
        "jpeg_cut": jpeg[: len(jpeg) * 2 // 3],
        "jpeg_head": jpeg[:30],
        "bmp_cut": bmp[:-20],
        "bmp_head": bmp[:20],
        "bmp_flat": bmp[:18] + bytes(4) + bmp[22:],
        "gif_cut": files["gif1"][:-30],
        "gif_cut2": files["gif3"][:-100],
        "empty": b"",
        "junk": b"hello world, this is nothing at all",
    }
    arrays = {f"file {name}": np.frombuffer(data, np.uint8) for name, data in files.items()}
    np.savez_compressed(OUT, **arrays)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main()
