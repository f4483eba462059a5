"""The driver's steps on a cluster: what each answer of a coordinator means for the batch."""

import asyncio

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.transaction_calls import ENDED, ProducerEpoch
from kafka_py.pipeline.exactly_once import coordination, decisions
from kafka_py.pipeline.exactly_once.coordination import ClusterWorld, SinkName
from kafka_py.pipeline.exactly_once.decisions import Decision, DecisionState, Driver, Outcome, Prepared
from kafka_py.pipeline.exactly_once.slots import Claim, Lease

ONE = Prepared("p-1", 7, 3, TopicPartition("t", 0), 40)
TWO = Prepared("p-2", 8, 0, TopicPartition("t", 1), 50)


class Calls:
    """Coordinators that answer as scripted, by transactional id."""

    def __init__(self, errors):
        self.errors = errors
        self.asked = []

    async def _ask(self, *asked):
        self.asked.append(asked)
        error = self.errors.get(asked[1])
        if error is not None:
            raise KafkaError(error, "no")

    async def end(self, name, producer, *, commit):
        await self._ask("end", name, producer, commit)

    async def add_partitions(self, name, producer, partitions):
        await self._ask("add", name, producer, tuple(partitions))

    async def init_producer_id(self, name, timeout_ms):
        await self._ask("init", name, timeout_ms)
        return ProducerEpoch(9, len(self.asked))

    async def each(self, calls):
        return [await each for each in calls]


class MemoryLog:
    """The decision log; transactions count at once. committed: offsets of records that consumers see."""

    partition = TopicPartition("d", 0)

    def __init__(self):
        self.appended = []
        self.committed = []
        self.known = True
        self.there_later = True

    def is_known(self):
        return self.known

    def exists(self):
        return self.there_later

    def append(self, record, timestamp, driver=None, transactional_id=None):
        self.appended.append((record, driver, transactional_id))
        return len(self.appended) - 1

    def records(self, last, first=None):
        return [record for record, *_ in self.appended[first or 0 : last + 1]]

    def was_committed(self, partition, offset, producer_id):
        return offset in self.committed


class InLoop:
    def run(self, work):
        return asyncio.run(work)


@pytest.fixture
def world():
    found = ClusterWorld(SinkName("p", "d", 900_000), {"bootstrap.servers": "h:1"}, InLoop())
    found._log = MemoryLog()
    found._made_calls = Calls({})
    return found


def test_a_transaction_that_the_coordinator_commits_is_committed(world):
    assert world.end([ONE, TWO], commit=True) == [Outcome.COMMITTED] * 2
    assert world._made_calls.asked == [("end", "p-1", (7, 3), True), ("end", "p-2", (8, 0), True)]


@pytest.mark.parametrize("code", sorted(ENDED))
@pytest.mark.parametrize(("seen", "expected"), [([], Outcome.LOST), ([40], Outcome.COMMITTED)])
def test_of_a_transaction_that_its_coordinator_does_not_know_the_partition_tells(world, code, seen, expected):
    world._made_calls.errors["p-1"] = code
    world._log.committed = seen
    assert world.end([ONE, TWO], commit=True) == [expected, Outcome.COMMITTED]


def test_nothing_that_is_aborted_is_committed(world):
    world._log.committed = [40, 50]
    assert world.end([ONE, TWO], commit=False) == [Outcome.LOST] * 2


def test_a_transaction_is_open_until_its_coordinator_says_otherwise_and_other_errors_are_raised(world):
    world._made_calls.errors["p-2"] = ErrorCode.INVALID_PRODUCER_EPOCH
    assert world.are_open([ONE, TWO]) == [True, False]
    assert world._made_calls.asked[0] == ("add", "p-1", (7, 3), (ONE.written,))
    world._made_calls.errors["p-2"] = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    for call in (world.are_open, lambda transactions: world.end(transactions, commit=True)):
        with pytest.raises(KafkaError, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
            call([ONE, TWO])


def test_fenced_slots_are_leases_in_their_order(world):
    assert world.fence(["p-1", "p-2"]) == [Lease("p-1", 9, 1), Lease("p-2", 9, 2)]
    assert [asked[2] for asked in world._made_calls.asked] == [900_000] * 2


def test_a_time_out_above_the_brokers_names_both_settings(world):
    world._made_calls.errors["p-1"] = ErrorCode.INVALID_TRANSACTION_TIMEOUT
    with pytest.raises(KafkaError, match=r"kafka\.transaction\.timeout\.ms is 900000.*transaction\.max\.timeout\.ms"):
        world.fence(["p-1"])


@pytest.mark.parametrize(
    ("known", "error", "there_later", "created"),
    [
        (True, None, True, 0),
        (False, None, False, 1),
        (False, ErrorCode.TOPIC_AUTHORIZATION_FAILED, True, 1),
    ],
)
def test_a_missing_decision_log_is_created_before_anyone_waits_for_it(
    world, monkeypatch, known, error, there_later, created
):
    made = creations(monkeypatch, error)
    world._log.known, world._log.there_later = known, there_later
    assert world.init_driver() == Driver(9, 1)
    assert made == ["d"] * created


def test_a_decision_log_that_cannot_be_created_and_does_not_turn_up_is_an_error(world, monkeypatch):
    creations(monkeypatch, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    world._log.known = world._log.there_later = False
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        world.init_driver()


def creations(monkeypatch, error):
    """Topics that are created, each with this error."""
    made = []

    def create(settings, topic):
        made.append(topic)
        if error is not None:
            raise KafkaError(error, "no")

    monkeypatch.setattr(coordination, "create_topic", create)
    return made


def test_all_records_of_a_decision_are_in_one_transaction_with_sequences_of_their_own(world, monkeypatch):
    monkeypatch.setattr(decisions, "PART_BYTES", 10)
    driver = world.decide(Driver(5, 3, 7), Decision("q", 1, True, (ONE, TWO)))
    assert driver == Driver(5, 3, 9)
    assert [(each.sequence, name) for _, each, name in world._log.appended] == [(7, "p-driver"), (8, "p-driver")]
    assert [asked[0] for asked in world._made_calls.asked] == ["add", "end"]
    driver = world.note_finished(driver, Decision("q", 1, True, (ONE, TWO)))
    assert driver == Driver(5, 3, 11)
    assert [(each.sequence, name) for _, each, name in world._log.appended[2:]] == [(9, None), (10, None)]


def test_a_driver_whose_epoch_is_old_decides_nothing(world):
    world._made_calls.errors["p-driver"] = ErrorCode.PRODUCER_FENCED
    with pytest.raises(KafkaError, match="another driver has begun with transactionalIdPrefix p"):
        world.decide(Driver(5, 3), Decision("q", 1, True, (ONE,)))
    assert world._log.appended == []


def test_what_a_task_and_the_end_of_its_batch_read_is_what_came_since_its_beginning(world):
    driver, ledger = world.read_ledger(Driver(5, 3))
    assert (driver, ledger.last_offset, ledger.begun) == (Driver(5, 3, 1), 0, (5, 3))
    claim = Claim("p-1", 0, 0, 88, driver.identity)
    assert world.claim(claim, 0) == DecisionState("p", slots={"p-1": claim}, claims=[claim], last_offset=1)
    assert world._log.appended[1][1:] == (None, None)
    driver, ledger = world.close_batch(driver, 0)
    assert (driver, ledger.claims, ledger.closed, ledger.begun) == (Driver(5, 3, 2), [claim], (5, 3), None)
    assert world.forget(driver, ["p-1"]) == Driver(5, 3, 3)
    assert world.note_fencing(driver, fences=True) == Driver(5, 3, 3)
    assert world.read_ledger(driver)[1].slots == {}
