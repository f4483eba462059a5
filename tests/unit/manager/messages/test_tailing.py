"""The live tail: what comes after it began, no more per second than allowed, and an end that says why."""

import asyncio
import json

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.manager.messages.browsing import MessageView
from kafka_py.manager.messages.decoding.masks import masks_of
from kafka_py.manager.messages.matching.filters import FilterForm, compile_filter
from kafka_py.manager.messages.tailing import MessageTail, OpenStreams, TailLimits, TooManyTails, event


def log(count):
    return [(offset, offset, b'{"n": %d, "text": "\\n\\nevent: end"}' % offset) for offset in range(count)], count


def tailed(topic, ends, view=None, limits=None):
    """(name, document) of each event, until the end."""
    tail = MessageTail(topic, view or MessageView(), limits or TailLimits(lasts_ms=100), topic.clock)

    async def read():
        return [part async for part in tail.events("t", ends)]

    text = b"".join(asyncio.run(read())).decode()
    found = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        if block.startswith("event: "):
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
        else:
            found.append((block, None))
    return found


def test_messages_after_the_beginning_are_sent(memory_topic):
    found = tailed(memory_topic({0: log(5), 1: log(2)}), {0: 3, 1: 2})
    assert found[0] == ("begin", {"partitions": [0, 1]})
    assert [(each["partition"], each["offset"]) for name, each in found if name == "message"] == [(0, 3), (0, 4)]
    assert found[-1][0] == "end"
    assert len([name for name, _ in found if name == "end"]) == 1


def test_filters_and_masks_hold_for_the_tail(memory_topic):
    view = MessageView(masks=masks_of([{"topics": "t", "value": "$.text"}]),
                       predicate=compile_filter(FilterForm(expression="value.n == 1")))  # fmt: skip
    shown = [each for name, each in tailed(memory_topic({0: log(3)}), {0: 0}, view) if name == "message"]
    assert [json.loads(each["value"]["text"]) for each in shown] == [{"n": 1, "text": "[masked]"}]


def test_a_busy_topic_is_counted_beyond_what_is_shown(memory_topic):
    found = tailed(memory_topic({0: log(30)}, per_poll=30), {0: 0}, limits=TailLimits(10, 60))
    assert len([name for name, _ in found if name == "message"]) == 10
    assert [each["count"] for name, each in found if name == "skipped"] == [20]


def test_a_silent_tail_says_that_it_is_there(memory_topic):
    found = tailed(memory_topic({0: log(0)}), {0: 0}, limits=TailLimits(lasts_ms=100, alive_ms=40))
    assert [name for name, _ in found] == ["begin", ": alive", ": alive", "end"]


def test_a_tail_that_fails_says_why(memory_topic):
    topic = memory_topic({0: log(1)})

    async def poll(timeout=0.0):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not yours")

    topic.poll = poll
    assert tailed(topic, {0: 0})[-1] == ("end", {"why": "TOPIC_AUTHORIZATION_FAILED: not yours"})


def test_a_huge_message_is_cut(memory_topic):
    topic = memory_topic({0: ([(0, 0, b"x" * 500_000)], 1)})
    shown = next(each for name, each in tailed(topic, {0: 0}) if name == "message")
    assert (len(shown["value"]["text"]), shown["value"]["size"], shown["value"]["is_cut"]) == (2_048, 500_000, True)


def test_so_many_streams_are_open_at_a_time():
    streams = OpenStreams(most=2)
    with streams.one_more(), streams.one_more(), pytest.raises(TooManyTails), streams.one_more():
        pass
    assert streams.count == 0


def test_data_cannot_look_like_another_event():
    assert event("message", {"a": "\n\nevent: end\r\n"}).count(b"\n") == 3
