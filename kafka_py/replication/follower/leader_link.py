"""A follower's connection to one leader, with the three requests of followers (I/O).

Versions are not negotiated: they are those of the inter-broker protocol. One request is in flight at a time. After any
failure the connection is closed, and re-opened for the next request.
Source: docs/reference/replication.md, section 7; docs/reference/protocol.md, section 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, error_code_of
from kafka_py.base.ids import TopicPartition
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.net.client import NO_SECURITY, BrokerConnection
from kafka_py.net.network import Network
from kafka_py.net.secured.client_security import ConnectionSecurity
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.wire.messages.fetch import FetchRequest, FetchResponse
from kafka_py.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_py.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_py.wire.protocol_versions import FollowerRequestVersions

OS_DEFAULT = -1


class LinkFailed(Exception):
    """The leader is unreachable, or its response is unusable; the request may be retried."""


class EpochQuery(NamedTuple):
    """One partition of OffsetForLeaderEpoch. current_leader_epoch: that of the follower. epoch: whose end is asked."""

    current_leader_epoch: int
    epoch: int


class EpochReply(NamedTuple):
    error: ErrorCode
    end: EpochEnd


class OffsetReply(NamedTuple):
    error: ErrorCode
    offset: int


class Leader(Protocol):
    """The requests of a fetcher to its leader. Every call raises LinkFailed."""

    async def fetch(self, request: FetchRequest) -> FetchResponse: ...

    async def epoch_ends(
        self, questions: Mapping[TopicPartition, EpochQuery]
    ) -> dict[TopicPartition, EpochReply]: ...

    async def offsets(
        self, timestamp: int, current_leader_epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetReply]: ...

    def disconnect(self) -> None: ...


FindAddress = Callable[[], tuple[str, int] | None]


class LeaderLink:
    """A Leader over the network.

    find: returns host and port of the leader's inter-broker listener; None while it is not alive.
    """

    def __init__(
        self,
        find: FindAddress,
        *,
        replica_id: int,
        client_id: str,
        options: ReplicationOptions,
        versions: FollowerRequestVersions,
        network: Network | None = None,
        security: ConnectionSecurity = NO_SECURITY,
        clock: Clock,
    ) -> None:
        self._find = find
        self._replica_id = replica_id
        self._client_id = client_id
        self._options = options
        self._versions = versions
        self._network = network
        self._security = security
        self._clock = clock
        self._connection: BrokerConnection | None = None

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        response: FetchResponse = await self._ask(request, self._versions.fetch)
        return response

    async def epoch_ends(self, questions: Mapping[TopicPartition, EpochQuery]) -> dict[TopicPartition, EpochReply]:
        """The end offsets of epochs in the leader's logs (KIP-101); partitions missing in the response are left out."""
        topics: dict[str, OffsetForLeaderTopic] = {}
        for (topic, partition), question in questions.items():
            entry = topics.setdefault(topic, OffsetForLeaderTopic(topic=topic, partitions=[]))
            entry.partitions.append(
                OffsetForLeaderPartition(
                    partition=partition,
                    current_leader_epoch=question.current_leader_epoch,
                    leader_epoch=question.epoch,
                )
            )
        request = OffsetForLeaderEpochRequest(replica_id=self._replica_id, topics=list(topics.values()))
        response = await self._ask(request, self._versions.offset_for_leader_epoch)
        return {
            TopicPartition(topic.topic, one.partition): EpochReply(
                error_code_of(one.error_code), EpochEnd(one.leader_epoch, one.end_offset)
            )
            for topic in response.topics
            for one in topic.partitions
        }

    async def offsets(
        self, timestamp: int, current_leader_epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetReply]:
        """The leader's end offsets (timestamp -1) or log start offsets (-2)."""
        topics: dict[str, ListOffsetsTopic] = {}
        for (topic, partition), epoch in current_leader_epochs.items():
            entry = topics.setdefault(topic, ListOffsetsTopic(name=topic, partitions=[]))
            entry.partitions.append(
                ListOffsetsPartition(partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp)
            )
        request = ListOffsetsRequest(replica_id=self._replica_id, topics=list(topics.values()))
        response = await self._ask(request, self._versions.list_offsets)
        return {
            TopicPartition(topic.name, one.partition_index): OffsetReply(
                error_code_of(one.error_code), one.old_style_offsets[0] if one.old_style_offsets else one.offset
            )
            for topic in response.topics
            for one in topic.partitions
        }

    async def _ask(self, request: Any, version: int) -> Any:
        timeout_s = self._options.replica_socket_timeout_ms / 1000.0
        try:
            async with asyncio.timeout(timeout_s):
                connection = self._connection
                if connection is None or connection.closed:
                    connection = self._connection = await self._connect()
                return await connection.send(request, version)
        except TimeoutError:
            self.disconnect()
            raise LinkFailed(f"no response within {timeout_s:.0f} s") from None
        except OSError as error:
            self.disconnect()
            raise LinkFailed(str(error)) from error

    async def _connect(self) -> BrokerConnection:
        address = self._find()
        if address is None:
            raise LinkFailed("the leader is not among the live brokers")
        return await BrokerConnection.connect(
            *address,
            client_id=self._client_id,
            timeout_ms=self._options.replica_socket_timeout_ms,
            receive_buffer_bytes=_receive_buffer_bytes(self._options),
            network=self._network,
            security=self._security,
            clock=self._clock,
        )

    def disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close("closed by the follower")


def _receive_buffer_bytes(options: ReplicationOptions) -> int:
    """The configured size; instead of the default of 64 KiB the kernel's growing buffer, which needs half the CPU."""
    given = options.replica_socket_receive_buffer_bytes
    row = ReplicationOptions.ROWS["replica.socket.receive.buffer.bytes"]
    return OS_DEFAULT if given == row.default else given
