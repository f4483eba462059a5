"""Apache Kafka itself as a peer in tests and benchmarks: broker and tools of 2.8.2, and the newest Java clients.

The jars are named by Maven coordinates in tests/compat/java/*.xml, fetched once by mvn into a cache (KAFKA_PY_CACHE,
else ~/.cache/kafka_py) and run with the machine's Java. The first run of a main class leaves an archive of its loaded
classes there, with which later runs start three times as fast. Where something is missing, Unavailable says what.
Knows nothing of our own broker.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from kafka_py.base.properties import format_properties
from kafka_py.testing.processes import ROOT, Process, free_port
from kafka_py.testing.wire_client import WireClient
from kafka_py.wire.messages.metadata import MetadataRequest

COORDINATES = ROOT / "tests" / "compat" / "java"

QUICK_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Starts fast and stays small: for tests."""

CLASSIC_JVM = (
    "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true",
)  # fmt: skip
"""What the classic start script gives a broker: for benchmarks."""

RUN_TIMEOUT_S = 60

_LOG4J = """\
log4j.rootLogger={level}, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.Target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class Unavailable(Exception):
    """Apache's software cannot be had on this machine; the text says why."""


class Result(NamedTuple):
    """How a tool ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()


class Jars:
    """A folder of jars and how to run what is in them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @cached_property
    def class_path(self) -> str:
        return ":".join(sorted(str(path) for path in self.directory.glob("*.jar")))

    def command(
        self,
        main_class: str,
        *arguments: str,
        jvm: Sequence[str] = QUICK_JVM,
        log_level: str = "WARN",
        program: str = "",
    ) -> list[str]:
        """The command line of a Java program. program: a jar to look in before the others."""
        config = self.directory / f"log4j-{log_level}.properties"
        if not config.exists():
            config.write_text(_LOG4J.format(level=log_level))
        class_path = f"{program}:{self.class_path}" if program else self.class_path
        properties = [f"-Dlog4j.configuration=file:{config}", "-cp", class_path]
        return [_java("java"), *jvm, *properties, main_class, *arguments]

    def run(
        self, main_class: str, *arguments: str, stdin: str = "", timeout_s: float = RUN_TIMEOUT_S, program: str = ""
    ) -> Result:
        """Runs a tool to its end."""
        archive_name = Path(program).stem if program else main_class
        with _ClassArchive(self.directory / "archives", archive_name) as archive:
            jvm = (*QUICK_JVM, "-Xlog:disable", "-Xlog:all=off", *archive.flags)
            done = subprocess.run(
                self.command(main_class, *arguments, jvm=jvm, program=program),
                input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False,
            )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)

    def run_source(self, source: str, *arguments: str, stdin: str = "", timeout_s: float = RUN_TIMEOUT_S) -> Result:
        """Compiles, if need be, and runs a program of tests/compat/java, named without its suffix."""
        return self.run(source, *arguments, stdin=stdin, timeout_s=timeout_s, program=str(self._compiled(source)))

    def _compiled(self, source: str) -> Path:
        """The jar of a program, made anew when its source has changed."""
        path = COORDINATES / f"{source}.java"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        target = self.directory / "programs" / f"{source}-{digest}.jar"
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=self.directory) as work:
                compiler = [_java("javac"), "-nowarn", "-cp", self.class_path, "-d", f"{work}/classes", str(path)]
                done = subprocess.run(compiler, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise AssertionError(f"{path.name} does not compile:\n{done.stderr}")
                made = Path(work) / "program.jar"
                with zipfile.ZipFile(made, "w") as jar:
                    for compiled in sorted(Path(work, "classes").rglob("*.class")):
                        jar.write(compiled, compiled.relative_to(Path(work, "classes")))
                _move(made, target)
        return target


def apache_kafka() -> Jars:
    """Broker, tools and clients of Apache Kafka 2.8.2. Raises Unavailable."""
    return _resolved("apache-2.8.2")


def newest_clients() -> Jars:
    """The newest Java clients. Raises Unavailable."""
    return _resolved("newest-clients")


def cache_directory() -> Path:
    return Path(os.environ.get("KAFKA_PY_CACHE") or Path.home() / ".cache" / "kafka_py")


class ApacheBroker(Process):
    """A broker of Apache Kafka 2.8.2, the counterpart of BrokerProcess; a context manager that stops it.

    The port and the folder stay the same through restarts. started_in_s: how long the last start took.
    """

    def __init__(
        self,
        folder: Path,
        zookeeper_connect: str,
        *,
        broker_id: int = 0,
        settings: Mapping[str, str] | None = None,
        log_dirs: Sequence[Path] = (),
        port: int | None = None,
        jvm: Sequence[str] = QUICK_JVM,
    ) -> None:
        """folder: for its files. settings: go on top of server.properties. Raises Unavailable."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.broker_id = broker_id
        self.port = port or free_port()
        self.log_dirs = list(log_dirs) or [folder / "kafka-logs"]
        self.properties = {
            "broker.id": str(broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": ",".join(str(path) for path in self.log_dirs),
            "zookeeper.connect": zookeeper_connect,
            **CLUSTER_OF_ONE,
            **(settings or {}),
        }
        self.started_in_s = 0.0
        self._config = folder / "server.properties"
        command = apache_kafka().command("kafka.Kafka", str(self._config), jvm=jvm, log_level="INFO")
        super().__init__(command, folder / "server.log", folder=folder)

    @property
    def bootstrap(self) -> str:
        """Its `bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    def launch(self) -> None:
        """Starts it without waiting: for starts that are meant to fail."""
        self._config.write_text(format_properties(self.properties))
        self.log.write_text("")
        super().start()

    def start(self, timeout_s: float = 60) -> Self:
        """Starts it and waits until it serves and knows the cluster. Raises NotReady with the end of its log."""
        begun = time.monotonic()
        self.launch()
        self.wait_for_output(" started (kafka.server.KafkaServer)", timeout_s)
        self.started_in_s = time.monotonic() - begun
        with WireClient(self.bootstrap) as client:
            self.wait_for(lambda: self._knows_the_cluster(client), timeout_s, "the cluster's metadata")
        return self

    def _knows_the_cluster(self, client: WireClient) -> bool:
        answer = client.ask(MetadataRequest(topics=[]), 1)
        return answer.controller_id >= 0 and self.broker_id in [broker.node_id for broker in answer.brokers]

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.kill()
            raise


CLUSTER_OF_ONE = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "2000000",
}
"""What a cluster of one must say, and the least memory for the cleaner."""


class _ClassArchive:
    """The archive of loaded classes of one main class: used if there, else made by this run."""

    def __init__(self, directory: Path, main_class: str) -> None:
        self._path = directory / f"{main_class}.jsa"
        self._fresh: Path | None = None

    def __enter__(self) -> _ClassArchive:
        if not self._path.exists():
            self._path.parent.mkdir(exist_ok=True)
            self._fresh = self._path.with_suffix(f".{os.getpid()}-{time.monotonic_ns()}")
        return self

    @property
    def flags(self) -> list[str]:
        if self._fresh is not None:
            return [f"-XX:ArchiveClassesAtExit={self._fresh}"]
        return [f"-XX:SharedArchiveFile={self._path}"]

    def __exit__(self, *_: object) -> None:
        if self._fresh is not None and self._fresh.exists():
            self._fresh.rename(self._path)


def _resolved(name: str) -> Jars:
    """The jars that tests/compat/java/<name>.xml names, fetched by mvn on first use."""
    coordinates = COORDINATES / f"{name}.xml"
    if not coordinates.exists():
        raise Unavailable(f"Apache's tools need a checkout of kafka_py: there is no {coordinates}")
    _java("java")
    digest = hashlib.sha256(coordinates.read_bytes()).hexdigest()[:16]
    target = cache_directory() / f"{name}-{digest}"
    if target.exists():
        return Jars(target)
    mvn = shutil.which("mvn")
    if mvn is None:
        raise Unavailable("Apache's tools need mvn")
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _fetch(mvn, coordinates, target)
    return Jars(target)


def _fetch(mvn: str, coordinates: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        command = [mvn, "-q", "-B", "-f", str(coordinates), "dependency:copy-dependencies",
                   "-DincludeScope=runtime", f"-DoutputDirectory={work}/jars"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            why = f"{done.stdout[-3000:]}{done.stderr[-1000:]}"
            raise Unavailable(f"Apache's tools could not be fetched by mvn:\n{why}")
        _move(Path(work) / "jars", target)


def _move(made: Path, target: Path) -> None:
    """Puts a finished folder in its place; whoever was first wins."""
    target.parent.mkdir(exist_ok=True)
    try:
        made.rename(target)
    except OSError:
        if not target.exists():
            raise


def _java(name: str) -> str:
    """The path of java or javac. Raises Unavailable."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=f"{home}/bin") if home else None
    found = found or shutil.which(name)
    if found is None:
        raise Unavailable(f"Apache's tools need {name}")
    return found
