"""`tf.profiler.ProfileOptionBuilder`: what a report of a graph shows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

_EVERYTHING = (".*",)
_DEFAULTS: dict[str, Any] = {
    "max_depth": 100,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": ["micros"],
    "step": -1,
    "output": "stdout",
}


class ProfileOptionBuilder:
    """Makes the `options` of `tf.profiler.profile`: a dict. Each method returns the builder, and
    `build` the dict; three static methods return the dicts that most programs want. Raises nothing
    by itself: `profile` raises for options that it does not know."""

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options = copy.deepcopy(_DEFAULTS if options is None else options)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """How many numbers each trainable variable has."""
        more = {"account_type_regexes": ["_trainable_variables"], "select": ["params"]}
        return {**copy.deepcopy(_DEFAULTS), **more, **_WHOLE}

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """How many floating point operations each operation takes, of those that say it."""
        more = {"min_float_ops": 1, "select": ["float_ops"], "order_by": "float_ops"}
        return {**copy.deepcopy(_DEFAULTS), **more, **_WHOLE}

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Times and bytes of a run whose RunMetadata is given, of at least these."""
        builder = ProfileOptionBuilder({**copy.deepcopy(_DEFAULTS), **_WHOLE})
        builder.with_min_execution_time(min_micros, min_accelerator_micros, min_cpu_micros)
        builder.with_min_memory(min_bytes, min_peak_bytes, min_residual_bytes, min_output_bytes)
        return builder.select(["micros", "bytes"]).order_by("micros").build()

    def build(self) -> dict[str, Any]:
        """The options. The builder may go on."""
        return copy.deepcopy(self._options)

    def _with(self, **changes: Any) -> ProfileOptionBuilder:
        self._options.update(changes)
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Nothing that stands deeper is shown; its numbers are in those above."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> ProfileOptionBuilder:
        """Only nodes of at least so many bytes."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Only nodes that took at least so many microseconds."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Only nodes with at least so many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """In the op view: only types of at least so many nodes."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Only nodes of at least so many floating point operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """What is counted: operations whose type, or `_trainable_variables`, matches one."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> ProfileOptionBuilder:
        """By their names: where the view begins, what is shown, what is not, and below what nothing
        is."""
        return self._with(
            start_name_regexes=list(start_name_regexes or _EVERYTHING),
            show_name_regexes=list(show_name_regexes or _EVERYTHING),
            hide_name_regexes=list(hide_name_regexes or ()),
            trim_name_regexes=list(trim_name_regexes or ()),
        )

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Whether totals are those of what is shown."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Nothing is printed."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """The report is printed."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """The report is written to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Of a `Profiler`: the step whose run is shown; -1 for the mean of all."""
        return self._with(step=step)

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """One of name, depth, bytes, peak_bytes, residual_bytes, output_bytes, micros,
        accelerator_micros, cpu_micros, params, float_ops, occurrence."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """What the report shows of a node: the words of `order_by`."""
        return self._with(select=list(attributes))


_WHOLE = {"max_depth": 10000, "account_displayed_op_only": True}
