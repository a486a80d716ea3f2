# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "bessel_j0",
    "bessel_j1",
    "bessel_k0",
    "bessel_k0e",
    "bessel_k1",
    "bessel_k1e",
    "bessel_y0",
    "bessel_y1",
    "dawsn",
    "expint",
    "fresnel_cos",
    "fresnel_sin",
    "spence",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.stubs.math import bessel_i0 as bessel_i0
from flowc.api.stubs.math import bessel_i0e as bessel_i0e
from flowc.api.stubs.math import bessel_i1 as bessel_i1
from flowc.api.stubs.math import bessel_i1e as bessel_i1e

def bessel_j0(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `BesselJ0`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_j1(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `BesselJ1`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_k0(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `BesselK0`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_k0e(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `BesselK0e`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_k1(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `BesselK1`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_k1e(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `BesselK1e`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_y0(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `BesselY0`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_y1(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `BesselY1`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def dawsn(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `Dawsn`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def expint(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `Expint`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def fresnel_cos(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `FresnelCos`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def fresnel_sin(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `FresnelSin`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def spence(x: Any, name: str | None = None) -> Tensor:
    """TensorFlow's `Spence`.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
