"""The broker's settings: every row of docs/reference/configs.tsv is declared with type, default and place of change."""

import csv
from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Live
from kafka_py.broker.settings.configs import BrokerConfig, own_settings, warnings_of
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.security.sasl.oauth.options import OAuthOptions

REFERENCE = Path(__file__).resolve().parents[4] / "docs" / "reference" / "configs.tsv"
NEEDED = {"zookeeper.connect": "localhost:2181"}

DYNAMIC = {
    "read-only": Live.READ_ONLY,
    "cluster-wide": Live.CLUSTER_WIDE,
    "per-broker": Live.PER_BROKER,
    "per-broker (listener.name.<listener>. prefix required)": Live.PER_BROKER,
    "dynamic-only (per-broker; cluster default also accepted)": Live.CLUSTER_WIDE,
}


def test_every_broker_setting_of_the_reference_is_declared_alike() -> None:
    with REFERENCE.open(newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["scope"] == "broker"]
    assert len(rows) == 221
    faults = []
    for row in rows:
        option = BrokerConfig.ROWS.get(row["name"])
        if option is None:
            faults.append(f"{row['name']}: missing")
            continue
        declared = (option.kind.name.lower(), option.text(option.default), option.live, option.importance)
        default = {"null": None, '""': ""}.get(row["default"], row["default"])
        expected = (row["type"], default, DYNAMIC[row["dynamic"]], row["importance"])
        if declared != expected:
            faults.append(f"{row['name']}: {declared}, the table has {expected}")
    assert faults == []
    assert len(BrokerConfig.ROWS) == 221 + len(list(own_settings()))


def test_every_broker_setting_of_later_releases_is_declared_alike() -> None:
    with (REFERENCE.parent / "later-configs.tsv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["scope"] == "broker"]
    assert [row["name"] for row in rows] == list(OAuthOptions.ROWS)
    for row in rows:
        option = BrokerConfig.ROWS[row["name"]]
        declared = (option.kind.name.lower(), option.text(option.default) or "null", option.importance)
        assert declared == (row["type"], row["default"], row["importance"]), row["name"]


def test_unknown_settings_are_warned_about_by_name_and_listener_prefixes_are_known() -> None:
    config = BrokerConfig.parse({**NEEDED, "no.such.setting": "1", "listener.name.a.ssl.keystore.location": "/x"})
    assert list(warnings_of(config)) == ["Unknown setting no.such.setting: it is ignored."]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"num.partitions": "many"}, "num.partitions"),
        ({"broker.id": "2000"}, "broker.id"),
        ({"broker.id": "-2"}, "broker.id"),
        ({"broker.id": "-1", "broker.id.generation.enable": "false"}, "broker.id"),
        ({"replica.fetch.wait.max.ms": "40000"}, "replica.fetch.wait.max.ms"),
        ({"offsets.commit.required.acks": "4"}, "offsets.commit.required.acks"),
        ({"fetch.max.bytes": "1000"}, "fetch.max.bytes"),
    ],
)
def test_malformed_settings_stop_the_start_with_a_line_that_names_them(given: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        BrokerConfig.parse({**NEEDED, **given})
    assert says in error.value.detail
    assert "\n" not in error.value.detail


# Settings that change while the broker runs


def live(**static: str) -> LiveConfig:
    given = {name.replace("_", "."): value for name, value in static.items()}
    return LiveConfig(BrokerConfig.parse({**NEEDED, **given}))


def test_the_brokers_own_setting_wins_over_the_cluster_wide_one_and_that_over_the_file() -> None:
    config = live(log_segment_bytes="1000")
    assert config.set_cluster_wide({"log.segment.bytes": "2000"}).log_segment_bytes == 2000
    assert config.set_own({"log.segment.bytes": "3000"}).log_segment_bytes == 3000
    assert config.set_own({}).log_segment_bytes == 2000
    assert config.set_cluster_wide({}).log_segment_bytes == 1000


def test_what_may_not_change_or_cannot_be_read_is_left_aside() -> None:
    config = live()
    overrides = {"broker.id": "7", "no.such": "1", "log.segment.bytes": "x", "message.max.bytes": "5000"}
    current = config.set_own(overrides)
    assert current.message_max_bytes == 5000
    assert (current.broker_id, current.log_segment_bytes) == (-1, 1 << 30)
    assert config.own == {"no.such": "1", "message.max.bytes": "5000"}  # the unknown one may be for a plug-in


def test_settings_of_one_broker_are_not_taken_from_the_cluster_wide_ones() -> None:
    config = live()
    config.set_cluster_wide({"ssl.protocol": "TLSv1.2"})
    assert config.current.ssl_protocol == "TLSv1.3"
    assert config.set_own({"ssl.protocol": "TLSv1.2", "ssl.keystore.type": "PEM"}).ssl_protocol == "TLSv1.2"
    assert config.current.ssl_keystore_type == "JKS"  # a key store changes behind a listener's prefix only
