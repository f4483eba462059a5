"""How much of a log could be compacted, and whether that is due."""

from __future__ import annotations

from kafka_py.log.dirtiness import dirtiness_of
from kafka_py.log.loading.recovery import Checkpointed

from .compacted_logs import World


def test_young_records_and_undecided_ones_must_wait() -> None:
    world = World({"min.compaction.lag.ms": 60_000})
    world.put(("a", "1"))
    world.put(("a", "2"))
    world.clean()
    assert len(world.texts()) == 2
    world.clock.advance(60_001)
    world.put(("a", "3"))
    world.clean()
    assert [row[0] for row in world.texts()] == [1, 2]


def test_nothing_beyond_the_high_watermark_is_compacted() -> None:
    world = World()
    world.put(("a", "1"))
    world.put(("a", "2"))
    world.log.high_watermark = 1
    found = dirtiness_of(world.log, world.clock.wall_ms())
    assert (found.first_dirty, found.end) == (0, 1)


def test_a_log_is_due_when_it_is_dirty_enough_or_has_waited_too_long() -> None:
    world = World({"min.cleanable.dirty.ratio": "0.6"})
    world.put(("a", "1"))
    world.put(("b", "1"))
    world.clean()
    world.put(("a", "2"))
    assert world.clean() == 0, "a third of it is dirty"
    world.log.reconfigure(World({"min.cleanable.dirty.ratio": "0.6", "max.compaction.lag.ms": 1000}).log.config)
    world.clock.advance(2000)
    assert world.clean() == 1
    assert [row[0] for row in world.texts()] == [1, 2]


def test_a_checkpoint_that_cannot_be_is_left_aside() -> None:
    world = World()
    world.put(("a", "1"))
    world.put(("a", "2"))
    world.log.flushing.now()
    reopened = world.open(checkpointed=Checkpointed(0, 2, 2, cleaned_to=99))
    assert reopened.compaction.cleaned_to == 2, "where the active segment begins"
    world.log.compaction.cleaned_to = 0
    world.log.log_start_offset = 1
    assert dirtiness_of(world.log, 0).first_dirty == 1
