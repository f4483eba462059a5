"""Offsets of transactions go from our broker to Apache's and back: pending, committed and aborted ones.

The same requests to both, over the same directory: what one has left pending the other decides when the marker comes.
"""

import pytest
from brokers.test_offsets_topic import TOPIC, Journey

from kafka_py.base.errors import ErrorCode
from kafka_py.records.java_hash import partition_for_id
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import create_topic
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_py.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

COMMITTED, ABORTED, PENDING, RACED = "committed", "aborted", "pending", "raced"
GROUPS = (COMMITTED, ABORTED, PENDING, RACED)
UNSTABLE = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)


@pytest.fixture
def journey(apache_kafka, tmp_path, zk_chroot):
    made = Journey(apache_kafka, tmp_path, zk_chroot)
    yield made
    made.apache.kill()
    made.ours.kill()


def commit(journey, group, offset, producer_id, *, version=3, epoch=0, **fields):
    row = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="über")
    if version >= 2:
        row.committed_leader_epoch = 5
    request = TxnOffsetCommitRequest(
        transactional_id="tx", group_id=group, producer_id=producer_id, producer_epoch=epoch,
        topics=[TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[row])], **({"member_id": ""} | fields),
    )  # fmt: skip
    return ErrorCode(journey.ask(request, version).topics[0].partitions[0].error_code)


def mark(journey, group, producer_id, *, is_commit, epoch=0):
    partition = partition_for_id(group, 3)
    topics = [WritableTxnMarkerTopic(name="__consumer_offsets", partition_indexes=[partition])]
    marker = WritableTxnMarker(
        producer_id=producer_id, producer_epoch=epoch, transaction_result=is_commit, topics=topics, coordinator_epoch=1
    )
    answer = journey.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    assert answer.markers[0].topics[0].partitions[0].error_code == 0


def state(journey):
    """By group: what a consumer hears that wants a stable offset. A marker may be a moment ahead of what it decides."""
    journey.wait_coordinators()
    found = {}
    for group in GROUPS:
        topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
        answer = journey.ask(OffsetFetchRequest(group_id=group, topics=topics, require_stable=True), 7)
        row = answer.topics[0].partitions[0]
        found[group] = row.committed_offset, ErrorCode(row.error_code)
    return found


def refusals(journey):
    """What a broker says to commits that it does not take."""
    return [
        commit(journey, COMMITTED, 9, 1, member_id="nobody"),
        commit(journey, COMMITTED, 9, 1, generation_id=3),
        commit(journey, COMMITTED, 9, 1, member_id="nobody", generation_id=3, group_instance_id="i"),
        commit(journey, "", 9, 1),
        commit(journey, COMMITTED, 9, 99, epoch=0),
    ]


def play(journey, base):
    """The same story for the broker at hand; offsets count from `base`, producers from it too."""
    for number, group in enumerate((COMMITTED, ABORTED, PENDING)):
        assert commit(journey, group, base + number, base + number, version=number) is ErrorCode.NONE
    mark(journey, COMMITTED, base, is_commit=True)
    mark(journey, ABORTED, base + 1, is_commit=False)
    assert commit(journey, RACED, base + 7, base + 7) is ErrorCode.NONE
    assert commit(journey, RACED, base + 8, base + 8) is ErrorCode.NONE
    mark(journey, RACED, base + 8, is_commit=True)
    mark(journey, RACED, base + 7, is_commit=True)
    # A later epoch of producer 99 fences what `refusals` tries with the former.
    assert commit(journey, COMMITTED, 0, 99, epoch=base) is ErrorCode.NONE
    mark(journey, COMMITTED, 99, is_commit=False, epoch=base)


def wait_state(journey, expected):
    wait_until(lambda: state(journey) == expected, 30, f"{expected}, it is {state(journey)}")


@pytest.mark.parametrize("begins", ["ours", "apache"])
def test_what_one_broker_leaves_pending_the_other_decides(journey, begins):
    first, second = (journey.ours, journey.apache) if begins == "ours" else (journey.apache, journey.ours)
    first.start()
    create_topic([journey.bootstrap], TOPIC, 2)
    journey.groups = list(GROUPS)
    journey.wait_coordinators()
    play(journey, 100)
    expected = {
        COMMITTED: (100, ErrorCode.NONE),
        ABORTED: (-1, ErrorCode.NONE),
        PENDING: UNSTABLE,
        RACED: (108, ErrorCode.NONE),
    }
    wait_state(journey, expected)
    refused = refusals(journey)
    first.stop()

    second.start()
    wait_state(journey, expected)
    assert refusals(journey) == refused
    mark(journey, PENDING, 102, is_commit=True)
    wait_state(journey, expected | {PENDING: (102, ErrorCode.NONE)})
    play(journey, 200)
    expected = expected | {COMMITTED: (200, ErrorCode.NONE), PENDING: UNSTABLE, RACED: (208, ErrorCode.NONE)}
    wait_state(journey, expected)
    second.stop()

    first.start()
    wait_state(journey, expected)
    mark(journey, PENDING, 202, is_commit=False)
    wait_state(journey, expected | {PENDING: (102, ErrorCode.NONE)})
