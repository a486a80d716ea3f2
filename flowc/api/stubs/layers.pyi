# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "BatchNormalization",
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Dense",
    "Dropout",
    "Flatten",
    "InputSpec",
    "Layer",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "SeparableConv1D",
    "SeparableConv2D",
    "average_pooling1d",
    "average_pooling2d",
    "average_pooling3d",
    "batch_normalization",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "dense",
    "dropout",
    "flatten",
    "max_pooling1d",
    "max_pooling2d",
    "max_pooling3d",
    "separable_conv1d",
    "separable_conv2d",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.layers.convolutional import Conv1D as Conv1D
from flowc.api.layers.convolutional import Conv2D as Conv2D
from flowc.api.layers.convolutional import Conv2DTranspose as Conv2DTranspose
from flowc.api.layers.convolutional import Conv3D as Conv3D
from flowc.api.layers.convolutional import Conv3DTranspose as Conv3DTranspose
from flowc.api.layers.convolutional import SeparableConv1D as SeparableConv1D
from flowc.api.layers.convolutional import SeparableConv2D as SeparableConv2D
from flowc.api.layers.core import Dense as Dense
from flowc.api.layers.core import Dropout as Dropout
from flowc.api.layers.core import Flatten as Flatten
from flowc.api.layers.core import flatten as flatten
from flowc.api.layers.input_spec import InputSpec as InputSpec
from flowc.api.layers.layer import Layer as Layer
from flowc.api.layers.normalization import BatchNormalization as BatchNormalization
from flowc.api.layers.pooling import AveragePooling1D as AveragePooling1D
from flowc.api.layers.pooling import AveragePooling2D as AveragePooling2D
from flowc.api.layers.pooling import AveragePooling3D as AveragePooling3D
from flowc.api.layers.pooling import MaxPooling1D as MaxPooling1D
from flowc.api.layers.pooling import MaxPooling2D as MaxPooling2D
from flowc.api.layers.pooling import MaxPooling3D as MaxPooling3D

def conv1d(inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = 'valid', data_format: str = 'channels_last', dilation_rate: Any = 1, activation: Any = None, use_bias: builtins.bool = True, kernel_initializer: Any = None, bias_initializer: Any = ..., kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None, trainable: builtins.bool = True, name: str | None = None, reuse: Any = None) -> Tensor:
    """A convolution of [batch, steps, channels] to `filters` channels. `kernel_size`, `strides` and
        `dilation_rate`: one number, or one for each spatial axis. Raises `ValueError` for numbers that
        do not fit and an unknown number of channels.
    
    Makes a `Conv1D` and calls it with `inputs`."""
def conv2d(inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = 'valid', data_format: str = 'channels_last', dilation_rate: Any = 1, activation: Any = None, use_bias: builtins.bool = True, kernel_initializer: Any = None, bias_initializer: Any = ..., kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None, trainable: builtins.bool = True, name: str | None = None, reuse: Any = None) -> Tensor:
    """A convolution of images [batch, height, width, channels] to `filters` channels.
        `kernel_size`, `strides` and `dilation_rate`: one number, or one for each spatial axis. Raises
        `ValueError` for numbers that do not fit and an unknown number of channels.
    
    Makes a `Conv2D` and calls it with `inputs`."""
def conv2d_transpose(inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = 'valid', data_format: str = 'channels_last', activation: Any = None, use_bias: builtins.bool = True, kernel_initializer: Any = None, bias_initializer: Any = ..., kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None, trainable: builtins.bool = True, name: str | None = None, reuse: Any = None) -> Tensor:
    """The transposed convolution of images [batch, height, width, channels] to `filters` channels.
        Arguments and errors as `Conv2D`.
    
    Makes a `Conv2DTranspose` and calls it with `inputs`."""
def conv3d(inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = 'valid', data_format: str = 'channels_last', dilation_rate: Any = 1, activation: Any = None, use_bias: builtins.bool = True, kernel_initializer: Any = None, bias_initializer: Any = ..., kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None, trainable: builtins.bool = True, name: str | None = None, reuse: Any = None) -> Tensor:
    """A convolution of volumes [batch, depth, height, width, channels] to `filters` channels.
        `kernel_size`, `strides` and `dilation_rate`: one number, or one for each spatial axis. Raises
        `ValueError` for numbers that do not fit and an unknown number of channels.
    
    Makes a `Conv3D` and calls it with `inputs`."""
def conv3d_transpose(inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = 'valid', data_format: str = 'channels_last', activation: Any = None, use_bias: builtins.bool = True, kernel_initializer: Any = None, bias_initializer: Any = ..., kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None, trainable: builtins.bool = True, name: str | None = None, reuse: Any = None) -> Tensor:
    """The transposed convolution of volumes [batch, depth, height, width, channels] to `filters`
        channels. Arguments and errors as `Conv3D`.
    
    Makes a `Conv3DTranspose` and calls it with `inputs`."""
def separable_conv1d(inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = 'valid', data_format: str = 'channels_last', dilation_rate: Any = 1, depth_multiplier: int = 1, activation: Any = None, use_bias: builtins.bool = True, depthwise_initializer: Any = None, pointwise_initializer: Any = None, bias_initializer: Any = ..., depthwise_regularizer: Any = None, pointwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, depthwise_constraint: Any = None, pointwise_constraint: Any = None, bias_constraint: Any = None, trainable: builtins.bool = True, name: str | None = None, reuse: Any = None) -> Tensor:
    """A separable convolution along one axis: that of an image of height 1. [batch, steps,
        channels], of floats. Raises `ValueError` for another rank and unknown channels.
    
    Makes a `SeparableConv1D` and calls it with `inputs`."""
def separable_conv2d(inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = 'valid', data_format: str = 'channels_last', dilation_rate: Any = 1, depth_multiplier: int = 1, activation: Any = None, use_bias: builtins.bool = True, depthwise_initializer: Any = None, pointwise_initializer: Any = None, bias_initializer: Any = ..., depthwise_regularizer: Any = None, pointwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, depthwise_constraint: Any = None, pointwise_constraint: Any = None, bias_constraint: Any = None, trainable: builtins.bool = True, name: str | None = None, reuse: Any = None) -> Tensor:
    """A separable convolution of images [batch, height, width, channels]. Of floats. Raises
        `ValueError` for another rank and unknown channels.
    
    Makes a `SeparableConv2D` and calls it with `inputs`."""
def dense(inputs: Any, units: int, activation: Any = None, use_bias: builtins.bool = True, kernel_initializer: Any = None, bias_initializer: Any = ..., kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None, trainable: builtins.bool = True, name: str | None = None, reuse: Any = None) -> Tensor:
    """`activation(inputs @ kernel + bias)` over the last axis of inputs of rank 2 or more.
    
        Raises `ValueError` for inputs whose last size is not known, `TypeError` for inputs that are not
        of floats.
        
    
    Makes a `Dense` and calls it with `inputs`."""
def dropout(inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, training: Any = False, name: str | None = None) -> Tensor:
    """Drops a part `rate` of the inputs where `training` holds, and scales the rest up.
    
        Raises `ValueError` for a rate outside [0, 1].
    
    Makes a `Dropout` and calls it with `inputs`."""
def batch_normalization(inputs: Any, axis: Any = -1, momentum: float = 0.99, epsilon: float = 0.001, center: builtins.bool = True, scale: builtins.bool = True, beta_initializer: Any = ..., gamma_initializer: Any = ..., moving_mean_initializer: Any = ..., moving_variance_initializer: Any = ..., beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None, gamma_constraint: Any = None, training: Any = False, trainable: builtins.bool = True, name: str | None = None, reuse: Any = None, renorm: builtins.bool = False, renorm_clipping: Any = None, renorm_momentum: float = 0.99, fused: builtins.bool | None = None, virtual_batch_size: int | None = None, adjustment: Any = None) -> Tensor:
    """Batch normalisation by Ioffe and Szegedy, 2015 (arXiv:1502.03167).
    
        `axis`: that of the features. `momentum`: how much of the kept statistics a step keeps. `fused`:
        one op for images (the default where it fits). `renorm`: batch renormalisation by Ioffe, 2017
        (arXiv:1702.03275), whose corrections `renorm_clipping` bounds by `rmin`, `rmax` and `dmax`.
        `virtual_batch_size`: as many parts of a batch, each with its own statistics. `adjustment`: of
        the batch's sizes, the scale and offset of a step that trains. Raises `ValueError` for an axis
        outside the rank, an unknown number of features, other keys of `renorm_clipping`, a
        `virtual_batch_size` below 1 and arguments that exclude each other.
        
    
    Makes a `BatchNormalization` and calls it with `inputs`."""
def average_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: str = 'valid', data_format: str = 'channels_last', name: str | None = None) -> Tensor:
    """The mean of each window along [batch, steps, channels]. Of floats; `pool_size`, `strides`:
        ints. Raises `ValueError` for another rank and windows of no size.
    
    Makes a `AveragePooling1D` and calls it with `inputs`."""
def average_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: str = 'valid', data_format: str = 'channels_last', name: str | None = None) -> Tensor:
    """The mean of each window of images [batch, height, width, channels]. Of floats; `pool_size`,
        `strides`: an int, or two. Raises `ValueError` for another rank and windows of no size.
    
    Makes a `AveragePooling2D` and calls it with `inputs`."""
def average_pooling3d(inputs: Any, pool_size: Any, strides: Any, padding: str = 'valid', data_format: str = 'channels_last', name: str | None = None) -> Tensor:
    """The mean of each window of volumes [batch, depth, height, width, channels]. Of floats;
        `pool_size`, `strides`: an int, or three. Raises `ValueError` for another rank and windows of no
        size.
    
    Makes a `AveragePooling3D` and calls it with `inputs`."""
def max_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: str = 'valid', data_format: str = 'channels_last', name: str | None = None) -> Tensor:
    """The largest element of each window along [batch, steps, channels]. Of real dtypes;
        `pool_size`, `strides`: ints. Raises `ValueError` for another rank and windows of no size.
    
    Makes a `MaxPooling1D` and calls it with `inputs`."""
def max_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: str = 'valid', data_format: str = 'channels_last', name: str | None = None) -> Tensor:
    """The largest element of each window of images [batch, height, width, channels]. Of real
        dtypes; `pool_size`, `strides`: an int, or two. Raises `ValueError` for another rank and windows
        of no size.
    
    Makes a `MaxPooling2D` and calls it with `inputs`."""
def max_pooling3d(inputs: Any, pool_size: Any, strides: Any, padding: str = 'valid', data_format: str = 'channels_last', name: str | None = None) -> Tensor:
    """The largest element of each window of volumes [batch, depth, height, width, channels]. Of
        real dtypes; `pool_size`, `strides`: an int, or three. Raises `ValueError` for another rank and
        windows of no size.
    
    Makes a `MaxPooling3D` and calls it with `inputs`."""
