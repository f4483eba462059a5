"""Moves each partition of a fetcher to its next state: it is fetched, flushed first, delayed, or failed.

Does what reactions.py decides, between the states of states.py; fetcher.py and leader_comparison.py send the requests.
Source: docs/reference/replication.md, section 7; AbstractFetcherThread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.supervision import Supervisor
from kafka_py.replication.follower import reactions
from kafka_py.replication.follower.fetch_state import PartitionFetchState
from kafka_py.replication.follower.followed_partitions import FollowedPartitions
from kafka_py.replication.follower.reactions import FetchReaction
from kafka_py.replication.follower.states import FAILED, FETCHING, OUT_OF_RANGE, SYNCING, TRUNCATING

_log = logging.getLogger(__name__)

ACTIVITY = "replica fetcher"

OnFailed = Callable[[PartitionFetchState], None]


class PartitionStates:
    """Moves the partitions of a fetcher to their next state. name: of the fetcher, in log lines.

    on_failed: called with a partition that is not fetched again until the controller sends its next state.
    wake: wakes the fetcher.
    """

    def __init__(
        self,
        name: str,
        partitions: FollowedPartitions,
        supervisor: Supervisor,
        *,
        on_failed: OnFailed,
        wake: Callable[[], None],
    ) -> None:
        self._name = name
        self._partitions = partitions
        self._supervisor = supervisor
        self._on_failed = on_failed
        self._wake = wake

    def fetch_next(self, one: PartitionFetchState) -> None:
        """Fetches it with the next request, after the flush that flush.messages asks for: a fetch acknowledges all
        records below its offset."""
        self._fetch_next(one, may_sync=one.state is not SYNCING)

    def _fetch_next(self, one: PartitionFetchState, *, may_sync: bool) -> None:
        """may_sync: whether a flush may be started, because none runs for the partition."""
        try:
            if not one.log.owes_flush:
                if one.state is FETCHING:
                    self._partitions.session.put(one)  # its fetch has changed
                else:
                    self._partitions.move(one, FETCHING)
            elif may_sync:
                self._partitions.move(one, SYNCING)
                one.log.flush_in_background(then=lambda succeeded: self._synced(one, succeeded))
        except Exception as error:
            self.handle_exception(one, error)

    def _synced(self, one: PartitionFetchState, succeeded: bool) -> None:
        if one.state is not SYNCING:
            return
        if succeeded:
            self._fetch_next(one, may_sync=True)
        elif one.log.is_usable:  # no file descriptor was free
            self._partitions.delay(one)
        else:
            self.fail(one, "its log cannot be flushed")
        self._wake()

    def fail(self, one: PartitionFetchState, reason: object) -> None:
        """Ends its fetching until the controller sends its next state."""
        _log.warning("%s: %s is no longer fetched: %s", self._name, one.topic_partition, reason)
        self._partitions.remove(one.topic_partition, FAILED)
        self._on_failed(one)

    def handle_exception(self, one: PartitionFetchState, error: Exception) -> None:
        """Delays a partition that raised for lack of a file descriptor, and fails it after any other exception."""
        if not isinstance(error, KafkaError):
            self._supervisor.report(ACTIVITY, error, one.topic_partition)
        if not self._partitions.is_current(one):
            return
        if reactions.to_exception(error) is FetchReaction.DELAY:
            _log.warning("%s: %s is retried later: %s", self._name, one.topic_partition, error)
            self._partitions.delay(one)
        else:
            self.fail(one, error)

    def resume(self, one: PartitionFetchState) -> None:
        """Starts it, or continues after a delay."""
        if one.is_truncating:
            self._partitions.move(one, TRUNCATING)
        else:
            self.fetch_next(one)

    def handle_fetch_error(self, one: PartitionFetchState, error: ErrorCode) -> None:
        """Handles the error of one partition in a fetch response."""
        self._react(one, reactions.to_fetch_error(error), error, "fetch")

    def handle_error(self, one: PartitionFetchState, error: ErrorCode, what: str) -> None:
        """Handles the error of one partition in another response. what: the request's name."""
        self._react(one, reactions.to_error(error), error, what)

    def _react(self, one: PartitionFetchState, reaction: FetchReaction, error: ErrorCode, what: str) -> None:
        if reaction is FetchReaction.FIND_RANGE:
            self._partitions.move(one, OUT_OF_RANGE)
            return
        if reaction is FetchReaction.FAIL:
            self.fail(one, f"{what}: {error.name} in leader epoch {one.leader_epoch}")
            return
        _log.log(
            logging.DEBUG if reaction is FetchReaction.DELAY else logging.ERROR,
            "%s: %s of %s failed with %s", self._name, what, one.topic_partition, error.name,
        )  # fmt: skip
        self._partitions.delay(one)
