"""What login entries and settings say about Kerberos."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.kerberos_settings import (
    KerberosEntry,
    KerberosRules,
    acceptor_entry,
    kerberos_entry,
    service_name,
)

BROKER = {"useKeyTab": "true", "storeKey": "true", "keyTab": "/etc/k.keytab", "principal": "kafka/b1@R"}


@pytest.mark.parametrize(
    ("options", "entry"),
    [
        (BROKER, KerberosEntry("kafka/b1@R", "/etc/k.keytab", None)),
        ({**BROKER, "keyTab": "FILE:/k"}, KerberosEntry("kafka/b1@R", "/k", None)),
        ({"useKeyTab": "TRUE", "principal": "a@R"}, KerberosEntry("a@R", "", None)),
        ({"useTicketCache": "true"}, KerberosEntry(None, None, "")),
        ({"useTicketCache": "true", "ticketCache": "file:/t", "keyTab": "/k"}, KerberosEntry(None, None, "/t")),
    ],
)
def test_an_entry_is_read_as_java_reads_it(options: dict[str, str], entry: KerberosEntry) -> None:
    assert kerberos_entry(options) == entry


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "neither useKeyTab=true nor useTicketCache=true"),
        ({"useKeyTab": "false", "keyTab": "/k", "principal": "a"}, "neither useKeyTab=true"),
        ({"useKeyTab": "true", "keyTab": "/k"}, "no principal"),
        ({"useKeyTab": "true", "keyTab": "/k", "principal": "*"}, "no principal"),
    ],
)
def test_an_entry_without_credentials_is_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        kerberos_entry(options)


def test_a_broker_needs_keys() -> None:
    assert acceptor_entry(BROKER).keytab == "/etc/k.keytab"
    with pytest.raises(ConfigError, match="needs useKeyTab=true"):
        acceptor_entry({"useTicketCache": "true"})


def test_the_service_has_one_name() -> None:
    assert service_name({"serviceName": "kafka"}, None) == "kafka"
    assert service_name({}, "kafka") == "kafka"
    assert service_name({"serviceName": "kafka"}, "kafka") == "kafka"
    with pytest.raises(ConfigError, match="they must be the same"):
        service_name({"serviceName": "kafka"}, "other")
    with pytest.raises(ConfigError, match=r"needs sasl\.kerberos\.service\.name"):
        service_name({}, None)


@pytest.mark.parametrize(
    ("ends_ms", "drawn", "due_ms"),
    [
        (1_000_000, 0.0, 800_000),
        (1_000_000, 1.0, 850_000),
        (70_000, 0.0, 60_000),  # min.time.before.relogin
        (30_000, 0.0, 30_000),  # a ticket that ends before that is used to its end
    ],
)
def test_when_a_ticket_is_due(ends_ms: float, drawn: float, due_ms: float) -> None:
    assert KerberosRules().due_ms(0.0, ends_ms, drawn) == pytest.approx(due_ms)
