"""A broker's loggers under Apache Kafka's names, which operators and tools know.

`CLASSIC` is the table: one of our modules or packages -> the logger of Apache Kafka 2.8.2 whose level and files it
follows. `link` makes our loggers children of those, so that levels are inherited; only a broker calls it. `set_level`
and `unset_level` change levels while the broker runs (KIP-412). Knows no files and no formats.
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
"""The levels that may be set at run time, by their log4j names, from least to most verbose."""

ROOT = "root"
REQUESTS = "kafka.request.logger"

_TRANSACTIONS = "kafka.coordinator.transaction"

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
    "kafka_py.coordinator.groups.offset_keeper": "kafka.coordinator.group.GroupMetadataManager",
    "kafka_py.coordinator.transactions": f"{_TRANSACTIONS}.TransactionCoordinator",
    "kafka_py.coordinator.transactions.marker_channels": f"{_TRANSACTIONS}.TransactionMarkerChannelManager",
    "kafka_py.coordinator.transactions.replay": f"{_TRANSACTIONS}.TransactionStateManager",
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
"""A row of a package applies to its modules without a row."""

WITHOUT_MODULE = ("kafka.authorizer.logger", "kafka.log.LogCleaner", REQUESTS, state_changes.NAME)
"""Loggers of Apache Kafka that exist from the start, because tools request them by name."""

PREFIXES = {
    "kafka.controller": "[Controller id={}] ",
    "kafka.coordinator.group.GroupCoordinator": "[GroupCoordinator {}]: ",
    "kafka.coordinator.group.GroupMetadataManager": "[GroupMetadataManager brokerId={}] ",
    f"{_TRANSACTIONS}.TransactionCoordinator": "[TransactionCoordinator id={}] ",
    f"{_TRANSACTIONS}.TransactionMarkerChannelManager": "[Transaction Marker Channel Manager {}]: ",
    f"{_TRANSACTIONS}.TransactionStateManager": "[Transaction State Manager {}]: ",
    "kafka.server.ReplicaManager": "[ReplicaManager broker={}] ",
}
"""Prefixes of these loggers' lines, with the broker id; a name includes the loggers below it."""


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
    """Prefix of the lines of Apache Kafka's logger `name`; `{}` is the broker id. Empty for most."""
    return next((text for root, text in PREFIXES.items() if name == root or name.startswith(root + ".")), "")


def link() -> None:
    """Makes our loggers children of Apache Kafka's. A broker calls it before levels are set; may be repeated."""
    logging.addLevelName(TRACE, "TRACE")
    for name in CLASSIC:  # all of them first: a logger created later would become the parent of its children
        logging.getLogger(name)
    for name, classic in CLASSIC.items():
        logging.getLogger(name).parent = logging.getLogger(classic)
    for name in WITHOUT_MODULE:
        logging.getLogger(name)
    logging.getLogger().setLevel(logging.getLogger().level)  # setting any level clears the cached levels of all loggers


def _is_linked(name: str) -> bool:
    parent = logging.getLogger(name).parent
    return parent is not None and parent.name == classic_name(name) != name


def _visible() -> Iterator[str]:
    """The loggers that can be listed and changed; ours are hidden."""
    known = logging.root.manager.loggerDict
    for name in sorted(known):
        if isinstance(known[name], logging.Logger):
            ours = name.partition(".")[0]
            if ours not in CLASSIC or not _is_linked(ours):
                yield name


def levels() -> dict[str, str]:
    """Every logger with its effective level, `root` first."""
    shown = {ROOT: _level_name(logging.root.level)}
    shown.update((name, _level_name(logging.getLogger(name).getEffectiveLevel())) for name in _visible())
    return shown


def _level_name(level: int) -> str:
    """The log4j name of the least verbose level that includes `level`."""
    return next((name for name, least in LEVELS.items() if level >= least), "TRACE")


def check_level(name: str, level: str | None) -> None:
    """Checks whether the level may be set for the logger. Raises ConfigError."""
    if name != ROOT and name not in set(_visible()):
        raise ConfigError(f"Logger {name} does not exist!")
    if level not in LEVELS:
        raise ConfigError(
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(LEVELS))}"
        )


def check_unset(name: str) -> None:
    """Checks whether the logger's level may be removed. Raises ConfigError; KafkaError(INVALID_REQUEST) for root."""
    if name == ROOT:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
    if name not in set(_visible()):
        raise ConfigError(f"Logger {name} does not exist!")


def set_level(name: str, level: str) -> None:
    """Sets the level of a logger and of those below it without a level, after check_level."""
    logging.getLogger(None if name == ROOT else name).setLevel(LEVELS[level])


def unset_level(name: str) -> None:
    """Removes the level of a logger, which then inherits it."""
    logging.getLogger(name).setLevel(logging.NOTSET)
