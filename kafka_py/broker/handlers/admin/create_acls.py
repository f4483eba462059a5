"""CreateAcls: adds ACLs; responds when ZooKeeper has them. Source: docs/reference/security/acls.md, section 5."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.acl_requests import UnknownWord, binding_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.security.acls.authorization import ALLOW_ALL, no_authorizer
from kafka_py.security.acls.bindings import AclBinding
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, ResourceType
from kafka_py.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse


async def handle(node: Node, context: RequestContext, request: CreateAclsRequest) -> object:
    """The result of each ACL, in the order of the request."""
    if node.authorizer is ALLOW_ALL:
        raise no_authorizer()
    turn = Turn(node.clock)
    bindings: list[AclBinding] = []
    faults: list[KafkaError | None] = []
    try:
        for row in request.creations:
            await turn.maybe_yield()
            binding = binding_of(row)
            fault = _fault(binding)
            faults.append(fault)
            if fault is None:
                bindings.append(binding)
    except UnknownWord as error:
        context.drop_connection(str(error))
        return ANSWERS_LATER
    created = iter(await node.authorizer.create_acls(bindings))
    results = []
    for fault in faults:
        await turn.maybe_yield()
        results.append(_result(context, next(created) if fault is None else fault))
    return CreateAclsResponse(throttle_time_ms=0, results=results)


def _fault(binding: AclBinding) -> KafkaError | None:
    resource_type, name, _ = binding.pattern
    if resource_type is ResourceType.CLUSTER and name != CLUSTER_NAME:
        text = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        return KafkaError(ErrorCode.INVALID_REQUEST, text)
    if not name:
        return KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty resource name")
    return None


def _result(context: RequestContext, error: KafkaError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult(error_code=ErrorCode.NONE, error_message=None)
    context.metrics.count_error(error.code.name)
    return AclCreationResult(error_code=error.code, error_message=error.message)
