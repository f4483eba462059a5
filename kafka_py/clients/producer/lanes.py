"""Lanes, the queues of batches per partition, and the state that a topic's lanes share. Filled by accumulator.py."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import NO_NODE
from kafka_py.clients.producer.batches import NO_SEQUENCE, ProducerBatch
from kafka_py.clients.producer.partitioner import KeyedChoice

RATIO_GROWTH = 0.05
RATIO_DECAY = 0.005
"""How far one batch moves a topic's expected compression ratio: up by growth (worse), down by decay (better)."""


class Lane:
    """The batches of one partition in order, and the sender's state of the partition.

    queue: batches not in flight, oldest first; the last one may be `open` (records are added to it). in_flight: sent
    batches without response, in order of sending. sent_to: node id to which they were sent.
    place, due_ms: the collection of ready.py that contains the lane, and the time until which it waits there.
    bumping: whether the sequences have a gap, so that the lane restarts under a new epoch.
    """

    __slots__ = (
        "bumping", "due_ms", "in_flight", "last_acked_sequence", "leader", "next_sequence", "open", "partition",
        "place", "producer_epoch", "producer_id", "queue", "sent_to", "topic",
    )  # fmt: skip

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.leader = NO_NODE
        self.queue: deque[ProducerBatch] = deque()
        self.open: ProducerBatch | None = None
        self.in_flight: list[ProducerBatch] = []
        self.sent_to = NO_NODE
        self.place: dict[Lane, None] | None = None
        self.due_ms = math.inf
        # State of the idempotent producer (idempotence.py).
        self.producer_id = -1
        self.producer_epoch = -1
        self.next_sequence = 0
        self.last_acked_sequence = NO_SEQUENCE
        self.bumping = False

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __repr__(self) -> str:
        return f"{self.topic}-{self.partition}"


class TopicLanes:
    """The lanes of one topic, by partition number, with the choice of partition and the expected compression."""

    __slots__ = ("choice", "count", "lanes", "last_used_ms", "name", "ratio")

    def __init__(self, name: str, choice: KeyedChoice) -> None:
        self.name = name
        self.choice = choice
        self.lanes: list[Lane] = []
        self.count = 0
        """Number of partitions in the present metadata; there may be more lanes, of a topic that was re-created."""
        self.ratio = 1.0
        self.last_used_ms = 0.0

    def note_ratio(self, ratio: float) -> None:
        """Adjusts the expected ratio by that of a compressed batch: quickly upwards, slowly downwards."""
        if ratio > self.ratio:
            self.ratio = max(self.ratio + RATIO_GROWTH, ratio)
        else:
            self.ratio = max(self.ratio - RATIO_DECAY, ratio)


def sequence_order(batches: list[ProducerBatch]) -> Callable[[ProducerBatch], int]:
    """A sort key over batches of one lane that puts sequences in order across the wrap at 2147483647."""
    sequences = [batch.sequence for batch in batches]
    if max(sequences) - min(sequences) < 1 << 30:
        return lambda batch: batch.sequence
    return lambda batch: batch.sequence + (1 << 31 if batch.sequence < 1 << 30 else 0)
