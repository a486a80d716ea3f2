"""The text form of a Computation: printed by `str`, read back by `parse_computation`.

    computation(%x: f32[batch,4]) {
      %w = const {value=weights<0>} : f32[4,2]  # dense/kernel
      %MatMul = mat_mul(%x, %w) : f32[batch,2]  # dense/MatMul
      return %MatMul
    }

Values have the names of the TensorFlow nodes behind them, as far as these tell them apart; what
such a node was made of is numbered. Small constants and sizes stand where they are read: whole
numbers are i32, decimals f32, others say what they are (`[0, 1]:i64`); `n` is a size as a scalar,
`[n, 4]` a shape.

Loops and conditionals say what their bodies see: a loop what it carries, with what that starts as,
and behind `;` what it only reads. Bodies stand below, those of one node in one line:

      %i, %v = while(%i = 0, %v = %x; %limit) : i32[], f32[4]
        condition: less(%i, %limit) : bool[]
        body {
          %v.next = exp(%v) : f32[4]
          %i.next = add(%i, 1) : i32[]
          return %i.next, %v.next
        }
      %y = if(%flag, %v) : f32[4]
        then: neg(%v) : f32[4]
        otherwise: %v

In a loop's body, what the next iteration takes is called so; what a loop gives has the names of
what it carries. A parameter of a body whose type is not that of its operand says its own:
`%v: f32[n] = %x`. Bodies of other nodes name their parameters themselves, as those of loops and
conditionals may. Names are known inside their body only. `@0` names a node without outputs that
others are ordered after. Attrs leave out defaults and what the types of the outputs say: their
dtypes, the type of a constant.

Constants of more than 16 elements, and those whose decimals do not give the same bits back, stand
as `weights<i>`; the parser takes them from a list. The exact form numbers all values, and every
constant has a line: its text and weights are equal for equal Computations only, which the cache
relies on. The form for reading tells no constants of equal elements apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flowc.ir.computation import Computation
from flowc.ir.text.parsing import TextParser
from flowc.ir.text.printing import Printer, numbered, weights_of
from flowc.ir.text.value_names import names_of_sizes

__all__ = ["parse_computation", "print_computation", "weights_of"]


def print_computation(
    c: Computation,
    weight_name: Callable[[np.ndarray], str] | None = None,
    exact: bool = False,
) -> str:
    """The text of a Computation. `weight_name` names large constants (default: numbered)."""
    printer = Printer(weight_name or numbered(weights_of(c)), names_of_sizes(c), exact)
    return "\n".join(printer.computation(c, "", "computation"))


def parse_computation(text: str, weights: Sequence[np.ndarray] = ()) -> Computation:
    """Reads what `print_computation` printed; `weights` are those of `weights_of`.

    Raises `ValueError` with the line that could not be read. Types are taken as written: run the
    verifier to check them.
    """
    return TextParser(text, weights).run()
