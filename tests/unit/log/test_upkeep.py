"""What is done for all logs now and then, a few at a time."""

from itertools import pairwise

from kafka_py.base.ids import TopicPartition
from kafka_py.log.partition.log_files import LogFiles

from .broker_logs import Broker


def test_periodic_tasks_begin_after_thirty_seconds():
    broker = Broker(**{"log.retention.ms": "1000", "log.segment.bytes": "500"})
    broker.append(count=10).update_high_watermark(10)
    broker.dirs.start_tasks()
    broker.clock.advance(29_999)
    assert len(broker.dirs.get(TopicPartition("t", 0)).segments) == 5
    broker.clock.advance(1)
    assert len(broker.dirs.get(TopicPartition("t", 0)).segments) == 1
    broker.clock.advance(60_000)
    assert broker.text("/logs/recovery-point-offset-checkpoint") == "0\n1\nt 0 10\n"
    broker.dirs.shutdown()
    broker.clock.advance(10_000_000)


def test_retention_goes_over_many_logs_in_turns_and_passes_over_those_deleted_meanwhile():
    broker = Broker(**{"log.retention.ms": "1000", "log.segment.bytes": "500"})
    logs = [broker.append("t", number, count=4) for number in range(20)]
    for log in logs:
        log.update_high_watermark(4)
    turns = []
    broker.dirs.upkeep._later = lambda _delay_ms, turn: turns.append(turn)
    broker.clock.advance(2000)
    broker.dirs.upkeep.delete_old_segments()
    assert [len(log.segments) for log in logs] == [1] * 8 + [2] * 12
    broker.dirs.delete(TopicPartition("t", 10))
    while turns:
        turns.pop(0)()
    assert [len(log.segments) for log in logs] == [1] * 10 + [2] + [1] * 9


def test_retention_of_a_log_with_many_old_segments_leaves_the_loop_now_and_then():
    """A shorter retention.ms may make hundreds of segments old at once."""
    broker = Broker(**{"log.retention.ms": "1000", "log.segment.bytes": "200"})
    logs = [broker.append("t", number, count=9) for number in range(2)]
    for log in logs:
        log.update_high_watermark(9)
    turns = []
    broker.dirs.upkeep._later = lambda _delay_ms, turn: turns.append(turn)
    broker.clock.advance(2000)
    broker.dirs.upkeep.delete_old_segments()
    counts = [[len(log.segments) for log in logs]]
    while turns:
        turns.pop(0)()
        counts.append([len(log.segments) for log in logs])
    assert counts[0] == [7, 7] and counts[-1] == [1, 1]
    assert all(sum(before) - sum(after) <= 2 for before, after in pairwise(counts))
    assert [log.log_start_offset for log in logs] == [9, 9]


def test_flush_ms_is_looked_at_by_the_scheduler():
    broker = Broker(**{"log.flush.scheduler.interval.ms": "1000", "log.flush.interval.ms": "5000"})
    log = broker.append(count=2)
    broker.dirs.start_tasks()
    broker.clock.advance(30_000)
    assert log.recovery_point == 2


def test_work_for_every_log_leaves_the_loop_now_and_then(monkeypatch):
    broker = Broker()
    logs = [broker.append("t", number) for number in range(450)]
    turns = []
    broker.dirs.upkeep._later = lambda _delay_ms, turn: turns.append(turn)
    seen = []
    monkeypatch.setattr(LogFiles, "remove_expired_producers", lambda files, _now_ms: seen.append(files))
    broker.dirs.upkeep.remove_expired_producers()
    counts = [len(seen)]
    while turns:
        turns.pop(0)()
        counts.append(len(seen))
    assert counts == [200, 400, 450, 450] and seen == [log.files for log in logs]
