"""The verifiable producer and consumer: what they say, in which order, and what they refuse."""

import io
import json

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.termination import EndSignals
from kafka_py.cli.verification import verifiable_consumer, verifiable_producer
from kafka_py.cli.verification.json_events import Events
from kafka_py.cli.verification.verifiable_consumer import Reporter
from kafka_py.cli.verification.verifiable_producer import AckTally
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords
from kafka_py.clients.producer.batches import RecordMetadata
from kafka_py.records.batch import TimestampType

PRODUCE = ["--topic", "t", "--bootstrap-server", "h:1"]
CONSUME = ["--topic", "t", "--group-id", "g", "--bootstrap-server", "h:1"]
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Said:
    """Events at time 7, and what they were."""

    def __init__(self):
        self.out = io.StringIO()
        self.events = Events(self.out, lambda: 7)

    @property
    def lines(self):
        return self.out.getvalue().splitlines()

    @property
    def all(self):
        return [json.loads(line) for line in self.lines]

    @property
    def names(self):
        return [event["name"] for event in self.all]


@pytest.fixture
def said():
    return Said()


def test_an_event_is_one_line_with_time_and_name_first(said):
    said.events.say("x", key=None, value="ä", partitions=[{"topic": "t"}])
    assert said.lines == ['{"timestamp":7,"name":"x","key":null,"value":"ä","partitions":[{"topic":"t"}]}']


# ---- the producer


class FakeProducer:
    """Answers at once; refuses what is in `refused` by value."""

    def __init__(self, refused=()):
        self.sent = []
        self.refused = refused

    def send(self, topic, value, key=None, timestamp=None, callback=None):
        self.sent.append((value, key, timestamp))
        if value in self.refused:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "no")
        callback(RecordMetadata(topic, 0, len(self.sent) - 1, 0, 0, 0), None)


def produce(said, *arguments, refused=(), clock=lambda: 0.0):
    options = verifiable_producer.parser().parse([*PRODUCE, *arguments])
    producer, tally = FakeProducer(refused), AckTally(said.events, "t")
    verifiable_producer.produce(producer, options, tally, clock)
    return producer, tally


def test_numbers_are_produced_with_prefix_and_repeating_keys(said):
    producer, tally = produce(said, "--max-messages", "3", "--value-prefix", "7", "--repeating-keys", "2")
    assert [(value, key) for value, key, _ in producer.sent] == [(b"7.0", b"0"), (b"7.1", b"1"), (b"7.2", b"0")]
    assert (tally.sent, tally.acknowledged) == (3, 3)
    assert said.lines[1] == (
        '{"timestamp":7,"name":"producer_send_success","key":"1","value":"7.1","offset":1,"topic":"t","partition":0}'
    )


def test_without_options_there_is_no_key_and_the_time_is_the_clocks(said):
    producer, _ = produce(said, "--max-messages", "1")
    assert producer.sent == [(b"0", None, None)]
    assert '"key":null,"value":"0"' in said.lines[0]


def test_created_times_go_on_from_the_first(said):
    ticks = iter(range(0, 1000, 10))
    producer, _ = produce(said, "--max-messages", "2", "--message-create-time", "500", clock=lambda: next(ticks))
    assert [timestamp for _, _, timestamp in producer.sent] == [510, 520]


def test_a_failure_is_said_and_not_counted_as_acknowledged(said):
    _, tally = produce(said, "--max-messages", "2", refused=[b"1"])
    assert (tally.sent, tally.acknowledged) == (2, 1)
    assert said.all[1] == {
        "timestamp": 7, "name": "producer_send_error", "topic": "t", "key": None, "value": "1",
        "exception": "class org.apache.kafka.common.errors.InvalidTopicException", "message": "no",
    }  # fmt: skip


def test_the_producers_file_wins_over_the_options(tmp_path):
    file = tmp_path / "p.properties"
    file.write_text("acks=1\nlinger.ms=3\nkey.serializer=x\n")
    options = verifiable_producer.parser().parse([*PRODUCE, "--acks", "0", "--producer.config", str(file)])
    assert verifiable_producer.producer_properties(options) == {
        "bootstrap.servers": "h:1", "acks": "1", "retries": "0", "linger.ms": "3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (PRODUCE[:2], "--bootstrap-server --broker-list"),
        (PRODUCE[2:], "--topic"),
        ([*PRODUCE, "--acks", "7"], "invalid choice: 7"),
        ([*PRODUCE, "--max-messages", "x"], "invalid int value"),
        ([*PRODUCE, "--throughput", "0"], "no end"),
        ([*PRODUCE, "--repeating-keys", "0"], "at least one key"),
        ([*PRODUCE, "--broker-list", "h:2"], "not allowed with"),
    ],
)
def test_the_producer_refuses_wrong_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        verifiable_producer.main(arguments)
    assert caught.value.code == 1
    assert message in capsys.readouterr().err


# ---- the consumer


def record(partition, offset, value=b"v"):
    return ConsumerRecord("t", partition, offset, 0, TimestampType.CREATE_TIME, -1, 1, None, value, (), 0)


def records(**offsets):
    return ConsumerRecords({
        TopicPartition("t", int(name[1:])): [record(int(name[1:]), offset) for offset in some]
        for name, some in offsets.items()
    })  # fmt: skip


def test_records_are_summed_up_by_partition(said):
    reporter = Reporter(said.events, -1, verbose=False)
    reporter.received(records(p1=[4, 5], p0=[7]))
    assert said.all == [{
        "timestamp": 7, "name": "records_consumed", "count": 3, "partitions": [
            {"topic": "t", "partition": 0, "count": 1, "minOffset": 7, "maxOffset": 7},
            {"topic": "t", "partition": 1, "count": 2, "minOffset": 4, "maxOffset": 5},
        ],
    }]  # fmt: skip
    assert not reporter.is_done


def test_no_more_than_asked_for_is_taken_though_the_count_is_that_of_the_poll(said):
    reporter = Reporter(said.events, 2, verbose=True)
    reporter.received(records(p0=[1, 2, 3], p1=[9]))
    assert reporter.is_done and reporter.consumed == 2
    assert said.names == ["record_data", "record_data", "records_consumed"]
    assert said.lines[0].endswith('"key":null,"value":"v","topic":"t","partition":0,"offset":1}')
    assert said.all[-1]["count"] == 4
    assert [each["count"] for each in said.all[-1]["partitions"]] == [2]


def test_partitions_are_told_in_order_also_none(said):
    reporter = Reporter(said.events, -1, verbose=False)
    reporter.partitions("partitions_assigned", {T1, T0})
    reporter.partitions("partitions_revoked", [])
    assert said.lines == [
        '{"timestamp":7,"name":"partitions_assigned","partitions":[{"topic":"t","partition":0},'
        '{"topic":"t","partition":1}]}',
        '{"timestamp":7,"name":"partitions_revoked","partitions":[]}',
    ]


class FakeConsumer:
    """Gives its polls one after another; refuses commits with `error`."""

    def __init__(self, *polls, error=None):
        self.polls, self.error, self.commits = list(polls), error, []

    def poll(self, timeout_s):
        return self.polls.pop(0)

    def commit(self, offsets):
        if self.error is not None:
            raise self.error
        self.commits.append(offsets)


def consume(said, consumer, limit, *, commits=True):
    signals = EndSignals()
    verifiable_consumer.consume(consumer, signals, Reporter(said.events, limit, verbose=False), commits=commits)


def test_what_was_taken_of_a_poll_is_committed_and_no_more(said):
    consumer = FakeConsumer(records(), records(p0=[3, 4, 5]), records(p0=[6, 7], p1=[1]))
    consume(said, consumer, 4)
    assert consumer.commits == [{T0: 6}, {T0: 7}]
    assert said.names == ["records_consumed", "offsets_committed"] * 2
    assert said.lines[-1].endswith('"offsets":[{"topic":"t","partition":0,"offset":7}],"success":true}')


def test_a_commit_that_fails_is_told_and_the_consumer_goes_on(said):
    error = KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "the group rebalances")
    consume(said, FakeConsumer(records(p0=[1]), records(p0=[2]), error=error), 2)
    assert said.lines[1].endswith('"offset":2}],"error":"the group rebalances","success":false}')
    assert said.names.count("offsets_committed") == 2


def test_a_fenced_member_ends(said):
    with pytest.raises(KafkaError):
        consume(said, FakeConsumer(records(p0=[1]), error=KafkaError(ErrorCode.FENCED_INSTANCE_ID)), 2)


def test_with_automatic_commits_none_is_made(said):
    consumer = FakeConsumer(records(p0=[1]))
    consume(said, consumer, 1, commits=False)
    assert (consumer.commits, said.names) == ([], ["records_consumed"])


def test_the_consumers_options_win_over_the_file(tmp_path):
    file = tmp_path / "c.properties"
    file.write_text("group.id=x\nauto.offset.reset=latest\nfetch.min.bytes=2\nvalue.deserializer=y\n")
    options = verifiable_consumer.parser().parse([*CONSUME, "--consumer.config", str(file)])
    assert verifiable_consumer.consumer_properties(options) == {
        "bootstrap.servers": "h:1", "group.id": "g", "auto.offset.reset": "earliest", "fetch.min.bytes": "2",
        "enable.auto.commit": "false", "session.timeout.ms": "30000",
        "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    }  # fmt: skip
    options = verifiable_consumer.parser().parse([*CONSUME, "--group-instance-id", "i", "--enable-autocommit"])
    found = verifiable_consumer.consumer_properties(options)
    assert (found["group.instance.id"], found["enable.auto.commit"]) == ("i", "true")


def test_the_consumer_needs_a_group(capsys):
    with pytest.raises(SystemExit) as caught:
        verifiable_consumer.main(["--topic", "t", "--bootstrap-server", "h:1"])
    assert caught.value.code == 1
    assert "--group-id" in capsys.readouterr().err
