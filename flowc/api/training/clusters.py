"""Clusters of machines, as far as one process needs them: names of tasks, and devices for them.

In: jobs and the addresses of their tasks. Out: what places operations. Invariant: nothing here
reaches another machine; flowc runs in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any

from flowc.graph import Operation
from flowc.graph.device import DeviceSpec

_VARIABLE_OPS = """
AutoReloadVariable BoostedTreesEnsembleResourceHandleOp BoostedTreesQuantileStreamResourceHandleOp
DecisionTreeResource MutableDenseHashTable MutableDenseHashTableV2 MutableHashTable
MutableHashTableOfTensors MutableHashTableOfTensorsV2 MutableHashTableV2
ResourceConditionalAccumulator VarHandleOp Variable VariableV2
"""


class ClusterSpec:
    """The addresses of tasks, by jobs: `{"ps": ["a:1"], "worker": ["b:1", "c:1"]}`; a job may also
    be a mapping of numbers of tasks to addresses. Raises `TypeError` for anything else."""

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._jobs
        if not isinstance(cluster, Mapping):
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                f"addresses, or a `ClusterDef` protocol buffer. Received: {cluster!r}"
            )
        self._jobs: dict[str, dict[int, str]] = {}
        for job, tasks in cluster.items():
            if not isinstance(tasks, Mapping):
                if isinstance(tasks, str) or not isinstance(tasks, Sequence):
                    raise TypeError(
                        f"The tasks for job {job!r} must be a list of addresses or a dictionary "
                        f"from integers to addresses. Received: {tasks!r}"
                    )
                tasks = dict(enumerate(tasks))
            for task, address in tasks.items():
                if not isinstance(task, int) or not isinstance(address, str):
                    raise TypeError(
                        f"Task address must be bytes or unicode. Job: {job}. Task {task}: "
                        f"{address!r}"
                    )
            self._jobs[job] = dict(sorted(tasks.items()))

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(repr(self._jobs))

    def __repr__(self) -> str:
        inner = ", ".join(f"{job!r}: {self.as_dict()[job]!r}" for job in self.jobs)
        return f"ClusterSpec({{{inner}}})"

    def as_dict(self) -> dict[str, Any]:
        """A list of addresses for each job whose tasks are numbered without gaps, else a dict."""
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs, sorted."""
        return sorted(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has. Raises `ValueError` for another job."""
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks. Raises `ValueError` for another job."""
        return list(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Raises `ValueError` for a job or task that is not there."""
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job, None where a number has no task. Raises `ValueError` for another
        job."""
        tasks = self._tasks(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def _tasks(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise ValueError(f"No such job in cluster: {job!r}")
        return self._jobs[job]


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Operation], str] | None:
    """A function for `tf.device`, which puts variables on the tasks of `ps_device` in turn (or as
    `ps_strategy` says) and everything else on `worker_device`; None without such tasks.

    `cluster`: a `ClusterSpec`, which says how many there are. `ps_ops`: types of operations that
    count as variables. Without `merge_devices`, operations that have a device keep it. Raises
    `TypeError` for another `cluster` and a strategy that is no function.
    """
    if cluster is not None:
        tasks = ClusterSpec(cluster)
        job = DeviceSpec.from_string(ps_device).job
        ps_tasks = tasks.num_tasks(job) if job in tasks.jobs else 0
    if not ps_tasks:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    turns = cycle(range(ps_tasks))
    held = frozenset(_VARIABLE_OPS.split() if ps_ops is None else ps_ops)

    def device_of(op: Operation) -> str:
        if not merge_devices and op.device:
            return op.device
        stated = DeviceSpec.from_string(op.device or "")
        if op.type not in held or not ps_device:
            return DeviceSpec.from_string(worker_device or "").make_merged_spec(stated).to_string()
        spec = DeviceSpec.from_string(ps_device)
        if spec.job and stated.job in (None, spec.job):
            task = next(turns) if ps_strategy is None else ps_strategy(op)
            spec = spec.replace(task=task)
        return spec.make_merged_spec(stated).to_string()

    return device_of


def basic_train_loop(
    supervisor: Any,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls `train_step_fn(session, *args, **kwargs)` until `supervisor.should_stop()`, in the
    session of `supervisor.managed_session(master)`. Raises what the function and the supervisor
    raise."""
    with supervisor.managed_session(master) as session:
        while not supervisor.should_stop():
            train_step_fn(session, *(args or ()), **(kwargs or {}))
