"""A broker's loggers under the names that operators and other people's tools know from Apache Kafka.

`CLASSIC` is the table: one of our modules or packages -> the logger of Apache Kafka 2.8.2 whose level and files it
follows. `link` hangs our loggers under theirs, so levels are inherited by those names; a process that is no broker does
not call it. `set_level` and `unset_level` change levels while the broker runs (KIP-412). Knows no files and no formats.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from kafka_py.base import state_changes
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError

TRACE = 5
OFF = logging.CRITICAL + 50

LEVELS = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": TRACE,
}
"""The levels that may be set at run time, by their log4j names; the loudest comes last."""

ROOT = "root"
REQUESTS = "kafka.request.logger"

CLASSIC = {
    "kafka_py": "kafka",
    "kafka_py.base.purgatory": "kafka.server.DelayedOperationPurgatory",
    "kafka_py.base.timers": "kafka.utils.timer.SystemTimer",
    "kafka_py.broker": "kafka.server.KafkaServer",
    "kafka_py.broker.settings.config_changes": "kafka.server.DynamicConfigManager",
    "kafka_py.broker.requests.config_writes": "kafka.server.ZkAdminManager",
    "kafka_py.broker.requests.dispatch": "kafka.server.KafkaApis",
    "kafka_py.broker.handlers": "kafka.server.KafkaApis",
    "kafka_py.broker.settings.live_config": "kafka.server.DynamicBrokerConfig",
    "kafka_py.broker.registration": "kafka.zk.KafkaZkClient",
    "kafka_py.broker.settings.topic_configs": "kafka.server.TopicConfigHandler",
    "kafka_py.controller": "kafka.controller.KafkaController",
    "kafka_py.controller.channels": "kafka.controller.RequestSendThread",
    "kafka_py.controller.decisions.deletion": "kafka.controller.TopicDeletionManager",
    "kafka_py.controller.decisions.partition_moves": "kafka.controller.ZkPartitionStateMachine",
    "kafka_py.controller.decisions.replica_moves": "kafka.controller.ZkReplicaStateMachine",
    "kafka_py.coordinator": "kafka.coordinator.group.GroupMetadataManager",
    "kafka_py.coordinator.groups": "kafka.coordinator.group.GroupCoordinator",
    "kafka_py.coordinator.groups.replay": "kafka.coordinator.group.GroupMetadataManager",
    "kafka_py.coordinator.groups.metadata_store": "kafka.coordinator.group.GroupMetadataManager",
    "kafka_py.log": "kafka.log.Log",
    "kafka_py.log.disk.background": "kafka.log.LogManager",
    "kafka_py.log.loading.closing": "kafka.log.LogManager",
    "kafka_py.log.loading.leftovers": "kafka.log.LogManager",
    "kafka_py.log.loading.loading": "kafka.log.LogManager",
    "kafka_py.log.loading.log_dir": "kafka.log.LogManager",
    "kafka_py.log.log_manager": "kafka.log.LogManager",
    "kafka_py.net": "kafka.network.SocketServer",
    "kafka_py.net.client": "org.apache.kafka.clients.NetworkClient",
    "kafka_py.net.connection": "kafka.network.Processor",
    "kafka_py.net.listener": "kafka.network.Acceptor",
    "kafka_py.replication": "kafka.server.ReplicaManager",
    "kafka_py.zk": "kafka.zookeeper.ZooKeeperClient",
    "kafka_py.zk.admin": "kafka.zk.AdminZkClient",
    "kafka_py.zk.election": "kafka.zk.KafkaZkClient",
    "kafka_py.zk.entity_configs": "kafka.zk.AdminZkClient",
    "kafka_py.zk.notifications": "kafka.common.ZkNodeChangeNotificationListener",
    "kafka_py.zk.partitions": "kafka.zk.KafkaZkClient",
    "kazoo": "org.apache.zookeeper.ClientCnxn",
}
"""A row for a package holds for its modules that have none of their own."""

WITHOUT_MODULE = ("kafka.authorizer.logger", "kafka.log.LogCleaner", REQUESTS, state_changes.NAME)
"""Loggers of Apache Kafka that are asked for by these names, and so exist from the start."""

PREFIXES = {
    "kafka.controller": "[Controller id={}] ",
    "kafka.coordinator.group.GroupCoordinator": "[GroupCoordinator {}]: ",
    "kafka.coordinator.group.GroupMetadataManager": "[GroupMetadataManager brokerId={}] ",
    "kafka.server.ReplicaManager": "[ReplicaManager broker={}] ",
}
"""How the lines of these loggers begin, with the broker's id; a name stands for those below it too."""


def classic_name(name: str) -> str:
    """The name of a logger in Apache Kafka: its row, or that of the nearest package above it; else the name itself."""
    place = name
    while place:
        found = CLASSIC.get(place)
        if found is not None:
            return found
        place = place.rpartition(".")[0]
    return name


def prefix_of(name: str) -> str:
    """How a line of the logger `name` of Apache Kafka begins; `{}` is the broker's id. Empty for most."""
    return next((text for root, text in PREFIXES.items() if name == root or name.startswith(root + ".")), "")


def link() -> None:
    """Hangs our loggers under those of Apache Kafka. Called by a broker before levels are set; may be repeated."""
    logging.addLevelName(TRACE, "TRACE")
    for name in CLASSIC:  # all of them first: a logger made later would take the place of its children's parents
        logging.getLogger(name)
    for name, classic in CLASSIC.items():
        logging.getLogger(name).parent = logging.getLogger(classic)
    for name in WITHOUT_MODULE:
        logging.getLogger(name)
    logging.getLogger().setLevel(logging.getLogger().level)  # setting any level makes loggers look at theirs again


def _is_linked(name: str) -> bool:
    parent = logging.getLogger(name).parent
    return parent is not None and parent.name == classic_name(name) != name


def _visible() -> Iterator[str]:
    """The loggers that can be seen and changed; ours stand behind theirs."""
    known = logging.root.manager.loggerDict
    for name in sorted(known):
        if isinstance(known[name], logging.Logger):
            ours = name.partition(".")[0]
            if ours not in CLASSIC or not _is_linked(ours):
                yield name


def levels() -> dict[str, str]:
    """Every logger with the level in force, `root` first."""
    shown = {ROOT: _level_name(logging.root.level)}
    shown.update((name, _level_name(logging.getLogger(name).getEffectiveLevel())) for name in _visible())
    return shown


def _level_name(level: int) -> str:
    """The log4j name of the quietest level that lets through what `level` does."""
    return next((name for name, least in LEVELS.items() if level >= least), "TRACE")


def check_level(name: str, level: str | None) -> None:
    """Whether that level may be set for that logger. Raises ConfigError."""
    if name != ROOT and name not in set(_visible()):
        raise ConfigError(f"Logger {name} does not exist!")
    if level not in LEVELS:
        raise ConfigError(
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(LEVELS))}"
        )


def check_unset(name: str) -> None:
    """Whether the logger may lose the level of its own. Raises ConfigError; KafkaError(INVALID_REQUEST) for root."""
    if name == ROOT:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
    if name not in set(_visible()):
        raise ConfigError(f"Logger {name} does not exist!")


def set_level(name: str, level: str) -> None:
    """From now on the logger, and those below it without a level of their own, have this level. Checked before."""
    logging.getLogger(None if name == ROOT else name).setLevel(LEVELS[level])


def unset_level(name: str) -> None:
    """From now on the logger has the level of the one above it."""
    logging.getLogger(name).setLevel(logging.NOTSET)
