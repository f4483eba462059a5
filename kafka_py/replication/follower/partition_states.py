"""What becomes of each partition of a fetcher: fetched, synced first, tried again after a while, or not fetched again.

Does what reactions.py decides, by moving partitions between the states of states.py; what is asked of the leader is in
fetcher.py and leader_comparison.py. Source: docs/reference/replication.md, section 7; AbstractFetcherThread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.supervision import Supervisor
from kafka_py.replication.follower import reactions
from kafka_py.replication.follower.fetch_state import Followed
from kafka_py.replication.follower.followed_partitions import FollowedPartitions
from kafka_py.replication.follower.reactions import Reaction
from kafka_py.replication.follower.states import FAILED, FETCHING, OUT_OF_RANGE, SYNCING, TRUNCATING

_log = logging.getLogger(__name__)

ACTIVITY = "replica fetcher"

OnFailed = Callable[[Followed], None]


class PartitionStates:
    """Moves each partition of a fetcher, which `name` stands for in the log, to the state that follows.

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
        self._want(one, may_sync=one.state is not SYNCING)

    def _want(self, one: Followed, *, may_sync: bool) -> None:
        """may_sync: a sync may begin, as none runs for it."""
        try:
            if not one.log.owes_flush:
                if one.state is FETCHING:
                    self._places.session.want(one)  # its numbers changed
                else:
                    self._places.move(one, FETCHING)
            elif may_sync:
                self._places.move(one, SYNCING)
                one.log.flush_in_background(then=lambda succeeded: self._synced(one, succeeded))
        except Exception as error:
            self.went_wrong(one, error)

    def _synced(self, one: Followed, succeeded: bool) -> None:
        if one.state is not SYNCING:
            return
        if succeeded:
            self._want(one, may_sync=True)
        elif one.log.is_usable:  # there was no descriptor left
            self._places.delay(one)
        else:
            self.give_up(one, "its log cannot be synced")
        self._wake()

    def give_up(self, one: Followed, reason: object) -> None:
        _log.warning("%s: %s is no longer fetched: %s", self._name, one.topic_partition, reason)
        self._places.remove(one.topic_partition, FAILED)
        self._on_failed(one)

    def went_wrong(self, one: Followed, error: Exception) -> None:
        """One partition raised: without a free descriptor it waits, all else ends its fetching; others continue."""
        if not isinstance(error, KafkaError):
            self._supervisor.report(ACTIVITY, error, one.topic_partition)
        if not self._places.is_current(one):
            return
        if reactions.to_exception(error) is Reaction.WAIT:
            _log.warning("%s: %s waits to be tried again: %s", self._name, one.topic_partition, error)
            self._places.delay(one)
        else:
            self.give_up(one, error)

    def resume(self, one: Followed) -> None:
        """Begins it, or continues after a delay."""
        if one.is_truncating:
            self._places.move(one, TRUNCATING)
        else:
            self.want(one)

    def fetch_refused(self, one: Followed, error: ErrorCode) -> None:
        """The leader answered a fetch of one partition with an error."""
        self._react(one, reactions.to_fetch_error(error), error, "fetch")

    def refused(self, one: Followed, error: ErrorCode, what: str) -> None:
        """The leader answered a question about one partition, which `what` names, with an error."""
        self._react(one, reactions.to_error(error), error, what)

    def _react(self, one: Followed, reaction: Reaction, error: ErrorCode, what: str) -> None:
        if reaction is Reaction.FIND_RANGE:
            self._places.move(one, OUT_OF_RANGE)
            return
        if reaction is Reaction.GIVE_UP:
            self.give_up(one, f"{what}: {error.name} in leader epoch {one.leader_epoch}")
            return
        _log.log(
            logging.DEBUG if reaction is Reaction.WAIT else logging.ERROR,
            "%s: %s of %s was answered by %s", self._name, what, one.topic_partition, error.name,
        )  # fmt: skip
        self._places.delay(one)
