"""Convolutions of images and volumes with few outputs, or few inputs, without gathered patches.

A task is a block of output pixels, of several slices of a volume (`blocks.py`), and copies what
they see of the input, with zeros round the image (`planes.py`). `source.py` writes the kernel.

Few outputs: the copy is taken apart into planes, one for each channel and each phase of the
horizontal stride. There the pixels of a row that a tap sees are neighbours in memory, wherever the
row begins: vectors hold pixels, and weights are what is broadcast (`sums.py`).

Few inputs, or outputs of few panels: the rows of the copy are as they were. What a pixel sees of
one is a run, from which the tiles of matrix products read it, and the next pixel's run is at a
distance that is known.
"""
