"""The channels of transaction markers, joined with what the broker knows of the cluster and with the network.

Source: TransactionMarkerChannelManager; MetadataCache.getPartitionLeaderEndpoint.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.ids import TRANSACTION_STATE_TOPIC, TopicPartition
from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.broker.wiring.broker_environment import BrokerEnvironment
from kafka_py.coordinator.metrics import MarkerConnectionMetrics
from kafka_py.coordinator.transactions.marker_channels import MarkerChannels
from kafka_py.coordinator.transactions.marker_queues import UNREACHABLE
from kafka_py.net.broker_link import CountedConnection, LinkConnection
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import ConnectionLost


def make_marker_channels(
    env: BrokerEnvironment, metadata: MetadataCache, own: Callable[[], LinkConnection]
) -> MarkerChannels:
    """The MarkerSender of this broker; closed with it. own: makes the connection for markers of partitions led here."""
    config = env.live.current
    listener = env.listening.inter_broker_listener
    security = env.security_to(listener)
    traffic = MarkerConnectionMetrics(env.registry)

    async def connect(broker: int) -> LinkConnection:
        if broker == env.broker_id:
            return own()
        address = metadata.address(broker, listener)
        if address is None:
            raise ConnectionLost(f"broker {broker} is not alive, or does not have the listener {listener}")
        connection = await BrokerConnection.connect(
            address.host,
            address.port,
            client_id=f"broker-{env.broker_id}-txn-marker-sender",
            timeout_ms=config.request_timeout_ms,
            network=env.network,
            clock=env.clock,
            security=security,
        )
        return CountedConnection(connection, traffic)

    return MarkerChannels(
        lambda topic_partition: marker_leader(metadata, listener, topic_partition),
        connect,
        version=config.inter_broker_version().write_txn_markers,
        request_timeout_ms=config.request_timeout_ms,
        clock=env.clock,
        registry=env.registry,
        supervisor=env.supervisor,
    )


def marker_leader(metadata: MetadataCache, listener: str, topic_partition: TopicPartition) -> int | None:
    """The reachable leader of a partition: a FindLeader.

    A broker that coordinates transactions but does not know their topic has just started, and has not received the
    metadata of all topics: no topic counts as deleted then, because a partition without its marker would hang forever.
    """
    info = metadata.partition(topic_partition)
    if info is None:
        return None if metadata.has_topic(TRANSACTION_STATE_TOPIC) else UNREACHABLE
    return UNREACHABLE if metadata.address(info.leader, listener) is None else info.leader
