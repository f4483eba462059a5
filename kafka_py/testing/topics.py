"""Topics for tests, made over the wire in milliseconds: asked of the controller, waited for on every broker.

Blocking, for brokers of any make; `connect` opens the connections, plain ones unless it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli.local_cluster.broker_view import Connect, plain_connection
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateableTopicConfig, CreateTopicsRequest
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

_NOT_NOW = (ErrorCode.NOT_CONTROLLER, ErrorCode.INVALID_REPLICATION_FACTOR)
"""A cluster that has just come up, or lost a broker, may say so for a moment."""

ANSWER_LEEWAY_S = 10
"""How much longer than a topic may take the answer is waited for: asked again, the broker would have it already."""


def ask_metadata(
    bootstrap: str, topics: Sequence[str] = (), connect: Connect = plain_connection
) -> MetadataResponse:
    """What the broker at host:port says of the cluster and of these topics, none of which it shall make."""
    asked = [MetadataRequestTopic(name=topic) for topic in topics]
    with WireClient(bootstrap, connect=connect) as client:
        answer: MetadataResponse = client.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False), 5)
        return answer


def create_topic(
    bootstraps: Sequence[str],
    topic: str,
    partitions: int = 1,
    *,
    replication_factor: int = 1,
    configs: Mapping[str, str] | None = None,
    timeout_s: float = 30,
    connect: Connect = plain_connection,
) -> None:
    """Makes a topic and waits until each of these brokers knows all its leaders. Raises KafkaError, NotReady."""
    wanted = CreatableTopic(
        name=topic,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[],
        configs=[CreateableTopicConfig(name=name, value=value) for name, value in (configs or {}).items()],
    )
    wait_until(lambda: _asked_for(bootstraps[0], wanted, timeout_s, connect), timeout_s, f"making the topic {topic}")
    for bootstrap in bootstraps:
        wait_until(partial(_has_leaders, bootstrap, topic, partitions, connect), timeout_s, f"the topic {topic}")


def _asked_for(bootstrap: str, topic: CreatableTopic, timeout_s: float, connect: Connect) -> bool:
    """Whether the controller has made the topic; not yet, if it cannot right now."""
    known = ask_metadata(bootstrap, connect=connect)
    controller = next((broker for broker in known.brokers if broker.node_id == known.controller_id), None)
    if controller is None:
        return False
    patience_s = timeout_s + ANSWER_LEEWAY_S
    with WireClient(f"{controller.host}:{controller.port}", timeout_s=patience_s, connect=connect) as client:
        [result] = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=int(timeout_s * 1000)), 5).topics
    if result.error_code in _NOT_NOW:
        return False
    if result.error_code:
        raise KafkaError(ErrorCode(result.error_code), result.error_message or topic.name)
    return True


def _has_leaders(bootstrap: str, topic: str, partitions: int, connect: Connect) -> bool:
    """Whether this broker knows a leader of so many partitions."""
    [known] = ask_metadata(bootstrap, [topic], connect).topics
    return sum(partition.leader_id >= 0 for partition in known.partitions) == partitions
