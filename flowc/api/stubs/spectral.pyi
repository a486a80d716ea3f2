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
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.math.cosine_transforms import dct as dct
from flowc.api.math.cosine_transforms import idct as idct

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
