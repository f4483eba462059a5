"""The size of fetch requests (W6.1)."""

from kafka_py.wire.compiler import encode
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic


def fetch_request(partitions: int) -> bytes:
    """A request of the version that brought fetch sessions."""
    wanted = [
        FetchPartition(partition=number, fetch_offset=7, partition_max_bytes=1 << 20) for number in range(partitions)
    ]
    topics = [FetchTopic(topic="t", partitions=wanted)] if partitions else []
    return encode(FetchRequest(replica_id=-1, max_wait_ms=500, min_bytes=1, topics=topics), 7)


def test_w6_1_a_full_fetch_of_1000_partitions_takes_24_bytes_for_each() -> None:
    """W6.1: 1000 partitions are about 24 KB; a stable incremental request carries none of them."""
    empty = len(fetch_request(0))
    frame_of_the_topic = len(fetch_request(1)) - empty - 24
    assert len(fetch_request(1000)) - empty == 1000 * 24 + frame_of_the_topic
    assert empty < 40
