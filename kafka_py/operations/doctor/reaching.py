"""Tries the way to one broker step by step, and says which step failed: name, port, TLS, login, requests.

The steps before the login are made over sockets of the doctor's own; login and requests go over the client's own kind
of connection. Source: docs/reference/security/tls.md, section 2; KIP-152; KIP-511.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import kafka_py
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.metadata import Node
from kafka_py.clients.security import security_of, tls_settings
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import AuthenticationFailed, ConnectionLost
from kafka_py.operations.doctor.examination import Reached, ReachFault, ReachStep
from kafka_py.operations.doctor.tls_probe import TlsProbe, speaks_tls
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.primitives import MalformedMessage

METADATA_OF_0_11 = 4
"""The first version in which a client can decline that topics are created by its asking."""
_PORT_FAULTS = {
    errno.ECONNREFUSED: (ReachFault.REFUSED, "the connection is refused: nothing listens on this port"),
    errno.ENETUNREACH: (ReachFault.UNREACHABLE, "no route to this network"),
    errno.EHOSTUNREACH: (ReachFault.UNREACHABLE, "no route to this host"),
    errno.ECONNRESET: (ReachFault.REFUSED, "the connection is reset at once"),
}


@dataclass(frozen=True, slots=True)
class Approach:
    """How to come to a broker: with whose settings, and how long a step may take."""

    options: AdminOptions
    environment: ClientEnvironment
    timeout_s: float = 5.0

    @property
    def has_tls(self) -> bool:
        return self.options.security_protocol.endswith("SSL")

    @property
    def has_login(self) -> bool:
        return self.options.security_protocol.startswith("SASL_")


async def reach(approach: Approach, host: str, port: int) -> Reached:
    """Goes as far as possible. Raises ConfigError for stores or credentials that cannot be used."""
    seen = Reached(host, port)
    addresses = await _resolved(host, port, approach.timeout_s)
    if isinstance(addresses, str):
        return seen._replace(failed=ReachStep.NAME, fault=ReachFault.UNKNOWN_NAME, detail=addresses)
    seen = seen._replace(addresses=tuple(addresses))
    connected = await _first_open(addresses, port, approach.timeout_s)
    if not isinstance(connected, str):
        fault, detail = connected
        return seen._replace(failed=ReachStep.PORT, fault=fault, detail=detail)
    if approach.has_tls:
        probe = TlsProbe(tls_settings(approach.options), approach.timeout_s)
        outcome = await asyncio.get_running_loop().run_in_executor(None, probe.handshake, host, connected, port)
        seen = seen._replace(certificate=outcome.certificate)
        if outcome.fault is not None:
            return seen._replace(failed=ReachStep.TLS, fault=outcome.fault, detail=outcome.detail)
    seen = await _ask(approach, seen)
    if seen.failed is ReachStep.API and seen.versions is None and not approach.has_tls:
        loop = asyncio.get_running_loop()
        if await loop.run_in_executor(None, speaks_tls, connected, port, approach.timeout_s):
            detail = "a TLS handshake is answered there"
            seen = seen._replace(failed=ReachStep.TLS, fault=ReachFault.TLS_EXPECTED, detail=detail)
    return seen


async def _resolved(host: str, port: int, timeout_s: float) -> list[str] | str:
    """The addresses of a name, or why there are none."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        return f"the name was not resolved within {timeout_s:.0f} s"
    except (OSError, UnicodeError) as error:
        return (error.strerror if isinstance(error, OSError) else None) or str(error)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def _first_open(addresses: Sequence[str], port: int, timeout_s: float) -> str | tuple[ReachFault, str]:
    """The first address at which something listens, or why none does."""
    failure = (ReachFault.NO_ANSWER, "no address")
    for address in addresses:
        try:
            async with asyncio.timeout(timeout_s):
                _, writer = await asyncio.open_connection(address, port)
        except TimeoutError:
            failure = (ReachFault.NO_ANSWER, f"{address} does not answer within {timeout_s:.0f} s (a firewall?)")
        except OSError as error:
            known = _PORT_FAULTS.get(error.errno or 0, (ReachFault.UNREACHABLE, error.strerror or str(error)))
            failure = (known[0], f"{address}: {known[1]}")
        else:
            writer.close()
            return address
    return failure


async def _ask(approach: Approach, seen: Reached) -> Reached:
    """Logs in and asks the broker for its versions and for its view of the cluster."""
    try:
        security = security_of(approach.options, approach.environment)
    except KafkaError as error:
        raise ConfigError(str(error)) from error
    try:
        connection = await BrokerConnection.connect(
            seen.host, seen.port, client_id="kafka-py-doctor", timeout_ms=approach.timeout_s * 1000, security=security
        )
    except ConnectionLost as error:
        return _not_connected(approach, seen, error)
    try:
        async with asyncio.timeout(approach.timeout_s):
            await connection.negotiate(kafka_py.__version__)
            seen = seen._replace(
                versions={int(key): VersionRange(*versions) for key, versions in connection.versions.items()}
            )
            newest = min(APIS[ApiKey.METADATA].max_version, connection.versions[ApiKey.METADATA][1])
            if newest < METADATA_OF_0_11:
                detail = f"its newest version of Metadata is {newest}"
                return seen._replace(failed=ReachStep.API, fault=ReachFault.TOO_OLD, detail=detail)
            request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
            return _seen_cluster(seen, await connection.send(request, newest))
    except (ConnectionLost, TimeoutError, KafkaError, MalformedMessage, KeyError) as error:
        return _no_response(approach, seen, error)
    finally:
        connection.close()


def _seen_cluster(seen: Reached, response: Any) -> Reached:
    nodes = tuple(Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers)
    return seen._replace(nodes=nodes, controller_id=response.controller_id, cluster_id=response.cluster_id)


_LOGIN_FAULTS = {
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: ReachFault.LOGIN_MECHANISM,
    ErrorCode.ILLEGAL_SASL_STATE: ReachFault.NOT_KAFKA,  # a listener without logins
}


def _not_connected(approach: Approach, seen: Reached, error: ConnectionLost) -> Reached:
    """Why TLS or login failed; TLS itself has worked before."""
    detail = str(error)
    cause = error.__cause__
    if isinstance(error, AuthenticationFailed) and isinstance(cause, KafkaError):
        fault = _LOGIN_FAULTS.get(cause.code, ReachFault.LOGIN_REFUSED)
        return seen._replace(failed=ReachStep.LOGIN, fault=fault, detail=detail)
    if _wants_client_certificate(detail):
        return seen._replace(failed=ReachStep.TLS, fault=ReachFault.CLIENT_CERTIFICATE, detail=detail)
    if approach.has_login:
        return _no_response(approach, seen, error)._replace(failed=ReachStep.LOGIN)
    fault = ReachFault.TLS_FAILED if approach.has_tls else ReachFault.NOT_KAFKA
    step = ReachStep.TLS if approach.has_tls else ReachStep.API
    return seen._replace(failed=step, fault=fault, detail=detail)


def _no_response(approach: Approach, seen: Reached, error: Exception) -> Reached:
    """Why a connected broker does not answer requests."""
    if isinstance(error, TimeoutError):
        detail = f"no response within {approach.timeout_s:.0f} s"
        return seen._replace(failed=ReachStep.API, fault=ReachFault.NO_ANSWER, detail=detail)
    detail = str(error)
    if _wants_client_certificate(detail):
        return seen._replace(failed=ReachStep.TLS, fault=ReachFault.CLIENT_CERTIFICATE, detail=detail)
    if "has TLS" in detail:
        return seen._replace(failed=ReachStep.TLS, fault=ReachFault.TLS_EXPECTED, detail=detail)
    if seen.versions is not None and isinstance(error, ConnectionLost) and not approach.has_login:
        detail = "the broker closes the connection at the first request after ApiVersions"
        return seen._replace(failed=ReachStep.LOGIN, fault=ReachFault.LOGIN_EXPECTED, detail=detail)
    return seen._replace(failed=ReachStep.API, fault=ReachFault.NOT_KAFKA, detail=detail)


def _wants_client_certificate(detail: str) -> bool:
    return "this side's certificate" in detail or "certificate of this side" in detail
