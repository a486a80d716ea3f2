# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "combined_non_max_suppression",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "draw_bounding_boxes",
    "encode_jpeg",
    "encode_png",
    "extract_glimpse",
    "extract_image_patches",
    "extract_jpeg_shape",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "is_jpeg",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.image.boxes import combined_non_max_suppression as combined_non_max_suppression
from flowc.api.image.boxes import draw_bounding_boxes as draw_bounding_boxes
from flowc.api.image.boxes import extract_patches as extract_patches
from flowc.api.image.boxes import non_max_suppression_overlaps as non_max_suppression_overlaps
from flowc.api.image.boxes import non_max_suppression_padded as non_max_suppression_padded
from flowc.api.image.boxes import sample_distorted_bounding_box as sample_distorted_bounding_box
from flowc.api.image.colors import adjust_brightness as adjust_brightness
from flowc.api.image.colors import adjust_contrast as adjust_contrast
from flowc.api.image.colors import adjust_gamma as adjust_gamma
from flowc.api.image.colors import adjust_hue as adjust_hue
from flowc.api.image.colors import adjust_saturation as adjust_saturation
from flowc.api.image.colors import convert_image_dtype as convert_image_dtype
from flowc.api.image.colors import grayscale_to_rgb as grayscale_to_rgb
from flowc.api.image.colors import hsv_to_rgb as hsv_to_rgb
from flowc.api.image.colors import per_image_standardization as per_image_standardization
from flowc.api.image.colors import rgb_to_grayscale as rgb_to_grayscale
from flowc.api.image.colors import rgb_to_hsv as rgb_to_hsv
from flowc.api.image.files import adjust_jpeg_quality as adjust_jpeg_quality
from flowc.api.image.files import decode_and_crop_jpeg as decode_and_crop_jpeg
from flowc.api.image.files import decode_bmp as decode_bmp
from flowc.api.image.files import decode_gif as decode_gif
from flowc.api.image.files import decode_image as decode_image
from flowc.api.image.files import decode_jpeg as decode_jpeg
from flowc.api.image.files import decode_png as decode_png
from flowc.api.image.files import encode_jpeg as encode_jpeg
from flowc.api.image.files import encode_png as encode_png
from flowc.api.image.files import extract_jpeg_shape as extract_jpeg_shape
from flowc.api.image.files import is_jpeg as is_jpeg
from flowc.api.image.files import random_jpeg_quality as random_jpeg_quality
from flowc.api.image.image import ResizeMethod as ResizeMethod
from flowc.api.image.image import crop_and_resize as crop_and_resize
from flowc.api.image.image import extract_glimpse as extract_glimpse
from flowc.api.image.image import extract_image_patches as extract_image_patches
from flowc.api.image.image import flip_left_right as flip_left_right
from flowc.api.image.image import flip_up_down as flip_up_down
from flowc.api.image.image import non_max_suppression as non_max_suppression
from flowc.api.image.image import non_max_suppression_with_scores as non_max_suppression_with_scores
from flowc.api.image.image import resize_images as resize_images
from flowc.api.image.image import rot90 as rot90
from flowc.api.image.image import transpose_image as transpose_image
from flowc.api.image.quality import image_gradients as image_gradients
from flowc.api.image.quality import psnr as psnr
from flowc.api.image.quality import sobel_edges as sobel_edges
from flowc.api.image.quality import ssim as ssim
from flowc.api.image.quality import ssim_multiscale as ssim_multiscale
from flowc.api.image.quality import total_variation as total_variation
from flowc.api.image.random_changes import random_brightness as random_brightness
from flowc.api.image.random_changes import random_contrast as random_contrast
from flowc.api.image.random_changes import random_hue as random_hue
from flowc.api.image.random_changes import random_saturation as random_saturation
from flowc.api.image.sizes import central_crop as central_crop
from flowc.api.image.sizes import crop_to_bounding_box as crop_to_bounding_box
from flowc.api.image.sizes import pad_to_bounding_box as pad_to_bounding_box
from flowc.api.image.sizes import resize_image_with_crop_or_pad as resize_image_with_crop_or_pad
from flowc.api.image.sizes import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from flowc.api.image.sizes import resize_image_with_pad as resize_image_with_pad
from flowc.api.random.random_ops import random_crop as random_crop

def rgb_to_yiq(images: Any) -> Tensor:
    """Red, green and blue as Y, I and Q. Floats in [0, 1], [..., 3]. Raises `TypeError` for other dtypes, `ValueError` where the last size is not 3."""
def rgb_to_yuv(images: Any) -> Tensor:
    """Red, green and blue as Y, U and V. Floats in [0, 1], [..., 3]. Raises `TypeError` for other dtypes, `ValueError` where the last size is not 3."""
def yiq_to_rgb(images: Any) -> Tensor:
    """Y, I and Q as red, green and blue. Floats in [0, 1], [..., 3]. Raises `TypeError` for other dtypes, `ValueError` where the last size is not 3."""
def yuv_to_rgb(images: Any) -> Tensor:
    """Y, U and V as red, green and blue. Floats in [0, 1], [..., 3]. Raises `TypeError` for other dtypes, `ValueError` where the last size is not 3."""
def resize(images: Any, size: Any, method: int = 0, align_corners: builtins.bool = False, preserve_aspect_ratio: builtins.bool = False, name: str | None = None) -> Tensor:
    """Images, one or a batch, in another size [height, width].
    
    `preserve_aspect_ratio`: in the image's own proportions, within that size. Images that are
    known to be of that size stay as they are, in their dtype. Raises `ValueError` for a rank other
    than 3 or 4, another shape of `size`, or an unknown method."""
def resize_area(images: Any, size: Any, align_corners: builtins.bool = False, name: str | None = None, half_pixel_centers: builtins.bool = False) -> Tensor:
    """TensorFlow's `ResizeArea` of images [batch, height, width, channels] to `size`, int32[2] of height and width, in float32. Raises `ValueError` for another rank."""
def resize_bicubic(images: Any, size: Any, align_corners: builtins.bool = False, name: str | None = None, half_pixel_centers: builtins.bool = False) -> Tensor:
    """TensorFlow's `ResizeBicubic` of images [batch, height, width, channels] to `size`, int32[2] of height and width, in float32. Raises `ValueError` for another rank."""
def resize_bilinear(images: Any, size: Any, align_corners: builtins.bool = False, name: str | None = None, half_pixel_centers: builtins.bool = False) -> Tensor:
    """TensorFlow's `ResizeBilinear` of images [batch, height, width, channels] to `size`, int32[2] of height and width, in float32. Raises `ValueError` for another rank."""
def resize_nearest_neighbor(images: Any, size: Any, align_corners: builtins.bool = False, name: str | None = None, half_pixel_centers: builtins.bool = False) -> Tensor:
    """TensorFlow's `ResizeNearestNeighbor` of images [batch, height, width, channels] to `size`, int32[2] of height and width, in their dtype. Raises `ValueError` for another rank."""
def transpose(image: Any, name: str | None = None) -> Tensor:
    """Height and width of an image [height, width, channels], or of a batch of them, exchanged.
    Raises `ValueError` for another rank."""
def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Mirrored with a probability of one half, each image of a batch by itself: images [height, width, channels] or a batch of them, of any dtype. Raises `ValueError` for another rank."""
def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Mirrored with a probability of one half, each image of a batch by itself: images [height, width, channels] or a batch of them, of any dtype. Raises `ValueError` for another rank."""
