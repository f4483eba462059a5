"""One API as dispatch uses it: its handler, imported when the API is first requested, and its decoders.

Source: docs/reference/apis.tsv.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import finish
from kafka_py.broker.observe.metrics import ApiMetrics
from kafka_py.broker.requests.error_responses import refuse, refusing
from kafka_py.broker.requests.large_requests import AT_ONCE_ELEMENTS, AT_ONCE_OF
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import Answer, RequestContext
from kafka_py.broker.requests.routes import Route
from kafka_py.wire.apis import Api, ApiKey
from kafka_py.wire.compiler import CountedDecoder, Decoder, counted_decoder, decoder

Handle = Callable[[Node, RequestContext, Any], Any]
"""(node, context, request) -> response, a coroutine that returns one, or ANSWERS_LATER."""

ANSWERED_IN_PROPORTION = frozenset((
    ApiKey.PRODUCE, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FOR_LEADER_EPOCH, ApiKey.FIND_COORDINATOR,
    ApiKey.HEARTBEAT, ApiKey.SYNC_GROUP, ApiKey.INIT_PRODUCER_ID, ApiKey.TXN_OFFSET_COMMIT,
))  # fmt: skip
"""APIs whose response has at most as many elements as the request, so that a small request has a small response.

A Produce response has more when single records are rejected; its handler then clears `has_short_answer`.
"""

DONE_IN_ORDER = frozenset((
    ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS,
    ApiKey.ALTER_CLIENT_QUOTAS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
))  # fmt: skip
"""APIs whose effect depends on what was changed before: later requests of the connection wait for the response."""


class ApiService:
    """One API with the values that are looked up once per API instead of once per request."""

    __slots__ = (
        "_route", "answer", "api", "counted_decoders", "decoders", "elements_at_once", "handle", "is_done_in_order",
        "is_in_proportion", "max_bytes", "max_version", "metrics", "rule",
    )  # fmt: skip

    def __init__(self, api: Api, route: Route, metrics: ApiMetrics) -> None:
        self.api = api
        self.max_version = api.max_version
        self.max_bytes = sys.maxsize if api.request_bytes is None else api.request_bytes
        self.elements_at_once = min(AT_ONCE_OF.get(api.key, AT_ONCE_ELEMENTS), api.elements)
        self.metrics = metrics
        self.rule = route.rule
        self._route = route
        self.answer: Answer
        """Sends a response to this API; charges quotas before that, once there are any. Set by dispatch."""
        self.handle: Handle | None = None  # until the first request
        self.is_in_proportion = api.key in ANSWERED_IN_PROPORTION
        self.is_done_in_order = api.key in DONE_IN_ORDER
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
    """The handler of an API that this broker knows but does not implement."""

    def handle(node: Node, context: RequestContext, request: Any) -> Any:
        if context.large_request is None:
            return refuse(context.api, context.api_version, request, code, text or None)
        steps = refusing(context.api, context.api_version, request, code, text or None)
        return finish(steps, node.clock.monotonic_ms)

    return handle
