"""A segment that spans too many offsets is split when the log is opened."""

import pytest

from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch

from ..stored import offsets


def test_a_segment_that_spans_too_many_offsets_is_split():
    far = 1 << 31
    world = LogWorld()
    bases = (5, 6, far, far + 9, 2 * far + 9)
    data = b"".join(bytes(batch([b"v"], base_offset=base, leader_epoch=0)) for base in bases)
    world.log.failures.disable("done")
    world.files.open(f"{world.directory}/00000000000000000000.log").write(data, 0)
    log = world.open()
    assert [segment.base_offset for segment in log.segments] == [0, far, 2 * far + 9]
    assert offsets(world) == [5, 6, far, far + 9, 2 * far + 9]
    assert not world.names(".swap") + world.names(".cleaned")


@pytest.mark.parametrize("moment", range(25))
def test_a_split_that_is_interrupted_loses_nothing(moment):
    far = 1 << 31
    world = LogWorld()
    data = b"".join(bytes(batch([b"v"], base_offset=base, leader_epoch=0)) for base in (5, far, far + 9))
    world.log.failures.disable("done")
    world.files.open(f"{world.directory}/00000000000000000000.log").write(data, 0)
    for operation in ("rename", "remove", "write"):
        world.files.fail(operation, 5, path=".log", after=moment // 3 if operation == "write" else moment % 4, times=99)
    try:
        world.open()
    except OSError:
        world.crash(Loss.NOTHING)
    assert offsets(world) == [5, far, far + 9]
