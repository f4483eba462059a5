"""What becomes of each partition of a fetcher: fetched, synced first, tried again after a while, or not fetched again.

Moves partitions between the places of followed_partitions.py; what is asked of the leader is in fetcher.py and
leader_comparison.py. Source: docs/reference/replication.md, section 7; AbstractFetcherThread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.supervision import Supervisor
from kafka_py.log.model.answers import NoDescriptorsLeft
from kafka_py.replication.follower.fetch_state import Followed
from kafka_py.replication.follower.followed_partitions import FollowedPartitions

_log = logging.getLogger(__name__)

ACTIVITY = "replica fetcher"

OnFailed = Callable[[Followed], None]

_EXPECTED = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
"""What a leader says that has not heard the controller yet, or whose disk failed: time will tell."""


class PartitionStates:
    """Decides for each partition of a fetcher, which `name` stands for in the log, where it goes next.

    on_failed: called with a partition that is not fetched again until the controller sends its next state.
    wake: the fetcher has something to look at.
    """

    def __init__(
        self,
        name: str,
        places: FollowedPartitions,
        supervisor: Supervisor,
        *,
        on_failed: OnFailed,
        wake: Callable[[], None],
    ) -> None:
        self._name = name
        self._places = places
        self._supervisor = supervisor
        self._on_failed = on_failed
        self._wake = wake

    def want(self, one: Followed) -> None:
        """Fetches it with the next request, which acknowledges what the log holds; what flush.messages wants synced
        is synced before."""
        try:
            if one.log.owes_flush:
                self._hold_until_synced(one)
            else:
                self._places.session.want(one)
        except Exception as error:
            self.went_wrong(one, error)

    def _hold_until_synced(self, one: Followed) -> None:
        if self._places.syncing.get(one.topic_partition) is one:
            return
        self._places.session.forget(one.topic_partition)
        self._places.syncing[one.topic_partition] = one
        one.log.flush_in_background(then=lambda succeeded: self._synced(one, succeeded))

    def _synced(self, one: Followed, succeeded: bool) -> None:
        if self._places.syncing.get(one.topic_partition) is not one:
            return
        del self._places.syncing[one.topic_partition]
        if succeeded:
            self.want(one)
        elif one.log.is_usable:  # there was no descriptor left
            self._places.delay(one)
        else:
            self.give_up(one, "its log cannot be synced")
        self._wake()

    def give_up(self, one: Followed, reason: object) -> None:
        _log.warning("%s: %s is no longer fetched: %s", self._name, one.topic_partition, reason)
        self._places.remove(one.topic_partition)
        self._on_failed(one)

    def went_wrong(self, one: Followed, error: Exception) -> None:
        """One partition raised: without a free descriptor it waits, all else ends its fetching; others continue."""
        if not isinstance(error, KafkaError):
            self._supervisor.report(ACTIVITY, error, one.topic_partition)
        if not self._places.is_current(one):
            return
        if isinstance(error, NoDescriptorsLeft):
            _log.warning("%s: %s waits to be tried again: %s", self._name, one.topic_partition, error)
            self._places.delay(one)
        else:
            self.give_up(one, error)

    def resume(self, one: Followed) -> None:
        """Begins it, or continues after a delay."""
        if one.is_truncating:
            self._places.truncating[one.topic_partition] = one
        else:
            self.want(one)

    def refused(self, one: Followed, error: ErrorCode, what: str) -> None:
        """The leader answered one partition with an error that has no procedure of its own."""
        if error is ErrorCode.FENCED_LEADER_EPOCH:
            self.give_up(one, f"{what}: {error.name} in leader epoch {one.leader_epoch}")
            return
        _log.log(
            logging.DEBUG if error in _EXPECTED else logging.ERROR,
            "%s: %s of %s was answered by %s", self._name, what, one.topic_partition, error.name,
        )  # fmt: skip
        self._places.delay(one)
