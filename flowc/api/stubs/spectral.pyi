# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "irfft",
    "irfft2d",
    "irfft3d",
    "rfft",
    "rfft2d",
    "rfft3d",
]
from flowc.api.stubs.signal import fft as fft
from flowc.api.stubs.signal import fft2d as fft2d
from flowc.api.stubs.signal import fft3d as fft3d
from flowc.api.stubs.signal import ifft as ifft
from flowc.api.stubs.signal import ifft2d as ifft2d
from flowc.api.stubs.signal import ifft3d as ifft3d
from flowc.api.math.cosine_transforms import dct as dct
from flowc.api.math.cosine_transforms import idct as idct
from flowc.api.stubs.signal import irfft as irfft
from flowc.api.stubs.signal import irfft2d as irfft2d
from flowc.api.stubs.signal import irfft3d as irfft3d
from flowc.api.stubs.signal import rfft as rfft
from flowc.api.stubs.signal import rfft2d as rfft2d
from flowc.api.stubs.signal import rfft3d as rfft3d

