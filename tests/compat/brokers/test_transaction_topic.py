"""The transaction topic goes from our broker to Apache's and back, and both answer the same requests alike.

The same ZooKeeper, port, broker id and folder all along; only the software changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from brokers.test_offsets_topic import Journey

from kafka_py.base.errors import ErrorCode
from kafka_py.testing.peers.apache import Jars
from kafka_py.testing.topics import create_topic
from kafka_py.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_py.wire.messages.end_txn import EndTxnRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest

pytestmark = pytest.mark.timeout(300)

TOPIC = "written"
PATIENCE_S = 60
AGAIN = {
    ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}  # fmt: skip
SETTINGS = {"transaction.state.log.num.partitions": "3"}


class Producer(NamedTuple):
    """An answer to InitProducerId."""

    code: ErrorCode
    producer_id: int
    epoch: int


class Transactions:
    """The requests of producers to the broker at hand."""

    def __init__(self, journey: Any) -> None:
        self._journey = journey

    def find(self, transactional_id: str) -> None:
        self._patiently(lambda: self._ask(FindCoordinatorRequest(key=transactional_id, key_type=1), 3).error_code)

    def init(self, transactional_id: str, version: int = 4, *, waits: bool = True, **fields: Any) -> Producer:
        values: dict[str, Any] = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000} | fields
        answers = []

        def ask() -> int:
            answers.append(self._ask(InitProducerIdRequest(**values), version))
            return answers[-1].error_code if waits else 0

        self._patiently(ask)
        last = answers[-1]
        return Producer(ErrorCode(last.error_code), last.producer_id, last.producer_epoch)

    def add(
        self, transactional_id: str, producer: Producer, *names: str, version: int = 3, waits: bool = True
    ) -> list[ErrorCode]:
        """names: of topics and their partitions, `t-0`."""
        topics: dict[str, list[int]] = {}
        for name, _, number in (each.rpartition("-") for each in names):
            topics.setdefault(name, []).append(int(number))
        request = AddPartitionsToTxnRequest(
            transactional_id=transactional_id, producer_id=producer.producer_id, producer_epoch=producer.epoch,
            topics=[AddPartitionsToTxnTopic(name=name, partitions=numbers) for name, numbers in topics.items()],
        )  # fmt: skip
        codes: dict[str, ErrorCode] = {}

        def ask() -> int:
            for topic in self._ask(request, version).results:
                for row in topic.results:
                    codes[f"{topic.name}-{row.partition_index}"] = ErrorCode(row.error_code)
            return next(iter(codes.values())) if codes and waits else 0

        self._patiently(ask)
        return [codes[name] for name in names]

    def offsets(self, transactional_id: str, producer: Producer, version: int = 3) -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=transactional_id, producer_id=producer.producer_id, producer_epoch=producer.epoch,
            group_id="group",
        )  # fmt: skip
        return ErrorCode(self._patiently(lambda: self._ask(request, version).error_code))

    def end(
        self, transactional_id: str, producer: Producer, *, commit: bool, version: int = 3
    ) -> ErrorCode:
        request = EndTxnRequest(
            transactional_id=transactional_id, producer_id=producer.producer_id, producer_epoch=producer.epoch,
            committed=commit,
        )  # fmt: skip
        return ErrorCode(self._patiently(lambda: self._ask(request, version).error_code))

    def _ask(self, request: object, version: int) -> Any:
        return self._journey.ask(request, version)

    def _patiently(self, ask: Any) -> int:
        """The first code that does not ask for patience."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            code = int(ask())
            if code not in AGAIN or time.monotonic() > deadline:
                return code
            time.sleep(0.05)


@pytest.fixture
def journey(apache_kafka: Jars, tmp_path: Path, zk_chroot: str) -> Iterator[Any]:
    made = Journey(apache_kafka, tmp_path, zk_chroot, SETTINGS)
    yield made
    made.apache.kill()
    made.ours.kill()


def story(do: Transactions, name: str) -> list[object]:
    """One producer after the other with the same id, right and wrong; codes and epochs, producer ids by their order."""
    told: list[object] = []
    ids: dict[int, int] = {-1: -1}

    def tell(answer: Producer | ErrorCode | list[ErrorCode]) -> None:
        if isinstance(answer, Producer):
            told.append((answer.code.name, ids.setdefault(answer.producer_id, len(ids)), answer.epoch))
        else:
            told.append([code.name for code in answer] if isinstance(answer, list) else answer.name)

    do.find(name)
    nobody = Producer(ErrorCode.NONE, 123_456, 0)
    for version in (0, 3):
        tell(do.end(name, nobody, commit=True, version=version))
        tell(do.add(name, nobody, "written-0", version=version))
        tell(do.offsets(name, nobody, version=version))
    wrong: list[dict[str, Any]] = [
        {"transaction_timeout_ms": 0}, {"transaction_timeout_ms": 900_001}, {"producer_id": 5}, {"producer_epoch": 5},
    ]  # fmt: skip
    for fields in wrong:
        tell(do.init(name, **fields))
    tell(do.init(""))
    tell(do.add("", nobody, "written-0"))
    tell(do.end("", nobody, commit=True))
    first = do.init(name)
    tell(first)
    tell(do.end(name, first, commit=True))
    tell(do.end(name, first, commit=False))
    tell(do.add(name, first, "written-0", "absent-0", "written-9", "__consumer_offsets-0"))
    tell(do.add(name, first, "written-0", "written-1"))
    tell(do.add(name, first, "written-1"))
    tell(do.offsets(name, first))
    tell(do.init(name, waits=False))  # which fences the first
    for version in range(4):
        tell(do.end(name, first, commit=True, version=version))
        tell(do.add(name, first, "written-0", version=version))
        tell(do.offsets(name, first, version=version))
    second = do.init(name)
    tell(second)
    for commit in (True, False):
        tell(do.add(name, second, "written-0"))
        tell(do.end(name, second, commit=commit))
        tell(do.end(name, second, commit=commit))
        tell(do.end(name, second, commit=not commit))
    tell(do.add(name, second, "written-0"))
    tell(do.end(name, second, commit=True))
    named: dict[str, Any] = {"producer_id": second.producer_id, "producer_epoch": second.epoch}
    third = do.init(name, **named)
    tell(third)
    tell(do.init(name, **named))  # the same again
    tell(do.init(name, producer_id=third.producer_id, producer_epoch=third.epoch))
    for version in (3, 4):
        tell(do.init(name, version, **named))
        tell(do.init(name, version, producer_id=999_999, producer_epoch=0))
    return told


def test_both_brokers_answer_producers_alike(journey: Any) -> None:
    do = Transactions(journey)
    journey.apache.start()
    create_topic([journey.bootstrap], TOPIC, 2)
    theirs = story(do, "asked-apache")
    journey.apache.stop()
    journey.ours.start()
    assert story(do, "asked-ours") == theirs


@pytest.mark.parametrize("begins", ["ours", "apache"])
def test_what_one_broker_begins_the_other_ends(journey: Any, begins: str) -> None:
    brokers = (journey.ours, journey.apache) if begins == "ours" else (journey.apache, journey.ours)
    do = Transactions(journey)
    names = ("empty", "committed", "aborted", "open-1", "open-2", "open-3")
    producers: dict[str, Producer] = {}
    brokers[0].start()
    create_topic([journey.bootstrap], TOPIC, 2)
    for name in names:
        do.find(name)
        producers[name] = do.init(name)
        if name != "empty":
            assert do.add(name, producers[name], "written-0", "written-1") == [ErrorCode.NONE] * 2
    assert do.end("committed", producers["committed"], commit=True) is ErrorCode.NONE
    assert do.end("aborted", producers["aborted"], commit=False) is ErrorCode.NONE
    do.add("committed", producers["committed"], "written-0")  # when the markers of the former one are written
    assert do.end("committed", producers["committed"], commit=True) is ErrorCode.NONE
    brokers[0].stop()

    brokers[1].start()
    for name in names:
        do.find(name)
    assert do.end("open-1", producers["open-1"], commit=True) is ErrorCode.NONE
    assert do.end("open-2", producers["open-2"], commit=False) is ErrorCode.NONE
    assert do.end("empty", producers["empty"], commit=True) is ErrorCode.INVALID_TXN_STATE
    assert do.end("committed", producers["committed"], commit=True) is ErrorCode.NONE
    assert do.end("aborted", producers["aborted"], commit=True) is ErrorCode.INVALID_TXN_STATE
    fenced = do.init("open-3")
    assert (fenced.producer_id, fenced.epoch) == (producers["open-3"].producer_id, 2)
    for name in ("empty", "committed", "aborted", "open-1", "open-2"):
        again = do.init(name)
        assert (again.code, again.producer_id, again.epoch) == (ErrorCode.NONE, producers[name].producer_id, 1), name
        assert do.add(name, again, "written-0") == [ErrorCode.NONE]
        producers[name] = again
    brokers[1].stop()

    brokers[0].start()
    for name in ("empty", "committed", "aborted", "open-1", "open-2"):
        do.find(name)
        assert do.end(name, producers[name], commit=True) is ErrorCode.NONE
        assert do.init(name).epoch == 2
