"""One look for a page: what could not be seen is said, and a cluster that is down is no empty one."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.metadata import Node
from kafka_py.manager.pages import looks
from kafka_py.manager.pages.looks import problems_of, seen, wait_settled
from kafka_py.manager.pages.security.partial import or_problem
from kafka_py.manager.web.answers import ProblemRow
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, UnseenPart, ViewPart

DOWN = UnseenPart(None, None, "", ErrorCode.NETWORK_EXCEPTION, "connection refused")
LATE = UnseenPart(ViewPart.LOG_DIRS, 3, "t-0", ErrorCode.REQUEST_TIMED_OUT, "")


def looking(monkeypatch: pytest.MonkeyPatch, snapshot: ClusterSnapshot) -> ClusterSnapshot:
    async def look(*_: Any, **__: Any) -> ClusterSnapshot:
        return snapshot

    monkeypatch.setattr(looks, "look_at", look)
    return asyncio.run(seen(SimpleNamespace(admin=None), ViewPart.TOPICS))  # type: ignore[arg-type]


def test_a_cluster_that_does_not_answer_is_an_error_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for unseen, why in (((LATE, DOWN), "connection refused"), ((), "no broker answers")):
        with pytest.raises(KafkaError) as raised:
            looking(monkeypatch, ClusterSnapshot(0, unseen=unseen))
        assert raised.value.code is ErrorCode.NETWORK_EXCEPTION and why in raised.value.message


def test_one_that_answers_in_part_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = ClusterSnapshot(0, nodes={1: Node(1, "a", 1)}, unseen=(LATE,))
    assert looking(monkeypatch, snapshot) is snapshot


def test_what_could_not_be_seen_names_the_part_the_broker_and_the_error() -> None:
    rows = problems_of(ClusterSnapshot(0, unseen=(DOWN, LATE, *[LATE] * 50)))
    assert rows[0] == ProblemRow("metadata", "NETWORK_EXCEPTION: connection refused")
    assert rows[1] == ProblemRow("log dirs of broker 3", "t-0 REQUEST_TIMED_OUT:")
    assert len(rows) == 20


class SettlingCluster(SimpleNamespace):
    """Two brokers that know the partitions of a topic one after the other. asked: how often they were."""

    def __init__(self, *answers: tuple[int, int], failure: Exception | None = None) -> None:
        super().__init__(answers=list(answers), failure=failure, asked=0)
        self.admin = self.cluster = self

    async def describe_cluster(self) -> SimpleNamespace:
        if self.failure is not None:
            raise self.failure
        return SimpleNamespace(nodes=[SimpleNamespace(id=0), SimpleNamespace(id=1)])

    async def know(self, _broker: int) -> None: ...

    async def send(self, broker: int, _request: object) -> SimpleNamespace:
        count = self.answers[min(self.asked // 2, len(self.answers) - 1)][broker]
        self.asked += 1
        # A partition without a leader is not known yet.
        partitions = [SimpleNamespace(leader_id=1)] * count + [SimpleNamespace(leader_id=-1)]
        return SimpleNamespace(topics=[SimpleNamespace(partitions=partitions)])


def test_a_change_is_waited_for_on_every_broker_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "SETTLING_PAUSE_S", 0)
    slow = SettlingCluster((0, 2), (2, 0), (2, 2))
    asyncio.run(wait_settled(slow, "t", 2))  # type: ignore[arg-type]
    assert slow.asked == 6
    never = SettlingCluster((0, 0))
    asyncio.run(wait_settled(never, "t", 2))  # type: ignore[arg-type]
    assert never.asked == 2 * looks.SETTLING_ROUNDS
    asyncio.run(wait_settled(SettlingCluster(failure=OSError("down")), "t", 2))  # type: ignore[arg-type]


def test_a_part_that_is_refused_is_a_problem_and_a_cluster_that_is_down_an_error() -> None:
    async def asked(code: ErrorCode | None) -> str:
        if code is not None:
            raise KafkaError(code, "no")
        return "found"

    problems: list[ProblemRow] = []
    assert asyncio.run(or_problem("users", asked(None), "none", problems)) == "found" and not problems
    assert asyncio.run(or_problem("users", asked(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), "none", problems)) == "none"
    assert [row.what for row in problems] == ["users"]
    for code in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT):
        with pytest.raises(KafkaError):
            asyncio.run(or_problem("users", asked(code), "none", problems))
