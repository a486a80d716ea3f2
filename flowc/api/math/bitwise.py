"""`tf.bitwise`."""

from __future__ import annotations

from flowc.api.math.elementwise import binary, unary

bitwise_and = binary("BitwiseAnd")
bitwise_or = binary("BitwiseOr")
bitwise_xor = binary("BitwiseXor")
invert = unary("Invert")
left_shift = binary("LeftShift")
right_shift = binary("RightShift")
