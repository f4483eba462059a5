"""Request dispatch: parses the header, finds the route, authorizes, calls the handler, sends the response.

An error becomes the API's error response. Knows handlers only by their row in routes.py.
Source: docs/reference/protocol.md, sections 1 and 2.
"""

from __future__ import annotations

import asyncio
import logging
import types
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.slices import FileSlice
from kafka_py.base.turns import finish, run_turn
from kafka_py.broker.observe.metrics import FOLD_AT, AllRequestMetrics
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.requests.error_responses import refuse, refusing
from kafka_py.broker.requests.large_requests import PLAIN_BYTES, LargeRequests
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.offered_apis import unsupported_version
from kafka_py.broker.requests.request_context import (
    ANSWERS_LATER,
    ClientConnection,
    EncodedResponse,
    RequestContext,
)
from kafka_py.broker.requests.routes import ROUTES
from kafka_py.broker.requests.service import ApiService
from kafka_py.broker.requests.throttling import CallLater, Throttling
from kafka_py.security.acls.vocabulary import CLUSTER_NAME
from kafka_py.wire.apis import APIS, ApiKey, size_fault
from kafka_py.wire.compiler import stepwise_decoder
from kafka_py.wire.dismantling import dismantle
from kafka_py.wire.elements import needs_turns
from kafka_py.wire.frames import RequestHeader, encode_response, encode_response_in_turns, read_request_header
from kafka_py.wire.primitives import MalformedMessage, MessageTooLarge
from kafka_py.zk.session import ConnectionLoss, SessionLost

_log = logging.getLogger(__name__)


class Dispatcher:
    """Receives frames from connections; each gets a response, or its connection is closed."""

    def __init__(self, node: Node, metrics: AllRequestMetrics) -> None:
        self._node = node
        self._services: dict[int, ApiService] = {
            int(key): ApiService(APIS[key], route, metrics.of(APIS[key])) for key, route in ROUTES.items()
        }
        self._exchanges = metrics.exchanges
        self._large = LargeRequests(node.clock)
        self._now_s = node.clock.monotonic_s
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._throttling: Throttling | None = None
        for service in self._services.values():
            service.answer = self._send

    def throttle_when_on(self, schedule: CallLater) -> None:
        """Applies the node's quotas as soon as there are any."""
        self._node.quotas.when_on(lambda: self.throttle(self._node.quotas, schedule))

    def throttle(self, quotas: ClientQuotas, schedule: CallLater) -> None:
        """Applies quotas from now on. schedule: ends throttle times."""
        throttling = Throttling(quotas, self._send, self._now_s, schedule)
        self._throttling = self._node.throttling = throttling
        for key, service in self._services.items():
            service.answer = throttling.answer_produce if key == ApiKey.PRODUCE else throttling.answer

    def on_request(self, connection: ClientConnection, slot: Any, frame: bytearray) -> None:
        """Handles one whole request, without its size. Responds by `connection.respond(slot, ...)`, now or later."""
        try:
            header, pos = read_request_header(frame)
            service = self._services[header.api_key]
            version = header.api_version
            if not 0 <= version <= service.max_version:
                self._unsupported(connection, slot, service, version, header.correlation_id)
                return
            if len(frame) <= PLAIN_BYTES:
                decode = service.decoders[version] or service.make_decoder(version)
                request = decode(frame, pos)[0]
            else:
                request = self._decode_large(connection, slot, service, header, frame, pos)
                if request is None:
                    return
        except MalformedMessage as error:
            self._malformed(connection, error)
            return
        self._serve(connection, slot, service, header, len(frame), request)

    def _decode_large(
        self, connection: ClientConnection, slot: int, service: ApiService, header: RequestHeader, frame: bytearray,
        pos: int,
    ) -> Any:  # fmt: skip
        """The decoded request; None when it has so many elements that it is decoded in turns, and handled after that.

        Raises MalformedMessage, also for a frame that is larger than its API allows.
        """
        size, version = len(frame), header.api_version
        if size > service.max_bytes:
            raise MessageTooLarge(size_fault(header.api_key, size))
        decode = service.counted_decoders[version] or service.make_counted_decoder(version)
        try:
            return decode(frame, pos, service.elements_at_once)[0]
        except MessageTooLarge:
            if service.api.elements == service.elements_at_once:
                raise
        steps = stepwise_decoder(service.api.request, version)(frame, pos, service.api.elements)
        connection.mute()
        self._spawn(
            self._large.decode(
                connection,
                steps,
                lambda request: self._serve(connection, slot, service, header, size, request, is_large=True),
                lambda error: self._malformed(connection, error),
            )
        )
        return None

    @staticmethod
    def _malformed(connection: ClientConnection, error: MalformedMessage) -> None:
        _log.warning("Closing connection of %s:%d: %s", connection.peer_host, connection.peer_port, error)
        connection.close(f"malformed request: {error}")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    def _serve(
        self, connection: ClientConnection, slot: int, service: ApiService, header: RequestHeader, size: int,
        request: Any, *, is_large: bool = False,
    ) -> None:  # fmt: skip
        """Counts a decoded request, and handles it. is_large: its connection is muted until the response."""
        metrics = service.metrics
        has_short_answer = service.is_in_proportion and size <= PLAIN_BYTES
        context = RequestContext(
            connection, slot, service.api, header, size, metrics, service.answer, self._now_s(), has_short_answer
        )  # fmt: skip
        if is_large:
            context.large_request = request
        version = header[1]
        (metrics.versions.get(version) or metrics.version(version)).requests += 1
        if self._exchanges.is_on:
            context.exchange = self._exchanges.begin(request)
        rule = service.rule
        try:
            if rule is not None and not self._node.authorizer.allows(
                context, rule.operation, rule.resource_type, CLUSTER_NAME
            ):
                raise KafkaError(rule.refusal, f"{context.principal} lacks {rule.operation.name} on the cluster")
            outcome = (service.handle or service.import_handler())(self._node, context, request)
        except Exception as error:
            self._refuse(context, request, error)
            return
        if outcome is ANSWERS_LATER:
            if not context.answered_s:
                context.parked_s = self._now_s()
            return
        if type(outcome) is types.CoroutineType:
            self._step(context, request, outcome, is_in_order=service.is_done_in_order)
        else:
            context.answer(outcome)

    def _unsupported(
        self, connection: ClientConnection, slot: Any, service: ApiService, version: int, correlation_id: int
    ) -> None:
        """Closes the connection for an unsupported version; ApiVersions gets a v0 response (KIP-511)."""
        if service.api.key is not ApiKey.API_VERSIONS:
            connection.close(f"{service.api.name} v{version} is not supported")
            return
        connection.respond(slot, encode_response(unsupported_version(), 0, correlation_id))

    def _step(
        self, context: RequestContext, request: Any, coroutine: Coroutine[Any, Any, Any], *, is_in_order: bool
    ) -> None:
        """Runs a coroutine up to its first wait without a task, because most handlers respond without waiting."""
        try:
            waits_for = coroutine.send(None)
        except StopIteration as done:
            if done.value is ANSWERS_LATER:
                context.leave_for_later(self._now_s())
            else:
                context.answer(done.value)
            return
        except Exception as error:
            self._refuse(context, request, error)
            return
        context.leave_for_later(self._now_s())
        task = self._spawn(self._finish(context, request, coroutine, waits_for))
        if is_in_order:
            context.connection.mute()
            task.add_done_callback(partial(_unmute, context.connection))

    async def _finish(
        self, context: RequestContext, request: Any, coroutine: Coroutine[Any, Any, Any], waits_for: Any
    ) -> None:
        try:
            response = await _continued(coroutine, waits_for, context, self._now_s)
        except Exception as error:
            self._refuse(context, request, error)
            return
        if response is not ANSWERS_LATER:
            context.answer(response)

    def _refuse(self, context: RequestContext, request: Any, error: Exception) -> None:
        """Sends the API's error response; unforeseen errors are logged as well."""
        if isinstance(error, KafkaError):
            code, message = error.code, error.detail or None
        elif isinstance(error, (ConnectionLoss, SessionLost)):
            code, message = ErrorCode.UNKNOWN_SERVER_ERROR, str(error)
            _log.warning("%s v%d failed: %s", context.api.name, context.api_version, error)
        else:
            code, message = ErrorCode.UNKNOWN_SERVER_ERROR, None
            _log.error("%s v%d failed", context.api.name, context.api_version, exc_info=error)
        context.metrics.count_error(code.name)
        refusal = context.api, context.api_version, request, code, message
        if context.large_request is not None:
            self._spawn(self._refuse_in_turns(context, refusing(*refusal)))
            return
        try:
            response = refuse(*refusal)
        except Exception:
            context.fail("its error response failed")
            return
        context.answer(response)

    async def _refuse_in_turns(self, context: RequestContext, steps: Generator[None, None, Any]) -> None:
        try:
            response = await finish(steps, self._now_ms)
        except Exception:
            context.fail("its error response failed")
            return
        context.answer(response)

    def _send(self, context: RequestContext, response: Any, parts: list[bytes | FileSlice] | None = None) -> None:
        """Encodes and sends a response; one that cannot be encoded or sent closes the connection.

        One with very many elements is encoded in turns. An EncodedResponse, or `parts`, is encoded already.
        """
        if parts is None and response is not None:
            try:
                if type(response) is EncodedResponse:
                    parts = response.parts_for(context.correlation_id)
                elif not context.has_short_answer and needs_turns(response):
                    self._send_in_turns(context, response)
                    return
                else:
                    parts = encode_response(response, context.api_version, context.correlation_id)
            except Exception:
                context.fail("its response cannot be encoded")
                return
        try:
            if context.exchange is not None:
                context.exchange.note_response(response, parts)
            if not context.answered_s:
                context.answered_s = self._now_s()
            context.connection.respond(context.slot, parts, context)
            if context.large_request is not None:
                self._free(context, [context.large_request, response])
                context.large_request = None
                context.connection.unmute()
        except Exception:  # also where quotas send what they have charged
            context.fail("its response failed")

    def _send_in_turns(self, context: RequestContext, response: Any) -> None:
        """Encodes in turns, the first one now unless a large request has used it. Raises errors of the first turn."""
        steps = encode_response_in_turns(response, context.api_version, context.correlation_id)
        done = run_turn(steps, self._now_ms) if context.large_request is None else None
        if done is None:
            self._spawn(self._encode_on(context, response, steps))
        else:
            self._send(context, response, done.value)

    async def _encode_on(
        self, context: RequestContext, response: Any, steps: Generator[None, None, list[bytes | FileSlice]]
    ) -> None:
        try:
            parts = await finish(steps, self._now_ms)
        except Exception:
            context.fail("its response cannot be encoded")
            return
        if context.large_request is None:  # else both are freed in turns
            self._free(context, [response])
        self._send(context, response, parts)

    def _free(self, context: RequestContext, messages: list[Any]) -> None:
        """Frees these messages in turns, after the tasks that still use them have ended."""
        if not context.is_logged:
            self._spawn(finish(dismantle(messages), self._now_ms))

    def _now_ms(self) -> float:
        return self._node.clock.monotonic_ms()

    def on_sent(self, contexts: list[Any], began_s: float, ended_s: float) -> None:
        """Records the times of these requests, whose responses were sent from `began_s` to `ended_s`."""
        if self._throttling is not None and self._throttling.request.is_on:
            self._throttling.on_sent(contexts, began_s, ended_s)
        for context in contexts:
            moments = (
                context.received_s, context.started_s, context.parked_s, context.answered_s, began_s, ended_s,
                context.request_bytes,
            )  # fmt: skip
            metrics = context.metrics
            finished = metrics.finished
            finished.append(moments)
            if len(finished) >= FOLD_AT:
                metrics.fold()
            if context.exchange is not None:
                self._exchanges.finish(context, context.exchange, moments)

    def on_disconnect(self, connection: ClientConnection) -> None:
        """A connection has ended."""
        if self._throttling is not None:
            self._throttling.on_disconnect(connection)

    async def drain(self) -> None:
        """Cancels running handlers; at shutdown, after the listeners are closed."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)


def _unmute(connection: ClientConnection, task: asyncio.Task[None]) -> None:
    if not task.cancelled():  # at shutdown nothing more is handled
        connection.unmute()


@types.coroutine
def _continued(
    coroutine: Coroutine[Any, Any, Any], waits_for: Any, context: RequestContext, now_s: Callable[[], float]
) -> Generator[Any, Any, Any]:
    """The rest of a coroutine whose first step was run without a task and waits for `waits_for`.

    The time of each step is the handler's: a request that is served in many turns has not waited between them for free.
    An error is thrown into it outside of the except block: otherwise it would be the context of the coroutine's next
    error, and so on, and a request of many elements would keep all of them.
    """
    error: BaseException | None = None
    value: Any = None
    try:
        while True:
            try:
                value = yield waits_for
            except BaseException as raised:
                error = raised
            began_s = now_s()
            try:
                if error is None:
                    waits_for = coroutine.send(value)
                else:
                    waits_for = coroutine.throw(error)
                    error = None
            except StopIteration as done:
                return done.value
            finally:
                context.note_step(now_s() - began_s)
    finally:
        error = waits_for = None  # their tracebacks refer to this frame
