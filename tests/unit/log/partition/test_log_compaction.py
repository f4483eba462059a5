"""The result of a compaction is put in place, whatever happened to the log meanwhile."""

from __future__ import annotations

from kafka_py.log.partition.retention import delete_old_segments

from ..compacted_logs import World, job_of, three_segments


def test_a_log_that_was_truncated_meanwhile_keeps_its_segments() -> None:
    world = three_segments()
    job = job_of(world)
    assert world.log.compaction.is_unchanged_since(job)
    world.log.truncate_to(2)
    assert not world.log.compaction.is_unchanged_since(job)
    job.discard()
    assert not world.names(".cleaned")
    assert len(world.texts()) == 2


def test_of_a_log_that_lost_segments_meanwhile_the_rest_is_compacted() -> None:
    world = World({"segment.bytes": 500})
    for number in range(6):
        world.put((f"k{number % 2}", "x" * 50))
    job = job_of(world)
    assert [cleaned.sources for cleaned in job.cleaned] == [[0, 1, 2, 3], [4, 5]]
    world.log.advance_log_start_offset(4)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 4
    world.log.compaction.take_cleaned(job)
    assert [cleaned.base_offset for cleaned in job.unused] == [0]
    world.log.compaction.note_cleaned(job)
    assert world.log.compaction.cleaned_to == 6 and world.bases() == [4, 6]


def test_a_segment_that_lost_a_part_meanwhile_is_left_as_it_was_and_compacted_later() -> None:
    world = three_segments()
    world.put(("b", None))
    job = job_of(world)
    world.log.advance_log_start_offset(1)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 1
    world.log.compaction.take_cleaned(job)
    world.log.compaction.note_cleaned(job)
    assert len(job.unused) == 1 and world.log.compaction.cleaned_to == 0
    assert [row[0] for row in world.texts()] == [1, 2, 3]
    job.discard()
    world.clean()
    assert [row[0] for row in world.texts()] == [2, 3]


def test_a_result_whose_files_are_gone_changes_nothing() -> None:
    world = three_segments()
    job = job_of(world)
    job.discard()
    world.log.compaction.take_cleaned(job)
    world.log.compaction.note_cleaned(job)
    assert len(job.unused) == 1 and world.log.compaction.cleaned_to == 0 and not world.failures
    assert [row[0] for row in world.texts()] == [0, 1, 2]


def test_a_large_result_is_put_in_place_a_few_segments_at_a_time() -> None:
    world = World({"segment.bytes": 100})
    for number in range(6):
        world.put((f"k{number}", "1"))
    job = job_of(world)
    before = world.texts()
    world.log.compaction.take_cleaned(job)
    assert len(job.cleaned) == 2
    assert world.texts() == before
    world.log.compaction.take_cleaned(job)
    assert not job.cleaned and not job.unused
    assert world.texts() == before


def test_appends_meanwhile_do_no_harm() -> None:
    world = three_segments()
    job = job_of(world)
    world.put(("a", "3"))
    world.log.compaction.take_cleaned(job)
    assert [row[2] for row in world.texts()] == ["2", "3"]
