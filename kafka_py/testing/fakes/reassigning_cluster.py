"""A cluster in memory that reassigns partitions as brokers do, a little later; its caller can be killed at any call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.rebalancing.carriers import BROKERS, TOPICS
from kafka_py.operations.rebalancing.plan_file import PlanState, state_text
from kafka_py.operations.rebalancing.progress import RunProgress
from kafka_py.operations.rebalancing.run_tools import RunTools


class RunKilled(Exception):
    """The process ends here, whatever it was doing."""


class ReassigningCluster:
    """Partitions with replicas; a reassignment is done after `polls` more questions.

    steps_left: so many calls from now RunKilled is raised; None for never. text: the state file. live: broker ids.
    refuses: partitions that are refused, with the reasons. stuck: no reassignment ever ends.
    late_looks: so many looks show replicas as they were before a cancellation.
    """

    def __init__(
        self, replicas: Mapping[TopicPartition, Sequence[int]], *, brokers: int = 4, polls: int = 2, size: int = 100
    ) -> None:
        self.can_cancel = True
        self.replicas = {partition: list(ids) for partition, ids in replicas.items()}
        self.leaders = {partition: ids[0] for partition, ids in replicas.items()}
        self.live = set(range(brokers))
        self.targets: dict[TopicPartition, list[int]] = {}
        self.settings: dict[str, dict[str, dict[str, str]]] = {TOPICS: {}, BROKERS: {}}
        self.steps_left: int | None = None
        self.text = ""
        self.calls: list[str] = []
        self.reports: list[RunProgress] = []
        self.now_s = 0.0
        self.most_running = 0
        self.refuses: dict[TopicPartition, str] = {}
        self.stuck = False
        self.on_pause: Callable[[], object] = lambda: None
        self._polls, self._size = polls, size
        self._ages: dict[TopicPartition, int] = {}
        self.late_looks = 0
        self._late: dict[TopicPartition, list[int]] = {}

    def _step(self, name: str) -> None:
        self.calls.append(name)
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise RunKilled

    def begin(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """A reassignment begins."""
        self.targets[partition], self._ages[partition] = list(replicas), 0

    # ---- the carrier

    async def running(self) -> dict[TopicPartition, tuple[int, ...]]:
        self._step("running")
        for partition, wanted in list(self.targets.items()):
            self._ages[partition] += 1
            if self._ages[partition] > self._polls and not self.stuck and set(wanted) <= self.live:
                self.replicas[partition] = self.targets.pop(partition)
                if self.leaders[partition] not in wanted:
                    self.leaders[partition] = wanted[0]
        return {partition: tuple(wanted) for partition, wanted in self.targets.items()}

    async def start(self, targets: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, str]:
        self._step("start")
        for partition, replicas in targets.items():
            if partition not in self.refuses:
                self.begin(partition, replicas)
        self.most_running = max(self.most_running, len(self.targets))
        self._step("started")
        return {partition: reason for partition, reason in self.refuses.items() if partition in targets}

    async def cancel(self, partitions: Collection[TopicPartition]) -> None:
        self._step("cancel")
        for partition in partitions:
            self._late[partition] = self._shown(partition)
            target = self.targets.pop(partition, [])
            # In the order of the target, as brokers leave them.
            self.replicas[partition].sort(key=lambda id_: target.index(id_) if id_ in target else len(target))

    async def overrides(self, kind: str, names: Sequence[str], settings: Sequence[str]) -> dict[str, dict[str, str]]:
        self._step("overrides")
        return {
            name: {key: value for key, value in self.settings[kind].get(name, {}).items() if key in settings}
            for name in names
        }

    async def alter(self, kind: str, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        self._step("alter")
        for name, settings in changes.items():
            after = {**self.settings[kind].get(name, {}), **settings}
            self.settings[kind][name] = {key: value for key, value in after.items() if value is not None}
        self._step("altered")

    async def elect(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        self._step("elect")
        for partition in partitions:
            self.leaders[partition] = self.replicas[partition][0]
        return {}

    def _shown(self, partition: TopicPartition) -> list[int]:
        """All replicas, as brokers name them: those of the target first, then those that are removed in the end."""
        target = self.targets.get(partition, [])
        return [*target, *(id_ for id_ in self.replicas[partition] if id_ not in target)]

    # ---- the other tools of a run

    async def look(self, parts: Collection[ViewPart]) -> ClusterSnapshot:
        self._step("look")
        topics: dict[str, list[PartitionInfo]] = {}
        stored: dict[int, dict[TopicPartition, ReplicaInfo]] = {id_: {} for id_ in self.live}
        self.late_looks -= 1
        if self.late_looks < 0:
            self._late.clear()
        for partition, held in sorted(self.replicas.items()):
            topic, number = partition
            ids = self._late.get(partition) or self._shown(partition)
            in_sync = tuple(id_ for id_ in ids if id_ in self.live and id_ in held)
            topics.setdefault(topic, []).append(
                PartitionInfo(topic, number, self.leaders[partition], 1, tuple(ids), in_sync, (), ErrorCode.NONE)
            )
            for id_ in in_sync:
                stored[id_][partition] = ReplicaInfo(self._size, 0, False)
        return ClusterSnapshot(
            0, cluster_id="c", controller_id=min(self.live),
            nodes={id_: Node(id_, "h", 1) for id_ in sorted(self.live)},
            topics={
                name: TopicInfo(name, ZERO_UUID, False, tuple(rows), ErrorCode.NONE) for name, rows in topics.items()
            },
            log_dirs={id_: {"/d": LogDirDescription(None, replicas)} for id_, replicas in stored.items()},
        )  # fmt: skip

    async def keep(self, state: PlanState) -> None:
        self._step("keep")
        self.text = state_text(state)
        self._step("kept")

    async def pause(self, seconds: float) -> None:
        self.now_s += seconds
        self.on_pause()

    def wall_ms(self) -> int:
        return int(self.now_s * 1000)

    def monotonic_ms(self) -> float:
        return self.now_s * 1000

    def monotonic_s(self) -> float:
        return self.now_s

    @property
    def tools(self) -> RunTools:
        """For a run; the cluster is its clock as well."""
        return RunTools(self, self.look, self.keep, self.pause, self, self.reports.append)

    def own_settings(self) -> dict[str, dict[str, dict[str, str]]]:
        """What topics and brokers have of their own."""
        return {kind: {name: own for name, own in each.items() if own} for kind, each in self.settings.items()}
