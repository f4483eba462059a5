"""Settings of clients known to cause trouble, by themselves and against the brokers'."""

from dataclasses import replace

import pytest

from kafka_py.operations.doctor.checks import client_settings
from kafka_py.operations.doctor.findings import Severity

from .seen_clusters import ids, only, seen

BAD = [
    ("client-acks", "acks=0"),
    ("client-acks", "acks=1"),
    ("client-idempotence", "enable.idempotence=true acks=1"),
    ("client-retries", "retries=0"),
    ("client-delivery-timeout", "delivery.timeout.ms=10000 request.timeout.ms=30000"),
    ("client-linger", "linger.ms=5000"),
    ("client-order", "max.in.flight.requests.per.connection=3"),
    ("client-in-flight", "max.in.flight.requests.per.connection=9 enable.idempotence=true"),
    ("client-in-flight", "max.in.flight.requests.per.connection=9 transactional.id=t"),
    ("client-heartbeat", "session.timeout.ms=6000 heartbeat.interval.ms=3000"),
    ("client-poll-interval", "max.poll.interval.ms=5000"),
    ("client-poll-records", "max.poll.records=100000"),
    ("client-auto-commit", "enable.auto.commit=true"),
    ("client-fetch-wait", "fetch.max.wait.ms=40000"),
    ("client-backoff", "reconnect.backoff.ms=0"),
    ("client-plain-password", "security.protocol=SASL_PLAINTEXT sasl.mechanism=PLAIN"),
    ("client-login-ignored", "sasl.mechanism=PLAIN"),
    ("client-names-unchecked", "ssl.endpoint.identification.algorithm="),
]


def settings(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split())


def found(text: str) -> list[str]:
    return [each for each, _ in ids(client_settings.client_files, seen(client_files={"/c.properties": settings(text)}))]


@pytest.mark.parametrize(("expected", "text"), BAD)
def test_each_rule_finds_what_it_is_about(expected: str, text: str) -> None:
    assert expected in found(text)


def test_every_rule_has_a_case() -> None:
    assert {expected for expected, _ in BAD} == {rule.id for rule in client_settings.RULES}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bootstrap.servers=a:1 group.id=g",
        "acks=all enable.idempotence=true linger.ms=5",
        "acks=-1 transactional.id=t",
        "acks=all transactional.id=t max.in.flight.requests.per.connection=3",
        "session.timeout.ms=45000 heartbeat.interval.ms=3000 enable.auto.commit=false isolation.level=read_committed",
        "security.protocol=SASL_SSL sasl.mechanism=PLAIN sasl.jaas.config=x",
        "linger.ms=rubbish",
    ],
)
def test_settings_in_order_are_no_finding(text: str) -> None:
    assert found(text) == []


def test_evidence_shows_no_login() -> None:
    files = {"c": settings("sasl.jaas.config=secret sasl.mechanism=PLAIN")}
    assert only(client_settings.client_files, seen(client_files=files)).evidence == ("sasl.mechanism=PLAIN",)


@pytest.mark.parametrize(
    ("own", "theirs", "expected"),
    [
        ("session.timeout.ms=5000", "group.min.session.timeout.ms=6000", "client-session-below"),
        ("session.timeout.ms=5000000", "group.max.session.timeout.ms=1800000", "client-session-above"),
        ("transaction.timeout.ms=2000000", "transaction.max.timeout.ms=900000", "client-transaction-above"),
        ("max.request.size=9000000", "message.max.bytes=1048588", "client-request-above"),
    ],
)
def test_what_the_brokers_refuse_is_found(own: str, theirs: str, expected: str) -> None:
    what = seen(client_files={"c": settings(own)}, settings=settings(theirs))
    assert [each for each, _ in ids(client_settings.against_brokers, what)] == [expected]
    assert ids(client_settings.against_brokers, seen(client_files={"c": settings(own)})) == []


@pytest.mark.parametrize(
    ("own", "theirs", "limits"),
    [
        ("session.timeout.ms=7000", "group.min.session.timeout.ms", ("6000", "8000")),
        ("session.timeout.ms=7000", "group.max.session.timeout.ms", ("8000", "6000")),
    ],
)
def test_what_one_broker_refuses_is_enough(own: str, theirs: str, limits: tuple[str, str]) -> None:
    what = seen(client_files={"c": settings(own)})
    what = replace(what, broker_settings={number: {theirs: limit} for number, limit in enumerate(limits)})
    assert len(ids(client_settings.against_brokers, what)) == 1


def test_a_store_that_does_not_exist_is_an_error() -> None:
    files = {"c": {"ssl.truststore.location": "/no/such.p12"}}
    what = seen(client_files=files, missing_files=frozenset({"/no/such.p12"}))
    assert ids(client_settings.missing_stores, what) == [("client-store-missing", Severity.ERROR)]
    assert ids(client_settings.missing_stores, seen(client_files=files)) == []
