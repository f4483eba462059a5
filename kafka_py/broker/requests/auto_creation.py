"""Automatic creation of topics: with the broker's defaults, or those of the internal topics.

Source: docs/reference/controller.md, section 14 (auto creation); docs/reference/groups.md, section 9 (settings of
internal topics).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafka_py.broker.requests.item_errors import error_of
from kafka_py.broker.requests.topic_admin import Permit, TopicAdmin, TopicToCreate
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.controller.topic_names import fault_of

_log = logging.getLogger(__name__)

_SOON = frozenset((ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.REQUEST_TIMED_OUT))


class AutoCreation:
    """Creates topics; concurrent requests for one topic create it once."""

    def __init__(self, topics: TopicAdmin, config: Callable[[], BrokerConfig]) -> None:
        self._topics = topics
        self._config = config
        self._in_flight: set[str] = set()

    def absent_code(self, name: str) -> ErrorCode:
        """The error code for a missing topic that may not be created."""
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if fault_of(name) is None else ErrorCode.INVALID_TOPIC_EXCEPTION

    async def create(self, name: str, permit: Permit | None = None) -> ErrorCode:
        """Creates the topic without waiting for its leaders: LEADER_NOT_AVAILABLE is success, and clients retry.

        permit: as in TopicAdmin.create. Every exception becomes the error code of this topic, so that the other topics
        of the request are not affected.
        """
        if fault_of(name) is not None:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if name in self._in_flight:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self._in_flight.add(name)
        try:
            await self._topics.create(self._new_topic(name), permit=permit)
        except Exception as failure:
            code = error_of(failure, _log, f"Topic {name} is not created").code
            return ErrorCode.LEADER_NOT_AVAILABLE if code in _SOON else code
        finally:
            self._in_flight.discard(name)
        return ErrorCode.LEADER_NOT_AVAILABLE

    def _new_topic(self, name: str) -> TopicToCreate:
        config = self._config()
        if name == GROUP_METADATA_TOPIC:
            return TopicToCreate(
                name,
                config.offsets_topic_num_partitions,
                config.offsets_topic_replication_factor,
                configs={
                    "cleanup.policy": "compact",
                    "compression.type": "producer",
                    "segment.bytes": str(config.offsets_topic_segment_bytes),
                },
            )
        if name == TRANSACTION_STATE_TOPIC:
            return TopicToCreate(
                name,
                config.transaction_state_log_num_partitions,
                config.transaction_state_log_replication_factor,
                configs={
                    "cleanup.policy": "compact",
                    "compression.type": "uncompressed",
                    "min.insync.replicas": str(config.transaction_state_log_min_isr),
                    "segment.bytes": str(config.transaction_state_log_segment_bytes),
                    "unclean.leader.election.enable": "false",
                },
            )
        return TopicToCreate(name)
