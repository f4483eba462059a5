"""What a member joins its group with, and the leader's part in a join: who gets which partitions.

Remembers with which topics it joined and, on the leader, how many partitions these had: when either is another, the
group has to be joined again, which is rebalance.py's business. Who gets what is the assignors'.
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
from kafka_py.clients.consumer.subscriptions import Kind, Subscriptions
from kafka_py.clients.errors import IllegalState
from kafka_py.clients.metadata import ClusterView
from kafka_py.wire.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponseMember

_log = logging.getLogger(__name__)


class Joining:
    """What one consumer joins with.

    protocol: the one that all its assignors know.
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
        """Partitions by topic as the leader assigned them; None on members that do not lead."""

    @property
    def has_other_topics(self) -> bool:
        """Whether the subscription is another than the one it joined with."""
        return self._joined_topics is not None and self._joined_topics != self._subscriptions.subscribed

    def has_other_partitions(self, view: ClusterView) -> bool:
        """Whether the topics of the group have other partitions than this member, its leader, assigned."""
        return self._counts is not None and self._counts != partition_counts(view, self._subscriptions.group_topics)

    def forget(self) -> None:
        """The member has left."""
        self._joined_topics = self._counts = None

    def assignor(self, name: str) -> Assignor:
        """The one that the coordinator chose. Raises IllegalState for one that is not ours."""
        found = self._assignors.get(name)
        if found is None:
            raise IllegalState(f"the coordinator chose assignor {name!r}, which is not ours")
        return found

    async def protocols(self) -> list[JoinGroupRequestProtocol]:
        """The assignors that this member knows, with its subscription in the terms of each."""
        if self._subscriptions.kind is Kind.PATTERN:
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
        """The leader's work: what each member gets. Raises IllegalState, and what the assignor raises."""
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
    """What each member gets, also those that the assignor left out."""
    made = {}
    for member in members:
        share = shares.get(member, ())
        made[member] = share if isinstance(share, Assignment) else Assignment(list(share))
    return made


def _check_cooperative(shares: dict[str, Assignment], wants: dict[str, Subscription]) -> None:
    """Raises IllegalState when a partition would go from its owner straight to another member."""
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
            "a cooperative assignor must not give partitions to new owners before the old ones have given them up: "
            f"{sorted(moved)}",
        )
