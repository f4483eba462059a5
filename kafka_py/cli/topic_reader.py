"""Reads every partition of one topic, or of all topics a pattern matches, those that come later too.

By assignment, without a group. Where reading starts is up to auto.offset.reset. Used by the console consumer and the
performance test.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.consumer import Consumer
from kafka_py.clients.consumer.records import ConsumerRecords
from kafka_py.clients.errors import ClientTimeout
from kafka_py.controller.topic_names import INTERNAL_TOPICS

log = logging.getLogger(__name__)

MISSING_LOOK_S = 1.0
"""How often to look again while there is nothing to read."""


class TopicReader:
    """Polls a consumer of which it sets the assignment.

    wanted: a topic's name, or the pattern that names must match whole. internal: whether a pattern means the brokers'
    own topics too. look_every_s: how often to look for new partitions and topics.
    """

    def __init__(
        self,
        consumer: Consumer,
        wanted: str | re.Pattern[str],
        *,
        internal: bool = False,
        look_every_s: float = 300.0,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.assigned_at: float | None = None
        """When the first partitions were found, by the clock `now`."""
        self._consumer = consumer
        self._wanted = wanted
        self._internal = internal
        self._look_every_s = look_every_s
        self._now = now
        self._sleep = sleep
        self._look_at = now()
        self._assigned: set[TopicPartition] = set()
        self._said_missing = False

    def poll(self, timeout_s: float) -> ConsumerRecords:
        """Records that are there; waits so long for the first ones. Raises as Consumer.poll."""
        deadline = self._now() + timeout_s
        if self._now() >= self._look_at:
            self._look(timeout_s)
        left = max(0.0, deadline - self._now())
        if self._assigned:
            return self._consumer.poll(left)
        self._sleep(min(left, max(0.0, self._look_at - self._now())))
        return ConsumerRecords()

    def _look(self, timeout_s: float) -> None:
        try:
            found = self._partitions(max(timeout_s, MISSING_LOOK_S))
        except ClientTimeout:
            return
        if found - self._assigned:
            self._assigned |= found
            self._consumer.assign(sorted(self._assigned))
            self.assigned_at = self.assigned_at or self._now()
        elif not found and not self._said_missing and isinstance(self._wanted, str):
            self._said_missing = True
            log.warning("Topic %s does not exist; waiting for it", self._wanted)
        self._look_at = self._now() + (self._look_every_s if found else MISSING_LOOK_S)

    def _partitions(self, timeout_s: float) -> set[TopicPartition]:
        if isinstance(self._wanted, str):
            infos = self._consumer.partitions_for(self._wanted, timeout_s)
        else:
            pattern = self._wanted
            infos = [
                info
                for topic, partitions in self._consumer.list_topics(timeout_s).items()
                if pattern.fullmatch(topic) and (self._internal or topic not in INTERNAL_TOPICS)
                for info in partitions
            ]
        return {info.topic_partition for info in infos}
