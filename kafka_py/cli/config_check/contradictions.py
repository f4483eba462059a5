"""Values that Apache Kafka 2.8.2 accepts as well, but that do not do together what each of them says.

A row is looked at only if the file sets one of its settings: defaults are nobody's mistake.
Source: docs/reference/configs.tsv; KIP-74 (a batch that is larger than a fetch is sent all the same, so the sizes of
fetches are not here).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Contradiction(NamedTuple):
    """names: the settings it is about. is_met: whether the values contradict one another."""

    kind: str
    names: frozenset[str]
    is_met: Callable[[Any], bool]
    text: str


def _row(kind: str, names: str, is_met: Callable[[Any], bool], text: str) -> Contradiction:
    return Contradiction(kind, frozenset(names.split()), is_met, text)


CONTRADICTIONS = (
    _row("server", "min.insync.replicas default.replication.factor",
         lambda config: config.min_insync_replicas > config.default_replication_factor,
         "min.insync.replicas is above default.replication.factor: topics that brokers create refuse acks=all"),
    _row("server", "transaction.state.log.min.isr transaction.state.log.replication.factor",
         lambda config: config.transaction_state_log_min_isr > config.transaction_state_log_replication_factor,
         "transaction.state.log.min.isr is above transaction.state.log.replication.factor: no transaction can begin"),
    _row("server", "log.dir log.dirs", lambda config: config.log_dirs is not None and "log.dir" in config.originals,
         "log.dir is ignored, for log.dirs is set"),
    _row("server", "message.max.bytes socket.request.max.bytes",
         lambda config: config.message_max_bytes > config.socket_request_max_bytes,
         "message.max.bytes is above socket.request.max.bytes: larger batches cannot be sent"),
    _row("server", "delegation.token.master.key delegation.token.secret.key",
         lambda config: bool(config.delegation_token_master_key) and config.delegation_token_secret_key is not None,
         "delegation.token.master.key is ignored, for delegation.token.secret.key is set"),
    _row("server", "zookeeper.ssl.client.enable zookeeper.ssl.keystore.location zookeeper.ssl.truststore.location",
         lambda config: not config.zookeeper_ssl_client_enable
         and bool(config.zookeeper_ssl_keystore_location or config.zookeeper_ssl_truststore_location),
         "stores for ZooKeeper are given, but zookeeper.ssl.client.enable is not true: connections to it are plain"),
    _row("server", "replica.lag.time.max.ms replica.fetch.wait.max.ms",
         lambda config: config.replica_lag_time_max_ms <= config.replica_fetch_wait_max_ms,
         "replica.lag.time.max.ms is not above replica.fetch.wait.max.ms: followers of idle topics fall out of sync"),
    _row("server", "group.min.session.timeout.ms group.max.session.timeout.ms",
         lambda config: config.group_min_session_timeout_ms > config.group_max_session_timeout_ms,
         "group.min.session.timeout.ms is above group.max.session.timeout.ms: no consumer can join a group"),
    _row("server", "log.retention.bytes log.segment.bytes",
         lambda config: 0 <= config.log_retention_bytes < config.log_segment_bytes,
         "log.retention.bytes is below log.segment.bytes: the active segment is kept whatever its size"),
    _row("consumer", "fetch.min.bytes fetch.max.bytes", lambda config: config.fetch_min_bytes > config.fetch_max_bytes,
         "fetch.min.bytes is above fetch.max.bytes: each fetch waits for fetch.max.wait.ms"),
    _row("consumer", "session.timeout.ms max.poll.interval.ms",
         lambda config: config.session_timeout_ms > config.max_poll_interval_ms,
         "session.timeout.ms is above max.poll.interval.ms: a consumer that hangs is noticed by the latter first"),
    _row("producer", "batch.size buffer.memory", lambda config: config.batch_size > config.buffer_memory,
         "batch.size is above buffer.memory: no batch can be allocated"),
    _row("producer", "max.request.size buffer.memory", lambda config: config.max_request_size > config.buffer_memory,
         "max.request.size is above buffer.memory: the largest requests cannot be collected"),
)  # fmt: skip
