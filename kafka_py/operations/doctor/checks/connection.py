"""The bootstrap servers: names, ports, TLS, logins, and whether all belong to one cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafka_py.operations.doctor.examination import Examination, Reached, ReachFault, ReachStep
from kafka_py.operations.doctor.findings import DoctorFinding, Severity

Explained = tuple[str, str, str, str]
"""id, what, why, repair."""


def bootstrap_servers(seen: Examination) -> Iterator[DoctorFinding]:
    """What is wrong with the way to each bootstrap server; grave if it is so with all of them."""
    works = any(reached.failed is None for reached in seen.bootstrap)
    for reached in seen.bootstrap:
        if reached.failed is not None:
            found, what, why, repair = explain(reached, seen.protocol)
            severity = Severity.WARNING if works else Severity.ERROR
            yield DoctorFinding(found, severity, what, why, repair, evidence_of(reached))


def evidence_of(reached: Reached) -> tuple[str, ...]:
    """What was seen on the way to an address."""
    lines = [f"{reached.where}: {reached.detail}"]
    if reached.addresses and reached.addresses != (reached.host,):
        lines.append(f"{reached.host} is {', '.join(reached.addresses)} from here")
    shown = reached.certificate
    if shown is not None:
        lines.append(f"certificate of {shown.subject}, issued by {shown.issuer}, for {', '.join(shown.names)}")
    return tuple(lines)


def explain(reached: Reached, protocol: str) -> Explained:
    """What a failed step means, and what repairs it."""
    assert reached.failed is not None
    if reached.fault is ReachFault.NO_ANSWER and reached.failed is not ReachStep.PORT:
        return _silent(reached)
    return _EXPLAIN[reached.failed](reached, protocol)


def _silent(reached: Reached) -> Explained:
    return (
        "no-answer",
        f"What listens at {reached.where} accepts connections, but does not answer.",
        "Clients wait for their whole request.timeout.ms before they try another broker.",
        "Look at the broker's process and log: it may be starting, stopped by a signal, out of memory or waiting for a "
        "disk. Where no broker is meant to be, use the port of a listener from `listeners` in server.properties.",
    )


def _name(reached: Reached, _protocol: str) -> Explained:
    return (
        "name-unknown",
        f"The name {reached.host} cannot be resolved here.",
        "A client needs the address of a server before it can connect.",
        f"Correct the name, or add {reached.host} to DNS or to /etc/hosts of this machine.",
    )


def _port(reached: Reached, _protocol: str) -> Explained:
    repair = {
        ReachFault.REFUSED: f"Start the broker, or correct the port: `listeners` in its server.properties has to name "
        f"port {reached.port} on an address that is reachable from here (not localhost).",
        ReachFault.NO_ANSWER: f"Open port {reached.port} in the firewalls and security groups between here and there, "
        "or correct the address.",
    }.get(reached.fault or ReachFault.UNREACHABLE, "Correct the address, or the routes of this machine.")
    return (
        "port-closed",
        f"No connection to {reached.where}: {reached.detail}.",
        "Nothing can be sent to this server.",
        repair,
    )


def _tls(reached: Reached, protocol: str) -> Explained:
    if reached.fault is ReachFault.TLS_EXPECTED:
        other = "SASL_SSL" if protocol.startswith("SASL_") else "SSL"
        return (
            "tls-expected",
            f"The listener at {reached.where} has TLS, and this client's security.protocol is {protocol}.",
            "The broker takes the client's first request for a broken handshake and closes the connection.",
            f"Set security.protocol={other} and ssl.truststore.location in the client's properties, or use the port of "
            "a listener without TLS.",
        )
    if reached.fault is ReachFault.NO_TLS_THERE:
        return (
            "tls-not-offered",
            f"The listener at {reached.where} has no TLS, and this client's security.protocol is {protocol}.",
            "The handshake fails before anything else can be tried.",
            f"Set security.protocol={'SASL_PLAINTEXT' if protocol.startswith('SASL_') else 'PLAINTEXT'}, or use the "
            "port of a listener with TLS (`listeners` and `listener.security.protocol.map` in server.properties).",
        )
    if reached.fault is ReachFault.CLIENT_CERTIFICATE:
        return (
            "tls-client-certificate",
            f"The broker at {reached.where} does not accept this client's certificate, or there is none.",
            "With ssl.client.auth=required a client without a certificate that the broker trusts is turned away.",
            "Set ssl.keystore.location and ssl.keystore.password to a certificate signed by an authority in the "
            "broker's truststore.",
        )
    return _certificate(reached)


def _certificate(reached: Reached) -> Explained:
    shown = reached.certificate
    if reached.fault is ReachFault.CERTIFICATE_NAME:
        names = ", ".join(shown.names) if shown else "other names"
        return (
            "tls-wrong-name",
            f"The certificate at {reached.where} is for {names}, not for {reached.host}.",
            "A client that checks names (ssl.endpoint.identification.algorithm=https, the default) refuses it: whoever "
            "answers could be somebody else.",
            f"Issue the broker a certificate with the subject alternative name {reached.host}, or use one of its names "
            "in bootstrap.servers and advertised.listeners.",
        )
    if reached.fault in (ReachFault.CERTIFICATE_EXPIRED, ReachFault.CERTIFICATE_TOO_NEW):
        is_old = reached.fault is ReachFault.CERTIFICATE_EXPIRED
        return (
            "tls-expired" if is_old else "tls-not-yet-valid",
            f"The certificate at {reached.where} {'has expired' if is_old else 'is not valid yet'}.",
            "No client that verifies certificates can connect.",
            "Issue a new certificate and put it into ssl.keystore.location of the broker; `kafka-configs.sh --alter "
            "--entity-type brokers --add-config listener.name.NAME.ssl.keystore.location=FILE` loads it at run time."
            if is_old else "Set the clocks of this machine and of whoever issues certificates right.",
        )  # fmt: skip
    if reached.fault is ReachFault.CERTIFICATE_UNTRUSTED:
        issuer = shown.issuer if shown else "its authority"
        return (
            "tls-untrusted",
            f"The certificate at {reached.where} was issued by {issuer}, which this client does not trust.",
            "A chain has to end at a certificate in the client's truststore.",
            "Add the authority to ssl.truststore.location of the client; if an intermediate authority signed it, the "
            "broker's keystore has to hold the whole chain.",
        )
    if reached.fault is ReachFault.NO_COMMON_TLS:
        return (
            "tls-nothing-in-common",
            f"The broker at {reached.where} and this client have no TLS version or cipher suite in common.",
            "The handshake ends before certificates are exchanged.",
            "Compare ssl.enabled.protocols and ssl.cipher.suites of both; TLSv1.2 and TLSv1.3 suit both.",
        )
    return (
        "tls-failed",
        f"The TLS handshake with {reached.where} fails: {reached.detail}.",
        "Nothing can be sent over a connection that is not secured.",
        "Compare the ssl settings of this listener and of the client.",
    )


def _login(reached: Reached, protocol: str) -> Explained:
    if reached.fault is ReachFault.LOGIN_EXPECTED:
        other = "SASL_SSL" if protocol == "SSL" else "SASL_PLAINTEXT"
        return (
            "login-expected",
            f"The listener at {reached.where} expects a login, and this client's security.protocol is {protocol}.",
            "The broker answers ApiVersions and closes the connection at the next request.",
            f"Set security.protocol={other}, sasl.mechanism and sasl.jaas.config in the client's properties.",
        )
    if reached.fault is ReachFault.LOGIN_MECHANISM:
        return (
            "login-mechanism",
            f"The listener at {reached.where} does not offer this client's sasl.mechanism.",
            "Both sides have to name the same mechanism.",
            "Set sasl.mechanism of the client to one that the broker names, or add it to sasl.enabled.mechanisms of "
            "the broker.",
        )
    if reached.fault is ReachFault.LOGIN_REFUSED:
        return (
            "login-refused",
            f"The broker at {reached.where} refuses this client's login.",
            "Name or password are wrong, or the user does not exist for this mechanism.",
            "Correct sasl.jaas.config; for SCRAM set the password again: `kafka-configs.sh --alter --entity-type users "
            "--entity-name NAME --add-config 'SCRAM-SHA-512=[password=...]'`.",
        )
    return (
        "login-failed",
        f"The login at {reached.where} does not get an answer.",
        "The listener may have no logins at all, or be no Kafka broker.",
        "Compare security.protocol with `listener.security.protocol.map` of the broker.",
    )


def _api(reached: Reached, _protocol: str) -> Explained:
    if reached.fault is ReachFault.TOO_OLD:
        return (
            "release-too-old",
            f"The broker at {reached.where} is older than Kafka 0.11: {reached.detail}.",
            "It has no idempotent producers, transactions or record headers, and present clients do not speak with it.",
            "Upgrade it: first to 2.8, one broker after the other, with the old inter.broker.protocol.version.",
        )
    return (
        "no-kafka",
        f"What answers at {reached.where} does not speak Kafka's protocol: {reached.detail}.",
        "Another service may have this port; a controller or ZooKeeper port is a common mistake.",
        "Use the port of a listener from `listeners` in server.properties (ZooKeeper's port, 2181, is none).",
    )


_EXPLAIN: dict[ReachStep, Callable[[Reached, str], Explained]] = {
    ReachStep.NAME: _name,
    ReachStep.PORT: _port,
    ReachStep.TLS: _tls,
    ReachStep.LOGIN: _login,
    ReachStep.API: _api,
}


def one_cluster(seen: Examination) -> Iterator[DoctorFinding]:
    """Bootstrap servers of several clusters."""
    ids: dict[str, list[str]] = {}
    for reached in seen.bootstrap:
        if reached.cluster_id is not None:
            ids.setdefault(reached.cluster_id, []).append(reached.where)
    if len(ids) > 1:
        yield DoctorFinding(
            "clusters-mixed",
            Severity.ERROR,
            f"The bootstrap servers belong to {len(ids)} clusters.",
            "A client ends up in one or the other by chance, and misses topics and groups.",
            "Name servers of one cluster only in bootstrap.servers; brokers that should form one cluster need the same "
            "zookeeper.connect, chroot included.",
            tuple(f"cluster {cluster}: {', '.join(servers)}" for cluster, servers in sorted(ids.items())),
        )
