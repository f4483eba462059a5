"""One compaction pauses, keeps to its bound and can be stopped."""

from __future__ import annotations

import pytest

from kafka_py.log.compaction.cleaning import Stopped
from kafka_py.log.dirtiness import dirtiness_of

from ..compacted_logs import HurryingClock, three_segments


def test_a_stopped_cleaning_has_no_effect() -> None:
    world = three_segments()
    found = dirtiness_of(world.log, world.clock.wall_ms())
    limits = {"buffer_bytes": 1 << 20, "load_factor": 0.9, "bytes_per_s": 1e18}
    job = world.log.compaction.clean_job(found, **limits, is_stopped=lambda: True)
    job.clock = HurryingClock(world.clock)
    with pytest.raises(Stopped):
        job.run()


def test_it_pauses_and_keeps_to_the_bound_of_its_reads_and_writes() -> None:
    world = three_segments()
    found = dirtiness_of(world.log, world.clock.wall_ms())
    pauses: list[float] = []
    limits = {"buffer_bytes": 1 << 20, "load_factor": 0.9, "bytes_per_s": 100.0}
    job = world.log.compaction.clean_job(found, **limits, sleep=pauses.append)
    job.clock = HurryingClock(world.clock)
    job.run()
    assert len(pauses) == 9, "three batches: counted, looked at, sifted"
    assert max(pauses) == 1.0
