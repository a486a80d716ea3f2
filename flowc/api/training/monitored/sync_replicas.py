"""`tf.train.SyncReplicasOptimizer`: one update from the gradients of several replicas.

In: an optimizer, and how many gradients make an update. Out: an operation that hands in a
replica's gradients and waits for a token; a queue runner, which only the chief has, takes the means
of the gradients, applies them and hands out tokens. Invariant: a gradient of an earlier step is
dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowc.api.arrays.filling import fill
from flowc.api.framework import logging
from flowc.api.framework.scopes import control_dependencies, device, group, name_scope, no_op
from flowc.api.inputs.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from flowc.api.inputs.queue_runner import QueueRunner
from flowc.api.inputs.queues import FIFOQueue
from flowc.api.training.monitored.session_preparation import missing_from
from flowc.api.training.monitored.session_run_hook import SessionRunHook
from flowc.api.training.moving_averages import ExponentialMovingAverage
from flowc.api.training.optimizer import GradsAndVars, Optimizer
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.variable_ops import (
    assign,
    global_variables,
    report_uninitialized_variables,
)
from flowc.api.variables.variables import Variable
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices


class SyncReplicasOptimizer(Optimizer):
    """Applies the mean of `replicas_to_aggregate` gradients by `opt`. `total_num_replicas`: how
    many replicas hand gradients in (default: as many). `variable_averages`,
    `variables_to_average`: a moving average that is kept behind each update. Sessions need
    `make_session_run_hook`. Raises `ValueError` without a name."""

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None,
        variables_to_average: Iterable[Any] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        super().__init__(use_locking, name)
        logging.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s",
            replicas_to_aggregate,
            total_num_replicas,
        )
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total_num_replicas
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False
        self._accumulators: list[tuple[Any, str]] = []  # each with its device

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        """As the optimizer inside computes them. Raises as it does."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """What a replica runs: hands the gradients in, and waits for a token of the next step.
        Raises `ValueError` for no gradients, gradients that are none, and without a
        `global_step`."""
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        anchor = no_op()
        with anchor.graph.colocate_with(anchor):
            self._local_step = Variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(self._local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name):
            handed_in, pairs = self._aggregated(grads_and_vars)
            with device(global_step.device), name_scope(""):
                update = self._opt.apply_gradients(pairs, global_step)
                train_op = self._synchronized(handed_in, update)
            self.chief_init_op = group(self.local_step_init_op, *self._steps_set())
        self._gradients_applied = True
        return train_op

    def _aggregated(self, pairs: Iterable[tuple[Any, Any]]) -> tuple[list[Operation], GradsAndVars]:
        """The operations that hand gradients in, and the means of what was handed in."""
        handed_in: list[Operation] = []
        means: GradsAndVars = []
        for gradient, variable in pairs:
            if gradient is None:
                means.append((None, variable))
                continue
            shared = f"{variable.name}/grad_accum"
            with device(variable.device):
                if isinstance(gradient, Tensor):
                    dense = ConditionalAccumulator(gradient.dtype, variable.get_shape(), shared)
                    handed_in.append(dense.apply_grad(gradient, local_step=self._local_step))
                    mean: Any = dense.take_grad(self._replicas_to_aggregate)
                    self._accumulators.append((dense, variable.device))
                elif isinstance(gradient, IndexedSlices):
                    rows = SparseConditionalAccumulator(gradient.dtype, (), shared)
                    step = self._local_step
                    handed_in.append(rows.apply_indexed_slices_grad(gradient, local_step=step))
                    mean = rows.take_indexed_slices_grad(self._replicas_to_aggregate)
                    self._accumulators.append((rows, variable.device))
                else:
                    raise ValueError("Unknown grad type!")
            means.append((mean, variable))
        return handed_in, means

    def _synchronized(self, handed_in: list[Operation], update: Operation) -> Any:
        """Waits for a token behind `handed_in`; the chief's runner hands them out behind
        `update`."""
        step = self._global_step
        queue = self._token_queue = FIFOQueue(
            -1, step.dtype.base_dtype, shapes=(), name="sync_token_q", shared_name="sync_token_q"
        )
        with control_dependencies(handed_in):
            token = queue.dequeue()
        train_op = assign(self._local_step, token)
        with control_dependencies([update]):
            tokens = fill([self._tokens_per_step], step)
            handed_out = queue.enqueue_many((tokens,))
        if self._variable_averages is not None:
            with control_dependencies([handed_out]):
                handed_out = self._variable_averages.apply(self._variables_to_average)
        self._chief_queue_runner = QueueRunner(queue, [handed_out])
        return train_op

    def _steps_set(self) -> list[Operation]:
        found: list[Operation] = []
        for accumulator, where in self._accumulators:
            with device(where):
                found.append(accumulator.set_global_step(self._global_step, name="SetGlobalStep"))
        return found

    def get_chief_queue_runner(self) -> QueueRunner:
        """The runner that applies the means and hands out tokens. Raises `ValueError` before
        `apply_gradients`."""
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Hands out the tokens of the first step (default: as many as gradients make an update).
        Raises `ValueError` before `apply_gradients` and for too few tokens."""
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope(""):
            return self._token_queue.enqueue_many((fill([num_tokens], self._global_step),))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """The hook that a session needs: sets the steps, and for the chief hands out the first
        tokens and starts the runner. Its `begin` raises `ValueError` before `apply_gradients`."""
        return _SyncReplicasHook(self, is_chief, num_tokens)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Variable]:
        return self._opt.variables()


class _SyncReplicasHook(SessionRunHook):
    """Prepares each session for a `SyncReplicasOptimizer`."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        optimizer = self._optimizer
        if not optimizer._gradients_applied:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._local_init_op: Any = optimizer.local_step_init_op
        self._runner: QueueRunner | None = None
        self._init_tokens_op: Operation | None = None
        if self._is_chief:
            self._local_init_op = optimizer.chief_init_op
            self._runner = optimizer.get_chief_queue_runner()
            self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens)

    def after_create_session(self, session: Any, coord: Any) -> None:
        missing = missing_from(self._optimizer.ready_for_local_init_op, session)
        if missing is not None:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._local_init_op.name}, error: {missing}"
            )
        session.run(self._local_init_op)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._runner is not None:
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)
