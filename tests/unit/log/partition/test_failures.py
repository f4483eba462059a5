"""What an error means for one log: it is refused and tried again, or the log goes with its directory."""

import errno
import logging

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import NoDescriptorsLeft
from kafka_py.testing.fakes.stored_logs import LogWorld


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_lack_of_descriptors_refuses_one_call_and_no_more(number: int) -> None:
    world = LogWorld()
    with pytest.raises(NoDescriptorsLeft):
        world.log.failures.disk_refused(OSError(number, "no descriptors"))
    assert world.failures == []
    assert world.append().first_offset == 0


def test_a_failed_disk_is_reported_once_and_everything_is_refused_from_then_on() -> None:
    world = LogWorld()
    error = OSError(errno.EIO, "broken")
    for _ in range(2):
        with pytest.raises(KafkaError) as caught:
            world.log.failures.disk_refused(error)
        assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.failures == [error]
    assert not world.log.is_usable
    with pytest.raises(KafkaError, match="broken"):
        world.append()


def test_a_mistake_in_the_background_is_logged_and_the_log_stays_in_use(caplog: pytest.LogCaptureFixture) -> None:
    world = LogWorld()
    world.log.failures.in_background(ValueError("a mistake"))
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert world.failures == []
    world.append()


def test_what_fails_for_a_log_that_was_deleted_meanwhile_concerns_nobody(caplog: pytest.LogCaptureFixture) -> None:
    world = LogWorld()
    world.log.failures.disable("deleted")
    world.log.failures.in_background(OSError(errno.ENOENT, "gone"))
    world.log.failures.in_background(ValueError("a mistake"))
    assert world.failures == [] and caplog.records == []
    assert not world.log.failures.is_closed


def test_a_log_that_was_closed_says_so() -> None:
    world = LogWorld()
    world.log.close()
    assert world.log.failures.is_closed
    with pytest.raises(KafkaError, match="closed"):
        world.append()
