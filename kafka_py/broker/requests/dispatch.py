"""The way of a request: header, table, authorization, handler, response; an error becomes the API's own error answer.

ROUTES is the table: API -> handler, rule that guards the whole request, quota class (not used: client quotas are not
enforced). Handlers are imported when their API is first requested. Knows handlers only by their row.
Source: docs/reference/apis.tsv; docs/reference/protocol.md, sections 1 and 2.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import types
from collections.abc import Callable, Coroutine, Generator
from enum import Enum
from importlib import import_module
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.slices import FileSlice
from kafka_py.base.turns import finish, run_turn
from kafka_py.broker.observe.metrics import FOLD_AT, AllRequestMetrics, ApiMetrics
from kafka_py.broker.requests.authorization import CLUSTER_NAME, Operation, ResourceType
from kafka_py.broker.requests.error_responses import refuse, refusing
from kafka_py.broker.requests.large_requests import AT_ONCE_ELEMENTS, PLAIN_BYTES, LargeRequests
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.offered_apis import unsupported_version
from kafka_py.broker.requests.request_context import ANSWERS_LATER, ClientConnection, EncodedResponse, RequestContext
from kafka_py.broker.requests.transactions import NOT_OFFERED as TRANSACTIONS_NOT_OFFERED
from kafka_py.wire.apis import APIS, Api, ApiKey, size_fault
from kafka_py.wire.compiler import CountedDecoder, Decoder, counted_decoder, decoder, stepwise_decoder
from kafka_py.wire.dismantling import dismantle
from kafka_py.wire.elements import needs_turns
from kafka_py.wire.frames import RequestHeader, encode_response, encode_response_in_turns, read_request_header
from kafka_py.wire.primitives import MalformedMessage, MessageTooLarge
from kafka_py.zk.session import ConnectionLoss, SessionExpired

log = logging.getLogger(__name__)

Handle = Callable[[Node, RequestContext, Any], Any]
"""(node, context, request) -> response, a coroutine that gives one, or ANSWERS_LATER."""


class Throttle(Enum):
    """What quota a request counts against."""

    PRODUCE = "produce"
    FETCH = "fetch"
    REQUEST = "request"
    MUTATION = "controller mutation"
    EXEMPT = "exempt"


class Rule(NamedTuple):
    """What a request as a whole needs; finer rules (per topic, per group) are the handler's."""

    operation: Operation
    resource_type: ResourceType
    refusal: ErrorCode


CLUSTER_ACTION = Rule(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
ALTER_CLUSTER = Rule(Operation.ALTER, ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
ALTER_CLUSTER_CONFIGS = ALTER_CLUSTER._replace(operation=Operation.ALTER_CONFIGS)
DESCRIBE_CLUSTER_CONFIGS = ALTER_CLUSTER._replace(operation=Operation.DESCRIBE_CONFIGS)
DESCRIBE_CLUSTER = Rule(Operation.DESCRIBE, ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


class Route(NamedTuple):
    """One row. handler: a module of handlers/, or the error with which an API of a later release of ours answers;
    text: what that error says, "" for its meaning."""

    handler: str | ErrorCode
    rule: Rule | None = None
    throttle: Throttle = Throttle.REQUEST
    text: str = ""


_NO_ACLS = Route(ErrorCode.SECURITY_DISABLED, text="No Authorizer is configured on the broker.")
_NO_TOKENS = Route(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
_NO_QUOTAS = "This broker does not enforce client quotas, so it takes none; nothing was changed."
_NO_CREDENTIALS = "This broker has no logins, so it takes no credentials; nothing was changed."

ROUTES: dict[ApiKey, Route] = {
    ApiKey.PRODUCE: Route("records.produce", throttle=Throttle.PRODUCE),
    ApiKey.FETCH: Route("records.fetch", throttle=Throttle.FETCH),
    ApiKey.LIST_OFFSETS: Route("records.list_offsets"),
    ApiKey.METADATA: Route("admin.metadata"),
    ApiKey.LEADER_AND_ISR: Route("brokers.leader_and_isr", CLUSTER_ACTION, Throttle.EXEMPT),
    ApiKey.STOP_REPLICA: Route("brokers.stop_replica", CLUSTER_ACTION, Throttle.EXEMPT),
    ApiKey.UPDATE_METADATA: Route("brokers.update_metadata", CLUSTER_ACTION, Throttle.EXEMPT),
    ApiKey.CONTROLLED_SHUTDOWN: Route("brokers.controlled_shutdown", CLUSTER_ACTION, Throttle.EXEMPT),
    ApiKey.OFFSET_COMMIT: Route("groups.offset_commit"),
    ApiKey.OFFSET_FETCH: Route("groups.offset_fetch"),
    ApiKey.FIND_COORDINATOR: Route("groups.find_coordinator"),
    ApiKey.JOIN_GROUP: Route("groups.join_group"),
    ApiKey.HEARTBEAT: Route("groups.heartbeat"),
    ApiKey.LEAVE_GROUP: Route("groups.leave_group"),
    ApiKey.SYNC_GROUP: Route("groups.sync_group"),
    ApiKey.DESCRIBE_GROUPS: Route("groups.describe_groups"),
    ApiKey.LIST_GROUPS: Route("groups.list_groups"),
    ApiKey.SASL_HANDSHAKE: Route(ErrorCode.ILLEGAL_SASL_STATE),
    ApiKey.API_VERSIONS: Route("admin.api_versions"),
    ApiKey.CREATE_TOPICS: Route("admin.create_topics", throttle=Throttle.MUTATION),
    ApiKey.DELETE_TOPICS: Route("admin.delete_topics", throttle=Throttle.MUTATION),
    ApiKey.DELETE_RECORDS: Route("records.delete_records"),
    ApiKey.INIT_PRODUCER_ID: Route("records.init_producer_id"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Route("records.offset_for_leader_epoch"),
    ApiKey.ADD_PARTITIONS_TO_TXN: Route("records.refuse_transaction"),
    ApiKey.ADD_OFFSETS_TO_TXN: Route("records.refuse_transaction"),
    ApiKey.END_TXN: Route("records.refuse_transaction"),
    ApiKey.WRITE_TXN_MARKERS: Route("records.write_txn_markers", CLUSTER_ACTION, Throttle.EXEMPT),
    ApiKey.TXN_OFFSET_COMMIT: Route(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, text=TRANSACTIONS_NOT_OFFERED),
    ApiKey.DESCRIBE_ACLS: _NO_ACLS._replace(text="No Authorizer is configured on the broker"),
    ApiKey.CREATE_ACLS: _NO_ACLS,
    ApiKey.DELETE_ACLS: _NO_ACLS,
    ApiKey.DESCRIBE_CONFIGS: Route("admin.describe_configs"),
    ApiKey.ALTER_CONFIGS: Route("admin.alter_configs"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: Route("admin.alter_replica_log_dirs"),
    ApiKey.DESCRIBE_LOG_DIRS: Route("admin.describe_log_dirs"),
    ApiKey.SASL_AUTHENTICATE: Route(ErrorCode.ILLEGAL_SASL_STATE),
    ApiKey.CREATE_PARTITIONS: Route("admin.create_partitions", throttle=Throttle.MUTATION),
    ApiKey.CREATE_DELEGATION_TOKEN: _NO_TOKENS,
    ApiKey.RENEW_DELEGATION_TOKEN: _NO_TOKENS,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _NO_TOKENS,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _NO_TOKENS,
    ApiKey.DELETE_GROUPS: Route("groups.delete_groups"),
    ApiKey.ELECT_LEADERS: Route("admin.elect_leaders", ALTER_CLUSTER),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Route("admin.incremental_alter_configs"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Route("admin.alter_partition_reassignments", ALTER_CLUSTER),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Route("admin.list_partition_reassignments", DESCRIBE_CLUSTER),
    ApiKey.OFFSET_DELETE: Route("groups.offset_delete"),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Route("admin.describe_client_quotas", DESCRIBE_CLUSTER_CONFIGS),
    ApiKey.ALTER_CLIENT_QUOTAS: Route(ErrorCode.INVALID_REQUEST, ALTER_CLUSTER_CONFIGS, text=_NO_QUOTAS),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Route("admin.describe_user_scram_credentials", DESCRIBE_CLUSTER),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Route(ErrorCode.INVALID_REQUEST, ALTER_CLUSTER, text=_NO_CREDENTIALS),
    ApiKey.ALTER_ISR: Route("brokers.alter_isr", CLUSTER_ACTION, Throttle.EXEMPT),
    ApiKey.UPDATE_FEATURES: Route("admin.update_features", ALTER_CLUSTER),
    ApiKey.DESCRIBE_CLUSTER: Route("admin.describe_cluster"),
    ApiKey.DESCRIBE_PRODUCERS: Route("records.describe_producers"),
}


ANSWERED_IN_PROPORTION = frozenset((
    ApiKey.PRODUCE, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FOR_LEADER_EPOCH, ApiKey.FIND_COORDINATOR,
    ApiKey.HEARTBEAT, ApiKey.SYNC_GROUP, ApiKey.INIT_PRODUCER_ID,
))  # fmt: skip
"""APIs whose answer has at most as many elements as the request, so a small request has a small answer."""


class _Service:
    """One route made ready: what is looked up once per API instead of once per request."""

    __slots__ = (
        "_route", "api", "counted_decoders", "decoders", "elements_at_once", "handle", "is_in_proportion", "max_bytes",
        "max_version", "metrics", "rule",
    )  # fmt: skip

    def __init__(self, api: Api, route: Route, metrics: ApiMetrics) -> None:
        self.api = api
        self.max_version = api.max_version
        self.max_bytes = sys.maxsize if api.request_bytes is None else api.request_bytes
        self.elements_at_once = min(AT_ONCE_ELEMENTS, api.elements)
        self.metrics = metrics
        self.rule = route.rule
        self._route = route
        self.handle: Handle | None = None  # until the API is first asked for
        self.is_in_proportion = api.key in ANSWERED_IN_PROPORTION
        self.decoders: list[Decoder[Any] | None] = [None] * (api.max_version + 1)
        self.counted_decoders: list[CountedDecoder[Any] | None] = [None] * (api.max_version + 1)

    def import_handler(self) -> Handle:
        """The API's handler, kept in `handle`."""
        target = self._route.handler
        handle: Handle
        if isinstance(target, ErrorCode):
            handle = _refusing(target, self._route.text)
        else:
            handle = import_module(f"kafka_py.broker.handlers.{target}").handle
        self.handle = handle
        return handle

    def make_decoder(self, version: int) -> Decoder[Any]:
        """The decoder of one version, kept in `decoders`."""
        made = self.decoders[version] = decoder(self.api.request, version)
        return made

    def make_counted_decoder(self, version: int) -> CountedDecoder[Any]:
        """The decoder of large frames of one version, kept in `counted_decoders`."""
        made = self.counted_decoders[version] = counted_decoder(self.api.request, version)
        return made


def _refusing(code: ErrorCode, text: str) -> Handle:
    """The handler of an API that this broker knows but does not offer."""

    def handle(node: Node, context: RequestContext, request: Any) -> Any:
        if context.large_request is None:
            return refuse(context.api, context.api_version, request, code, text or None)
        steps = refusing(context.api, context.api_version, request, code, text or None)
        return finish(steps, node.clock.monotonic_ms)

    return handle


class Dispatcher:
    """Takes frames from connections and sees to it that each gets its answer, or loses its connection."""

    def __init__(self, node: Node, metrics: AllRequestMetrics) -> None:
        self._node = node
        self._services: dict[int, _Service] = {
            int(key): _Service(APIS[key], route, metrics.of(APIS[key])) for key, route in ROUTES.items()
        }
        self._request_log = metrics.request_log
        self._large = LargeRequests(node.clock)
        self._now_s = node.clock.monotonic_s
        self._tasks: set[asyncio.Task[None]] = set()

    def on_request(self, connection: ClientConnection, slot: Any, frame: bytearray) -> None:
        """One whole request, without its size. Answers through `connection.respond(slot, ...)`, now or later."""
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
        self, connection: ClientConnection, slot: int, service: _Service, header: RequestHeader, frame: bytearray,
        pos: int,
    ) -> Any:  # fmt: skip
        """The request; None when it has so many elements that it is decoded in turns, and served after that.

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
        log.warning("Closing connection of %s:%d: %s", connection.peer_host, connection.peer_port, error)
        connection.close(f"malformed request: {error}")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _serve(
        self, connection: ClientConnection, slot: int, service: _Service, header: RequestHeader, size: int,
        request: Any, *, is_large: bool = False,
    ) -> None:  # fmt: skip
        """Counts a request that could be decoded, and handles it. is_large: its connection is muted until then."""
        metrics = service.metrics
        has_short_answer = service.is_in_proportion and size <= PLAIN_BYTES
        context = RequestContext(
            connection, slot, service.api, header, size, metrics, self._send, self._now_s(), has_short_answer
        )  # fmt: skip
        if is_large:
            context.large_request = request
        version = header[1]
        (metrics.versions.get(version) or metrics.version(version)).requests += 1
        if self._request_log.is_on:
            context.exchange = request, None
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
            self._step(context, request, outcome)
        else:
            self._send(context, outcome)

    def _unsupported(
        self, connection: ClientConnection, slot: Any, service: _Service, version: int, correlation_id: int
    ) -> None:
        """A version we lack ends the connection; ApiVersions is answered in v0, which any client reads (KIP-511)."""
        if service.api.key is not ApiKey.API_VERSIONS:
            connection.close(f"{service.api.name} v{version} is not supported")
            return
        connection.respond(slot, encode_response(unsupported_version(), 0, correlation_id))

    def _step(self, context: RequestContext, request: Any, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Runs a coroutine up to its first wait by hand: most answer without one and need no task."""
        try:
            waits_for = coroutine.send(None)
        except StopIteration as done:
            if done.value is ANSWERS_LATER:
                context.leave_for_later(self._now_s())
            else:
                self._send(context, done.value)
            return
        except Exception as error:
            self._refuse(context, request, error)
            return
        context.leave_for_later(self._now_s())
        self._spawn(self._finish(context, request, coroutine, waits_for))

    async def _finish(
        self, context: RequestContext, request: Any, coroutine: Coroutine[Any, Any, Any], waits_for: Any
    ) -> None:
        try:
            response = await _continued(coroutine, waits_for)
        except Exception as error:
            self._refuse(context, request, error)
            return
        if response is not ANSWERS_LATER:
            self._send(context, response)

    def _refuse(self, context: RequestContext, request: Any, error: Exception) -> None:
        """Answers with the error in the API's own form; what was not foreseen is logged as well."""
        if isinstance(error, KafkaError):
            code, message = error.code, error.detail or None
        elif isinstance(error, (ConnectionLoss, SessionExpired)):
            code, message = ErrorCode.UNKNOWN_SERVER_ERROR, str(error)
            log.warning("%s v%d failed: %s", context.api.name, context.api_version, error)
        else:
            code, message = ErrorCode.UNKNOWN_SERVER_ERROR, None
            log.error("%s v%d failed", context.api.name, context.api_version, exc_info=error)
        context.metrics.count_error(code.name)
        refusal = context.api, context.api_version, request, code, message
        if context.large_request is not None:
            self._spawn(self._refuse_in_turns(context, refusing(*refusal)))
            return
        try:
            response = refuse(*refusal)
        except Exception:
            self._cannot_refuse(context)
            return
        self._send(context, response)

    async def _refuse_in_turns(self, context: RequestContext, steps: Generator[None, None, Any]) -> None:
        try:
            response = await finish(steps, self._now_ms)
        except Exception:
            self._cannot_refuse(context)
            return
        self._send(context, response)

    @staticmethod
    def _cannot_refuse(context: RequestContext) -> None:
        log.exception("%s v%d: its error answer failed", context.api.name, context.api_version)
        context.connection.close("internal error")

    def _send(self, context: RequestContext, response: Any, parts: list[bytes | FileSlice] | None = None) -> None:
        """Encodes and hands over; a response that cannot be encoded ends the connection.

        One with very many elements is encoded in turns. EncodedResponse: it is encoded already. parts: so is this.
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
                self._cannot_encode(context)
                return
        if context.exchange is not None:
            context.exchange = context.exchange[0], response
        context.answered_s = self._now_s()
        context.connection.respond(context.slot, parts, context)
        if context.large_request is not None:
            self._free(context, [context.large_request, response])
            context.large_request = None
            context.connection.unmute()

    def _send_in_turns(self, context: RequestContext, response: Any) -> None:
        """The first turn is now, unless a large request has used it; raises what the encoder raises in it."""
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
            self._cannot_encode(context)
            return
        if context.large_request is None:  # else both are
            self._free(context, [response])
        self._send(context, response, parts)

    def _free(self, context: RequestContext, messages: list[Any]) -> None:
        """Lets these messages go in turns, once those who still work with them have ended."""
        if context.exchange is None:
            self._spawn(finish(dismantle(messages), self._now_ms))

    def _now_ms(self) -> float:
        return self._node.clock.monotonic_ms()

    @staticmethod
    def _cannot_encode(context: RequestContext) -> None:
        log.exception("The response to %s v%d cannot be encoded", context.api.name, context.api_version)
        context.connection.close("internal error")

    def on_sent(self, contexts: list[Any], began_s: float, ended_s: float) -> None:
        """The answers to these requests have left, from `began_s` to `ended_s`: how long all took is known."""
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
                request, response = context.exchange
                self._request_log.write(context, request, response, moments)

    async def drain(self) -> None:
        """Ends what still runs; for the shutdown, after the listeners are closed."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)


@types.coroutine
def _continued(coroutine: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    """The rest of a coroutine whose first step was run by hand and waits for `waits_for`."""
    while True:
        try:
            value = yield waits_for
        except BaseException as error:
            try:
                waits_for = coroutine.throw(error)
            except StopIteration as done:
                return done.value
        else:
            try:
                waits_for = coroutine.send(value)
            except StopIteration as done:
                return done.value
