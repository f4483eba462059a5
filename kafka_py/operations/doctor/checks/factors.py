"""Replication factors: of topics, of the internal topics, and of the settings by which they will be created."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.operations.doctor.examination import Examination, whole_number
from kafka_py.operations.doctor.findings import DoctorFinding, Severity, shortened

INTERNAL = {
    "__consumer_offsets": ("offsets", "offsets.topic.replication.factor", "groups lose their committed offsets"),
    "__transaction_state": (
        "transactions", "transaction.state.log.replication.factor", "transactions cannot be finished"
    ),
}  # fmt: skip
"""Topic -> the word in the finding's id, the setting, what is lost with it."""
ENOUGH = 3


def _reassign(seen: Examination, topic: str) -> str:
    return (
        f"Add replicas: write a plan with {min(ENOUGH, _live(seen))} brokers per partition of {topic} and run "
        f"`kafka-reassign-partitions.sh --bootstrap-server {seen.servers} --reassignment-json-file PLAN --execute`"
    )


def _live(seen: Examination) -> int:
    return len(seen.snapshot.nodes) if seen.snapshot is not None else 0


def internal_topics(seen: Examination) -> Iterator[DoctorFinding]:
    """__consumer_offsets and __transaction_state with too few replicas."""
    if seen.snapshot is None:
        return
    wanted = min(ENOUGH, _live(seen))
    for topic, (word, setting, loss) in INTERNAL.items():
        info = seen.snapshot.topics.get(topic)
        if info is None or not info.partitions:
            continue
        factor = min(len(each.replicas) for each in info.partitions)
        if factor < wanted:
            yield DoctorFinding(
                f"{word}-factor",
                Severity.WARNING,
                f"{topic} has a replication factor of {factor}; {_live(seen)} brokers are live.",
                f"If its only broker fails, {loss}, and groups or producers wait for a coordinator.",
                f"{_reassign(seen, topic)}, and set {setting}={wanted} for the next cluster.",
                (f"{len(info.partitions)} partitions, the least replicated has {factor} replicas",),
            )


def factors_of_settings(seen: Examination) -> Iterator[DoctorFinding]:
    """Settings that ask for more brokers than there are, and low ones of internal topics that do not exist yet."""
    if seen.snapshot is None or not seen.broker_settings:
        return
    live = _live(seen)
    for topic, (word, setting, loss) in INTERNAL.items():
        values = {whole_number(seen.setting(broker, setting)) for broker in seen.broker_settings}
        known = sorted(value for value in values if value is not None)
        if not known or topic in seen.snapshot.topics:
            continue
        if known[-1] > live:
            yield DoctorFinding(
                f"{word}-factor-above-brokers",
                Severity.ERROR,
                f"{setting} is {known[-1]}, and {live} broker{'s are' if live > 1 else ' is'} live.",
                f"{topic} cannot be created: every group or transaction waits for its coordinator "
                "(COORDINATOR_NOT_AVAILABLE).",
                f"Start {known[-1] - live} more broker{'s' if known[-1] - live > 1 else ''}, or set {setting}={live} "
                "in server.properties and restart.",
            )
        elif known[0] < min(ENOUGH, live):
            yield DoctorFinding(
                f"{word}-factor",
                Severity.WARNING,
                f"{setting} is {known[0]}; {live} brokers are live, and {topic} does not exist yet.",
                f"It is created with this factor at its first use; if its broker then fails, {loss}.",
                f"Set {setting}={min(ENOUGH, live)} in every server.properties and restart, before its first use.",
            )
    yield from _default_factor(seen, live)


def _default_factor(seen: Examination, live: int) -> Iterator[DoctorFinding]:
    name = "default.replication.factor"
    asked = [whole_number(seen.setting(broker, name)) or 0 for broker in seen.broker_settings]
    if max(asked, default=0) > live:
        yield DoctorFinding(
            "default-factor-above-brokers",
            Severity.ERROR,
            f"{name} is {max(asked)}, and {live} broker{'s are' if live > 1 else ' is'} live.",
            "Topics that are created without a factor of their own are refused (INVALID_REPLICATION_FACTOR).",
            f"Start more brokers, or set {name}={live}.",
        )


def single_replicas(seen: Examination) -> Iterator[DoctorFinding]:
    """Topics with one replica on a cluster of several brokers."""
    if seen.snapshot is None or _live(seen) < 2:
        return
    found = [
        name
        for name, topic in seen.snapshot.topics.items()
        if name not in INTERNAL and any(len(each.replicas) == 1 for each in topic.partitions)
    ]
    if found:
        yield DoctorFinding(
            "factor-one",
            Severity.WARNING,
            f"{len(found)} topic{'s have partitions' if len(found) > 1 else ' has partitions'} with one replica.",
            "With its broker such a partition is out of reach, and with its disk lost.",
            f"{_reassign(seen, 'the topic')}. New topics: default.replication.factor={min(ENOUGH, _live(seen))}.",
            shortened(found),
        )
