"""What retention asks of segments that nobody has read is found out in a thread."""



from kafka_py.log.timestamp_reads import TimestampRead

from .broker_logs import Broker


def test_retention_opens_no_file_on_the_loop_for_segments_that_nobody_has_read():
    broker = Broker(**{"log.segment.bytes": "500", "log.retention.ms": "9000000000000"})
    for number in range(30):
        broker.append("t", number, count=9).update_high_watermark(9)
    broker.restart()
    for log in broker.dirs.all_logs():
        log.update_high_watermark(9)
    segments = [len(log.segments) for log in broker.dirs.all_logs()]
    opened = {"loop": 0, "thread": 0}
    jobs = []

    class Threads:
        def run(self, work, done=None, failed=None):
            jobs.append((work, done))

    def count(where):
        opened[where] += sum(operation in ("open", "read") for operation, _ in broker.files.calls)
        broker.files.calls.clear()

    broker.dirs.upkeep._background = Threads()
    count("loop")
    opened["loop"] = 0
    broker.dirs.upkeep.delete_old_segments()
    while True:
        broker.clock.advance(1)
        if not jobs:
            break
        assert len(jobs) == 1  # no more at a time than retention can take up
        count("loop")
        work, done = jobs.pop()
        work()
        count("thread")
        done(None)
    count("loop")
    assert opened["thread"] >= 30
    assert opened["loop"] == 0
    assert [len(log.segments) for log in broker.dirs.all_logs()] == segments


def test_a_segment_whose_index_is_wrong_is_left_to_retention_itself():
    broker = Broker(**{"log.segment.bytes": "5000", "log.retention.ms": "1000", "log.index.interval.bytes": "100"})
    log = broker.append(count=60)
    log.update_high_watermark(60)
    broker.restart()
    (log,) = broker.dirs.all_logs()
    log.update_high_watermark(60)
    path = log.segments[0].offset_index.path
    look = TimestampRead(log.segments[0])
    broker.files.open(path).write(b"\x7f" * 8, log.segments[0].offset_index.size_bytes - 8)
    look.run()
    look.settle()
    assert broker.files.exists(path)
    broker.clock.advance(2000)
    broker.dirs.upkeep.delete_old_segments()
    assert len(log.segments) == 1
