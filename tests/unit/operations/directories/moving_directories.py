"""Brokers in memory that move replicas between directories, a little later; their caller can be killed at any call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.directories.execution import DirectoryTools
from kafka_py.operations.directories.model import ReplicaId
from kafka_py.operations.directories.plan_file import DirectoriesState, directories_text
from kafka_py.operations.rebalancing.carriers import BROKERS
from kafka_py.operations.rebalancing.progress import RunProgress
from kafka_py.testing.fakes.reassigning_cluster import RunKilled


class MovingDirectories:
    """Replicas in directories; a move is done after `polls` more looks.

    steps_left: so many calls from now RunKilled is raised; None for never. text: the state file. live: brokers that
    answer. refuses: replicas whose moves are refused, with the reasons. loses: how often moves end without a result.
    """

    def __init__(self, at: Mapping[ReplicaId, str], paths: Sequence[str], *, polls: int = 2, size: int = 100) -> None:
        self.at = dict(at)
        self.paths = list(paths)
        self.offline: set[tuple[int, str]] = set()
        self.live = {replica.broker for replica in at}
        self.brokers = frozenset(self.live)
        self.futures: dict[ReplicaId, str] = {}
        self.settings: dict[str, dict[str, str]] = {}
        self.steps_left: int | None = None
        self.text = ""
        self.calls: list[str] = []
        self.reports: list[RunProgress] = []
        self.now_s = 0.0
        self.most_moving = 0
        self.refuses: dict[ReplicaId, str] = {}
        self.loses: dict[ReplicaId, int] = {}
        self.stuck = False
        self.on_pause: Callable[[], object] = lambda: None
        self._polls, self._size = polls, size
        self._ages: dict[ReplicaId, int] = {}

    def _step(self, name: str) -> None:
        self.calls.append(name)
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise RunKilled

    def begin(self, replica: ReplicaId, path: str) -> None:
        """A move begins; one to where the replica is cancels the one that runs."""
        self.futures.pop(replica, None)
        if path != self.at[replica]:
            self.futures[replica], self._ages[replica] = path, 0

    # ---- the tools of a run

    async def look(self) -> ClusterSnapshot:
        self._step("look")
        for replica, path in list(self.futures.items()):
            self._ages[replica] += replica.broker in self.live
            if self._ages[replica] > self._polls and not self.stuck and replica.broker in self.live:
                del self.futures[replica]
                if self.loses.get(replica, 0) > 0:
                    self.loses[replica] -= 1
                else:
                    self.at[replica] = path
        log_dirs = {}
        for broker in sorted(self.live):
            found: dict[str, dict[TopicPartition, ReplicaInfo]] = {path: {} for path in self.paths}
            for places, is_future in ((self.at, False), (self.futures, True)):
                for replica, path in places.items():
                    if replica.broker == broker:
                        found[path][replica.partition] = ReplicaInfo(self._size, 0, is_future)
            log_dirs[broker] = {
                path: LogDirDescription(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), {})
                if (broker, path) in self.offline else LogDirDescription(None, replicas)
                for path, replicas in found.items()
            }  # fmt: skip
        nodes = {broker: Node(broker, "h", 1) for broker in sorted(self.live)}
        return ClusterSnapshot(0, cluster_id="c", nodes=nodes, log_dirs=log_dirs)

    async def move(self, targets: Mapping[ReplicaId, str]) -> dict[ReplicaId, str]:
        self._step("move")
        for replica, path in targets.items():
            if replica not in self.refuses and replica.broker in self.live:
                self.begin(replica, path)
        self.most_moving = max(self.most_moving, len(self.futures))
        self._step("moved")
        return {replica: reason for replica, reason in self.refuses.items() if replica in targets}

    async def overrides(self, kind: str, names: Sequence[str], settings: Sequence[str]) -> dict[str, dict[str, str]]:
        self._step("overrides")
        assert kind == BROKERS
        return {
            name: {key: value for key, value in self.settings.get(name, {}).items() if key in settings}
            for name in names
        }

    async def alter(self, kind: str, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        self._step("alter")
        assert kind == BROKERS
        for name, settings in changes.items():
            after = {**self.settings.get(name, {}), **settings}
            self.settings[name] = {key: value for key, value in after.items() if value is not None}
        self._step("altered")

    async def keep(self, state: DirectoriesState) -> None:
        self._step("keep")
        self.text = directories_text(state)
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
    def tools(self) -> DirectoryTools:
        """For a run; this is its clock as well."""
        return DirectoryTools(self, self.look, self.move, self.keep, self.pause, self, self.reports.append)

    def own_settings(self) -> dict[str, dict[str, str]]:
        """What brokers have of their own."""
        return {name: own for name, own in self.settings.items() if own}
