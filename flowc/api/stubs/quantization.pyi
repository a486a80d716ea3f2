# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "dequantize",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "quantize",
    "quantize_and_dequantize",
    "quantize_and_dequantize_v2",
    "quantized_concat",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.math.quantization import dequantize as dequantize
from flowc.api.math.quantization import quantize as quantize
from flowc.api.math.quantization import quantize_and_dequantize as quantize_and_dequantize
from flowc.api.math.quantization import quantize_and_dequantize_v2 as quantize_and_dequantize_v2

def fake_quant_with_min_max_args(inputs: Any, min: Any = -6.0, max: Any = 6.0, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Tensor:
    """TensorFlow's op `FakeQuantWithMinMaxArgs`:
    
        FakeQuantWithMinMaxArgs(inputs: f32; min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False) -> outputs: f32
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_args_gradient(gradients: Any, inputs: Any, min: Any = -6.0, max: Any = 6.0, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Tensor:
    """TensorFlow's op `FakeQuantWithMinMaxArgsGradient`:
    
        FakeQuantWithMinMaxArgsGradient(gradients: f32, inputs: f32; min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False) -> backprops: f32
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_vars(inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Tensor:
    """TensorFlow's op `FakeQuantWithMinMaxVars`:
    
        FakeQuantWithMinMaxVars(inputs: f32, min: f32, max: f32; num_bits: int = 8, narrow_range: bool = False) -> outputs: f32
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_vars_gradient(gradients: Any, inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Any:
    """TensorFlow's op `FakeQuantWithMinMaxVarsGradient`:
    
        FakeQuantWithMinMaxVarsGradient(gradients: f32, inputs: f32, min: f32, max: f32; num_bits: int = 8, narrow_range: bool = False) -> (backprops_wrt_input: f32, backprop_wrt_min: f32, backprop_wrt_max: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_vars_per_channel(inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Tensor:
    """TensorFlow's op `FakeQuantWithMinMaxVarsPerChannel`:
    
        FakeQuantWithMinMaxVarsPerChannel(inputs: f32, min: f32, max: f32; num_bits: int = 8, narrow_range: bool = False) -> outputs: f32
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_vars_per_channel_gradient(gradients: Any, inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Any:
    """TensorFlow's op `FakeQuantWithMinMaxVarsPerChannelGradient`:
    
        FakeQuantWithMinMaxVarsPerChannelGradient(gradients: f32, inputs: f32, min: f32, max: f32; num_bits: int = 8, narrow_range: bool = False) -> (backprops_wrt_input: f32, backprop_wrt_min: f32, backprop_wrt_max: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def quantized_concat(concat_dim: Any, values: Any, input_mins: Any, input_maxes: Any, name: str | None = None) -> Any:
    """TensorFlow's op `QuantizedConcat`:
    
        QuantizedConcat(concat_dim: i32, values: N*T, input_mins: N*f32, input_maxes: N*f32; N: int >= 2, T: {qu8, qi32}) -> (output: T, output_min: f32, output_max: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
