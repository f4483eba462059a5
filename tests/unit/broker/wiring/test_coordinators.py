from __future__ import annotations

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.coordinators import Coordinators, value_versions
from kafka_py.testing.clock import ManualClock


@pytest.mark.parametrize(
    ("protocol", "offset", "group"),
    [
        ("2.8", 3, 3), ("2.6-IV0", 3, 3), ("2.3-IV0", 3, 3), ("2.2-IV1", 3, 2), ("2.1-IV1", 3, 2), ("2.1-IV0", 2, 2),
        ("2.0-IV1", 1, 1), ("0.10.1-IV0", 1, 1), ("0.10.0-IV1", 1, 0),
    ],
)  # fmt: skip
def test_records_are_written_as_every_broker_of_the_cluster_can_read_them(
    protocol: str, offset: int, group: int
) -> None:
    config = BrokerConfig.parse({"zookeeper.connect": "h:1", "inter.broker.protocol.version": protocol})
    assert value_versions(config.inter_broker_protocol_version) == (offset, group)


class Runtime:
    """Notes which partitions are no longer coordinated here."""

    def __init__(self) -> None:
        self.resigned_from: list[tuple[int, int | None]] = []

    def resigned(self, number: int, leader_epoch: int | None) -> None:
        self.resigned_from.append((number, leader_epoch))


class CoordinatorsOfRuntimes(Coordinators):
    """Only what changes of roles need."""

    def __init__(self, runtimes: dict[str, Runtime]) -> None:
        self._runtimes = runtimes  # type: ignore[assignment]
        self._supervisor = Supervisor(ManualClock())


def test_a_coordinator_resigns_from_deleted_partitions_of_its_topic_and_no_others() -> None:
    """StopReplica without delete, as before a controlled shutdown, leaves the role to the LeaderAndIsr that follows."""
    groups, transactions = Runtime(), Runtime()
    coordinators = CoordinatorsOfRuntimes({"__consumer_offsets": groups, "__transaction_state": transactions})
    coordinators.stopped([
        (TopicPartition("__consumer_offsets", 3), True),
        (TopicPartition("__consumer_offsets", 4), False),
        (TopicPartition("__transaction_state", 5), True),
        (TopicPartition("t", 6), True),
    ])  # fmt: skip
    assert (groups.resigned_from, transactions.resigned_from) == ([(3, None)], [(5, None)])
