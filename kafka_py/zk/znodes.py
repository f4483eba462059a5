"""The znode table: every path, the JSON version and the fields under their JSON names. No other module has paths.

A path's parameters are given in the order of its template: `PartitionStateZNode.path("t", 0)`. A class without fields
is a parent, or a node without data. `keys=` is the order in which 2.8 writes the keys; readers never depend on it.
The znodes of settings are in config_znodes.py, those of ACLs in acl_znodes.py. Knows nothing of sessions.
Source: docs/reference/zookeeper.md, sections 1, 2 and 5 to 13; docs/reference/security/tokens.md, section 2.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple, Self

from kafka_py.base.texts import ENDPOINT
from kafka_py.zk import acl_znodes, config_znodes
from kafka_py.zk.config_znodes import ConfigChangesZNode, ConfigTypeZNode
from kafka_py.zk.schema import MalformedZNode, NumberText, ZNode, znode

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


# ---- brokers and cluster


@znode("/consumers")
class ConsumersZNode(ZNode):
    """Root of the old consumers' tree; its access list is always unrestricted."""


@znode("/consumers/{group}/offsets/{topic}/{partition}")
class OldConsumerOffsetZNode(ZNode):
    """A committed offset of OffsetCommit version 0, as decimal text."""

    offset: int

    def encode(self) -> bytes:
        return str(self.offset).encode()

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        return cls(_decimal(data, cls.__name__))


@znode("/brokers/ids")
class BrokerIdsZNode(ZNode):
    """Parent of the live brokers' registrations."""


class FeatureVersionRange(NamedTuple):
    """A feature's range in a registration, both ends inclusive."""

    min_version: int
    max_version: int


class BrokerEndpoint(NamedTuple):
    """One advertised listener. `text()` is its form in a registration and in `advertised.listeners`."""

    listener: str
    protocol: str
    host: str
    port: int

    def text(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


@znode(
    "/brokers/ids/{broker_id}",
    keys="features listener_security_protocol_map endpoints rack jmx_port port host version timestamp",
)
class BrokerIdZNode(ZNode):
    """A live broker. Ephemeral; its czxid is the broker epoch; only version 5 has the features key.

    host, port: of the first PLAINTEXT endpoint, None and -1 if there is none; not read back from version 2 on.
    """

    endpoints: list[str]
    jmx_port: int
    listener_security_protocol_map: dict[str, str] | None = None
    timestamp: NumberText | None = None
    version: int = 4
    rack: str | None = None
    features: dict[str, FeatureVersionRange] | None = None
    host: str | None = None
    port: int = -1

    def to_json(self) -> dict[str, Any]:
        """As the base class, but a missing `host` is written as null, as in Apache Kafka."""
        row = super().to_json()
        row["host"] = self.host
        return {key: row[key] for key in self.ORDER if key in row}

    @classmethod
    def of(cls, endpoints: list[BrokerEndpoint], *, jmx_port: int, timestamp_ms: int, version: int = 4,
           rack: str | None = None, features: dict[str, FeatureVersionRange] | None = None) -> Self:  # fmt: skip
        """A registration to write; from version 5 on the features key is there even if empty."""
        plain = next((endpoint for endpoint in endpoints if endpoint.protocol == "PLAINTEXT"), None)
        return cls(
            endpoints=[endpoint.text() for endpoint in endpoints],
            listener_security_protocol_map={endpoint.listener: endpoint.protocol for endpoint in endpoints},
            jmx_port=jmx_port,
            timestamp=NumberText(timestamp_ms),
            version=version,
            rack=rack,
            features=(features or {}) if version >= 5 else None,
            host=plain.host if plain else None,
            port=plain.port if plain else -1,
        )

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        version = row.get("version")
        if type(version) is not int or version < 1:
            raise MalformedZNode(f"{cls.__name__}: unsupported version {version!r} in {row}")
        if version == 1:
            row = {**row, "endpoints": [f"PLAINTEXT://{row.get('host')}:{row.get('port')}"]}
        # Other clients write numbers here, and null for no host; these three keys are never used.
        unread = {"host", "port", "timestamp"}
        return super().from_json({key: value for key, value in row.items() if key not in unread})

    def parsed_endpoints(self) -> list[BrokerEndpoint]:
        """The endpoints with their security protocols; listener names in upper case, each once."""
        found: dict[str, BrokerEndpoint] = {}
        for text in self.endpoints:
            match = ENDPOINT.match(text)
            if match is None:
                raise MalformedZNode(f"endpoint {text!r} is not LISTENER://host:port")
            listener = match[1].upper()
            if listener in found:
                raise MalformedZNode(f"two endpoints of listener {listener}: {self.endpoints}")
            found[listener] = BrokerEndpoint(listener, self._protocol(listener), match[2], int(match[3]))
        return list(found.values())

    def _protocol(self, listener: str) -> str:
        names = self.listener_security_protocol_map
        protocol = listener if names is None else names.get(listener)
        if protocol not in SECURITY_PROTOCOLS:
            raise MalformedZNode(f"listener {listener} has no security protocol: {names}")
        return protocol


@znode("/brokers/seqid")
class BrokerSequenceZNode(ZNode):
    """Generates broker ids: only its version matters."""


@znode("/cluster/id", version="1")
class ClusterIdZNode(ZNode):
    """The cluster's id, 22 characters; `version` is a string here."""

    id: str


@znode("/controller", version=1)
class ControllerZNode(ZNode):
    """The active controller. Ephemeral; only brokerid is read."""

    brokerid: int
    timestamp: NumberText | None = None

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        return super().from_json({"brokerid": row.get("brokerid")})


@znode("/controller_epoch")
class ControllerEpochZNode(ZNode):
    """The controller epoch, as decimal text; its znode version fences the controllers' writes."""

    epoch: int

    def encode(self) -> bytes:
        return str(self.epoch).encode()

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        return cls(_decimal(data, cls.__name__))


class FeatureLevels(NamedTuple):
    """A finalised feature's levels."""

    min_version_level: int
    max_version_level: int


@znode("/feature", version=1)
class FeatureZNode(ZNode):
    """Finalised features; status 0 is disabled, 1 enabled."""

    status: int
    features: dict[str, FeatureLevels]

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        version = row.get("version")
        if type(version) is not int or version < 1:
            raise MalformedZNode(f"{cls.__name__}: unsupported version {version!r} in {row}")
        value = super().from_json(row)
        if value.status not in (0, 1):
            raise MalformedZNode(f"{cls.__name__}: unknown status in {row}")
        return value


@znode("/latest_producer_id_block", version=1)
class ProducerIdBlockZNode(ZNode):
    """The last allocated block of producer ids, both ends inclusive. Null data: none yet."""

    broker: int
    block_start: NumberText
    block_end: NumberText


# ---- topics


@znode("/brokers/topics")
class TopicsZNode(ZNode):
    """Parent of the topics."""


@znode("/brokers/topics/{topic}", version=3, keys="partitions removing_replicas topic_id adding_replicas version")
class TopicZNode(ZNode):
    """A topic's assignment: partition -> replicas, the preferred one first.

    adding_replicas, removing_replicas: of the partitions that are being reassigned; always written, may be absent.
    topic_id: left out when the topic has none; must be kept when the node is rewritten.
    """

    partitions: dict[int, list[int]] = field(default_factory=dict)
    adding_replicas: dict[int, list[int]] = field(default_factory=dict)
    removing_replicas: dict[int, list[int]] = field(default_factory=dict)
    topic_id: uuid.UUID | None = None


@znode("/brokers/topics/{topic}/partitions")
class TopicPartitionsZNode(ZNode):
    """Parent of a topic's partitions."""


@znode("/brokers/topics/{topic}/partitions/{partition}")
class TopicPartitionZNode(ZNode):
    """Parent of a partition's state."""


@znode(
    "/brokers/topics/{topic}/partitions/{partition}/state",
    version=1,
    keys="controller_epoch leader version leader_epoch isr",
)
class PartitionStateZNode(ZNode):
    """Leader (-1: none) and in-sync replicas; LeaderAndIsr carries the znode's version as zkVersion."""

    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: list[int]


# ---- notifications and admin


class TopicPartitionRow(NamedTuple):
    """A partition in a list of partitions."""

    topic: str
    partition: int


class ReassignmentRow(NamedTuple):
    """A partition and its target replicas."""

    topic: str
    partition: int
    replicas: list[int]


@znode("/isr_change_notification")
class IsrChangesZNode(ZNode):
    """Parent of the ISR change notifications."""


@znode("/isr_change_notification/isr_change_", version=1)
class IsrChangeZNode(ZNode):
    """Partitions whose in-sync replicas their leader changed. Sequential."""

    partitions: list[TopicPartitionRow]


@znode("/log_dir_event_notification")
class LogDirEventsZNode(ZNode):
    """Parent of the log directory events."""


@znode("/log_dir_event_notification/log_dir_event_", version=1)
class LogDirEventZNode(ZNode):
    """A log directory of a broker has failed; event is always 1. Sequential."""

    broker: int
    event: int = 1


@znode("/admin/delete_topics")
class DeleteTopicsZNode(ZNode):
    """Parent of the topics to delete."""


@znode("/admin/delete_topics/{topic}")
class DeleteTopicZNode(ZNode):
    """A topic to delete."""


@znode("/admin/reassign_partitions", version=1, strict=True)
class ReassignPartitionsZNode(ZNode):
    """Partitions to reassign, as requested by the old tool."""

    partitions: list[ReassignmentRow]


@znode("/admin/preferred_replica_election", version=1)
class PreferredReplicaElectionZNode(ZNode):
    """Partitions for a preferred leader election, as requested by the old tool."""

    partitions: list[TopicPartitionRow]


# ---- delegation tokens


@znode("/delegation_token/tokens")
class TokensZNode(ZNode):
    """Parent of the delegation tokens."""


@znode("/delegation_token/tokens/{token_id}")
class TokenZNode(ZNode):
    """A delegation token. Its principals are sanitised, as `User%3Aalice`; its HMAC is not stored."""

    issueTimestamp: int
    renewers: list[str]
    tokenId: str
    owner: str
    expiryTimestamp: int
    maxTimestamp: int
    version: int = 1

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        if row.get("version") != cls.version:
            raise MalformedZNode(f"{cls.__name__}: not version {cls.version}: {row}")
        return super().from_json(row)


@znode("/delegation_token/token_changes")
class TokenChangesZNode(ZNode):
    """Parent of the notifications about tokens."""


@znode("/delegation_token/token_changes/token_change_")
class TokenChangeZNode(ZNode):
    """Notifies every broker to read a token again: its id as text. Sequential."""

    token_id: str

    def encode(self) -> bytes:
        return self.token_id.encode()

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        return cls((data or b"").decode(errors="replace"))


TOP_LEVEL_PATHS = (
    ConsumersZNode.path(), BrokerIdsZNode.path(), TopicsZNode.path(),
    ConfigChangesZNode.path(), DeleteTopicsZNode.path(),
    BrokerSequenceZNode.path(),
    IsrChangesZNode.path(),
    ProducerIdBlockZNode.path(),
    LogDirEventsZNode.path(),
    *(ConfigTypeZNode.path(kind) for kind in ("topics", "clients", "users", "brokers", "ips")),
)
"""The znodes that every broker creates at start-up, in this order, with null data."""


def _decimal(data: bytes | None, name: str) -> int:
    try:
        return int((data or b"").decode())
    except ValueError:
        raise MalformedZNode(f"{name}: not a number: {data!r}") from None


def table() -> Mapping[str, type[ZNode]]:
    """Template -> class, of every declared znode; documentation and tests read it."""
    names = {**globals(), **vars(config_znodes), **vars(acl_znodes)}
    declared = [cls for cls in names.values() if isinstance(cls, type) and issubclass(cls, ZNode)]
    return {cls.TEMPLATE: cls for cls in declared if cls.TEMPLATE}
