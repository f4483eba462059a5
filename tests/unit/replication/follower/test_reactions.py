"""What a follower does upon errors of its leader and of its own log."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import NoDescriptorsLeft
from kafka_py.replication.follower.reactions import FetchReaction, to_error, to_exception, to_fetch_error

TO_FETCH = {
    ErrorCode.OFFSET_OUT_OF_RANGE: FetchReaction.FIND_RANGE,
    ErrorCode.FENCED_LEADER_EPOCH: FetchReaction.FAIL,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: FetchReaction.DELAY,
    ErrorCode.UNKNOWN_LEADER_EPOCH: FetchReaction.DELAY,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: FetchReaction.DELAY,
    ErrorCode.KAFKA_STORAGE_ERROR: FetchReaction.DELAY,
}


@pytest.mark.parametrize("error", [one for one in ErrorCode if one is not ErrorCode.NONE])
def test_each_error_has_its_reaction_and_what_nobody_foresaw_is_logged_and_tried_again(error: ErrorCode) -> None:
    assert to_fetch_error(error) is TO_FETCH.get(error, FetchReaction.DELAY_AND_LOG)
    expected = FetchReaction.DELAY_AND_LOG if error is ErrorCode.OFFSET_OUT_OF_RANGE else to_fetch_error(error)
    assert to_error(error) is expected


def test_only_a_log_that_found_no_descriptor_is_tried_again() -> None:
    assert to_exception(NoDescriptorsLeft(ErrorCode.KAFKA_STORAGE_ERROR, "t-0")) is FetchReaction.DELAY
    for error in (OSError(), KafkaError(ErrorCode.CORRUPT_MESSAGE), ZeroDivisionError()):
        assert to_exception(error) is FetchReaction.FAIL
