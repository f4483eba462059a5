"""ElectLeaders: what is answered for which partition, and when (docs/reference/controller.md, section 10)."""

import asyncio
from collections import Counter
from collections.abc import Hashable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.steps import SLICE
from kafka_py.base.timers import Timers
from kafka_py.broker.handlers.admin import elect_leaders
from kafka_py.broker.metadata.metadata_cache import CachedPartition, MetadataCache, MetadataUpdate
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions


class TickingClock(ManualClock):
    """Each look at it takes `tick_ms`."""

    tick_ms = 0.0

    def monotonic_ms(self) -> float:
        now_ms = super().monotonic_ms()
        self._move_to(now_ms + self.tick_ms)
        return now_ms


class World:
    """A broker whose controller gives these outcomes, after it has taken `takes_ms`."""

    def __init__(self, outcomes: dict[int, int | KafkaError] | KafkaError, takes_ms: float = 0) -> None:
        self.clock = TickingClock()
        self.outcomes = outcomes
        self.takes_ms = takes_ms
        self.metadata = MetadataCache()
        self.waits: Purgatory[Hashable] = Purgatory("ElectLeader", Timers(self.clock, self.clock.call_later))
        self.errors: Counter[str] = Counter()
        self.asked: list[TopicPartition] = []

    async def elect_leaders(self, partitions: list[TopicPartition], election: ElectionType) -> object:
        assert election is ElectionType.UNCLEAN
        self.asked = partitions
        self.clock.advance(self.takes_ms)
        if isinstance(self.outcomes, KafkaError):
            raise self.outcomes
        return {TopicPartition("t", number): outcome for number, outcome in self.outcomes.items()}

    async def cached(self, partitions: range, leader: int, topic: str = "t") -> None:
        """UpdateMetadata names this leader of these partitions."""
        state = CachedPartition(1, leader, 0, (1,), 0, (1, 2), ())
        rows = [(TopicPartition(topic, number), state) for number in partitions]
        await self.metadata.update(MetadataUpdate(1, [], rows, {}))
        for partition, _ in rows:
            self.waits.check_and_complete(partition)

    def ask(self, partitions: range | None, timeout_ms: int = 1000, election: int = 1) -> asyncio.Task[Any]:
        named = None if partitions is None else [TopicPartitions(topic="t", partition_id=list(partitions))]
        request = ElectLeadersRequest(election_type=election, topic_partitions=named, timeout_ms=timeout_ms)
        node: Any = SimpleNamespace(
            clock=self.clock, controller=self, metadata=self.metadata, election_waits=self.waits
        )
        metrics = SimpleNamespace(count_error=lambda name: self.errors.update([name]))
        context: Any = SimpleNamespace(metrics=metrics)
        return asyncio.ensure_future(
            elect_leaders.handle(cast(Node, node), cast(RequestContext, context), request)
        )


async def rest(turns: int = 50) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return turns


def rows(response: ElectLeadersResponse) -> dict[int, tuple[ErrorCode, str | None]]:
    return {
        row.partition_id: (ErrorCode(row.error_code), row.error_message)
        for topic in response.replica_election_results
        for row in topic.partition_result
    }


def test_the_answer_comes_when_the_new_leaders_are_in_the_cache() -> None:
    async def scenario() -> None:
        refused = KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "not alive")
        world = World({0: 2, 1: 1, 2: refused, 3: KafkaError(ErrorCode.ELECTION_NOT_NEEDED)})
        await world.cached(range(4), 1)
        answer = world.ask(range(4))
        await rest()
        assert world.asked == [TopicPartition("t", number) for number in range(4)]
        assert not answer.done()
        await world.cached(range(1), 2)
        found = rows(await answer)
        assert found[0] == found[1] == (ErrorCode.NONE, None)
        assert found[2] == (ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "not alive")
        assert found[3][0] is ErrorCode.ELECTION_NOT_NEEDED
        assert world.errors == {"PREFERRED_LEADER_NOT_AVAILABLE": 1, "ELECTION_NOT_NEEDED": 1}

    asyncio.run(scenario())


@pytest.mark.parametrize(("takes_ms", "left_ms"), [(0, 1000), (900, 100), (1500, 0)])
def test_leaders_that_are_not_in_the_cache_in_time_are_late(takes_ms: float, left_ms: float) -> None:
    """The election itself counts: 900 of 1,000 ms are used when it is over."""

    async def scenario() -> None:
        world = World({0: 2, 1: 1}, takes_ms)
        await world.cached(range(2), 1)
        answer = world.ask(range(2))
        await rest()
        if left_ms:
            world.clock.advance(left_ms / 2)
            await rest()
            assert not answer.done()
        world.clock.advance(left_ms / 2 + 50)
        found = rows(await answer)
        assert found[0][0] is ErrorCode.REQUEST_TIMED_OUT
        assert found[1] == (ErrorCode.NONE, None)
        assert world.errors == {"REQUEST_TIMED_OUT": 1}

    asyncio.run(scenario())


def test_of_all_partitions_those_that_need_no_election_are_left_out() -> None:
    async def scenario() -> None:
        world = World({0: 1, 1: KafkaError(ErrorCode.ELECTION_NOT_NEEDED), 2: KafkaError(ErrorCode.INVALID_REQUEST)})
        await world.cached(range(3), 1)
        found = rows(await world.ask(None))
        assert sorted(found) == [0, 2]
        assert len(world.asked) == 3

    asyncio.run(scenario())


def test_all_partitions_are_those_of_one_moment() -> None:
    """Others have the loop meanwhile, and the controller's next update may come."""

    async def scenario() -> None:
        world = World({})
        await world.cached(range(2000), 1)
        world.clock.tick_ms = 0.05
        answer = world.ask(None)
        await rest(1)
        for number in range(10):
            await world.cached(range(1), 1, f"new-{number}")
            await rest(2)
        await answer
        assert len(world.asked) == 2000

    asyncio.run(scenario())


def test_only_another_controller_is_answered_for_each_partition() -> None:
    async def scenario() -> None:
        moved = World(KafkaError(ErrorCode.NOT_CONTROLLER, "it is 9"))
        assert rows(await moved.ask(range(2))) == dict.fromkeys(range(2), (ErrorCode.NOT_CONTROLLER, None))
        assert moved.errors == {"NOT_CONTROLLER": 2}
        for asked in (World(KafkaError(ErrorCode.BROKER_NOT_AVAILABLE)).ask(range(2)), World({}).ask(range(1), 0, 7)):
            with pytest.raises(KafkaError) as raised:
                await asked
            assert raised.value.code in (ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.UNKNOWN_SERVER_ERROR)

    asyncio.run(scenario())


def test_others_have_the_loop_while_very_many_are_refused_or_late() -> None:
    """The clock hardly moves, so that only those stops count that need no clock."""

    async def scenario() -> None:
        partitions = range(20 * SLICE)
        moved, late = World(KafkaError(ErrorCode.NOT_CONTROLLER)), World(dict.fromkeys(partitions, 2))
        for world, timeout_ms, times in ((moved, 1000, 2), (late, 0, 1)):
            answer, turns = world.ask(partitions, timeout_ms), 0
            while not answer.done():
                turns += await rest(1)
                world.clock.advance(0.001)
            assert len(rows(await answer)) == len(partitions)
            assert turns >= times * 19

    asyncio.run(scenario())
