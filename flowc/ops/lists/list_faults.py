"""What the faults of lists say, in TensorFlow's words.

In: the name of a TensorArray, "" for other lists; the rank of an index. Out: messages with places
for numbers: `{value}` and `{extent}` for an index and the length that it exceeds, `{a}` and its
like as native kernels fill them in.
"""

from __future__ import annotations

FULL = "Tried to push item into a full list list size: {a} max_num_elements: {b}"
MODIFY = "Trying to modify element {value} in a list with {extent} elements."
ACCESS = "Trying to access element {value} in a list with {extent} elements."


def escaped(name: str) -> str:
    """A name with its braces doubled, for a message that is formatted with numbers."""
    return name.replace("{", "{{").replace("}", "}}")


def numbered(message: str) -> str:
    """A message of an index and its limit as kernels have it."""
    return message.format(value="{a}", extent="{b}")


def outside_array(name: str, rank: int) -> str:
    """What TensorFlow says of a write outside of a TensorArray, at an index or a vector of them."""
    if rank:
        return "Max scatter index must be < array size ({value} vs. {extent})"
    return (
        f"TensorArray {name}: Tried to write to index {{value}} but array is not resizeable and"
        " size is: {extent}"
    )


def set_fault(message: str, array: str, rank: int) -> str:
    """The message for an element set outside of a list: the op's own `message`, if any."""
    return message or (outside_array(array, rank) if array else MODIFY)


def get_fault(message: str, array: str) -> str:
    """The message for an element read outside of a list: the op's own `message`, if any."""
    read = "Tried to read from index {value} but array size is: {extent}"
    return message or (read if array else ACCESS)


def unequal_sizes(array: str = "") -> str:
    """What is wrong with an element that has more or fewer numbers than those of a list, or of the
    TensorArray named."""
    if not array:
        return (
            "Tried to set a tensor with incompatible shape to a list: it has {a} numbers, and the"
            " elements of the list have {b}"
        )
    return (
        f"TensorArray {array}: Could not write to TensorArray index {{c}} because the value has"
        " {a} numbers, which is incompatible with the TensorArray's inferred element shape, of {b}"
        " (consider setting infer_shape=False)."
    )
