"""Quotas applied to requests: what each one counts against, the throttle time of its response, the muted connection.

A response is sent at once, in every version, and says how long its client is throttled; for that time nothing more is
read from its connection (KIP-219). Dispatch uses this from the first quota on (column `throttle` of routes.py); before,
quotas cost nothing.
Source: docs/reference/quotas.md, sections 5 and 6; KIP-219; ClientQuotaManager, ClientRequestQuotaManager.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.slices import FileSlice
from kafka_py.base.timers import Cancellable
from kafka_py.broker.observe.metrics import FETCH_FOLLOWER
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.quotas.manager import QuotaManager
from kafka_py.broker.quotas.mutations import Mutations
from kafka_py.broker.quotas.sensors import Budget
from kafka_py.broker.requests.request_context import ClientConnection, EncodedResponse, RequestContext
from kafka_py.broker.requests.routes import ROUTES, QuotaClass
from kafka_py.net.principal import Principal
from kafka_py.wire.version_meanings import STRICT_MUTATION_QUOTA

if TYPE_CHECKING:
    from kafka_py.broker.requests.node import Node

Send = Callable[[RequestContext, Any, list[bytes | FileSlice] | None], None]
"""Sends a response, or nothing for None; parts: the response, if it is encoded already."""
PERCENT = 100.0
"""Of a second: request time is recorded in percents of one thread."""

CallLater = Callable[[float, Callable[[], None]], Cancellable]
"""(delay in ms, callback); Timers.schedule is one."""
Charge = tuple[int, QuotaManager[Any]] | None
"""Throttle time in ms, and the quota that throttles; None within all quotas."""
Charging = Callable[[RequestContext, Any, float], Charge]
"""(context, response, now in seconds)"""


class ClientBudgets:
    """The budgets of a connection's client for Produce and Fetch, the most frequent requests; None: that quota is off.

    Kept by the connection for the next request of this client id in the same era. With a thousand clients this saves
    most of what quotas cost, which is memory that is not in the processor's caches.
    producer_id, consumer_id: the client id whose budget of that type was looked up; UNKNOWN before. A budget has
    metrics, so clients that only consume get none for Produce.
    """

    __slots__ = ("consumer_id", "era", "fetch", "produce", "producer_id", "request")

    def __init__(self, era: int, request: Budget | None) -> None:
        self.era = era
        self.producer_id: object = UNKNOWN
        self.consumer_id: object = UNKNOWN
        self.produce: Budget | None = None
        self.fetch: Budget | None = None
        self.request = request


UNKNOWN = object()


class ThrottleEnd:
    """The end of a throttle time. manager: the quota that throttles."""

    __slots__ = ("manager", "timer")

    def __init__(self, manager: QuotaManager[Any]) -> None:
        self.manager = manager
        self.timer: Cancellable


class Throttling:
    """Charges requests and throttles their clients. All on the event loop.

    request: the quota of request time. send: sends a response that was charged.
    """

    def __init__(self, quotas: ClientQuotas, send: Send, now_s: Callable[[], float], schedule: CallLater) -> None:
        self._produce, self._fetch = quotas.produce, quotas.fetch
        self.request, self._mutation = quotas.request, quotas.mutation
        self._exempt = quotas.exempt
        self._era = quotas.era
        self.send = send
        self._now_s = now_s
        self._schedule = schedule
        self._ends: dict[ClientConnection, dict[ThrottleEnd, None]] = {}  # of open connections
        charges: dict[QuotaClass, Charging] = {
            QuotaClass.PRODUCE: self._charge_unanswered_produce,
            QuotaClass.FETCH: self._charge_fetch,
            QuotaClass.REQUEST: self._charge_request,
            QuotaClass.MUTATION: self._charge_mutation,
            QuotaClass.EXEMPT: self._charge_exempt,
        }
        self._charges: list[Charging] = [self._charge_request] * (max(ROUTES) + 1)  # by API key
        for key, route in ROUTES.items():
            self._charges[key] = charges[route.throttle]

    # ---- responses

    def answer(self, context: RequestContext, response: Any, parts: list[bytes | FileSlice] | None = None) -> None:
        """Charges a request whose response is ready, sends the response, and mutes the connection if need be."""
        over = self._charges[context.api.key](context, response, self._now_s())
        if over is None:
            self.send(context, response, parts)
        else:
            self._throttle(context, response, *over)

    def answer_produce(
        self, context: RequestContext, response: Any, parts: list[bytes | FileSlice] | None = None
    ) -> None:
        """The same for Produce, the hot path: without a call unless a sample is over or a limit near.

        See Budget.charge. The moment of the charge is that of the answer as well, which saves a look at the clock.
        """
        if response is None:
            self.answer(context, response, parts)
            return
        mine = context.connection.budgets
        if mine is None or mine.producer_id != context.client_id or mine.era != self._era.number:
            mine = self._look_up(context, mine, self._produce)
        context.answered_s = now_s = self._now_s()
        now_ms = now_s * 1000.0
        over = None
        if (budget := mine.produce) is not None:
            if now_ms < budget.ends_ms and (total := budget.total + context.request_bytes) <= budget.enough:
                budget.total = total
            elif time_ms := budget.charge(context.request_bytes, now_ms):
                over = time_ms, self._produce
        if (budget := mine.request) is not None:
            context.budget = budget
            used = ((context.parked_s or now_s) - context.started_s) * PERCENT
            if now_ms < budget.ends_ms and (total := budget.total + used) <= budget.enough:
                budget.total = total
            elif (time_ms := budget.charge(used, now_ms)) and (over is None or time_ms >= over[0]):
                over = time_ms, self.request
        if over is None:
            self.send(context, response, parts)
        else:
            self._throttle(context, response, *over)

    def _look_up(
        self, context: RequestContext, known: ClientBudgets | None, manager: QuotaManager[Budget]
    ) -> ClientBudgets:
        """The budgets of the client, that of `manager` among them.

        Its connection keeps them unless a plug-in may decide otherwise each time. known: what it has kept.
        """
        client, client_id, request = _client(context), context.client_id, self.request
        used = request.budget_of(client) if request.is_on else None
        found = manager.budget_of(client) if manager.is_on else None
        era = self._era.number
        is_same = known is not None and known.era == era and client_id in (known.producer_id, known.consumer_id)
        mine = known if is_same and known is not None else ClientBudgets(era, used)
        if manager is self._produce:
            mine.producer_id, mine.produce = client_id, found
        else:
            mine.consumer_id, mine.fetch = client_id, found
        if manager.is_fixed:
            context.connection.budgets = mine
        return mine

    def _throttle(self, context: RequestContext, response: Any, time_ms: int, manager: QuotaManager[Any]) -> None:
        budget = manager.budget_of(_client(context))
        budget.note_throttled(time_ms, self._now_s() * 1000.0)
        context.metrics.note_throttled(time_ms)
        if not context.connection.closed:
            self._mute(context.connection, time_ms, manager)
        if type(response) is EncodedResponse:
            response = response.throttled(time_ms)
        elif hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = time_ms
        self.send(context, response, None)

    def _mute(self, connection: ClientConnection, time_ms: int, manager: QuotaManager[Any]) -> None:
        manager.muted += 1
        connection.mute()
        end = ThrottleEnd(manager)
        self._ends.setdefault(connection, {})[end] = None
        end.timer = self._schedule(time_ms, partial(self._end_throttle, connection, end))

    def _end_throttle(self, connection: ClientConnection, end: ThrottleEnd) -> None:
        ends = self._ends[connection]
        del ends[end]
        if not ends:
            del self._ends[connection]
        end.manager.muted -= 1
        connection.unmute()

    def on_disconnect(self, connection: ClientConnection) -> None:
        """The throttle times of a closed connection are over: they may be as long as its client has asked for."""
        for end in self._ends.pop(connection, ()):
            end.timer.cancel()
            end.manager.muted -= 1

    # ---- what counts against which quota

    def _charge_request(self, context: RequestContext, _response: Any, now_s: float) -> Charge:
        request = self.request
        if not request.is_on:
            return None
        context.budget = budget = request.budget_of(_client(context))
        time_ms = budget.charge(_used_time(context, now_s), now_s * 1000.0)
        return (time_ms, request) if time_ms else None

    def _charge_exempt(self, context: RequestContext, response: Any, now_s: float) -> Charge:
        if _error_of(response) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return self._charge_request(context, response, now_s)
        self._record_exempt(context, now_s)
        return None

    def _record_exempt(self, context: RequestContext, now_s: float) -> None:
        if self.request.is_on:
            context.budget = self._exempt
            self._exempt.record(_used_time(context, now_s), now_s * 1000.0)

    def _charge_unanswered_produce(self, context: RequestContext, _response: Any, now_s: float) -> Charge:
        """Without a response the bytes count, and the time is exempt."""
        self._record_exempt(context, now_s)
        if not self._produce.is_on:
            return None
        time_ms = self._produce.budget_of(_client(context)).charge(context.request_bytes, now_s * 1000.0)
        return (time_ms, self._produce) if time_ms else None

    def _charge_mutation(self, context: RequestContext, response: Any, now_s: float) -> Charge:
        """The handler has put the throttle time of its mutations into the response."""
        mutation_ms: int = response.throttle_time_ms
        return longer(self._charge_request(context, response, now_s), mutation_ms, self._mutation)

    def _charge_fetch(self, context: RequestContext, response: Any, now_s: float) -> Charge:
        """Of a follower, or a response with an error; consumers' records were charged before (`refuses_fetch`)."""
        if context.metrics.name == FETCH_FOLLOWER:
            return self._charge_exempt(context, None, now_s)
        return self._charge_request(context, response, now_s)

    # ---- fetches of consumers

    def _consumer_of(self, context: RequestContext) -> ClientBudgets:
        mine: ClientBudgets | None = context.connection.budgets
        if mine is None or mine.consumer_id != context.client_id or mine.era != self._era.number:
            mine = self._look_up(context, mine, self._fetch)
        return mine

    def most_fetch_bytes(self, context: RequestContext, max_bytes: int) -> int:
        """How many bytes a response may have, at most `max_bytes`, so that it can be sent at all under the quota.

        A limit below 0 does not throttle, so it must not bound responses either, nor what fetches wait for.
        """
        budget = self._consumer_of(context).fetch
        if budget is None or budget.enough >= max_bytes:
            return max_bytes
        most = budget.most_at_once
        return int(most) if 0 <= most < max_bytes else max_bytes

    def refuses_fetch(self, context: RequestContext, size_bytes: int, make_empty: Callable[[], Any]) -> bool:
        """Charges a fetch whose response would have this size.

        True when it is over a quota: then the empty response is made and sent instead, and its bytes are not charged.
        """
        mine = self._consumer_of(context)
        now_s = self._now_s()
        now_ms = now_s * 1000.0
        over = None
        if (request := mine.request) is not None:
            context.budget = request
            used = ((context.parked_s or now_s) - context.started_s) * PERCENT
            if now_ms < request.ends_ms and (total := request.total + used) <= request.enough:
                request.total = total
            elif time_ms := request.charge(used, now_ms):
                over = time_ms, self.request
        fetch_ms = 0
        if (fetch := mine.fetch) is not None:
            if now_ms < fetch.ends_ms and (total := fetch.total + size_bytes) <= fetch.enough:
                fetch.total = total
            elif fetch_ms := fetch.admit(size_bytes, now_ms, id(context.connection)):
                over = longer(over, fetch_ms, self._fetch)
        if over is None:
            return False
        if fetch is not None and not fetch_ms:
            fetch.take_back(size_bytes, now_ms)
        self._throttle(context, make_empty(), *over)
        return True

    # ---- sent responses

    def on_sent(self, contexts: list[RequestContext], began_s: float, ended_s: float) -> None:
        """Records the time in which these responses of one connection were sent; it counts at the next request.

        Called while request time is measured.
        """
        context = contexts[0]
        budget = context.budget
        blocked = context.connection.blocked
        ended_ms = ended_s * 1000.0
        if blocked is None and budget is not None and len(contexts) == 1 and ended_ms < budget.ends_ms:
            budget.total += (ended_s - began_s) * PERCENT
            return
        spent_s = ended_s - began_s
        if blocked is not None:
            spent_s = max(spent_s - blocked.take_s(), 0.0)
        share = spent_s * PERCENT / len(contexts)
        for context in contexts:
            budget = context.budget
            if budget is None:
                self._record_sending(context, share, ended_ms)
            else:
                budget.record(share, ended_ms)

    def _record_sending(self, context: RequestContext, share: float, ended_ms: float) -> None:
        if context.metrics.name == FETCH_FOLLOWER or ROUTES[context.api.key].throttle is QuotaClass.EXEMPT:
            self._exempt.record(share, ended_ms)
        else:
            self.request.budget_of(_client(context)).record(share, ended_ms)


def longer(by_request: Charge, other_ms: int, other: QuotaManager[Any]) -> Charge:
    """The longer throttle time of both; request time counts where they are equal."""
    return (other_ms, other) if other_ms > (0 if by_request is None else by_request[0]) else by_request


def mutations_of(node: Node, context: RequestContext, *, is_strict: bool | None = None) -> Mutations:
    """The mutations of a request. is_strict: None: as its version has it."""
    if is_strict is None:
        is_strict = STRICT_MUTATION_QUOTA[context.api.key][context.api_version]
    return Mutations(node.quotas.mutation, _client(context), node.clock.monotonic_ms, is_strict=is_strict)


def _client(context: RequestContext) -> tuple[Principal, str]:
    return context.connection.principal, context.client_id or ""


def _error_of(response: Any) -> int | None:
    """The error of a response between brokers as a whole; of WriteTxnMarkers that of its first partition."""
    markers = getattr(response, "markers", ())
    codes = (row.error_code for marker in markers for topic in marker.topics for row in topic.partitions)
    return getattr(response, "error_code", None) or next(codes, None)


def _used_time(context: RequestContext, now_s: float) -> float:
    """The time in the handler, until it parked the request or responded, in percents of a second."""
    return ((context.parked_s or now_s) - context.started_s) * PERCENT
