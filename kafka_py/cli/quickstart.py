"""The main job, end to end: ZooKeeper, a broker, a topic, real text in, the same text out.

The text is every line of the standard library's own source files, keyed by file name, so that the order within a
file must survive. Three counts have to agree: lines produced, lines consumed (compared one by one), and records in
the segment files. At the end Spark reads the topic, where it can run, and counts what is in the lines. Everything runs
in a temporary folder on free ports and is stopped at the end.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafka_py.cli.common.command import CommandFailed, CommandParser, run
from kafka_py.cli.local_cluster.ports import free_ports
from kafka_py.cli.local_cluster.processes import resident_mb
from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.records.batch import iter_headers

BIN = Path(__file__).resolve().parents[2] / "bin"
TOPIC = "standard-library"
SPARK_MISSING = 3
"""How the pipeline ends where Spark cannot run."""


def parser() -> CommandParser:
    table = CommandParser("quickstart.sh", "Runs a broker and sends the standard library through it.", bare=True)
    table.option("--partitions", "Partitions of the topic.", kind=int, metavar="Integer", default=6)
    table.flag("--keep", "Leave the data folder behind and print where it is.")
    table.flag("--no-spark", "Leave the pipeline at the end out.")
    table.option("--plot", "Also draw what the pipeline counts, into this PNG file.", metavar="File")
    return table


class Service:
    """A server process of ours, started by its script and stopped by its process id."""

    def __init__(self, name: str, command: Sequence[str], port: int, log: Path) -> None:
        self.name, self.port, self.log = name, port, log
        with log.open("wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            start_new_session=True)  # fmt: skip

    def wait_listening(self, timeout_s: float) -> float:
        """Seconds until the port answers. Raises CommandFailed with the log's end if the process ends before."""
        started = time.monotonic()
        while time.monotonic() - started < timeout_s:
            if self.process.poll() is not None:
                raise CommandFailed(f"{self.name} ended with {self.process.returncode}:\n{self._log_end()}")
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return time.monotonic() - started
            time.sleep(0.02)
        raise CommandFailed(f"{self.name} did not answer on port {self.port} in {timeout_s:.0f} s:\n{self._log_end()}")

    def resident_mb(self) -> float:
        """Resident memory of the process in MB."""
        return resident_mb(self.process.pid)

    def stop(self) -> None:
        """Asks by SIGTERM and insists after twenty seconds."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def _log_end(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


def source_files() -> list[Path]:
    """The standard library's source files on this machine, without third-party packages."""
    root = Path(sysconfig.get_path("stdlib"))
    return sorted(path for path in root.rglob("*.py") if "site-packages" not in path.parts)


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file as bytes, without their line ends."""
    yield from path.read_bytes().split(b"\n")


def produce(bootstrap: str, files: Sequence[Path]) -> tuple[int, int]:
    """Sends every line, keyed by its file. Returns lines and bytes sent; every send has been acknowledged."""
    lines = size = 0
    failures: list[BaseException] = []

    def check(_metadata: object, error: BaseException | None) -> None:
        if error is not None:
            failures.append(error)

    settings = {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 20, "batch.size": 262144,
                "compression.type": "none", "enable.idempotence": True}  # fmt: skip
    with Producer(settings) as producer:
        for path in files:
            key = str(path).encode()
            for line in lines_of(path):
                producer.send(TOPIC, key=key, value=line, callback=check)
                lines += 1
                size += len(line) + len(key)
        producer.flush()
    if failures:
        raise CommandFailed(f"{len(failures)} of {lines} lines were not acknowledged; the first: {failures[0]}")
    return lines, size


def consume_and_compare(bootstrap: str, files: Sequence[Path], partitions: int) -> int:
    """Reads the topic from its start to its end and compares every line with its file. Returns the lines read."""
    expected = {str(path).encode(): lines_of(path) for path in files}
    missing = object()
    consumed = 0
    settings = {"bootstrap.servers": bootstrap, "fetch.max.bytes": 50_000_000, "max.poll.records": 5000,
                "max.partition.fetch.bytes": 4_000_000}  # fmt: skip
    with Consumer(settings) as consumer:
        assignment = [TopicPartition(TOPIC, number) for number in range(partitions)]
        consumer.assign(assignment)
        consumer.seek_to_beginning(assignment)
        total = sum(consumer.end_offsets(assignment).values())
        while consumed < total:
            records = consumer.poll(timeout=10.0)
            if not records:
                raise CommandFailed(f"no record came for 10 s, after {consumed} of {total}")
            for record in records:
                if next(expected[record.key], missing) != record.value:
                    raise CommandFailed(f"offset {record.offset} of partition {record.partition} does not hold "
                                        f"the next line of {record.key.decode()}")  # fmt: skip
            consumed += len(records)
    left = [key.decode() for key, lines in expected.items() if next(lines, missing) is not missing]
    if left:
        raise CommandFailed(f"lines of {len(left)} files never came back, {left[0]} among them")
    return consumed


def records_on_disk(log_dir: Path) -> tuple[int, int]:
    """Records and bytes in the segment files of the topic, as their batch headers tell."""
    records = size = 0
    for path in log_dir.glob(f"{TOPIC}-*/*.log"):
        data = path.read_bytes()
        records += sum(header.record_count for _, header in iter_headers(data))
        size += len(data)
    return records, size


def _zookeeper(folder: Path, port: int) -> Service:
    config = folder / "zookeeper.properties"
    config.write_text(f"dataDir={folder / 'zookeeper'}\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
                      "maxClientCnxns=0\nadmin.enableServer=false\n")  # fmt: skip
    return Service("ZooKeeper", [str(BIN / "zookeeper-server-start.sh"), str(config)], port, folder / "zookeeper.log")


def _broker(folder: Path, port: int, zookeeper_port: int) -> Service:
    config = folder / "server.properties"
    config.write_text(f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:{port}\nlog.dirs={folder / 'kafka-logs'}\n"
                      f"zookeeper.connect=127.0.0.1:{zookeeper_port}\noffsets.topic.replication.factor=1\n")
    return Service("The broker", [str(BIN / "kafka-server-start.sh"), str(config)], port, folder / "server.log")


def _figure(label: str, text: str) -> None:
    print(f"  {label:<22} {text}", flush=True)


def run_pipeline(bootstrap: str, plot: str | None) -> None:
    """Spark counts imports and lines. Raises CommandFailed when it fails, but not where it cannot run."""
    command = [sys.executable, "-m", "kafka_py.pipeline.jobs.standard_library", bootstrap, TOPIC]
    path = os.pathsep.join(filter(None, [str(BIN.parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    command += [plot] if plot else []
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == SPARK_MISSING:
        _figure("Spark", f"left out: {done.stdout.strip()}")
    elif done.returncode:
        raise CommandFailed(f"the pipeline failed: {done.stderr.strip()[-2000:]}")
    else:
        print(done.stdout.rstrip())


def run_job(folder: Path, partitions: int, spark: bool = True, plot: str | None = None) -> None:
    """The whole job in `folder`. Raises CommandFailed when anything is not as it should be."""
    services: list[Service] = []
    try:
        zookeeper_port, port = free_ports(2)
        services.append(_zookeeper(folder, zookeeper_port))
        _figure("ZooKeeper", f"up in {services[0].wait_listening(60):.1f} s on port {zookeeper_port}")
        broker = _broker(folder, port, zookeeper_port)
        services.append(broker)
        _figure("broker", f"up in {broker.wait_listening(30):.2f} s on port {broker.port}, "
                          f"{broker.resident_mb():.0f} MB resident")  # fmt: skip
        bootstrap = f"127.0.0.1:{broker.port}"
        made = subprocess.run([str(BIN / "kafka-topics.sh"), "--bootstrap-server", bootstrap, "--create", "--topic",
                               TOPIC, "--partitions", str(partitions), "--replication-factor", "1"],
                              capture_output=True, text=True, check=False)  # fmt: skip
        if made.returncode:
            raise CommandFailed(f"kafka-topics.sh failed: {made.stdout}{made.stderr}")
        _figure("topic", f"{made.stdout.strip()} ({partitions} partitions)")
        _round_trip(bootstrap, folder, partitions)
        _figure("broker memory", f"{broker.resident_mb():.0f} MB resident after the job")
        if spark:
            run_pipeline(bootstrap, plot)
    finally:
        for service in reversed(services):
            service.stop()


def _round_trip(bootstrap: str, folder: Path, partitions: int) -> None:
    files = source_files()
    started = time.monotonic()
    produced, size = produce(bootstrap, files)
    seconds = time.monotonic() - started
    _figure("produced", f"{produced:,} lines of {len(files):,} files, {size / 1e6:.1f} MB in {seconds:.1f} s: "
                        f"{produced / seconds:,.0f} lines/s, all acknowledged")  # fmt: skip
    started = time.monotonic()
    consumed = consume_and_compare(bootstrap, files, partitions)
    seconds = time.monotonic() - started
    _figure("consumed", f"{consumed:,} lines in {seconds:.1f} s: {consumed / seconds:,.0f} lines/s, "
                        "each one equal to its source")  # fmt: skip
    stored, stored_bytes = records_on_disk(folder / "kafka-logs")
    _figure("on disk", f"{stored:,} records, {stored_bytes / 1e6:.1f} MB in segment files")
    if not produced == consumed == stored:
        raise CommandFailed(f"{produced} lines produced, {consumed} consumed, {stored} on disk: they should agree")
    print(f"lines produced = lines consumed = records on disk = {produced:,}")


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    folder = Path(tempfile.mkdtemp(prefix="kafka_py-quickstart-"))
    started = time.monotonic()
    try:
        print("kafka_py quickstart")
        run_job(folder, options.partitions, not options.no_spark, options.plot)
        print(f"done in {time.monotonic() - started:.1f} s")
    finally:
        if options.keep:
            print(f"data left in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
