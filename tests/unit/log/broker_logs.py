"""The log side of a broker, for the tests of this folder."""



from kafka_py.base.chance import Chance
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.log.disk.background import InlineBackground
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.fakes.stored_logs import batch

SETTINGS = {"log.index.size.max.bytes": "1200", "log.index.interval.bytes": "200"}


class Broker:
    """The log side of a broker that can be stopped, killed and started again."""

    def __init__(self, *directories, files=None, **settings):
        self.clock = ManualClock()
        self.files = files or FakeFiles(now_ms=self.clock.wall_ms)
        self.settings = {**SETTINGS, "log.dirs": ",".join(directories or ("/logs",)), **settings}
        self.failures = []
        self.registry = MetricRegistry(self.clock)
        self.start()

    def make(self):
        self.dirs = LogManager(
            LogOptions.parse(self.settings),
            self.files,
            self.clock,
            Chance(),
            background=InlineBackground(),
            later=self.clock.later,
            on_failure=lambda path, error, lost: self.failures.append((path, lost)),
            metrics=self.registry,
        )
        return self.dirs

    def start(self):
        self.make().open()
        self.dirs.load()

    def restart(self):
        self.dirs.shutdown()
        self.start()

    def crash(self, loss=Loss.NOTHING):
        self.files.crash(loss)
        self.start()

    def append(self, topic="t", partition=0, count=1):
        log = self.dirs.get_or_create(TopicPartition(topic, partition))
        for _ in range(count):
            log.append_as_leader(batch([b"x" * 100]), 0, self.clock.wall_ms())
        return log

    def text(self, path):
        return self.files.read_bytes(path).decode()

