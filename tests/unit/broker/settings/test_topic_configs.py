"""Overrides of topics and the settings they come to; reading them while changes are announced."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.topic_configs import BUILT_A_TURN, TopicConfigs


def topic_configs() -> TopicConfigs:
    return TopicConfigs(BrokerConfig.parse({"zookeeper.connect": "z:1"}))


def test_an_announced_change_is_not_overwritten_by_what_was_read_before() -> None:
    """LeaderAndIsr of new topics reads their overrides; meanwhile one of them changes and the change is announced."""

    async def main() -> None:
        configs, answered = topic_configs(), asyncio.Event()

        async def read() -> Mapping[str, Mapping[str, str]]:
            await answered.wait()
            return {"t": {"segment.bytes": "5000"}, "u": {"segment.bytes": "6000"}}

        first, second = (asyncio.create_task(configs.read_with(read())) for _ in range(2))
        await asyncio.sleep(0)
        configs.set_overrides("t", {"segment.bytes": "7000"})
        answered.set()
        await asyncio.gather(first, second)
        assert configs.of("t").segment_bytes == 7000
        assert configs.of("u").segment_bytes == 6000
        await configs.read_with(read())  # begun after the change: what it brings is newer
        assert configs.of("t").segment_bytes == 5000

    asyncio.run(main())


def test_a_read_that_fails_leaves_no_trace() -> None:
    async def main() -> None:
        configs = topic_configs()

        async def fail() -> Mapping[str, Mapping[str, str]]:
            raise OSError("no")

        assert isinstance((await asyncio.gather(configs.read_with(fail()), return_exceptions=True))[0], OSError)
        configs.set_overrides("t", {"segment.bytes": "7000"})
        assert not configs._set_meanwhile

    asyncio.run(main())


class CountsTurns:
    """Runs on the loop as long as others let it, and counts how much was done in one turn at the most."""

    def __init__(self, done: Callable[[], int]) -> None:
        self._done = done
        self.turns = self.most = 0

    async def beside(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        before = self._done()
        while not task.done():
            await asyncio.sleep(0)
            self.turns += 1
            self.most = max(self.most, self._done() - before)
            before = self._done()
        await task


def test_very_many_topics_are_set_and_rebuilt_a_few_in_a_turn() -> None:
    count = 20 * BUILT_A_TURN

    async def main() -> None:
        configs = topic_configs()

        async def read() -> Mapping[str, Mapping[str, str]]:
            return {f"t{number}": {"segment.bytes": "5000"} for number in range(count)}

        names = [f"t{number}" for number in range(count)]
        reading = CountsTurns(lambda: sum(bool(configs.overrides(name)) for name in names))
        await reading.beside(configs.read_with(read()))
        assert reading.most == BUILT_A_TURN
        rebuilding = CountsTurns(lambda: sum(configs.of(name).retention_ms == 1234 for name in names))
        await rebuilding.beside(
            configs.set_broker(BrokerConfig.parse({"zookeeper.connect": "z:1", "log.retention.ms": "1234"}))
        )
        assert rebuilding.most == BUILT_A_TURN
        assert {configs.of(name).retention_ms for name in names} == {1234}
        assert {configs.of(name).segment_bytes for name in names} == {5000}

    asyncio.run(main())


def test_a_topic_that_goes_while_settings_are_rebuilt_stays_gone() -> None:
    async def main() -> None:
        configs = topic_configs()
        names = [f"t{number}" for number in range(2 * BUILT_A_TURN)]
        for name in names:
            configs.set_overrides(name, {"segment.bytes": "5000"})
        rebuilding = asyncio.ensure_future(configs.set_broker(BrokerConfig.parse({"zookeeper.connect": "z:1"})))
        await asyncio.sleep(0)
        configs.forget(names[-1])
        configs.set_overrides(names[-2], {"segment.bytes": "7000"})
        await rebuilding
        assert configs.overrides(names[-1]) == {}
        assert configs.of(names[-1]) is configs.of("another")
        assert configs.of(names[-2]).segment_bytes == 7000

    asyncio.run(main())
