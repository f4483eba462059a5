"""Which markers go to which broker, and what each error of WriteTxnMarkers means for a transaction."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.marker_queues import UNREACHABLE, MarkerQueues
from kafka_py.coordinator.transactions.markers import MarkerOutcome, TransactionMarkers

A, B, C = (TopicPartition("t", number) for number in range(3))
COMPLETE, FENCED = MarkerOutcome.COMPLETE, MarkerOutcome.FENCED


class Cluster:
    """Leaders by partition; the queues of one coordinator."""

    def __init__(self, leaders):
        self.leaders = leaders
        self.queues = MarkerQueues(leaders.get)

    def add(self, *partitions, name="tx", coordinator_epoch=0):
        """Routes a new transaction; what is pending and its outcome, if it is over at once."""
        markers = TransactionMarkers(name, 7, 0, coordinator_epoch, True, partitions)
        pending = self.queues.add(3, markers, lambda outcome: None)
        return pending, self.queues.route(pending, partitions)

    def taken(self, broker, most=100):
        return [
            (share.pending.markers.transactional_id, share.partitions) for share in self.queues.take(broker, most)
        ]

    def answered(self, broker, *errors):
        """The broker responds with these errors, one for each marker that is queued for it."""
        (share,) = self.queues.take(broker, 100)
        return self.queues.answered(share, dict(zip(share.partitions, errors, strict=False)))

    def aside(self):
        return [share.partitions for share in self.queues.take_aside()]


def test_partitions_are_queued_for_their_leaders():
    cluster = Cluster({A: 1, B: 2, C: 1})
    cluster.add(A, B, C, name="x")
    cluster.add(B, name="y")
    assert cluster.queues.brokers() == [1, 2]
    assert cluster.taken(1) == [("x", [A, C])]
    assert cluster.taken(2) == [("x", [B]), ("y", [B])]
    assert cluster.queues.brokers() == []


def test_a_transaction_is_complete_when_all_its_leaders_have_the_marker():
    cluster = Cluster({A: 1, B: 2})
    pending, outcome = cluster.add(A, B)
    assert outcome is None
    assert cluster.answered(1, ErrorCode.NONE).outcome is None
    assert cluster.answered(2, ErrorCode.NONE).outcome is COMPLETE
    assert not cluster.queues.is_pending(pending)


def test_a_partition_that_does_not_exist_needs_no_marker():
    cluster = Cluster({A: 1})
    cluster.add(A, B)
    assert cluster.answered(1, ErrorCode.NONE).outcome is COMPLETE
    assert cluster.add(B)[1] is COMPLETE
    assert cluster.add()[1] is COMPLETE


def test_without_a_leader_that_can_be_reached_markers_are_set_aside():
    cluster = Cluster({A: UNREACHABLE, B: 1})
    pending, _ = cluster.add(A, B)
    assert cluster.answered(1, ErrorCode.NONE).outcome is None
    assert cluster.queues.has_aside and cluster.queues.aside_count == 1
    cluster.leaders[A] = 2
    (share,) = cluster.queues.take_aside()
    assert cluster.queues.route(pending, share.partitions) is None
    assert not cluster.queues.has_aside
    assert cluster.answered(2, ErrorCode.NONE).outcome is COMPLETE


@pytest.mark.parametrize("error", [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION])
def test_a_log_without_transactions_needs_no_marker(error):
    cluster = Cluster({A: 1})
    cluster.add(A)
    assert cluster.answered(1, error).outcome is COMPLETE


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_errors_that_pass_set_the_marker_aside_for_the_present_leader(error):
    cluster = Cluster({A: 1, B: 1})
    pending, _ = cluster.add(A, B)
    verdict = cluster.answered(1, ErrorCode.NONE, error)
    assert verdict == (None, [])
    cluster.leaders[B] = 2
    assert cluster.aside() == [[B]]
    cluster.queues.route(pending, [B])
    assert cluster.answered(2, ErrorCode.NONE).outcome is COMPLETE


@pytest.mark.parametrize("error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_fenced_transaction_is_dropped_with_all_its_markers(error):
    cluster = Cluster({A: 1, B: 2, C: 1})
    cluster.add(A, B, C)
    assert cluster.answered(1, ErrorCode.NOT_LEADER_OR_FOLLOWER, error).outcome is FENCED
    assert cluster.taken(2) == []
    for share in cluster.queues.take_aside():
        assert cluster.queues.route(share.pending, share.partitions) is None
    assert cluster.queues.brokers() == []


def test_an_unforeseen_error_is_named_and_its_marker_sent_again():
    cluster = Cluster({A: 1, B: 1})
    cluster.add(A, B)
    verdict = cluster.answered(1, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.NONE)
    assert verdict == (None, [(A, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)])
    assert cluster.aside() == [[A]]


def test_a_partition_that_a_response_leaves_out_is_sent_again():
    cluster = Cluster({A: 1, B: 1})
    cluster.add(A, B)
    assert cluster.answered(1, ErrorCode.NONE).unforeseen == [(B, ErrorCode.UNKNOWN_SERVER_ERROR)]
    assert cluster.aside() == [[B]]


def test_what_got_no_response_goes_to_the_leader_of_then():
    cluster = Cluster({A: 1})
    pending, _ = cluster.add(A)
    (share,) = cluster.queues.take(1, 100)
    cluster.queues.set_aside(share)
    cluster.leaders[A] = 2
    cluster.queues.route(pending, *cluster.aside())
    assert cluster.queues.brokers() == [2]


def test_a_forgotten_partition_sends_nothing_and_hears_of_no_response():
    cluster = Cluster({A: 1, B: 2, C: UNREACHABLE})
    cluster.add(A, B, C)
    (share,) = cluster.queues.take(1, 100)
    cluster.queues.forget(3)
    assert cluster.queues.answered(share, {A: ErrorCode.NONE}) == (None, [])
    assert cluster.taken(2) == []
    (waiting,) = cluster.queues.take_aside()
    assert cluster.queues.route(waiting.pending, waiting.partitions) is None
    cluster.queues.set_aside(share)
    assert not cluster.queues.has_aside
    cluster.queues.forget(3)


def test_a_later_decision_replaces_the_earlier_one_of_the_same_id():
    cluster = Cluster({A: 1})
    cluster.add(A, coordinator_epoch=4)
    (old,) = cluster.queues.take(1, 100)
    cluster.add(A, coordinator_epoch=5)
    assert cluster.queues.answered(old, {A: ErrorCode.NONE}).outcome is None
    (new,) = cluster.queues.take(1, 100)
    assert new.pending.markers.coordinator_epoch == 5
    assert cluster.queues.answered(new, {A: ErrorCode.NONE}).outcome is COMPLETE


def test_a_request_takes_no_more_markers_than_it_may():
    cluster = Cluster({A: 1, B: 1, C: 1})
    cluster.add(A, B, name="x")
    cluster.add(A, B, C, name="y")
    assert cluster.taken(1, most=3) == [("x", [A, B]), ("y", [A])]
    assert cluster.taken(1, most=3) == [("y", [B, C])]
    assert cluster.taken(1, most=3) == []
