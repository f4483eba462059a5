"""Errors as values for an error page or a JSON answer, each with its HTTP status.

A cluster that does not answer is 503: the page says which one, and the menus lead to the others. What nobody foresaw is
logged with its traceback under a number that the page shows.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.clients.errors import ClientTimeout
from kafka_py.manager.web.answers import Failure
from kafka_py.manager.web.requests import BadParameter, Forbidden, NotFound

_log = logging.getLogger(__name__)

STATUS_OF = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 404,
    ErrorCode.GROUP_ID_NOT_FOUND: 404,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 403,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: 403,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: 403,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 403,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: 403,
    ErrorCode.SASL_AUTHENTICATION_FAILED: 503,
    ErrorCode.NETWORK_EXCEPTION: 503,
    ErrorCode.REQUEST_TIMED_OUT: 503,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: 503,
    ErrorCode.LEADER_NOT_AVAILABLE: 503,
    ErrorCode.BROKER_NOT_AVAILABLE: 503,
    ErrorCode.UNKNOWN_SERVER_ERROR: 502,
}
"""Any other error of a cluster is about what was asked for: 409."""


class FailedAnswer(NamedTuple):
    """status: of HTTP."""

    status: int
    failure: Failure


def is_unreachable(error: BaseException) -> bool:
    """Whether the cluster did not answer at all."""
    return isinstance(error, ClientTimeout | OSError) or (
        isinstance(error, KafkaError) and STATUS_OF.get(error.code) == 503
    )


def failed_answer(error: Exception, cluster: str, chance: Chance) -> FailedAnswer:
    """The answer to a request that raised; cluster: its name, or an empty text."""
    if isinstance(error, NotFound):
        return FailedAnswer(404, Failure("not_found", str(error)))
    if isinstance(error, Forbidden):
        return FailedAnswer(403, Failure("forbidden", str(error)))
    if isinstance(error, BadParameter):
        return FailedAnswer(400, Failure("bad_request", str(error)))
    if isinstance(error, ConfigError):
        return FailedAnswer(400, Failure("invalid_settings", error.message))
    if cluster and is_unreachable(error):
        text = error.message if isinstance(error, KafkaError) else str(error)
        return FailedAnswer(503, Failure(
            "cluster_unreachable", f"The cluster {cluster} does not answer: {text}",
            ["Other clusters and pages are not affected.", "`kafka-py doctor` finds out what is wrong."],
        ))  # fmt: skip
    if isinstance(error, KafkaError):
        status = STATUS_OF.get(error.code, 409)
        return FailedAnswer(status, Failure(error.code.name.lower(), error.message))
    number = f"{chance.number(0, (1 << 32) - 1):08x}"
    _log.error("A page failed (number %s)", number, exc_info=error)
    return FailedAnswer(500, Failure("internal_error", f"This page failed; the manager's log has it as {number}."))
