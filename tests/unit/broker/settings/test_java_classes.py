"""Java class names in a broker's settings."""

import pytest

from kafka_py.broker.settings.configs import BrokerConfig, warnings_of
from kafka_py.broker.settings.java_classes import SETTINGS, class_warnings


@pytest.mark.parametrize(
    ("setting", "value", "warnings"),
    [
        ("replica.selector.class", "org.apache.kafka.common.replica.LeaderSelector", []),
        ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector", []),
        ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter, com.example.Own", ["JMX", "cannot call"]),
    ],
)
def test_what_is_not_done_is_said(setting: str, value: str, warnings: list[str]) -> None:
    said = list(class_warnings({setting: value}))
    assert len(said) == len(warnings)
    assert all(words in line and line.startswith(f"{setting}=") for words, line in zip(warnings, said, strict=True))


def test_every_setting_of_the_table_is_one_of_the_brokers() -> None:
    assert {row.name for row in BrokerConfig.describe()} >= set(SETTINGS)


def test_a_broker_with_all_of_them_is_understood() -> None:
    config = BrokerConfig.parse({"zookeeper.connect": "z:1", **dict.fromkeys(SETTINGS, "com.example.Own")})
    assert len(list(warnings_of(config))) == len(SETTINGS)
