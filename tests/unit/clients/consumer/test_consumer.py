"""The consumer for blocking code as a whole: one thread at a time, and its end."""

import threading

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import ConcurrentModification, Consumer, IllegalState, WakeupError
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires

A = TopicPartition("t", 0)
SETTINGS = {"bootstrap.servers": "h:9092", "auto.offset.reset": "earliest"}


def consumer() -> Consumer:
    cluster = MemoryCluster()
    cluster.create_topic("t")
    return Consumer(SETTINGS, environment=MemoryWires(cluster).environment())


def test_a_second_thread_is_refused_while_a_call_waits() -> None:
    with consumer() as made:
        made.assign([A])
        waits = threading.Event()

        def poll() -> None:
            waits.set()
            with pytest.raises(WakeupError):
                made.poll(60)

        thread = threading.Thread(target=poll)
        thread.start()
        waits.wait()
        while made._owner is None:
            pass
        with pytest.raises(ConcurrentModification):
            made.assign([A])
        made.wakeup()
        thread.join()
        made.assign([A])


def test_a_closed_consumer_refuses_calls_and_may_be_closed_again() -> None:
    made = consumer()
    made.close()
    made.close()
    with pytest.raises(IllegalState, match="closed"):
        made.assign([A])


def test_what_only_looks_something_up_does_not_wait() -> None:
    with consumer() as made:
        made.assign([A])
        made.pause([A])
        assert (made.assignment(), made.paused(), made.subscription()) == ({A}, {A}, set())


def test_settings_are_checked_before_a_thread_is_started() -> None:
    before = threading.active_count()
    with pytest.raises(ConfigError):
        Consumer({**SETTINGS, "max.poll.records": "some"})
    assert threading.active_count() == before
