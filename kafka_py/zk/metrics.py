"""Metrics of a broker's ZooKeeper session.

Source: docs/reference/metrics.tsv (SessionExpireListener, ZooKeeperClientMetrics).
"""

from __future__ import annotations

from kafka_py.base.meters import MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Distribution, Gauge, Rate
from kafka_py.zk.session import SessionState, ZkSession

STATE_NAMES = {
    SessionState.CONNECTING: "CONNECTING",
    SessionState.CONNECTED: "CONNECTED",
    SessionState.SUSPENDED: "CONNECTING",
    SessionState.EXPIRED: "CLOSED",
    SessionState.AUTH_FAILED: "AUTH_FAILED",
    SessionState.CLOSED: "CLOSED",
}
"""The Java client's names of our session states."""


class ZkSessionMetrics(MetricTable, group="kafka.server:type=SessionExpireListener"):
    """State changes of the session, which is the owner."""

    state = Gauge("SessionState", of=lambda session: STATE_NAMES[session.state], about="The client's state.")
    connects = Rate("ZooKeeperSyncConnectsPerSec", unit="syncconnects", about="Connections made.")
    disconnects = Rate("ZooKeeperDisconnectsPerSec", unit="disconnects", about="Connections lost.")
    expires = Rate("ZooKeeperExpiresPerSec", unit="expires", about="Sessions expired.")
    auth_failures = Rate("ZooKeeperAuthFailuresPerSec", unit="authfailures", about="Authentications refused.")
    read_only_connects = Rate(
        "ZooKeeperReadOnlyConnectsPerSec", unit="readonlyconnects", about="Connections to read-only servers: never."
    )
    sasl_logins = Rate("ZooKeeperSaslAuthenticationsPerSec", unit="saslauthentications", about="SASL logins done.")


class ZkClientMetrics(MetricTable, group="kafka.server:type=ZooKeeperClientMetrics"):
    """Latency of the session's requests."""

    latency = Distribution("ZooKeeperRequestLatencyMs", unit="ms", about="Time from a request to its response.")


def measure(session: ZkSession, registry: MetricRegistry) -> None:
    """Registers the session's metrics. To be called before `connect`."""
    metrics, client = ZkSessionMetrics(registry, session), ZkClientMetrics(registry, session)

    def count(state: SessionState) -> None:
        match state:
            case SessionState.CONNECTED:
                metrics.connects += 1
            case SessionState.SUSPENDED:
                metrics.disconnects += 1
            case SessionState.EXPIRED:
                metrics.expires += 1
            case SessionState.AUTH_FAILED:
                metrics.auth_failures += 1

    def count_login() -> None:
        metrics.sasl_logins += 1

    session.add_listener(count)
    session.report_logins(count_login)
    session.report_latency(client.latency.update)
