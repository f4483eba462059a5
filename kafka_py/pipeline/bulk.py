"""Arrow batches written to topics without an object per record: encoded by columns, handed to the producer by batches.

Keys, values, topics and partitions are written this way; records with headers, and those of producers with their own
partitioner, one by one (sink.py). A key is sent to the partition that the Java producer would choose; records without
one to one partition after the other, a batch each.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.errors import ClientTimeout
from kafka_py.clients.producer.batches import RecordMetadata
from kafka_py.clients.producer.producer import Producer
from kafka_py.records.column_batches import encode_records, lengths_of, partitions_of_keys
from kafka_py.records.columns import Ints, Packed

OVERHEAD = 16
"""The approximate bytes of a record without its key and value."""

BLOCK_S = 60.0
"""How long memory may be missing without anything being acknowledged."""

Note = Callable[[RecordMetadata | None, KafkaError | None, int], object]
"""Told of each batch: as a producer's callback, and how many records it had."""


class BulkSender:
    """For one producer. batch_bytes: how large batches are made, before compression."""

    def __init__(self, producer: Producer, batch_bytes: int, note: Note) -> None:
        self._producer = producer
        self._batch_bytes = batch_bytes
        self._note = note
        self._answered = threading.Event()
        self._turn = random.randrange(1 << 16)

    def send(self, topic: str, keys: Any | None, values: Any, partitions: Any | None) -> None:
        """Hands all records over; waits for memory. keys, values: Arrow arrays of binary; partitions: of int32.

        Raises KafkaError for what cannot be sent, ClientTimeout when nothing moves.
        """
        count = len(self._producer.partitions_for(topic))
        where = self._places(topic, keys, len(values), partitions, count)
        order, runs = runs_of(where)
        if len(runs) > 1:
            values = values.take(order)
            keys = None if keys is None else keys.take(order)
        for partition, low, size in runs:
            some = None if keys is None else keys.slice(low, size)
            self._send_to(topic, partition, some, values.slice(low, size), count)

    def _places(self, topic: str, keys: Any | None, size: int, partitions: Any | None, count: int) -> Ints:
        """Each record's partition, -1 for those that may go anywhere."""
        if keys is None or keys.null_count == size:
            where = np.full(size, -1, np.int64)
        else:
            where = partitions_of_keys(packed(keys), count)
        if partitions is not None:
            given = partitions.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
            if size and (int(given.max()) >= count or int(pc.min(partitions.fill_null(0)).as_py()) < 0):
                wrong = next(each for each in partitions.to_pylist() if each is not None and not 0 <= each < count)
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"the column partition is {wrong} for {topic}, which has {count}"
                )
            where = np.where(given >= 0, given, where)
        return where

    def _send_to(self, topic: str, partition: int, keys: Any | None, values: Any, count: int) -> None:
        all_keys = None if keys is None or keys.null_count == len(keys) else packed(keys)
        all_values = packed(values)
        for low, high in self._cuts(all_keys, all_values):
            target = partition
            if target < 0:
                self._turn += 1
                target = self._turn % count
            some = None if all_keys is None else _slice(all_keys, low, high)
            self._hand_over(topic, target, encode_records(some, _slice(all_values, low, high)), high - low)

    def _cuts(self, keys: Packed | None, values: Packed) -> Iterator[tuple[int, int]]:
        """Where one batch ends and the next begins."""
        sizes = np.maximum(lengths_of(values), 0) + OVERHEAD
        if keys is not None:
            sizes += np.maximum(lengths_of(keys), 0)
        sums = np.cumsum(sizes)
        low, count = 0, len(sums)
        while low < count:
            before = int(sums[low - 1]) if low else 0
            high = max(low + 1, int(np.searchsorted(sums, before + self._batch_bytes, "right")))
            yield low, high
            low = high

    def _hand_over(self, topic: str, partition: int, records: bytes, count: int) -> None:
        done = partial(self._done, count)
        deadline = time.monotonic() + BLOCK_S
        timestamp = int(time.time() * 1000)
        while True:
            self._answered.clear()
            if self._producer.send_batch(topic, partition, timestamp, records, count, done):
                return
            if self._answered.wait(0.05):
                deadline = time.monotonic() + BLOCK_S
            elif time.monotonic() > deadline:
                raise ClientTimeout(f"{topic}-{partition}: nothing was acknowledged for {BLOCK_S:.0f} s")
            self._producer.partitions_for(topic)  # asks for metadata that expired while the topic was idle

    def _done(self, count: int, metadata: RecordMetadata | None, error: KafkaError | None) -> None:
        self._note(metadata, error, count)
        self._answered.set()


def runs_of(codes: Ints) -> tuple[Any, list[tuple[int, int, int]]]:
    """One stable sort that brings equal codes together, whatever their number.

    Returns the order as an Arrow array of row numbers, and (code, first place in that order, count) for each code.
    """
    order = np.argsort(codes, kind="stable")
    found, starts, counts = np.unique(codes[order], return_index=True, return_counts=True)
    return pa.array(order), list(zip(found.tolist(), starts.tolist(), counts.tolist(), strict=True))


def packed(array: Any) -> Packed:
    """An Arrow array of binary as columns know it; nothing is copied."""
    if array.type != pa.binary():
        array = array.cast(pa.binary())
    _, offsets, data = array.buffers()
    count = len(array)
    all_offsets = np.frombuffer(offsets, np.int32) if offsets is not None else np.zeros(1, np.int32)
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    raw = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return Packed(all_offsets[array.offset : array.offset + count + 1], raw, valid)


def _slice(column: Packed, low: int, high: int) -> Packed:
    valid = None if column.valid is None else column.valid[low:high]
    return Packed(column.offsets[low : high + 1], column.data, valid)
