# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "angle",
    "approximate_equal",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "betainc",
    "bincount",
    "ceil",
    "clip_by_value",
    "complex",
    "complex_abs",
    "confusion_matrix",
    "conj",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "digamma",
    "div",
    "div_no_nan",
    "divide",
    "divide_no_nan",
    "einsum",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "igamma",
    "igammac",
    "imag",
    "in_top_k",
    "inv",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "linspace",
    "log",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "multiply",
    "multiply_no_nan",
    "ndtri",
    "neg",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "polyval",
    "pow",
    "real",
    "realdiv",
    "reciprocal",
    "reciprocal_no_nan",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "rint",
    "round",
    "rsqrt",
    "saturate_cast",
    "scalar_mul",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "softsign",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "special",
    "sqrt",
    "square",
    "squared_difference",
    "sub",
    "subtract",
    "tan",
    "tanh",
    "tensordot",
    "top_k",
    "truediv",
    "truncatediv",
    "truncatemod",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "xdivy",
    "xlog1py",
    "xlogy",
    "zero_fraction",
    "zeta",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.arrays.linspace import linspace as linspace
from flowc.api.arrays.selection import in_top_k as in_top_k
from flowc.api.arrays.selection import top_k as top_k
from flowc.api.framework.assertions import is_non_decreasing as is_non_decreasing
from flowc.api.framework.assertions import is_strictly_increasing as is_strictly_increasing
from flowc.api.linear_operators.functions import matmul as matmul
from flowc.api.math.counting import bincount as bincount
from flowc.api.math.elementwise import abs as abs
from flowc.api.math.elementwise import accumulate_n as accumulate_n
from flowc.api.math.elementwise import add as add
from flowc.api.math.elementwise import add_n as add_n
from flowc.api.math.elementwise import angle as angle
from flowc.api.math.elementwise import approximate_equal as approximate_equal
from flowc.api.math.elementwise import betainc as betainc
from flowc.api.math.elementwise import clip_by_value as clip_by_value
from flowc.api.math.elementwise import complex as complex
from flowc.api.math.elementwise import complex_abs as complex_abs
from flowc.api.math.elementwise import conj as conj
from flowc.api.math.elementwise import div as div
from flowc.api.math.elementwise import div_no_nan as div_no_nan
from flowc.api.math.elementwise import div_no_nan as divide_no_nan
from flowc.api.math.elementwise import divide as divide
from flowc.api.math.elementwise import log_sigmoid as log_sigmoid
from flowc.api.math.elementwise import logical_xor as logical_xor
from flowc.api.math.elementwise import round as round
from flowc.api.math.elementwise import saturate_cast as saturate_cast
from flowc.api.math.elementwise import scalar_mul as scalar_mul
from flowc.api.math.elementwise import truediv as truediv
from flowc.api.math.reductions import count_nonzero as count_nonzero
from flowc.api.math.reductions import einsum as einsum
from flowc.api.math.reductions import reduce_std as reduce_std
from flowc.api.math.reductions import reduce_variance as reduce_variance
from flowc.api.math.special import erfcinv as erfcinv
from flowc.api.math.special import lbeta as lbeta
from flowc.api.math.special import polyval as polyval
from flowc.api.math.special import reciprocal_no_nan as reciprocal_no_nan
from flowc.api.math.tensordot import tensordot as tensordot
from flowc.api.metrics.confusion import confusion_matrix as confusion_matrix
from flowc.api.stubs.nn import log_softmax as log_softmax
from flowc.api.stubs.nn import softmax as softmax
from flowc.api.stubs.nn import softplus as softplus
from flowc.api.stubs.nn import softsign as softsign
from flowc.api.nn.normalization import l2_normalize as l2_normalize
from flowc.api.nn.normalization import zero_fraction as zero_fraction

def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `NextAfter`:
    
        NextAfter(x1: T, x2: T; T: {f64, f32} = f32) -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def acos(x: Any, name: str | None = None) -> Tensor:
    """The arc cosine, in radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def acosh(x: Any, name: str | None = None) -> Tensor:
    """The inverse hyperbolic cosine, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def asin(x: Any, name: str | None = None) -> Tensor:
    """The arc sine, in radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def asinh(x: Any, name: str | None = None) -> Tensor:
    """The inverse hyperbolic sine, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def atan(x: Any, name: str | None = None) -> Tensor:
    """The arc tangent, in radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y) in radians, of floats.
    
    Takes `(y, x, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def atanh(x: Any, name: str | None = None) -> Tensor:
    """The inverse hyperbolic tangent, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0 times exp(-abs(x)), of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1 times exp(-abs(x)), of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def ceil(x: Any, name: str | None = None) -> Tensor:
    """The least whole number that is not below each element, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def cos(x: Any, name: str | None = None) -> Tensor:
    """The cosine of radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def cosh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic cosine, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of `lgamma`, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x == y, of any dtype.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def erf(x: Any, name: str | None = None) -> Tensor:
    """The Gauss error function, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def erfc(x: Any, name: str | None = None) -> Tensor:
    """1 - erf(x), of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def erfinv(x: Any, name: str | None = None) -> Tensor:
    """The inverse of `erf`, of floats in [-1, 1].
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def exp(x: Any, name: str | None = None) -> Tensor:
    """e to the power of each element, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def expm1(x: Any, name: str | None = None) -> Tensor:
    """exp(x) - 1, exact near 0, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def floor(x: Any, name: str | None = None) -> Tensor:
    """The greatest whole number that is not above each element, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards minus infinity, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards minus infinity, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of `floordiv`, with the sign of y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x > y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x >= y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower regularised incomplete gamma function P(a, x), of floats.
    
    Takes `(a, x, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper regularised incomplete gamma function Q(a, x), of floats.
    
    Takes `(a, x, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part of complex numbers, as floats of half their width; of real ones, zeros. Of any shape. Raises nothing for tensors."""
def inv(x: Any, name: str | None = None) -> Tensor:
    """1 / x, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The vector y with `y[x[i]] = i`, of an int32 or int64 vector that is a permutation: anything else raises `ValueError`, or `InvalidArgumentError` in a run.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Bools: whether each element is neither infinite nor NaN, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Bools: whether each element is infinite, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Bools: whether each element is NaN, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x < y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x <= y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def lgamma(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def log(x: Any, name: str | None = None) -> Tensor:
    """The natural logarithm, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def log1p(x: Any, name: str | None = None) -> Tensor:
    """log(1 + x), exact near 0, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether both hold, of bools.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def logical_not(x: Any, name: str | None = None) -> Tensor:
    """The negation, of bools.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether either holds, of bools.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The larger of x and y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The smaller of x and y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def mod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of `floordiv`, with the sign of y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def mul(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, or 0 where y is 0, of floats or complex numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def ndtri(x: Any, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution, of floats in [0, 1].
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def neg(x: Any, name: str | None = None) -> Tensor:
    """-x, of numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def negative(x: Any, name: str | None = None) -> Tensor:
    """-x, of numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x != y, of any dtype.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Derivative number a of `digamma` at x, of float32 or float64.
    
    Takes `(a, x, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x to the power of y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def real(input: Any, name: str | None = None) -> Tensor:
    """The real part of complex numbers, as floats of half their width; of real ones, the tensor itself. Of any shape. Raises nothing for tensors."""
def realdiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, of floats or complex numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """1 / x, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def rint(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number, the even one of two, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """1 / sqrt(x), of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)), of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1 (of complex numbers x / abs(x)), of numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sin(x: Any, name: str | None = None) -> Tensor:
    """The sine of radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sinh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic sine, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sqrt(x: Any, name: str | None = None) -> Tensor:
    """The square root, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def square(x: Any, name: str | None = None) -> Tensor:
    """x * x, of numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """(x - y) * (x - y), of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def sub(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def tan(x: Any, name: str | None = None) -> Tensor:
    """The tangent of radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def tanh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic tangent, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards 0, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of `truncatediv`, with the sign of x, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, or 0 where x is 0, of floats or complex numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * log1p(y), or 0 where x is 0, of floats or complex numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * log(y), or 0 where x is 0, of floats or complex numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The Hurwitz zeta function, of float32 or float64.
    
    Takes `(x, q, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def argmax(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = ...) -> Tensor:
    """The index of the largest element along `axis` (0, if None), which is gone from the result; the first of equal ones. int64, or `output_type`. Raises `TypeError` for dtypes without order, `ValueError` for an axis out of range."""
def argmin(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = ...) -> Tensor:
    """The index of the smallest element along `axis` (0, if None), which is gone from the result; the first of equal ones. int64, or `output_type`. Raises `TypeError` for dtypes without order, `ValueError` for an axis out of range."""
def cumprod(x: Any, axis: Any = 0, exclusive: builtins.bool = False, reverse: builtins.bool = False, name: str | None = None) -> Tensor:
    """The products (of numbers) of the elements up to each one along `axis`, in the shape and dtype of `x`: without it if `exclusive`, from the end if `reverse`. Raises `TypeError` for other dtypes; a run raises `InvalidArgumentError` for an axis out of range."""
def cumsum(x: Any, axis: Any = 0, exclusive: builtins.bool = False, reverse: builtins.bool = False, name: str | None = None) -> Tensor:
    """The sums (of numbers) of the elements up to each one along `axis`, in the shape and dtype of `x`: without it if `exclusive`, from the end if `reverse`. Raises `TypeError` for other dtypes; a run raises `InvalidArgumentError` for an axis out of range."""
def cumulative_logsumexp(x: Any, axis: Any = 0, exclusive: builtins.bool = False, reverse: builtins.bool = False, name: str | None = None) -> Tensor:
    """log(sum(exp(x))) (of floats) of the elements up to each one along `axis`, in the shape and dtype of `x`: without it if `exclusive`, from the end if `reverse`. Raises `TypeError` for other dtypes; a run raises `InvalidArgumentError` for an axis out of range."""
def reduce_all(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """Whether all hold of the elements along `axis`, an int or a list (all axes, if None); bools, True of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_any(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """Whether any holds of the elements along `axis`, an int or a list (all axes, if None); bools, False of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_euclidean_norm(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The Euclidean norm of the elements along `axis`, an int or a list (all axes, if None); numbers.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_logsumexp(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """log(sum(exp(x))) of floats, without overflow. Arguments as `reduce_sum`; raises as it does."""
def reduce_max(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The largest of the elements along `axis`, an int or a list (all axes, if None); real numbers, the least of the dtype of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The mean of the elements along `axis`, an int or a list (all axes, if None); numbers; that of integers is rounded towards 0.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_min(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The smallest of the elements along `axis`, an int or a list (all axes, if None); real numbers, the largest of the dtype of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_prod(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The product of the elements along `axis`, an int or a list (all axes, if None); numbers, 1 of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The sum of the elements along `axis`, an int or a list (all axes, if None); numbers, 0 of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The maximum of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The minimum of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The product of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def sparse_segment_mean(data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None) -> Tensor:
    """TensorFlow's `SparseSegmentMean`: rows of `data` at `indices` [n], combined by `segment_ids` [n], in order: `num_segments` rows, or the last id plus 1. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease and an index out of range."""
def sparse_segment_sqrt_n(data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None) -> Tensor:
    """TensorFlow's `SparseSegmentSqrtN`: rows of `data` at `indices` [n], combined by `segment_ids` [n], in order: `num_segments` rows, or the last id plus 1. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease and an index out of range."""
def sparse_segment_sum(data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None) -> Tensor:
    """TensorFlow's `SparseSegmentSum`: rows of `data` at `indices` [n], combined by `segment_ids` [n], in order: `num_segments` rows, or the last id plus 1. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease and an index out of range."""
def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The maximum of the slices of each segment, `num_segments` rows: `segment_ids` has the first dimensions of `data`, in any order; a negative id leaves its slice out. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for an id out of range."""
def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment. Arguments and errors as `unsorted_segment_sum`."""
def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The minimum of the slices of each segment, `num_segments` rows: `segment_ids` has the first dimensions of `data`, in any order; a negative id leaves its slice out. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for an id out of range."""
def unsorted_segment_prod(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The product of the slices of each segment, `num_segments` rows: `segment_ids` has the first dimensions of `data`, in any order; a negative id leaves its slice out. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for an id out of range."""
def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment, divided by the square root of their number. Arguments and errors as `unsorted_segment_sum`."""
def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of the slices of each segment, `num_segments` rows: `segment_ids` has the first dimensions of `data`, in any order; a negative id leaves its slice out. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for an id out of range."""
from flowc.api.stubs import math_special as special
