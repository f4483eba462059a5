"""TxnOffsetCommit: who may, in which order that is looked at, and what each partition is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.handlers.groups import txn_offset_commit
from kafka_py.broker.requests.request_context import ANSWERS_LATER
from kafka_py.coordinator.groups.offsets import CommittedOffset, CommittingProducer
from kafka_py.coordinator.groups.requests import CommitRequest
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

Check = tuple[Operation, ResourceType, str]
WRITE_ID: Check = (Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "tx")
READ_GROUP: Check = (Operation.READ, ResourceType.GROUP, "g")
READ_T: Check = (Operation.READ, ResourceType.TOPIC, "t")
READ_U: Check = (Operation.READ, ResourceType.TOPIC, "u")


class Offsets:
    """Takes commits; refusal: what it raises in place of that."""

    def __init__(self, refusal: ErrorCode | None = None) -> None:
        self.refusal = refusal
        self.commits: list[tuple[str, CommitRequest]] = []
        self.answers: list[Callable[[ErrorCode], None]] = []

    def building(self, _group_id: str, request: CommitRequest) -> Iterable[None]:
        assert request.producer is not None
        yield

    def commit(
        self, group_id: str, request: CommitRequest, answer: Callable[[ErrorCode], None], _built: bytes | None = None
    ) -> None:
        if self.refusal is not None:
            raise KafkaError(self.refusal)
        self.commits.append((group_id, request))
        self.answers.append(answer)


class Broker:
    """One request. forbidden: what the authorizer denies. asked: what it was asked."""

    def __init__(self, version: int = 3, *, forbidden: Iterable[Check] = (), offsets: Offsets | None = None) -> None:
        self.offsets = offsets or Offsets()
        self.asked: list[Check] = []
        self.answers: list[Any] = []
        self.protocol = "2.8"
        self._forbidden = set(forbidden)
        self.node: Any = SimpleNamespace(
            authorizer=SimpleNamespace(allows=self._allows),
            clock=ManualClock(),
            config=SimpleNamespace(
                offset_metadata_max_bytes=10,
                inter_broker_version=lambda: SimpleNamespace(at_least=lambda name: self.protocol >= name),
            ),
            metadata=SimpleNamespace(partitions_of=lambda topic: {"t": range(600), "u": range(1)}.get(topic, {})),
            coordinators=SimpleNamespace(offsets=self.offsets),
        )
        self.context: Any = SimpleNamespace(
            api_version=version,
            request_bytes=100,
            answer=self.answers.append,
            metrics=SimpleNamespace(count_error=lambda _name: None),
            connection=SimpleNamespace(mute=lambda: None, unmute=lambda: None),
        )

    def _allows(self, _who: object, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        self.asked.append((operation, resource_type, name))
        return (operation, resource_type, name) not in self._forbidden

    def handle(self, **topics: list[TxnOffsetCommitRequestPartition]) -> Any:
        request = TxnOffsetCommitRequest(
            transactional_id="tx",
            group_id="g",
            producer_id=7,
            producer_epoch=3,
            member_id="m",
            generation_id=4,
            group_instance_id="i",
            topics=[TxnOffsetCommitRequestTopic(name=name, partitions=rows) for name, rows in topics.items()],
        )
        return txn_offset_commit.handle(self.node, self.context, request)


def row(index: int = 0, metadata: str | None = None) -> TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequestPartition(
        partition_index=index, committed_offset=5, committed_leader_epoch=2, committed_metadata=metadata
    )


def codes(response: Any) -> dict[str, list[ErrorCode]]:
    return {topic.name: [ErrorCode(each.error_code) for each in topic.partitions] for topic in response.topics}


def refusal(broker: Broker) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        broker.handle(t=[row()])
    return caught.value.code


def test_what_is_committed_says_whose_transaction_it_is_and_who_reads() -> None:
    broker = Broker()
    assert broker.handle(t=[row(0, "x"), row(1)]) is ANSWERS_LATER
    [(group_id, commit)] = broker.offsets.commits
    assert group_id == "g"
    assert commit[:3] == (4, "m", "i") and commit.producer == CommittingProducer(7, 3)
    now_ms = broker.node.clock.wall_ms()
    assert list(commit.commits.values()) == [
        CommittedOffset(5, 2, "x", now_ms),
        CommittedOffset(5, 2, "", now_ms),
    ]
    broker.offsets.answers[0](ErrorCode.NONE)
    [response] = broker.answers
    assert codes(response) == {"t": [ErrorCode.NONE] * 2}


def test_the_transactional_id_is_looked_at_first_then_the_group_then_the_topics() -> None:
    broker = Broker(forbidden=[WRITE_ID, READ_GROUP, READ_T])
    assert refusal(broker) is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert broker.asked == [WRITE_ID]
    broker = Broker(forbidden=[READ_GROUP, READ_T])
    assert refusal(broker) is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert broker.asked == [WRITE_ID, READ_GROUP]
    broker = Broker(forbidden=[READ_T])
    assert codes(broker.handle(t=[row()])) == {"t": [ErrorCode.TOPIC_AUTHORIZATION_FAILED]}
    assert not broker.offsets.commits, "nothing is left for the group"


def test_each_partition_has_its_own_error() -> None:
    broker = Broker(forbidden=[READ_U])
    broker.handle(t=[row(0), row(700), row(1, "x" * 11)], u=[row(0)], v=[row(0)])
    [(_, commit)] = broker.offsets.commits
    assert [where.partition for where in commit.commits] == [0]
    broker.offsets.answers[0](ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert codes(broker.answers[0]) == {
        "t": [
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ],
        "u": [ErrorCode.TOPIC_AUTHORIZATION_FAILED],
        "v": [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    }


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.INVALID_GROUP_ID, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION,
    ],
)  # fmt: skip
def test_an_error_of_the_group_is_that_of_every_partition_that_came_to_it(error: ErrorCode) -> None:
    broker = Broker(offsets=Offsets(error))
    broker.handle(t=[row(0), row(1, "x" * 11), row(700)])
    assert codes(broker.answers[0]) == {"t": [error, error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]}


@pytest.mark.parametrize("version", range(4))
def test_old_producers_are_not_told_that_the_group_is_loaded(version: int) -> None:
    broker = Broker(version, offsets=Offsets(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    broker.handle(t=[row()])
    told = ErrorCode.COORDINATOR_NOT_AVAILABLE if version < 2 else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert codes(broker.answers[0]) == {"t": [told]}


@pytest.mark.parametrize("error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED])
@pytest.mark.parametrize("version", range(4))
def test_what_the_append_says_of_the_producer_is_passed_on_in_every_version(version: int, error: ErrorCode) -> None:
    broker = Broker(version)
    broker.handle(t=[row()])
    broker.offsets.answers[0](error)
    assert codes(broker.answers[0]) == {"t": [error]}


def test_a_large_request_is_dealt_with_in_turns() -> None:
    broker = Broker()
    broker.context.request_bytes = 100_000

    async def scenario() -> None:
        answering = asyncio.ensure_future(broker.handle(t=[row(number) for number in range(600)]))
        for _ in range(1000):
            await asyncio.sleep(0)
        [(_, commit)] = broker.offsets.commits
        assert len(commit.commits) == 600
        broker.offsets.answers[0](ErrorCode.NONE)
        assert codes(await answering) == {"t": [ErrorCode.NONE] * 600}

    asyncio.run(scenario())


def test_brokers_of_before_transactions_in_the_cluster_forbid_them() -> None:
    broker = Broker()
    broker.protocol = "0.10.2"
    assert refusal(broker) is ErrorCode.UNSUPPORTED_VERSION
