"""ListTransactions: the transactional ids that this broker coordinates.

Source: KIP-664; KIP-994 (by duration); docs/reference/transactions.md, section 9.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.requests.transactions import check_protocol
from kafka_py.coordinator.transactions.overview import STATE_NAMES, Selection, listed
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.list_transactions import (
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)


async def handle(node: Node, context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    """The selected ids that the principal may describe.

    None, and COORDINATOR_LOAD_IN_PROGRESS, while a partition of the topic of transactions is loading.
    """
    check_protocol(node)
    selection = Selection(request.state_filters, request.producer_id_filters, request.duration_filter)
    response = ListTransactionsResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        unknown_state_filters=selection.unknown_states(),
        transaction_states=[],
    )
    store = node.coordinators.transactions.store
    if store.runtime.is_loading:
        response.error_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return response
    turn = Turn(node.clock)
    for some in listed(store, selection, node.clock.wall_ms()):
        response.transaction_states += [
            ListedTransaction(
                transactional_id=transactional_id,
                producer_id=metadata.producer_id,
                transaction_state=STATE_NAMES[metadata.state],
            )
            for transactional_id, metadata in some
            if node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id)
        ]
        await turn.maybe_yield()
    return response
