"""Apache Kafka itself as a peer in tests and benchmarks: broker, tools, Streams and Connect of 2.8.2, newer clients.

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
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self, Unpack

from kafka_py.cli.common.user_folders import cache_directory
from kafka_py.cli.java_compat.class_archive import ClassArchive
from kafka_py.testing.broker import AnyBroker, BrokerOptions
from kafka_py.testing.processes import ROOT, NotReady
from kafka_py.testing.topics import ask_metadata

COORDINATES = ROOT / "tests" / "compat" / "java"

QUICK_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Starts fast and stays small: for tests."""

CLASSIC_JVM = (
    "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true",
)  # fmt: skip
"""What Apache Kafka's start script gives a broker: for benchmarks."""

CLASSIC_TOOL_JVM = ("-Xmx512M", *CLASSIC_JVM[2:])
"""What Apache Kafka's scripts give the performance tests. QUICK_JVM is without the compiler that uses the processor's
instructions for cryptography and checksums."""

RUN_TIMEOUT_S = 60

LEAST_CLEANER_BYTES = "2000000"
"""log.cleaner.dedupe.buffer.size: the least that Apache's broker accepts."""

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


def _run(command: Sequence[str], stdin: str, timeout_s: float) -> Result:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


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
        archive = ClassArchive(self.directory / "archives" / f"{archive_name}.jsa", Path(_java("java")))
        jvm = (*QUICK_JVM, "-Xlog:disable", "-Xlog:all=off", *archive.begin())
        result = _run(self.command(main_class, *arguments, jvm=jvm, program=program), stdin, timeout_s)
        archive.finish()
        return result

    def run_fast(self, main_class: str, *arguments: str, timeout_s: float = RUN_TIMEOUT_S) -> Result:
        """Runs a tool to its end as Apache Kafka's scripts do: starts slowly, for benchmarks."""
        jvm = (*CLASSIC_TOOL_JVM, "-Xlog:disable", "-Xlog:all=off")
        return _run(self.command(main_class, *arguments, jvm=jvm), "", timeout_s)

    def run_source(self, source: str, *arguments: str, stdin: str = "", timeout_s: float = RUN_TIMEOUT_S) -> Result:
        """Compiles, if need be, and runs a program of tests/compat/java, named without its suffix."""
        return self.run(source, *arguments, stdin=stdin, timeout_s=timeout_s, program=str(self._compiled(source)))

    def source_command(self, source: str, *arguments: str) -> list[str]:
        """The command line of such a program, compiled: for one that is to run beside the test."""
        return self.command(source, *arguments, program=str(self._compiled(source)))

    def _compiled(self, source: str) -> Path:
        """The jar of a program, made again when its source has changed."""
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


def old_kafka(version: str = "0.10.2.2") -> Jars:
    """The broker of an old Apache Kafka. Raises Unavailable.

    0.10.2.2 is the last release that writes formats 0 and 1 alone; 1.1.1 moves replicas between log directories, and
    takes reassignments through ZooKeeper only.
    """
    return _resolved(f"apache-{version}")


def newest_clients() -> Jars:
    """The newest Java clients. Raises Unavailable."""
    return _resolved("newest-clients")


def old_clients(version: str) -> Jars:
    """The Java clients of an old release; of 0.8 with the Scala consumers. Raises Unavailable."""
    return _resolved("oldest-clients" if version.startswith("0.8.") else "old-clients", version)


def kafka_streams() -> Jars:
    """Kafka Streams of 2.8.2. Raises Unavailable."""
    return _resolved("streams-2.8.2")


def kafka_connect() -> Jars:
    """Kafka Connect of 2.8.2, with the connectors for files. Raises Unavailable."""
    return _resolved("connect-2.8.2")


def later_tools() -> Jars:
    """Tools that came after 2.8.2. Raises Unavailable."""
    return _resolved("tools-3.9.1")


_CONNECTION_MS = "18000"
"""It bounds several steps of a start. By default it is the session time-out, which tests make short."""
_STILL_REGISTERED = "node already exists and owner"
"""In the log of a broker of 2.8.2 that ends because another session holds its id."""


class ApacheBroker(AnyBroker):
    """A broker of Apache Kafka 2.8.2, the counterpart of BrokerProcess. Raises Unavailable."""

    def __init__(
        self,
        folder: Path,
        zookeeper_connect: str,
        *,
        jvm: Sequence[str] = QUICK_JVM,
        **options: Unpack[BrokerOptions],
    ) -> None:
        program = apache_kafka().command("kafka.Kafka", jvm=jvm, log_level="INFO")
        settings = {
            "log.cleaner.dedupe.buffer.size": LEAST_CLEANER_BYTES,
            "zookeeper.connection.timeout.ms": _CONNECTION_MS,
        }
        super().__init__(program, folder, zookeeper_connect, settings, options)

    def start(self, timeout_s: float = 60) -> Self:
        """Starts it and waits until it serves; again if it ended because its killed predecessor's session still lives.

        Raises NotReady with the end of its log.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                return super().start(timeout_s)
            except NotReady:
                if self.running or _STILL_REGISTERED not in self.output() or time.monotonic() > deadline:
                    raise

    def wait_started(self, timeout_s: float = 60) -> Self:
        """Waits until it has started and knows the cluster. Raises NotReady."""
        super().wait_started(timeout_s)
        self.wait_for(self._knows_the_cluster, timeout_s, "the cluster's metadata")
        return self

    def _knows_the_cluster(self) -> bool:
        answer = ask_metadata(self.bootstrap, connect=self.connect)
        return answer.controller_id >= 0 and self.broker_id in [broker.node_id for broker in answer.brokers]


def _resolved(name: str, version: str = "") -> Jars:
    """The jars that tests/compat/java/<name>.xml names, fetched by mvn on first use; version: its kafka.version."""
    coordinates = COORDINATES / f"{name}.xml"
    if not coordinates.exists():
        raise Unavailable(f"Apache's tools need a checkout of kafka_py: there is no {coordinates}")
    for program in ("java", "javac"):
        _java(program)
    digest = hashlib.sha256(coordinates.read_bytes()).hexdigest()[:16]
    target = cache_directory() / f"{name}{f'-{version}' if version else ''}-{digest}"
    if target.exists():
        return Jars(target)
    mvn = shutil.which("mvn")
    if mvn is None:
        raise Unavailable("Apache's tools need mvn")
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _fetch(mvn, coordinates, target, (f"-Dkafka.version={version}",) if version else ())
    return Jars(target)


def _fetch(mvn: str, coordinates: Path, target: Path, more: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        command = [mvn, "-q", "-B", *more, "-f", str(coordinates), "dependency:copy-dependencies",
                   "-DincludeScope=runtime", f"-DoutputDirectory={work}/jars"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise RuntimeError(f"mvn could not fetch Apache's tools:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
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
