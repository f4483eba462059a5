from __future__ import annotations

import pytest

from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.broker.wiring.coordinators import value_versions


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
    assert value_versions(LiveConfig(config)) == (offset, group)
