"""A log with a few segments, as the tests of this folder read it."""


import pytest

from kafka_py.testing.fakes.stored_logs import LogWorld, batch


@pytest.fixture
def world() -> LogWorld:
    """100 batches of two records in segments of ten batches."""
    two = len(batch([b"x" * 50] * 2))
    world = LogWorld({"segment.bytes": two * 10})
    for number in range(100):
        world.append(batch([b"x" * 50] * 2, timestamp=1000 + number * 10))
    world.log.update_high_watermark(200)
    return world
