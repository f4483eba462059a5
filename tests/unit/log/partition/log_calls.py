"""Calls of a log and batches for it, as the tests of this folder need them."""



from kafka_py.log.model.answers import LogRead
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, records_of, slice_bytes


def read(log, offset, max_bytes=1 << 20, up_to=None, min_one_batch=True) -> LogRead:
    bound = log.log_end_offset if up_to is None else up_to
    return log.read(offset, max_bytes, up_to_offset=bound, min_one_batch=min_one_batch)


def offsets(data: LogRead) -> list[int]:
    return [record.offset for record in records_of(slice_bytes(data.slice))]


def produced(sequence, count=1, **fields):
    return batch([b"v"] * count, producer_id=9, producer_epoch=0, base_sequence=sequence, **fields)


def follow(world, data):
    return world.log.append_as_follower(memoryview(bytearray(data)), world.clock.wall_ms())


def leader_bytes(count=10) -> bytes:
    leader = LogWorld()
    for number in range(count):
        leader.append(batch([b"x" * 100], timestamp=1000 + number), epoch=number // 4)
    return leader.data("00000000000000000000.log")
