"""Convolutions with few outputs: vectors hold pixels, and weights are what is broadcast.

A task is a block of output pixels (`blocks.py`). It takes what they see of the input apart into
planes, one for each channel and each phase of the horizontal stride, with zeros round the image
(`planes.py`): there the pixels of a row that a tap sees are neighbours in memory, wherever the row
begins. `sums.py` adds them up, `source.py` writes the kernel.
"""
