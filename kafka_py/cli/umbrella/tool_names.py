"""The names of the tools: those of Apache Kafka's scripts, and the short ones that `kafka-py` takes.

An installed kafka_py has every script on the PATH: [project.scripts] in pyproject.toml names the functions here, and
bin/ has the same for a checkout. Servers replace the process by `python -m kafka_py.cli.run_class ...`, by which the
stop scripts find them. Source: docs/reference/tools.md, sections 1 and 22.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

RUN_CLASS = "kafka_py.cli.run_class"
BROKER_CLASS = "kafka.Kafka"
ZOOKEEPER_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


class Tool(NamedTuple):
    """module: below kafka_py, with `cli()`. about: a few words. connection: None for a tool without a cluster."""

    module: str
    about: str
    connection: ToolConnection | None = None


class ToolConnection(NamedTuple):
    """How a tool is told its cluster. servers, config: its options for servers and for a file of settings, "" for none.

    instead: options with which none are needed. place: how many words come before any options. is_bare: without any
    words it does not only explain itself.
    """

    config: str = "--command-config"
    servers: str = "--bootstrap-server"
    instead: frozenset[str] = frozenset()
    place: int = 0
    is_bare: bool = False


_ADMIN = ToolConnection()
_ADMIN_OR_ZOOKEEPER = ToolConnection(instead=frozenset({"--zookeeper"}))
_PRODUCER = ToolConnection("--producer.config", instead=frozenset({"--broker-list"}))
_CONSUMER = ToolConnection("--consumer.config", instead=frozenset({"--broker-list"}))

TOOLS = {
    "topics": Tool("cli.topics", "makes, lists, describes, changes and deletes topics", _ADMIN_OR_ZOOKEEPER),
    "configs": Tool("cli.configs", "settings of topics, brokers, users and clients", _ADMIN_OR_ZOOKEEPER),
    "acls": Tool(
        "cli.acl_admin.acls", "access control lists", ToolConnection(instead=frozenset({"--authorizer-properties"}))
    ),
    "delegation-tokens": Tool("cli.token_admin.delegation_tokens", "tokens for programs that log in as a user", _ADMIN),
    "make-certificates": Tool("cli.certificates.make_certificates", "certificates for development"),
    "console-producer": Tool("cli.console_producer", "sends lines of standard input", _PRODUCER),
    "console-consumer": Tool("cli.console_consumer", "prints records", _CONSUMER),
    "consumer-groups": Tool("cli.consumer_groups", "consumer groups, their lag and offsets", _ADMIN),
    "reassign-partitions": Tool("cli.reassign_partitions", "moves replicas between brokers", _ADMIN_OR_ZOOKEEPER),
    "leader-election": Tool("cli.leader_election", "elects leaders", ToolConnection("--admin.config")),
    "preferred-replica-election": Tool(
        "cli.preferred_replica_election", "elects preferred leaders",
        ToolConnection("--admin.config", instead=frozenset({"--zookeeper"})),
    ),
    "log-dirs": Tool("cli.log_dirs", "sizes of replicas by directory", _ADMIN),
    "dump-log": Tool("cli.dump_log", "what is in the files of a log"),
    "delete-records": Tool("cli.delete_records", "deletes records below an offset", _ADMIN),
    "get-offsets": Tool(
        "cli.get_offsets", "first and last offsets of partitions", ToolConnection(instead=frozenset({"--broker-list"}))
    ),
    "broker-api-versions": Tool(
        "cli.broker_api_versions", "which requests the brokers know", ToolConnection(is_bare=True)
    ),
    "cluster": Tool("cli.cluster", "the cluster's id", ToolConnection("--config", place=1)),
    "transactions": Tool("cli.transactions", "running and hanging transactions", _ADMIN),
    "streams-application-reset": Tool(
        "cli.streams_application_reset", "resets a Streams application",
        ToolConnection("--config-file", "--bootstrap-servers"),
    ),
    "state-change-log-merger": Tool("cli.state_change_log_merger", "joins the state change logs of brokers"),
    "replica-verification": Tool(
        "cli.verification.replica_verification", "compares replicas", ToolConnection("", "--broker-list")
    ),
    "verifiable-producer": Tool("cli.verification.verifiable_producer", "sends numbers, reports as JSON", _PRODUCER),
    "verifiable-consumer": Tool("cli.verification.verifiable_consumer", "reads and reports as JSON", _CONSUMER),
    "producer-perf-test": Tool(
        "cli.perf.producer_perf_test", "measures writing",
        ToolConnection("--producer.config", "", frozenset({"--producer-props"})),
    ),
    "consumer-perf-test": Tool("cli.perf.consumer_perf_test", "measures reading", _CONSUMER),
    "manager": Tool(
        "cli.umbrella.web", "serves the web manager", ToolConnection(instead=frozenset({"--settings", "--add-user"}))
    ),
    "pipeline": Tool("pipeline.jobs.run", "runs a pipeline on Spark"),
    "run-class": Tool("cli.umbrella.tool_names", "runs a command by Apache Kafka's class name"),
    "server-start": Tool("cli.umbrella.tool_names", "runs one broker"),
    "server-stop": Tool("cli.server_stop", "stops every broker of this machine"),
    "zookeeper-server-start": Tool("cli.umbrella.tool_names", "runs a ZooKeeper server"),
    "zookeeper-server-stop": Tool("cli.zookeeper_server_stop", "stops every ZooKeeper of this machine"),
    "zookeeper-shell": Tool("cli.zookeeper_shell", "a shell on ZooKeeper"),
    "zookeeper-security-migration": Tool(
        "cli.acl_admin.zookeeper_security_migration", "access lists of a cluster's znodes"
    ),
}
"""By short name: the script's without `kafka-` and `.sh`."""


def script_of(short: str) -> str:
    """The name of the script: `kafka-topics.sh` of `topics`."""
    return f"{short}.sh" if short.startswith("zookeeper-") else f"kafka-{short}.sh"


def entry_of(short: str) -> Callable[[], None]:
    """The function that runs the tool as a process, with the arguments of sys.argv. Raises KeyError."""
    module = TOOLS[short].module
    if module == "cli.umbrella.tool_names":
        return _OWN_ENTRIES[short]
    entry: Callable[[], None] = importlib.import_module(f"kafka_py.{module}").cli
    return entry


# ---- scripts that replace the process


def run_class() -> NoReturn:
    """kafka-run-class.sh [-daemon] [-name NAME] [-loggc] CLASS ..."""
    is_daemon, name, rest = _leading(sys.argv[1:])
    _become(rest, is_daemon=is_daemon, name=name)


def server_start() -> NoReturn:
    """kafka-server-start.sh [-daemon] server.properties ..."""
    is_daemon, _, rest = _leading(sys.argv[1:])
    logging_config = Path(__file__).parents[1] / "java_compat" / "broker-log4j.properties"
    os.environ.setdefault("KAFKA_LOG4J_OPTS", f"-Dlog4j.configuration='file:{logging_config}'")
    _become([BROKER_CLASS, *rest], is_daemon=is_daemon, name="kafkaServer")


def zookeeper_server_start() -> NoReturn:
    """zookeeper-server-start.sh [-daemon] zookeeper.properties"""
    is_daemon, _, rest = _leading(sys.argv[1:])
    _become([ZOOKEEPER_CLASS, *rest], is_daemon=is_daemon, name="zookeeper")


def _leading(words: Sequence[str]) -> tuple[bool, str, list[str]]:
    """The options of kafka-run-class.sh before the class: whether -daemon, the -name, and the rest."""
    is_daemon, name, rest = False, "kafka", list(words)
    while rest and rest[0] in ("-daemon", "-name", "-loggc"):
        word = rest.pop(0)
        is_daemon = is_daemon or word == "-daemon"
        if word == "-name":
            name = rest.pop(0) if rest else name
    return is_daemon, name, rest


def _become(words: Sequence[str], *, is_daemon: bool, name: str) -> NoReturn:
    """Replaces this process by the command, or with is_daemon by nothing: the command runs on in the background."""
    command = [sys.executable, "-P", "-m", RUN_CLASS, *words]
    sys.stdout.flush()
    if is_daemon:
        _start_daemon(command, name)
        sys.exit(0)
    os.execv(command[0], command)


def _start_daemon(command: Sequence[str], name: str) -> None:
    """Starts it in a session of its own; its console goes to $LOG_DIR/<name>.out, where its log files are as well."""
    from kafka_py.cli.common.detached import start_detached

    folder = Path(os.environ.setdefault("LOG_DIR", str(Path.cwd() / "logs")))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.out").open("ab") as out:
        start_detached(command, out)


_OWN_ENTRIES: dict[str, Callable[[], None]] = {
    "run-class": run_class,
    "server-start": server_start,
    "zookeeper-server-start": zookeeper_server_start,
}
