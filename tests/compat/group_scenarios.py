"""Life in a consumer group, played with our consumer on any broker: the same scenes on Apache's and on ours.

A `Reader` is a consumer in a thread that polls, notes what it reads and commits. The scenes are plain functions; the
tests call them with where the broker is.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterable
from types import TracebackType
from typing import Any, Protocol, Self

from kafka_py.clients import (
    CommitFailed,
    Consumer,
    ErrorCode,
    KafkaError,
    Producer,
    RebalanceInProgress,
    RebalanceListener,
    TopicPartition,
)
from kafka_py.clients.coordinator import FIRST_ID
from kafka_py.testing.processes import wait_until

TIMEOUT_S = 60
JAVA = "org.apache.kafka.clients.consumer."
QUICK = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200, "auto.offset.reset": "earliest"}

_groups = itertools.count(1)


def new_group(name: str = "group") -> str:
    """A group id that no other test uses."""
    return f"{name}-{next(_groups)}-{time.time_ns()}"


class Events(RebalanceListener):
    """Notes what a listener hears."""

    consumer: Consumer

    def __init__(self) -> None:
        self.heard: list[tuple[str, list[int]]] = []

    def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        self.heard.append(("revoked", [each.partition for each in partitions]))

    def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.heard.append(("assigned", [each.partition for each in partitions]))

    def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> None:
        self.heard.append(("lost", [each.partition for each in partitions]))

    def of(self, kind: str) -> list[list[int]]:
        return [partitions for each, partitions in self.heard if each == kind and partitions]


class Reader:
    """A consumer that reads in a thread of its own; leaving the context stops it in an orderly way.

    seen: (partition, offset) of all it has read, in order. assigned: partition numbers, as of its last poll.
    before_poll: called in its thread before every poll.
    """

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        self.consumer = Consumer({**QUICK, "bootstrap.servers": bootstrap, "group.id": group, **names})
        self.events = Events()
        self.seen: list[tuple[int, int]] = []
        self.assigned: set[int] = set()
        self.error: BaseException | None = None
        self.before_poll: Callable[[], object] = lambda: None
        self._stopping = threading.Event()
        self._crashed = False
        self.consumer.subscribe([topic], listener=self.events)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while not self._stopping.is_set():
                self.before_poll()
                records = self.consumer.poll(0.1)
                self.seen += [(record.partition, record.offset) for record in records]
                if records:
                    self._commit()
                self.assigned = {each.partition for each in self.consumer.assignment()}
            if not self._crashed:
                self.consumer.close()
        except BaseException as error:
            self.error = error
        self.assigned = set()

    def _commit(self) -> None:
        try:
            self.consumer.commit()
        except (CommitFailed, RebalanceInProgress):
            pass  # read again by whoever has them next

    def crash(self) -> None:
        """Ends without a word to anybody."""
        self._crashed = True
        self._stopping.set()
        self._thread.join(TIMEOUT_S)
        self.consumer._thread.stop()

    def stop(self) -> None:
        """Closes the consumer."""
        self._stopping.set()
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error

    @property
    def generation(self) -> int:
        return self.consumer.group_metadata().generation_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._crashed:
            self._stopping.set()
            self._thread.join(TIMEOUT_S)
        if self.error is not None and error is None:
            raise self.error


def send(bootstrap: str, topic: str, partitions: int, per_partition: int, *, first: int = 0) -> set[tuple[int, int]]:
    """Sends to every partition; returns (partition, offset) of all."""
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        futures = [
            producer.send(topic, b"%d" % (first + number), partition=partition)
            for partition in range(partitions)
            for number in range(per_partition)
        ]
        return {(each.result(TIMEOUT_S).partition, each.result(TIMEOUT_S).offset) for each in futures}


class AnyReader(Protocol):
    """A member of a group, of any make. assigned: partition numbers; seen: (partition, offset) of what it has read."""

    assigned: set[int]
    seen: list[tuple[int, int]]
    error: BaseException | None

    def stop(self) -> None: ...


def wait_shared(readers: Iterable[AnyReader], partitions: int) -> None:
    """Waits until every partition has exactly one reader, and every reader one at least."""
    readers = list(readers)

    def shared() -> bool:
        for reader in readers:
            if reader.error is not None:
                raise reader.error
        shares = [reader.assigned for reader in readers]
        return all(shares) and sorted(number for share in shares for number in share) == list(range(partitions))

    wait_until(shared, TIMEOUT_S, "an assignment of all partitions")


def wait_read(readers: Iterable[AnyReader], sent: set[tuple[int, int]]) -> None:
    """Waits until the readers together have read all of it."""
    readers = list(readers)
    wait_until(lambda: sent <= {each for reader in readers for each in reader.seen}, TIMEOUT_S, "reading it all")


# The scenes


def join_and_leave(bootstrap: str, topic: str, strategy: str, partitions: int) -> None:
    """One reads all; a second takes its part; the first goes, and the second has all: nothing is left out."""
    group = new_group()
    settings = {"partition_assignment_strategy": JAVA + strategy}
    sent = send(bootstrap, topic, partitions, 20)
    with Reader(bootstrap, group, topic, **settings) as first:
        wait_read([first], sent)
        with Reader(bootstrap, group, topic, **settings) as second:
            wait_shared([first, second], partitions)
            more = send(bootstrap, topic, partitions, 20)
            wait_read([first, second], more)
            first.stop()
            wait_shared([second], partitions)
            rest = send(bootstrap, topic, partitions, 20)
            wait_read([second], rest)


def mixed(
    bootstrap: str, topic: str, partitions: int, one: Callable[[str], Any], two: Callable[[str], Any]
) -> list[int]:
    """Two kinds of members share a group, whichever leads: `one` first and then `two`.

    one, two: make a member of the group that they are given the name of.
    Returns how many of their partitions the first two kept when a third joined.
    """
    group = new_group("mixed")
    sent = send(bootstrap, topic, partitions, 10)
    with one(group) as first:
        wait_shared([first], partitions)
        with two(group) as second:
            wait_shared([first, second], partitions)
            shares = [set(first.assigned), set(second.assigned)]
            assert sorted(map(len, shares)) == [partitions // 2, partitions - partitions // 2]
            with one(group) as third:
                wait_shared([first, second, third], partitions)
                sent |= send(bootstrap, topic, partitions, 10)
                wait_read([first, second, third], sent)
                kept = [len(had & now.assigned) for had, now in zip(shares, (first, second), strict=True)]
                first.stop()  # the leader: another one assigns now, by what the others tell it
                wait_shared([second, third], partitions)
                more = send(bootstrap, topic, partitions, 10)
                wait_read([second, third], more)
    return kept


def all_sorts(bootstrap: str, topic: str, partitions: int, others: Iterable[Callable[[str, str, str], Any]]) -> None:
    """Members of many makes in one group, ours among them: they share, read all, and go one by one."""
    group = new_group("all-sorts")
    sent = send(bootstrap, topic, partitions, 10)
    with contextlib.ExitStack() as stack:
        members: list[Any] = [stack.enter_context(Reader(bootstrap, group, topic))]
        for make in others:
            members.append(stack.enter_context(make(bootstrap, group, topic)))
        wait_shared(members, partitions)
        sent |= send(bootstrap, topic, partitions, 10)
        wait_read(members, sent)
        members[0].stop()  # ours led
        left = members[1:]
        wait_shared(left, partitions)
        left.append(stack.enter_context(Reader(bootstrap, group, topic)))  # and now one of the others leads ours
        wait_shared(left, partitions)
        more = send(bootstrap, topic, partitions, 10)
        wait_read(left, more)


def crash(bootstrap: str, topic: str, partitions: int) -> None:
    """A member dies without a word: after session.timeout.ms the other one has its partitions."""
    group = new_group()
    with Reader(bootstrap, group, topic) as first, Reader(bootstrap, group, topic) as second:
        wait_shared([first, second], partitions)
        first.crash()
        sent = send(bootstrap, topic, partitions, 5)
        wait_shared([second], partitions)
        wait_read([second], sent)


def static_restart(bootstrap: str, topic: str, partitions: int) -> None:
    """KIP-345: a member with an instance id comes back to the same partitions, and nobody notices."""
    group = new_group()
    with Reader(bootstrap, group, topic, group_instance_id="other", session_timeout_ms=30_000) as other:
        again = Reader(bootstrap, group, topic, group_instance_id="restarted", session_timeout_ms=30_000)
        with again:
            wait_shared([other, again], partitions)
            generation, had = other.generation, set(again.assigned)
        heard = len(other.events.heard)
        with Reader(bootstrap, group, topic, group_instance_id="restarted", session_timeout_ms=30_000) as again:
            wait_shared([other, again], partitions)
            assert (again.assigned, again.generation) == (had, generation)
            assert other.generation == generation
            assert len(other.events.heard) == heard


def fenced_instance(bootstrap: str, topic: str, partitions: int) -> None:
    """KIP-345: of two consumers with one instance id the later one stays, and the other is told why it ends."""
    group = new_group()
    settings = {"group_instance_id": "only-one", "session_timeout_ms": 30_000}
    first = Reader(bootstrap, group, topic, **settings)
    wait_shared([first], partitions)
    with Reader(bootstrap, group, topic, **settings) as second:
        wait_until(lambda: first.error, TIMEOUT_S, "the end of the first")
        assert isinstance(first.error, KafkaError)
        assert first.error.code is ErrorCode.FENCED_INSTANCE_ID
        wait_shared([second], partitions)
    first.consumer.close()


def polls_too_rarely(bootstrap: str, topic: str, partitions: int) -> None:
    """Beyond max.poll.interval.ms a member loses its partitions; it hears so at its next poll, and joins again."""
    group = new_group()
    go_on = threading.Event()
    with Reader(bootstrap, group, topic) as other:
        wait_shared([other], partitions)
        with Reader(bootstrap, group, topic, max_poll_interval_ms=1000) as slow:
            wait_shared([other, slow], partitions)
            slow.before_poll = lambda: go_on.wait(TIMEOUT_S)
            wait_shared([other], partitions)
            sent = send(bootstrap, topic, partitions, 5)
            wait_read([other], sent)
            assert slow.events.of("lost") == []
            had = sorted(slow.assigned)
            go_on.set()
            wait_until(lambda: slow.events.of("lost") == [had], TIMEOUT_S, "the loss")
            wait_shared([other, slow], partitions)


def cooperative_keeps_reading(bootstrap: str, topic: str, partitions: int) -> None:
    """KIP-429: what a member keeps is never taken from it, and it goes on reading that through the rebalance."""
    group = new_group()
    settings = {"partition_assignment_strategy": JAVA + "CooperativeStickyAssignor"}
    with Reader(bootstrap, group, topic, **settings) as first:
        wait_shared([first], partitions)
        with Reader(bootstrap, group, topic, **settings) as second:
            wait_shared([first, second], partitions)
            assert first.events.of("assigned") == [list(range(partitions))]
            [revoked] = first.events.of("revoked")
            assert len(revoked) == partitions // 2
            assert sorted(second.assigned) == revoked
            assert second.events.of("revoked") == second.events.of("lost") == []


def a_listener_commits(bootstrap: str, topic: str, partitions: int) -> None:
    """WE3-23: what is revoked is committed, also at the very end; so a clean rebalance repeats nothing."""
    group = new_group()

    class Commits(Events):
        def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
            super().on_partitions_revoked(partitions)
            self.consumer.commit()

    settings = {**QUICK, "bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False}
    sent = send(bootstrap, topic, partitions, 10)
    seen: list[tuple[int, int]] = []

    def read(consumer: Consumer, count: int) -> None:
        def has_read() -> bool:
            seen.extend((record.partition, record.offset) for record in consumer.poll(0.1))
            return len(seen) >= count

        wait_until(has_read, TIMEOUT_S, f"{count} records")

    for count in (len(sent) // 2, len(sent)):
        with Consumer({**settings, "max.poll.records": 5}) as consumer:
            listener = Commits()
            listener.consumer = consumer
            consumer.subscribe([topic], listener=listener)
            read(consumer, count)
        assert [kind for kind, _ in listener.heard] == ["assigned", "revoked"]
    assert sorted(seen) == sorted(sent)


def coordinator_moves(
    bootstrap: str, topic: str, partitions: int, stop: Callable[[int], object], start: Callable[[int], object]
) -> None:
    """The coordinator's broker is killed while members join: the group goes on elsewhere, every record is read.

    stop, start: of the broker with a node id; the topic and the group's own have replicas elsewhere.
    """
    group = new_group()
    settings = {"request_timeout_ms": 5000, "metadata_max_age_ms": 1000}
    with Reader(bootstrap, group, topic, **settings) as first:
        wait_shared([first], partitions)
        sent = send(bootstrap, topic, partitions, 20)
        wait_read([first], sent)
        node = _coordinator_of(first)
        with Reader(bootstrap, group, topic, **settings) as second:
            stop(node)  # `second` is joining
            wait_shared([first, second], partitions)
            sent |= send(bootstrap, topic, partitions, 20)
            wait_read([first, second], sent)
            assert _coordinator_of(first) != node
            start(node)
            more = send(bootstrap, topic, partitions, 20)
            wait_read([first, second], more)
    with Consumer({**QUICK, "bootstrap.servers": bootstrap, "group.id": group}) as after:
        parts = [TopicPartition(topic, number) for number in range(partitions)]
        found = after.committed(parts, timeout=TIMEOUT_S)
        assert {partition: each and each.offset for partition, each in found.items()} == dict.fromkeys(parts, 60)


def _coordinator_of(reader: Reader) -> int:
    """The node id of the group's coordinator, as the member knows it."""

    def known() -> int | None:
        group = reader.consumer._core._core.group
        node = group.coordinator.node if group is not None else None
        return None if node is None else FIRST_ID - node.id + 1

    return wait_until(known, TIMEOUT_S, "a coordinator") - 1
