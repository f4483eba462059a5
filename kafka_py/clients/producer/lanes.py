"""One queue of batches per partition, and what a topic's lanes have in common. Filled by accumulator.py."""

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
"""How fast the expected compression ratio of a topic follows worse, and better, results."""


class Lane:
    """One partition: its batches in order, and what the sender knows of it.

    queue: not in flight, oldest first; the last one may be `open`. in_flight: sent, in order of sending.
    place, due_ms: where ready.py keeps it, and until when it waits there.
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
        # The idempotent producer's part (idempotence.py).
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
        """Partitions that can be sent to, in the present metadata; there may be more lanes than that."""
        self.ratio = 1.0
        self.last_used_ms = 0.0

    def note_ratio(self, ratio: float) -> None:
        """Learns from a compressed batch: quickly upwards, slowly downwards."""
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
