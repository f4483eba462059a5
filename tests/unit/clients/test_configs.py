"""The clients' tables hold what docs/reference/configs.tsv lists, and refuse what 2.8.2 refuses."""

import csv
import logging
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import OptionTable
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.configs import parse_server
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.security.sasl.oauth.options import OAuthOptions

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "configs.tsv"
SERVERS = {"bootstrap.servers": "localhost:9092"}
TABLES: list[tuple[str, type[OptionTable], int]] = [
    ("producer", ProducerOptions, 70),
    ("consumer", ConsumerOptions, 75),
    ("admin", AdminOptions, 54),
]


@pytest.mark.parametrize(("scope", "table", "count"), TABLES)
def test_a_client_declares_as_many_settings_as_kafka(scope: str, table: type[OptionTable], count: int) -> None:
    assert len(table.ROWS) == count + len(OAuthOptions.ROWS)


@pytest.mark.parametrize(("scope", "table", "count"), TABLES)
def test_names_types_defaults_and_importance_agree_with_the_reference(
    scope: str, table: type[OptionTable], count: int
) -> None:
    rows = []
    for path, its_scope in ((REFERENCE, scope), (REFERENCE.parent / "later-configs.tsv", "client")):
        with path.open() as file:
            every = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            rows += [row for row in every if row["scope"] == its_scope]
    assert {row["name"] for row in rows} == set(table.ROWS)
    for row in rows:
        option = table.ROWS[row["name"]]
        assert option.kind.name.lower() == row["type"], row["name"]
        assert option.importance == row["importance"], row["name"]
        if row["default"] != "(required)":
            default = None if row["default"] == "null" else row["default"].strip('"')
            assert option.text(option.default) == default, row["name"]


def test_we2_9_acks_as_a_number_is_refused_and_as_a_string_accepted() -> None:
    with pytest.raises(ConfigError, match="acks: it is a int, and has to be a str"):
        ProducerOptions.parse({**SERVERS, "acks": 0})
    assert ProducerOptions.parse({**SERVERS, "acks": "0"}).acks_code == 0
    assert ProducerOptions.parse({**SERVERS, "acks": "all"}).acks_code == -1


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"linger.ms": "soon"}, "soon for configuration linger.ms"),
        ({"acks": "2"}, "2 for configuration acks"),
        ({"compression.type": "rar"}, "rar for configuration compression.type"),
        ({"bootstrap.servers": "localhost"}, "Invalid url in bootstrap.servers: localhost"),
        ({"bootstrap.servers": ""}, "bootstrap.servers"),
        ({"enable.idempotence": "true", "acks": "1"}, "acks=all"),
        ({"enable.idempotence": "true", "retries": "0"}, "retries"),
        ({"enable.idempotence": "true", "max.in.flight.requests.per.connection": "6"}, "up to 5"),
        ({"transactional.id": "t", "enable.idempotence": "false"}, "transactional.id needs enable.idempotence"),
        ({"transactional.id": "t", "acks": "1"}, r"transactional.id \(by enable.idempotence\) needs acks=all"),
        ({"transactional.id": "t", "retries": "0"}, r"transactional.id .* needs retries"),
        ({"transactional.id": "t", "max.in.flight.requests.per.connection": "6"}, "transactional.id .* up to 5"),
        ({"transactional.id": ""}, "transactional.id"),
        ({"transaction.timeout.ms": "soon"}, "transaction.timeout.ms"),
        ({"delivery.timeout.ms": "10"}, "10 for configuration delivery.timeout.ms"),
    ],
)
def test_a_malformed_setting_is_refused_by_name_and_value(properties: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ProducerOptions.load({**SERVERS, **properties})


def test_an_unknown_setting_is_warned_about_by_name(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ConsumerOptions.load({**SERVERS, "fetch.min.byte": "1"})
    assert "fetch.min.byte" in caplog.text


@pytest.mark.parametrize(
    "setting", [{"retries": "0"}, {"max.in.flight.requests.per.connection": "6"}, {"acks": "1"}], ids=str
)
def test_w7_22_idempotence_does_not_go_with_every_setting(setting: dict[str, str]) -> None:
    """W7.22: a ConfigException for no retries (S3-070), acks that are not all (S3-071), or more than five requests in
    flight (S3-072).
    """
    with pytest.raises(ConfigError):
        ProducerOptions.load({**SERVERS, "enable.idempotence": "true", **setting})


def test_idempotence_raises_acks_to_all_when_unset() -> None:
    assert ProducerOptions.parse({**SERVERS, "enable.idempotence": True}).acks_code == -1


def test_s3_078_a_transactional_id_makes_the_producer_idempotent() -> None:
    """S3-078; that it does not go with enable.idempotence=false is among the malformed settings above."""
    assert not ProducerOptions.parse(SERVERS).enable_idempotence
    assert ProducerOptions.parse({**SERVERS, "transactional.id": "t"}).enable_idempotence
    assert ProducerOptions.parse({**SERVERS, "transactional.id": "t"}).acks_code == -1


def test_an_unset_delivery_timeout_grows_with_the_request_timeout() -> None:
    assert ProducerOptions.parse({**SERVERS, "request.timeout.ms": 200_000}).delivery_timeout_ms == 200_000


def test_we3_12_auto_offset_reset_takes_three_words() -> None:
    assert ConsumerOptions.parse({**SERVERS, "auto.offset.reset": "none"}).auto_offset_reset == "none"
    with pytest.raises(ConfigError, match=r"auto\.offset\.reset"):
        ConsumerOptions.parse({**SERVERS, "auto.offset.reset": "middle"})


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("localhost:9092", ("localhost", 9092)),
        ("PLAINTEXT://kafka:1", ("kafka", 1)),
        ("[::1]:9092", ("::1", 9092)),
    ],
)
def test_a_server_is_host_and_port(text: str, server: tuple[str, int]) -> None:
    assert parse_server(text) == server
