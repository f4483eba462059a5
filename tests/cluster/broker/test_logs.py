"""The logs of a broker's process: files with -daemon, levels that change while it runs, the start-up report."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ROOT, Process, wait_until

LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (FATAL|ERROR|WARN|INFO|DEBUG|TRACE) .* \([\w.$]+\)")
STARTED = "[KafkaServer id=0] started (kafka.server.KafkaServer)"


class LoggingBroker(BrokerProcess):
    """A broker with LOG_DIR set, as `-daemon` sets it."""

    def __init__(self, folder: Path, zookeeper_connect: str, **settings: str) -> None:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        super().__init__(folder, zookeeper_connect, settings=given)
        self.logs = folder / "logs"
        self.environment["LOG_DIR"] = str(self.logs)

    def lines(self, name: str) -> list[str]:
        return (self.logs / name).read_text().splitlines()


@pytest.fixture
def broker(zk_chroot: str, tmp_path: Path) -> Iterator[LoggingBroker]:
    with LoggingBroker(tmp_path / "broker", zk_chroot, no_such_setting="1", host_name="127.0.0.1") as made:
        yield made


def set_level(broker: BrokerProcess, change: str) -> None:
    command = [str(ROOT / "bin" / "kafka-configs.sh"), "--bootstrap-server", broker.bootstrap, "--alter"]
    subprocess.run([*command, "--broker-logger", "0", "--add-config", change], check=True, timeout=60)


def test_each_log_has_its_file_and_its_lines_the_classic_form(broker: LoggingBroker) -> None:
    broker.create_topic("t", 3)
    broker.stop()
    server, controller = broker.lines("server.log"), broker.lines("controller.log")
    changes = broker.lines("state-change.log")
    for line in (*server, *controller, *changes):
        assert LINE.fullmatch(line), line
    assert any(line.endswith("INFO " + STARTED) for line in server)
    assert server[-1].endswith("INFO [KafkaServer id=0] shut down completed (kafka.server.KafkaServer)")
    assert all("[Controller id=0" in line for line in controller)
    assert any("Broker 0 was elected controller, with epoch 1" in line for line in controller)
    moved = "[Controller id=0 epoch=1] Changed 3 partitions from NEW to ONLINE: t-0, t-1, t-2"
    assert any(moved in line for line in changes)
    assert any("[Broker id=0] Controller 0 epoch 1: this broker now leads 3 partitions" in line for line in changes)
    assert not any("kafka.controller" in line or "state.change" in line for line in server)
    assert broker.lines("kafka-request.log") == []
    assert len(server) < 25, "lines at INFO are few"
    assert [line for line in broker.output().splitlines() if STARTED in line], "the console has it too"


def test_the_start_says_what_runs_where_and_which_settings_are_doubtful(broker: LoggingBroker) -> None:
    text = "\n".join(broker.lines("server.log"))
    assert "WARN Unknown setting no.such.setting: it is ignored." in text
    assert "WARN Deprecated setting host.name: it still works." in text
    assert re.search(
        r"Broker 0 of cluster [\w-]{22}: kafka_py \S+ \(Kafka 2\.8\.2\), "
        rf"listeners PLAINTEXT://127\.0\.0\.1:{broker.port}, log\.dirs {broker.log_dirs[0]}; up in \d+ms",
        text,
    )
    broker.create_topic("t", 3)
    broker.stop()
    broker.start()
    assert re.search(rf"Loaded 3 logs in \d+ms after a clean stop from {broker.log_dirs[0]}", broker.output())
    broker.kill()
    broker.start()
    assert "after an unclean stop from" in broker.output()


def test_requests_are_logged_from_the_moment_their_level_is_debug(broker: LoggingBroker) -> None:
    set_level(broker, "kafka.request.logger=DEBUG")
    broker.create_topic("t")
    set_level(broker, "kafka.request.logger=WARN")
    logged = len(broker.lines("kafka-request.log"))
    broker.create_topic("u")
    assert len(broker.lines("kafka-request.log")) == logged
    rows = [
        json.loads(line.partition("Completed request:")[2].removesuffix(" (kafka.request.logger)"))
        for line in broker.lines("kafka-request.log")
    ]
    created = next(row for row in rows if row["requestHeader"]["requestApiKeyName"] == "CREATE_TOPICS")
    assert created["request"]["topics"][0]["name"] == "t"
    assert created["response"]["topics"][0]["errorCode"] == 0
    assert created["totalTimeMs"] >= created["localTimeMs"] + created["remoteTimeMs"] > 0
    assert created["clientInformation"]["softwareName"]


def test_a_daemon_writes_to_the_logs_folder(zk_chroot: str, tmp_path: Path) -> None:
    broker = LoggingBroker(tmp_path / "broker", zk_chroot)
    broker.launch()
    broker.kill()  # only its property file is needed
    command = [str(ROOT / "bin" / "kafka-server-start.sh"), "-daemon", str(broker.folder / "server.properties")]
    logs = tmp_path / "daemon-logs"
    started = Process(command, tmp_path / "script.log", environment={"LOG_DIR": str(logs)}).start()
    assert started.wait() == 0
    daemon = wait_until(lambda: _pid_of(broker.folder / "server.properties"), 10, "the daemon's process")
    try:
        wait_until(lambda: STARTED in _text(logs / "server.log"), 60, "its start")
        assert STARTED in _text(logs / "kafkaServer.out")
    finally:
        subprocess.run(["kill", str(daemon)], check=True)
        wait_until(lambda: not Path(f"/proc/{daemon}").exists(), 30, "its end")
    assert "shut down completed" in _text(logs / "server.log")


def test_other_files_and_levels_may_be_given(zk_chroot: str, tmp_path: Path) -> None:
    own = tmp_path / "log4j.properties"
    own.write_text(
        "log4j.rootLogger=WARN, file\n"
        "log4j.appender.file=org.apache.log4j.RollingFileAppender\n"
        f"log4j.appender.file.File={tmp_path}/own.log\n"
        "log4j.appender.file.layout.ConversionPattern=%p|%c|%m%n\n"
        "log4j.logger.kafka.server.KafkaServer=INFO\n"
    )
    broker = LoggingBroker(tmp_path / "broker", zk_chroot)
    broker.environment["KAFKA_LOG4J_OPTS"] = f"-Dlog4j.configuration=file:{own}"
    broker.launch()
    try:
        line = "INFO|kafka.server.KafkaServer|[KafkaServer id=0] started\n"
        wait_until(lambda: line in _text(tmp_path / "own.log"), 60)
    finally:
        broker.stop()
    assert "kafka.controller" not in _text(tmp_path / "own.log")
    assert broker.output() == ""


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _pid_of(argument: Path) -> int | None:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(argument).encode() in words and b"kafka.Kafka" in words:
            return int(process.name)
    return None
