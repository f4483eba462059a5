"""A batch on its way from the driver to the tasks and back: places, slots, reports, settings."""

import pickle

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.exactly_once import protocol
from kafka_py.pipeline.exactly_once.batches import (
    BATCH_ID,
    QUERY_ID,
    OnceBatches,
    batches_of,
    prepared_from,
)
from kafka_py.pipeline.exactly_once.decisions import Decision, Driver, Prepared
from kafka_py.pipeline.options import Options, Where

from .model_world import PREFIX, Cluster, ModelWorld, run_task

GIVEN = {"kafka.bootstrap.servers": "h:1", "exactlyOnce": "true", "transactionalIdPrefix": PREFIX}
PREPARED = Prepared("p-0-0", 1, 2, TopicPartition("t", 0), 3)


class Context:
    """Of Spark, for one task."""

    def __init__(self, task=0, attempt=0, claimant=5, **properties):
        self.task, self.attempt, self.claimant = task, attempt, claimant
        self.properties = {name.replace("_", "."): value for name, value in properties.items()}

    def getLocalProperty(self, name):
        return self.properties.get(name)

    def partitionId(self):
        return self.task

    def attemptNumber(self):
        return self.attempt

    def taskAttemptId(self):
        return self.claimant


def micro_batch(number, **place):
    context = Context(**place)
    context.properties = {QUERY_ID: "query", BATCH_ID: str(number)}
    return context


def batches(latest=None, leases=None, **given):
    found = batches_of(Options({**GIVEN, **given}, Where.WRITE))
    found.start = protocol.Start(Driver(9, 4, 1), latest or {}, leases or {}, 17)
    return found


def test_without_the_option_nothing_is_written_in_transactions():
    assert batches_of(Options({"kafka.bootstrap.servers": "h:1"}, Where.WRITE)) is None


def test_options_become_names_time_outs_and_settings_of_every_client():
    found = batches(**{"kafka.linger.ms": "5", "kafka.client.rack": "r", "kafka.transaction.timeout.ms": "7000"})
    assert (found.name.prefix, found.name.topic, found.name.timeout_ms) == (PREFIX, "spark-sink-decisions", 7000)
    assert found.settings == {"bootstrap.servers": "h:1", "client.id": "spark-kafka-sink-driver"}
    assert batches().name.timeout_ms == 900_000
    assert (batches().accepts_torn, batches(tornBatch="accept").accepts_torn) == (False, True)


def test_a_prefix_is_made_from_the_checkpoint_or_must_be_given():
    options = Options({"kafka.bootstrap.servers": "h:1", "exactlyOnce": "true"}, Where.WRITE)
    one, two = (batches_of(options, checkpoint).name.prefix for checkpoint in ("/a", "/b"))
    assert one.startswith("spark-sink-") and one != two and one == batches_of(options, "/a").name.prefix
    with pytest.raises(ConfigError, match="transactionalIdPrefix must be given"):
        batches_of(options)


def test_a_task_of_a_micro_batch_knows_its_query_and_number():
    assert batches().place(micro_batch(12, task=3, attempt=1)) == ("query", 12, 3, 1, 5)


def test_batch_writes_go_by_their_name_or_by_the_next_number():
    assert batches(writeName="monday").place(Context())[:2] == ("write/monday", 0)
    assert batches().place(Context())[:2] == ("write", 0)
    for commits, number in ((True, 8), (False, 7)):
        assert batches({"write": Decision("write", 7, commits)}).place(Context())[:2] == ("write", number)
    again = batches({"write/monday": Decision("write/monday", 0, True)}, writeName="monday")
    assert again.is_written(again.place(Context()))


def test_the_writes_of_foreach_batch_go_by_query_name_and_number():
    found = batches({"query/one": Decision("query/one", 12, True)}, writeName="one")
    other = batches({"query/one": Decision("query/one", 12, True)}, writeName="two")
    for each, is_written in ((found, True), (other, False)):
        each.is_stream = False
        assert each.place(micro_batch(12))[:2] == (f"query/{each.write_name}", 12)
        assert each.is_written(each.place(micro_batch(12))) is is_written


def test_a_write_of_foreach_batch_without_a_name_is_refused_for_a_second_one_would_be_left_out():
    found = batches()
    found.is_stream = False
    with pytest.raises(ConfigError, match="writeName must be given with exactlyOnce in foreachBatch"):
        found.place(micro_batch(12))


def test_reports_carry_the_drivers_epoch_through_pickling():
    found = pickle.loads(pickle.dumps(batches({"query": Decision("query", 12, True)})))
    report = found.report(found.place(micro_batch(13, task=2)), PREPARED)
    assert report == ("query", 13, Driver(9, 4, 1), 17, PREPARED, False)
    assert found.report(found.place(micro_batch(12))).was_written


def test_a_batch_that_has_not_begun_is_refused():
    found = batches_of(Options(GIVEN, Where.WRITE))
    with pytest.raises(ConfigError, match="has not begun"):
        found.is_written(found.place(micro_batch(0)))


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ({}, None),
        ({TopicPartition("t", 0): 3}, PREPARED),
        ({TopicPartition("t", 1): -1, TopicPartition("t", 0): 3}, PREPARED),
    ],
)
def test_a_transaction_is_known_by_one_of_its_records(offsets, expected):
    assert prepared_from("p-0-0", 1, 2, offsets) == expected


class OnModel(OnceBatches):
    """Batches whose driver works on the model."""

    cluster: Cluster

    def _world(self):
        return ModelWorld(self.cluster)


@pytest.fixture
def on_model():
    base = batches()
    found = OnModel(base.name, base.settings, base.accepts_torn, base.write_name)
    found.cluster = Cluster()
    return found


def test_reports_are_committed_and_failed_attempts_rolled_back(on_model):
    on_model.begin()
    reports = []
    for attempt in (0, 1):
        prepared = run_task(on_model.cluster, on_model.start, 0, 0, attempt)
        reports.append(on_model.report(on_model.place(micro_batch(0, attempt=attempt)), prepared))
    on_model.commit(reports[1:])
    assert len(on_model.cluster.visible()) == 2
    assert not on_model.cluster.has_open()


class Steps:
    """A producer that notes what it is asked for."""

    def __init__(self, settings):
        self.settings, self.done = settings, []

    def __getattr__(self, name):
        return lambda *arguments: self.done.append((name, *arguments))


def test_a_slot_is_claimed_and_its_epoch_resumed_and_without_a_lease_it_is_a_new_one(on_model):
    place = on_model.place(micro_batch(0, task=1, claimant=8))
    for epoch in (0, 1):
        on_model.begin()
        producer = on_model.transaction(place, Steps)
        assert producer.settings == {"transactional.id": "p-1-0-8", "transaction.timeout.ms": 900_000}
        assert producer.done == [("resume_transactions", 7, epoch), ("begin_transaction",)]


def test_a_task_of_a_batch_that_has_ended_makes_no_producer(on_model):
    on_model.begin()
    protocol.begin(ModelWorld(on_model.cluster))
    with pytest.raises(KafkaError, match="came too late"):
        on_model.transaction(on_model.place(micro_batch(0)), None)


def test_a_producer_that_cannot_begin_is_closed(on_model):
    class Broken(Steps):
        def begin_transaction(self):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "no")

    made = []
    on_model.begin()
    with pytest.raises(KafkaError, match="no"):
        on_model.transaction(on_model.place(micro_batch(0)), lambda given: made.append(Broken(given)) or made[0])
    assert made[0].done == [("resume_transactions", 7, 0), ("close", 0)]


def test_a_replay_and_a_batch_without_tasks_change_nothing(on_model):
    on_model.begin()
    log = len(on_model.cluster.log)
    on_model.commit([])
    place = on_model.place(micro_batch(0))
    on_model.commit([on_model.report(place)._replace(was_written=True)])
    assert len(on_model.cluster.log) == log


def test_an_aborted_batch_is_rolled_back(on_model):
    on_model.begin()
    run_task(on_model.cluster, on_model.start, 0, 0)
    on_model.abort()
    assert not on_model.cluster.has_open()
    assert on_model.cluster.visible() == []
