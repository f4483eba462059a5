"""The contents of a member's JoinGroup request, and the leader's part in a join: the assignment of partitions.

Remembers the topics of the last join and, on the leader, their numbers of partitions: when either changes, the group
has to be joined again, which rebalance.py does. The assignors compute assignments.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.texts import listed
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.assignors.assignor import (
    Assignment,
    Assignments,
    Assignor,
    RebalanceProtocol,
    Subscription,
    partition_counts,
)
from kafka_py.clients.consumer.assignors.chosen import protocol_of
from kafka_py.clients.consumer.protocol import decode_subscription, encode_assignment, encode_subscription
from kafka_py.clients.consumer.subscriptions import Subscriptions, SubscriptionType
from kafka_py.clients.errors import IllegalState
from kafka_py.clients.metadata import ClusterView
from kafka_py.wire.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponseMember

_log = logging.getLogger(__name__)


class Joining:
    """The contents of one consumer's joins.

    protocol: the rebalance protocol, the highest that all its assignors support.
    """

    def __init__(
        self, group_id: str, cluster: Cluster, subscriptions: Subscriptions, assignors: Sequence[Assignor]
    ) -> None:
        """Raises ConfigError for assignors that cannot be used together."""
        self.protocol = protocol_of(assignors)
        self._group_id = group_id
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._assignors = {each.name: each for each in assignors}
        self._joined_topics: frozenset[str] | None = None
        self._counts: dict[str, int] | None = None
        """Numbers of partitions by topic in the leader's assignment; None on other members."""

    @property
    def has_other_topics(self) -> bool:
        """Whether the subscribed topics have changed since the last join."""
        return self._joined_topics is not None and self._joined_topics != self._subscriptions.subscribed

    def has_other_partitions(self, view: ClusterView) -> bool:
        """Whether this member is the leader and the topics' numbers of partitions have changed since its assignment."""
        return self._counts is not None and self._counts != partition_counts(view, self._subscriptions.group_topics)

    def forget(self) -> None:
        """Drops what it remembers of the last join; for a member that has left."""
        self._joined_topics = self._counts = None

    def assignor(self, name: str) -> Assignor:
        """The assignor that the coordinator chose. Raises IllegalState for one that is not configured."""
        found = self._assignors.get(name)
        if found is None:
            raise IllegalState(f"the coordinator chose assignor {name!r}, which is not configured")
        return found

    async def protocols(self) -> list[JoinGroupRequestProtocol]:
        """The configured assignors, each with the encoded subscription of this member."""
        if self._subscriptions.type is SubscriptionType.PATTERN:
            await self._cluster.refresh(at_once=True)
        self._counts = None
        self._subscriptions.note_group_topics(())
        self._joined_topics = self._subscriptions.subscribed
        topics = sorted(self._joined_topics)
        owned = sorted(self._subscriptions.partitions())
        made = []
        for name, assignor in self._assignors.items():
            subscription = Subscription(topics, assignor.subscription_user_data(topics), owned)
            made.append(JoinGroupRequestProtocol(name=name, metadata=encode_subscription(subscription)))
        return made

    async def assign(self, protocol: str, members: Sequence[JoinGroupResponseMember]) -> dict[str, bytes]:
        """The encoded assignment of each member, computed by the leader. Raises IllegalState, what assignors raise."""
        assignor = self.assignor(protocol)
        wants = {each.member_id: decode_subscription(bytes(each.metadata), each.group_instance_id) for each in members}
        self._subscriptions.note_group_topics(topic for each in wants.values() for topic in each.topics)
        if not self._subscriptions.group_topics <= self._cluster.view.topics.keys():
            await self._cluster.refresh(at_once=True)
        view = self._cluster.view
        shares = _as_assignments(assignor.assign(view, wants), wants)
        if self.protocol is RebalanceProtocol.COOPERATIVE:
            _check_cooperative(shares, wants)
        self._counts = partition_counts(view, self._subscriptions.group_topics)
        for member, share in shares.items():
            _log.info("Group %s: %s is assigned %s", self._group_id, member, listed(share.partitions))
        return {member: encode_assignment(share) for member, share in shares.items()}


def _as_assignments(shares: Assignments, members: Collection[str]) -> dict[str, Assignment]:
    """The assignment of every member, empty for those that the assignor left out."""
    made = {}
    for member in members:
        share = shares.get(member, ())
        made[member] = share if isinstance(share, Assignment) else Assignment(list(share))
    return made


def _check_cooperative(shares: dict[str, Assignment], wants: dict[str, Subscription]) -> None:
    """Raises IllegalState when a partition is assigned to another member while its owner still has it."""
    owners = {partition: member for member, each in wants.items() for partition in each.owned}
    moved = [
        partition
        for member, share in shares.items()
        for partition in share.partitions
        if owners.get(partition, member) != member and partition not in wants[member].owned
    ]
    if moved:
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            "a cooperative assignor must not assign partitions to new owners before the old ones have revoked them: "
            f"{sorted(moved)}",
        )
