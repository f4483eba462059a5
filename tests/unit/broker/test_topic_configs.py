"""Overrides of topics and the settings they come to; reading them while changes are announced."""

import asyncio
from collections.abc import Mapping

from kafka_py.broker.configs import BrokerConfig
from kafka_py.broker.topic_configs import TopicConfigs


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
