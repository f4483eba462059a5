"""The consumer examples of docs/examples, run against a broker."""

import contextlib
import importlib.util
import itertools
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from types import ModuleType
from typing import Any

import pytest

from kafka_py.base.ids import ZERO_UUID
from kafka_py.clients import AdminClient, Consumer, NewTopic, OffsetAndMetadata, Producer, Subscription, TopicPartition
from kafka_py.clients.metadata import ClusterView, Node, PartitionInfo, TopicInfo
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ROOT, wait_until

TIMEOUT_S = 60
_numbers = itertools.count(1)


def example(name: str) -> ModuleType:
    """A program of docs/examples as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "docs" / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def topic(module_broker: BrokerProcess) -> str:
    """A topic of three partitions."""
    name = f"examples-{next(_numbers)}"
    module_broker.create_topic(name, 3)
    return name


def settings(bootstrap: str, topic: str, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap, "group.id": f"of-{topic}", "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000, "heartbeat.interval.ms": 200,
        **{name.replace("_", "."): value for name, value in more.items()},
    }  # fmt: skip


def fill(bootstrap: str, topic: str, count: int, partitions: int = 3) -> list[bytes]:
    """Sends `count` records in turn to the partitions."""
    values = [b"%d" % number for number in range(count)]
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, b"key %d" % (number % 5), partition=number % partitions)
    return values


def committed(bootstrap: str, topic: str) -> list[int | None]:
    """What the group has committed in each partition."""
    partitions = [TopicPartition(topic, number) for number in range(3)]
    with Consumer(settings(bootstrap, topic)) as consumer:
        found = consumer.committed(partitions)
        return [None if (each := found[partition]) is None else each.offset for partition in partitions]


def test_we3_17_records_that_have_outlived_their_time_are_dropped(bootstrap: str, topic: str) -> None:
    """WE3-17"""
    interceptor = example("ttl_interceptor").TtlInterceptor
    now_ms = int(time.time() * 1000)
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for value, age_ms in ((b"first-expire-data", 10_000), (b"normal-data", 0), (b"last-expire-data", 10_000)):
            producer.send(topic, value, partition=0, timestamp=now_ms - age_ms)
    with Consumer(settings(bootstrap, topic, interceptor_classes=[interceptor], ttl_ms=9_000)) as consumer:
        consumer.subscribe([topic])
        seen: list[bytes] = []
        one = TopicPartition(topic, 0)

        def read_to_the_end() -> bool:
            seen.extend(record.value for record in consumer.poll(0.2))
            return one in consumer.assignment() and consumer.position(one) == 3

        wait_until(read_to_the_end, TIMEOUT_S)
        assert seen == [b"normal-data"]
        consumer.commit()
        assert consumer.committed([one]) == {one: OffsetAndMetadata(3, "", 0)}


def test_we3_16b_offsets_in_a_database_make_it_exactly_once(bootstrap: str, topic: str, tmp_path: Any) -> None:
    """WE3-16b: stopped again and again in the middle, in the midst of a transaction too, and nothing counts twice."""
    module = example("external_offsets")
    values = fill(bootstrap, topic, 300)
    expected = Counter()  # type: ignore[var-annotated]
    for number, value in enumerate(values):
        expected[f"key {number % 5}"] += int(value)

    class Dies(module.Sums):  # type: ignore[name-defined,misc]
        """Loses its connection to the database within the third transaction."""

        transactions = 0

        def add(self, partition: TopicPartition, records: list[Any]) -> None:
            self.transactions += 1
            if self.transactions == 3:
                broken = records[-1]._replace(value=b"not a number")
                records = [*records, broken]
            super().add(partition, records)

    path = tmp_path / "sums.sqlite"
    configs = {**settings(bootstrap, topic), **module.settings(bootstrap, f"of-{topic}"), "max.poll.records": 10}

    def run(sums: Any, until: Callable[[], bool]) -> None:
        with contextlib.closing(sums), Consumer(configs) as consumer:
            module.run(consumer, topic, sums, until)

    for _ in range(3):
        with pytest.raises(ValueError, match="not a number"):
            run(Dies(path), lambda: False)
    sums = module.Sums(path)
    parts = [TopicPartition(topic, number) for number in range(3)]
    run(sums, lambda: [sums.next_offset(each) for each in parts] == [100] * 3)
    with contextlib.closing(module.Sums(path)) as sums:
        assert sums.totals() == expected
    assert committed(bootstrap, topic) == [None] * 3


@pytest.mark.parametrize("crash", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_exactly_once_while_members_come_and_go(bootstrap: str, topic: str, tmp_path: Any, crash: bool) -> None:
    """Whoever stops, orderly or not, in whatever moment: the next one goes on where the database stands."""
    module = example("external_offsets")
    path = tmp_path / "sums.sqlite"
    configs = {**settings(bootstrap, topic), **module.settings(bootstrap, f"of-{topic}"), "max.poll.records": 7}
    parts = [TopicPartition(topic, number) for number in range(3)]

    def member(stopping: threading.Event) -> None:
        consumer = Consumer(configs)
        with contextlib.closing(module.Sums(path)) as sums, contextlib.suppress(LookupError):
            module.run(consumer, topic, sums, stopping.is_set)
        if crash:
            consumer._thread.stop()  # not a word to the group
        else:
            consumer.close()

    module.Sums(path).close()
    expected: Counter[str] = Counter()
    ends, rounds = 0, 3
    running: list[tuple[threading.Thread, threading.Event]] = []
    for _ in range(rounds):
        for number, value in enumerate(fill(bootstrap, topic, 150)):
            expected[f"key {number % 5}"] += int(value)
        ends += 50
        stopping = threading.Event()
        running.append((threading.Thread(target=member, args=(stopping,)), stopping))
        running[-1][0].start()
        if len(running) > 2:
            running[0][1].set()
            running.pop(0)[0].join(TIMEOUT_S)
    with contextlib.closing(module.Sums(path)) as sums:
        wait_until(lambda: [sums.next_offset(each) for each in parts] == [ends] * 3, TIMEOUT_S, "all records")
        for _, stopping in running:
            stopping.set()
        for thread, _ in running:
            thread.join(TIMEOUT_S)
        assert sums.totals() == expected


def test_one_consumer_per_thread(bootstrap: str, topic: str) -> None:
    """All records, those of a partition in order, all of them committed at the end."""
    module = example("thread_per_consumer")
    values = fill(bootstrap, topic, 90)
    seen: dict[int, list[int]] = defaultdict(list)
    threads = [
        module.ConsumerThread(
            settings(bootstrap, topic), topic, lambda record: seen[record.partition].append(record.offset)
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: all(len(thread.consumer.assignment()) == 1 for thread in threads), TIMEOUT_S, "one each")
    wait_until(lambda: sum(map(len, list(seen.values()))) >= len(values), TIMEOUT_S, "all records")
    for thread in threads:
        thread.stop()
    for thread in threads:
        thread.join(TIMEOUT_S)
    for offsets in seen.values():
        assert sorted(set(offsets)) == list(range(30))
    assert committed(bootstrap, topic) == [30, 30, 30]


def test_a_pool_of_workers(bootstrap: str, topic: str) -> None:
    module = example("worker_pool")
    values = fill(bootstrap, topic, 90)
    seen: list[bytes] = []
    pool = module.Pool(4, lambda records: seen.extend(record.value for record in records))
    with Consumer(settings(bootstrap, topic, enable_auto_commit=False, max_poll_records=5)) as consumer:
        module.run(consumer, topic, pool, lambda: len(seen) >= len(values))
    assert sorted(seen) == sorted(values)
    assert committed(bootstrap, topic) == [30, 30, 30]


def test_we3_19_the_pool_may_lose_what_a_window_does_not() -> None:
    """WE3-19: worker 1 fails on 0-99, worker 2 is done with 100-199."""
    partition = TopicPartition("t", 0)
    pool = example("worker_pool").Pool(0, lambda records: None)
    pool._do(partition, [record(offset) for offset in range(100, 200)])
    assert pool.take_done() == {partition: OffsetAndMetadata(200)}  # 0-99 are lost
    window = example("sliding_window").Window(4)
    first, second = Future(), Future()  # type: ignore[var-annotated]
    window.add(first, 100)
    window.add(second, 200)
    second.set_result(None)
    assert window.slide() is None  # begins at 0 again
    first.set_result(None)
    assert (window.slide(), window.free) == (200, 4)


def record(offset: int) -> Any:
    return type("Record", (), {"offset": offset})()


def test_a_sliding_window_with_retries_and_dead_letters(bootstrap: str, topic: str) -> None:
    """What fails now and then is done in the end; what never works is a dead letter, and no hindrance."""
    module = example("sliding_window")
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        admin.create_topics([NewTopic(f"{topic}.retry", 1, 1), NewTopic(f"{topic}.dead", 1, 1)]).all()
    values = fill(bootstrap, topic, 90)
    done: list[bytes] = []
    tried: Counter[bytes] = Counter()
    lock = threading.Lock()

    def process(record: Any) -> None:
        with lock:
            tried[record.value] += 1
            if record.value == b"44" or (record.value == b"7" and tried[b"7"] <= 4):
                raise ValueError(f"cannot do {record.value!r}")
            done.append(record.value)

    configs = {
        **module.settings(bootstrap, f"of-{topic}"),
        **settings(bootstrap, topic),
        "max.poll.records": 5,
        "fetch.max.wait.ms": 50,
    }
    with Producer({"bootstrap.servers": bootstrap}) as producer, Consumer(configs) as consumer:
        windows = module.SlidingWindows(consumer, module.Handler(process, producer, topic), cells=2)
        consumer.subscribe([topic, f"{topic}.retry"])

        def finished() -> bool:
            windows.step(0.1)
            ends = consumer.end_offsets([TopicPartition(f"{topic}.dead", 0)])
            return len(done) >= len(values) - 1 and list(ends.values()) == [1]

        wait_until(finished, TIMEOUT_S)
        windows.close()
    assert sorted(done) == sorted(value for value in values if value != b"44")
    assert tried[b"44"] == module.LOCAL_ATTEMPTS * (module.LAST_CHANCE + 1)
    assert committed(bootstrap, topic) == [30, 30, 30]
    with Consumer({**settings(bootstrap, topic), "group.id": f"dead-{topic}"}) as consumer:
        consumer.assign([TopicPartition(f"{topic}.dead", 0)])
        [dead] = consumer.poll(TIMEOUT_S)
        assert (dead.value, dict(dead.headers)["retries"]) == (b"44", b"3")


def view(leaders: list[int], racks: dict[int, str]) -> ClusterView:
    """A topic whose partitions have these leaders, on brokers in these racks."""
    nodes = {node: Node(node, "host", 9092, rack) for node, rack in racks.items()}
    partitions = tuple(
        PartitionInfo("t", number, leader, 0, (leader,), (leader,), ()) for number, leader in enumerate(leaders)
    )
    return ClusterView(nodes, {"t": TopicInfo("t", ZERO_UUID, False, partitions)})


def test_w7_9_partitions_go_to_the_rack_of_their_leader() -> None:
    """W7.9, S3-115; a partition without anybody near goes to whoever has least."""
    assignor = example("assignors").RackAwareAssignor()
    assignor.configure({"client.rack": "rack1"})
    members = {
        "consumer1": Subscription(["t"], assignor.subscription_user_data(["t"])),
        "consumer2": Subscription(["t"], b"rack2"),
    }
    shares = assignor.assign(view([1, 2, 1, 2], {1: "rack1", 2: "rack2"}), members)
    assert {member: [each.partition for each in share] for member, share in shares.items()} == {
        "consumer1": [0, 2],
        "consumer2": [1, 3],
    }
    alone = assignor.assign(view([1, 3], {1: "rack1", 3: "rack3"}), members)
    assert [len(share) for share in alone.values()] == [1, 1]


def test_s3_014_by_lot_every_partition_finds_a_subscriber() -> None:
    """S3-014"""
    members = {"a": Subscription(["t", "u"]), "b": Subscription(["t"])}
    shares = example("assignors").RandomAssignor().assign_counts({"t": 20, "u": 5}, members)
    assert sum(map(len, shares.values())) == 25
    assert all(each.topic == "t" for each in shares["b"])


def test_w7_10_everything_goes_to_everybody(bootstrap: str, module_broker: BrokerProcess) -> None:
    """W7.10, S3-116: seven partitions, three consumers, and each has all seven. W7.11: their commits clash."""
    module_broker.create_topic("broadcast", 7)
    configs = settings(bootstrap, "broadcast", partition_assignment_strategy=[example("assignors").BroadcastAssignor],
                       enable_auto_commit=False)  # fmt: skip
    with contextlib.ExitStack() as stack:
        consumers = [stack.enter_context(Consumer(configs)) for _ in range(3)]
        for consumer in consumers:
            consumer.subscribe(["broadcast"])

        def all_have_all() -> bool:
            for consumer in consumers:
                consumer.poll(0.02)
            return all(len(consumer.assignment()) == 7 for consumer in consumers)

        wait_until(all_have_all, TIMEOUT_S)
        one = TopicPartition("broadcast", 0)
        consumers[0].commit({one: 10})
        consumers[1].commit({one: 8})
        assert consumers[0].committed([one])[one] == OffsetAndMetadata(8)


def test_w7_26_exactly_once_from_topic_to_topic(module_broker: BrokerProcess, topic: str) -> None:
    """Every third transaction fails before its end: what it wrote is not seen, and its input is read again."""
    module = example("exactly_once")
    bootstrap, target = module_broker.bootstrap, f"{topic}-results"
    module_broker.create_topic(target, 3)
    values = fill(bootstrap, topic, 120)
    rounds = itertools.count(1)
    partitions = [TopicPartition(topic, number) for number in range(3)]

    class Fails(Producer):
        def send_offsets_to_transaction(self, offsets: Any, group: Any) -> None:  # type: ignore[override]
            if next(rounds) % 3 == 0:
                group = group._replace(generation_id=99)
            super().send_offsets_to_transaction(offsets, group)

    def is_done() -> bool:
        committed = consumer.committed(partitions)
        return sum(0 if each is None else each.offset for each in committed.values()) == len(values)

    configs = {**settings(bootstrap, topic), **module.reader_settings(bootstrap, topic), "max.poll.records": 10}
    with Consumer(configs) as consumer, Fails(module.writer_settings(bootstrap, f"of-{topic}")) as producer:
        module.run(consumer, producer, topic, target, lambda value: value + b"!", is_done)
    assert next(rounds) > 12
    results = []
    with Consumer({**settings(bootstrap, target), "isolation.level": "read_committed"}) as reader:
        reader.subscribe([target])
        deadline = time.monotonic() + TIMEOUT_S
        while len(results) < len(values):
            assert time.monotonic() < deadline
            results += [record.value for record in reader.poll(0.5)]
    assert sorted(results) == sorted(value + b"!" for value in values)
