"""Native kernels: nopython functions that records name.

The ABI is that of `flowc.ir.lowering.Native`: typed pointers of inputs and outputs, then sizes,
scratch and status where the lowering asks for them, int64 arguments, and the range `begin, end`.
"""
