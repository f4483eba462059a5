"""Pages of messages: complete, in order, merged by time, and continued without a gap or a repetition."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_py.base.errors import KafkaError
from kafka_py.manager.messages.browsing import BrowseRequest, MessageView, browse
from kafka_py.manager.messages.decoding.decoders import RecordDecoder
from kafka_py.manager.messages.decoding.masks import masks_of
from kafka_py.manager.messages.matching.filters import FilterForm, compile_filter
from kafka_py.manager.messages.message import SHOWN_CHARACTERS
from kafka_py.manager.messages.positions import BrowseStart, InvalidPosition, StartKind, parse_places
from kafka_py.manager.messages.scanning import ScanLimits, StopReason

EARLIEST, LATEST = BrowseStart(StartKind.EARLIEST), BrowseStart(StartKind.LATEST)


def log(start, end, *, step=10, first=0, markers=0):
    return [(offset, first + step * offset, b'{"n": %d}' % offset) for offset in range(start, end)], end + markers


def page(topic, start=EARLIEST, *, limit=50, view=None, limits=None, partitions=()):
    request = BrowseRequest("t", tuple(partitions), start, limit)
    return asyncio.run(browse(topic, request, view or MessageView(), limits or ScanLimits(), topic.clock))


def places(found):
    return [(message.partition, message.offset) for message in found.messages]


def view(**form):
    return MessageView(predicate=compile_filter(FilterForm(**form)))


def test_partitions_are_merged_by_time(memory_topic):
    topic = memory_topic({0: log(0, 3, first=0), 1: log(0, 3, first=5)})
    assert places(page(topic)) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert places(page(topic, LATEST)) == [(1, 2), (0, 2), (1, 1), (0, 1), (1, 0), (0, 0)]
    assert page(topic).next_places is None and page(topic, LATEST).next_places is None


def test_a_page_has_so_many_messages_and_says_where_the_next_begins(memory_topic):
    topic = memory_topic({0: log(0, 30), 1: log(10, 12, first=-50)})
    found = page(topic, limit=4)
    assert places(found) == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert parse_places(found.next_places or "") == {0: 4, 1: 10}
    newest = page(topic, LATEST, limit=4)
    assert places(newest) == [(0, 29), (0, 28), (0, 27), (0, 26)]
    assert parse_places(newest.next_places or "") == {0: 26, 1: 12}


TIMES = st.lists(st.integers(0, 20), max_size=25)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TIMES, min_size=1, max_size=3), st.integers(1, 9), st.booleans(), st.sampled_from(["", "n", "7"]))
def test_following_the_pages_shows_every_message_once(memory_topic, times, limit, backward, text):
    logs = {
        number: ([(2 * offset, at, b"n%d" % at) for offset, at in enumerate(some)], 2 * len(some) + number)
        for number, some in enumerate(times)
    }
    topic = memory_topic(logs, per_poll=5)
    start, seen = LATEST if backward else EARLIEST, []
    for _ in range(200):
        found = page(topic, start, limit=limit, view=view(value=text))
        seen += places(found)
        if found.next_places is None:
            break
        kind = StartKind.BEFORE if backward else StartKind.PLACES
        start = BrowseStart(kind, places=parse_places(found.next_places))
    wanted = [
        (number, record[0]) for number, (records, _) in logs.items() for record in records if text.encode() in record[2]
    ]
    assert len(seen) == len(set(seen)) and sorted(seen) == sorted(wanted)
    for number in logs:
        own = [offset for partition, offset in seen if partition == number]
        assert own == sorted(own, reverse=backward)


def test_a_page_says_what_was_read_of_each_partition(memory_topic):
    found = page(memory_topic({0: log(5, 30, markers=1), 1: log(0, 0)}), limit=3)
    assert [tuple(each) for each in found.progress] == [(0, 5, 31, 5, 8), (1, 0, 0, 0, 0)]
    assert (found.scanned_records, found.stopped_by, found.took_ms) == (7, None, 10)


def test_a_filter_reads_on_until_the_page_is_full_or_the_budget_is_spent(memory_topic):
    topic = memory_topic({0: log(0, 400)}, per_poll=50)
    found = page(topic, view=view(json_path="$.n", json_value="399"))
    assert places(found) == [(0, 399)] and found.stopped_by is None
    cut_short = page(topic, view=view(json_path="$.n", json_value="399"), limits=ScanLimits(records=100))
    assert places(cut_short) == [] and cut_short.stopped_by is StopReason.RECORDS
    assert parse_places(cut_short.next_places or "") == {0: 100}
    backward = page(topic, LATEST, view=view(json_path="$.n", json_value="0"))
    assert places(backward) == [(0, 0)] and backward.next_places is None


def test_what_is_read_backward_only_in_part_belongs_to_the_next_page(memory_topic):
    topic = memory_topic({0: log(0, 9_000)}, per_poll=100)
    found = page(topic, LATEST, view=view(value="none"), limits=ScanLimits(records=6_000))
    assert found.stopped_by is StopReason.RECORDS
    assert parse_places(found.next_places or "") == {0: 4_000}
    assert found.progress[0].read_from == 4_000


def test_starts_at_an_offset_a_time_and_places(memory_topic):
    topic = memory_topic({0: log(0, 5), 1: log(0, 5)})
    assert places(page(topic, BrowseStart(StartKind.OFFSET, offset=4))) == [(0, 4), (1, 4)]
    assert places(page(topic, BrowseStart(StartKind.TIME, timestamp=31), partitions=[1])) == [(1, 4)]
    assert places(page(topic, BrowseStart(StartKind.TIME, timestamp=999))) == []
    assert places(page(topic, BrowseStart(StartKind.PLACES, places={0: 4}))) == [(0, 4)]


def test_a_partition_without_leader_does_not_hide_the_others(memory_topic):
    found = page(memory_topic({0: log(0, 2), 1: log(0, 2)}, leaderless=(1,)))
    assert places(found) == [(0, 0), (0, 1)]
    assert found.leaderless == (1,)


def test_topics_and_partitions_that_do_not_exist_are_refused(memory_topic):
    with pytest.raises(KafkaError):
        page(memory_topic({}))
    with pytest.raises(InvalidPosition):
        page(memory_topic({0: log(0, 1)}), partitions=[3])


def test_huge_messages_are_cut_and_very_many_of_them_are_bounded(memory_topic):
    huge = [(offset, 0, b"x" * 100_000) for offset in range(3)]
    found = page(memory_topic({0: (huge, 3)}))
    shown = {(len(message.value.text), message.value.size) for message in found.messages}
    assert shown == {(SHOWN_CHARACTERS, 100_000)}


def test_many_partitions_share_what_is_kept(memory_topic):
    topic = memory_topic({number: log(0, 60) for number in range(200)}, per_poll=2_000)
    found = page(topic, LATEST, limit=500)
    assert len(found.messages) == 500
    assert {message.offset for message in found.messages} <= set(range(35, 60))


def test_what_is_masked_cannot_be_found_by_searching(memory_topic):
    topic = memory_topic({0: log(0, 5)})
    masks = masks_of([{"topics": "*", "value": "$.n"}])
    for form in ({"value": "3"}, {"json_path": "$.n", "json_value": "3"}, {"expression": "value.n == 3"}):
        predicate = compile_filter(FilterForm(**form))
        assert places(page(topic, view=MessageView(RecordDecoder(), masks, predicate))) == []


def test_a_pattern_that_is_too_costly_ends_the_scan(memory_topic):
    text = "".join(chr(0x4E00 + number % 9_000) + "abcd"[number % 4] for number in range(60_000))
    topic = memory_topic({0: ([(0, 0, text.encode()), (1, 0, b"v")], 2)})
    found = page(topic, view=view(value="(.*)(a|b)(.{90})(c|d)(.{90})e", is_pattern=True))
    assert found.stopped_by is StopReason.PATTERN


@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_newest_messages_are_shown_although_a_whole_window_is_more_than_may_be_read(memory_topic, count):
    """Fifty messages of 2 MB are more than one request may read; the page was empty, and so was every next one."""
    large = b"x" * 2_000
    topic = memory_topic({number: ([(at, at, large) for at in range(100)], 100) for number in range(count)}, per_poll=1)
    limits, start, seen = ScanLimits(size_bytes=64_000), LATEST, []
    for _ in range(300):
        found = page(topic, start, limits=limits)
        assert found.scanned_bytes <= 2 * limits.size_bytes + count * len(large)
        seen += places(found)
        if found.next_places is None:
            break
        start = BrowseStart(StartKind.BEFORE, places=parse_places(found.next_places))
    assert sorted(seen) == [(number, at) for number in range(count) for at in range(100)]
    assert seen[0][1] == 99
