"""The live brokers and the cluster's identity: registration, broker ids from the sequence node, the cluster id.

Knows no configuration and no meta.properties.
Source: docs/reference/zookeeper.md, sections 6, 7 and 15; KIP-380 (epochs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import UUID

from kafka_py.base.errors import ConfigError
from kafka_py.base.ids import uuid_to_text
from kafka_py.zk.access import ZkAccess, pipelined, raise_first
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import CreateOp, MultiFailed, NodeExists, NoNode, SetOp, Stat, Watch
from kafka_py.zk.znodes import (
    TOP_LEVEL_PATHS,
    BrokerEndpoint,
    BrokerIdsZNode,
    BrokerIdZNode,
    BrokerSequenceZNode,
    ClusterIdZNode,
    FeatureVersionRange,
)


class RegisteredBroker(NamedTuple):
    """A live broker as registered. epoch: the czxid of its znode, larger at every registration."""

    id: int
    epoch: int
    endpoints: tuple[BrokerEndpoint, ...]
    rack: str | None
    features: dict[str, FeatureVersionRange]

    def endpoint(self, listener: str) -> BrokerEndpoint | None:
        """The endpoint of the named listener, None if the broker does not have it."""
        return next((endpoint for endpoint in self.endpoints if endpoint.listener == listener), None)


class BrokerStore:
    """The live brokers, as registered under /brokers/ids."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes
        self._registered_by: int | None = None
        """The session that created this broker's registration."""

    async def ensure_top_level_paths(self) -> None:
        """Creates the persistent top-level znodes, with null data."""
        raise_first(await pipelined(self._znodes.ensure_path(path) for path in TOP_LEVEL_PATHS))

    async def cluster_id(self) -> str | None:
        """The cluster's id, None before the first broker. Raises MalformedZNode."""
        found = await self._znodes.read(ClusterIdZNode.path())
        return None if found is None else ClusterIdZNode.decode(found[0]).id

    async def cluster_id_or_create(self, new_uuid: Callable[[], UUID]) -> str:
        """The cluster's id; the first broker generates it: 16 random uuid bytes, 22 characters."""
        known = await self.cluster_id()
        if known is not None:
            return known
        made = uuid_to_text(new_uuid())
        try:
            await self._znodes.create_recursive(ClusterIdZNode.path(), ClusterIdZNode(made).encode())
        except NodeExists:
            return await self.cluster_id_or_create(new_uuid)
        return made

    async def generate_id(self, reserved_max: int = 1000) -> int:
        """Generates an id above `reserved_max` (reserved.broker.max.id) from the next version of the sequence node."""
        try:
            stat = await self._znodes.session.set(BrokerSequenceZNode.path(), b"")
        except NoNode:
            await self._znodes.ensure_path(BrokerSequenceZNode.path())
            stat = await self._znodes.session.set(BrokerSequenceZNode.path(), b"")
        return reserved_max + stat.version

    async def ids(self, watch: Watch | None = None) -> list[int]:
        """The ids of the live brokers, sorted. Raises MalformedZNode if one is not a number."""
        path = BrokerIdsZNode.path()
        names = await self._znodes.children_or_empty(path, watch)
        try:
            return sorted(int(name) for name in names)
        except ValueError:
            raise MalformedZNode(f"{path}: broker id is not a number: {sorted(names)}") from None

    async def one(self, broker_id: int, watch: Watch | None = None) -> RegisteredBroker | None:
        """One registration, None if that broker is not live. Raises MalformedZNode."""
        found = await self._znodes.read(BrokerIdZNode.path(broker_id), watch)
        return None if found is None else _registered(broker_id, *found)

    async def all(self, watch: Watch | None = None) -> dict[int, RegisteredBroker]:
        """All live brokers by id; `watch` is for the list of ids, not for each registration.

        Raises MalformedZNode for the first registration that cannot be read.
        """
        ids = await self.ids(watch)
        found = await self._znodes.read_many(BrokerIdZNode.path(broker_id) for broker_id in ids)
        return {
            broker_id: _registered(broker_id, *one)
            for broker_id, one in zip(ids, found, strict=True)
            if one is not None
        }

    async def refuse_taken_endpoints(self, broker_id: int, endpoints: Iterable[BrokerEndpoint]) -> None:
        """Raises ConfigError if another live broker advertises one of these host:port."""
        ours = {(endpoint.host, endpoint.port) for endpoint in endpoints}
        for other in (await self.all()).values():
            taken = {(endpoint.host, endpoint.port) for endpoint in other.endpoints} & ours
            if taken and other.id != broker_id:
                listed = ",".join(f"{host}:{port}" for host, port in sorted(taken))
                raise ConfigError(
                    f"advertised.listeners: broker {other.id} is already registered with {listed}"
                )

    async def register(self, broker_id: int, registration: BrokerIdZNode) -> int:
        """Registers this broker in the current session; returns the broker epoch.

        The payload is written by a second operation, so its znode version is 1 and its Stat comes with the reply.
        A registration left by this process's previous session is replaced; one of the current session (lost response)
        counts as ours. Raises NodeExists if another session holds the id.
        """
        path = BrokerIdZNode.path(broker_id)
        while True:
            session_id = self._znodes.session.session_id
            try:
                results = await self._znodes.session.multi(
                    [CreateOp(path, ephemeral=True), SetOp(path, registration.encode(), 0)]
                )
            except MultiFailed as failure:
                if not isinstance(failure.error, NodeExists):
                    raise failure.error from None
                stat = await self._own_registration(path)
            else:
                stat = results[1] if isinstance(results[1], Stat) else None
            if stat is not None:
                self._registered_by = session_id
                return stat.czxid

    async def _own_registration(self, path: str) -> Stat | None:
        """The Stat of an existing registration that is ours; None to retry. Raises NodeExists."""
        found = await self._znodes.read(path)
        if found is None:
            return None
        stat = found[1]
        if stat.ephemeral_owner == self._znodes.session.session_id:
            return stat
        if stat.ephemeral_owner != self._registered_by:
            raise NodeExists(path, f"registered by another session, 0x{stat.ephemeral_owner & (1 << 64) - 1:x}")
        await self._znodes.delete_if_present(path)
        return None

    async def update(self, broker_id: int, registration: BrokerIdZNode) -> None:
        """Rewrites this broker's registration after a change of listeners. Raises NoNode."""
        await self._znodes.session.set(BrokerIdZNode.path(broker_id), registration.encode())


def _registered(broker_id: int, data: bytes | None, stat: Stat) -> RegisteredBroker:
    value = BrokerIdZNode.decode(data)
    return RegisteredBroker(broker_id, stat.czxid, tuple(value.parsed_endpoints()), value.rack, value.features or {})
