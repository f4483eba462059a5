"""One compaction pauses, keeps to its bound, can be stopped, and reads no more than it must."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.log.compaction import compaction
from kafka_py.log.compaction.cleaning import Stopped
from kafka_py.log.dirtiness import dirtiness_of
from kafka_py.records.batch import BatchHeader
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.control import ControlType
from kafka_py.records.legacy_builder import LegacyBuilder

from ..compacted_logs import HurryingClock, World, job_of, three_segments


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
    assert len(pauses) == 10, "three batches: counted, looked at, sifted; and once when the latest offsets are marked"
    assert max(pauses) == 1.0


def test_what_stays_of_the_dirty_part_is_known_without_another_look_at_its_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only a batch of which a part stays is read again: here one of four."""
    world, read = World(), list[int]()
    for pair in ("a1 b1", "c1 d1", "a2 c2", "b2 e1"):
        world.put(*((row[0], row[1]) for row in pair.split()))
    outlines = compaction.iter_outlines

    def noted(batch: memoryview, header: BatchHeader) -> Any:
        read.append(header.base_offset)
        return outlines(batch, header)

    monkeypatch.setattr(compaction, "iter_outlines", noted)
    job = job_of(world)
    assert (job.records_read, job.records_kept, read) == (8, 5, [2])


def test_records_beyond_the_offsets_of_their_batch_are_looked_up_by_their_keys() -> None:
    """By its offset alone such a record would be taken for one of no later batch, and so be lost."""
    world = World()
    for base_offset, keys, last_offset_delta in ((0, (b"a", b"b", b"c"), 0), (5, (b"a",), 0)):
        made = BatchBuilder(base_offset=base_offset, leader_epoch=0)
        for key in keys:
            made.append(1000, key, b"v")
        made.last_offset_delta = last_offset_delta
        world.log.append_as_follower(memoryview(bytearray(made.build())), world.clock.wall_ms())
    world.log.update_high_watermark(world.log.log_end_offset)
    world.log.roll(world.clock.wall_ms())
    assert job_of(world).records_kept == 3


def test_records_beyond_the_offset_of_their_wrapper_hide_no_others() -> None:
    """The wrapper of format 0 says offset 1, one of its records 10: an offset that the next batch has no record at."""
    world = World()
    wrapper = LegacyBuilder(0, Codec.GZIP)
    wrapper.append_at(0, -1, b"a", b"v")
    wrapper.append_at(10, -1, b"b", b"v")
    entry = bytearray((1).to_bytes(8, "big") + wrapper.build()[8:])
    batch = BatchBuilder(base_offset=2, leader_epoch=0)
    batch.append_at(15, 1000, b"c", b"v")
    for made in (entry, bytearray(batch.build())):
        world.log.append_as_follower(memoryview(made), world.clock.wall_ms())
    world.log.update_high_watermark(world.log.log_end_offset)
    world.log.roll(world.clock.wall_ms())
    job = job_of(world)
    assert (job.records_kept, job.bytes_written) == (3, len(entry) + len(batch.build()))


def test_an_aborted_transaction_that_began_in_the_clean_part_hides_no_value() -> None:
    """So it is after a compaction whose table of keys was full in the middle of the transaction."""
    world = World()
    world.put(("a", "committed"))
    fields: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    world.put(("x", "aborted"), base_sequence=0, **fields)
    world.put(("a", "aborted"), base_sequence=1, **fields)
    world.end(7, ControlType.ABORT)
    found = dirtiness_of(world.log, world.clock.wall_ms())._replace(first_dirty=2)
    job = world.log.compaction.clean_job(found, buffer_bytes=1 << 20, load_factor=0.9, bytes_per_s=1e18).run()
    assert job.records_kept == 2, "the committed value, and the marker"
