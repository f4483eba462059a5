"""Controlled shutdown: before it stops, a broker asks the controller to move its leaders away (I/O).

Source: docs/reference/controller.md, section 11.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kafka_py.base.clock import SYSTEM_CLOCK, Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.client import NO_SECURITY, BrokerConnection
from kafka_py.net.network import Network
from kafka_py.net.secured.client_security import ConnectionSecurity
from kafka_py.wire.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ZkError
from kafka_py.zk.store import ZkStore

_log = logging.getLogger(__name__)


async def leave_in_order(
    store: ZkStore, broker_id: int, broker_epoch: Callable[[], int], config: BrokerConfig, listener: str, *,
    network: Network | None = None, clock: Clock = SYSTEM_CLOCK, security: ConnectionSecurity = NO_SECURITY,
) -> bool:  # fmt: skip
    """Asks up to controlled.shutdown.max.retries times; whether it succeeded. Never raises for a failed attempt."""
    for attempt in range(config.controlled_shutdown_max_retries):
        if attempt:
            await asyncio.sleep(config.controlled_shutdown_retry_backoff_ms / 1000.0)
        try:
            response = await _ask(
                store, broker_id, broker_epoch(), config, listener, network=network, clock=clock, security=security
            )
        except (OSError, ZkError, MalformedZNode, TimeoutError) as error:
            _log.info("Controlled shutdown: attempt %d failed: %s", attempt + 1, error)
            continue
        if response is None:
            _log.info("Controlled shutdown: there is no controller")
        elif response.error_code == ErrorCode.NONE and not response.remaining_partitions:
            _log.info("Controlled shutdown succeeded")
            return True
        else:
            left = len(response.remaining_partitions)
            _log.info("Controlled shutdown: error %d, this broker still leads %d partitions", response.error_code, left)
    _log.warning("Controlled shutdown did not succeed, stopping without it")
    return False


async def _ask(
    store: ZkStore, broker_id: int, broker_epoch: int, config: BrokerConfig, listener: str, *,
    network: Network | None, clock: Clock, security: ConnectionSecurity,
) -> ControlledShutdownResponse | None:  # fmt: skip
    """One attempt; None when there is no controller, or it lacks the given listener."""
    timeout_ms = config.controller_socket_timeout_ms
    async with asyncio.timeout(timeout_ms / 1000.0):
        controller_id = await store.election.controller_id()
        controller = await store.brokers.one(controller_id) if controller_id is not None else None
    endpoint = controller.endpoint(listener) if controller is not None else None
    if endpoint is None:
        return None
    connection = await BrokerConnection.connect(
        endpoint.host, endpoint.port, client_id=str(broker_id), timeout_ms=timeout_ms, network=network,
        clock=clock, security=security,
    )  # fmt: skip
    try:
        request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=broker_epoch)
        version = config.inter_broker_version().controlled_shutdown
        async with asyncio.timeout(config.request_timeout_ms / 1000.0):
            response: ControlledShutdownResponse = await connection.send(request, version)
            return response
    finally:
        connection.close()
