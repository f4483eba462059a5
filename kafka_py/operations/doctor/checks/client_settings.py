"""Settings of clients known to cause trouble, in files that were named, some of them against the brokers' own.

Only what a file sets is looked at: defaults are nobody's mistake.
Source: docs/reference/configs.tsv; ProducerConfig; ConsumerConfig; KIP-62; KIP-91.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_py.operations.doctor.examination import Examination, whole_number
from kafka_py.operations.doctor.findings import DoctorFinding, Severity

DEFAULTS = {
    "acks": "1", "batch.size": "16384", "delivery.timeout.ms": "120000", "enable.idempotence": "false",
    "fetch.max.wait.ms": "500", "heartbeat.interval.ms": "3000", "linger.ms": "0", "max.block.ms": "60000",
    "max.in.flight.requests.per.connection": "5", "max.poll.interval.ms": "300000", "max.poll.records": "500",
    "max.request.size": "1048576", "request.timeout.ms": "30000", "retries": "2147483647",
    "security.protocol": "PLAINTEXT", "session.timeout.ms": "10000", "transaction.timeout.ms": "60000",
}  # fmt: skip
"""Of Apache Kafka 2.8.2."""


class ClientFile:
    """The settings of one file, with defaults."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.settings = settings

    def has(self, *names: str) -> bool:
        """Whether the file sets one of these."""
        return any(name in self.settings for name in names)

    def text(self, name: str) -> str:
        """The value, lower case."""
        return self.settings.get(name, DEFAULTS.get(name, "")).strip().lower()

    def number(self, name: str) -> int:
        """The value; 0 for what is no number."""
        return whole_number(self.settings.get(name, DEFAULTS.get(name, "")).strip()) or 0

    @property
    def is_idempotent(self) -> bool:
        """A transactional producer is, without saying so."""
        return self.text("enable.idempotence") == "true" or self.has("transactional.id")

    @property
    def acks(self) -> str:
        return "all" if self.text("acks") == "-1" else self.text("acks")


class ClientRule(NamedTuple):
    """names: the rule is looked at if the file sets one of them."""

    id: str
    severity: Severity
    names: tuple[str, ...]
    is_met: Callable[[ClientFile], bool]
    what: str
    why: str
    repair: str


E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE
RULES = (
    ClientRule("client-acks", W, ("acks",), lambda file: file.acks in ("0", "1"),
               "acks is not all", "A record is lost if the leader fails before others have copied it; with acks=0 also "
               "without any error.", "acks=all, with min.insync.replicas=2 for the topic."),
    ClientRule("client-idempotence", E, ("enable.idempotence", "transactional.id"),
               lambda file: file.is_idempotent and file.has("acks") and file.acks != "all",
               "idempotence or transactions without acks=all", "The producer refuses to start.",
               "acks=all (or no acks at all)."),
    ClientRule("client-retries", W, ("retries",), lambda file: file.number("retries") == 0,
               "retries is 0", "Every change of a leader fails sends, though another attempt would succeed.",
               "Remove retries; delivery.timeout.ms bounds how long is tried."),
    ClientRule("client-delivery-timeout", E, ("delivery.timeout.ms", "linger.ms", "request.timeout.ms"),
               lambda file: file.has("delivery.timeout.ms")
               and file.number("delivery.timeout.ms") < file.number("linger.ms") + file.number("request.timeout.ms"),
               "delivery.timeout.ms is below linger.ms + request.timeout.ms", "The producer refuses to start.",
               "delivery.timeout.ms=120000, or a smaller request.timeout.ms."),
    ClientRule("client-linger", W, ("linger.ms",), lambda file: file.number("linger.ms") > 1000,
               "linger.ms is above a second", "Each record waits that long unless its batch is full first.",
               "linger.ms=5 to 100."),
    ClientRule("client-order", N, ("max.in.flight.requests.per.connection",),
               lambda file: file.number("max.in.flight.requests.per.connection") > 1
               and not file.is_idempotent and file.number("retries") > 0,
               "several requests are in flight without idempotence", "A retry may put records into another order.",
               "enable.idempotence=true with acks=all."),
    ClientRule("client-in-flight", E, ("max.in.flight.requests.per.connection",),
               lambda file: file.number("max.in.flight.requests.per.connection") > 5 and file.is_idempotent,
               "more than 5 requests in flight with idempotence", "The producer refuses to start.",
               "max.in.flight.requests.per.connection=5."),
    ClientRule("client-heartbeat", W, ("session.timeout.ms", "heartbeat.interval.ms"),
               lambda file: file.number("session.timeout.ms") < 3 * file.number("heartbeat.interval.ms"),
               "session.timeout.ms is less than three heartbeat.interval.ms",
               "One late heartbeat and the group rebalances.",
               "session.timeout.ms=45000 and heartbeat.interval.ms=3000."),
    ClientRule("client-poll-interval", W, ("max.poll.interval.ms",),
               lambda file: file.number("max.poll.interval.ms") < file.number("session.timeout.ms"),
               "max.poll.interval.ms is below session.timeout.ms", "The consumer leaves its group while it works.",
               "max.poll.interval.ms above the longest time between two polls (300000 is the default)."),
    ClientRule("client-poll-records", W, ("max.poll.records", "max.poll.interval.ms"),
               lambda file: file.number("max.poll.records") > 0
               and file.number("max.poll.interval.ms") / file.number("max.poll.records") < 5,
               "less than 5 ms per record between two polls", "The consumer leaves its group when it is slower than "
               "that, and others read its records again.", "A lower max.poll.records, or a longer "
               "max.poll.interval.ms."),
    ClientRule("client-auto-commit", N, ("enable.auto.commit",),
               lambda file: file.text("enable.auto.commit") == "true",
               "enable.auto.commit is true", "Offsets are committed by time, also of records whose work is not done: "
               "after a failure these are skipped.", "enable.auto.commit=false, and commit after the work."),
    ClientRule("client-fetch-wait", W, ("fetch.max.wait.ms", "request.timeout.ms"),
               lambda file: file.number("fetch.max.wait.ms") >= file.number("request.timeout.ms"),
               "fetch.max.wait.ms is not below request.timeout.ms", "Fetches of quiet topics end as lost connections.",
               "fetch.max.wait.ms=500."),
    ClientRule("client-backoff", W, ("reconnect.backoff.ms", "retry.backoff.ms"),
               lambda file: any(file.has(name) and file.number(name) == 0
                                for name in ("reconnect.backoff.ms", "retry.backoff.ms")),
               "a back-off is 0", "A client that fails asks again at once, as fast as it can.",
               "retry.backoff.ms=100 and reconnect.backoff.ms=50."),
    ClientRule("client-plain-password", W, ("security.protocol", "sasl.mechanism"),
               lambda file: file.text("security.protocol") == "sasl_plaintext"
               and file.text("sasl.mechanism") == "plain",
               "passwords cross the network in clear text", "Whoever can listen has the password.",
               "security.protocol=SASL_SSL, or sasl.mechanism=SCRAM-SHA-512."),
    ClientRule("client-login-ignored", W, ("sasl.mechanism", "sasl.jaas.config"),
               lambda file: not file.text("security.protocol").startswith("sasl"),
               "a login is configured, but security.protocol has none", "The login is ignored; the broker closes the "
               "connection, or takes the client for ANONYMOUS.", "security.protocol=SASL_SSL (or SASL_PLAINTEXT)."),
    ClientRule("client-names-unchecked", W, ("ssl.endpoint.identification.algorithm",),
               lambda file: not file.text("ssl.endpoint.identification.algorithm"),
               "the names in certificates are not checked", "Anyone with any certificate of the authority can pass for "
               "a broker.", "Remove ssl.endpoint.identification.algorithm, and give brokers certificates with their "
               "names."),
)  # fmt: skip


def client_files(seen: Examination) -> Iterator[DoctorFinding]:
    """Everything that is wrong with the files by themselves."""
    for name, settings in seen.client_files.items():
        file = ClientFile(settings)
        for rule in RULES:
            if file.has(*rule.names) and rule.is_met(file):
                shown = tuple(f"{each}={settings[each]}" for each in rule.names if each in settings
                              and "jaas" not in each)  # fmt: skip
                what = f"{Path(name).name}: {rule.what}."
                yield DoctorFinding(rule.id, rule.severity, what, rule.why, rule.repair, shown)


def against_brokers(seen: Examination) -> Iterator[DoctorFinding]:
    """What the brokers refuse."""
    limits = (
        ("session.timeout.ms", "group.min.session.timeout.ms", "below", "client-session-below",
         "The group coordinator refuses the consumer: INVALID_SESSION_TIMEOUT."),
        ("session.timeout.ms", "group.max.session.timeout.ms", "above", "client-session-above",
         "The group coordinator refuses the consumer: INVALID_SESSION_TIMEOUT."),
        ("transaction.timeout.ms", "transaction.max.timeout.ms", "above", "client-transaction-above",
         "The transaction coordinator refuses the producer: INVALID_TRANSACTION_TIMEOUT."),
        ("max.request.size", "message.max.bytes", "above", "client-request-above",
         "Batches above the brokers' limit are refused: MESSAGE_TOO_LARGE."),
    )  # fmt: skip
    for name, settings in seen.client_files.items():
        for own, theirs, side, found, why in limits:
            value = whole_number(settings.get(own))
            allowed = [number for broker in seen.broker_settings
                       if (number := whole_number(seen.setting(broker, theirs))) is not None]  # fmt: skip
            if value is None or not allowed:
                continue
            limit = max(allowed) if side == "below" else min(allowed)
            if (value < limit) if side == "below" else (value > limit):
                severity = W if own == "max.request.size" else E
                what = f"{Path(name).name}: {own} is {side} {theirs} of the brokers."
                repair = f"{own}={limit}, or change {theirs} of the brokers."
                yield DoctorFinding(found, severity, what, why, repair, (f"{own}={value}, {theirs}={limit}",))


def missing_stores(seen: Examination) -> Iterator[DoctorFinding]:
    """Stores that are named and do not exist."""
    for name, settings in seen.client_files.items():
        for setting in ("ssl.truststore.location", "ssl.keystore.location"):
            path = settings.get(setting)
            if path and path in seen.missing_files:
                yield DoctorFinding(
                    "client-store-missing",
                    Severity.ERROR,
                    f"{Path(name).name}: there is no file {path}.",
                    "The client refuses to start.",
                    f"Correct {setting}.",
                )
