"""Changes to settings, decided: what the overrides come to and whether they may be so (KIP-226, KIP-339, KIP-412)."""

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.broker.settings import loggers
from kafka_py.broker.settings.config_edits import (
    Edit,
    EditOperation,
    check_broker,
    check_edits,
    check_loggers,
    check_topic,
    edited,
    usable,
)
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.log.model.configs import LogConfig

SET, DELETE, APPEND, SUBTRACT = EditOperation
POLICY = "cleanup.policy"


def live(**static: str) -> LiveConfig:
    given = {name.replace("_", "."): value for name, value in static.items()}
    return LiveConfig(BrokerConfig.parse({"zookeeper.connect": "z:1", **given}))


def test_set_and_delete() -> None:
    edits = [Edit("segment.bytes", SET, "100"), Edit("retention.ms", DELETE, None), Edit("flush.ms", DELETE, None)]
    assert edited({"retention.ms": "5", "index.interval.bytes": "1"}, edits, LogConfig.ROWS) == {
        "index.interval.bytes": "1",
        "segment.bytes": "100",
    }


def test_lists_grow_and_shrink_from_the_default_on() -> None:
    grown = edited({}, [Edit(POLICY, APPEND, "compact")], LogConfig.ROWS)
    assert grown == {POLICY: "delete,compact"}
    assert edited(grown, [Edit(POLICY, SUBTRACT, "delete")], LogConfig.ROWS) == {POLICY: "compact"}
    assert edited(grown, [Edit(POLICY, SUBTRACT, "nothing")], LogConfig.ROWS) == grown


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
@pytest.mark.parametrize("name", ["segment.bytes", "no.such"])
def test_list_operations_are_for_lists(operation: EditOperation, name: str) -> None:
    with pytest.raises(KafkaError, match=f"is not allowed for config key: {name}") as error:
        edited({}, [Edit(name, operation, "1")], LogConfig.ROWS)
    assert error.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ([Edit("a", SET, "1"), Edit("a", DELETE, None)], "duplicate config keys : a"),
        ([Edit("a", SET, None), Edit("b", APPEND, None)], "Null value not supported for : SET:a,APPEND:b"),
        ([Edit("a", 9, "1")], "Unknown operation 9"),
    ],
)
def test_lists_of_changes_that_make_no_sense(edits: list[Edit], says: str) -> None:
    with pytest.raises(KafkaError, match=says) as error:
        check_edits(edits)
    assert error.value.code is ErrorCode.INVALID_REQUEST


def test_a_name_that_is_no_topic_setting_has_an_error_of_its_own() -> None:
    with pytest.raises(KafkaError, match=r"Unknown topic config name: no\.such") as error:
        check_topic({"no.such": "1"}, live())
    assert error.value.code is ErrorCode.INVALID_CONFIG
    assert not isinstance(error.value, ConfigError)


@pytest.mark.parametrize("value", ["x", "1", ""])
def test_a_value_that_a_topic_cannot_have(value: str) -> None:
    with pytest.raises(ConfigError, match=r"segment\.bytes"):
        check_topic({"segment.bytes": value}, live())


@pytest.mark.parametrize(
    ("name", "is_default", "says"),
    [
        ("log.dirs", False, r"Cannot update these configs dynamically: Set\(log\.dirs\)"),
        ("listener.name.a.ssl.keystore.location", True, "broker id must be specified"),
        ("principal.builder.class", True, "broker id must be specified"),
        ("ssl.keystore.location", False, "using the listener prefix"),
        ("ssl.keystore.location", True, "using the listener prefix"),
        ("ssl.protocol", True, "broker id must be specified"),
        ("listener.name.a.max.connections", True, "Invalid value x for configuration max.connections"),
    ],
)
def test_where_a_broker_s_setting_may_change(name: str, is_default: bool, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        check_broker({name: "x"}, live(), is_default=is_default)


def test_rules_are_looked_at_in_a_fixed_order() -> None:
    """As Apache Kafka does: may it change, key stores, values, and only then whether a broker must be named."""
    broken = {"listener.name.a.ssl.protocol": "x", "log.cleaner.threads": "x", "ssl.key.password": "x", "log.dirs": "x"}
    for says in (r"dynamically: Set\(log\.dirs\)", "listener prefix", "log.cleaner.threads: not a int", "broker id"):
        with pytest.raises(ConfigError, match=says):
            check_broker(broken, live(), is_default=True)
        broken.popitem()
    check_broker(broken, live(), is_default=True)


@pytest.mark.parametrize("name", ["max.connections", "max.connection.creation.rate"])
def test_limits_of_a_listener_may_be_the_same_for_all_brokers(name: str) -> None:
    check_broker({f"listener.name.a.{name}": "5"}, live(), is_default=True)
    config = live()
    config.set_cluster_wide({f"listener.name.a.{name}": "5", "listener.name.a.ssl.protocol": "TLSv1.2"})
    assert config.cluster_wide == {f"listener.name.a.{name}": "5"}


@pytest.mark.parametrize("name", ["ssl.protocol", "ssl.client.auth", "ssl.cipher.suites"])
def test_tls_settings_other_than_stores_need_no_listener(name: str) -> None:
    check_broker({name: "none"}, live(), is_default=False)


@pytest.mark.parametrize("name", ["principal.builder.class", "listener.name.plaintext.principal.builder.class"])
def test_a_protection_that_is_not_given_cannot_be_asked_for_at_run_time(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}=com.example.Own is not supported"):
        check_broker({name: "com.example.Own"}, live(), is_default=False)


@pytest.mark.parametrize("setting", ["max.connections", "max.connection.creation.rate"])
@pytest.mark.parametrize("value", ["0", "-1", "many"])
@pytest.mark.parametrize("is_default", [False, True])
def test_a_listener_cannot_be_limited_to_nothing(
    setting: str, value: str, is_default: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It is refused, and ignored where a tool has written it: no later change and no start must fail because of it."""
    changed = {f"listener.name.a.{setting}": value}
    with pytest.raises(ConfigError, match=f"Invalid value {value} for configuration"):
        check_broker(changed, live(), is_default=is_default)
    assert usable(changed, is_default=is_default) == {}
    layers = live()
    (layers.set_cluster_wide if is_default else layers.set_own)({**changed, "log.retention.ms": "5"})
    assert layers.cluster_wide | layers.own == {"log.retention.ms": "5"}
    assert "A dynamic setting is ignored" in caplog.text


def test_overrides_of_connections_per_address_must_be_readable() -> None:
    check_broker({"max.connections.per.ip.overrides": "10.0.0.1:5"}, live(), is_default=True)
    with pytest.raises(ConfigError, match="'abc' is not of the form host:count"):
        check_broker({"max.connections.per.ip.overrides": "abc"}, live(), is_default=True)


def test_stored_settings_that_no_broker_would_use_are_left_out() -> None:
    good = {"log.cleaner.threads": "2", "my.plugin.setting": "1", "listener.name.a.max.connections": "7"}
    own = {"listener.name.a.ssl.keystore.location": "/x", "sasl.enabled.mechanisms": "PLAIN"}
    bad = {"log.dirs": "/x", "ssl.keystore.location": "/x", "num.io.threads": "x"}
    assert usable({**good, **own, **bad}, is_default=True) == good
    assert usable({**good, **own, **bad}, is_default=False) == {**good, **own}


def test_a_password_that_is_stored_already_may_stay() -> None:
    stored = {"listener.name.a.ssl.keystore.password": "encrypted"}
    check_broker({**stored, "log.cleaner.threads": "2"}, live(), is_default=False, stored=stored)
    for changed in ({"listener.name.a.ssl.keystore.password": "x"}, {"listener.name.b.ssl.key.password": "encrypted"}):
        with pytest.raises(ConfigError, match="Password encoder secret not configured"):
            check_broker(changed, live(), is_default=False, stored=stored)


def test_names_that_mean_nothing_here_are_let_through() -> None:
    check_broker({"my.plugin.setting": "1"}, live(), is_default=True)
    check_broker({"listener.name.a.ssl.keystore.location": "/x"}, live(), is_default=False)


def test_a_broker_s_settings_must_fit_together_with_the_others() -> None:
    config = live()
    config.set_cluster_wide({"log.cleaner.threads": "2"})
    check_broker({"log.cleaner.dedupe.buffer.size": str(4 << 20)}, config, is_default=False)
    with pytest.raises(ConfigError, match="1 MiB per cleaner thread"):
        check_broker({"log.cleaner.dedupe.buffer.size": str(2 << 20)}, config, is_default=False)


@pytest.mark.parametrize(("threads", "fits"), [("4", True), ("16", True), ("3", False), ("17", False)])
def test_thread_pools_double_or_halve_at_most(threads: str, fits: bool) -> None:
    if fits:
        check_broker({"num.io.threads": threads}, live(), is_default=True)
    else:
        with pytest.raises(ConfigError, match="current value 8"):
            check_broker({"num.io.threads": threads}, live(), is_default=True)


def test_levels_are_set_and_deleted_only() -> None:
    loggers.link()
    check_loggers([Edit("kafka.server.KafkaServer", SET, "INFO"), Edit("kafka.log.Log", DELETE, None)])
    with pytest.raises(KafkaError, match="APPEND operation is not allowed for the BROKER_LOGGER resource"):
        check_loggers([Edit("kafka.server.KafkaServer", APPEND, "INFO")])
