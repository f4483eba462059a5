"""The option engine: types, rules, errors that name the setting."""

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode
from kafka_py.base.options import Kind, Live, Option, OptionTable, at_least, between, list_of, one_of, text_of_value


class LowerOptions(OptionTable):
    segment_bytes = Option("log.segment.bytes", 1 << 30, at_least(14), topic="segment.bytes", live=True)
    cleanup_policy = Option("log.cleanup.policy", ["delete"], list_of("compact", "delete"))


class BrokerOptions(LowerOptions):
    broker_id = Option("broker.id", -1)
    roll_ms = Option[int | None]("log.roll.ms", None, at_least(1), kind=Kind.LONG)
    ratio = Option("ratio", 0.5, between(0, 1))
    enabled = Option("enabled", True)
    flavour = Option("flavour", "sweet", one_of("sweet", "sour"))
    secret = Option[str | None]("secret", None, at_least(0), kind=Kind.PASSWORD)
    connect = Option("connect", "", required=True)


def test_defaults_and_given_values_are_typed():
    table = BrokerOptions.parse({"connect": "x:1", "log.segment.bytes": " 100 ", "enabled": "FALSE", "ratio": "0.25"})
    assert (table.segment_bytes, table.enabled, table.ratio, table.broker_id) == (100, False, 0.25, -1)
    assert table.roll_ms is None
    assert table.cleanup_policy == ["delete"]


def test_tables_compose_by_inheritance_and_lists_are_not_shared():
    first, second = BrokerOptions.parse({"connect": "a"}), BrokerOptions.parse({"connect": "a"})
    first.cleanup_policy.append("compact")
    assert second.cleanup_policy == ["delete"]
    assert list(BrokerOptions.ROWS)[:2] == ["log.segment.bytes", "log.cleanup.policy"]
    assert "broker.id" not in LowerOptions.ROWS


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("log.segment.bytes", "13", ["log.segment.bytes", "13", "[14,...]"]),
        ("log.segment.bytes", "many", ["log.segment.bytes", "many", "int"]),
        ("log.segment.bytes", str(1 << 31), ["log.segment.bytes", "32 bits"]),
        ("ratio", "1.5", ["ratio", "1.5"]),
        ("enabled", "yes", ["enabled", "yes", "neither true nor false"]),
        ("flavour", "salty", ["flavour", "salty", "sweet"]),
        ("log.cleanup.policy", "delete,shred", ["log.cleanup.policy", "shred", "compact"]),
        ("connect", None, ["connect", "required"]),
    ],
)
def test_a_bad_value_is_refused_with_setting_value_and_rule_named(name, value, words):
    with pytest.raises(ConfigError) as caught:
        BrokerOptions.parse({"connect": "a", name: value})
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    for word in words:
        assert word in caught.value.detail


def test_a_required_setting_is_asked_for_by_name():
    with pytest.raises(ConfigError, match="connect"):
        BrokerOptions.parse({})


def test_unknown_names_are_kept_apart():
    assert BrokerOptions.parse({"connect": "a", "log.segmnt.bytes": "1"}).unknown == ["log.segmnt.bytes"]


def test_override_goes_on_top_of_what_was_given():
    table = BrokerOptions.parse({"connect": "a", "broker.id": "3"}).override({"ratio": "1"})
    assert (table.broker_id, table.ratio) == (3, 1.0)


def test_live_and_sensitive_are_columns():
    assert LowerOptions.segment_bytes.live is Live.CLUSTER_WIDE
    assert BrokerOptions.broker_id.live is Live.READ_ONLY
    assert BrokerOptions.secret.sensitive


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Kind.BOOLEAN, True, "true"),
        (Kind.LIST, ["a", "b"], "a,b"),
        (Kind.DOUBLE, 0.5, "0.5"),
        (Kind.DOUBLE, 1.7976931348623157e308, "1.7976931348623157E308"),
        (Kind.DOUBLE, 2147483647.0, "2.147483647E9"),
        (Kind.LONG, 5, "5"),
        (Kind.STRING, None, None),
    ],
)
def test_values_print_as_java_prints_them(kind, value, text):
    assert text_of_value(kind, value) == text
