"""The steps of the transactional sink on brokers of both makes: fencing, decisions, ends of transactions, time-outs."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.consumer import Consumer
from kafka_py.clients.transaction_calls import ProducerEpoch
from kafka_py.pipeline.exactly_once import protocol
from kafka_py.pipeline.exactly_once.coordination import ClusterWorld, SinkName
from kafka_py.pipeline.exactly_once.decision_log import DecisionLog
from kafka_py.pipeline.exactly_once.decisions import Decision, Driver, Prepared
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.processes import ZookeeperServer

SCOPE = "query"
TASKS = 3


@pytest.fixture(scope="module", params=["apache", "ours"])
def broker(
    request: pytest.FixtureRequest, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AnyBroker]:
    settings = {
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "3",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    }
    if request.param == "apache":
        request.getfixturevalue("apache_kafka")
    connect = f"{zookeeper.connect}/exactly-once-steps-{request.param}"
    make = ApacheBroker if request.param == "apache" else BrokerProcess
    with make(tmp_path_factory.mktemp(request.param), connect, settings=settings) as made:
        yield made


class Killed(Exception):
    """The driver ends here."""


class DyingWorld(ClusterWorld):
    """Dies before or after a step. at: its name, and which side of it."""

    at: tuple[str, str] = ("", "")
    ends_before_death = 1

    def decide(self, driver: Driver, decision: Decision) -> Driver:
        self._die("decide", "before")
        driver = super().decide(driver, decision)
        self._die("decide", "after")
        return driver

    def end(self, transactions, *, commit):
        if self.at == ("end", "within"):
            super().end(transactions[:1], commit=commit)
            raise Killed
        outcomes = super().end(transactions, commit=commit)
        self._die("end", "after")
        return outcomes

    def _die(self, *where: str) -> None:
        if where == self.at:
            raise Killed


class Sink:
    """One prefix and one output topic on one cluster."""

    def __init__(self, bootstrap: str, name: str, timeout_ms: int = 60_000) -> None:
        self.settings = {"bootstrap.servers": bootstrap}
        self.name = SinkName(name, "decisions", timeout_ms)
        self.topic = name
        self.attempts = 0

    def world(self, kind: type[ClusterWorld] = ClusterWorld) -> ClusterWorld:
        return kind(self.name, self.settings)

    def task(self, world: ClusterWorld, start: protocol.Start, batch: int, task: int) -> Prepared | None:
        """Writes one record to the task's partition, as a transactional producer does."""
        if start.is_decided(SCOPE, batch):
            return None
        self.attempts += 1
        lease = protocol.take_slot(world, start, self.name.prefix, task, 0, self.attempts)
        slot, link, where = lease.transactional_id, world._link, TopicPartition(self.topic, task)
        calls, producer = link.run(world._calls()), ProducerEpoch(lease.producer_id, lease.epoch)
        link.run(calls.add_partitions(slot, producer, [where]))
        log = DecisionLog(link, self.topic, patience_s=10)
        log._partition = where
        offset = log.append((b"k", b"%d-%d" % (batch, task)), 1000, Driver(*producer), slot)
        return Prepared(slot, *producer, where, offset)

    def run_batch(self, batch: int, kind: type[ClusterWorld] = ClusterWorld,
                  between: Callable[[], None] = lambda: None) -> None:  # fmt: skip
        with self.world(kind) as world:
            start = protocol.begin(world)
            prepared = [self.task(world, start, batch, task) for task in range(TASKS)]
            between()
            written = [each for each in prepared if each is not None]
            protocol.commit(world, start.driver, start.begun, SCOPE, batch, written)

    def visible(self) -> list[str]:
        """What a read-committed consumer gets up to the end, in any order."""
        settings = {**self.settings, "isolation.level": "read_committed", "auto.offset.reset": "earliest",
                    "enable.auto.commit": "false"}  # fmt: skip
        found: list[str] = []
        with Consumer(settings) as consumer:
            partitions = [TopicPartition(self.topic, task) for task in range(TASKS)]
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions)
            while any(consumer.position(each) < ends[each] for each in partitions):
                found += [record.value.decode() for record in consumer.poll(0.5)]
        return sorted(found)


def rows(batches: int) -> list[str]:
    return sorted(f"{batch}-{task}" for batch in range(batches) for task in range(TASKS))


@pytest.fixture
def sink(broker: AnyBroker, request: pytest.FixtureRequest) -> Sink:
    name = f"s{abs(hash(request.node.name))}"
    broker.create_topic(name, TASKS)
    return Sink(broker.bootstrap, name)


def test_batches_are_visible_once_they_are_committed(sink: Sink) -> None:
    sink.run_batch(0, between=lambda: _check(sink, []))
    _check(sink, rows(1))
    sink.run_batch(0)  # a replay
    sink.run_batch(1)
    _check(sink, rows(2))


def _check(sink: Sink, expected: list[str]) -> None:
    assert sink.visible() == expected


@pytest.mark.parametrize(
    "at", [("decide", "before"), ("decide", "after"), ("end", "within"), ("end", "after")], ids="-".join
)
def test_a_killed_driver_leaves_a_batch_that_the_next_one_finishes_or_writes_again(
    sink: Sink, at: tuple[str, str]
) -> None:
    sink.run_batch(0)
    with suppress(Killed):
        sink.run_batch(1, type("Dying", (DyingWorld,), {"at": at}))
    sink.run_batch(1)
    sink.run_batch(2)
    _check(sink, rows(3))


def test_a_paused_driver_cannot_decide_once_another_has_begun(sink: Sink) -> None:
    with pytest.raises(protocol.TransactionsLost):
        sink.run_batch(0, between=lambda: sink.run_batch(0))
    _check(sink, rows(1))
    with sink.world() as old, sink.world() as new:
        start = protocol.begin(old)
        protocol.begin(new)
        with pytest.raises(KafkaError, match=r"PRODUCER_FENCED.*transactionalIdPrefix"):
            old.decide(start.driver, Decision(SCOPE, 1, True))
    sink.run_batch(1)
    _check(sink, rows(2))


def test_an_attempt_that_does_not_count_is_rolled_back_at_the_end_of_its_batch(sink: Sink) -> None:
    """Also one that comes late: it opens no transaction."""
    with sink.world() as world:
        start = protocol.begin(world)
        prepared = [each for task in range(TASKS) if (each := sink.task(world, start, 0, task)) is not None]
        speculative = sink.task(world, start, 0, 0)
        assert speculative is not None
        protocol.commit(world, start.driver, start.begun, SCOPE, 0, prepared)
        assert not any(world.are_open([speculative]))
        with pytest.raises(KafkaError, match="came too late"):
            sink.task(world, start, 0, 0)
    _check(sink, rows(1))


def test_a_task_that_was_left_behind_cannot_end_what_the_next_driver_has_decided(sink: Sink) -> None:
    sink.run_batch(0)
    with sink.world() as old, sink.world() as world:
        left = protocol.begin(old)
        taken = protocol.take_slot(old, left, sink.name.prefix, 0, 0, 1000)
        start = protocol.begin(world)
        prepared = [each for task in range(TASKS) if (each := sink.task(world, start, 1, task)) is not None]
        world.decide(start.driver, Decision(SCOPE, 1, True, tuple(prepared)))
        late = Prepared(*taken, prepared[0].written, 0)
        assert old.are_open([late, *prepared]) == [False, *[True] * TASKS]
        with pytest.raises(KafkaError, match="came too late"):
            sink.task(old, left, 1, 1)
        assert all(world.are_open(prepared))
    sink.run_batch(2)
    _check(sink, rows(3))


def test_transactions_that_time_out_before_the_decision_are_named(sink: Sink) -> None:
    sink.name = SinkName(sink.name.prefix, "decisions", 1_000)
    with sink.world() as world:
        start = protocol.begin(world)
        prepared = [each for task in range(TASKS) if (each := sink.task(world, start, 0, task)) is not None]
        _until_closed(world, prepared)
        with pytest.raises(protocol.TransactionsLost, match=rf"{sink.name.prefix}-\d+-0-1 .*transaction\.timeout\.ms"):
            protocol.commit(world, start.driver, start.begun, SCOPE, 0, prepared)
    sink.run_batch(0)
    _check(sink, rows(1))


def test_a_decision_is_taken_back_or_torn_when_its_transactions_timed_out(sink: Sink) -> None:
    sink.name = SinkName(sink.name.prefix, "decisions", 1_500)
    with sink.world() as world:
        start = protocol.begin(world)
        prepared = [each for task in range(TASKS) if (each := sink.task(world, start, 0, task)) is not None]
        world.decide(start.driver, Decision(SCOPE, 0, True, tuple(prepared)))
        _until_closed(world, prepared)
    sink.run_batch(0)
    _check(sink, rows(1))
    with sink.world() as world:
        start = protocol.begin(world)
        prepared = [each for task in range(TASKS) if (each := sink.task(world, start, 1, task)) is not None]
        world.decide(start.driver, Decision(SCOPE, 1, True, tuple(prepared)))
        world.end(prepared[:1], commit=True)
        _until_closed(world, prepared[1:])
        world.fence([prepared[0].transactional_id])  # its coordinator forgets how it ended; the partition does not
        with pytest.raises(protocol.TornBatch, match="2 of its 3 transactions"):
            protocol.begin(world)
        assert protocol.begin(world, accept_torn=True).is_decided(SCOPE, 1)


def _until_closed(world: ClusterWorld, prepared: list[Prepared]) -> None:
    """Waits until the coordinator has aborted them all."""
    while any(world.are_open(prepared)):
        pass
