"""When the offset checkpoints of the log directories are written."""



from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.background import InlineBackground
from kafka_py.testing.fakes.stored_logs import HeldBackground

from ..broker_logs import Broker


def test_a_truncation_below_the_recovery_point_is_checkpointed_soon():
    """At the start of the segment that was cut: the cut is not synced yet."""
    broker = Broker()
    log = broker.append(count=5)
    log.flushing.now()
    broker.dirs.checkpoint_recovery_points()
    log.truncate_to(2)
    broker.clock.advance(0)
    assert broker.text("/logs/recovery-point-offset-checkpoint") == "0\n1\nt 0 0\n"
    broker.dirs.delete(TopicPartition("t", 0))
    broker.clock.advance(200)
    assert broker.text("/logs/recovery-point-offset-checkpoint") == "0\n0\n"


def test_a_mass_deletion_writes_the_checkpoints_now_and_then_and_one_in_a_turn():
    broker = Broker()
    for number in range(50):
        broker.append("t", number)
    background = broker.dirs._dirs["/logs"].context.background
    assert isinstance(background, InlineBackground)
    broker.files.calls.clear()
    for number in range(50):
        broker.dirs.delete(TopicPartition("t", number))
        broker.clock.advance(10)

    def writes():
        return [path for operation, path in broker.files.calls if operation == "rename" and path.endswith(".tmp")]

    assert 3 * 3 <= len(writes()) <= 3 * 4, "500 ms at one round in 200 ms"
    broker.clock.advance(200)
    assert broker.text("/logs/recovery-point-offset-checkpoint") == "0\n0\n"
    written = len(writes())
    broker.clock.advance(1000)
    assert len(writes()) == written


def test_the_text_of_a_checkpoint_is_made_where_it_is_written(monkeypatch):
    broker = Broker()
    broker.append(count=2).update_high_watermark(2)
    log_dir = broker.dirs._dirs["/logs"]
    held = HeldBackground()
    for file in log_dir._checkpoints.values():
        monkeypatch.setattr(file, "_background", held)
    made = []
    format_offsets = "kafka_py.log.loading.log_dir.format_offsets"
    monkeypatch.setattr(format_offsets, lambda offsets: made.append(offsets) or b"0\n0\n")
    broker.dirs.checkpoint_high_watermarks()
    assert made == []
    held.run_all()
    assert made == [{TopicPartition("t", 0): 2}]


def test_a_checkpoint_for_which_no_thread_can_be_started_is_no_failure_of_the_disk():
    class NoThread(InlineBackground):
        def run(self, work, done=None, failed=None):
            failed(RuntimeError("can't start new thread"))

    broker = Broker()
    broker.append()
    file = broker.dirs._dirs["/logs"]._checkpoints["recovery-point-offset-checkpoint"]
    file._background = NoThread()
    broker.dirs.checkpoint_recovery_points()
    assert broker.dirs.offline_directories == [] and not broker.failures
    file._background = InlineBackground()
    broker.dirs.get(TopicPartition("t", 0)).flushing.now()
    broker.dirs.checkpoint_recovery_points()
    assert "t 0 1" in broker.text("/logs/recovery-point-offset-checkpoint")
