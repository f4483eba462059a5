"""Transactions: of coordinators, open ones in partitions, hanging ones and their end (KIP-664).

Brokers before 3.0 do not list transactions; the open ones in partitions are known from 2.8 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.transactions import (
    AbortTransactionSpec,
    ProducerDescription,
    TransactionDescription,
    TransactionListing,
)
from kafka_py.manager.pages.commands import command
from kafka_py.manager.pages.looks import seen
from kafka_py.manager.pages.security.partial import or_problem
from kafka_py.manager.web.answers import Effect, Page, PageList, PlannedChange, ProblemRow
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, PAGING, RouteParameter, changes, reads
from kafka_py.operations.cluster_view.derived import is_offline, partitions
from kafka_py.operations.cluster_view.snapshot import ViewPart

MINUTE_MS = 60_000
USUAL_MINUTES = 15
"""The longest time-out that brokers permit unless set otherwise: an older transaction should have ended."""
MOST_PARTITIONS = 2_000
"""More are only looked at topic by topic."""


class TransactionRow(NamedTuple):
    """A transactional id, as its coordinator lists it."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class TransactionsPage:
    """The transactional ids of the part that is shown."""

    transactions: list[TransactionRow]
    search: str
    part: PageList
    problems: list[ProblemRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TransactionPage:
    """One transactional id. lasted_ms: null without an open transaction."""

    found: TransactionDescription
    partitions: list[str]
    lasted_ms: int | None


class OpenTransactionRow(NamedTuple):
    """A transaction that is open in a partition. why: of one that hangs; empty for any other."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    start_offset: int
    idle_ms: int
    transactional_id: str
    why: str


@dataclass(frozen=True, slots=True)
class OpenTransactionsPage:
    """Open transactions, those that hang first. partitions: how many were looked at."""

    topic: str
    minutes: int
    found: list[OpenTransactionRow]
    partitions: int
    problems: list[ProblemRow] = field(default_factory=list)


async def transactions(request: PageRequest) -> Page:
    """The list of transactional ids."""
    problems: list[ProblemRow] = []
    none: dict[int, list[TransactionListing]] = {}
    found = await or_problem("the transactional ids", request.cluster.admin.list_transactions(), none, problems)
    search = request.text("search", "")
    rows = sorted(
        TransactionRow(*each, coordinator)
        for coordinator, some in found.items()
        for each in some
        if search in each.transactional_id
    )
    shown = request.page_list(len(rows))
    model = TransactionsPage(rows[shown.start : shown.end], search, shown, problems)
    return Page("security/transactions.html", model, "Transactions")


async def transaction(request: PageRequest) -> Page:
    """One transactional id."""
    wanted = request.exact("id")
    found = (await request.cluster.admin.describe_transactions([wanted])).value(wanted)
    now_ms = request.services.environment.clock.wall_ms()
    lasted_ms = None if found.start_ms is None else now_ms - found.start_ms
    model = TransactionPage(found, [str(each) for each in found.partitions], lasted_ms)
    return Page("security/transaction.html", model, f"Transactional id {wanted}")


def rows_of(
    producers: Mapping[TopicPartition, Sequence[ProducerDescription] | KafkaError],
    ids: Mapping[int, str],
    described: Mapping[str, TransactionDescription] | None,
    now_ms: int,
    longest_ms: int,
) -> Iterator[OpenTransactionRow]:
    """The open transactions.

    ids: transactional ids by producer id. described: the transactions that coordinators know; None if they were not
    asked, so that only the age tells. longest_ms: without a batch for longer a transaction may hang.
    """
    for (topic, number), found in producers.items():
        for each in () if isinstance(found, KafkaError) else found:
            if each.transaction_start_offset is None:
                continue
            idle_ms = now_ms - each.last_timestamp
            own = ids.get(each.producer_id, "")
            why = ""
            if idle_ms > longest_ms:
                why = why_hanging(TopicPartition(topic, number), own, described)
            yield OpenTransactionRow(
                topic, number, each.producer_id, each.producer_epoch, each.transaction_start_offset, idle_ms, own, why
            )


def why_hanging(
    partition: TopicPartition, own: str, described: Mapping[str, TransactionDescription] | None
) -> str:
    """Why no coordinator will end an old transaction; empty if one will."""
    if described is None:
        return "older than any time-out; these brokers cannot be asked for the coordinator's view"
    if own not in described:
        return "no coordinator knows its producer"
    if partition in described[own].partitions:
        return ""
    return "its coordinator does not know that the partition takes part"


def open_ids(producers: Mapping[TopicPartition, Sequence[ProducerDescription] | KafkaError]) -> list[int]:
    """The producers with an open transaction in some partition."""
    found = [each for some in producers.values() if not isinstance(some, KafkaError) for each in some]
    return sorted({each.producer_id for each in found if each.transaction_start_offset is not None})


async def _coordinators_view(
    admin: AsyncAdminClient, producer_ids: list[int], problems: list[ProblemRow]
) -> tuple[dict[int, str], dict[str, TransactionDescription] | None]:
    """The transactional ids of producers, and what coordinators know of these; None if they cannot be asked."""
    if not producer_ids:
        return {}, {}
    none: dict[int, list[TransactionListing]] = {}
    asked = admin.list_transactions(producer_ids=producer_ids)
    listed = await or_problem("the coordinators' view", asked, none, problems)
    if not listed:
        return {}, None
    ids = {each.producer_id: each.transactional_id for some in listed.values() for each in some}
    known = await admin.describe_transactions(list(ids.values()))
    return ids, {name: each for name, each in known.items() if not isinstance(each, KafkaError)}


async def open_transactions(request: PageRequest) -> Page:
    """Looks at the partitions of a topic, or of all if there are not too many."""
    topic = request.text("topic", "")
    minutes = request.number("minutes", USUAL_MINUTES, least=0, greatest=1_000_000)
    snapshot = await seen(request.cluster, ViewPart.TOPICS, topics=[topic] if topic else None)
    wanted = [each.topic_partition for each in partitions(snapshot) if not is_offline(snapshot, each)]
    if len(wanted) > MOST_PARTITIONS:
        why = f"The cluster has {len(wanted)} partitions: name a topic"
        model = OpenTransactionsPage(topic, minutes, [], 0, [ProblemRow("all topics", why)])
        return Page("security/open.html", model, "Open transactions")
    producers = await request.cluster.admin.describe_producers(wanted)
    problems = [ProblemRow(str(each), error.message) for each, error in producers.errors().items()][:20]
    ids, described = await _coordinators_view(request.cluster.admin, open_ids(producers), problems)
    now_ms = request.services.environment.clock.wall_ms()
    rows = sorted(rows_of(producers, ids, described, now_ms, minutes * MINUTE_MS), key=lambda row: (not row.why, row))
    model = OpenTransactionsPage(topic, minutes, rows, len(wanted), problems)
    return Page("security/open.html", model, "Open transactions")


async def abort(request: PageRequest) -> PlannedChange:
    """Ends an open transaction in one partition by a marker."""
    partition = TopicPartition(request.text("topic"), request.number("partition"))
    start = request.number("start_offset")
    admin = request.cluster.admin
    found = (await admin.describe_producers([partition])).value(partition)
    producer = next((each for each in found if each.transaction_start_offset == start), None)
    if producer is None:
        raise NotFound(f"No transaction that is open in {partition} begins at offset {start}")
    spec = AbortTransactionSpec(
        partition, producer.producer_id, producer.producer_epoch, max(0, producer.coordinator_epoch)
    )

    async def apply() -> str:
        await admin.abort_transaction(spec)
        return f"The transaction of producer {producer.producer_id} in {partition} was aborted."

    words = ("abort", "--topic", partition.topic, "--partition", partition.partition, "--start-offset", start)
    return PlannedChange(
        f"Abort the transaction of producer {producer.producer_id} in {partition}",
        command(request.cluster, "kafka-transactions.sh", *words), apply,
        f"/clusters/{part(request.cluster.name)}/transactions/open?topic={part(partition.topic)}",
        [Effect(str(partition), f"open since offset {start}", "aborted")],
        ["A transaction that its producer still uses loses what it wrote to this partition. Abort only what hangs."],
        is_dangerous=True,
    )  # fmt: skip


ROUTES = (
    reads(
        f"{CLUSTER}/transactions", transactions, "The transactional ids.", TransactionsPage,
        RouteParameter("search", "Part of the id."), *PAGING, menu="Transactions",
    ),
    reads(
        f"{CLUSTER}/transactions/open", open_transactions, "Open and hanging transactions in partitions.",
        OpenTransactionsPage, RouteParameter("topic", "Only this one."),
        RouteParameter("minutes", "Without a batch for longer a transaction may hang.", "integer"),
        under="Transactions",
    ),
    reads(
        f"{CLUSTER}/transactions/one", transaction, "One transactional id.", TransactionPage,
        RouteParameter("id", "The transactional id.", is_required=True), under="Transactions",
    ),
    changes(
        f"{CLUSTER}/transactions/abort", abort, "Aborts a hanging transaction in a partition.",
        RouteParameter("topic", "Of the partition.", is_required=True),
        RouteParameter("partition", "Its number.", "integer", is_required=True),
        RouteParameter("start_offset", "Where the transaction begins.", "integer", is_required=True),
        under="Transactions",
    ),
)  # fmt: skip
