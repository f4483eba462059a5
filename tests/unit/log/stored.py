"""Logs on disk with something in them, for the tests of this folder."""


from kafka_py.testing.fakes.stored_logs import LogWorld, batch

NOW = 1_600_000_000_000


def filled(count=30, settings=None) -> LogWorld:
    world = LogWorld({"segment.bytes": 1700, **(settings or {})})
    for number in range(count):
        world.append(batch([b"x" * 100], timestamp=1000 + number), epoch=number // 12)
    return world


def offsets(world) -> list[int]:
    return [record.offset for record in world.read_all()]


def contents(world) -> dict[str, bytes]:
    return {name: world.data(name) for name in world.names()}


def produced(sequence, pid=9, **fields):
    return batch([b"x" * 100], producer_id=pid, producer_epoch=0, base_sequence=sequence, timestamp=NOW, **fields)
