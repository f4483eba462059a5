"""Finding a group's coordinator, and noticing that it has moved."""

import asyncio
from typing import Any, cast

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.coordinator import FIRST_ID, Coordinator
from kafka_py.clients.metadata import Node
from kafka_py.wire.messages.find_coordinator import FindCoordinatorResponse
from kafka_py.wire.messages.heartbeat import HeartbeatRequest

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


class FakeCluster:
    """Answers FindCoordinator with a node id or an error, and other requests with `reply`."""

    def __init__(self, *answers: int | KafkaError | ErrorCode) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.reply: Any = "fine"
        self.hung_up: list[int] = []

    async def send_any(self, request: Any) -> FindCoordinatorResponse:
        await asyncio.sleep(0)
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, KafkaError):
            raise answer
        if isinstance(answer, ErrorCode):
            return FindCoordinatorResponse(error_code=answer, error_message="no", node_id=-1, host="", port=-1)
        return FindCoordinatorResponse(error_code=0, node_id=answer, host="host", port=9092)

    async def send_apart(self, node: Node, request: Any, *, timeout_ms: float | None = None) -> Any:
        await asyncio.sleep(0)
        if isinstance(self.reply, KafkaError):
            raise self.reply
        return (node.id, self.reply)

    def hang_up(self, node_id: int) -> None:
        self.hung_up.append(node_id)


def coordinator(cluster: FakeCluster) -> Coordinator:
    return Coordinator(cast(Cluster, cluster), "g")


def test_it_is_asked_for_once_however_many_wait() -> None:
    async def scenario() -> None:
        cluster = FakeCluster(3)
        of = coordinator(cluster)
        found = await asyncio.gather(*(of.find() for _ in range(5)))
        assert {node.id for node in found} == {FIRST_ID - 3}
        assert cluster.asked == 1
        assert await of.send(BEAT) == (FIRST_ID - 3, "fine")

    asyncio.run(scenario())


@pytest.mark.parametrize("code", [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.GROUP_AUTHORIZATION_FAILED])
def test_what_it_cannot_find_it_says_and_looks_for_again(code: ErrorCode) -> None:
    async def scenario() -> None:
        of = coordinator(FakeCluster(code, 1))
        with pytest.raises(KafkaError, match=code.name):
            await of.find()
        assert (await of.find()).id == FIRST_ID - 1

    asyncio.run(scenario())


def test_one_that_cannot_be_reached_is_forgotten() -> None:
    async def scenario() -> None:
        cluster = FakeCluster(1, 2)
        of = coordinator(cluster)
        cluster.reply = KafkaError(ErrorCode.NETWORK_EXCEPTION, "cut")
        with pytest.raises(KafkaError, match="cut"):
            await of.send(BEAT)
        assert not of.is_known
        cluster.reply = "fine"
        assert await of.send(BEAT) == (FIRST_ID - 2, "fine")

    asyncio.run(scenario())


def test_answers_tell_that_it_has_moved() -> None:
    async def scenario() -> None:
        of = coordinator(FakeCluster(1))
        await of.find()
        of.check(0, "all is well")
        with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS: committing"):
            of.check(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "committing")
        assert of.is_known
        with pytest.raises(KafkaError, match="NOT_COORDINATOR: committing"):
            of.check(ErrorCode.NOT_COORDINATOR, "committing")
        assert not of.is_known

    asyncio.run(scenario())


def test_whoever_gives_up_waiting_does_not_stop_the_search_for_others() -> None:
    async def scenario() -> None:
        of = coordinator(FakeCluster(1))
        first, second = (asyncio.create_task(of.find()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).id == FIRST_ID - 1

    asyncio.run(scenario())
