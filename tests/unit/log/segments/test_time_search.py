"""The search for a time passes over what cannot be read."""



from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp

from ..sent_batches import LAST_OFFSET_DELTA, MAX_TIMESTAMP, RECORD_COUNT, patched, stored_with


def test_an_unreadable_batch_is_skipped_in_a_search_by_time_and_named(caplog):
    claimed = MAX_TIMESTAMP, 2600
    world = LogWorld()
    world.append(batch([b"a"], timestamp=1000))
    stored_with(world, patched(batch([b"b"] * 3, timestamp=2000), (RECORD_COUNT, 5), (LAST_OFFSET_DELTA, 4), claimed))
    world.append(batch([b"c"], timestamp=3000))
    assert offset_for_timestamp(world.log, 2500) == (3000, 6, 0)
    assert any(f"{world.topic_partition}: the batch at offset 1 is skipped" in line for line in caplog.messages)
