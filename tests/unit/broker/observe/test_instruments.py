"""How a broker moves the averages of its metrics on: in turns with everything else, and one round at a time."""

import asyncio

from kafka_py.base.meters import MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Rate
from kafka_py.base.supervision import Supervisor
from kafka_py.broker.observe.instruments import Observation
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.testing.clock import ManualClock

TABLES = 200


class Things(MetricTable, group="kafka.server:type=Things"):
    events = Rate("EventsPerSec", unit="events", tags=("thing",))


class PassingClock(ManualClock):
    """A tenth of a millisecond passes with each look at it."""

    def monotonic_s(self) -> float:
        self.advance(0.1)
        return super().monotonic_s()


def test_a_round_of_averages_takes_many_turns_and_the_next_one_waits_for_it() -> None:
    async def main() -> None:
        clock = PassingClock()
        registry, supervisor = MetricRegistry(clock), Supervisor(clock)
        tables = [Things(registry, thing=str(number)) for number in range(TABLES)]
        config = BrokerConfig.parse({"zookeeper.connect": "host:1", "metrics.http.port": "-1"})
        observation = Observation(config, registry, None, clock, None, supervisor)  # type: ignore[arg-type]
        for table in tables:
            table.events += 5
        observation._tick()
        round_of_averages = observation._ticking
        assert round_of_averages is not None
        turns = 0
        while not round_of_averages.done():
            await asyncio.sleep(0)
            observation._tick()
            turns += not round_of_averages.done()
            assert observation._ticking is round_of_averages or round_of_averages.done()
        assert turns > TABLES / 10
        assert all(table.rates_of(Things.events).read(5, clock.monotonic_ms())["OneMinuteRate"] > 0 for table in tables)
        await observation.close()
        await supervisor.close()

    asyncio.run(main())
