"""Worked examples of subscriptions and commits, with our consumer on our broker, by their ids."""

import asyncio
import itertools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import pytest
from group_scenarios import QUICK, TIMEOUT_S, send

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.clients import (
    AdminClient,
    AsyncConsumer,
    ConcurrentModification,
    Consumer,
    ConsumerInterceptor,
    ConsumerRecord,
    IllegalState,
    NewPartitions,
    NoOffsetForPartition,
    OffsetAndMetadata,
    RebalanceListener,
    TopicPartition,
    WakeupError,
)
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import wait_until

_numbers = itertools.count(1)

MakeConsumer = Callable[..., Consumer]


@pytest.fixture
def topic(module_broker: BrokerProcess) -> str:
    """A topic of one partition."""
    name = f"example-{next(_numbers)}"
    module_broker.create_topic(name, 1)
    return name


@pytest.fixture
def group() -> str:
    return f"examples-{next(_numbers)}"


def consumer(bootstrap: str, group: str, **settings: Any) -> Consumer:
    names = {name.replace("_", "."): value for name, value in settings.items()}
    return Consumer({
        **QUICK, "bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False,
        "metadata.max.age.ms": 300, **names,
    })  # fmt: skip


def read(of: Consumer, count: int) -> list[ConsumerRecord]:
    """The next `count` records, or more if one poll brings them."""
    records: list[ConsumerRecord] = []

    def has_read() -> bool:
        records.extend(of.poll(0.1))
        return len(records) >= count

    wait_until(has_read, TIMEOUT_S, f"{count} records")
    return records


def wait_assigned(of: Consumer, count: int) -> None:
    def assigned() -> bool:
        of.poll(0.05)
        return len(of.assignment()) == count

    wait_until(assigned, TIMEOUT_S, f"{count} partitions")


def where_it_begins(of: Consumer, partition: TopicPartition) -> int:
    """The offset of the first record it reads once it is assigned the partition; its position when there is none."""
    records: list[ConsumerRecord] = []

    def assigned() -> bool:
        records.extend(of.poll(0.05))
        return bool(of.assignment())

    wait_until(assigned, TIMEOUT_S, "a partition")
    return records[0].offset if records else of.position(partition)


def test_we3_3_an_empty_group_id_is_refused_by_the_group(bootstrap: str, topic: str) -> None:
    """WE3-3; without any, subscribing is refused at once."""
    with consumer(bootstrap, "") as made:
        made.subscribe([topic])
        with pytest.raises(KafkaError) as caught:
            wait_assigned(made, 1)
        assert caught.value.code is ErrorCode.INVALID_GROUP_ID
    with Consumer({"bootstrap.servers": bootstrap}) as made:
        for call in (lambda: made.subscribe([topic]), lambda: made.commit(), lambda: made.committed([])):
            with pytest.raises(KafkaError, match=r"need the setting group\.id"):
                call()


def test_we3_4_a_later_subscription_replaces_the_earlier_one(
    bootstrap: str, topic: str, group: str, module_broker: BrokerProcess
) -> None:
    """WE3-4"""
    other = f"{topic}-other"
    module_broker.create_topic(other)
    send(bootstrap, topic, 1, 1)
    send(bootstrap, other, 1, 1)
    with consumer(bootstrap, group) as made:
        made.subscribe([topic])
        made.subscribe([other])
        assert made.subscription() == {other}
        assert [record.topic for record in read(made, 1)] == [other]
        made.subscribe([topic])  # in the midst of it, too
        assert [record.topic for record in read(made, 1)] == [topic]
        assert {each.topic for each in made.assignment()} == {topic}


def test_we3_5_we3_22_a_pattern_finds_topics_that_come_later_but_no_internal_ones(
    bootstrap: str, topic: str, group: str, module_broker: BrokerProcess
) -> None:
    """WE3-5, WE3-22"""
    with consumer(bootstrap, group) as made:
        made.subscribe(pattern=f"{topic}.*|__consumer_.*")
        wait_assigned(made, 1)
        module_broker.create_topic(f"{topic}-later", 2)
        wait_assigned(made, 3)
        send(bootstrap, f"{topic}-later", 2, 1)
        assert {record.topic for record in read(made, 2)} == {f"{topic}-later"}
        assert made.subscription() == {topic, f"{topic}-later"}
        made.unsubscribe()
        made.subscribe(["__consumer_offsets"])  # by name it can be had
        wait_assigned(made, 1)
        assert {each.topic for each in made.assignment()} == {"__consumer_offsets"}
    with consumer(bootstrap, group, exclude_internal_topics=False) as made:
        made.subscribe(pattern="__consumer_.*")
        wait_assigned(made, 1)


def test_a_topic_that_is_made_after_subscribing_is_read(
    bootstrap: str, group: str, module_broker: BrokerProcess
) -> None:
    name = f"later-{next(_numbers)}"
    with consumer(bootstrap, group, allow_auto_create_topics=False) as made:
        made.subscribe([name])
        assert made.poll(0.3).is_empty()
        module_broker.create_topic(name, 2)
        wait_assigned(made, 2)


def test_partitions_that_are_added_are_shared_out(bootstrap: str, topic: str, group: str) -> None:
    with consumer(bootstrap, group) as made:
        made.subscribe([topic])
        wait_assigned(made, 1)
        with AdminClient({"bootstrap.servers": bootstrap}) as admin:
            admin.create_partitions({topic: NewPartitions(3)}).all()
        wait_assigned(made, 3)


@pytest.mark.parametrize("how", ["unsubscribe", "subscribe to nothing", "assign nothing"])
def test_we3_6_three_ways_to_read_nothing(bootstrap: str, topic: str, group: str, how: str) -> None:
    """WE3-6"""
    ways: Mapping[str, Callable[[Consumer], None]] = {
        "unsubscribe": lambda of: of.unsubscribe(),
        "subscribe to nothing": lambda of: of.subscribe([]),
        "assign nothing": lambda of: of.assign([]),
    }
    with consumer(bootstrap, group) as made:
        made.subscribe([topic])
        wait_assigned(made, 1)
        ways[how](made)
        assert made.assignment() == made.subscription() == set()
        assert made.group_metadata().member_id == ""
        with pytest.raises(IllegalState, match="nothing to poll"):
            made.poll(0)
        made.assign([TopicPartition(topic, 0)])  # any kind is possible again


def test_we3_7_kinds_of_subscription_exclude_each_other(bootstrap: str, topic: str, group: str) -> None:
    """WE3-7"""
    exclusive = "unsubscribe before|either topics or a pattern"
    with consumer(bootstrap, group) as made:
        made.subscribe([topic])
        with pytest.raises(IllegalState, match=exclusive):
            made.assign([TopicPartition(topic, 0)])
        with pytest.raises(IllegalState, match=exclusive):
            made.subscribe(pattern="a.*")
        made.unsubscribe()
        made.assign([TopicPartition(topic, 0)])
        with pytest.raises(IllegalState, match=exclusive):
            made.subscribe([topic])


def test_we3_8_committed_is_the_position(bootstrap: str, topic: str, group: str) -> None:
    """WE3-8: the last consumed offset is 377, committed and position are 378."""
    send(bootstrap, topic, 1, 378)
    one = TopicPartition(topic, 0)
    with consumer(bootstrap, group) as made:
        made.assign([one])
        assert read(made, 378)[-1].offset == 377
        assert made.committed([one]) == {one: None}
        made.commit()
        assert made.committed([one]) == {one: OffsetAndMetadata(378, "", 0)}
        assert made.position(one) == 378


def test_we3_9_committing_before_or_after_the_work(bootstrap: str, topic: str, group: str) -> None:
    """WE3-9: of the batch [2, 7] the work fails at 5; what was committed says where a restart begins."""
    send(bootstrap, topic, 1, 8)
    one = TopicPartition(topic, 0)
    for committed, begins in ((8, 8), (2, 2)):
        with consumer(bootstrap, group) as made:
            made.commit({one: committed})
        with consumer(bootstrap, group) as made:
            made.subscribe([topic])
            assert where_it_begins(made, one) == begins


def test_we3_10_automatic_commits_are_of_what_poll_returned(bootstrap: str, topic: str, group: str) -> None:
    """WE3-10: the next poll commits what the one before returned, whether a worker is done with it or not."""
    send(bootstrap, topic, 1, 6)
    one = TopicPartition(topic, 0)
    with consumer(bootstrap, group, enable_auto_commit=True, auto_commit_interval_ms=50, max_poll_records=6) as made:
        made.assign([one])
        assert len(read(made, 6)) == 6
        before = made.committed([one])[one]
        assert before is None or before.offset == 0

        def committed() -> bool:
            made.poll(0.05)
            return made.committed([one])[one] == OffsetAndMetadata(6, "", 0)

        wait_until(committed, TIMEOUT_S, "an automatic commit")


def test_the_last_automatic_commit_is_at_the_end(bootstrap: str, topic: str, group: str) -> None:
    send(bootstrap, topic, 1, 6)
    one = TopicPartition(topic, 0)
    with consumer(bootstrap, group, enable_auto_commit=True) as made:
        made.subscribe([topic])
        read(made, 6)
    with consumer(bootstrap, group) as made:
        assert made.committed([one]) == {one: OffsetAndMetadata(6, "", 0)}


def test_we3_11_a_retry_that_comes_late_turns_the_group_back(bootstrap: str, topic: str, group: str) -> None:
    """WE3-11: commit x fails, x+y succeeds. A blind retry of x sets the group back; with a sequence it is dropped."""
    send(bootstrap, topic, 1, 10)
    one = TopicPartition(topic, 0)
    newest = 0

    with consumer(bootstrap, group) as made:

        def commit(offset: int, sequence: int) -> None:
            nonlocal newest
            newest = max(newest, sequence)
            made.commit_async({one: offset}, lambda _offsets, error: answered.append((offset, sequence, error)))

        answered: list[tuple[int, int, Exception | None]] = []
        commit(8, 2)
        wait_until(lambda: made.commit({}) or answered, TIMEOUT_S, "the callback")
        assert answered == [(8, 2, None)]
        made.commit({one: 5})  # the blind retry of what came first
        assert made.committed([one])[one] == OffsetAndMetadata(5)
        commit(8, 3)
        failed_sequence = 1
        if failed_sequence >= newest:
            commit(5, failed_sequence)
        wait_until(lambda: made.commit({}) or len(answered) == 2, TIMEOUT_S, "the callback")
        assert made.committed([one])[one] == OffsetAndMetadata(8)


def test_we3_12_the_policy_counts_only_where_nothing_is_committed(bootstrap: str, topic: str, group: str) -> None:
    """WE3-12, within a group: log 0 to 8."""
    send(bootstrap, topic, 1, 9)
    one = TopicPartition(topic, 0)
    for policy, begins in (("latest", 9), ("earliest", 0)):
        with consumer(bootstrap, group, auto_offset_reset=policy) as made:
            made.subscribe([topic])
            assert where_it_begins(made, one) == begins
    with consumer(bootstrap, group, auto_offset_reset="none") as made:
        made.subscribe([topic])
        with pytest.raises(NoOffsetForPartition):
            read(made, 1)
        made.commit({one: 4})
        assert read(made, 5)[0].offset == 4
    with pytest.raises(ConfigError, match=r"auto\.offset\.reset"):
        consumer(bootstrap, group, auto_offset_reset="first")


def test_we3_13_we3_14_seek_needs_an_assignment(bootstrap: str, topic: str, group: str) -> None:
    """WE3-13, WE3-14: subscribing and a poll of no time assign nothing yet."""
    send(bootstrap, topic, 1, 15)
    one = TopicPartition(topic, 0)
    with consumer(bootstrap, group) as made:
        made.subscribe([topic])
        with pytest.raises(IllegalState, match=f"{one} is not assigned"):
            made.seek(one, 10)
        made.poll(0)
        assert made.assignment() == set()
        while not made.assignment():
            made.poll(0.1)
        for partition in made.assignment():
            made.seek(partition, 10)
        assert [record.offset for record in read(made, 5)] == [10, 11, 12, 13, 14]


def test_we3_25_commits_in_batches_of_two_hundred(bootstrap: str, topic: str, group: str) -> None:
    """WE3-25: nothing is committed before 200 records are buffered."""
    send(bootstrap, topic, 1, 250)
    one = TopicPartition(topic, 0)
    buffered: list[ConsumerRecord] = []
    with consumer(bootstrap, group, max_poll_records=50) as made:
        made.subscribe([topic])
        for expected in (None, None, None, OffsetAndMetadata(200, "", 0), OffsetAndMetadata(200, "", 0)):
            buffered += read(made, 50)
            if len(buffered) >= 200:
                made.commit()
                buffered.clear()
            assert made.committed([one])[one] == expected


def test_w7_11_commits_of_many_overwrite_one_another(bootstrap: str, topic: str, group: str) -> None:
    """W7.11: c1 commits 10 and c2 12: c1 begins again at 12; c1 10 and c2 8: at 8."""
    one = TopicPartition(topic, 0)
    with consumer(bootstrap, group) as c1, consumer(bootstrap, group) as c2:
        for offset in (12, 8):
            c1.commit({one: 10})
            c2.commit({one: offset})
            assert c1.committed([one])[one] == OffsetAndMetadata(offset)


def test_wakeup_ends_any_call_that_waits(bootstrap: str, topic: str, group: str) -> None:
    one = TopicPartition(topic, 0)
    with consumer(bootstrap, group) as made:
        made.commit({one: 1})
        made.wakeup()
        with pytest.raises(WakeupError):
            made.commit({one: 2})
        assert made.committed([one])[one] == OffsetAndMetadata(1)


def test_metadata_goes_with_an_offset_up_to_its_limit(bootstrap: str, topic: str, group: str) -> None:
    one = TopicPartition(topic, 0)
    with consumer(bootstrap, group) as made:
        made.commit({one: OffsetAndMetadata(3, "by hand", 0)})
        assert made.committed([one]) == {one: OffsetAndMetadata(3, "by hand", 0)}
        with pytest.raises(KafkaError) as caught:
            made.commit({one: OffsetAndMetadata(4, "x" * 5000)})
        assert caught.value.code is ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_interceptors_hear_of_every_commit(bootstrap: str, topic: str, group: str) -> None:
    heard: list[dict[TopicPartition, OffsetAndMetadata]] = []
    one = TopicPartition(topic, 0)

    class Listens(ConsumerInterceptor):
        def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
            heard.append(dict(offsets))

    with consumer(bootstrap, group, interceptor_classes=[Listens]) as made:
        made.commit({one: 1})
        made.commit_async({one: 2})
        wait_until(lambda: made.commit({}) or len(heard) == 2, TIMEOUT_S, "the commit")
    assert [each[one].offset for each in heard] == [1, 2]


def test_an_enforced_rebalance_begins_another_generation(bootstrap: str, topic: str, group: str) -> None:
    with consumer(bootstrap, group) as made:
        with pytest.raises(IllegalState, match="subscribes as part of a group"):
            made.enforce_rebalance()
        made.subscribe([topic])
        wait_assigned(made, 1)
        before = made.group_metadata()
        made.enforce_rebalance()

        def is_next() -> bool:
            made.poll(0.05)
            return made.group_metadata().generation_id == before.generation_id + 1

        wait_until(is_next, TIMEOUT_S, "the next generation")
        assert made.group_metadata().member_id == before.member_id


def test_the_async_consumer_awaits_its_listener(bootstrap: str, topic: str, group: str) -> None:
    """Which may commit and seek; another task that polls meanwhile is refused."""
    send(bootstrap, topic, 1, 10)
    one = TopicPartition(topic, 0)

    async def scenario() -> list[int]:
        configs = {**QUICK, "bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False}

        class Listener(RebalanceListener):
            async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
                for partition in partitions:
                    await reader.seek(partition, 4)

            async def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
                await reader.commit()

        offsets: list[int] = []
        async with AsyncConsumer(configs) as reader:
            await reader.subscribe([topic], listener=Listener())
            waiting = asyncio.create_task(reader.poll(0.2))
            await asyncio.sleep(0)
            with pytest.raises(ConcurrentModification):
                await reader.poll(0)
            offsets += [record.offset for record in await waiting]
            async with asyncio.timeout(TIMEOUT_S):
                while len(offsets) < 6:
                    offsets += [record.offset for record in await reader.poll(0.5)]
        async with AsyncConsumer(configs) as consumer:
            assert (await consumer.committed([one]))[one] == OffsetAndMetadata(10, "", 0)
        return offsets

    assert asyncio.run(scenario()) == [4, 5, 6, 7, 8, 9]


def test_metrics_go_by_kafka_s_names(bootstrap: str, topic: str, group: str) -> None:
    send(bootstrap, topic, 1, 10)
    with consumer(bootstrap, group, client_id="counted") as made:
        made.subscribe([topic])
        read(made, 10)
        made.commit()
        metrics = made.metrics()
        coordinator, fetches = "consumer-coordinator-metrics", "consumer-fetch-manager-metrics"
        assert metrics.find("assigned-partitions", coordinator, client_id="counted") == 1
        assert metrics.find("join-total", coordinator) == metrics.find("sync-total", coordinator) == 1
        assert metrics.find("rebalance-total", coordinator) == 1
        assert metrics.find("commit-total", coordinator) >= 1
        assert metrics.find("records-consumed-total", fetches) == 10
        assert metrics.find("records-consumed-total", fetches, topic=topic) == 10
        assert metrics.find("records-lag", fetches, topic=topic, partition="0") == 0
        assert metrics.find("records-lead", fetches, topic=topic, partition="0") == 10
        assert metrics.find("fetch-size-max", fetches) > 0
        assert metrics.find("last-poll-seconds-ago", "consumer-metrics") >= 0


def test_closing_in_no_time_still_leaves_the_group(bootstrap: str, topic: str, group: str) -> None:
    """The other member has its partition long before the session of the one that left would end."""
    with consumer(bootstrap, group, session_timeout_ms=60_000) as other:
        other.subscribe([topic])
        wait_assigned(other, 1)
        made = consumer(bootstrap, group, session_timeout_ms=60_000, enable_auto_commit=True)
        made.subscribe([topic])

        def shared() -> bool:
            other.poll(0.05)
            made.poll(0.05)
            return len(made.assignment() | other.assignment()) == 1 and made.group_metadata().generation_id > 1

        wait_until(shared, TIMEOUT_S, "the second member")
        before = other.group_metadata().generation_id
        made.close(0)

        def alone() -> bool:
            other.poll(0.05)
            return other.group_metadata().generation_id > before and len(other.assignment()) == 1

        wait_until(alone, 30, "the partition")
