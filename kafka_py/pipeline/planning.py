"""Which partitions a read covers and between which offsets: the options applied to what the cluster says now."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.pipeline.committed import committed_offsets
from kafka_py.pipeline.filters import WantedRange
from kafka_py.pipeline.links import Link
from kafka_py.pipeline.offsets import Offsets, names
from kafka_py.pipeline.options import Options
from kafka_py.pipeline.ranges import OffsetRange

_log = logging.getLogger(__name__)

T = TypeVar("T")


class DataLoss(KafkaError):
    """Offsets that were to be read are gone, and failOnDataLoss is true."""

    def __init__(self, detail: str) -> None:
        super().__init__(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"{detail}. Set the option failOnDataLoss to false to go on without them"
        )


class Planner:
    """Answers for one query; every call asks the cluster again."""

    def __init__(self, link: Link, options: Options) -> None:
        self.link = link
        self._options = options

    # ---- which partitions

    def partitions(self) -> list[TopicPartition]:
        """What subscribe, subscribePattern or assign names now. A topic that is not there is waited for a moment."""
        options = self._options
        if options["assign"] is not None:
            wanted = [TopicPartition(topic, each) for topic, numbers in options["assign"].items() for each in numbers]
            known = set(self.link.partitions_of({each.topic for each in wanted}))
            missing = [each for each in wanted if each not in known]
            if missing:
                raise KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"option assign names {names(missing)}, which do not exist"
                )
            return wanted
        if options["subscribe"] is not None:
            return self.link.partitions_of(options["subscribe"])
        return self.link.partitions_of(self.link.topics_like(re.compile(options["subscribePattern"]).search))

    # ---- between which offsets

    def starts(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Where a batch read or a new stream begins."""
        options = self._options
        if options["startingTimestamp"] is not None:
            return self._at_times(dict.fromkeys(partitions, options["startingTimestamp"]), "startingTimestamp")
        if options["startingOffsetsByTimestamp"] is not None:
            times = self._covering(options["startingOffsetsByTimestamp"], partitions, "startingOffsetsByTimestamp")
            return self._at_times(times, "startingOffsetsByTimestamp")
        chosen = options["startingOffsets"]
        if chosen == "committed":
            return self._committed(partitions)
        if isinstance(chosen, dict):
            return self._resolved(self._covering(chosen, partitions, "startingOffsets"), "startingOffsets")
        return self.earliest(partitions) if chosen == "earliest" else self.latest(partitions)

    def ends(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Where a batch read ends."""
        options = self._options
        if options["endingTimestamp"] is not None:
            return self._before_times(dict.fromkeys(partitions, options["endingTimestamp"]))
        if options["endingOffsetsByTimestamp"] is not None:
            times = self._covering(options["endingOffsetsByTimestamp"], partitions, "endingOffsetsByTimestamp")
            return self._before_times(times)
        chosen = options["endingOffsets"]
        if isinstance(chosen, dict):
            return self._resolved(self._covering(chosen, partitions, "endingOffsets"), "endingOffsets")
        return self.latest(partitions)

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        return self._retried(lambda: self.link.ends(partitions, EARLIEST_TIMESTAMP))

    def latest(self, partitions: Collection[TopicPartition]) -> Offsets:
        return self._retried(lambda: self.link.ends(partitions, LATEST_TIMESTAMP))

    def _covering(
        self, given: Mapping[tuple[str, int], int], partitions: Collection[TopicPartition], option: str
    ) -> dict[TopicPartition, int]:
        """The option's numbers, if it has one for each partition and for no other."""
        by_partition = {TopicPartition(*each): number for each, number in given.items()}
        missing, extra = set(partitions) - set(by_partition), set(by_partition) - set(partitions)
        if missing or extra:
            what = f"lacks {names(missing)}" if missing else f"names {names(extra)}, which are not read"
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Option {option} must cover the partitions read: it {what}")
        return by_partition

    def _at_times(self, times: Mapping[TopicPartition, int], option: str) -> Offsets:
        found = self._retried(lambda: self.link.offsets_at(times))
        late = [each for each, offset in found.items() if offset is None]
        if late and self._options["startingOffsetsByTimestampStrategy"] == "error":
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"Option {option}: {names(late)} have no record at or after {times[late[0]]} ms. "
                "Set startingOffsetsByTimestampStrategy to latest to begin at their ends",
            )
        return {**self.latest(late), **{each: offset for each, offset in found.items() if offset is not None}}

    def _before_times(self, times: Mapping[TopicPartition, int]) -> Offsets:
        found = self._retried(lambda: self.link.offsets_at(times))
        late = [each for each, offset in found.items() if offset is None]
        return {**self.latest(late), **{each: offset for each, offset in found.items() if offset is not None}}

    def _resolved(self, given: Mapping[TopicPartition, int], option: str) -> Offsets:
        """Words made numbers, and numbers checked against what the partitions hold."""
        low, high = self.earliest(given), self.latest(given)
        resolved: Offsets = {}
        for each, offset in given.items():
            if offset in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP):
                resolved[each] = low[each] if offset == EARLIEST_TIMESTAMP else high[each]
            elif low[each] <= offset <= high[each]:
                resolved[each] = offset
            else:
                self.lost(f"Option {option}: {each} holds offsets {low[each]} to {high[each]}, not {offset}")
                resolved[each] = min(max(offset, low[each]), high[each])
        return resolved

    def _committed(self, partitions: Collection[TopicPartition]) -> Offsets:
        group = self._options["startingGroup"]
        found = self._retried(lambda: committed_offsets(self.link, group, partitions))
        others = [each for each in partitions if each not in found]
        first = self._options["startingGroupFallback"] == "earliest"
        return {
            **self._resolved(found, f"startingGroup {group}"),
            **(self.earliest(others) if first else self.latest(others)),
        }

    def plan(self, wanted: WantedRange) -> list[OffsetRange]:
        """The ranges of a batch read."""
        partitions = [each for each in self.partitions() if wanted.has(each)]
        starts, ends = self.starts(partitions), self.ends(partitions)
        if wanted.least_time_ms is not None:
            found = self.link.offsets_at(dict.fromkeys(partitions, wanted.least_time_ms))
            starts = {
                each: ends[each] if (at := found.get(each)) is None else max(starts[each], at) for each in partitions
            }
        last = wanted.end_offset
        return [
            OffsetRange(
                *each, max(starts[each], wanted.least_offset), ends[each] if last is None else min(ends[each], last)
            )
            for each in partitions
        ]

    # ---- trouble

    def lost(self, detail: str) -> None:
        """Raises DataLoss, or says it in the log where failOnDataLoss is false."""
        if self._options["failOnDataLoss"]:
            raise DataLoss(detail)
        _log.warning("%s; continued, because failOnDataLoss is false", detail)

    def ends_early(self, partition: TopicPartition, end: int, start: int) -> None:
        """As `lost`, for a partition that ends before the offset that is to be read next."""
        self.lost(f"{partition} ends at offset {end}, before {start}: was the topic deleted and re-created?")

    def _retried(self, ask: Callable[[], T]) -> T:
        """As fetchOffset.numRetries and fetchOffset.retryIntervalMs say."""
        left = self._options["fetchOffset.numRetries"]
        while True:
            try:
                return ask()
            except KafkaError as error:
                if not left or not error.retriable:
                    raise
                left -= 1
                time.sleep(self._options["fetchOffset.retryIntervalMs"] / 1000)
