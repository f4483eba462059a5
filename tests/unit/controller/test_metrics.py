"""The controller's metrics bear Kafka's names; events are timed under the names that Kafka gives their states."""

import pytest

from kafka_py.base.meters import MetricRegistry
from kafka_py.controller.event_queue import EventQueue
from kafka_py.controller.events import ControllerState
from kafka_py.controller.metrics import ControllerMetrics, ControllerStats, EventQueueMetrics
from kafka_py.controller.model.controller_context import ControllerContext
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.virtual_time import run_virtual, virtual_clock

GAUGES = (
    "ActiveControllerCount",
    "OfflinePartitionsCount",
    "PreferredReplicaImbalanceCount",
    "ControllerState",
    "GlobalTopicCount",
    "GlobalPartitionCount",
    "TopicsToDeleteCount",
    "ReplicasToDeleteCount",
    "TopicsIneligibleToDeleteCount",
    "ReplicasIneligibleToDeleteCount",
)
UNTIMED = {"IDLE", "CONTROLLER_SHUTDOWN", "UPDATE_METADATA_RESPONSE_RECEIVED"}
ODD = {"BROKER_CHANGE": "LeaderElection", "ALTER_PARTITION_REASSIGNMENT": "PartitionReassignment"}


def test_gauges_of_an_idle_and_of_an_active_controller():
    async def run():
        registry = MetricRegistry(virtual_clock())
        metrics = ControllerMetrics(registry)
        metrics.show(None)
        values = {reading.mbean: reading.attributes["Value"] for reading in registry.read()}
        assert values == {f"kafka.controller:type=KafkaController,name={name}": 0 for name in GAUGES}
        metrics.show(ControllerContext())
        assert metrics.active == 1

    run_virtual(run())


@pytest.mark.parametrize("state", ControllerState)
def test_time_spent_in_a_state_goes_to_the_timer_named_after_it(state):
    stats = ControllerStats(MetricRegistry(ManualClock()))
    timing = stats.timing_of(state)
    if state.name in UNTIMED:
        assert timing is None
        return
    timing.update(5.0)
    counted = [reading.row.name for reading in stats.read() if reading.attributes["Count"]]
    camel = ODD.get(state.name) or "".join(part.capitalize() for part in state.name.split("_"))
    assert counted == [f"{camel}RateAndTimeMs"]


def test_the_queue_shows_its_size():
    async def run():
        clock = virtual_clock()
        registry = MetricRegistry(clock)
        queue = EventQueue(clock)
        metrics = EventQueueMetrics(registry, queue)
        assert metrics.size == 0

    run_virtual(run())
