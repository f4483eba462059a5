"""The steps of a replacement, over a cluster of which only nodes and in-sync sets are kept."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.replacement import replacement as module
from kafka_py.operations.replacement.plan_file import BrokerCommands, MakeCommands, ReplacementRefused
from kafka_py.operations.replacement.progress import ReplacementProgress, directed
from kafka_py.operations.replacement.replacement import Interrupted, Replacement, ReplacementTools

APACHE, OURS = "apache", "kafka_py"
TIMEOUT_S = 20.0


class ReplacedCluster(Replacement):
    """What runs where. Commands take effect at once; every look takes a second. codes: exit codes of commands."""

    def __init__(self, *ids: int) -> None:
        self.running: dict[int, str] = dict.fromkeys(ids, APACHE)
        self.lagging: set[int] = set()
        self.moving: list[TopicPartition] = []
        self.ran: list[str] = []
        self.kept: list[ReplacementProgress] = []
        self.codes: dict[str, int] = {}
        self.unreached = 0
        self.before_looks: list[Callable[[], object]] = []
        self.is_interrupted = False
        self.now_s = 0.0
        self._former: ClusterSnapshot | None = None
        self._hidden = 0
        tools = ReplacementTools(
            lambda _line: None, self._command, self._keep, lambda: self.is_interrupted, lambda: self.now_s
        )
        plan = [
            BrokerCommands(each, {make: MakeCommands(f"stop {make} {each}", f"start {make} {each}")
                                  for make in (APACHE, OURS)})
            for each in ids
        ]  # fmt: skip
        super().__init__(self, plan, tools, TIMEOUT_S)  # type: ignore[arg-type]

    async def list_partition_reassignments(self) -> list[TopicPartition]:
        return self.moving

    def _snapshot(self) -> ClusterSnapshot:
        ids = tuple(self._plan)
        isr = tuple(each for each in ids if each in self.running and each not in self.lagging)
        partition = PartitionInfo("t", 0, isr[0] if isr else -1, 1, ids, isr, ())
        nodes = {each: Node(each, "a", 9092) for each in sorted(self.running)}
        return ClusterSnapshot(
            0, controller_id=min(nodes, default=-1), nodes=nodes,
            topics={"t": TopicInfo("t", uuid.UUID(int=1), False, (partition,))},
        )  # fmt: skip

    async def seen(self) -> ClusterSnapshot:
        self.now_s += 1
        if self.before_looks:
            self.before_looks.pop(0)()
        if self.unreached:
            self.unreached -= 1
            return ClusterSnapshot(0)
        if self._former is not None and self._hidden:
            self._hidden -= 1
            return self._former
        return self._snapshot()

    async def _command(self, command: str) -> int:
        self.ran.append(command)
        what, make, number = command.split()
        code = self.codes.get(command, 0)
        if not code and what == "stop":
            assert len(self.running) == len(self._plan) or int(number) not in self.running, "two would be down"
            self._former, self._hidden = self._snapshot(), 0
            self.running.pop(int(number), None)
        if not code and what == "start":
            assert int(number) not in self.running, "two brokers would have one id"
            self.running[int(number)] = make
        return code

    def _keep(self, progress: ReplacementProgress) -> None:
        self.kept.append(replace(progress, makes=dict(progress.makes)))


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0)


def after(looks: int, happens: Callable[[], object]) -> list[Callable[[], object]]:
    """What comes before each look."""
    return [*([_nothing] * looks), happens]


def _nothing() -> None:
    pass


def go(cluster: ReplacedCluster, to: str = OURS) -> None:
    stored = cluster.kept[-1] if cluster.kept else None
    asyncio.run(cluster.run(directed(stored, to, cluster.running | dict.fromkeys(cluster._plan))))


def test_all_become_the_other_make_one_by_one() -> None:
    cluster = ReplacedCluster(0, 1)
    go(cluster)
    assert cluster.running == {0: OURS, 1: OURS}
    assert cluster.ran == ["stop apache 1", "start kafka_py 1", "stop apache 0", "start kafka_py 0"]
    assert cluster.kept[-1] == ReplacementProgress(OURS, {0: OURS, 1: OURS})
    go(cluster, APACHE)
    assert cluster.running == {0: APACHE, 1: APACHE}


def test_a_stop_that_failed_is_repeated_only_while_all_is_in_order() -> None:
    """Between the two commands another broker has fallen behind."""
    cluster = ReplacedCluster(0, 1)
    cluster.codes["stop apache 1"] = 1
    with pytest.raises(ReplacementRefused, match="broker 1 is still registered: nothing was started"):
        go(cluster)
    cluster.codes.clear()
    cluster.lagging = {0}
    with pytest.raises(ReplacementRefused, match="not stopped, but after 20 s: not in sync: t-0"):
        go(cluster)
    assert cluster.running == {0: APACHE, 1: APACHE}
    cluster.lagging = set()
    go(cluster)
    assert cluster.running == {0: OURS, 1: OURS}


def test_a_broker_whose_stop_was_not_noted_is_started() -> None:
    """Killed, or interrupted, after the stop command and before the note of it."""
    for to in (OURS, APACHE):
        cluster = ReplacedCluster(0, 1)
        cluster.kept.append(ReplacementProgress(OURS, {0: APACHE, 1: APACHE}, 1))
        del cluster.running[1]
        go(cluster, to)
        assert cluster.running == {0: to, 1: to}


def test_it_goes_back_whatever_the_new_make_has_done_to_the_others() -> None:
    """The new broker leads, and none can follow it: to stop it is the remedy."""
    cluster = ReplacedCluster(0, 1)
    cluster.lagging = {0}
    cluster.before_looks = [*after(1, cluster.lagging.clear), *after(1, lambda: cluster.lagging.add(0))]
    with pytest.raises(ReplacementRefused, match="or with --to apache to go back"):
        go(cluster)
    assert cluster.running == {0: APACHE, 1: OURS}
    cluster.codes["stop kafka_py 1"] = 1
    for _ in range(2):  # the first time its stop fails
        with pytest.raises(ReplacementRefused):
            go(cluster, APACHE)
        cluster.codes.clear()
    assert cluster.running == {0: APACHE, 1: APACHE}
    cluster.lagging = set()
    go(cluster, APACHE)
    assert cluster.kept[-1] == ReplacementProgress(APACHE, {0: APACHE, 1: APACHE})


def test_a_broker_that_still_lists_the_stopped_one_does_not_hide_that_it_is_to_be_started() -> None:
    """Brokers learn of it one after the other, and each look asks any of them."""
    cluster = ReplacedCluster(0, 1)

    def stale() -> None:
        cluster._hidden = 1

    cluster.before_looks = after(3, stale)
    go(cluster)
    assert cluster.running == {0: OURS, 1: OURS}


def test_that_no_broker_answers_does_not_mean_that_one_has_ended() -> None:
    cluster = ReplacedCluster(0, 1)
    cluster.codes["stop apache 1"] = 1
    cluster.before_looks = after(2, lambda: setattr(cluster, "unreached", 1))
    with pytest.raises(ReplacementRefused, match="no broker answers whether 1 is still registered"):
        go(cluster)
    assert cluster.ran == ["stop apache 1"]


def test_a_broker_that_nobody_stopped_is_missed() -> None:
    """It has ended by itself: whoever runs it has to look first."""
    cluster = ReplacedCluster(0, 1)
    del cluster.running[1]
    with pytest.raises(ReplacementRefused, match="not stopped, but after 20 s: broker 1 is not there"):
        go(cluster)
    assert cluster.ran == []


def test_the_only_broker_is_gone_when_none_answers() -> None:
    cluster = ReplacedCluster(0)
    go(cluster)
    assert cluster.running == {0: OURS}


def test_a_broker_that_ended_again_after_its_start_is_started_again() -> None:
    cluster = ReplacedCluster(0)
    cluster.before_looks = after(3, cluster.running.clear)
    with pytest.raises(ReplacementRefused, match="kafka_py started, but after 20 s"):
        go(cluster)
    go(cluster)
    assert cluster.ran == ["stop apache 0", "start kafka_py 0", "start kafka_py 0"]
    assert cluster.running == {0: OURS}


def test_nothing_is_stopped_while_replicas_move() -> None:
    cluster = ReplacedCluster(0, 1)
    cluster.before_looks = after(4, lambda: cluster.moving.append(TopicPartition("t", 0)))
    with pytest.raises(ReplacementRefused, match=r"\[2/2\] broker 0: not stopped.*being reassigned: t-0"):
        go(cluster)
    assert cluster.running == {0: APACHE, 1: OURS}


def test_interrupted_after_any_look_it_is_continued_or_turned_round() -> None:
    for looks in range(10):
        for to in (OURS, APACHE):
            cluster = ReplacedCluster(0, 1, 2)
            cluster.before_looks = after(looks, partial(setattr, cluster, "is_interrupted", True))
            with pytest.raises(Interrupted):
                go(cluster)
            cluster.is_interrupted = False
            go(cluster, to)
            assert set(cluster.running.values()) == {to}
            assert cluster.kept[-1] == ReplacementProgress(to, dict.fromkeys((0, 1, 2), to))


@pytest.mark.parametrize("to", [OURS, APACHE])
def test_killed_after_any_note_it_is_continued_or_turned_round(to: str) -> None:
    """What was noted last against what runs: as it was at that note, or after the command that followed."""
    whole = ReplacedCluster(0, 1)
    states: list[tuple[ReplacementProgress, dict[int, str]]] = []
    keep, command = whole._keep, whole._command

    def noting(progress: ReplacementProgress) -> None:
        keep(progress)
        states.append((whole.kept[-1], dict(whole.running)))

    async def running(line: str) -> int:
        code = await command(line)
        states.append((whole.kept[-1], dict(whole.running)))
        return code

    whole._tools = whole._tools._replace(keep=noting, run=running)
    go(whole)
    assert len(states) > 10
    for kept, runs in states:
        cluster = ReplacedCluster(0, 1)
        cluster.kept, cluster.running = [kept], dict(runs)
        go(cluster, to)
        assert set(cluster.running.values()) == {to}
