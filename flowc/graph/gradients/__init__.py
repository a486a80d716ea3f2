"""Gradients of graphs, as new operations under TensorFlow's names.

`walk` goes back from the ys to the xs; `registry` finds the gradient of an operation: a program's
own, one of this package (control flow, lists, functions), or that of the op's record (`operation`).
"""
