"""UpdateFeatures: this release has no features to finalise, so every change is rejected with its reason (KIP-584)."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


def handle(node: Node, context: RequestContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """One result per feature. Raises KafkaError(INVALID_REQUEST, NOT_CONTROLLER)."""
    if not node.config.inter_broker_version().has_features:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Feature versioning system is disabled.")
    if not node.controller.is_active:
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    results = [
        UpdatableFeatureResult(
            feature=update.feature, error_code=ErrorCode.INVALID_REQUEST, error_message=_reason(update)
        )
        for update in request.feature_updates
    ]
    for _ in results:
        context.metrics.count_error(ErrorCode.INVALID_REQUEST.name)
    return UpdateFeaturesResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None, results=results)


def _reason(update: FeatureUpdateKey) -> str:
    if not update.feature:
        return "Feature name can not be empty."
    if update.max_version_level >= 1:
        return "Could not apply finalized feature update because the provided feature is not supported."
    if update.allow_downgrade:
        return "Can not delete non-existing finalized feature."
    return (
        f"Can not provide maxVersionLevel: {update.max_version_level} less than 1 "
        "without setting the allowDowngrade flag to true in the request."
    )
