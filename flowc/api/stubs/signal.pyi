# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftshift",
    "inverse_mdct",
    "inverse_stft",
    "inverse_stft_window_fn",
    "irfft",
    "irfft2d",
    "irfft3d",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mdct",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "rfft",
    "rfft2d",
    "rfft3d",
    "stft",
    "vorbis_window",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.audio.mel_scale import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from flowc.api.audio.modified_cosine import inverse_mdct as inverse_mdct
from flowc.api.audio.modified_cosine import mdct as mdct
from flowc.api.math.cosine_transforms import dct as dct
from flowc.api.math.cosine_transforms import fftshift as fftshift
from flowc.api.math.cosine_transforms import idct as idct
from flowc.api.math.cosine_transforms import ifftshift as ifftshift
from flowc.api.math.cosine_transforms import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from flowc.api.math.frames import frame as frame
from flowc.api.math.frames import inverse_stft as inverse_stft
from flowc.api.math.frames import inverse_stft_window_fn as inverse_stft_window_fn
from flowc.api.math.frames import overlap_and_add as overlap_and_add
from flowc.api.math.frames import stft as stft
from flowc.api.math.window_functions import kaiser_bessel_derived_window as kaiser_bessel_derived_window
from flowc.api.math.window_functions import kaiser_window as kaiser_window
from flowc.api.math.window_functions import vorbis_window as vorbis_window

def fft(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `FFT`:
    
        FFT(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fft2d(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `FFT2D`:
    
        FFT2D(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fft3d(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `FFT3D`:
    
        FFT3D(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def ifft(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `IFFT`:
    
        IFFT(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def ifft2d(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `IFFT2D`:
    
        IFFT2D(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def ifft3d(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `IFFT3D`:
    
        IFFT3D(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft`: real numbers. `fft_length` [axes]: the lengths of the result, by default twice the last axis less 2. Raises `ValueError` for other dtypes than complex64 and complex128."""
def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft2d`: real numbers. `fft_length` [axes]: the lengths of the result, by default twice the last axis less 2. Raises `ValueError` for other dtypes than complex64 and complex128."""
def irfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft3d`: real numbers. `fft_length` [axes]: the lengths of the result, by default twice the last axis less 2. Raises `ValueError` for other dtypes than complex64 and complex128."""
def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers along the last 1 axes, of which the last keeps length // 2 + 1 elements. `fft_length` [axes]: to which lengths the axes are cut or filled with zeros. Raises `ValueError` for other dtypes than float32 and float64."""
def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers along the last 2 axes, of which the last keeps length // 2 + 1 elements. `fft_length` [axes]: to which lengths the axes are cut or filled with zeros. Raises `ValueError` for other dtypes than float32 and float64."""
def rfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers along the last 3 axes, of which the last keeps length // 2 + 1 elements. `fft_length` [axes]: to which lengths the axes are cut or filled with zeros. Raises `ValueError` for other dtypes than float32 and float64."""
def hamming_window(window_length: Any, periodic: builtins.bool = True, dtype: Any = ..., name: str | None = None) -> Tensor:
    """A raised cosine that is 0.08 at its ends. `periodic`: one that goes on smoothly where it is repeated. Raises `ValueError` for a dtype that is not of floats."""
def hann_window(window_length: Any, periodic: builtins.bool = True, dtype: Any = ..., name: str | None = None) -> Tensor:
    """A raised cosine that is 0 at its ends. `periodic`: one that goes on smoothly where it is repeated. Raises `ValueError` for a dtype that is not of floats."""
