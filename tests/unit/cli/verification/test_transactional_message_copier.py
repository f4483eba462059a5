"""The transactional message copier: what it copies, commits and says."""

import io
import random

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.verification import transactional_message_copier as copier
from kafka_py.clients.consumer.assignors.assignor import GroupMetadata
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.records.batch import TimestampType

REQUIRED = ["--input-topic", "in", "--input-partition", "0", "--output-topic", "out", "--broker-list", "h:1",
            "--transactional-id", "tid"]  # fmt: skip
P = TopicPartition("in", 0)


class FakeConsumer:
    """One partition with the records 0 to count - 1, of which a poll returns two."""

    def __init__(self, count, committed=None):
        self.at = committed or 0
        self.count = count
        self.group_offset = committed

    def assign(self, partitions):
        assert partitions == [P]

    def subscribe(self, topics, listener):
        self.topics, self.listener = topics, listener

    def assignment(self):
        return {P}

    def position(self, partition):
        return self.at

    def end_offsets(self, partitions):
        return {P: self.count}

    def poll(self, timeout):
        low, self.at = self.at, min(self.count, self.at + 2)
        records = [
            ConsumerRecord("in", 0, n, 0, TimestampType.CREATE_TIME, 1, 1, b"k", b"%d" % n, (), -1)
            for n in range(low, self.at)
        ]  # fmt: skip
        return ConsumerRecords({P: records} if records else {})

    def committed(self, partitions):
        return {P: None if self.group_offset is None else OffsetAndMetadata(self.group_offset)}

    def seek(self, partition, offset):
        self.at = offset

    def seek_to_beginning(self, partitions):
        self.at = 0

    def group_metadata(self):
        return GroupMetadata("g", 3, "member")


class FakeProducer:
    def __init__(self, fails_with=None):
        self.calls = []
        self.fails_with = fails_with

    def begin_transaction(self):
        self.calls.append("begin")

    def send(self, topic, value, key, partition):
        self.calls.append((topic, partition, key, value))

    def send_offsets_to_transaction(self, offsets, group):
        self.calls.append((offsets, group))

    def commit_transaction(self):
        if self.fails_with is not None:
            raise KafkaError(self.fails_with, "no")
        self.calls.append("commit")

    def abort_transaction(self):
        self.calls.append("abort")


class Draws(random.Random):
    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def randrange(self, *_):
        return self.numbers.pop(0)


def options_of(*arguments):
    return copier.parser().parse([*REQUIRED, *arguments])


@pytest.fixture
def said():
    return io.StringIO()


@pytest.fixture
def progress(said):
    return copier.CopyProgress("tid", said, lambda: 0)


def test_a_poll_is_one_transaction_with_its_offsets(progress):
    consumer, producer, options = FakeConsumer(3), FakeProducer(), options_of("--consumer-group", "g")
    copier.open_input(consumer, options, progress)
    for _ in range(3):
        copier.copy_once(consumer, producer, options, progress, Draws())
    assert producer.calls == [
        "begin", ("out", 0, b"k", b"0"), ("out", 0, b"k", b"1"), ({P: 2}, GroupMetadata("g")), "commit",
        "begin", ("out", 0, b"k", b"2"), ({P: 3}, GroupMetadata("g")), "commit",
    ]  # fmt: skip
    assert (progress.total, progress.consumed, progress.remaining) == (3, 3, 0)


def test_offsets_may_be_committed_in_the_members_name(progress):
    producer = FakeProducer()
    copier.copy_once(FakeConsumer(1), producer, options_of("--use-group-metadata"), progress, Draws())
    assert ({P: 1}, GroupMetadata("g", 3, "member")) in producer.calls


@pytest.mark.parametrize("committed", [None, 4])
def test_an_aborted_transaction_is_read_again_from_the_committed_offset(progress, committed):
    consumer, producer = FakeConsumer(6, committed), FakeProducer()
    options = options_of("--enable-random-aborts")
    copier.copy_once(consumer, producer, options, progress, Draws(0))
    assert producer.calls[-1] == "abort"
    assert (consumer.at, progress.total) == (committed or 0, 0)
    copier.copy_once(consumer, producer, options, progress, Draws(1))
    assert producer.calls[-1] == "commit"
    assert (consumer.at, progress.total) == ((committed or 0) + 2, 2)


def test_a_failure_aborts_and_a_fatal_one_ends_the_copy(progress):
    producer = FakeProducer(ErrorCode.NOT_ENOUGH_REPLICAS)
    copier.copy_once(FakeConsumer(1), producer, options_of(), progress, Draws())
    assert producer.calls[-1] == "abort"
    with pytest.raises(KafkaError, match="PRODUCER_FENCED"):
        copier.copy_once(FakeConsumer(1), FakeProducer(ErrorCode.PRODUCER_FENCED), options_of(), progress, Draws())


@pytest.mark.parametrize(("most", "remaining"), [("-1", 5), ("3", 3), ("9", 5)])
def test_what_remains_is_bounded_by_the_end_and_by_max_messages(progress, most, remaining):
    copier.open_input(FakeConsumer(5), options_of("--max-messages", most), progress)
    assert progress.remaining == remaining


def test_a_rebalance_counts_again_what_remains_and_says_so(progress, said):
    consumer = FakeConsumer(5)
    progress.committed(2)
    copier.open_input(consumer, options_of("--group-mode"), progress)
    consumer.listener.on_partitions_assigned([P])
    assert (consumer.topics, progress.remaining, progress.consumed, progress.total) == (["in"], 5, 0, 2)
    assert '"stage":"RebalanceComplete"' in said.getvalue()


def test_lines_have_apaches_fields_in_apaches_order(progress, said, monkeypatch):
    monkeypatch.setattr(copier, "_TIME", type("Pattern", (), {"format_ms": staticmethod(lambda _: "T")}))
    progress.remaining = 7
    progress.committed(2)
    progress.say_stage("ProcessLoop")
    progress.say_shutdown()
    assert said.getvalue().splitlines() == [
        '{"consumed":2,"stage":"ProcessLoop","totalProcessed":2,"progress":"tid","time":"T","remaining":5}',
        '{"consumed":2,"shutdown_complete":"tid","totalProcessed":2,"time":"T","remaining":5}',
    ]


def test_settings_of_both_clients_are_apaches():
    options = options_of("--transaction-size", "7", "--transaction-timeout", "9", "--consumer-group", "g")
    assert copier.consumer_properties(options)["isolation.level"] == "read_committed"
    assert copier.consumer_properties(options)["max.poll.records"] == "7"
    assert copier.producer_properties(options)["transaction.timeout.ms"] == "9"
    assert copier.producer_properties(options)["batch.size"] == "512"


@pytest.mark.parametrize("missing", range(0, 10, 2))
def test_what_must_be_given_is_asked_for(missing, capsys):
    with pytest.raises(SystemExit) as caught:
        copier.main(REQUIRED[:missing] + REQUIRED[missing + 2 :])
    assert caught.value.code == 1
    assert REQUIRED[missing] in capsys.readouterr().err
